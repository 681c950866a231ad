"""Placeholder accounts of imported guilds, which their users claim (decisions/0128)."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.members import GUILD_MEMBER_ADD, GUILD_MEMBER_REMOVE, GUILD_MEMBER_UPDATE

CLAIM_CODE_MAX: Final = 100
"""Maximum length of a claim code in characters, including the spaces and hyphens that are ignored."""

PLACEHOLDERS_PAGE_MAX: Final = 100
"""Maximum number of placeholder accounts in a page."""


class UnclaimedPlaceholder(Struct, kw_only=True):
    """A placeholder account of an imported guild that no user has claimed."""

    user_id: UserId
    """ID of the placeholder account."""
    username: str
    """Name that the user had on the server that the guild came from."""
    code: str
    """Code with which its user claims the account, once."""


class ListPlaceholders(Struct, kw_only=True):
    """Query of the placeholder accounts of a guild."""

    after: UserId | None = None
    """Return accounts with higher IDs only."""
    limit: Annotated[int, Meta(ge=1, le=PLACEHOLDERS_PAGE_MAX)] = PLACEHOLDERS_PAGE_MAX
    """Maximum number of accounts, 1 to 100."""


class ClaimPlaceholder(Struct, kw_only=True):
    """Request body for claiming a placeholder account."""

    code: Annotated[str, Meta(min_length=1, max_length=CLAIM_CODE_MAX)]
    """Claim code of the account. Case, spaces and hyphens are ignored."""


class ClaimedPlaceholder(Struct, kw_only=True):
    """A placeholder account that the caller has claimed."""

    user_id: UserId
    """ID of the placeholder account. Existing messages have this author ID until the server has updated them."""
    guild_id: GuildId
    """ID of the imported guild. If the placeholder account was a member, the caller is now a member instead."""
    username: str
    """Name that the user had on the server that the guild came from."""


CLAIM_PLACEHOLDER = Operation(
    "POST",
    "/users/@me/placeholders",
    body=ClaimPlaceholder,
    result=ClaimedPlaceholder,
    auth=Auth.USER,
    limit=RateLimit(5, 60),
    raises=(errors.INVALID_FORM_BODY, errors.UNKNOWN_GUILD, errors.USER_BANNED, errors.MAX_GUILDS),
    emits=(GUILD_MEMBER_ADD, GUILD_MEMBER_REMOVE, GUILD_MEMBER_UPDATE),
)

LIST_PLACEHOLDERS = Operation(
    "GET",
    "/guilds/{guild_id}/placeholders",
    query=ListPlaceholders,
    result=list[UnclaimedPlaceholder],
    auth=Auth.USER,
    needs=Permissions.ADMINISTRATOR,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
)
