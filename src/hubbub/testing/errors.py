"""Exceptions of the plugin: assertion errors, whose messages include the platform's response.

AssertionError
├── Refused      the platform rejected a request
├── NotHeard     an expected event did not arrive, or an unexpected one did
└── Unanswered   the application did not respond to an interaction
BrokenPlatform   the platform does not run or does not respond
"""

from collections.abc import Iterator
from typing import Any


class Refused(AssertionError):
    """Raised when the platform rejects a request."""

    def __init__(self, who: str, method: str, path: str, status: int, body: Any) -> None:
        self.status = status
        """The HTTP status."""
        self.body = body
        """The decoded JSON body, or the text."""
        self.code: int = body.get("code", 0) if isinstance(body, dict) else 0
        """The platform's error code, or 0."""
        super().__init__(f"{who}: {method} {path} was rejected\n{format_error(status, body)}")


class NotHeard(AssertionError):
    """Raised when an expected event does not arrive in time, or an unexpected one arrives."""


class Unanswered(AssertionError):
    """Raised when the application does not respond to an interaction."""


class BrokenPlatform(RuntimeError):
    """Raised when the platform does not run or does not respond."""


def format_error(status: int, body: Any) -> str:
    """Format an error response: one line, and one for each invalid field."""
    if not isinstance(body, dict):
        return f"  {status} {body}"
    message, code = body.get("message", body.get("error_description", body.get("error", ""))), body.get("code", 0)
    lines = [f"  {status} {message}{f' (code {code})' if code else ''}"]
    if "retry_after" in body:
        lines.append(f"  retry after {body['retry_after']} s")
    lines += [f"  {path}: {problem}" for path, problem in _fields(body.get("errors"), "")]
    return "\n".join(lines)


def _fields(errors: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(errors, dict):
        return
    for key, inner in errors.items():
        if key == "_errors":
            for each in inner:
                yield path or "(body)", f"{each.get('message')} ({each.get('code')})"
        else:
            yield from _fields(inner, f"{path}.{key}" if path else key)
