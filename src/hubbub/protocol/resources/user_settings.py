"""User settings: privacy (spec/sdk.md#9.3, 10.3, 11.3), status, appearance, notifications and order of guilds."""

from datetime import datetime
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import InGameMessages
from hubbub.protocol.ids import EmojiId, GuildId, Timestamp
from hubbub.protocol.operation import Auth, Event, Operation

RESTRICTED_GUILDS_MAX: Final = 200
"""Maximum number of restricted guilds."""
CUSTOM_STATUS_MAX: Final = 128
"""Maximum length of the text of a custom status, in characters."""
CUSTOM_STATUS_EMOJI_MAX: Final = 64
"""Maximum length of the emoji of a custom status, in characters."""
FONT_SCALE_MIN: Final = 80
"""Smallest text size of the chat client, in percent."""
FONT_SCALE_MAX: Final = 150
"""Largest text size of the chat client, in percent."""
EMOJI_SKIN_TONE_MAX: Final = 5
"""Number of the darkest skin tone of emoji."""

GUILD_FOLDERS_MAX: Final = 500
"""Maximum number of entries in the order of guilds, and of guilds in a folder."""
FOLDER_NAME_MAX: Final = 32
"""Maximum length of the name of a guild folder, in characters."""
COLOR_MAX: Final = 0xFFFFFF
"""Greatest color, as an RGB number."""

ChosenStatus = Literal["online", "idle", "dnd", "invisible"]
"""Online status that a user can choose."""
Theme = Literal["system", "light", "dark"]
"""Colors of the chat client; `system` follows the user's device."""
FontScale = Annotated[int, Meta(ge=FONT_SCALE_MIN, le=FONT_SCALE_MAX)]
EmojiSkinTone = Annotated[int, Meta(ge=0, le=EMOJI_SKIN_TONE_MAX)]


class CustomStatus(Struct, kw_only=True):
    """The custom status of a user."""

    text: str | None
    """Text of the status; null if it has only an emoji."""
    emoji_id: EmojiId | None
    """ID of a guild emoji; null for a Unicode emoji or none."""
    emoji_name: str | None
    """Unicode emoji, or the name of the guild emoji; null if the status has no emoji."""
    expires_at: Timestamp | None
    """Time at which the status is removed; null if the status has no end."""


class SetCustomStatus(Struct, kw_only=True):
    """A new custom status; without text and emoji, the status is removed."""

    text: Annotated[str, Meta(max_length=CUSTOM_STATUS_MAX)] | None = None
    """Text of the status."""
    emoji_id: EmojiId | None = None
    """ID of a guild emoji; null for a Unicode emoji."""
    emoji_name: Annotated[str, Meta(max_length=CUSTOM_STATUS_EMOJI_MAX)] | None = None
    """Unicode emoji, or the name of the guild emoji."""
    expires_at: datetime | None = None
    """Time at which the status is removed; must be in the future. Null if the status has no end."""


class FriendSources(Struct, kw_only=True):
    """The users who may send friend requests; no user may if none is set."""

    all: bool = False
    """Whether every user may send a friend request; includes `mutual_friends` and `mutual_guilds`."""
    mutual_friends: bool = False
    """Whether friends of friends may send a friend request."""
    mutual_guilds: bool = False
    """Whether members of a mutual guild may send a friend request."""


class GuildFolder(Struct, kw_only=True):
    """An entry of the user's guild list: a folder, or a guild outside of folders."""

    id: Annotated[int, Meta(ge=1, le=2**53 - 1)] | None = None
    """ID of the folder, which the client chooses; null for a guild outside of folders."""
    guild_ids: Annotated[list[GuildId], Meta(min_length=1, max_length=GUILD_FOLDERS_MAX)]
    """IDs of the guilds in the folder in their order, or of the one guild outside of folders."""
    name: Annotated[str, Meta(max_length=FOLDER_NAME_MAX)] | None = None
    """Name of the folder; null if it has none."""
    color: Annotated[int, Meta(ge=0, le=COLOR_MAX)] | None = None
    """Color of the folder as an RGB number; null for the default color."""
    collapsed: bool = False
    """Whether the folder hides its guilds."""


class UserSettings(Struct, kw_only=True):
    """Preferences that the clients of a user share."""

    friend_source_flags: FriendSources
    """Users who may send friend requests."""
    restricted_guilds: list[GuildId]
    """IDs of guilds whose members may not send direct messages unless they are friends."""
    allow_activity_party_privacy_friends: bool
    """Whether friends may join a public party without asking."""
    allow_activity_party_privacy_voice_channel: bool
    """Whether users in the same voice channel may join a public party without asking."""
    allow_game_friend_dms_in_platform: bool
    """Whether messages of friends who are friends only in a game are stored and shown in the chat client."""
    slayer_sdk_receive_dms_in_game: int
    """Direct messages that games show to the user; an `InGameMessages`."""
    status: str = "online"
    """Online status that the user chose; the clients of the user set it in their sessions."""
    custom_status: CustomStatus | None = None
    """Custom status, which clients show as an activity; null if there is none or it has expired."""
    theme: str = "system"
    """Colors of the chat client: `system`, `light` or `dark`."""
    message_display_compact: bool = False
    """Whether the chat client shows messages with little space between them."""
    font_scale: int = 100
    """Text size of the chat client in percent."""
    reduced_motion: bool = False
    """Whether the chat client shows no animations; if false, the user's device decides."""
    desktop_notifications: bool = True
    """Whether the chat client shows desktop notifications, in browsers in which the user allowed them."""
    notification_sounds: bool = True
    """Whether the chat client plays a sound for messages that notify."""
    emoji_skin_tone: int = 0
    """Skin tone of emoji that the user chooses: 0 for none, 1 for the lightest to 5 for the darkest."""
    formatting_toolbar: bool = True
    """Whether the composer of the chat client shows buttons that format text."""
    render_embeds: bool = True
    """Whether the chat client shows previews of links in messages."""
    guild_folders: list[GuildFolder] = []
    """Folders and guilds in the order of the user's guild list. Guilds that are missing here follow at the end."""


class UpdateUserSettings(Struct, kw_only=True):
    """Changes to the settings; absent fields keep their value, and unknown fields are ignored."""

    friend_source_flags: FriendSources | UnsetType = UNSET
    """Users who may send friend requests; replaces all flags, absent ones are false."""
    restricted_guilds: Annotated[list[GuildId], Meta(max_length=RESTRICTED_GUILDS_MAX)] | UnsetType = UNSET
    """IDs of all restricted guilds. Each must be a guild of the user, or restricted already."""
    allow_activity_party_privacy_friends: bool | UnsetType = UNSET
    """Whether friends may join a public party without asking."""
    allow_activity_party_privacy_voice_channel: bool | UnsetType = UNSET
    """Whether users in the same voice channel may join a public party without asking."""
    allow_game_friend_dms_in_platform: bool | UnsetType = UNSET
    """Whether messages of friends who are friends only in a game are stored and shown in the chat client."""
    slayer_sdk_receive_dms_in_game: InGameMessages | UnsetType = UNSET
    """Direct messages that games show to the user; an `InGameMessages`."""
    status: ChosenStatus | UnsetType = UNSET
    """Online status that the user chose; the clients of the user set it in their sessions."""
    custom_status: SetCustomStatus | None | UnsetType = UNSET
    """New custom status; null removes it."""
    theme: Theme | UnsetType = UNSET
    """Colors of the chat client."""
    message_display_compact: bool | UnsetType = UNSET
    """Whether the chat client shows messages with little space between them."""
    font_scale: FontScale | UnsetType = UNSET
    """Text size of the chat client in percent."""
    reduced_motion: bool | UnsetType = UNSET
    """Whether the chat client shows no animations."""
    desktop_notifications: bool | UnsetType = UNSET
    """Whether the chat client shows desktop notifications."""
    notification_sounds: bool | UnsetType = UNSET
    """Whether the chat client plays a sound for messages that notify."""
    emoji_skin_tone: EmojiSkinTone | UnsetType = UNSET
    """Skin tone of emoji that the user chooses: 0 for none, 1 for the lightest to 5 for the darkest."""
    formatting_toolbar: bool | UnsetType = UNSET
    """Whether the composer of the chat client shows buttons that format text."""
    render_embeds: bool | UnsetType = UNSET
    """Whether the chat client shows previews of links in messages."""
    guild_folders: Annotated[list[GuildFolder], Meta(max_length=GUILD_FOLDERS_MAX)] | UnsetType = UNSET
    """All folders and guilds in their order. Each guild must be a guild of the user, or listed already, and be listed once."""


USER_SETTINGS_UPDATE = Event(
    "USER_SETTINGS_UPDATE", UserSettings, "Sent to the user's own clients, and not to games, when the settings change."
)

GET_USER_SETTINGS = Operation("GET", "/users/@me/settings", result=UserSettings, auth=Auth.USER)

UPDATE_USER_SETTINGS = Operation(
    "PATCH",
    "/users/@me/settings",
    body=UpdateUserSettings,
    result=UserSettings,
    auth=Auth.USER,
    raises=(errors.INVALID_FORM_BODY,),
    emits=(USER_SETTINGS_UPDATE,),
)
