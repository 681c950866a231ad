"""Vanity URLs: custom invite codes of guilds."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.operation import Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds

VANITY_CODE_MAX: Final = 32
"""Maximum length of a vanity code, in characters."""


class VanityUrl(Struct, kw_only=True):
    """The vanity invite code of a guild."""

    code: str | None
    """Vanity code; null if none is set."""
    uses: int
    """Number of times the code was used."""


class UpdateVanityUrl(Struct, kw_only=True):
    """A new vanity code."""

    code: Annotated[str, Meta(max_length=VANITY_CODE_MAX)] | None
    """New vanity code; null removes it."""


_MANAGE_ERRORS: Final = (
    errors.UNKNOWN_GUILD,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.TWO_FACTOR_REQUIRED,
    errors.MORE_BOOSTS_NEEDED,
)

# Both operations require the guild feature VANITY_URL.
GET_GUILD_VANITY_URL = Operation(
    "GET",
    "/guilds/{guild_id}/vanity-url",
    result=VanityUrl,
    needs=Permissions.MANAGE_GUILD,
    raises=_MANAGE_ERRORS,
)

UPDATE_GUILD_VANITY_URL = Operation(
    "PATCH",
    "/guilds/{guild_id}/vanity-url",
    body=UpdateVanityUrl,
    result=VanityUrl,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_MANAGE_ERRORS, errors.INVITE_INVALID_OR_TAKEN),
    emits=(guilds.GUILD_UPDATE,),
    audits=(AuditLogAction.GUILD_UPDATE,),
)
