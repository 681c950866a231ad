"""One operation as its reader wants it: who may call it, with what, and what may come of it."""

from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, get_type_hints

from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.operation import APPROVAL_WINDOW_SECONDS, Auth
from hubbub.protocol.permissions import Permissions
from hubbub.server.core import access
from hubbub.server.core.dispatch import Endpoint
from hubbub.server.transports.web.reference import catalogue as places
from hubbub.server.transports.web.reference import examples, types
from hubbub.server.transports.web.reference.catalogue import Catalogue
from hubbub.server.transports.web.reference.types import Field
from hubbub.server.transports.web.reference.words import Piece, Pieces, summary

_CALLERS: Final[tuple[tuple[Auth, str], ...]] = (
    (Auth.BOT, "a bot"),
    (Auth.USER, "a person"),
    (Auth.BEARER, "an OAuth2 token"),
    (Auth.ANYONE, "anybody, without a token"),
)


class Operations:
    """Puts operations into words."""

    def __init__(self, catalogue: Catalogue, root: str) -> None:
        self._catalogue = catalogue
        self._root = root
        self._audited = catalogue.enumeration(AuditLogAction)

    def describe(self, endpoint: Endpoint) -> Mapping[str, Any]:
        """All that a page says of an operation."""
        operation = endpoint.operation
        return {
            "name": endpoint.name,
            "operation": operation,
            "summary": summary(endpoint.function),
            "callers": self._callers(endpoint),
            "scopes": [Piece(scope, f"{places.SCOPES}#{scope}") for scope in operation.scopes],
            "needs": self._needs(operation.needs),
            "needed_in": "channel" if endpoint.guard is access.require_channel else "guild",
            "limit": self._limit(endpoint),
            "bucket": "" if endpoint.rule is None else endpoint.rule.bucket,
            "path": self._path(endpoint),
            "query": self._fields(operation.query),
            "headers": operation.headers,
            "body": self._fields(operation.body),
            "body_type": self._type(operation.body),
            "body_summary": summary(operation.body) if _is_model(operation.body) else (),
            "answer": self._type(operation.result),
            "refusal_type": self._type(operation.refusal),
            "refusals": self._refusals(endpoint),
            "emits": [Piece(event.name, f"{places.EVENTS}#{event.name}") for event in operation.emits],
            "audits": [
                value for value in self._audited.values if value.value in {str(int(each)) for each in operation.audits}
            ],
            "example": examples.curl(endpoint, self._root),
        }

    def _callers(self, endpoint: Endpoint) -> str:
        auth = endpoint.operation.auth
        if auth is Auth.NONE:
            return "anybody: what it asks for stands in the path, the body or its own headers"
        told = [words for kind, words in _CALLERS if kind & auth]
        return ", ".join(told[:-1]) + (" or " if len(told) > 1 else "") + told[-1]

    def _needs(self, bits: int) -> list[Piece]:
        values = self._catalogue.enumeration(Permissions).values
        return [Piece(value.name, value.href) for value in values if bits & int(value.value)]

    def _limit(self, endpoint: Endpoint) -> list[str]:
        """The bucket in words, and what else counts."""
        operation, rule = endpoint.operation, endpoint.rule
        told = []
        if rule is not None:
            per = [operation.parameters[place] for place in rule.major]
            told.append(
                f"{rule.calls:,} in {_lasting(rule.window_ms / 1000)}"
                + (f" for each {' and '.join(per)}" if per else "")
            )
            if rule.name != endpoint.name:
                told.append(f"shared by all of the bucket “{rule.name}”")
            if rule.aged and operation.limit is not None:
                told.append("by the age of the message: buckets at " + ", ".join(map(_lasting, operation.limit.ages)))
        if operation.cap:
            told.append(f"{operation.cap:,} in {APPROVAL_WINDOW_SECONDS // 3600} h before the application is approved")
        return told

    def _path(self, endpoint: Endpoint) -> list[Field]:
        hints = get_type_hints(endpoint.function, include_extras=True)
        return [
            Field(name, types.describe(hints.get(name, str), self._catalogue.links), True)
            for name in endpoint.operation.parameters
        ]

    def _fields(self, part: Any) -> list[Field]:
        return types.fields(part, self._catalogue.links) if _is_model(part) else []

    def _type(self, part: Any) -> Pieces:
        return () if part is NoneType else types.describe(part, self._catalogue.links)

    def _refusals(self, endpoint: Endpoint) -> list[places.Refusal]:
        """What the operation lists, and what the door says before it is reached."""
        operation = endpoint.operation
        kinds = [*operation.raises]
        if not endpoint.anonymous:
            kinds += [errors.UNAUTHORIZED, *endpoint.refusals.values()]
            if operation.scopes:
                kinds.append(errors.MISSING_OAUTH2_SCOPE)
        if operation.body is not NoneType or operation.query is not NoneType or any(endpoint.snowflakes):
            kinds.append(errors.INVALID_FORM_BODY)
        if endpoint.rule is not None:
            kinds.append(errors.find(endpoint.rule.code, 429) or errors.RATE_LIMITED)
        found = [self._catalogue.refusals[kind] for kind in dict.fromkeys(kinds) if kind in self._catalogue.refusals]
        return sorted(found, key=lambda each: (each.kind.status, each.kind.code))


def _lasting(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length and seconds % length == 0:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} seconds"


def _is_model(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, Struct)
