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

_USER_MENTION: Final = re.compile(r"<@!?(\d{1,20})>", re.ASCII)
_ROLE_MENTION: Final = re.compile(r"<@&(\d{1,20})>", re.ASCII)
_EVERYONE_MENTION: Final = re.compile(r"@(?:everyone|here)\b")

MENTIONS_MAX: Final = 500
"""Maximum number of mentions resolved of each type; a message cannot contain more."""


class Mentions(NamedTuple):
    """The users and roles that a message notifies."""

    users: tuple[UserId, ...] = ()
    roles: tuple[RoleId, ...] = ()
    everyone: bool = False


NO_MENTIONS: Final = Mentions()


def check_allowed(allowed: AllowedMentions | None | UnsetType, form: errors.FormErrors) -> None:
    """Add an error if `allowed_mentions` lists IDs of a type that `parse` already allows."""
    if not allowed or not allowed.parse:
        return
    for mention_type, ids in ((AllowedMentionType.USERS, allowed.users), (AllowedMentionType.ROLES, allowed.roles)):
        if mention_type in allowed.parse and ids:
            form.add(("allowed_mentions",), *errors.mentions_exclusive(mention_type.value))


def resolve(
    call: Call,
    channel_access: ChannelAccess,
    texts: Iterable[str],
    allowed: AllowedMentions | None | UnsetType,
    replied_author_id: int | None = None,
) -> Mentions:
    """Return the mentions in texts that `allowed` permits.

    `replied_author_id` is the ID of the author of the replied-to message, or None if the message is not a reply."""
    mentioned_user_ids: dict[int, None] = {}
    mentioned_role_ids: dict[int, None] = {}
    everyone = False
    for text in texts:
        if "@" not in text:
            continue
        mentioned_user_ids.update(dict.fromkeys(_find_ids(_USER_MENTION, text)))
        mentioned_role_ids.update(dict.fromkeys(_find_ids(_ROLE_MENTION, text)))
        everyone = everyone or _EVERYONE_MENTION.search(text) is not None
    can_mention_all = channel_access.can(Permissions.MENTION_EVERYONE)
    if allowed:
        parse = allowed.parse or ()
        if AllowedMentionType.USERS not in parse:
            allowed_ids = set(allowed.users or ())
            mentioned_user_ids = {
                mentioned_id: None for mentioned_id in mentioned_user_ids if mentioned_id in allowed_ids
            }
        if AllowedMentionType.ROLES not in parse:
            allowed_ids = set(allowed.roles or ())  # type: ignore[arg-type]
            mentioned_role_ids = {
                mentioned_id: None for mentioned_id in mentioned_role_ids if mentioned_id in allowed_ids
            }
        everyone = everyone and AllowedMentionType.EVERYONE in parse
    # spec/http.md#3.4: the replied-to author is notified unless allowed_mentions is given without replied_user.
    if replied_author_id is not None and (not allowed or allowed.replied_user):
        mentioned_user_ids[replied_author_id] = None
    users = _filter_existing_users(call, list(mentioned_user_ids)[:MENTIONS_MAX])
    roles = _filter_mentionable_roles(call, channel_access, list(mentioned_role_ids)[:MENTIONS_MAX], can_mention_all)
    return Mentions(users, roles, everyone and can_mention_all)


def _find_ids(pattern: re.Pattern[str], text: str) -> list[int]:
    return [number for number in map(int, pattern.findall(text)) if number <= WIDE_MAX]


def _filter_existing_users(call: Call, user_ids: list[int]) -> tuple[UserId, ...]:
    if not user_ids:
        return ()
    existing_ids = store.filter_existing_users(call.tx, user_ids)
    return tuple(UserId(user_id) for user_id in user_ids if user_id in existing_ids)


def _filter_mentionable_roles(
    call: Call, channel_access: ChannelAccess, role_ids: list[int], can_mention_all: bool
) -> tuple[RoleId, ...]:
    # The @everyone role is mentioned by name, never by ID.
    role_ids = [
        role_id for role_id in role_ids if channel_access.guild is not None and role_id != channel_access.guild.guild_id
    ]
    if not role_ids or channel_access.guild is None:
        return ()
    mentionable_ids = store.filter_mentionable_roles(call.tx, channel_access.guild.guild_id, role_ids, can_mention_all)
    return tuple(RoleId(role_id) for role_id in role_ids if role_id in mentionable_ids)
