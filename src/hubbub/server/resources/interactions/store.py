"""Rows of interactions: what people asked, for as long as apps may answer."""

import base64
import hashlib
import hmac
import re
import secrets
from typing import Final, NamedTuple

import msgspec

from hubbub.protocol import wire as json
from hubbub.protocol.ids import MAX_WIDE, MessageId, Snowflake
from hubbub.protocol.resources.components import Component
from hubbub.protocol.resources.interactions import TOKEN_MS
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.store import Tx, places
from hubbub.server.resources import channels
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
    token_hash: bytes
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


COLUMNS: Final = ", ".join(InteractionRow._fields)
_TOKEN: Final = re.compile(r"interaction:([0-9]{1,19}):[\w-]+", re.ASCII)
_asked: Final = json.decoder(Asked)
_modal: Final = json.decoder(Modal)


def new_token(interaction_id: int) -> str:
    """What lets an app answer: it says which interaction it is for."""
    text = f"interaction:{int(interaction_id)}:{secrets.token_urlsafe(48)}"
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def _id_of(token: str) -> int | None:
    """The interaction that a token says it is for."""
    try:
        text = base64.urlsafe_b64decode(token + "==").decode("ascii")
    except ValueError:
        return None
    found = _TOKEN.fullmatch(text)
    return None if found is None else int(found[1])


def hash_token(token: str) -> bytes:
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


_BY_TOKEN: Final = (
    f"SELECT {', '.join(f'i.{name}' for name in InteractionRow._fields)}, "
    f"{', '.join(f'a.{name}' for name in ApplicationRow._fields)} "
    "FROM interactions i JOIN applications a ON a.id = i.application_id WHERE i.id = ?"
)


class Place(NamedTuple):
    """Where something is asked, as the app is told."""

    channel: channels.ChannelRow
    features: str | None
    """Of its guild, as JSON."""
    locale: str | None


_APPLICATION: Final = (
    f"SELECT {', '.join(f'a.{name}' for name in ApplicationRow._fields)}, "
    "(SELECT 1 FROM installations WHERE application_id = a.id AND integration_type = 0 AND target_id = ?), "
    "(SELECT 1 FROM installations WHERE application_id = a.id AND integration_type = 1 AND target_id = ?), "
    "(SELECT 1 FROM skus WHERE application_id = a.id LIMIT 1), "
    f"{channels.CHANNEL_COLUMNS}, g.features, g.preferred_locale "
    "FROM applications a CROSS JOIN channels c LEFT JOIN guilds g ON g.id = c.guild_id WHERE a.id = ? AND c.id = ?"
)
_OWN: Final = len(ApplicationRow._fields)


class Reached(NamedTuple):
    """An application, as somebody in a place has it."""

    application: ApplicationRow
    installed: frozenset[int]
    """How it is installed: in the guild (0), by the person (1)."""
    sells: bool
    there: Place


def find_application(tx: Tx, application_id: int, channel: ChannelRef, user_id: int) -> Reached | None:
    """An application, how it comes to be where somebody is, and that place, in one query; None when there is none."""
    row = tx.one(_APPLICATION, channel.guild_id or 0, user_id, application_id, channel.id)
    if row is None:
        return None
    in_guild, by_user, sells = row[_OWN : _OWN + 3]
    found = frozenset(kind for kind, there in enumerate((in_guild, by_user)) if there)
    place = Place(channels.ChannelRow._make(row[_OWN + 3 : -2]), *row[-2:])
    return Reached(ApplicationRow._make(row[:_OWN]), found, bool(sells), place)


def sells(tx: Tx, application_id: int) -> bool:
    """Whether an application has anything to sell."""
    return tx.one("SELECT 1 FROM skus WHERE application_id = ? LIMIT 1", application_id) is not None


def find_by_token(tx: Tx, token: str) -> tuple[InteractionRow, ApplicationRow] | None:
    """The interaction of a token and the application that was asked, in one query, or None."""
    interaction_id = _id_of(token)
    found = None if interaction_id is None or interaction_id > MAX_WIDE else tx.one(_BY_TOKEN, interaction_id)
    if found is None:
        return None
    row = InteractionRow._make(found[: len(InteractionRow._fields)])
    if not hmac.compare_digest(row.token_hash, hash_token(token)):
        return None
    return row, ApplicationRow._make(found[len(InteractionRow._fields) :])


_INSERT: Final = f"INSERT INTO interactions ({COLUMNS}) VALUES ({places(InteractionRow._fields)})"
SWEPT_BY: Final = 16
"""One of so many interactions takes old ones with it: a statement costs more than what it does."""


def insert(tx: Tx, row: InteractionRow, now: int) -> None:
    """Keep what was asked; some take twice their share with them of those whose time is over, so that they do not pile up."""
    tx.run(_INSERT, *row)
    if row.id % SWEPT_BY == 0:
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
