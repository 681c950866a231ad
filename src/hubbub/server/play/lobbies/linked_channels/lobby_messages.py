"""Messages of lobbies, which are synchronized with linked channels and sent as webhook events."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import USER_MESSAGE_TYPES, WebhookEventType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ApplicationId, LobbyId, MessageId, Snowflake, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import lobbies as wire
from hubbub.protocol.resources.channels import LinkedLobby
from hubbub.server.core import jobs, link_rules
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.core.personal_data import export_row
from hubbub.server.core.rejections import RejectedWithSideEffects
from hubbub.server.identity import identities, oauth2, users
from hubbub.server.places.standing import access
from hubbub.server.play import webhook_events
from hubbub.server.play.lobbies import actions, rules, store, views
from hubbub.server.play.lobbies.store import LobbyMemberRow, LobbyMessageRow, LobbyRow, encode_metadata
from hubbub.server.talk import messages
from hubbub.server.talk.messages.ports import MessageDraft
from hubbub.server.talk.messages.signals import MessageChanged, MessageCreated, MessagesDeleted

DELETE_EXPIRED_JOB: Final = "lobbies.delete_expired_messages"
"""Kind of the job that deletes a lobby's expired messages."""
DELETION_BATCH_SIZE: Final = 100
"""Number of messages that one transaction of the deletion of an account deletes."""
DELETE_EXPIRED_INTERVAL_MS: Final = 6 * 3_600_000
"""Delay in milliseconds between the expiry of the oldest remaining message and the next job.

A lobby's first job has no delay: it is due when the first message expires."""

CHANNEL_ONLY_FIELDS: Final = (
    "embeds",
    "components",
    "attachments",
    "sticker_ids",
    "poll",
    "shared_client_theme",
    "message_reference",
)
"""Message fields that only a channel can store."""
LOBBY_FLAGS: Final = MessageFlags.SUPPRESS_EMBEDS | MessageFlags.SUPPRESS_NOTIFICATIONS
"""Flags that every lobby message may have."""
CHANNEL_ONLY_FLAGS: Final = MessageFlags.SETTABLE & ~LOBBY_FLAGS
"""Flags that require a linked channel."""


class DeleteExpiredPayload(msgspec.Struct):
    """Payload of the job that deletes a lobby's expired messages."""

    lobby_id: int


def create(call: Call, lobby: LobbyRow, member: LobbyMemberRow, body: wire.CreateLobbyMessage) -> wire.LobbyMessage:
    """Create a lobby message, and post it in the linked channel unless moderation or a ban prevents that.

    A repeated nonce returns the earlier message. `member` is the author's membership in the lobby."""
    form = errors.FormErrors()
    rules.check_metadata(form, "metadata", body.metadata)
    if lobby.linked_channel_id is None:
        for name in CHANNEL_ONLY_FIELDS:
            if getattr(body, name):
                form.add(name, "LOBBY_NOT_LINKED", "This field requires a lobby with a linked channel.")
        if call.files:
            form.add("files", "LOBBY_NOT_LINKED", "Files require a lobby with a linked channel.")
        if isinstance(body.flags, int) and body.flags & CHANNEL_ONLY_FLAGS:
            form.add("flags", "LOBBY_NOT_LINKED", "These flags require a lobby with a linked channel.")
    form.raise_if_any()
    link_rules.require_allowed(call, (body.content or "",))
    message_id = call.new_id(MessageId)
    origin = messages.content.ApplicationOrigin(lobby.application_id)
    flags = (body.flags or 0) & LOBBY_FLAGS
    message = _copy_message(
        lobby,
        messages.content.build_application_row(
            lobby.id, message_id, call.user_id, body.content or "", origin, flags=flags
        ),
    )._replace(additional_name=member.additional_name, metadata=encode_metadata(body.metadata or None))
    if not message.content and lobby.linked_channel_id is None:
        raise errors.EMPTY_MESSAGE()
    earlier_message = messages.history.claim_nonce(
        call,
        lobby.id,
        body,
        message_id,
        lambda earlier_message_id: store.find_message(call.tx, lobby.id, earlier_message_id),
    )
    if earlier_message is not None:
        return views.messages_with_authors(call, (earlier_message,))[0]
    jobs.enqueue_once(
        call.tx,
        DELETE_EXPIRED_JOB,
        DeleteExpiredPayload(lobby.id),
        due_ms=call.now_ms + wire.LOBBY_HISTORY_MS,
        key=f"{DELETE_EXPIRED_JOB}:{int(lobby.id)}",
    )
    if lobby.linked_channel_id is None or not _post_in_channel(call, lobby, message, body):
        if not message.content:
            raise errors.EMPTY_MESSAGE()
        store.insert_message(call.tx, message)
        _publish_lobby_message(call, lobby, wire.LOBBY_MESSAGE_CREATE, message, WebhookEventType.LOBBY_MESSAGE_CREATE)
    stored_message = store.find_message(call.tx, lobby.id, message.id)
    assert stored_message is not None
    return views.messages_with_authors(call, (stored_message,))[0]


def _post_in_channel(call: Call, lobby: LobbyRow, message: LobbyMessageRow, body: wire.CreateLobbyMessage) -> bool:
    """Post a lobby message in the linked channel; `on_message_created` then stores and publishes it in the lobby.

    Return False if the guild's moderation blocks it, if the channel or the author no longer exists, or if a ban restricts the
    author to the game: the message then exists only in the lobby (spec/sdk.md#8.6, spec/sdk.md#12.6)."""
    channel = access.find_channel(call.tx, lobby.linked_channel_id or 0)
    author = None if channel is None else messages.authors.find_author(call.tx, channel.guild_id, call.user_id)
    if channel is None or author is None or identities.is_restricted(call, call.user_id):
        return False
    try:
        messages.creation.create(
            call,
            rules.linked_channel_access(call, channel),
            body,
            message_id=MessageId(message.id),
            author=author,
            origin=messages.content.ApplicationOrigin(lobby.application_id, lobby_message_row=message),
        )
    except RejectedWithSideEffects as rejection:
        # Nothing was stored in the channel, so nothing is rolled back; the moderators' alert is part of the transaction.
        rejection.side_effects(call)
        return False
    return True


def on_message_created(call: Call, signal: MessageCreated) -> None:
    """Store a linked channel's new message in the lobby, and publish it to the lobby's members."""
    if signal.channel.linked_lobby is None or signal.row.type not in USER_MESSAGE_TYPES:
        return
    lobby = _find_linked_lobby(call, signal.channel.linked_lobby)
    if lobby is None:
        return
    message = _copy_message(lobby, signal.row)
    if isinstance(signal.lobby_message_row, LobbyMessageRow):
        # The message was sent in the lobby, whose copy has fields that the message of the channel lacks.
        message = signal.lobby_message_row._replace(
            channel_id=signal.channel.id,
            type=signal.row.type,
            content=signal.row.content,
            flags=signal.lobby_message_row.flags | signal.row.flags,
        )
    store.insert_message(call.tx, message)
    _publish_channel_message(
        call, lobby, message, signal, wire.LOBBY_MESSAGE_CREATE, WebhookEventType.LOBBY_MESSAGE_CREATE
    )


def on_message_changed(call: Call, signal: MessageChanged) -> None:
    """Publish a changed message of a linked channel to the lobby's members.

    An edit also clears the moderation metadata, which no longer applies (spec/sdk.md#11.4), and sends a webhook event."""
    if signal.channel.linked_lobby is None:
        return
    lobby = _find_linked_lobby(call, signal.channel.linked_lobby)
    existing_message = None if lobby is None else store.find_message(call.tx, lobby.id, signal.row.id)
    if lobby is None or existing_message is None:
        return
    is_edited = signal.row.edited_ms != existing_message.edited_ms
    changed_message = existing_message._replace(content=signal.row.content, edited_ms=signal.row.edited_ms)
    if is_edited:
        changed_message = changed_message._replace(moderation_metadata=None)
    store.update_message(call.tx, changed_message)
    webhook_event_type = WebhookEventType.LOBBY_MESSAGE_UPDATE if is_edited else None
    _publish_channel_message(call, lobby, changed_message, signal, wire.LOBBY_MESSAGE_UPDATE, webhook_event_type)


def on_messages_deleted(call: Call, signal: MessagesDeleted) -> None:
    """Delete messages of a linked channel from the lobby, and publish the deletion to the lobby's members."""
    if signal.channel.linked_lobby is None:
        return
    lobby = _find_linked_lobby(call, signal.channel.linked_lobby)
    if lobby is None:
        return
    _delete(call, lobby, [message.id for message in signal.rows])


def delete_by_author(call: Call, user_id: UserId) -> bool:
    """Delete a batch of a user's messages in all lobbies. Return whether the user may have more messages."""
    rows = store.list_by_author(call.tx, user_id, DELETION_BATCH_SIZE)
    message_ids_by_lobby: dict[int, list[int]] = {}
    for row in rows:
        message_ids_by_lobby.setdefault(row.lobby_id, []).append(row.id)
    for lobby_id, message_ids in message_ids_by_lobby.items():
        lobby = store.find(call.tx, lobby_id)
        if lobby is None:
            store.delete_messages(call.tx, lobby_id, message_ids)
        else:
            _delete(call, lobby, message_ids)
    return len(rows) == DELETION_BATCH_SIZE


def _delete(call: Call, lobby: LobbyRow, message_ids: Sequence[int]) -> None:
    """Delete messages of a lobby, and publish the deletion of those that existed."""
    for message_id in store.delete_messages(call.tx, lobby.id, message_ids):
        payload = wire.LobbyMessageDeleted(id=MessageId(message_id), lobby_id=LobbyId(lobby.id))
        actions.publish_message(call, lobby, wire.LOBBY_MESSAGE_DELETE, payload)
        _send_webhook_event(call, lobby, WebhookEventType.LOBBY_MESSAGE_DELETE, payload)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return a user's lobbies and their messages in lobbies for the export of their data."""
    return {
        "lobbies": [export_row(row, "user_id") for row in store.list_memberships(call.tx, user_id)],
        "lobby_messages": [
            export_row(row, "author_id", "moderation_metadata") for row in store.list_by_author(call.tx, user_id)
        ],
    }


def check_lobby_authorization(call: Call, draft: MessageDraft) -> None:
    """Raise MISSING_PERMISSIONS if the channel's linked lobby requires authors to authorize its application.

    Nothing is raised if the author has authorized it, or if the application itself sends the message."""
    if draft.channel_access.channel.linked_lobby is None:
        return
    linked_lobby = codec.decode(draft.channel_access.channel.linked_lobby, LinkedLobby)
    if not linked_lobby.require_application_authorization or call.actor.application_id == linked_lobby.application_id:
        return
    if oauth2.authorizations.find_authorization(call.tx, call.user_id, linked_lobby.application_id) is None:
        raise PermissionDenied(
            Denial(reason="{caller} has not authorized the application of the lobby that is linked to the channel.")
        )


def set_moderation_metadata(call: Call, lobby: LobbyRow, message: LobbyMessageRow, metadata: dict[str, str]) -> None:
    """Store moderation metadata of a message and publish it to the lobby's members only (spec/sdk.md#11.4)."""
    changed_message = message._replace(moderation_metadata=encode_metadata(metadata))
    if changed_message == message:
        return
    store.update_message(call.tx, changed_message)
    (payload,) = views.messages_with_authors(call, (changed_message,)) or (None,)
    if payload is not None:
        # Send an empty map too; otherwise clients would retain their old metadata.
        payload.moderation_metadata = metadata
        actions.publish_message(call, lobby, wire.LOBBY_MESSAGE_UPDATE, payload)


def delete_expired(call: Call, payload: DeleteExpiredPayload) -> None:
    """Delete a lobby's messages that are too old to be read, and schedule the next job while any are left."""
    oldest_id = store.delete_messages_up_to(
        call.tx, payload.lobby_id, Snowflake.at(call.now_ms - wire.LOBBY_HISTORY_MS)
    )
    if oldest_id is not None:
        due_ms = max(Snowflake(oldest_id).created_ms + wire.LOBBY_HISTORY_MS, call.now_ms) + DELETE_EXPIRED_INTERVAL_MS
        call.tx.enqueue(DELETE_EXPIRED_JOB, payload, due_ms=due_ms, key=f"{DELETE_EXPIRED_JOB}:{int(payload.lobby_id)}")


def _copy_message(lobby: LobbyRow, message: messages.MessageRow) -> LobbyMessageRow:
    """Return the lobby's copy of a message."""
    return LobbyMessageRow(
        lobby_id=lobby.id,
        id=message.id,
        channel_id=message.channel_id,
        author_id=message.author_id,
        type=message.type,
        content=message.content,
        flags=message.flags,
        application_id=message.application_id,
    )


def _find_linked_lobby(call: Call, linked_lobby: str) -> LobbyRow | None:
    """Return the lobby of a channel's `linked_lobby` column, which is a LinkedLobby as JSON, or None."""
    return store.find(call.tx, codec.decode(linked_lobby, LinkedLobby).lobby_id)


def _publish_lobby_message(
    call: Call,
    lobby: LobbyRow,
    event: Event[Any],
    message: LobbyMessageRow,
    webhook_event_type: WebhookEventType | None,
) -> None:
    """Publish a message that exists only in the lobby to its members and, unless the type is None, as a webhook event."""
    author = users.find(call.tx, message.author_id)
    if author is None:
        return
    payload = views.message(message, users.user_view(author))
    actions.publish_message(call, lobby, event, payload)
    if webhook_event_type is not None:
        _send_webhook_event(call, lobby, webhook_event_type, payload)


def _publish_channel_message(
    call: Call,
    lobby: LobbyRow,
    message: LobbyMessageRow,
    signal: MessageCreated | MessageChanged,
    event: Event[Any],
    webhook_event_type: WebhookEventType | None,
) -> None:
    """Publish a linked channel's message to the lobby's members and, unless the type is None, as a webhook event.

    Members receive all fields that readers of the channel receive; the webhook event has those of a lobby message."""
    related_data = messages.views.RelatedData(call)
    related_data.load((signal.row,))
    payload = views.linked_message(message, messages.views.dispatched(related_data, signal.channel, signal.row))
    if event is wire.LOBBY_MESSAGE_UPDATE and message.moderation_metadata is None:
        payload.moderation_metadata = {}
    actions.publish_message(call, lobby, event, payload)
    if webhook_event_type is not None:
        _send_webhook_event(call, lobby, webhook_event_type, views.message(message, payload.author))


def _send_webhook_event(call: Call, lobby: LobbyRow, event_type: WebhookEventType, payload: Any) -> None:
    url = lobby.override_event_webhooks_url
    webhook_events.send(call, ApplicationId(lobby.application_id), event_type, payload, subject_id=lobby.id, url=url)
