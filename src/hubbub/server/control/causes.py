"""Causes of rejected requests: sentences that name the permission, role or member because of which a request failed.

A cause is computed from the current state of the platform, which may have changed since the request.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.control.trace import ExplainedRequest, RejectedRequest
from hubbub.protocol.operation import Operation
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.places import guilds, roles
from hubbub.server.places.standing import ChannelRef, GuildAccess, access
from hubbub.server.transports.http.openapi_texts import permission_names

SEND_MESSAGE_ROUTE: Final = "/channels/{channel_id}/messages"
ROLE_ACTIONS: Final = {"PUT": "give to", "DELETE": "remove from"}
"""Verb of a request that changes the roles of a member, by HTTP method."""

GENERAL_CAUSES: Final = {
    errors.UNKNOWN_INTERACTION.code: (
        "An interaction must be responded to or deferred within three seconds of platform time, and only once its event "
        "arrived. Freeze the clock if the machine is slow."
    ),
    errors.INTERACTION_ALREADY_ACKNOWLEDGED.code: (
        "The interaction already has a response. Edit the response or send a follow-up message instead."
    ),
    errors.CANNOT_MESSAGE_USER.code: (
        "The recipient is not a friend and shares no guild with the sender, blocks the sender, or rejects direct messages."
    ),
    errors.NO_MUTUAL_GUILDS.code: "The sender and the recipient have no guild in common.",
}
"""Causes that do not depend on the state of the platform, by error code."""

NameOf = Callable[[int], str | None]
"""Function that returns the name of a user in the world, or None."""


class Causes:
    """Explains rejected requests from the operations' permissions and the state of guilds."""

    def __init__(self, endpoints: Iterable[Endpoint], name_of: NameOf) -> None:
        """Create an explainer; `name_of` returns the name of a user in the world, or None for other users."""
        self._operations: dict[tuple[str, str], Operation[object, object]] = {
            (endpoint.operation.method, endpoint.operation.path): endpoint.operation for endpoint in endpoints
        }
        self._name_of = name_of

    def explain_all(self, tx: Tx, now_ms: int, rejected_requests: Iterable[RejectedRequest]) -> list[ExplainedRequest]:
        """Return rejected requests with their causes."""
        return [
            ExplainedRequest(
                **{name: getattr(request, name) for name in RejectedRequest.__struct_fields__},
                cause=self._explain(tx, now_ms, request),
            )
            for request in rejected_requests
        ]

    def _explain(self, tx: Tx, now_ms: int, request: RejectedRequest) -> str | None:
        code = _error_code(request.body)
        if code in GENERAL_CAUSES:
            return GENERAL_CAUSES[code]
        if request.user_id is None or code not in (errors.MISSING_ACCESS.code, errors.MISSING_PERMISSIONS.code):
            return None
        caller = self._describe_user(tx, request.user_id)
        if "channel_id" in request.parameters:
            return self._explain_in_channel(tx, now_ms, request, request.user_id, caller)
        if "guild_id" in request.parameters:
            return self._explain_in_guild(tx, now_ms, request, request.user_id, caller)
        return None

    def _explain_in_channel(
        self, tx: Tx, now_ms: int, request: RejectedRequest, caller_id: int, caller: str
    ) -> str | None:
        channel_and_standing = access.find_channel_standing(tx, now_ms, request.parameters["channel_id"], caller_id)
        if channel_and_standing is None:
            return None
        channel, standing = channel_and_standing
        if channel.guild_id is None:
            return f"{caller} is not a participant of this private channel."
        if standing is None or standing.guild is None:
            return f"{caller} is not a member of {_describe_guild(tx, channel.guild_id)}."
        place = f"#{channel.name}"
        if not standing.permissions & Permissions.VIEW_CHANNEL:
            return f"{caller} lacks the permission VIEW_CHANNEL in {place}."
        missing_bits = self._needed_permissions(request, channel) & ~standing.allowed
        return _describe_missing(caller, missing_bits, place, standing.guild)

    def _explain_in_guild(
        self, tx: Tx, now_ms: int, request: RejectedRequest, caller_id: int, caller: str
    ) -> str | None:
        guild_id = request.parameters["guild_id"]
        place = _describe_guild(tx, guild_id)
        standing = access.find_guild_standing(tx, now_ms, guild_id, caller_id)
        if standing is None:
            return f"{caller} is not a member of {place}."
        missing_bits = self._needed_permissions(request, None) & ~standing.allowed
        if missing_bits:
            return _describe_missing(caller, missing_bits, place, standing)
        return self._explain_role(tx, request, standing, caller) or self._explain_target(
            tx, now_ms, request, standing, caller
        )

    def _explain_role(self, tx: Tx, request: RejectedRequest, standing: GuildAccess, caller: str) -> str | None:
        """Explain a role that is not below the caller's highest role."""
        role_id = request.parameters.get("role_id")
        role = None if role_id is None else roles.find(tx, standing.guild_id, role_id)
        if role is None or standing.outranks_role(role.rank):
            return None
        sentence = (
            f"The highest role of {caller}, {_describe_top_role(tx, standing)}, is not above the role {role.name}"
        )
        if "user_id" in request.parameters and request.method in ROLE_ACTIONS:
            target = self._describe_user(tx, request.parameters["user_id"])
            return f"{sentence}, which {caller} tried to {ROLE_ACTIONS[request.method]} {target}."
        return f"{sentence}, which {caller} tried to change."

    def _explain_target(
        self, tx: Tx, now_ms: int, request: RejectedRequest, standing: GuildAccess, caller: str
    ) -> str | None:
        """Explain a target member that the role hierarchy protects from the caller."""
        user_id = request.parameters.get("user_id")
        if user_id is None or user_id == standing.user_id:
            return None
        target_standing = access.find_guild_standing(tx, now_ms, standing.guild_id, user_id)
        if target_standing is None or standing.outranks(target_standing):
            return None
        target = self._describe_user(tx, user_id)
        if target_standing.is_owner:
            return f"{target} owns the guild, so no other member can moderate {target}."
        return (
            f"The highest role of {caller}, {_describe_top_role(tx, standing)}, is not above the highest role of {target}, "
            f"{_describe_top_role(tx, target_standing)}."
        )

    def _needed_permissions(self, request: RejectedRequest, channel: ChannelRef | None) -> int:
        operation = self._operations.get((request.method, request.route))
        needed_bits = 0 if operation is None else operation.needs
        if channel is not None and (request.method, request.route) == ("POST", SEND_MESSAGE_ROUTE):
            needed_bits |= Permissions.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permissions.SEND_MESSAGES
        return needed_bits

    def _describe_user(self, tx: Tx, user_id: int) -> str:
        name = self._name_of(user_id)
        if name is None:
            row = users.find(tx, user_id)
            name = str(user_id) if row is None else row.username
        return name


def _error_code(body: msgspec.Raw) -> int:
    decoded_body = msgspec.json.decode(body)
    code = decoded_body.get("code", 0) if isinstance(decoded_body, dict) else 0
    return code if isinstance(code, int) else 0


def _describe_guild(tx: Tx, guild_id: int) -> str:
    row = guilds.find(tx, guild_id)
    return f"guild {guild_id}" if row is None else row.name


def _describe_top_role(tx: Tx, standing: GuildAccess) -> str:
    row = roles.find(tx, standing.guild_id, standing.top_role[1])
    return "@everyone" if row is None else row.name


def _describe_missing(caller: str, missing_bits: int, place: str, standing: GuildAccess) -> str | None:
    if not missing_bits:
        return None
    names = permission_names(missing_bits)
    sentence = f"{caller} lacks the permission{'s' if len(names) > 1 else ''} {' and '.join(names)} in {place}"
    if standing.is_read_only:
        return f"{sentence}, because it is timed out, pending or quarantined."
    return f"{sentence}."
