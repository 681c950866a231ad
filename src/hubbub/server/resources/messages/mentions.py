"""Whom a message notifies: what its text names, less what `allowed_mentions` holds back (http.md 3.4)."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec import UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AllowedMentionType
from hubbub.protocol.ids import MAX_WIDE, RoleId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import AllowedMentions
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.resources.messages import store

_USER: Final = re.compile(r"<@!?(\d{1,20})>", re.ASCII)
_ROLE: Final = re.compile(r"<@&(\d{1,20})>", re.ASCII)
_EVERYONE: Final = re.compile(r"@(?:everyone|here)\b")

MENTIONS_MAX: Final = 500
"""How many of each kind are looked up; a message cannot hold more."""


class Mentions(NamedTuple):
    """Whom a message notifies."""

    users: tuple[UserId, ...] = ()
    roles: tuple[RoleId, ...] = ()
    everyone: bool = False


NOBODY: Final = Mentions()


def check(allowed: AllowedMentions | None | UnsetType, form: errors.FormErrors) -> None:
    """Note where all of a kind and some of that kind are asked for at once."""
    if not allowed or not allowed.parse:
        return
    for kind, ids in ((AllowedMentionType.USERS, allowed.users), (AllowedMentionType.ROLES, allowed.roles)):
        if kind in allowed.parse and ids:
            form.add(("allowed_mentions",), *errors.mentions_exclusive(kind.value))


def read(
    call: Call,
    access: ChannelAccess,
    texts: Iterable[str],
    allowed: AllowedMentions | None | UnsetType,
    replied_id: int | None = None,
) -> Mentions:
    """Whom these texts notify; `replied_id` is the author of the message that is answered."""
    named_users: dict[int, None] = {}
    named_roles: dict[int, None] = {}
    everyone = False
    for text in texts:
        if "@" not in text:
            continue
        named_users.update(dict.fromkeys(_ids(_USER, text)))
        named_roles.update(dict.fromkeys(_ids(_ROLE, text)))
        everyone = everyone or _EVERYONE.search(text) is not None
    may_all = access.can(Permissions.MENTION_EVERYONE)
    if allowed:
        parse = allowed.parse or ()
        if AllowedMentionType.USERS not in parse:
            wanted = set(allowed.users or ())
            named_users = {each: None for each in named_users if each in wanted}
        if AllowedMentionType.ROLES not in parse:
            wanted = set(allowed.roles or ())  # type: ignore[arg-type]
            named_roles = {each: None for each in named_roles if each in wanted}
        everyone = everyone and AllowedMentionType.EVERYONE in parse
    # http.md 3.4: without allowed_mentions the one replied to is notified, with it only when it says so.
    if replied_id is not None and (not allowed or allowed.replied_user):
        named_users[replied_id] = None
    users = _existing_users(call, list(named_users)[:MENTIONS_MAX])
    roles = _mentionable_roles(call, access, list(named_roles)[:MENTIONS_MAX], may_all)
    return Mentions(users, roles, everyone and may_all)


def _ids(pattern: re.Pattern[str], text: str) -> list[int]:
    return [number for number in map(int, pattern.findall(text)) if number <= MAX_WIDE]


def _existing_users(call: Call, named: list[int]) -> tuple[UserId, ...]:
    if not named:
        return ()
    known = store.known_users(call.tx, named)
    return tuple(UserId(each) for each in named if each in known)


def _mentionable_roles(call: Call, access: ChannelAccess, named: list[int], may_all: bool) -> tuple[RoleId, ...]:
    # @everyone's own role is mentioned by name, never by id.
    named = [each for each in named if access.guild is not None and each != access.guild.guild_id]
    if not named or access.guild is None:
        return ()
    known = store.mentionable_roles(call.tx, access.guild.guild_id, named, may_all)
    return tuple(RoleId(each) for each in named if each in known)
