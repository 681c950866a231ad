"""SQL for the interactions table; a row is deleted some time after its token expired."""

import base64
import hashlib
import re
import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.enums import ApplicationIntegrationType, ChannelType
from hubbub.protocol.ids import WIDE_MAX, ApplicationId, MessageId, Snowflake, UserId
from hubbub.protocol.resources.components import Component
from hubbub.protocol.resources.interactions import TOKEN_LIFETIME_MS
from hubbub.server.core import jobs
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, WideQuery, placeholders
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.places import channels
from hubbub.server.places.channels import joined_channels
from hubbub.server.places.standing import ChannelRef, GuildMembership, channel_ref
from hubbub.server.play.commands import joined_commands
from hubbub.server.talk import messages
from hubbub.server.talk.messages import authors
from hubbub.server.talk.messages.content import StoredInteraction

TABLES: Final = ("interactions",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="interactions.user_id",
        erasure=Erasure.EXPIRES,
        reason="Kept until the token expires.",
        omission=TECHNICAL,
    ),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "applications": "one statement loads everything that an invocation needs",
    "channels": "one statement loads everything that an invocation needs",
    "guilds": "one statement loads everything that an invocation needs",
    "installations": "one statement loads everything that an invocation needs",
    "members": "one statement loads everything that an invocation needs",
    "skus": "whether an application sells anything, in the same statement",
    "users": "one statement loads everything that an invocation needs",
}
"""Tables of other slices that this slice reads, with the reason."""


FAILED: Final = 0
"""Callback type of an interaction that failed, for example because it was not answered in time."""


class ResponseState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """State that responses to an interaction need.

    Stored as JSON: add fields with a default, never rename."""

    interaction_metadata: StoredInteraction = msgspec.field(name="interacted")
    """Interaction metadata for response messages."""
    message_type: int = msgspec.field(default=0, name="kind")
    """Value of `MessageType` of the response; not used for autocomplete."""
    focused_option_type: int = 0
    """Value of `CommandOptionType` of the option to complete, for autocomplete; otherwise 0."""
    replied_message_id: MessageId | None = msgspec.field(default=None, name="refers_to")
    """ID of the message that a response replies to, or None."""
    message_id: MessageId | None = None
    """ID of the message whose component was used, directly or to open the modal; None if there is none."""
    ephemeral_message: bool = False
    """Whether the message whose component was used is ephemeral."""
    ephemeral: bool = False
    """Whether responses must be ephemeral regardless of their flags."""
    session_id: str = ""
    """Gateway session that created the interaction and receives its outcome; empty for all sessions of the user."""
    nonce: int | str | None = None
    """Value that the client chose to recognize events about the interaction, or None."""


class Modal(msgspec.Struct, kw_only=True):
    """A modal shown in response to an interaction.

    Stored as JSON: add fields with a default, never rename."""

    custom_id: str
    components: list[Component]


class InteractionRow(NamedTuple):
    """An interaction that a user created, with the state of the application's response."""

    id: int
    application_id: int
    type: int
    """Value of `InteractionType`."""
    user_id: int
    """The invoking user."""
    channel_id: int
    guild_id: int | None
    request_state: str
    """The ResponseState as JSON."""
    callback_type: int | None = None
    """InteractionCallbackType of the initial response; None while pending, FAILED if the interaction failed."""
    original_id: int | None = None
    """The message that the initial response created or updated, or None."""
    follow_ups: int = 0
    """Number of follow-up messages."""
    modal: str | None = None
    """The Modal that the initial response opened, as JSON, or None."""
    problem: str | None = None
    """Error of the application's HTTP endpoint, or None."""

    @property
    def created_ms(self) -> int:
        """Creation time in Unix milliseconds."""
        return Snowflake(self.id).created_ms


class InteractionApplication(NamedTuple):
    """The columns of an application that interactions need."""

    id: ApplicationId
    name: str
    description: str
    icon: str | None
    bot_id: UserId | None
    flags: int
    settings: str
    """Application settings as JSON."""
    disabled: int
    """Whether an operator disabled the application."""

    @classmethod
    def from_row(cls, row: ApplicationRow) -> "InteractionApplication":
        """Take the columns from a complete application row."""
        return cls(row.id, row.name, row.description, row.icon, row.bot_id, row.flags, row.settings, row.disabled)


COLUMNS: Final = ", ".join(InteractionRow._fields)
_INSERTED_COUNT: Final = len(InteractionRow._fields) - len(InteractionRow._field_defaults)
"""Number of columns set on insert; the others have defaults."""
_TOKEN_PATTERN: Final = re.compile(rb"interaction:([0-9]{1,19}):")
_state_decoder: Final = codec.decoder(ResponseState)
_modal_decoder: Final = codec.decoder(Modal)


def new_token(interaction_id: int) -> str:
    """Return a new response token, which encodes the interaction ID."""
    text = b"interaction:%d:%b" % (interaction_id, base64.urlsafe_b64encode(secrets.token_bytes(48)))
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _decode_interaction_id(token: str) -> int | None:
    """Return the interaction ID encoded in a token, or None if it is malformed."""
    try:
        token_bytes = base64.urlsafe_b64decode(token + "==")
    except ValueError:
        return None
    match = _TOKEN_PATTERN.match(token_bytes)
    return None if match is None else int(match[1])


def _hash_token(token: str) -> bytes:
    """Return the hash that is stored instead of the token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def decode_response_state(row: InteractionRow) -> ResponseState:
    state: ResponseState = _state_decoder.decode(row.request_state)
    return state


def decode_modal(row: InteractionRow) -> Modal | None:
    """Decode the modal that the initial response opened; None if it opened none."""
    decoded_modal: Modal | None = None if row.modal is None else _modal_decoder.decode(row.modal)
    return decoded_modal


def find(tx: Tx, interaction_id: int) -> InteractionRow | None:
    """Return an interaction, or None if it does not exist."""
    return tx.find(InteractionRow, f"SELECT {COLUMNS} FROM interactions WHERE id = ?", interaction_id)


# Statement overhead dominates, and an interaction reads many tables. So one query loads everything keyed by the
# invoking user, application and channel, and another everything that belongs to a stored interaction.
_INTERACTION_COLUMN_COUNT: Final = len(InteractionRow._fields)
_APPLICATION_COLUMN_COUNT: Final = len(InteractionApplication._fields)
_INTERACTION_COLUMNS: Final = ", ".join(f"i.{name}" for name in InteractionRow._fields)
_APPLICATION_COLUMNS: Final = ", ".join(f"a.{name}" for name in InteractionApplication._fields)
_BY_TOKEN_QUERY: Final = WideQuery(
    f"{_INTERACTION_COLUMNS}, {_APPLICATION_COLUMNS}",
    "FROM interactions i JOIN applications a ON a.id = i.application_id AND a.disabled = 0 WHERE i.id = ? AND i.token_hash = ?",
)


class InvocationLocation(NamedTuple):
    """The channel of an invocation and the settings of its guild, which are None outside guilds."""

    channel: channels.ChannelRow
    features: str | None
    """Guild features as JSON."""
    locale: str | None
    """Preferred locale of the guild."""


_INVOCATION_QUERY: Final = WideQuery(
    f"{authors.author_columns()}, {_APPLICATION_COLUMNS}, "
    "(SELECT 1 FROM installations WHERE application_id = a.id "
    f"AND integration_type = {ApplicationIntegrationType.GUILD_INSTALL:d} AND target_id = c.guild_id), "
    "(SELECT 1 FROM installations WHERE application_id = a.id "
    f"AND integration_type = {ApplicationIntegrationType.USER_INSTALL:d} AND target_id = u.id), "
    "(SELECT 1 FROM skus WHERE application_id = a.id LIMIT 1), "
    f"({jobs.WAITING_JOB_SQL} LIMIT 1), g.features, g.preferred_locale, g.owner_id, g.mfa_level, {authors.AUTHOR_GUILD_COLUMNS}, "
    f"{joined_commands.COMMAND_WITH_PERMISSIONS_COLUMNS}, {joined_channels.TEXT_CHANNEL_COLUMNS}",
    "FROM channels c LEFT JOIN guilds g ON g.id = c.guild_id LEFT JOIN users u ON u.id = ? "
    "LEFT JOIN members m ON m.guild_id = c.guild_id AND m.user_id = u.id AND g.suspension_reason IS NULL "
    "LEFT JOIN applications a ON a.id = ? "
    f"{joined_commands.command_with_permissions_joins('c.guild_id')} WHERE c.id = ?",
)
_INSTALLS_START: Final = authors.AUTHOR_COLUMN_COUNT + _APPLICATION_COLUMN_COUNT
# Eleven columns between the application and the command: eight that `load_invocation` unpacks by name, and the
# author's guild columns.
_COMMAND_START: Final = _INSTALLS_START + 11
_CHANNEL_START: Final = _COMMAND_START + joined_commands.COMMAND_WITH_PERMISSIONS_COLUMN_COUNT


class LoadedInvocation(NamedTuple):
    """Everything loaded about an invocation: user, application, channel and command."""

    invoker: messages.Author | None
    """The invoking user; None if the user does not exist."""
    application: InteractionApplication | None
    """The application; None if it does not exist."""
    installation_types: frozenset[int]
    """ApplicationIntegrationTypes of the application's installations in the guild and by the user."""
    has_skus: bool
    """Whether the application has SKUs; otherwise it has no entitlements to load."""
    is_timeout_scheduled: bool
    """Whether the timeout job for interactions created at this time is already scheduled."""
    location: InvocationLocation
    channel_ref: ChannelRef
    membership: GuildMembership
    command: joined_commands.CommandWithPermissions | None
    """The invoked command; None if it does not exist or the interaction is not a command."""


def load_invocation(
    tx: Tx, user_id: int, application_id: int, channel_id: int, *, command_id: int, timeout_job: tuple[str, str]
) -> LoadedInvocation | None:
    """Load the user, application, channel and command of an invocation in one query.

    Return None if the channel does not exist. `command_id` is the command to run, or 0. `timeout_job` is the key and the kind
    of the timeout job."""
    columns = tx.wide(_INVOCATION_QUERY, *timeout_job, user_id, application_id, command_id, channel_id)
    if columns is None:
        return None
    (
        is_guild_installed,
        is_user_installed,
        sku_exists,
        timeout_scheduled,
        features,
        locale,
        owner_id,
        mfa_level,
        *guild_columns,
    ) = columns[_INSTALLS_START:_COMMAND_START]
    invoker = None if columns[0] is None else authors.read_author(columns[: authors.AUTHOR_COLUMN_COUNT], guild_columns)
    channel = channels.ChannelRow(*columns[_CHANNEL_START:])
    if channel.type != ChannelType.GUILD_TEXT:
        # Most interactions happen in text channels; the columns of other channel types are read separately.
        channel = channels.find(tx, channel_id) or channel
    return LoadedInvocation(
        invoker,
        None
        if columns[authors.AUTHOR_COLUMN_COUNT] is None
        else InteractionApplication._make(columns[authors.AUTHOR_COLUMN_COUNT : _INSTALLS_START]),
        frozenset(
            integration_type
            for integration_type, is_installed in enumerate((is_guild_installed, is_user_installed))
            if is_installed
        ),
        bool(sku_exists),
        bool(timeout_scheduled),
        InvocationLocation(channel, features, locale),
        joined_channels.to_ref(channel),
        _build_membership(owner_id, mfa_level, invoker),
        joined_commands.read_command_with_permissions(columns[_COMMAND_START:_CHANNEL_START]),
    )


def _build_membership(owner_id: int | None, mfa_level: int | None, author: messages.Author | None) -> GuildMembership:
    """Build the membership of a user or bot in the guild of an interaction; the guild's columns are 0 in private channels."""
    member = None if author is None else author.member
    if member is None:
        return GuildMembership(owner_id or 0, mfa_level or 0, None, 0, 0, 0)
    return GuildMembership(
        owner_id or 0, mfa_level or 0, member.user_id, member.pending, member.flags, member.timed_out_until_ms
    )


def has_skus(tx: Tx, application_id: int) -> bool:
    return tx.one("SELECT 1 FROM skus WHERE application_id = ? LIMIT 1", application_id) is not None


def find_by_token(tx: Tx, token: str) -> tuple[InteractionRow, InteractionApplication] | None:
    """Return the interaction of a token and its application in one query.

    The result is None if the token is unknown or the application is disabled."""
    columns = _find_by_token(tx, _BY_TOKEN_QUERY, token)
    return (
        None
        if columns is None
        else (
            InteractionRow._make(columns[:_INTERACTION_COLUMN_COUNT]),
            InteractionApplication._make(columns[_INTERACTION_COLUMN_COUNT:]),
        )
    )


_PENDING_QUERY: Final = WideQuery(
    f"{_INTERACTION_COLUMNS}, {_APPLICATION_COLUMNS}, {authors.author_columns()}, {authors.author_columns('p', 'n')}, "
    f"g.owner_id, g.mfa_level, {authors.AUTHOR_GUILD_COLUMNS}, {', '.join(f'c.{name}' for name in ChannelRef._fields)}",
    "FROM interactions i JOIN applications a ON a.id = i.application_id AND a.disabled = 0 "
    "JOIN channels c ON c.id = i.channel_id "
    "LEFT JOIN guilds g ON g.id = c.guild_id LEFT JOIN users u ON u.id = a.bot_id "
    "LEFT JOIN members m ON m.guild_id = c.guild_id AND m.user_id = a.bot_id AND g.suspension_reason IS NULL "
    "LEFT JOIN users p ON p.id = i.user_id "
    "LEFT JOIN members n ON n.guild_id = c.guild_id AND n.user_id = i.user_id AND g.suspension_reason IS NULL "
    "WHERE i.id = ? AND i.token_hash = ?",
)
_BOT_START: Final = _INTERACTION_COLUMN_COUNT + _APPLICATION_COLUMN_COUNT
_INVOKER_START: Final = _BOT_START + authors.AUTHOR_COLUMN_COUNT
_GUILD_START: Final = _INVOKER_START + authors.AUTHOR_COLUMN_COUNT
# Five columns of the guild: the owner, the MFA level, and the author's guild columns.
_CHANNEL_REF_START: Final = _GUILD_START + 5


class PendingInteraction(NamedTuple):
    """An interaction and everything that an initial response needs."""

    row: InteractionRow
    application: InteractionApplication
    channel_ref: ChannelRef
    bot: messages.Author | None
    """The bot of the application; None if it has none."""
    membership: GuildMembership
    """The bot's membership in the guild."""
    invoker: messages.Author | None
    """The invoking user; None if the account was deleted."""


def find_pending(tx: Tx, token: str) -> PendingInteraction | None:
    """Return the interaction of a token with its user, application and channel in one query, even if it was answered.

    The result is None if the token is unknown or the application is disabled."""
    columns = _find_by_token(tx, _PENDING_QUERY, token)
    if columns is None:
        return None
    guild_columns = columns[_GUILD_START + 2 : _CHANNEL_REF_START]
    bot = (
        None if columns[_BOT_START] is None else authors.read_author(columns[_BOT_START:_INVOKER_START], guild_columns)
    )
    return PendingInteraction(
        InteractionRow._make(columns[:_INTERACTION_COLUMN_COUNT]),
        InteractionApplication._make(columns[_INTERACTION_COLUMN_COUNT:_BOT_START]),
        channel_ref(columns[_CHANNEL_REF_START:]),
        bot,
        _build_membership(columns[_GUILD_START], columns[_GUILD_START + 1], bot),
        None
        if columns[_INVOKER_START] is None
        else authors.read_author(columns[_INVOKER_START:_GUILD_START], guild_columns),
    )


def _find_by_token(tx: Tx, query: WideQuery, token: str) -> Sequence[Any] | None:
    """Run a query for the interaction that a token belongs to; return its columns, or None."""
    interaction_id = _decode_interaction_id(token)
    if interaction_id is None or interaction_id > WIDE_MAX:
        return None
    return tx.wide(query, interaction_id, _hash_token(token))


_INSERT_SQL: Final = (
    f"INSERT INTO interactions (token_hash, {', '.join(InteractionRow._fields[:_INSERTED_COUNT])}) "
    f"VALUES ({placeholders(range(_INSERTED_COUNT + 1))})"
)
SWEEP_INTERVAL: Final = 16
"""Number of inserts of which one also deletes expired rows; a delete with every insert would be too expensive."""


def insert(tx: Tx, row: InteractionRow, token: str, now_ms: int) -> None:
    """Insert an interaction with its response token.

    About one insert in SWEEP_INTERVAL deletes up to twice SWEEP_INTERVAL expired rows, so that these do not accumulate."""
    tx.run(_INSERT_SQL, _hash_token(token), *row[:_INSERTED_COUNT])
    # Most IDs have counter 0, so the timestamp is added to spread the sweeps.
    if (row.id + row.created_ms) % SWEEP_INTERVAL == 0:
        tx.run(
            "DELETE FROM interactions WHERE id IN (SELECT id FROM interactions WHERE id < ? ORDER BY id LIMIT ?)",
            Snowflake.at(now_ms - TOKEN_LIFETIME_MS),
            2 * SWEEP_INTERVAL,
        )


def map_application_ids(tx: Tx, interaction_ids: Iterable[int]) -> dict[int, int]:
    """Return the IDs of the applications that received interactions, by the ID of the interaction."""
    rows: list[tuple[int, ...]] = []
    for batch in batches(interaction_ids):
        rows += tx.all(f"SELECT id, application_id FROM interactions WHERE id IN ({placeholders(batch)})", *batch)
    return {row[0]: row[1] for row in rows}


def record_response(
    tx: Tx, interaction_id: int, callback_type: int, original_id: int | None, modal: Modal | None = None
) -> bool:
    """Record the initial response; return False if the interaction was already answered or failed.

    `original_id` is the message that the response created or updated, or None."""
    return (
        tx.run(
            "UPDATE interactions SET callback_type = ?, original_id = ?, modal = ? WHERE id = ? AND callback_type IS NULL",
            callback_type,
            original_id,
            None if modal is None else codec.encode(modal).decode(),
            interaction_id,
        )
        == 1
    )


def fail_range(tx: Tx, since_id: int, before_id: int) -> list[InteractionRow]:
    """Mark the unanswered interactions with `since_id` <= ID < `before_id` as failed and return them."""
    rows = tx.fetch(
        InteractionRow,
        f"SELECT {COLUMNS} FROM interactions WHERE id >= ? AND id < ? AND callback_type IS NULL ORDER BY id",
        since_id,
        before_id,
    )
    if rows:
        interaction_ids = [row.id for row in rows]
        tx.run(
            f"UPDATE interactions SET callback_type = ? WHERE id IN ({placeholders(interaction_ids)})",
            FAILED,
            *interaction_ids,
        )
    return rows


def list_latest_failures(tx: Tx, limit: int) -> list[InteractionRow]:
    """Return the latest failed interactions of all applications. The query has no index; it is for rehearsals."""
    return tx.fetch(
        InteractionRow,
        f"SELECT {COLUMNS} FROM interactions WHERE callback_type = ? ORDER BY id DESC LIMIT ?",
        FAILED,
        limit,
    )


def fail_one(tx: Tx, interaction_id: int, problem: str) -> bool:
    """Mark an unanswered interaction as failed and record why; return False if it was already answered or failed.

    The problem is also recorded for an interaction that had already failed."""
    updated_count = tx.run(
        "UPDATE interactions SET callback_type = ?, problem = ? WHERE id = ? AND callback_type IS NULL",
        FAILED,
        problem,
        interaction_id,
    )
    if not updated_count:
        tx.run(
            "UPDATE interactions SET problem = ? WHERE id = ? AND callback_type = ?", problem, interaction_id, FAILED
        )
    return updated_count == 1


def list_failed(tx: Tx, application_id: int, after_id: int, limit: int) -> list[InteractionRow]:
    """Return interactions with an endpoint error and an ID above `after_id`, oldest first."""
    return tx.fetch(
        InteractionRow,
        f"SELECT {COLUMNS} FROM interactions WHERE application_id = ? AND problem IS NOT NULL AND id > ?"
        " ORDER BY id LIMIT ?",
        application_id,
        after_id,
        limit,
    )


def increment_follow_ups(tx: Tx, interaction_id: int) -> None:
    tx.run("UPDATE interactions SET follow_ups = follow_ups + 1 WHERE id = ?", interaction_id)


def clear_original(tx: Tx, interaction_id: int) -> None:
    """Clear the original message after it was deleted."""
    tx.run("UPDATE interactions SET original_id = NULL WHERE id = ?", interaction_id)
