"""The report of a rehearsal: problems that the applications of the world would have on the public platform."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from hubbub.protocol import codec, errors, intents
from hubbub.protocol.change_uses import USES_BY_CHANGE
from hubbub.protocol.control.rate_limits import RateLimitHit
from hubbub.protocol.control.report import LintFinding
from hubbub.protocol.control.trace import ExplainedRequest
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.core.trace import Trace

CALLBACK_ROUTE: Final = "/interactions/{interaction_id}/{interaction_token}/callback"
_ID_PATTERN: Final = re.compile(r"[0-9]{1,18}|[1-8][0-9]{18}")
"""IDs that the database can store."""
_PERMISSION_CODES: Final = (errors.MISSING_ACCESS.code, errors.MISSING_PERMISSIONS.code)
_EXCEPTED_INTENTS: Final = intents.Intents.GUILDS
"""Intents that libraries need for their caches, even if no event is delivered."""


class Linter:
    """Collects the findings of one platform.

    `names_by_bot_id` and `names_by_application_id` are the names of applications."""

    def __init__(
        self,
        names_by_bot_id: Mapping[int, str],
        names_by_application_id: Mapping[int, str],
        trace: Trace,
        now_ms: int,
    ) -> None:
        self._names_by_bot_id = names_by_bot_id
        self._names_by_application_id = names_by_application_id
        self._trace = trace
        self._now_ms = now_ms

    def find_all(
        self,
        endpoints: Iterable[Endpoint],
        hits: Iterable[RateLimitHit],
        webhook_owner_ids: Mapping[int, int],
        interaction_owner_ids: Mapping[int, int],
        rejected_requests: Iterable[ExplainedRequest],
        failure_counts: Mapping[tuple[str, str | None], int],
    ) -> list[LintFinding]:
        """Return all findings, grouped by rule.

        `webhook_owner_ids` and `interaction_owner_ids` are IDs of applications by the IDs of their webhooks and interactions.
        `failure_counts` are numbers of failed interactions by the names of application and command; the command is None for
        components and modals."""
        rejected_requests = list(rejected_requests)
        return [
            *self._rate_limits(hits, webhook_owner_ids),
            *self._deprecated_routes(endpoints),
            *self._missing_permissions(rejected_requests),
            *self._unused_intents(),
            *self._ignored_events(),
            *self._late_responses(rejected_requests, interaction_owner_ids),
            *self._missing_responses(failure_counts),
            *self._dated_changes(),
        ]

    def _rate_limits(self, hits: Iterable[RateLimitHit], webhook_owner_ids: Mapping[int, int]) -> Iterator[LintFinding]:
        counts: Counter[tuple[str | None, str]] = Counter()
        for hit in hits:
            webhook_id = find_webhook_id(hit)
            if webhook_id is None:
                name = self._find_application_name(hit)
                if name is None:
                    continue
            else:
                # The ID in the path of a follow-up message is the ID of the application.
                name = self._names_by_application_id.get(webhook_owner_ids.get(webhook_id, webhook_id))
            verb = "rejected" if hit.refused else "would have rejected"
            message = f"The rate limit of {hit.name} ({hit.scope}) {verb} requests; wait as the response headers say."
            counts[name, message] += hit.times
        for (name, message), times in counts.items():
            yield LintFinding(rule="rate_limit", application=name, message=message, times=times)

    def _find_application_name(self, hit: RateLimitHit) -> str | None:
        """Return the name of the application whose token was sent, or None for users and IP addresses."""
        user_id, _, application_id = hit.caller.partition(":")
        if user_id.isdecimal() and application_id.isdecimal():
            return self._names_by_application_id.get(int(application_id))
        if not hit.caller.isdecimal():
            return None
        names_by_id = self._names_by_application_id if hit.scope == "approval" else self._names_by_bot_id
        return names_by_id.get(int(hit.caller))

    def _deprecated_routes(self, endpoints: Iterable[Endpoint]) -> Iterator[LintFinding]:
        replacements_by_route = {
            (endpoint.operation.method, endpoint.operation.path): endpoint.operation.replaced_by
            for endpoint in endpoints
            if endpoint.operation.replaced_by
        }
        for (method, route, user_id), times in self._trace.requests.items():
            replacement, name = replacements_by_route.get((method, route)), self._names_by_bot_id.get(user_id or 0)
            if replacement is not None and name is not None:
                message = f"{method} {route} is deprecated; use {replacement}."
                yield LintFinding(rule="deprecated_route", application=name, message=message, times=times)

    def _missing_permissions(self, rejected_requests: Iterable[ExplainedRequest]) -> Iterator[LintFinding]:
        counts: Counter[tuple[str, str]] = Counter()
        for request in rejected_requests:
            name = self._names_by_bot_id.get(int(request.user_id or 0))
            if name is not None and _code_of(request) in _PERMISSION_CODES:
                cause = request.cause or "A permission is missing."
                counts[name, f"{request.method} {request.route} was rejected: {cause}"] += 1
        for (name, message), times in counts.items():
            yield LintFinding(rule="missing_permission", application=name, message=message, times=times)

    def _unused_intents(self) -> Iterator[LintFinding]:
        for user_id, requested_bits in self._trace.requested_intents.items():
            name = self._names_by_bot_id.get(user_id)
            unused_bits = requested_bits & ~self._trace.used_intents.get(user_id, 0) & ~_EXCEPTED_INTENTS
            unused_names = [intent for intent, bit in intents.INTENTS_BY_NAME.items() if unused_bits & bit]
            if name is not None and unused_names:
                message = f"No event was delivered for these requested intents: {', '.join(unused_names)}."
                yield LintFinding(rule="unused_intent", application=name, message=message, intents=unused_names)

    def list_used_intents(self) -> dict[str, list[str]]:
        """Return the names of the intents for which an event was delivered, by the name of the application."""
        return {
            self._names_by_bot_id[user_id]: [
                intent for intent, bit in intents.INTENTS_BY_NAME.items() if used_bits & bit
            ]
            for user_id, used_bits in self._trace.used_intents.items()
            if user_id in self._names_by_bot_id
        }

    def _ignored_events(self) -> Iterator[LintFinding]:
        """Find events after which an application never sent a request, so it may not need their intents."""
        for user_id, counts_by_event in self._trace.delivered_events.items():
            answered_events = self._trace.answered_events.get(user_id, set())
            ignored_counts = {event: times for event, times in counts_by_event.items() if event not in answered_events}
            name = self._names_by_bot_id.get(user_id)
            if name is not None and ignored_counts:
                events = ", ".join(f"{event} ({times})" for event, times in sorted(ignored_counts.items()))
                message = f"No request followed these events; if the bot does not use them, do not request their intents: {events}."
                yield LintFinding(
                    rule="ignored_event", application=name, message=message, times=sum(ignored_counts.values())
                )

    def _late_responses(
        self, rejected_requests: Iterable[ExplainedRequest], interaction_owner_ids: Mapping[int, int]
    ) -> Iterator[LintFinding]:
        counts_by_name: Counter[str | None] = Counter()
        for request in rejected_requests:
            if is_late_response(request):
                # A callback is authorized by the token in its path, so it has no user.
                application_id = interaction_owner_ids.get(request.parameters["interaction_id"], 0)
                counts_by_name[self._names_by_application_id.get(application_id)] += 1
        for name, times in counts_by_name.items():
            message = "An interaction was answered after three seconds; defer the response, then edit it."
            yield LintFinding(rule="late_response", application=name, message=message, times=times)

    def _missing_responses(self, failure_counts: Mapping[tuple[str, str | None], int]) -> Iterator[LintFinding]:
        for (name, command), times in failure_counts.items():
            interaction = "A component or modal" if command is None else f"The command {command}"
            message = f"{interaction} was not answered in time, or the answer was invalid."
            yield LintFinding(rule="missing_response", application=name, message=message, times=times)

    def _dated_changes(self) -> Iterator[LintFinding]:
        """Find upcoming changes of requests, events or modes that an application used."""
        upcoming_changes = [change for change in USES_BY_CHANGE if not change.is_active(self._now_ms)]
        for change in sorted(upcoming_changes, key=lambda change: change.at_ms):
            message = f"From {change.date.isoformat()}: {change.after}"
            for user_id, uses in self._trace.uses.items():
                # A request with the token of a webhook or interaction has no user.
                name = None if user_id is None else self._names_by_bot_id.get(user_id)
                concerned_uses = [use for use in USES_BY_CHANGE[change] if use in uses]
                if not concerned_uses or (user_id is not None and name is None):
                    continue
                yield LintFinding(
                    rule="dated_change",
                    application=name,
                    message=f"{message} The program used: {', '.join(concerned_uses)}.",
                    date=codec.timestamp(change.at_ms),
                )


def find_webhook_id(hit: RateLimitHit) -> int | None:
    """Return the ID in the path of requests that a webhook or interaction token authorizes; None for other requests."""
    has_token = not hit.caller and len(hit.major) > 1
    return int(hit.major[0]) if has_token and _ID_PATTERN.fullmatch(hit.major[0]) else None


def is_late_response(request: ExplainedRequest) -> bool:
    """Return whether a request answered an interaction that had ended, or that does not exist."""
    return request.route == CALLBACK_ROUTE and _code_of(request) == errors.UNKNOWN_INTERACTION.code


def _code_of(request: ExplainedRequest) -> int | None:
    body = codec.decode_any(bytes(request.body))
    return body.get("code") if isinstance(body, dict) else None


def format_report(findings: Iterable[LintFinding]) -> str:
    """Return the report as text, one line for each finding."""
    lines = [
        f"  {finding.rule}: "
        + (f"{finding.application}: " if finding.application else "")
        + finding.message
        + (f" ({finding.times} times)" if finding.times > 1 else "")
        for finding in findings
    ]
    return "\n".join(["Report of the rehearsal:", *(lines or ["  No problems were found."])])
