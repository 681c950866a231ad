"""SQL for the applications and disabled_applications tables."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.protocol.enums import ApplicationIntegrationType, TeamMembershipState
from hubbub.protocol.ids import WIDE_MAX, ApplicationId, TeamId, UserId
from hubbub.server.core.auth import TokenApplication
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import OPERATOR_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, escape_pattern, placeholders

TABLES: Final = ("applications", "disabled_applications")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="applications.owner_id",
        erasure=Erasure.REJECTED,
        reason="The owner must transfer or delete the application first.",
        export="applications",
    ),
    PersonalColumn(
        column="disabled_applications.operator_id",
        erasure=Erasure.KEPT,
        reason=OPERATOR_RECORD,
        omission=OPERATOR_RECORD,
    ),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "authorizations": "number of users who authorized the application",
    "installations": "number of users who installed the application",
}
"""Tables of other slices that this slice reads, with the reason."""


class ApplicationRow(NamedTuple):
    """An application without its secrets."""

    id: ApplicationId
    name: str
    description: str
    icon: str | None
    """Hash of the icon, or None."""
    cover_image: str | None
    """Hash of the cover image, or None."""
    owner_id: UserId
    bot_id: UserId | None
    """User ID of the bot, or None if the application has no bot."""
    flags: int
    """Bits of `ApplicationFlags`."""
    bot_public: int
    """Whether users other than the owner and members of the team may install the application."""
    bot_require_code_grant: int
    """Whether the bot joins a guild only when the authorization code is exchanged."""
    verify_key: str
    """Public Ed25519 key of the application, in hexadecimal."""
    redirect_uris: str
    """JSON of a list of registered redirect URIs."""
    tags: str
    """JSON of a list of strings."""
    integration_types_config: str
    """JSON of `IntegrationTypeConfiguration` objects, by installation context."""
    settings: str
    """JSON of `ApplicationSettings`."""
    parent_id: ApplicationId | None = None
    """ID of the publisher's application, which shares its players with all of its games, or None."""
    obfuscates_channels: int = 0
    """Whether hidden channels are obfuscated for the bot."""
    disabled: int = 0
    """Whether an operator disabled the application; its tokens are then invalid, and it receives no interactions or events."""
    team_id: TeamId | None = None
    """ID of the team that owns the application, or None. `owner_id` is then the owner of the team."""

    @property
    def family_id(self) -> ApplicationId:
        """ID of the head of the family. Accounts, identities and game friends belong to the head."""
        return self.parent_id or self.id


class DisabledRow(NamedTuple):
    """The reason why an application is disabled."""

    application_id: int
    operator_id: int | None
    """ID of the operator; None for the command line."""
    reason: str
    created_ms: int


COLUMNS = ", ".join(ApplicationRow._fields)
_DISABLED_COLUMNS = ", ".join(DisabledRow._fields)


def find(tx: Tx, application_id: int) -> ApplicationRow | None:
    return tx.find(ApplicationRow, f"SELECT {COLUMNS} FROM applications WHERE id = ?", application_id)


def find_many(tx: Tx, application_ids: Iterable[int]) -> dict[int, ApplicationRow]:
    """Return the existing applications among `application_ids`, by ID."""
    unique_ids = list(dict.fromkeys(application_ids))
    if not unique_ids:
        return {}
    rows = tx.fetch(
        ApplicationRow, f"SELECT {COLUMNS} FROM applications WHERE id IN ({placeholders(unique_ids)})", *unique_ids
    )
    return {row.id: row for row in rows}


def find_token_application(tx: Tx, application_id: int) -> TokenApplication | None:
    """Return the settings of an application that apply to the callers with its tokens, or None."""
    return tx.find(
        TokenApplication,
        "SELECT flags, parent_id, obfuscates_channels, disabled FROM applications WHERE id = ?",
        application_id,
    )


def find_by_bot(tx: Tx, bot_id: int) -> ApplicationRow | None:
    return tx.find(ApplicationRow, f"SELECT {COLUMNS} FROM applications WHERE bot_id = ?", bot_id)


def list_ids_by_bots(tx: Tx, bot_ids: Sequence[int]) -> list[ApplicationId]:
    """Return the IDs of the applications with the given bots, in the order of the bots. Bots without an application are skipped."""
    ids_by_bot: dict[int, ApplicationId] = {}
    for batch in batches(bot_ids):
        rows = tx.all(f"SELECT bot_id, id FROM applications WHERE bot_id IN ({placeholders(batch)})", *batch)
        ids_by_bot.update((bot_id, ApplicationId(application_id)) for bot_id, application_id in rows)
    return [ids_by_bot[bot_id] for bot_id in bot_ids if bot_id in ids_by_bot]


def read_family_id(tx: Tx, application_id: int) -> ApplicationId:
    """Return the ID of the head of an application's family: its publisher, or the application itself."""
    parent_id = tx.value("SELECT parent_id FROM applications WHERE id = ?", application_id)
    return ApplicationId(parent_id or application_id)


def list_family_ids(tx: Tx, application_id: int) -> list[ApplicationId]:
    """List the IDs of all applications in the family of an application, the head first."""
    head_id = read_family_id(tx, application_id)
    rows = tx.all("SELECT id FROM applications WHERE parent_id = ? ORDER BY id", head_id)
    return [head_id, *(ApplicationId(row[0]) for row in rows)]


def list_owned_applications(tx: Tx, owner_id: int) -> list[ApplicationRow]:
    """List the applications that a user owns, including those of teams that the user owns, oldest first."""
    return tx.fetch(ApplicationRow, f"SELECT {COLUMNS} FROM applications WHERE owner_id = ? ORDER BY id", owner_id)


def list_team_applications(tx: Tx, team_id: int) -> list[ApplicationRow]:
    """List the applications of a team, oldest first."""
    return tx.fetch(ApplicationRow, f"SELECT {COLUMNS} FROM applications WHERE team_id = ? ORDER BY id", team_id)


def list_managed_applications(tx: Tx, user_id: int) -> list[ApplicationRow]:
    """List the applications that a user owns or that a team of the user owns, oldest first."""
    return tx.fetch(
        ApplicationRow,
        f"SELECT {COLUMNS} FROM applications WHERE owner_id = ? "
        "OR team_id IN (SELECT team_id FROM team_members WHERE user_id = ? AND state = ?) ORDER BY id",
        user_id,
        user_id,
        int(TeamMembershipState.ACCEPTED),
    )


def search(tx: Tx, text: str, *, only_disabled: bool, after_id: int, limit: int) -> list[ApplicationRow]:
    """Return applications with IDs above `after_id`, by ascending ID.

    `text` is a part of the name in any case, or the whole ID of the application or its owner; empty matches all
    applications. If `only_disabled`, return only disabled applications."""
    where, parameters = "id > ?", list[object]([after_id])
    if text:
        pattern = f"%{escape_pattern(text.lower())}%"
        match_conditions = ["LOWER(name) LIKE ? ESCAPE '\\'"]
        parameters.append(pattern)
        if text.isascii() and text.isdigit() and int(text) <= WIDE_MAX:
            match_conditions.append("id = ? OR owner_id = ?")
            parameters += [int(text), int(text)]
        where += f" AND ({' OR '.join(match_conditions)})"
    if only_disabled:
        where += " AND disabled = 1"
    return tx.fetch(
        ApplicationRow, f"SELECT {COLUMNS} FROM applications WHERE {where} ORDER BY id LIMIT ?", *parameters, limit
    )


def find_disabled(tx: Tx, application_id: int) -> DisabledRow | None:
    """Return the reason why an application is disabled, or None if it is not."""
    return tx.find(
        DisabledRow, f"SELECT {_DISABLED_COLUMNS} FROM disabled_applications WHERE application_id = ?", application_id
    )


def disable(tx: Tx, row: DisabledRow) -> None:
    """Mark an application as disabled, or replace the reason."""
    tx.run(
        f"INSERT INTO disabled_applications ({_DISABLED_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (application_id) DO UPDATE SET operator_id = excluded.operator_id, reason = excluded.reason",
        *row,
    )
    tx.run("UPDATE applications SET disabled = 1 WHERE id = ?", row.application_id)


def enable(tx: Tx, application_id: int) -> None:
    """Mark an application as enabled."""
    tx.run("DELETE FROM disabled_applications WHERE application_id = ?", application_id)
    tx.run("UPDATE applications SET disabled = 0 WHERE id = ?", application_id)


def insert(tx: Tx, row: ApplicationRow, *, signing_key: bytes, client_secret_hash: bytes) -> None:
    """Insert an application and its secrets."""
    tx.run(
        f"INSERT INTO applications ({COLUMNS}, signing_key, client_secret_hash) VALUES ({placeholders(row)}, ?, ?)",
        *row,
        signing_key,
        client_secret_hash,
    )


def update(tx: Tx, row: ApplicationRow) -> None:
    """Update every column of an application except its secrets."""
    assignments = ", ".join(f"{name} = ?" for name in ApplicationRow._fields if name != "id")
    tx.run(f"UPDATE applications SET {assignments} WHERE id = ?", *row[1:], row.id)


def set_client_secret(tx: Tx, application_id: int, client_secret_hash: bytes) -> None:
    """Store the hash of a new client secret."""
    tx.run("UPDATE applications SET client_secret_hash = ? WHERE id = ?", client_secret_hash, application_id)


def delete(tx: Tx, application_id: int) -> None:
    """Delete an application, its testers and the reason why it is disabled."""
    tx.run("DELETE FROM disabled_applications WHERE application_id = ?", application_id)
    tx.run("DELETE FROM application_testers WHERE application_id = ?", application_id)
    tx.run("DELETE FROM applications WHERE id = ?", application_id)


def count_user_installs(tx: Tx, application_id: int) -> int:
    """Return the number of users who installed an application for themselves."""
    count: int = tx.value(
        "SELECT COUNT(*) FROM installations WHERE application_id = ? AND integration_type = ?",
        application_id,
        int(ApplicationIntegrationType.USER_INSTALL),
    )
    return count


def count_user_authorizations(tx: Tx, application_id: int) -> int:
    """Return the number of users who authorized an application."""
    count: int = tx.value("SELECT COUNT(*) FROM authorizations WHERE application_id = ?", application_id)
    return count


def owns_application(tx: Tx, user_id: int) -> bool:
    """Return whether a user owns at least one application, or a team that owns one."""
    return tx.value("SELECT 1 FROM applications WHERE owner_id = ? LIMIT 1", user_id) is not None


# Families and secrets


def set_parent(tx: Tx, application_id: int, parent_id: int) -> None:
    """Set the publisher of an application."""
    tx.run("UPDATE applications SET parent_id = ? WHERE id = ?", parent_id, application_id)


def add_flag(tx: Tx, application_id: int, flag: int) -> None:
    tx.run("UPDATE applications SET flags = flags | ? WHERE id = ?", flag, application_id)


def list_child_ids(tx: Tx, parent_id: int) -> list[ApplicationId]:
    """List the IDs of the games of a publisher."""
    rows = tx.all("SELECT id FROM applications WHERE parent_id = ? ORDER BY id", parent_id)
    return [ApplicationId(row[0]) for row in rows]


def find_signing_key(tx: Tx, application_id: int) -> bytes | None:
    """Return the private Ed25519 key of an application, or None if the application was deleted."""
    key = tx.value("SELECT signing_key FROM applications WHERE id = ?", application_id)
    return None if key is None else bytes(key)


def set_signing_key(tx: Tx, application_id: int, signing_key: bytes, verify_key: str) -> None:
    """Replace the key that signs requests to an application."""
    tx.run(
        "UPDATE applications SET signing_key = ?, verify_key = ? WHERE id = ?", signing_key, verify_key, application_id
    )


def find_client_secret_hash(tx: Tx, application_id: int) -> bytes | None:
    """Return the SHA-256 hash of an application's client secret, or None if the application does not exist."""
    stored_hash = tx.value("SELECT client_secret_hash FROM applications WHERE id = ?", application_id)
    return None if stored_hash is None else bytes(stored_hash)
