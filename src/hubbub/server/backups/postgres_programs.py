"""The programs pg_dump and pg_restore: their versions, and runs with the credentials of a database URL.

Credentials are passed in the environment, which other users of the machine cannot read, unlike arguments.
"""

import glob
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from hubbub.server.backups.manifest import BackupError
from hubbub.server.core.logs import Secrets

PROGRAM_FOLDERS: Final = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/opt/homebrew/opt/libpq/bin",
)
"""Folders of the programs that are usually not in PATH, as patterns."""
POLL_SECONDS: Final = 0.2
ERROR_LINES_MAX: Final = 5
"""Maximum number of lines of a program's error output in a message."""

_VERSION_PATTERN = re.compile(r"\(PostgreSQL\) (\d+)")


def require_program(name: str, version_min: int, folder: str | None) -> Path:
    """Return the path of a program that is not older than the major version of a server.

    `folder` is the only folder to search; None searches PATH and `PROGRAM_FOLDERS`. Raise BackupError if there is none."""
    newest_version = 0
    for path in _iter_candidates(name, folder):
        version = _read_version(path)
        if version >= version_min:
            return path
        newest_version = max(newest_version, version)
    if newest_version:
        raise BackupError(
            f"{name} {newest_version} is older than the server, PostgreSQL {version_min}; install the client programs of version "
            f"{version_min} or newer, or set --pg-bin to their folder"
        )
    searched_location = folder or "PATH"
    raise BackupError(
        f"{name} was not found in {searched_location}; install the client programs of PostgreSQL {version_min} or newer (on Debian "
        "postgresql-client), or set --pg-bin to their folder"
    )


def _iter_candidates(name: str, folder: str | None) -> Iterator[Path]:
    if folder is not None:
        folders = [folder]
    else:
        if program_path := shutil.which(name):
            yield Path(program_path)
        folders = [path for pattern in PROGRAM_FOLDERS for path in sorted(glob.glob(pattern), reverse=True)]
    for path in folders:
        if os.access(candidate := Path(path) / name, os.X_OK):
            yield candidate


def _read_version(path: Path) -> int:
    """Return the major version of a program, or 0 if it does not run or does not print its version."""
    try:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    match = _VERSION_PATTERN.search(output)
    return 0 if match is None else int(match[1])


def run_program(program: Path, arguments: list[str], url: str, on_poll: Callable[[], None]) -> None:
    """Run a program on the database of a URL; `on_poll` is called while it runs.

    Raise BackupError with the program's message if it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    for option in Conninfo.parse(url.encode()):
        if option.val is not None and option.envvar is not None:
            environment[option.envvar.decode()] = option.val.decode()
    environment["PGAPPNAME"] = "hubbub backup"
    with tempfile.TemporaryFile() as error_output:
        process = subprocess.Popen(
            [program, "--no-password", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=error_output,
        )
        try:
            while True:
                try:
                    exit_code = process.wait(POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    on_poll()
        except BaseException:
            process.kill()
            process.wait()
            raise
        if exit_code != 0:
            error_output.seek(0)
            lines = Secrets().clean(error_output.read().decode(errors="replace")).strip().splitlines()
            raise BackupError(
                f"{program.name} failed: " + "\n  ".join(lines[:ERROR_LINES_MAX] or [f"exit code {exit_code}"])
            )


def database_name(url: str) -> str:
    """Return the name of the database of a URL; by default it is the name of the user."""
    parameters = conninfo_to_dict(url)
    return str(parameters.get("dbname") or parameters.get("user") or "")
