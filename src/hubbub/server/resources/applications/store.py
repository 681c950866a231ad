"""Rows of applications."""

from collections.abc import Iterable
from typing import NamedTuple

from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.server.core.store import Tx, places


class ApplicationRow(NamedTuple):
    """An application as we keep it, without its secrets."""

    id: ApplicationId
    name: str
    description: str
    icon: str | None
    cover_image: str | None
    owner_id: UserId
    bot_id: UserId | None
    flags: int
    bot_public: int
    bot_require_code_grant: int
    verify_key: str
    redirect_uris: str
    tags: str
    integration_types_config: str
    settings: str
    """JSON of `Settings`: what is only shown and edited."""
    parent_id: ApplicationId | None = None
    """The publisher's application, which knows the players of all its games."""

    @property
    def family_id(self) -> ApplicationId:
        """The head of its family: accounts, identities and game friends live there."""
        return self.parent_id or self.id


COLUMNS = ", ".join(ApplicationRow._fields)


def find(tx: Tx, application_id: int) -> ApplicationRow | None:
    """An application, or None."""
    return tx.find(ApplicationRow, f"SELECT {COLUMNS} FROM applications WHERE id = ?", application_id)


def find_many(tx: Tx, application_ids: Iterable[int]) -> dict[int, ApplicationRow]:
    """The applications there are of these, by id, in one query."""
    wanted = list(dict.fromkeys(application_ids))
    if not wanted:
        return {}
    rows = tx.fetch(ApplicationRow, f"SELECT {COLUMNS} FROM applications WHERE id IN ({places(wanted)})", *wanted)
    return {row.id: row for row in rows}


def find_by_bot(tx: Tx, bot_id: int) -> ApplicationRow | None:
    """The application whose bot this is, or None."""
    return tx.find(ApplicationRow, f"SELECT {COLUMNS} FROM applications WHERE bot_id = ?", bot_id)


def family_id(tx: Tx, application_id: int) -> ApplicationId:
    """The head of an application's family: its parent, or itself."""
    parent = tx.value("SELECT parent_id FROM applications WHERE id = ?", application_id)
    return ApplicationId(parent or application_id)


def family(tx: Tx, application_id: int) -> list[ApplicationId]:
    """Every application of a family, its head first."""
    head = family_id(tx, application_id)
    rows = tx.all("SELECT id FROM applications WHERE parent_id = ? ORDER BY id", head)
    return [head, *(ApplicationId(row[0]) for row in rows)]


def insert(tx: Tx, row: ApplicationRow, *, signing_key: bytes, client_secret_hash: bytes) -> None:
    """Keep a new application and its secrets."""
    tx.run(
        f"INSERT INTO applications ({COLUMNS}, signing_key, client_secret_hash) VALUES ({places(row)}, ?, ?)",
        *row,
        signing_key,
        client_secret_hash,
    )


def update(tx: Tx, row: ApplicationRow) -> None:
    """Keep what changed of an application."""
    assignments = ", ".join(f"{name} = ?" for name in ApplicationRow._fields if name != "id")
    tx.run(f"UPDATE applications SET {assignments} WHERE id = ?", *row[1:], row.id)


def ids_of_guild(tx: Tx, guild_id: int, limit: int) -> list[ApplicationId]:
    """The applications whose bots are in a guild, the first to come first."""
    rows = tx.all(
        "SELECT a.id FROM applications a JOIN members m ON m.user_id = a.bot_id WHERE m.guild_id = ? "
        "ORDER BY m.joined_ms, a.id LIMIT ?",
        guild_id,
        limit,
    )
    return [ApplicationId(row[0]) for row in rows]


def guild_count(tx: Tx, bot_id: int) -> int:
    """How many guilds a bot is in."""
    count: int = tx.value("SELECT COUNT(*) FROM members WHERE user_id = ?", bot_id)
    return count


def reachable_users(tx: Tx, bot_id: int) -> int:
    """How many different users a bot can reach through its guilds."""
    count: int = tx.value(
        "SELECT COUNT(DISTINCT m.user_id) FROM members mine JOIN members m ON m.guild_id = mine.guild_id WHERE mine.user_id = ?",
        bot_id,
    )
    return count


def user_install_count(tx: Tx, application_id: int) -> int:
    """How many people have an application with them, wherever they are."""
    count: int = tx.value(
        "SELECT COUNT(*) FROM installations WHERE application_id = ? AND integration_type = 1", application_id
    )
    return count


def user_authorization_count(tx: Tx, application_id: int) -> int:
    """How many people let an application act for them."""
    count: int = tx.value("SELECT COUNT(*) FROM authorizations WHERE application_id = ?", application_id)
    return count


def is_owner(tx: Tx, user_id: int) -> bool:
    """Whether somebody owns an application."""
    return tx.value("SELECT 1 FROM applications WHERE owner_id = ? LIMIT 1", user_id) is not None
