"""Custom emoji of guilds and applications, and the little of an emoji that reactions and polls show."""

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
EMOJIS_MAX_BY_TIER: Final = (50, 100, 150, 250)
"""Static ones by the guild's premium tier, and as many animated."""
EMOJIS_MAX_MORE: Final = 200
"""At least so many with the feature MORE_EMOJI."""
APPLICATION_EMOJIS_MAX: Final = 2000

EmojiName = Annotated[str, Meta(min_length=EMOJI_NAME_MIN, max_length=EMOJI_NAME_MAX, pattern=r"^[A-Za-z0-9_]*(?!\n)$")]


class EmojiData(ImageData):
    """The picture of an emoji."""

    __slots__ = ()

    bytes_max: ClassVar[int] = EMOJI_BYTES_MAX
    side_max: ClassVar[int] = EMOJI_SIDE


class PartialEmoji(Struct, kw_only=True):
    """An emoji as a reaction, a poll or a button names it."""

    id: EmojiId | None
    """Null for a unicode emoji."""
    name: str | None
    """The unicode emoji itself; null for a custom one that is gone."""
    animated: bool | UnsetType = UNSET


class Emoji(Struct, kw_only=True):
    """A custom emoji."""

    id: EmojiId
    name: str
    roles: list[RoleId]
    """Only these may use it; empty: everyone."""
    require_colons: bool = True
    managed: bool = False
    animated: bool = False
    available: bool = True
    """False while the guild has lost the slots for it."""
    user: User | UnsetType = UNSET
    """Who made it, for those who may manage expressions."""


class ApplicationEmojis(Struct, kw_only=True):
    """All emoji of an application."""

    items: list[Emoji]


class CreateGuildEmoji(Struct, kw_only=True):
    """A new emoji of a guild."""

    name: EmojiName
    image: EmojiData
    roles: list[RoleId | None] | None | UnsetType = UNSET
    """Only these may use it."""


class UpdateGuildEmoji(Struct, kw_only=True):
    """What of a guild's emoji may change."""

    name: EmojiName | UnsetType = UNSET
    roles: list[RoleId | None] | None | UnsetType = UNSET
    """Null, like an empty list, lets everybody use it."""


class CreateApplicationEmoji(Struct, kw_only=True):
    """A new emoji of an application."""

    name: EmojiName
    image: EmojiData


class UpdateApplicationEmoji(Struct, kw_only=True):
    """What of an application's emoji may change."""

    name: EmojiName | UnsetType = UNSET


class GuildEmojis(Struct, kw_only=True):
    """All emoji of a guild, after one of them was made, changed or deleted."""

    guild_id: GuildId
    emojis: list[Emoji]


GUILD_EMOJIS_UPDATE = Event("GUILD_EMOJIS_UPDATE", GuildEmojis, intents=Intents.GUILD_EXPRESSIONS)

_IN_GUILD: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
_CHANGING: Final = (*_IN_GUILD, errors.UNKNOWN_EMOJI, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)
_OF_APPLICATION: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION, errors.NOT_FOUND)

LIST_GUILD_EMOJIS = Operation("GET", "/guilds/{guild_id}/emojis", result=list[Emoji], raises=_IN_GUILD)

GET_GUILD_EMOJI = Operation(
    "GET", "/guilds/{guild_id}/emojis/{emoji_id}", result=Emoji, raises=(*_IN_GUILD, errors.UNKNOWN_EMOJI)
)

# CREATE_GUILD_EXPRESSIONS; before permission_splits MANAGE_GUILD_EXPRESSIONS suffices too.
CREATE_GUILD_EMOJI = Operation(
    "POST",
    "/guilds/{guild_id}/emojis",
    body=CreateGuildEmoji,
    result=Emoji,
    status=201,
    raises=(
        *_IN_GUILD,
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

# One's own with CREATE_GUILD_EXPRESSIONS or MANAGE_GUILD_EXPRESSIONS, others' with the latter.
UPDATE_GUILD_EMOJI = Operation(
    "PATCH",
    "/guilds/{guild_id}/emojis/{emoji_id}",
    body=UpdateGuildEmoji,
    result=Emoji,
    raises=(*_CHANGING, errors.UNKNOWN_ROLE),
    emits=(GUILD_EMOJIS_UPDATE,),
    audits=(AuditLogAction.EMOJI_UPDATE,),
)

DELETE_GUILD_EMOJI = Operation(
    "DELETE",
    "/guilds/{guild_id}/emojis/{emoji_id}",
    raises=_CHANGING,
    emits=(GUILD_EMOJIS_UPDATE,),
    audits=(AuditLogAction.EMOJI_DELETE,),
)

LIST_APPLICATION_EMOJIS = Operation(
    "GET", "/applications/{application_id}/emojis", result=ApplicationEmojis, raises=_OF_APPLICATION
)

GET_APPLICATION_EMOJI = Operation(
    "GET",
    "/applications/{application_id}/emojis/{emoji_id}",
    result=Emoji,
    raises=(*_OF_APPLICATION, errors.UNKNOWN_EMOJI),
)

CREATE_APPLICATION_EMOJI = Operation(
    "POST",
    "/applications/{application_id}/emojis",
    body=CreateApplicationEmoji,
    result=Emoji,
    status=201,
    raises=(*_OF_APPLICATION, errors.MAX_EMOJIS, errors.CANNOT_RESIZE_ASSET),
)

UPDATE_APPLICATION_EMOJI = Operation(
    "PATCH",
    "/applications/{application_id}/emojis/{emoji_id}",
    body=UpdateApplicationEmoji,
    result=Emoji,
    raises=(*_OF_APPLICATION, errors.UNKNOWN_EMOJI),
)

DELETE_APPLICATION_EMOJI = Operation(
    "DELETE",
    "/applications/{application_id}/emojis/{emoji_id}",
    raises=(*_OF_APPLICATION, errors.UNKNOWN_EMOJI),
)
