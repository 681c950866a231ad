"""From what was said to the row that is kept: what makes a message more than words, and the nonce that was said once."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol import wire as json
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import messages as wire
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.resources.messages import columns, store
from hubbub.server.resources.messages.drafts import Draft
from hubbub.server.resources.messages.mentions import Mentions
from hubbub.server.resources.messages.records import Author, Extra, FromGame, Identity, MessageRow, Response
from hubbub.server.resources.messages.references import Refers

RowT = TypeVar("RowT")

NONCE_WINDOW_MS: Final = round(wire.NONCE_WINDOW.total_seconds() * 1000)


def filled(
    call: Call,
    channel: ChannelRef,
    row: MessageRow,
    draft: Draft | None,
    refers: Refers | None,
    named: Mentions,
    tts: bool,
) -> MessageRow:
    """The row with all that makes it more than words."""
    extra = Extra()
    if channel.is_thread:
        extra.position = store.thread_position(call.tx, channel.id)
    if draft is not None:
        extra.sticker_items, extra.poll, extra.shared_client_theme = draft.stickers, draft.poll, draft.theme
        row = row._replace(attachments=text(draft.files), embeds=text(draft.embeds), components=text(draft.components))
    if refers is not None:
        row = row._replace(reference=text(refers.reference))
        if refers.snapshot is not None:
            row = row._replace(snapshots=text([refers.snapshot]), flags=row.flags | MessageFlags.HAS_SNAPSHOT)
    return row._replace(
        tts=int(tts),
        mention_everyone=int(named.everyone),
        mentions=text(list(named.users)),
        mention_roles=text(list(named.roles)),
        extra=None if extra == Extra() else text(extra),
    )


def spoken(row: MessageRow, author: Author) -> MessageRow:
    """The row with the webhook that speaks; its name and picture are of this message alone, so they are kept with it."""
    if author.webhook_id is None:
        return row
    row = row._replace(webhook_id=author.webhook_id, application_id=author.application_id)
    if author.webhook_id != author.user.id or author.known:
        return row
    extra = columns.extra(row)
    extra.author = Identity(username=author.user.username, avatar=author.user.avatar)
    return row._replace(extra=text(extra))


def played(row: MessageRow, game: FromGame) -> MessageRow:
    """The row as what a game says for its player."""
    extra = columns.extra(row)
    extra.metadata, extra.activity, extra.application = game.metadata, game.activity, game.application
    return row._replace(
        flags=row.flags | MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION,
        application_id=game.application_id,
        extra=None if extra == Extra() else text(extra),
    )


def answering(row: MessageRow, response: Response) -> MessageRow:
    """The row as an app's answer."""
    extra = columns.extra(row)
    extra.interaction = response.interaction
    if response.flags & MessageFlags.EPHEMERAL:
        if extra.poll is not None:
            # Nobody could be told of votes (decisions/0030).
            raise errors.POLL_INVALID_CHANNEL_TYPE()
        extra.seen_by = [UserId(each) for each in response.seen_by]
    return row._replace(
        type=response.kind,
        flags=row.flags | response.flags,
        reference=text(response.reference),
        extra=text(extra),
    )


def answered(row: MessageRow, author: Author, response: Response) -> MessageRow:
    """The row as an app's answer that is words and nothing else, for all to see."""
    return row._replace(
        type=response.kind,
        webhook_id=author.webhook_id,
        application_id=author.application_id,
        extra=encode_extra(Extra(interaction=response.interaction)),
    )


def encode_extra(extra: Extra) -> str:
    """What few messages have, as it is kept."""
    return json.encode(extra).decode()


def text(value: Any) -> str | None:
    """JSON of something, or None of nothing."""
    return json.encode(value).decode() if value else None


# Nonces


def nonce_of(body: wire.CreateMessage) -> int | str | None:
    """The nonce that was said, or None."""
    nonce = body.nonce
    if nonce is UNSET or nonce is None or nonce == "":
        return None
    if not isinstance(nonce, int | str) or isinstance(nonce, bool):
        raise errors.invalid("nonce", *errors.nonce_type())
    if len(str(nonce)) > wire.NONCE_MAX:
        raise errors.invalid("nonce", *errors.nonce_length(wire.NONCE_MAX))
    return nonce


def is_enforced(call: Call, body: wire.CreateMessage) -> bool:
    """Whether its nonce is to be said once."""
    if body.enforce_nonce is UNSET or body.enforce_nonce is None:
        return call.api_version >= changes.ENFORCE_NONCE_DEFAULT_VERSION
    return body.enforce_nonce and changes.ENFORCE_NONCE.active(call.now)


def said_before(
    call: Call, place_id: int, nonce: str, message_id: int, find: Callable[[int], RowT | None]
) -> RowT | None:
    """What used this nonce in a channel or lobby within the window, found by its id; otherwise the nonce is now the new
    message's."""
    key = (call.user_id, place_id, nonce)
    earlier = store.take_nonce(call.tx, *key, message_id, call.now, NONCE_WINDOW_MS)
    if earlier is None:
        return None
    row = find(earlier)
    if row is None:
        # It was deleted since: the repeat counts as new.
        store.replace_nonce(call.tx, *key, message_id, call.now)
    return row
