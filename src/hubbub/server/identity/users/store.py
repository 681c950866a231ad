"""SQL for the users table."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.protocol.ids import WIDE_MAX, UserId
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, escape_pattern, placeholders

TABLES: Final = ("users",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (PersonalColumn(column="users.id", erasure=Erasure.DELETED, export="user"),)
"""Columns of these tables that contain IDs of users."""


class UserRow(NamedTuple):
    """A stored user. Private columns come last, so that queries for public views can leave them out."""

    id: UserId
    username: str
    discriminator: str
    """Four digits for a bot, otherwise `0`."""
    global_name: str | None = None
    """Display name, or None."""
    avatar: str | None = None
    """Hash of the avatar, or None."""
    banner: str | None = None
    """Hash of the banner, or None."""
    accent_color: int | None = None
    bot: int = 0
    system: int = 0
    public_flags: int = 0
    """Bits of `UserFlags` that other users see."""
    premium_type: int = 0
    """Value of `PremiumType`."""
    locale: str = "en-US"
    verified: int = 0
    primary_guild: str | None = None
    """JSON of `PrimaryGuild`, or None."""
    bio: str = ""
    flags: int = 0
    """Bits of `UserFlags`."""
    email: str | None = None
    mfa_enabled: int = 0


PUBLIC_FIELDS: Final = UserRow._fields[: UserRow._fields.index("bio")]
"""Columns that the public view of a user needs."""
COLUMNS = ", ".join(UserRow._fields)


def find(tx: Tx, user_id: int) -> UserRow | None:
    return tx.find(UserRow, f"SELECT {COLUMNS} FROM users WHERE id = ?", user_id)


def find_many(tx: Tx, user_ids: Iterable[int]) -> dict[int, UserRow]:
    """Return the existing users among `user_ids`, by ID."""
    unique_ids = list(dict.fromkeys(user_ids))
    users_by_id: dict[int, UserRow] = {}
    for batch in batches(unique_ids):
        for row in tx.all(f"SELECT {COLUMNS} FROM users WHERE id IN ({placeholders(batch)})", *batch):
            users_by_id[row[0]] = UserRow(*row)
    return users_by_id


def find_by_username(tx: Tx, username: str) -> UserRow | None:
    """Return the user with this unique name, or None. Bots are excluded."""
    return tx.find(UserRow, f"SELECT {COLUMNS} FROM users WHERE username = ? AND bot = 0", username)


def find_by_email(tx: Tx, email: str) -> UserRow | None:
    """Return the user with this confirmed email address, in lower case, or None."""
    return tx.find(UserRow, f"SELECT {COLUMNS} FROM users WHERE email = ? AND verified = 1", email)


def search(tx: Tx, text: str, *, after_id: int, limit: int) -> list[UserRow]:
    """Return users, without bots, with IDs above `after_id`, by ascending ID.

    `text`, in lower case, is a part of the username or display name, or the whole ID or email address; empty matches all
    users."""
    where, parameters = "bot = 0 AND id > ?", list[object]([after_id])
    if text:
        pattern = f"%{escape_pattern(text)}%"
        match_conditions = ["username LIKE ? ESCAPE '\\'", "LOWER(global_name) LIKE ? ESCAPE '\\'", "email = ?"]
        parameters += [pattern, pattern, text]
        if text.isascii() and text.isdigit() and int(text) <= WIDE_MAX:
            match_conditions.append("id = ?")
            parameters.append(int(text))
        where += f" AND ({' OR '.join(match_conditions)})"
    return tx.fetch(UserRow, f"SELECT {COLUMNS} FROM users WHERE {where} ORDER BY id LIMIT ?", *parameters, limit)


def insert(tx: Tx, row: UserRow) -> None:
    tx.run(f"INSERT INTO users ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: UserRow) -> None:
    """Update the columns of a user's profile."""
    tx.run(
        "UPDATE users SET username = ?, global_name = ?, avatar = ?, banner = ?, accent_color = ?, bio = ?, "
        "locale = ? WHERE id = ?",
        row.username,
        row.global_name,
        row.avatar,
        row.banner,
        row.accent_color,
        row.bio,
        row.locale,
        row.id,
    )


def set_premium(tx: Tx, user_id: int, premium_type: int) -> None:
    tx.run("UPDATE users SET premium_type = ? WHERE id = ?", premium_type, user_id)


def set_primary_guild(tx: Tx, user_id: int, guild_id: int | None, primary_guild_json: str | None) -> None:
    """Update the primary guild of a user.

    `primary_guild_json` is the JSON of `PrimaryGuild`, or None. `guild_id` is the guild whose tag the user displays, or None."""
    tx.run(
        "UPDATE users SET primary_guild = ?, primary_guild_id = ? WHERE id = ?", primary_guild_json, guild_id, user_id
    )


def list_by_primary_guild(tx: Tx, guild_id: int, *, after_id: int, limit: int) -> list[UserRow]:
    """Return at most `limit` users who display a guild's tag, with IDs above `after_id`, by ascending ID."""
    return tx.fetch(
        UserRow,
        f"SELECT {COLUMNS} FROM users WHERE primary_guild_id = ? AND id > ? ORDER BY id LIMIT ?",
        guild_id,
        after_id,
        limit,
    )


def delete(tx: Tx, user_id: int) -> None:
    """Delete a user. Messages of the user show a deleted user as their author."""
    tx.run("DELETE FROM users WHERE id = ?", user_id)


def set_mfa_enabled(tx: Tx, user_id: int, is_enabled: bool) -> None:
    """Store whether a user has a second factor."""
    tx.run("UPDATE users SET mfa_enabled = ? WHERE id = ?", int(is_enabled), user_id)


def set_email(tx: Tx, user_id: int, email: str, is_verified: bool) -> None:
    """Store a user's email address and whether it is confirmed."""
    tx.run("UPDATE users SET email = ?, verified = ? WHERE id = ?", email, int(is_verified), user_id)
