"""Exceptions of actions: assertion errors, whose messages include the platform's response.

AssertionError
├── RequestRejected     the platform rejected a request
├── EventNotReceived    an expected event did not arrive
│   └── UnexpectedEvent  an event arrived that the test did not expect
├── InteractionFailed   an interaction has no response
├── VoiceFailed         a voice connection ended, or no audio arrived
└── InvalidArgument     an argument of an action is invalid, or the action is not possible now
PlatformUnavailable     the platform is not running or does not respond
"""

from collections.abc import Iterator, Sequence
from typing import Any

from hubbub.protocol import errors
from hubbub.protocol.errors import ErrorCode


class RequestRejected(AssertionError):
    """Raised when the platform rejects a request."""

    def __init__(
        self, actor_name: str, method: str, path: str, status: int, body: Any, cause: str | None = None
    ) -> None:
        self.status = status
        """The HTTP status."""
        self.body = body
        """The decoded JSON body, or the text."""
        self.code: int = body.get("code", 0) if isinstance(body, dict) else 0
        """The platform's error code; 0 if the response has none."""
        self.cause = cause
        """The cause in the state of the platform, as a sentence; None if it is unknown."""
        self.request = (actor_name, method, path)
        """Name of the sender, method and path."""
        self.kind: ErrorCode | None = errors.find(self.code, status)
        """The declared error, such as `errors.UNKNOWN_CHANNEL`; None if the protocol declares none with this code."""
        cause_line = "" if cause is None else f"\n  {cause}"
        super().__init__(f"{actor_name}: {method} {path} was rejected\n{format_error(status, body)}{cause_line}")


class EventNotReceived(AssertionError):
    """Raised when an expected event does not arrive in time."""

    def __init__(self, message: str, received: Sequence[Any] = (), differences: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.received = received
        """Events that arrived and that no action or expectation returned."""
        self.differences = differences
        """Differences of the most similar event with the same name; empty if none arrived."""


class UnexpectedEvent(EventNotReceived):
    """Raised when an event arrives that the test did not expect."""


class InteractionFailed(AssertionError):
    """Raised when an interaction has no response: it timed out or failed, or the response was deleted or cannot arrive."""


class VoiceFailed(AssertionError):
    """Raised when a voice connection cannot be used, or expected audio does not arrive."""


class InvalidArgument(AssertionError):
    """Raised when an argument of an action is invalid, such as an unknown channel, or the action is not possible now."""

    def __init__(self, field: str | tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.field = field
        """Name or path of the argument in a request to the control API; empty if the action is not possible now."""


class PlatformUnavailable(RuntimeError):
    """Raised when the platform is not running or does not respond."""


def format_error(status: int, body: Any) -> str:
    """Format an error response: one line, and one for each invalid field."""
    if not isinstance(body, dict):
        return f"  {status} {body}"
    message, code = body.get("message", body.get("error_description", body.get("error", ""))), body.get("code", 0)
    lines = [f"  {status} {message}{f' (code {code})' if code else ''}"]
    if "retry_after" in body:
        lines.append(f"  retry after {body['retry_after']} s")
    lines += [f"  {path}: {message}" for path, message in _iter_field_errors(body.get("errors"), "")]
    return "\n".join(lines)


def _iter_field_errors(errors: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(errors, dict):
        return
    for key, nested_errors in errors.items():
        if key == "_errors":
            for field_error in nested_errors:
                yield path or "(body)", f"{field_error.get('message')} ({field_error.get('code')})"
        else:
            yield from _iter_field_errors(nested_errors, f"{path}.{key}" if path else key)
