"""Guild tags: up to four letters and a badge that members of a guild wear beside their name."""

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
GUILD_TAG_MAX = 4


class GuildProfile(Struct, kw_only=True):
    """What of a guild its members may wear."""

    id: GuildId
    name: str
    tag: str | None
    badge: str | None
    """The hash of the badge's picture."""


class UpdateGuildProfile(Struct, kw_only=True):
    """A guild's new tag and badge; without a tag there is no badge."""

    tag: Annotated[str, Meta(min_length=GUILD_TAG_MIN, max_length=GUILD_TAG_MAX)] | None | UnsetType = UNSET
    badge: ImageData | None | UnsetType = UNSET
    """A data URI of the picture."""


class WearTag(Struct, kw_only=True):
    """Whose tag to wear."""

    identity_guild_id: GuildId | None | UnsetType = UNSET
    """None takes the tag off."""
    identity_enabled: bool | None | UnsetType = UNSET
    """False takes it off and remembers the guild."""


# First-party; the wire names the result only, `primary_guild` (decisions/0025).
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

WEAR_GUILD_TAG = Operation(
    "PUT",
    "/users/@me/clan",
    body=WearTag,
    result=MyUser,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_USER, errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.INVALID_FORM_BODY),
    emits=(USER_UPDATE, GUILD_MEMBER_UPDATE),
)
