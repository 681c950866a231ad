"""Find the users and roles that a message mentions, limited by `allowed_mentions` (spec/http.md#3.4)."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec import UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AllowedMentionType
from hubbub.protocol.ids import WIDE_MAX, RoleId, UserId
from hubbub.protocol.resources.messages import AllowedMentions

_USER_MENTION_PATTERN: Final = re.compile(r"<@!?(\d{1,20})>", re.ASCII)
_ROLE_MENTION_PATTERN: Final = re.compile(r"<@&(\d{1,20})>", re.ASCII)
_EVERYONE_MENTION_PATTERN: Final = re.compile(r"@(?:everyone|here)\b")

MENTIONS_MAX: Final = 500
"""Maximum number of users, and of roles, that one message mentions; additional mentions are ignored."""


class Mentions(NamedTuple):
    """The users and roles that a message notifies."""

    users: tuple[UserId, ...] = ()
    roles: tuple[RoleId, ...] = ()
    includes_everyone: bool = False


NO_MENTIONS: Final = Mentions()


def check_allowed(allowed_mentions: AllowedMentions | None | UnsetType, form: errors.FormErrors) -> None:
    """Add an error if `allowed_mentions` lists IDs of a type that `parse` already allows."""
    if not allowed_mentions or not allowed_mentions.parse:
        return
    for mention_type, listed_ids in (
        (AllowedMentionType.USERS, allowed_mentions.users),
        (AllowedMentionType.ROLES, allowed_mentions.roles),
    ):
        if mention_type in allowed_mentions.parse and listed_ids:
            form.add(("allowed_mentions",), *errors.mentions_exclusive(mention_type.value))


def parse_mentions(
    texts: Iterable[str], allowed_mentions: AllowedMentions | None | UnsetType, replied_author_id: int | None = None
) -> Mentions:
    """Return the mentions in texts that `allowed_mentions` permits; their users and roles may not exist.

    `replied_author_id` is the ID of the author of the replied-to message, or None if the message is not a reply."""
    user_ids: dict[int, None] = {}
    role_ids: dict[int, None] = {}
    includes_everyone = False
    for text in texts:
        if "@" in text:
            user_ids.update(dict.fromkeys(_find_ids(_USER_MENTION_PATTERN, text)))
            role_ids.update(dict.fromkeys(_find_ids(_ROLE_MENTION_PATTERN, text)))
            includes_everyone = includes_everyone or _EVERYONE_MENTION_PATTERN.search(text) is not None
    if allowed_mentions:
        allowed_types = allowed_mentions.parse or ()
        if AllowedMentionType.USERS not in allowed_types:
            allowed_user_ids = set(allowed_mentions.users or ())
            user_ids = {user_id: None for user_id in user_ids if user_id in allowed_user_ids}
        if AllowedMentionType.ROLES not in allowed_types:
            allowed_role_ids = set(allowed_mentions.roles or ())
            role_ids = {role_id: None for role_id in role_ids if role_id in allowed_role_ids}
        includes_everyone = includes_everyone and AllowedMentionType.EVERYONE in allowed_types
    # spec/http.md#3.4: the replied-to author is notified unless allowed_mentions is given without replied_user.
    if replied_author_id is not None and (not allowed_mentions or allowed_mentions.replied_user):
        user_ids[replied_author_id] = None
    return Mentions(
        tuple(UserId(user_id) for user_id in list(user_ids)[:MENTIONS_MAX]),
        tuple(RoleId(role_id) for role_id in list(role_ids)[:MENTIONS_MAX]),
        includes_everyone,
    )


def _find_ids(pattern: re.Pattern[str], text: str) -> list[int]:
    return [mentioned_id for mentioned_id in map(int, pattern.findall(text)) if mentioned_id <= WIDE_MAX]
