"""SQL for the emojis, stickers and sounds tables."""

from collections.abc import Iterable
from typing import Final, Generic, NamedTuple, TypeVar

from hubbub.protocol import codec
from hubbub.protocol.ids import RoleId
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "emojis",
    "sounds",
    "stickers",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="emojis.user_id",
        erasure=Erasure.KEPT,
        reason="Emojis, stickers and sounds belong to the guild, whose moderators can delete them.",
        export="expressions",
    ),
    PersonalColumn(
        column="sounds.user_id",
        erasure=Erasure.KEPT,
        reason="Emojis, stickers and sounds belong to the guild, whose moderators can delete them.",
        export="expressions",
    ),
    PersonalColumn(
        column="stickers.user_id",
        erasure=Erasure.KEPT,
        reason="Emojis, stickers and sounds belong to the guild, whose moderators can delete them.",
        export="expressions",
    ),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "guilds": "premium tier and features that decide the limits",
    "members": "whether a user may use a guild's stickers and sounds in other guilds; mute and deafness for playing a sound",
    "voice_states": "whether a user may play a sound in a channel, and the users who receive it",
}
"""Tables of other slices that this slice reads, with the reason."""


class EmojiRow(NamedTuple):
    """An emoji of a guild or an application."""

    id: int
    guild_id: int | None
    application_id: int | None
    user_id: int
    """ID of the user who created the emoji."""
    name: str
    image: str
    """The hash of the image."""
    animated: int = 0
    roles: str = "[]"
    """JSON list of the IDs of the roles that may use the emoji; empty means all."""

    @property
    def role_ids(self) -> list[RoleId]:
        """The IDs of the roles that may use the emoji, decoded from `roles`; empty means all."""
        return codec.decode(self.roles, list[RoleId])


class StickerRow(NamedTuple):
    """A sticker of a guild. Standard stickers have no row."""

    id: int
    guild_id: int
    user_id: int
    """ID of the user who created the sticker."""
    name: str
    description: str | None
    tags: str
    format_type: int
    image: str
    """The hash of the file."""


class SoundRow(NamedTuple):
    """A sound of a guild. Default sounds have no row."""

    id: int
    guild_id: int
    user_id: int
    """ID of the user who created the sound."""
    name: str
    volume: float
    emoji_id: int | None
    emoji_name: str | None
    file: str
    """The hash of the file."""


RowT = TypeVar("RowT", bound=EmojiRow | StickerRow | SoundRow)


class ExpressionTable(Generic[RowT]):
    """The table of one kind of expression.

    `name` is the name of the table, `row_type` the type of its rows, and `changeable_columns` are the columns that
    `update` writes."""

    def __init__(self, name: str, row_type: type[RowT], *, changeable_columns: tuple[str, ...]) -> None:
        self._table_name = name
        self._row_type = row_type
        self._columns = ", ".join(row_type._fields)
        self._changeable_columns = changeable_columns

    def find(self, tx: Tx, expression_id: int) -> RowT | None:
        return tx.find(self._row_type, f"SELECT {self._columns} FROM {self._table_name} WHERE id = ?", expression_id)

    def find_many(self, tx: Tx, expression_ids: Iterable[int]) -> dict[int, RowT]:
        """Return the existing expressions among `expression_ids`, by ID."""
        distinct_ids = list(dict.fromkeys(expression_ids))
        if not distinct_ids:
            return {}
        sql = f"SELECT {self._columns} FROM {self._table_name} WHERE id IN ({placeholders(distinct_ids)})"
        return {row.id: row for row in tx.fetch(self._row_type, sql, *distinct_ids)}

    def list_by(self, tx: Tx, **column_values: int) -> list[RowT]:
        """List the expressions with the given column values, oldest first."""
        sql = f"SELECT {self._columns} FROM {self._table_name} WHERE {_condition(column_values)} ORDER BY id"
        return tx.fetch(self._row_type, sql, *column_values.values())

    def count_by(self, tx: Tx, **column_values: int) -> int:
        """Return the number of expressions with the given column values."""
        return int(
            tx.value(
                f"SELECT COUNT(*) FROM {self._table_name} WHERE {_condition(column_values)}", *column_values.values()
            )
        )

    def insert(self, tx: Tx, row: RowT) -> None:
        tx.run(f"INSERT INTO {self._table_name} ({self._columns}) VALUES ({placeholders(row)})", *row)

    def update(self, tx: Tx, row: RowT) -> None:
        """Update the changeable columns of an expression."""
        assignments = ", ".join(f"{column} = ?" for column in self._changeable_columns)
        values = [getattr(row, column) for column in self._changeable_columns]
        tx.run(f"UPDATE {self._table_name} SET {assignments} WHERE id = ?", *values, row.id)

    def delete_by(self, tx: Tx, **column_values: int) -> None:
        """Delete the expressions with the given column values."""
        tx.run(f"DELETE FROM {self._table_name} WHERE {_condition(column_values)}", *column_values.values())


def _condition(columns: Iterable[str]) -> str:
    return " AND ".join(f"{column} = ?" for column in columns)


EMOJI_TABLE = ExpressionTable("emojis", EmojiRow, changeable_columns=("name", "roles"))
STICKER_TABLE = ExpressionTable("stickers", StickerRow, changeable_columns=("name", "description", "tags"))
SOUND_TABLE = ExpressionTable("sounds", SoundRow, changeable_columns=("name", "volume", "emoji_id", "emoji_name"))


def remove_emoji_from_sounds(tx: Tx, guild_id: int, emoji_id: int) -> int:
    """Remove an emoji from the sounds of a guild and return the number of changed sounds."""
    return tx.run("UPDATE sounds SET emoji_id = NULL WHERE guild_id = ? AND emoji_id = ?", guild_id, emoji_id)


class GuildLimitFactors(NamedTuple):
    """The columns of a guild on which the limits of its expressions depend."""

    premium_tier: int
    features: frozenset[str]


def read_guild_limit_factors(tx: Tx, guild_id: int) -> GuildLimitFactors:
    """Return the premium tier and the features of a guild; tier 0 without features if it does not exist."""
    row = tx.one("SELECT premium_tier, features FROM guilds WHERE id = ?", guild_id)
    return (
        GuildLimitFactors(row[0], frozenset(codec.decode(row[1], list[str])))
        if row
        else GuildLimitFactors(0, frozenset())
    )


def is_member(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Return whether a user is a member of a guild, and so may use its expressions in other guilds."""
    return tx.value("SELECT 1 FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id) is not None


class ConnectedMember(NamedTuple):
    """A member who is connected to a voice channel."""

    channel_id: int
    is_silenced: bool
    """Whether the member is muted by a moderator, deafened or suppressed. A self-mute does not count."""


def find_connected_member(tx: Tx, guild_id: int, user_id: int) -> ConnectedMember | None:
    """Return a member of a guild if they are connected to a voice channel, or None."""
    row = tx.one(
        "SELECT v.channel_id, v.self_deaf, v.suppress, m.deaf, m.mute FROM voice_states v "
        "JOIN members m ON m.guild_id = v.guild_id AND m.user_id = v.user_id WHERE v.guild_id = ? AND v.user_id = ?",
        guild_id,
        user_id,
    )
    return ConnectedMember(row[0], any(row[1:])) if row else None


def list_connected_user_ids(tx: Tx, channel_id: int) -> frozenset[int]:
    """Return the IDs of the users connected to a voice channel."""
    return frozenset(
        user_id for (user_id,) in tx.all("SELECT user_id FROM voice_states WHERE channel_id = ?", channel_id)
    )


def list_by_creator(tx: Tx, user_id: int) -> list[tuple[str, int, int | None, str]]:
    """Return kind, ID, guild ID and name of the emojis, stickers and sounds that a user created.

    The kind is the name of the table."""
    rows: list[tuple[str, int, int | None, str]] = []
    for table in TABLES:
        for expression_id, guild_id, name in tx.all(
            f"SELECT id, guild_id, name FROM {table} WHERE user_id = ? ORDER BY id", user_id
        ):
            rows.append((table, expression_id, guild_id, name))
    return rows
