"""Create, update and delete expressions and play sounds: store, record in the audit log, publish."""

from typing import Any

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources import emojis, soundboard
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.places.audit_log import audit
from hubbub.server.places.expressions import store, views
from hubbub.server.places.expressions.kinds import EMOJIS, SOUNDS, STICKERS, ExpressionKind, ViewT
from hubbub.server.places.expressions.signals import EmojiDeleted
from hubbub.server.places.expressions.store import RowT
from hubbub.server.places.roles import RoleDeleted
from hubbub.server.places.standing import ChannelAccess


def create(call: Call, kind: ExpressionKind[RowT, ViewT], guild_id: GuildId, row: RowT) -> None:
    kind.table.insert(call.tx, row)
    changes = audit.differences(None, kind.view(row), kind.audited_fields)
    audit.record(call, guild_id, kind.create_action, target_id=row.id, changes=changes)
    _publish(call, kind, guild_id, None, row)


def update(call: Call, kind: ExpressionKind[RowT, ViewT], guild_id: GuildId, before: RowT, after: RowT) -> None:
    """Update an expression of a guild. Do nothing if nothing changed."""
    if after == before:
        return
    kind.table.update(call.tx, after)
    changes = audit.differences(kind.view(before), kind.view(after), kind.audited_fields + kind.audited_update_fields)
    audit.record(call, guild_id, kind.update_action, target_id=after.id, changes=changes)
    _publish(call, kind, guild_id, before, after)


def delete(call: Call, kind: ExpressionKind[RowT, ViewT], guild_id: GuildId, row: RowT) -> None:
    """Delete an expression of a guild. Messages and reactions that contain it stay unchanged."""
    kind.table.delete_by(call.tx, id=row.id)
    changes = audit.differences(kind.view(row), None, kind.audited_fields)
    audit.record(call, guild_id, kind.delete_action, target_id=row.id, changes=changes)
    _publish(call, kind, guild_id, row, None)


def _publish(
    call: Call, kind: ExpressionKind[RowT, ViewT], guild_id: GuildId, before: RowT | None, after: RowT | None
) -> None:
    """Publish the event of a change. `before` is None for a new expression, `after` is None for a deleted expression.

    Both may be None for emojis, because their event contains all emojis of the guild."""
    event, payload = kind.event(call.tx, guild_id, before, after)
    call.tx.emit(event, payload, GuildAudience(guild_id))


def on_emoji_deleted(call: Call, signal: EmojiDeleted) -> None:
    """Remove a deleted emoji from the sounds of its guild and publish all sounds in one event."""
    if store.remove_emoji_from_sounds(call.tx, signal.guild_id, signal.emoji_id):
        sounds = SOUNDS.list_guild_expressions(call.tx, signal.guild_id)
        payload = soundboard.SoundboardSounds(guild_id=signal.guild_id, soundboard_sounds=sounds)
        call.tx.emit(soundboard.GUILD_SOUNDBOARD_SOUNDS_UPDATE, payload, GuildAudience(signal.guild_id))


def on_role_deleted(call: Call, signal: RoleDeleted) -> None:
    """Remove a deleted role from emojis.

    An emoji that was limited to the deleted role alone becomes available to all members."""
    is_changed = False
    for row in EMOJIS.table.list_by(call.tx, guild_id=signal.guild_id):
        if signal.role_id in row.role_ids:
            remaining_role_ids = [role_id for role_id in row.role_ids if role_id != signal.role_id]
            EMOJIS.table.update(call.tx, row._replace(roles=codec.encode(remaining_role_ids).decode()))
            is_changed = True
    if is_changed:
        _publish(call, EMOJIS, signal.guild_id, None, None)


def on_application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Delete the emojis of an application that is being deleted."""
    EMOJIS.table.delete_by(call.tx, application_id=signal.row.id)


def play(call: Call, channel_access: ChannelAccess, sound: soundboard.SoundboardSound) -> None:
    """Play a sound to every member connected to a voice channel."""
    is_guild_sound = sound.guild_id is not UNSET
    payload = soundboard.VoiceChannelEffect(
        channel_id=channel_access.channel.id,
        guild_id=channel_access.guild_id,
        user_id=call.user_id,
        emoji=_emoji_of_sound(call, sound),
        # spec/gateway.md#10: default sounds have a number, other sounds a snowflake ID.
        sound_id=str(int(sound.sound_id)) if is_guild_sound else int(sound.sound_id),
        sound_volume=sound.volume,
    )
    audience = GuildAudience(
        channel_access.guild_id, users=store.list_connected_user_ids(call.tx, channel_access.channel.id)
    )
    call.tx.emit(soundboard.VOICE_CHANNEL_EFFECT_SEND, payload, audience)


def _emoji_of_sound(call: Call, sound: soundboard.SoundboardSound) -> emojis.PartialEmoji | None:
    """Return the custom or Unicode emoji of a sound; None if it has none or the custom emoji was deleted."""
    if sound.emoji_id is not None:
        row = EMOJIS.table.find(call.tx, sound.emoji_id)
        return None if row is None else views.partial_emoji(row)
    return None if sound.emoji_name is None else emojis.PartialEmoji(id=None, name=sound.emoji_name)


def delete_guild_expressions(call: Call, guild_id: int) -> None:
    """Delete the expressions of a deleted guild without events."""
    EMOJIS.table.delete_by(call.tx, guild_id=guild_id)
    STICKERS.table.delete_by(call.tx, guild_id=guild_id)
    SOUNDS.table.delete_by(call.tx, guild_id=guild_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the emoji, stickers and sounds that a user created for the export of their data."""
    return {
        "expressions": [
            {
                "type": table.removesuffix("s"),
                "id": str(expression_id),
                "guild_id": None if guild_id is None else str(guild_id),
                "name": name,
            }
            for table, expression_id, guild_id, name in store.list_by_creator(call.tx, user_id)
        ]
    }
