"""SQL for the user_settings table. A user who never changed the settings has no row."""

from collections.abc import Collection
from typing import Final

from hubbub.protocol import codec
from hubbub.protocol.enums import InGameMessages
from hubbub.protocol.resources.user_settings import FriendSources, UserSettings
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("user_settings",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (PersonalColumn(column="user_settings.user_id", erasure=Erasure.DELETED, export="settings"),)
"""Columns of these tables that contain IDs of users."""
ALL_FRIEND_SOURCES: Final = FriendSources(all=True, mutual_friends=True, mutual_guilds=True)
"""Default of the setting: friend requests of all users are accepted."""


def read(tx: Tx, user_id: int) -> UserSettings:
    """Return a user's stored settings, or the defaults if the user never changed them."""
    settings_json = tx.value("SELECT settings FROM user_settings WHERE user_id = ?", user_id)
    if settings_json is not None:
        return codec.decode(settings_json, UserSettings)
    return UserSettings(
        friend_source_flags=ALL_FRIEND_SOURCES,
        restricted_guilds=[],
        allow_activity_party_privacy_friends=True,
        allow_activity_party_privacy_voice_channel=True,
        allow_game_friend_dms_in_platform=True,
        slayer_sdk_receive_dms_in_game=InGameMessages.UNSET,
    )


def find_many(tx: Tx, user_ids: Collection[int]) -> dict[int, UserSettings]:
    """Return the settings of the given users who changed the defaults, by user ID."""
    rows = tx.all(f"SELECT user_id, settings FROM user_settings WHERE user_id IN ({placeholders(user_ids)})", *user_ids)
    return {row[0]: codec.decode(row[1], UserSettings) for row in rows}


def put(tx: Tx, user_id: int, settings: UserSettings) -> None:
    """Insert or update a user's settings."""
    tx.run(
        "INSERT INTO user_settings (user_id, settings) VALUES (?, ?) "
        "ON CONFLICT (user_id) DO UPDATE SET settings = excluded.settings",
        user_id,
        codec.encode(settings).decode(),
    )


def delete(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM user_settings WHERE user_id = ?", user_id)
