"""Rows of interactions: what people asked, for as long as apps may answer."""

import base64
import hashlib
import re
import secrets
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol import wire as json
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import MAX_WIDE, ApplicationId, MessageId, Snowflake, UserId
from hubbub.protocol.resources.components import Component
from hubbub.protocol.resources.interactions import TOKEN_MS
from hubbub.server.core import jobs
from hubbub.server.core.access import ChannelRef, Membership, channel_ref
from hubbub.server.core.store import Tx, Wide, places
from hubbub.server.resources import channels, commands, messages
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.messages import Interacted

FAILED: Final = 0
"""In place of the type of an answer: there was none."""


class Asked(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What answers need to know. Stored as JSON: add fields with a default, never rename."""

    interacted: Interacted
    """What a message that answers shows of it."""
    kind: int = 0
    """The type of a message that answers; of what is being typed, the type of the option."""
    refers_to: MessageId | None = None
    """The message that an answer is shown under."""
    message_id: MessageId | None = None
    """The message whose component was used, now or to open the modal."""
    ephemeral_message: bool = False
    ephemeral: bool = False
    """That answers are ephemeral, whatever the app says."""
    session_id: str = ""
    nonce: int | str | None = None


class Modal(msgspec.Struct, kw_only=True):
    """A modal that was shown in answer. Stored as JSON: add fields with a default, never rename."""

    custom_id: str
    components: list[Component]


class InteractionRow(NamedTuple):
    """An interaction as we keep it."""

    id: int
    application_id: int
    type: int
    user_id: int
    channel_id: int
    guild_id: int | None
    asked: str
    callback_type: int | None = None
    """How it was answered first; None while it was not, FAILED if it was not in time."""
    original_id: int | None = None
    """The message of the first answer, or the one that it changed."""
    follow_ups: int = 0
    modal: str | None = None
    problem: str | None = None
    """Why the application's own address did not answer it."""

    @property
    def created_ms(self) -> int:
        """When it was asked."""
        return Snowflake(self.id).created_ms


class App(NamedTuple):
    """An application as far as interactions go."""

    id: ApplicationId
    name: str
    description: str
    icon: str | None
    bot_id: UserId | None
    flags: int
    settings: str
    """As JSON."""

    @classmethod
    def of(cls, row: ApplicationRow) -> "App":
        """Of one that was read whole."""
        return cls(row.id, row.name, row.description, row.icon, row.bot_id, row.flags, row.settings)


COLUMNS: Final = ", ".join(InteractionRow._fields)
_GIVEN: Final = len(InteractionRow._fields) - len(InteractionRow._field_defaults)
"""So many columns are said when it is asked; the others have their defaults."""
_TOKEN: Final = re.compile(rb"interaction:([0-9]{1,19}):")
_asked: Final = json.decoder(Asked)
_modal: Final = json.decoder(Modal)


def new_token(interaction_id: int) -> str:
    """What lets an app answer: it says which interaction it is for."""
    text = b"interaction:%d:%b" % (interaction_id, base64.urlsafe_b64encode(secrets.token_bytes(48)))
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _id_of(token: str) -> int | None:
    """The interaction that a token says it is for."""
    try:
        text = base64.urlsafe_b64decode(token + "==")
    except ValueError:
        return None
    found = _TOKEN.match(text)
    return None if found is None else int(found[1])


def _hash(token: str) -> bytes:
    """What we keep of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def asked(row: InteractionRow) -> Asked:
    """What answers need to know."""
    found: Asked = _asked.decode(row.asked)
    return found


def modal(row: InteractionRow) -> Modal | None:
    """The modal that was shown in answer."""
    found: Modal | None = None if row.modal is None else _modal.decode(row.modal)
    return found


def find(tx: Tx, interaction_id: int) -> InteractionRow | None:
    """An interaction, or None."""
    return tx.find(InteractionRow, f"SELECT {COLUMNS} FROM interactions WHERE id = ?", interaction_id)


# A statement costs more than what it returns, and an interaction asks of many tables: so one for all that is known by the ids
# of who asks whom where, and one for all that hangs on what was asked.
_ROW: Final = len(InteractionRow._fields)
_APPLICATION: Final = len(App._fields)
_KEPT: Final = ", ".join(f"i.{name}" for name in InteractionRow._fields)
_ITS_APPLICATION: Final = ", ".join(f"a.{name}" for name in App._fields)
_BY_TOKEN: Final = Wide(
    f"{_KEPT}, {_ITS_APPLICATION}",
    "FROM interactions i JOIN applications a ON a.id = i.application_id WHERE i.id = ? AND i.token_hash = ?",
)


class Place(NamedTuple):
    """Where something is asked, as the app is told."""

    channel: channels.ChannelRow
    features: str | None
    """Of its guild, as JSON."""
    locale: str | None


_REACHED: Final = Wide(
    f"{messages.author_columns()}, {_ITS_APPLICATION}, "
    "(SELECT 1 FROM installations WHERE application_id = a.id AND integration_type = 0 AND target_id = c.guild_id), "
    "(SELECT 1 FROM installations WHERE application_id = a.id AND integration_type = 1 AND target_id = u.id), "
    "(SELECT 1 FROM skus WHERE application_id = a.id LIMIT 1), "
    f"({jobs.WAITING} LIMIT 1), g.features, g.preferred_locale, g.owner_id, g.mfa_level, {messages.AUTHORS_GUILD}, "
    f"{commands.PERMITTED_COLUMNS}, {channels.TEXT_CHANNEL_COLUMNS}",
    "FROM channels c LEFT JOIN guilds g ON g.id = c.guild_id LEFT JOIN users u ON u.id = ? "
    "LEFT JOIN members m ON m.guild_id = c.guild_id AND m.user_id = u.id LEFT JOIN applications a ON a.id = ? "
    f"{commands.join_permitted('c.guild_id')} WHERE c.id = ?",
)
_ASKED_OF: Final = messages.AUTHOR_WIDTH + _APPLICATION
_COMMAND: Final = _ASKED_OF + 11
_CHANNEL: Final = _COMMAND + commands.PERMITTED_WIDTH


class Reached(NamedTuple):
    """A place where somebody asks something of an application."""

    person: messages.Author | None
    application: App | None
    installed: frozenset[int]
    """How it is installed: in the guild (0), by the person (1)."""
    sells: bool
    watched: bool
    """Whether the job waits that gives up what is asked now."""
    there: Place
    ref: ChannelRef
    membership: Membership
    command: commands.Permitted | None


def reach(
    tx: Tx, user_id: int, application_id: int, channel_id: int, *, command_id: int, watch: tuple[str, str]
) -> Reached | None:
    """Where somebody asks, of whom, and how that comes to be there, in one query; None where there is no such channel.

    `command_id` is the command that is run, or 0, and `watch` the key and kind of the job that gives up what is asked now."""
    row = tx.wide(_REACHED, *watch, user_id, application_id, command_id, channel_id)
    if row is None:
        return None
    in_guild, by_user, sells, watched, features, locale, owner_id, mfa_level, *guild = row[_ASKED_OF:_COMMAND]
    person = None if row[0] is None else messages.read_author(row[: messages.AUTHOR_WIDTH], guild)
    channel = channels.ChannelRow(*row[_CHANNEL:])
    if channel.type != ChannelType.GUILD_TEXT:
        # Most is asked in text channels, and most columns are of others.
        channel = channels.find(tx, channel_id) or channel
    return Reached(
        person,
        None if row[messages.AUTHOR_WIDTH] is None else App._make(row[messages.AUTHOR_WIDTH : _ASKED_OF]),
        frozenset(kind for kind, there in enumerate((in_guild, by_user)) if there),
        bool(sells),
        bool(watched),
        Place(channel, features, locale),
        channels.ref(channel),
        _membership(owner_id, mfa_level, person),
        commands.read_permitted(row[_COMMAND:_CHANNEL]),
    )


def _membership(owner_id: int | None, mfa_level: int | None, person: messages.Author | None) -> Membership:
    member = None if person is None else person.member
    if member is None:
        return owner_id, mfa_level, None, 0, 0, 0
    return owner_id, mfa_level, member.user_id, member.pending, member.flags, member.timed_out_until_ms


def sells(tx: Tx, application_id: int) -> bool:
    """Whether an application has anything to sell."""
    return tx.one("SELECT 1 FROM skus WHERE application_id = ? LIMIT 1", application_id) is not None


def find_by_token(tx: Tx, token: str) -> tuple[InteractionRow, App] | None:
    """The interaction of a token and the application that was asked, in one query, or None."""
    found = _find(tx, _BY_TOKEN, token)
    return None if found is None else (InteractionRow._make(found[:_ROW]), App._make(found[_ROW:]))


_ANSWERING: Final = Wide(
    f"{_KEPT}, {_ITS_APPLICATION}, {messages.author_columns()}, {messages.author_columns('p', 'n')}, "
    f"g.owner_id, g.mfa_level, {messages.AUTHORS_GUILD}, {', '.join(f'c.{name}' for name in ChannelRef._fields)}",
    "FROM interactions i JOIN applications a ON a.id = i.application_id JOIN channels c ON c.id = i.channel_id "
    "LEFT JOIN guilds g ON g.id = c.guild_id LEFT JOIN users u ON u.id = a.bot_id "
    "LEFT JOIN members m ON m.guild_id = c.guild_id AND m.user_id = a.bot_id LEFT JOIN users p ON p.id = i.user_id "
    "LEFT JOIN members n ON n.guild_id = c.guild_id AND n.user_id = i.user_id WHERE i.id = ? AND i.token_hash = ?",
)
_BOT: Final = _ROW + _APPLICATION
_PERSON: Final = _BOT + messages.AUTHOR_WIDTH
_THERE: Final = _PERSON + messages.AUTHOR_WIDTH
_CHANNEL_REF: Final = _THERE + 5


class Answering(NamedTuple):
    """An interaction and all that an answer to it needs to know."""

    row: InteractionRow
    application: App
    ref: ChannelRef
    bot: messages.Author | None
    membership: Membership
    """The bot's."""
    person: messages.Author | None


def find_answering(tx: Tx, token: str) -> Answering | None:
    """The interaction of a token with who asked, who was asked and where, in one query, or None."""
    found = _find(tx, _ANSWERING, token)
    if found is None:
        return None
    guild = found[_THERE + 2 : _CHANNEL_REF]
    bot = None if found[_BOT] is None else messages.read_author(found[_BOT:_PERSON], guild)
    return Answering(
        InteractionRow._make(found[:_ROW]),
        App._make(found[_ROW:_BOT]),
        channel_ref(found[_CHANNEL_REF:]),
        bot,
        _membership(found[_THERE], found[_THERE + 1], bot),
        None if found[_PERSON] is None else messages.read_author(found[_PERSON:_THERE], guild),
    )


def _find(tx: Tx, query: Wide, token: str) -> Sequence[Any] | None:
    """What a query finds of the interaction whose token this is."""
    interaction_id = _id_of(token)
    if interaction_id is None or interaction_id > MAX_WIDE:
        return None
    return tx.wide(query, interaction_id, _hash(token))


_INSERT: Final = (
    f"INSERT INTO interactions (token_hash, {', '.join(InteractionRow._fields[:_GIVEN])}) "
    f"VALUES ({places(range(_GIVEN + 1))})"
)
SWEPT_BY: Final = 16
"""One of so many interactions takes old ones with it: a statement costs more than what it does."""


def insert(tx: Tx, row: InteractionRow, token: str, now: int) -> None:
    """Keep what was asked; some take twice their share with them of those whose time is over, so that they do not pile up."""
    tx.run(_INSERT, _hash(token), *row[:_GIVEN])
    # The counter of most ids is 0, so that the time has to choose with it.
    if (row.id + row.created_ms) % SWEPT_BY == 0:
        tx.run(
            "DELETE FROM interactions WHERE id IN (SELECT id FROM interactions WHERE id < ? ORDER BY id LIMIT ?)",
            Snowflake.at(now - TOKEN_MS),
            2 * SWEPT_BY,
        )


def answer(
    tx: Tx, interaction_id: int, callback_type: int, original_id: int | None, shown: Modal | None = None
) -> bool:
    """Remember how an interaction was answered; False where somebody was faster."""
    return (
        tx.run(
            "UPDATE interactions SET callback_type = ?, original_id = ?, modal = ? WHERE id = ? AND callback_type IS NULL",
            callback_type,
            original_id,
            None if shown is None else json.encode(shown).decode(),
            interaction_id,
        )
        == 1
    )


def fail(tx: Tx, since: int, before: int) -> list[InteractionRow]:
    """Give up what was asked between two ids and not answered."""
    rows = tx.fetch(
        InteractionRow,
        f"SELECT {COLUMNS} FROM interactions WHERE id >= ? AND id < ? AND callback_type IS NULL ORDER BY id",
        since,
        before,
    )
    if rows:
        ids = [row.id for row in rows]
        tx.run(f"UPDATE interactions SET callback_type = ? WHERE id IN ({places(ids)})", FAILED, *ids)
    return rows


def fail_one(tx: Tx, interaction_id: int, problem: str) -> bool:
    """Remember why an interaction was not answered; False where it was, or was given up already."""
    told = tx.run(
        "UPDATE interactions SET callback_type = ?, problem = ? WHERE id = ? AND callback_type IS NULL",
        FAILED,
        problem,
        interaction_id,
    )
    if not told:
        tx.run(
            "UPDATE interactions SET problem = ? WHERE id = ? AND callback_type = ?", problem, interaction_id, FAILED
        )
    return told == 1


def list_failed(tx: Tx, application_id: int, after: int, limit: int) -> list[InteractionRow]:
    """What an application's own address did not answer, the first first."""
    return tx.fetch(
        InteractionRow,
        f"SELECT {COLUMNS} FROM interactions WHERE application_id = ? AND problem IS NOT NULL AND id > ?"
        " ORDER BY id LIMIT ?",
        application_id,
        after,
        limit,
    )


def count_follow_up(tx: Tx, interaction_id: int) -> None:
    """Remember that an answer was followed by another."""
    tx.run("UPDATE interactions SET follow_ups = follow_ups + 1 WHERE id = ?", interaction_id)


def forget_original(tx: Tx, interaction_id: int) -> None:
    """The message of the first answer is gone."""
    tx.run("UPDATE interactions SET original_id = NULL WHERE id = ?", interaction_id)
