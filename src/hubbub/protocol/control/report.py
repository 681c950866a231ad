"""The report of a rehearsal: problems that the applications of the world would have on the public platform."""

from typing import Final, Literal

import msgspec

from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.ids import Timestamp

LintRule = Literal[
    "rate_limit",
    "deprecated_route",
    "missing_permission",
    "unused_intent",
    "ignored_event",
    "late_response",
    "missing_response",
    "dated_change",
]
"""Kind of a problem."""


class LintFinding(msgspec.Struct, kw_only=True, frozen=True):
    """A problem that the rehearsal found."""

    rule: LintRule
    """The kind of the problem."""
    application: str | None = None
    """Name of the application; null if the finding is not about one application."""
    message: str
    """The problem as a sentence, in most cases with its remedy."""
    times: int = 1
    """Number of times that the problem occurred."""
    date: Timestamp | None = None
    """Time at which the dated change takes effect; null unless `rule` is `dated_change`."""
    intents: list[str] = []
    """Names of the unused intents; empty unless `rule` is `unused_intent`."""


class LintReport(msgspec.Struct, kw_only=True):
    """Problems that the rehearsal found, from the delivery trace, the rate limits and upcoming dated changes."""

    findings: list[LintFinding]
    """The problems, grouped by rule."""
    used_intents: dict[str, list[str]] = {}
    """Names of the intents for which an event was delivered, by the name of the application."""


GET_REPORT: Final = control_operation("GET", "/report", result=LintReport)
