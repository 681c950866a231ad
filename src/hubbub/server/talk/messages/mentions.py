"""Resolve the users and roles that a message notifies, limited by `allowed_mentions` (spec/http.md#3.4)."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec import UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AllowedMentionType
from hubbub.protocol.ids import WIDE_MAX, RoleId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import AllowedMentions
from hubbub.server.core.call import Call
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.talk.messages import store

_USER: Final = re.compile(r"<@!?(\d{1,20})>", re.ASCII)
_ROLE: Final = re.compile(r"<@&(\d{1,20})>", re.ASCII)
_EVERYONE: Final = re.compile(r"@(?:everyone|here)\b")

MENTIONS_MAX: Final = 500
"""Maximum number of mentions resolved per kind; a message cannot contain more."""


class Mentions(NamedTuple):
    """The users and roles that a message notifies."""

    users: tuple[UserId, ...] = ()
    roles: tuple[RoleId, ...] = ()
    everyone: bool = False


NO_MENTIONS: Final = Mentions()


def check_allowed(allowed: AllowedMentions | None | UnsetType, form: errors.FormErrors) -> None:
    """Add an error if `allowed_mentions` lists IDs of a kind that `parse` already allows."""
    if not allowed or not allowed.parse:
        return
    for kind, ids in ((AllowedMentionType.USERS, allowed.users), (AllowedMentionType.ROLES, allowed.roles)):
        if kind in allowed.parse and ids:
            form.add(("allowed_mentions",), *errors.mentions_exclusive(kind.value))


def resolve(
    call: Call,
    access: ChannelAccess,
    texts: Iterable[str],
    allowed: AllowedMentions | None | UnsetType,
    replied_id: int | None = None,
) -> Mentions:
    """Return the mentions in some texts; `replied_id` is the author of the replied-to message."""
    named_users: dict[int, None] = {}
    named_roles: dict[int, None] = {}
    everyone = False
    for text in texts:
        if "@" not in text:
            continue
        named_users.update(dict.fromkeys(_ids(_USER, text)))
        named_roles.update(dict.fromkeys(_ids(_ROLE, text)))
        everyone = everyone or _EVERYONE.search(text) is not None
    can_mention_all = access.can(Permissions.MENTION_EVERYONE)
    if allowed:
        parse = allowed.parse or ()
        if AllowedMentionType.USERS not in parse:
            allowed_ids = set(allowed.users or ())
            named_users = {each: None for each in named_users if each in allowed_ids}
        if AllowedMentionType.ROLES not in parse:
            allowed_ids = set(allowed.roles or ())  # type: ignore[arg-type]
            named_roles = {each: None for each in named_roles if each in allowed_ids}
        everyone = everyone and AllowedMentionType.EVERYONE in parse
    # spec/http.md#3.4: the replied-to author is notified unless allowed_mentions is given without replied_user.
    if replied_id is not None and (not allowed or allowed.replied_user):
        named_users[replied_id] = None
    users = _existing_users(call, list(named_users)[:MENTIONS_MAX])
    roles = _mentionable_roles(call, access, list(named_roles)[:MENTIONS_MAX], can_mention_all)
    return Mentions(users, roles, everyone and can_mention_all)


def _ids(pattern: re.Pattern[str], text: str) -> list[int]:
    return [number for number in map(int, pattern.findall(text)) if number <= WIDE_MAX]


def _existing_users(call: Call, ids: list[int]) -> tuple[UserId, ...]:
    if not ids:
        return ()
    known = store.existing_user_ids(call.tx, ids)
    return tuple(UserId(each) for each in ids if each in known)


def _mentionable_roles(call: Call, access: ChannelAccess, ids: list[int], can_mention_all: bool) -> tuple[RoleId, ...]:
    # The @everyone role is mentioned by name, never by ID.
    ids = [each for each in ids if access.guild is not None and each != access.guild.guild_id]
    if not ids or access.guild is None:
        return ()
    known = store.mentionable_roles(call.tx, access.guild.guild_id, ids, can_mention_all)
    return tuple(RoleId(each) for each in ids if each in known)
