"""What is said in lobbies, and in the channels linked to them: both ways, and to the application's webhook."""

from typing import Any, Final

import msgspec

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import MessageType, WebhookEventType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ApplicationId, LobbyId, MessageId, Snowflake
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import lobbies as wire
from hubbub.protocol.resources.channels import LinkedLobby
from hubbub.server.core import access, jobs
from hubbub.server.core.call import Call
from hubbub.server.core.refusals import Refusal
from hubbub.server.resources import messages, oauth2, users, webhook_events
from hubbub.server.resources.lobbies import actions, rules, store, views
from hubbub.server.resources.lobbies.store import LobbyRow, MemberRow, MessageRow, text
from hubbub.server.resources.messages import MessageChanged, MessageCreated, MessageDrafted, MessagesDeleted

FORGET: Final = "lobbies.forget"
FORGET_EVERY_MS: Final = 6 * 3_600_000
"""How often messages that are too old to be read are removed."""

RICH: Final = ("embeds", "components", "attachments", "sticker_ids", "poll", "shared_client_theme", "message_reference")
"""Parts of a message that only a channel can hold."""
SAID_FLAGS: Final = MessageFlags.SUPPRESS_EMBEDS | MessageFlags.SUPPRESS_NOTIFICATIONS
RICH_FLAGS: Final = MessageFlags.SETTABLE & ~SAID_FLAGS
"""Flags that go with such parts."""


class Sweep(msgspec.Struct):
    """What the job that forgets old messages knows."""

    lobby_id: int


def say(call: Call, row: LobbyRow, member: MemberRow, body: wire.CreateLobbyMessage) -> wire.LobbyMessage:
    """Say something in a lobby, and in the channel that is linked to it if it may be said there."""
    content = (body.content or "").replace("\x00", "").strip()
    form = errors.FormErrors()
    rules.check_metadata(form, "metadata", body.metadata)
    if row.linked_channel_id is None:
        for name in RICH:
            if getattr(body, name):
                form.add(name, "LOBBY_NOT_LINKED", "Only a lobby with a linked channel takes this.")
        if call.files:
            form.add("files", "LOBBY_NOT_LINKED", "Only a lobby with a linked channel takes files.")
        if isinstance(body.flags, int) and body.flags & RICH_FLAGS:
            form.add("flags", "LOBBY_NOT_LINKED", "Only a lobby with a linked channel takes these.")
    form.raise_if_any()
    if not content and row.linked_channel_id is None:
        raise errors.EMPTY_MESSAGE()
    message_id = call.new_id(MessageId)
    nonce = messages.nonce_of(body)
    if nonce is not None and messages.is_enforced(call, body):
        earlier = messages.said_before(
            call, row.id, str(nonce), message_id, lambda id: store.find_message(call.tx, row.id, id)
        )
        if earlier is not None:
            return views.said(call, (earlier,))[0]
    said = MessageRow(
        lobby_id=row.id,
        id=message_id,
        channel_id=row.id,
        author_id=call.user_id,
        type=MessageType.DEFAULT,
        content=content,
        flags=MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION | ((body.flags or 0) & SAID_FLAGS),
        application_id=row.application_id,
        additional_name=member.additional_name,
        metadata=text(body.metadata or None),
    )
    store.insert_message(call.tx, said)
    jobs.enqueue_once(
        call.tx, FORGET, Sweep(row.id), due_ms=call.now + wire.LOBBY_HISTORY_MS, key=f"{FORGET}:{int(row.id)}"
    )
    if row.linked_channel_id is None or not _forward(call, row, said, body):
        if not content:
            raise errors.EMPTY_MESSAGE()
        _publish(call, row, wire.LOBBY_MESSAGE_CREATE, said, WebhookEventType.LOBBY_MESSAGE_CREATE)
    kept = store.find_message(call.tx, row.id, said.id)
    assert kept is not None
    return views.said(call, (kept,))[0]


def _forward(call: Call, row: LobbyRow, said: MessageRow, body: wire.CreateLobbyMessage) -> bool:
    """Say it in the linked channel too; False where the guild's moderation does not let it through: then the lobby alone has it
    (sdk.md 12.6). `created` below tells the lobby of it."""
    channel = access.find_channel(call.tx, row.linked_channel_id or 0)
    author = None if channel is None else messages.find_author(call.tx, channel.guild_id, call.user_id)
    if channel is None or author is None:
        return False
    try:
        messages.create(
            call,
            rules.stand_in_channel(call, channel),
            body,
            message_id=MessageId(said.id),
            author=author,
            game=messages.FromGame(row.application_id),
        )
    except Refusal as refusal:
        # Nothing of it was kept, and nothing is undone: the moderators' alert belongs to this transaction.
        refusal.aftermath(call)
        return False
    return True


def created(call: Call, fact: MessageCreated) -> None:
    """Something was said in a channel: its lobby's players hear of it."""
    if fact.channel.linked_lobby is None or fact.row.type not in messages.SAID:
        return
    row = _lobby_of(call, fact.channel.linked_lobby)
    if row is None:
        return
    known = store.find_message(call.tx, row.id, fact.row.id)
    if known is None:
        said = _copy(row, fact.row)
        store.insert_message(call.tx, said)
    else:
        said = known._replace(
            channel_id=fact.channel.id,
            type=fact.row.type,
            content=fact.row.content,
            flags=known.flags | fact.row.flags,
        )
        store.replace_message(call.tx, said)
    _publish_linked(call, row, said, fact, wire.LOBBY_MESSAGE_CREATE, WebhookEventType.LOBBY_MESSAGE_CREATE)


def changed(call: Call, fact: MessageChanged) -> None:
    """Something said in a linked channel was edited: what moderation said of it no longer holds (sdk.md 11.4)."""
    if fact.channel.linked_lobby is None:
        return
    row = _lobby_of(call, fact.channel.linked_lobby)
    known = None if row is None else store.find_message(call.tx, row.id, fact.row.id)
    if row is None or known is None:
        return
    edited = fact.row.edited_ms != known.edited_ms
    after = known._replace(content=fact.row.content, edited_ms=fact.row.edited_ms)
    if edited:
        after = after._replace(moderation_metadata=None)
    store.update_message(call.tx, after)
    webhook = WebhookEventType.LOBBY_MESSAGE_UPDATE if edited else None
    _publish_linked(call, row, after, fact, wire.LOBBY_MESSAGE_UPDATE, webhook)


def deleted(call: Call, fact: MessagesDeleted) -> None:
    """Messages of a linked channel are gone, for players too."""
    if fact.channel.linked_lobby is None:
        return
    row = _lobby_of(call, fact.channel.linked_lobby)
    if row is None:
        return
    players = store.member_ids(call.tx, row.id)
    for message_id in store.delete_messages(call.tx, row.id, [each.id for each in fact.rows]):
        gone = wire.LobbyMessageDeleted(id=MessageId(message_id), lobby_id=LobbyId(row.id))
        actions.tell(call, row, wire.LOBBY_MESSAGE_DELETE, gone, players)
        _webhook(call, row, WebhookEventType.LOBBY_MESSAGE_DELETE, gone)


def drafted(call: Call, fact: MessageDrafted) -> None:
    """Where the lobby asks for it, only those who let the game in speak in the linked channel."""
    if fact.access.channel.linked_lobby is None:
        return
    linked = json.decode(fact.access.channel.linked_lobby, LinkedLobby)
    if not linked.require_application_authorization or call.actor.application_id == linked.application_id:
        return
    if oauth2.find_authorization(call.tx, call.user_id, linked.application_id) is None:
        raise errors.MISSING_PERMISSIONS()


def moderate(call: Call, row: LobbyRow, said: MessageRow, metadata: dict[str, str]) -> None:
    """Keep what the application's moderation says of a message; its players hear of it, nobody else does (sdk.md 11.4)."""
    after = said._replace(moderation_metadata=text(metadata))
    if after == said:
        return
    store.update_message(call.tx, after)
    (shown,) = views.said(call, (after,)) or (None,)
    if shown is not None:
        # An empty map is said too, else clients would keep what they know.
        shown.moderation_metadata = metadata
        actions.tell(call, row, wire.LOBBY_MESSAGE_UPDATE, shown, store.member_ids(call.tx, row.id))


def forget(call: Call, sweep: Sweep) -> None:
    """Remove messages that are too old to be read."""
    oldest = store.forget_messages(call.tx, sweep.lobby_id, Snowflake.at(call.now - wire.LOBBY_HISTORY_MS))
    if oldest is not None:
        due_ms = max(Snowflake(oldest).created_ms + wire.LOBBY_HISTORY_MS, call.now) + FORGET_EVERY_MS
        call.tx.enqueue(FORGET, sweep, due_ms=due_ms, key=f"{FORGET}:{int(sweep.lobby_id)}")


def _copy(row: LobbyRow, said: messages.MessageRow) -> MessageRow:
    return MessageRow(
        lobby_id=row.id,
        id=said.id,
        channel_id=said.channel_id,
        author_id=said.author_id,
        type=said.type,
        content=said.content,
        flags=said.flags,
        application_id=said.application_id,
    )


def _lobby_of(call: Call, linked_lobby: str) -> LobbyRow | None:
    return store.find(call.tx, json.decode(linked_lobby, LinkedLobby).lobby_id)


def _publish(call: Call, row: LobbyRow, event: Event[Any], said: MessageRow, webhook: WebhookEventType | None) -> None:
    """Tell players and the application of a message that the lobby alone has."""
    author = users.find(call.tx, said.author_id)
    if author is None:
        return
    shown = views.message(said, users.user(author))
    actions.tell(call, row, event, shown, store.member_ids(call.tx, row.id))
    if webhook is not None:
        _webhook(call, row, webhook, shown)


def _publish_linked(
    call: Call,
    row: LobbyRow,
    said: MessageRow,
    fact: MessageCreated | MessageChanged,
    event: Event[Any],
    webhook: WebhookEventType | None,
) -> None:
    """Tell players of a message of the linked channel: they see all of it, as its readers do."""
    around = messages.views.Around(call)
    around.load((fact.row,))
    whole = views.linked_message(said, messages.views.dispatched(around, fact.channel, fact.row))
    if event is wire.LOBBY_MESSAGE_UPDATE and said.moderation_metadata is None:
        whole.moderation_metadata = {}
    actions.tell(call, row, event, whole, store.member_ids(call.tx, row.id))
    if webhook is not None:
        _webhook(call, row, webhook, views.message(said, whole.author))


def _webhook(call: Call, row: LobbyRow, kind: WebhookEventType, data: Any) -> None:
    url = row.override_event_webhooks_url
    webhook_events.send(call, ApplicationId(row.application_id), kind, data, subject_id=row.id, url=url)
