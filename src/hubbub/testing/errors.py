"""Why a rehearsal fails: assertions, each with what the platform said.

AssertionError
├── Refused      the platform refused a call
├── NotHeard     an event did not come, or came that should not
└── Unanswered   the application did not answer an interaction
BrokenPlatform   there is no platform to rehearse with
"""

from collections.abc import Iterator
from typing import Any


class Refused(AssertionError):
    """The platform refused a call."""

    def __init__(self, who: str, method: str, path: str, status: int, body: Any) -> None:
        self.status = status
        """Of the answer over HTTP."""
        self.body = body
        """The platform's answer."""
        self.code: int = body.get("code", 0) if isinstance(body, dict) else 0
        """The platform's number of the error; 0 where there is none."""
        super().__init__(f"{who}: {method} {path} was refused\n{in_words(status, body)}")


class NotHeard(AssertionError):
    """An event did not come in time, or one came that should not."""


class Unanswered(AssertionError):
    """The application did not answer an interaction."""


class BrokenPlatform(RuntimeError):
    """There is no platform to rehearse with."""


def in_words(status: int, body: Any) -> str:
    """A refusal as a person reads it: a line, and one for each field that is wrong."""
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
                yield path or "(the whole)", f"{each.get('message')} ({each.get('code')})"
        else:
            yield from _fields(inner, f"{path}.{key}" if path else key)
