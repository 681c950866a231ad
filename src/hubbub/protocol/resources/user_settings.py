"""User settings: who can contact the user, and join their activities (spec/sdk.md#9.3, 10.3, 11.3)."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import InGameMessages
from hubbub.protocol.ids import GuildId
from hubbub.protocol.operation import Auth, Event, Operation

RESTRICTED_GUILDS_MAX: Final = 200
"""Maximum number of restricted guilds."""


class FriendSources(Struct, kw_only=True):
    """The users who may send friend requests; no user may if none is set."""

    all: bool = False
    """Whether every user may send a friend request; includes the other two."""
    mutual_friends: bool = False
    """Whether friends of friends may send a friend request."""
    mutual_guilds: bool = False
    """Whether members of a mutual guild may send a friend request."""


class UserSettings(Struct, kw_only=True):
    """The settings of a user."""

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
    """Messages that games show; an `InGameMessages`."""


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
    """Messages that games show."""


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
