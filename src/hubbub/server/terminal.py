"""Terminal output that several `hubbub` commands share: findings, errors, and missing packages."""

import os
import sys
from collections.abc import AsyncIterator
from typing import Final, Literal

import msgspec

SERVER_MODULES: Final = frozenset(
    {
        "OpenSSL",
        "PIL",
        "ahocorasick_rs",
        "aiosmtplib",
        "argon2",
        "babel",
        "backports",
        "cryptography",
        "http_ece",
        "greenlet",
        "jinja2",
        "joserfc",
        "markdown_it",
        "nacl",
        "nats",
        "obstore",
        "prometheus_client",
        "psycopg",
        "pylibsrtp",
        "re2",
        "segno",
        "uvloop",
        "webauthn",
    }
)
"""Top-level modules of the packages that the extra `server` installs."""


class Finding(msgspec.Struct, frozen=True):
    """The result of one check of `hubbub doctor` or `hubbub backup drill`."""

    level: Literal["ok", "note", "problem"]
    subject: str
    message: str
    fix: str = ""
    """The next step for the operator; empty if there is none."""


async def print_findings(findings: AsyncIterator[Finding]) -> int:
    """Print findings as they arrive and a summary, and return the exit code: 1 if any finding is a problem."""
    problem_count = 0
    async for finding in findings:
        print(f"{finding.level:<8} {finding.subject:<10} {finding.message}")
        if finding.fix:
            print(f"{'':<19} -> {finding.fix}")
        sys.stdout.flush()
        problem_count += finding.level == "problem"
    print(
        "No problems found."
        if not problem_count
        else f"{problem_count} problem{'s' if problem_count > 1 else ''} found."
    )
    return 1 if problem_count else 0


def describe_connection_error(error: BaseException) -> str:
    """Return why a connection could not be opened, without the internals in the text of aiohttp."""
    number = getattr(getattr(error, "os_error", error), "errno", None)
    if isinstance(number, int) and number > 0:
        return os.strerror(number)
    return str(error) or ("no response in time" if isinstance(error, TimeoutError) else type(error).__name__)


def print_error(problem: object, code: int = 1) -> int:
    """Print the reason of a failure to standard error and return the exit code."""
    print(f"hubbub: {problem}", file=sys.stderr)
    return code


def print_missing_package(error: ModuleNotFoundError) -> int:
    """Print how to install the missing package and return the exit code.

    Raise the error again if the module does not belong to the extra `server`.
    """
    module = (error.name or "").partition(".")[0]
    if module not in SERVER_MODULES:
        raise error
    return print_error(
        f"this command needs the server packages ({module} is missing); run: pip install 'hubbub[server]'", 2
    )
