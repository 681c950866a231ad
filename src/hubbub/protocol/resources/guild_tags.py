"""Guild tags: a tag of up to four characters and a badge that members can display beside their name."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.members import GUILD_MEMBER_UPDATE
from hubbub.protocol.resources.users import USER_UPDATE, MyUser

GUILD_TAG_MIN = 1
"""Minimum length of a guild tag in characters."""
GUILD_TAG_MAX = 4
"""Maximum length of a guild tag in characters."""


class GuildProfile(Struct, kw_only=True):
    """Tag and badge of a guild."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    tag: str | None
    """Tag of the guild, 1 to 4 characters; null if it has none."""
    badge: str | None
    """Hash of the badge image; null if none."""


class UpdateGuildProfile(Struct, kw_only=True):
    """Request body for updating a guild's tag and badge; absent fields keep their value. A guild without a tag has no badge."""

    tag: Annotated[str, Meta(min_length=GUILD_TAG_MIN, max_length=GUILD_TAG_MAX)] | None | UnsetType = UNSET
    """New tag, 1 to 4 characters; null removes the tag and the badge."""
    badge: ImageData | None | UnsetType = UNSET
    """New badge image as a data URI; null removes it."""


class SetPrimaryGuild(Struct, kw_only=True):
    """Request body for selecting the guild whose tag the current user displays."""

    identity_guild_id: GuildId | None | UnsetType = UNSET
    """ID of the guild whose tag is displayed; null or absent removes the tag from the user."""
    identity_enabled: bool | None | UnsetType = UNSET
    """Whether to display the tag, true if absent or null; false hides the tag but keeps the guild selected."""


# First-party: the public API has none of these operations, only the user field `primary_guild` (decisions/0025).

GET_GUILD_PROFILE = Operation(
    "GET",
    "/guilds/{guild_id}/profile",
    result=GuildProfile,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

UPDATE_GUILD_PROFILE = Operation(
    "PATCH",
    "/guilds/{guild_id}/profile",
    body=UpdateGuildProfile,
    result=GuildProfile,
    needs=Permissions.MANAGE_GUILD,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.MORE_BOOSTS_NEEDED,
        errors.INVALID_FORM_BODY,
        errors.CANNOT_RESIZE_ASSET,
    ),
    audits=(AuditLogAction.GUILD_PROFILE_UPDATE,),
)

SET_MY_GUILD_TAG = Operation(
    "PUT",
    "/users/@me/clan",
    body=SetPrimaryGuild,
    result=MyUser,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_USER, errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.INVALID_FORM_BODY),
    emits=(USER_UPDATE, GUILD_MEMBER_UPDATE),
)
