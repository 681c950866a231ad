"""The three kinds of expressions: table, wire model, slots, error code, audit log entries and events of each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, GuildFeature, StickerType
from hubbub.protocol.errors import ErrorCode
from hubbub.protocol.ids import EmojiId, GuildId, SoundId, StickerId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import emojis, soundboard, stickers
from hubbub.protocol.resources.emojis import Emoji
from hubbub.protocol.resources.soundboard import SoundboardSound
from hubbub.protocol.resources.stickers import Sticker
from hubbub.server.core.store import Tx
from hubbub.server.places.expressions import store
from hubbub.server.places.expressions.store import EmojiRow, ExpressionTable, RowT, SoundRow, StickerRow

ViewT = TypeVar("ViewT", bound=Emoji | Sticker | SoundboardSound)


@dataclass(frozen=True, kw_only=True)
class ExpressionKind(Generic[RowT, ViewT]):
    """The properties in which emojis, stickers and sounds differ."""

    table: ExpressionTable[RowT]
    view: Callable[[RowT], ViewT]
    """Function that builds the wire model of a row, without the creator."""
    event: Callable[[Tx, GuildId, RowT | None, RowT | None], tuple[Event[Any], Struct]]
    """Function that returns the event and payload of a change from the guild ID and the rows before and after it.

    The row before is None for a new expression, the row after is None for a deleted expression. Both may be None for
    emojis."""
    unknown_error: ErrorCode
    """The error for an ID that does not exist in the guild."""
    slots_max_by_tier: tuple[int, ...]
    """The maximum number of expressions in a guild by its premium tier. Static and animated emojis count separately."""
    more_slots_feature: GuildFeature
    """The guild feature that raises the maximum to at least `more_slots_max`."""
    more_slots_max: int
    """The maximum number of expressions with `more_slots_feature`, unless the premium tier allows more."""
    create_action: AuditLogAction
    update_action: AuditLogAction
    delete_action: AuditLogAction
    audited_fields: tuple[str, ...]
    """The fields of the wire model in an audit log entry."""
    audited_update_fields: tuple[str, ...] = ()
    """The fields that only the audit log entry of an update contains, in addition to `audited_fields`."""

    def list_guild_expressions(self, tx: Tx, guild_id: int) -> list[ViewT]:
        """Build the expressions of a guild without their creators."""
        return [self.view(row) for row in self.table.list_by(tx, guild_id=guild_id)]


def _emoji_view(row: EmojiRow) -> Emoji:
    return Emoji(id=EmojiId(row.id), name=row.name, roles=row.role_ids, animated=bool(row.animated))


def _emoji_event(tx: Tx, guild_id: GuildId, *_rows: EmojiRow | None) -> tuple[Event[Any], Struct]:
    payload = emojis.GuildEmojis(guild_id=guild_id, emojis=EMOJIS.list_guild_expressions(tx, guild_id))
    return emojis.GUILD_EMOJIS_UPDATE, payload


EMOJIS: Final[ExpressionKind[EmojiRow, Emoji]] = ExpressionKind(
    table=store.EMOJI_TABLE,
    view=_emoji_view,
    event=_emoji_event,
    unknown_error=errors.UNKNOWN_EMOJI,
    slots_max_by_tier=emojis.EMOJIS_MAX_BY_TIER,
    more_slots_feature=GuildFeature.MORE_EMOJI,
    more_slots_max=emojis.EMOJIS_MAX_WITH_MORE_EMOJI,
    create_action=AuditLogAction.EMOJI_CREATE,
    update_action=AuditLogAction.EMOJI_UPDATE,
    delete_action=AuditLogAction.EMOJI_DELETE,
    audited_fields=("name",),
    audited_update_fields=("roles",),
)


def _sticker_view(row: StickerRow) -> Sticker:
    return Sticker(
        id=StickerId(row.id),
        name=row.name,
        tags=row.tags,
        type=StickerType.GUILD,
        format_type=row.format_type,
        description=row.description,
        available=True,
        guild_id=GuildId(row.guild_id),
    )


def _sticker_event(tx: Tx, guild_id: GuildId, *_rows: StickerRow | None) -> tuple[Event[Any], Struct]:
    payload = stickers.GuildStickers(guild_id=guild_id, stickers=STICKERS.list_guild_expressions(tx, guild_id))
    return stickers.GUILD_STICKERS_UPDATE, payload


STICKERS: Final[ExpressionKind[StickerRow, Sticker]] = ExpressionKind(
    table=store.STICKER_TABLE,
    view=_sticker_view,
    event=_sticker_event,
    unknown_error=errors.UNKNOWN_STICKER,
    slots_max_by_tier=stickers.STICKERS_MAX_BY_TIER,
    more_slots_feature=GuildFeature.MORE_STICKERS,
    more_slots_max=stickers.STICKERS_MAX_WITH_MORE_STICKERS,
    create_action=AuditLogAction.STICKER_CREATE,
    update_action=AuditLogAction.STICKER_UPDATE,
    delete_action=AuditLogAction.STICKER_DELETE,
    audited_fields=("name", "description", "tags", "type", "format_type", "available", "guild_id", "id"),
)


def _sound_view(row: SoundRow) -> SoundboardSound:
    return SoundboardSound(
        name=row.name,
        sound_id=SoundId(row.id),
        volume=row.volume,
        emoji_id=None if row.emoji_id is None else EmojiId(row.emoji_id),
        emoji_name=row.emoji_name,
        available=True,
        guild_id=GuildId(row.guild_id),
    )


def _sound_event(
    _tx: Tx, guild_id: GuildId, before: SoundRow | None, after: SoundRow | None
) -> tuple[Event[Any], Struct]:
    if after is not None:
        is_new = before is None
        event = soundboard.GUILD_SOUNDBOARD_SOUND_CREATE if is_new else soundboard.GUILD_SOUNDBOARD_SOUND_UPDATE
        return event, _sound_view(after)
    assert before is not None
    payload = soundboard.SoundDeleted(guild_id=guild_id, sound_id=SoundId(before.id))
    return soundboard.GUILD_SOUNDBOARD_SOUND_DELETE, payload


SOUNDS: Final[ExpressionKind[SoundRow, SoundboardSound]] = ExpressionKind(
    table=store.SOUND_TABLE,
    view=_sound_view,
    event=_sound_event,
    unknown_error=errors.UNKNOWN_SOUND,
    slots_max_by_tier=soundboard.SOUNDS_MAX_BY_TIER,
    more_slots_feature=GuildFeature.MORE_SOUNDBOARD,
    more_slots_max=soundboard.SOUNDS_MAX_WITH_MORE_SOUNDBOARD,
    create_action=AuditLogAction.SOUNDBOARD_SOUND_CREATE,
    update_action=AuditLogAction.SOUNDBOARD_SOUND_UPDATE,
    delete_action=AuditLogAction.SOUNDBOARD_SOUND_DELETE,
    audited_fields=("name", "volume", "emoji_id", "emoji_name"),
)
