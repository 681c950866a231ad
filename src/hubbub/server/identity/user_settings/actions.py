"""Update user settings and publish them to the user's sessions."""

from typing import Any

import msgspec
from msgspec import UNSET

from hubbub.protocol.resources import user_settings as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.identity import users
from hubbub.server.identity.user_settings import rules, store


def read_current(call: Call, user_id: int) -> wire.UserSettings:
    """Return a user's settings without a custom status that has expired."""
    settings = store.read(call.tx, user_id)
    if settings.custom_status is not None and rules.is_expired(settings.custom_status, call.now_ms):
        settings.custom_status = None
    return settings


def update(call: Call, body: wire.UpdateUserSettings) -> wire.UserSettings:
    """Update the caller's settings and publish them if they changed."""
    stored_settings = read_current(call, call.user_id)
    if body.restricted_guilds is not UNSET:
        rules.require_own_guilds(call, stored_settings.restricted_guilds, body.restricted_guilds)
    if body.guild_folders is not UNSET:
        rules.require_valid_folders(call, stored_settings.guild_folders, body.guild_folders)
    changes: dict[str, Any] = {
        name: getattr(body, name) for name in body.__struct_fields__ if getattr(body, name) is not UNSET
    }
    if body.custom_status is not UNSET:
        changes["custom_status"] = rules.require_custom_status(call, body.custom_status)
    updated_settings = msgspec.structs.replace(stored_settings, **changes)
    if updated_settings.friend_source_flags.all:
        updated_settings.friend_source_flags = store.ALL_FRIEND_SOURCES
    updated_settings.restricted_guilds = sorted(set(updated_settings.restricted_guilds))
    if updated_settings != stored_settings:
        store.put(call.tx, call.user_id, updated_settings)
        call.tx.emit(wire.USER_SETTINGS_UPDATE, updated_settings, UserAudience.of(call.user_id))
    return updated_settings


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Delete the settings of a deleted user."""
    store.delete(call.tx, signal.user_id)


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's settings for the export of their data."""
    return {"settings": msgspec.to_builtins(store.read(call.tx, user_id), enc_hook=str)}
