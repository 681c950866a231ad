"""Emojis: custom emoji of guilds and applications, and the partial emoji of reactions and polls."""

from typing import Annotated, ClassVar, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import EmojiId, GuildId, RoleId
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.resources.users import User

EMOJI_NAME_MIN: Final = 2
EMOJI_NAME_MAX: Final = 32
EMOJI_BYTES_MAX: Final = 262_144
EMOJI_SIDE: Final = 128
"""Maximum width and height of an emoji in pixels; larger images are scaled down."""
EMOJIS_MAX_BY_TIER: Final = (50, 100, 150, 250)
"""Maximum number of static emoji of a guild, by its premium tier; as many animated emoji are allowed in addition."""
EMOJIS_MAX_WITH_MORE_EMOJI: Final = 200
"""Maximum number of static emoji in a guild with MORE_EMOJI, unless its premium tier allows more."""
APPLICATION_EMOJIS_MAX: Final = 2000
"""Maximum number of emoji of an application."""

EmojiName = Annotated[str, Meta(min_length=EMOJI_NAME_MIN, max_length=EMOJI_NAME_MAX, pattern=r"^[A-Za-z0-9_]*(?!\n)$")]


class EmojiImage(ImageData):
    """Image of an emoji, at most 256 KiB; sides longer than 128 pixels are scaled down."""

    __slots__ = ()

    bytes_max: ClassVar[int] = EMOJI_BYTES_MAX
    side_pixels_max: ClassVar[int] = EMOJI_SIDE


class PartialEmoji(Struct, kw_only=True):
    """An emoji of a reaction, poll or button."""

    id: EmojiId | None
    """ID of a custom emoji; null for a Unicode emoji."""
    name: str | None
    """The Unicode emoji, or the name of the custom emoji; null for a custom emoji that was deleted."""
    animated: bool | UnsetType = UNSET
    """Whether the emoji is animated; absent or false if it is not."""


class Emoji(Struct, kw_only=True):
    """A custom emoji."""

    id: EmojiId
    """ID of the emoji."""
    name: str
    """Name of the emoji, 2 to 32 letters, digits and underscores."""
    roles: list[RoleId]
    """IDs of the roles that may use the emoji; empty if everyone may."""
    require_colons: bool = True
    """Whether the name must be wrapped in colons when typed; always true."""
    managed: bool = False
    """Whether an integration manages the emoji; always false."""
    animated: bool = False
    """Whether the emoji is animated."""
    available: bool = True
    """Whether the emoji can be used; always true."""
    user: User | UnsetType = UNSET
    """User who created the emoji; in guilds, sent to holders of CREATE_GUILD_EXPRESSIONS or MANAGE_GUILD_EXPRESSIONS only."""


class ApplicationEmojis(Struct, kw_only=True):
    """List of all emojis that an application owns."""

    items: list[Emoji]
    """Emoji of the application."""


class CreateGuildEmoji(Struct, kw_only=True):
    """Request body for creating a guild emoji."""

    name: EmojiName
    """Name of the emoji, 2 to 32 letters, digits and underscores."""
    image: EmojiImage
    """Image as a data URI, at most 256 KiB; sides longer than 128 pixels are scaled down."""
    roles: list[RoleId | None] | None | UnsetType = UNSET
    """IDs of the roles that may use the emoji; everyone may if absent, null or empty."""


class UpdateGuildEmoji(Struct, kw_only=True):
    """Request body for updating a guild emoji; absent fields keep their value."""

    name: EmojiName | UnsetType = UNSET
    """New name, 2 to 32 letters, digits and underscores."""
    roles: list[RoleId | None] | None | UnsetType = UNSET
    """New IDs of the roles that may use the emoji; null or an empty list allows everyone."""


class CreateApplicationEmoji(Struct, kw_only=True):
    """Request body for creating an application emoji."""

    name: EmojiName
    """Name of the emoji, 2 to 32 letters, digits and underscores."""
    image: EmojiImage
    """Image as a data URI, at most 256 KiB; sides longer than 128 pixels are scaled down."""


class UpdateApplicationEmoji(Struct, kw_only=True):
    """Request body for updating an application emoji; absent fields keep their value."""

    name: EmojiName | UnsetType = UNSET
    """New name, 2 to 32 letters, digits and underscores."""


class GuildEmojis(Struct, kw_only=True):
    """Emoji of a guild after a change."""

    guild_id: GuildId
    """ID of the guild."""
    emojis: list[Emoji]
    """All emoji of the guild."""


GUILD_EMOJIS_UPDATE = Event(
    "GUILD_EMOJIS_UPDATE",
    GuildEmojis,
    "Sent when an emoji of a guild is created, updated or deleted.",
    intents=Intents.GUILD_EXPRESSIONS,
)

_GUILD_ERRORS: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
_UPDATE_ERRORS: Final = (*_GUILD_ERRORS, errors.UNKNOWN_EMOJI, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)
_APPLICATION_ERRORS: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION, errors.NOT_FOUND)

LIST_GUILD_EMOJIS = Operation("GET", "/guilds/{guild_id}/emojis", result=list[Emoji], raises=_GUILD_ERRORS)

GET_GUILD_EMOJI = Operation(
    "GET", "/guilds/{guild_id}/emojis/{emoji_id}", result=Emoji, raises=(*_GUILD_ERRORS, errors.UNKNOWN_EMOJI)
)

# The caller needs CREATE_GUILD_EXPRESSIONS; before changes.PERMISSION_SPLITS, MANAGE_GUILD_EXPRESSIONS is also sufficient.
CREATE_GUILD_EMOJI = Operation(
    "POST",
    "/guilds/{guild_id}/emojis",
    body=CreateGuildEmoji,
    result=Emoji,
    status=201,
    raises=(
        *_GUILD_ERRORS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.UNKNOWN_ROLE,
        errors.MAX_EMOJIS,
        errors.MAX_ANIMATED_EMOJIS,
        errors.CANNOT_RESIZE_ASSET,
    ),
    emits=(GUILD_EMOJIS_UPDATE,),
    audits=(AuditLogAction.EMOJI_CREATE,),
)

# The creator needs CREATE_GUILD_EXPRESSIONS or MANAGE_GUILD_EXPRESSIONS; other members need the latter.
UPDATE_GUILD_EMOJI = Operation(
    "PATCH",
    "/guilds/{guild_id}/emojis/{emoji_id}",
    body=UpdateGuildEmoji,
    result=Emoji,
    raises=(*_UPDATE_ERRORS, errors.UNKNOWN_ROLE),
    emits=(GUILD_EMOJIS_UPDATE,),
    audits=(AuditLogAction.EMOJI_UPDATE,),
)

DELETE_GUILD_EMOJI = Operation(
    "DELETE",
    "/guilds/{guild_id}/emojis/{emoji_id}",
    raises=_UPDATE_ERRORS,
    emits=(GUILD_EMOJIS_UPDATE,),
    audits=(AuditLogAction.EMOJI_DELETE,),
)

LIST_APPLICATION_EMOJIS = Operation(
    "GET", "/applications/{application_id}/emojis", result=ApplicationEmojis, raises=_APPLICATION_ERRORS
)

GET_APPLICATION_EMOJI = Operation(
    "GET",
    "/applications/{application_id}/emojis/{emoji_id}",
    result=Emoji,
    raises=(*_APPLICATION_ERRORS, errors.UNKNOWN_EMOJI),
)

CREATE_APPLICATION_EMOJI = Operation(
    "POST",
    "/applications/{application_id}/emojis",
    body=CreateApplicationEmoji,
    result=Emoji,
    status=201,
    raises=(*_APPLICATION_ERRORS, errors.MAX_EMOJIS, errors.CANNOT_RESIZE_ASSET),
)

UPDATE_APPLICATION_EMOJI = Operation(
    "PATCH",
    "/applications/{application_id}/emojis/{emoji_id}",
    body=UpdateApplicationEmoji,
    result=Emoji,
    raises=(*_APPLICATION_ERRORS, errors.UNKNOWN_EMOJI),
)

DELETE_APPLICATION_EMOJI = Operation(
    "DELETE",
    "/applications/{application_id}/emojis/{emoji_id}",
    raises=(*_APPLICATION_ERRORS, errors.UNKNOWN_EMOJI),
)
