"""User settings: what people decide about who may reach them (sdk.md 9.3, 10.3, 11.3)."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import InGameMessages
from hubbub.protocol.ids import GuildId
from hubbub.protocol.operation import Auth, Event, Operation

RESTRICTED_GUILDS_MAX: Final = 200


class FriendSources(Struct, kw_only=True):
    """Who may ask somebody to be a friend; nobody, where none of these is set."""

    all: bool = False
    """Everybody; the others go without saying."""
    mutual_friends: bool = False
    """Friends of friends."""
    mutual_guilds: bool = False
    """Those in a guild with them."""


class UserSettings(Struct, kw_only=True):
    """What a person decided."""

    friend_source_flags: FriendSources
    restricted_guilds: list[GuildId]
    """Guilds whose members may not write to them for that alone."""
    allow_activity_party_privacy_friends: bool
    """Whether friends may join a public party without asking."""
    allow_activity_party_privacy_voice_channel: bool
    """Whether those in the same voice channel may."""
    allow_game_friend_dms_in_platform: bool
    """Whether what friends of a game alone say is kept, and seen in the chat client."""
    slayer_sdk_receive_dms_in_game: int
    """An `InGameMessages`: whose messages games show."""


class UpdateUserSettings(Struct, kw_only=True):
    """What to decide otherwise; what is left out stays, and other keys are ignored as in every body."""

    friend_source_flags: FriendSources | UnsetType = UNSET
    """All of it: what is left out inside is false."""
    restricted_guilds: Annotated[list[GuildId], Meta(max_length=RESTRICTED_GUILDS_MAX)] | UnsetType = UNSET
    """The whole list anew, of guilds that the person is in or had restricted before."""
    allow_activity_party_privacy_friends: bool | UnsetType = UNSET
    allow_activity_party_privacy_voice_channel: bool | UnsetType = UNSET
    allow_game_friend_dms_in_platform: bool | UnsetType = UNSET
    slayer_sdk_receive_dms_in_game: InGameMessages | UnsetType = UNSET


USER_SETTINGS_UPDATE = Event("USER_SETTINGS_UPDATE", UserSettings)
"""To the person's own clients, and to no game."""

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
