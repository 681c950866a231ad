"""Causes of rejected requests: sentences that name the permission, role or member because of which a request failed.

Rejections with MISSING_PERMISSIONS carry their cause (`core/denials.py`). Other causes, and the names of roles and channels,
are computed from the current state of the platform, which may have changed since the request.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.control.trace import ExplainedRequest, RejectedRequest
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.denials import Denial
from hubbub.server.core.store import Tx
from hubbub.server.core.trace import TracedRejection
from hubbub.server.identity import users
from hubbub.server.places import guilds, roles
from hubbub.server.places.standing import access
from hubbub.server.transports.http.openapi_texts import permission_names

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

REACTION_EMOJI_CAUSE: Final = (
    "A reaction is a Unicode emoji, such as 👍, or a custom emoji that the caller can use, written as name:ID."
)

NameOf = Callable[[int], str | None]
"""Function that returns the name of a user in the world, or None."""


class Causes:
    """Explains rejected requests."""

    def __init__(self, name_of: NameOf) -> None:
        """Create an explainer; `name_of` returns the name of a user in the world, or None for other users."""
        self._name_of = name_of

    def explain_all(self, tx: Tx, now_ms: int, rejected_requests: Iterable[TracedRejection]) -> list[ExplainedRequest]:
        """Return rejected requests with their causes."""
        return [
            ExplainedRequest(
                **{name: getattr(request, name) for name in RejectedRequest.__struct_fields__},
                cause=self._explain(tx, now_ms, request),
            )
            for request in rejected_requests
        ]

    def _explain(self, tx: Tx, now_ms: int, request: TracedRejection) -> str | None:
        code = _error_code(request.body)
        if request.denial is not None:
            return self._explain_denial(tx, now_ms, request.denial, request.user_id)
        if code in GENERAL_CAUSES:
            return GENERAL_CAUSES[code]
        if code == errors.UNKNOWN_EMOJI.code and "/reactions/" in request.route:
            return REACTION_EMOJI_CAUSE
        if request.user_id is None or code != errors.MISSING_ACCESS.code:
            return None
        caller = self._describe_user(tx, request.user_id)
        if "channel_id" in request.parameters:
            return _explain_channel_access(tx, now_ms, request.parameters["channel_id"], request.user_id, caller)
        if "guild_id" in request.parameters:
            return _explain_guild_access(tx, now_ms, request.parameters["guild_id"], request.user_id, caller)
        return None

    def _explain_denial(self, tx: Tx, now_ms: int, denial: Denial, caller_id: int | None) -> str:
        """Explain a missing permission, or a role or member that the role hierarchy protects."""
        caller_id = denial.caller_id if caller_id is None else caller_id
        caller = "the application" if caller_id is None else self._describe_user(tx, caller_id)
        user = "" if denial.user_id is None else self._describe_user(tx, denial.user_id)
        action = denial.action.replace("{user}", user)
        if denial.reason:
            sentence = denial.reason.replace("{caller}", caller).replace("{user}", user)
        elif denial.role_id is not None and denial.guild_id is not None:
            role = roles.find(tx, denial.guild_id, denial.role_id)
            role_name = str(denial.role_id) if role is None else role.name
            top_role = _describe_top_role(tx, now_ms, denial.guild_id, caller_id)
            sentence = f"The highest role of {caller}, {top_role}, is not above the role {role_name}"
            sentence += f", which {caller} tried to {action}." if action else "."
        elif denial.missing_permissions:
            place = _describe_place(tx, denial)
            is_restricted = denial.is_restricted
            description = _describe_missing(caller, denial.missing_permissions, place, is_restricted=is_restricted)
            sentence = f"{description[:-1]}, so {caller} cannot {action}." if action else description
        else:
            sentence = self._explain_target(tx, now_ms, denial, caller_id, caller, user)
        return sentence[0].upper() + sentence[1:] if caller_id is None else sentence

    def _explain_target(
        self, tx: Tx, now_ms: int, denial: Denial, caller_id: int | None, caller: str, user: str
    ) -> str:
        """Explain a target member that the role hierarchy protects from the caller."""
        assert denial.guild_id is not None
        assert denial.user_id is not None
        if denial.user_id == caller_id:
            return f"{caller} cannot do this to itself."
        guild = guilds.find(tx, denial.guild_id)
        if guild is not None and guild.owner_id == denial.user_id:
            return f"{user} owns the guild, so no other member can moderate {user}."
        return (
            f"The highest role of {caller}, {_describe_top_role(tx, now_ms, denial.guild_id, caller_id)}, is not above the "
            f"highest role of {user}, {_describe_top_role(tx, now_ms, denial.guild_id, denial.user_id)}."
        )

    def _describe_user(self, tx: Tx, user_id: int) -> str:
        name = self._name_of(user_id)
        if name is None:
            row = users.find(tx, user_id)
            name = str(user_id) if row is None else row.username
        return name


def _explain_channel_access(tx: Tx, now_ms: int, channel_id: int, caller_id: int, caller: str) -> str | None:
    channel_and_standing = access.find_channel_standing(tx, now_ms, channel_id, caller_id)
    if channel_and_standing is None:
        return None
    channel, standing = channel_and_standing
    if channel.guild_id is None:
        return f"{caller} is not a participant of this private channel."
    if standing is None:
        return f"{caller} is not a member of {_describe_guild(tx, channel.guild_id)}."
    if not standing.permissions & Permissions.VIEW_CHANNEL:
        return f"{caller} lacks the permission VIEW_CHANNEL in #{channel.name}."
    return None


def _explain_guild_access(tx: Tx, now_ms: int, guild_id: int, caller_id: int, caller: str) -> str | None:
    if access.find_guild_standing(tx, now_ms, guild_id, caller_id) is None:
        return f"{caller} is not a member of {_describe_guild(tx, guild_id)}."
    return None


def _error_code(body: msgspec.Raw) -> int:
    decoded_body = msgspec.json.decode(body)
    code = decoded_body.get("code", 0) if isinstance(decoded_body, dict) else 0
    return code if isinstance(code, int) else 0


def _describe_guild(tx: Tx, guild_id: int) -> str:
    row = guilds.find(tx, guild_id)
    return f"guild {guild_id}" if row is None else row.name


def _describe_place(tx: Tx, denial: Denial) -> str | None:
    """Return the channel or guild in which permissions were checked; None if it is unknown."""
    channel = None if denial.channel_id is None else access.find_channel(tx, denial.channel_id)
    if channel is not None and channel.name is not None:
        return f"#{channel.name}"
    return None if denial.guild_id is None else _describe_guild(tx, denial.guild_id)


def _describe_top_role(tx: Tx, now_ms: int, guild_id: int, user_id: int | None) -> str:
    standing = None if user_id is None else access.find_guild_standing(tx, now_ms, guild_id, user_id)
    row = None if standing is None else roles.find(tx, guild_id, standing.top_role[1])
    return "@everyone" if row is None else row.name


def _describe_missing(
    caller: str, missing_permissions: Sequence[int], place: str | None, *, is_restricted: bool
) -> str:
    """Return which permissions the caller lacks; each element of `missing_permissions` would be sufficient."""
    alternatives = [" and ".join(permission_names(bits)) for bits in missing_permissions]
    is_plural = len(alternatives) > 1 or missing_permissions[0].bit_count() > 1
    sentence = f"{caller} lacks the permission{'s' if is_plural else ''} {' or '.join(alternatives)}"
    sentence += "" if place is None else f" in {place}"
    return f"{sentence}, because it is timed out, pending or quarantined." if is_restricted else f"{sentence}."
