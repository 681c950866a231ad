"""Messages between players, which are stored in their direct message channel or relayed between games.

The module also handles activity invites, moderation metadata, and the webhook events of direct messages."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import ActivityActionType, ChannelType, Scope, WebhookEventType
from hubbub.protocol.ids import ApplicationId, ChannelId, MessageId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import messages as message_wire
from hubbub.protocol.resources import user_messages as wire
from hubbub.protocol.resources.message_parts import MessageActivity
from hubbub.server.core import jobs, link_rules
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.core.event_dispatch import GameFilter, UserAudience
from hubbub.server.identity import applications, game_sessions, relationships, users
from hubbub.server.identity.users import UserRow
from hubbub.server.places import channels
from hubbub.server.places.standing import ChannelAccess, ChannelRef
from hubbub.server.places.standing import access as core_access
from hubbub.server.play import webhook_events
from hubbub.server.play.user_messages import rules, store, views
from hubbub.server.play.user_messages.store import GameInviteRow, PassingMessageRow
from hubbub.server.talk import direct_messages, messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.messages.content import ApplicationOrigin
from hubbub.server.talk.messages.signals import MessageChanged, MessageCreated, MessagesDeleted

SWEEP_JOB: Final = "user_messages.delete_expired"
"""Kind of the job that deletes expired passing messages and invites."""
PASSING_MESSAGE_LIFETIME_MS: Final = 6 * 3_600_000
"""Time in milliseconds for which the row of a passing message is stored, to edit, delete or moderate the message."""


class SweepJob(msgspec.Struct):
    """Empty payload of the job that deletes expired passing messages and invites."""


def send(call: Call, other_player: UserRow, body: wire.SendUserMessage) -> wire.UserMessage:
    """Send a message or an activity invite to `other_player`."""
    sender = rules.require_sender(call)
    application = rules.require_activity(call, other_player.id, body) if body.activity else None
    if application is None and not (body.content or "").strip():
        raise errors.EMPTY_MESSAGE()
    assert call.actor.application_id is not None
    origin = ApplicationOrigin(application_id=call.actor.application_id, metadata=body.metadata or {})
    content = body.content or ""
    if application is not None:
        activity = body.activity
        assert activity
        if Scope.DM_CHANNELS_MESSAGES_WRITE not in call.actor.scopes:
            # spec/sdk.md#10.5: with the presence scopes alone the text is dropped and the invite is still sent.
            content = ""
        party_id = _resolve_party_id(call, body, application, other_player)
        origin = origin._replace(
            activity=MessageActivity(type=int(activity.type), party_id=party_id, session_id=activity.session_id),
            application=views.application(application),
        )
    if rules.is_stored_message(call, sender, other_player):
        return _send_stored_message(call, sender, other_player, content, origin, body)
    if origin.activity is None:
        rules.require_visible_in_game(call, other_player.id)
    link_rules.require_allowed(call, (content,))
    return _send_passing_message(call, sender, other_player, content, origin, body)


def _resolve_party_id(
    call: Call, body: wire.SendUserMessage, application: applications.ApplicationRow, other_player: UserRow
) -> str:
    """Return the ID of the party to join: the recipient's for a join request, otherwise the sender's; may be empty."""
    activity = body.activity
    assert activity
    if activity.type == ActivityActionType.JOIN_REQUEST:
        presence = call.presences.find(other_player.id, family_id=application.family_id) or call.presences.find(
            other_player.id
        )
        activities = [] if presence is None else presence.activities
        matching_activities = [
            candidate for candidate in activities if int(candidate.get("application_id", 0)) == application.id
        ]
        return rules.party_id_of(matching_activities[0]) if matching_activities else ""
    return rules.party_id_of(call.presences.find_activity(call.user_id, activity.session_id, application.id) or {})


# Stored messages: ordinary direct messages that a game sent


def _send_stored_message(
    call: Call, sender: UserRow, recipient: UserRow, content: str, origin: ApplicationOrigin, body: wire.SendUserMessage
) -> wire.UserMessage:
    channel = direct_messages.open_direct_channel(call, recipient)
    channel_access = core_access.get_channel_standing(call, channel.id)
    author = messages.history.require_can_send(call, channel_access)
    message_body = message_wire.CreateMessage(content=content)
    view = messages.creation.create(call, channel_access, message_body, author=author, origin=origin)
    row = messages.history.get(call.tx, channel_access.channel.id, view.id)
    if origin.activity is not None and body.activity:
        _create_invite(call, sender, recipient, row, channel_access.channel.id, body.activity.session_id, origin)
    return views.stored_message(view, row, channel, recipient.id, {})


def edit(call: Call, other_player: UserRow, message_id: int, content: str) -> wire.UserMessage:
    """Edit a message of the caller to `other_player`."""
    target_message = _require_message(call, other_player.id, message_id)
    if isinstance(target_message, PassingMessageRow):
        if target_message.author_id != call.user_id:
            raise errors.CANNOT_EDIT_OTHERS_MESSAGE()
        sender = rules.require_sender(call)
        rules.require_unblocked(call, other_player.id)
        link_rules.require_allowed(call, (content,))
        message = _build_passing_message(target_message, content)
        if not message.content:
            raise errors.EMPTY_MESSAGE()
        return _publish_passing_message(
            call, message_wire.MESSAGE_UPDATE, message, sender, other_player, is_edited=True
        )
    channel_access, row = target_message
    if row.author_id != call.user_id:
        raise errors.CANNOT_EDIT_OTHERS_MESSAGE()
    author = messages.history.require_can_send(call, channel_access)
    view = messages.changes.edit(call, channel_access, author, row, message_wire.UpdateMessage(content=content))
    channel = channels.private_channels.private_channel(
        _require_channel_row(call, channel_access.channel.id), [users.user_view(other_player)]
    )
    return views.stored_message(
        view, messages.history.get(call.tx, channel_access.channel.id, row.id), channel, other_player.id, {}
    )


def delete(call: Call, other_player: UserRow, message_id: int) -> None:
    """Delete a message of the caller to `other_player`."""
    target_message = _require_message(call, other_player.id, message_id)
    if isinstance(target_message, PassingMessageRow):
        if target_message.author_id != call.user_id:
            raise PermissionDenied(Denial(reason="{caller} did not send the message."))
        store.delete_passing_message(call.tx, target_message.id)
        store.delete_moderation_metadata(call.tx, [target_message.id])
        store.delete_invites(call.tx, [target_message.id])
        for user_id, partner_id in ((call.user_id, other_player.id), (other_player.id, call.user_id)):
            payload = message_wire.MessageDeleted(id=MessageId(target_message.id), channel_id=ChannelId(partner_id))
            call.tx.emit(message_wire.MESSAGE_DELETE, payload, _game_audience(target_message.family_id, user_id))
        # The content was not stored, so the event contains everything except the content.
        author = rules.require_sender(call)
        message = views.passing_message(
            call, _build_passing_message(target_message, ""), author, recipient_id=other_player.id
        )
        event_type = WebhookEventType.GAME_DIRECT_MESSAGE_DELETE
        _send_webhook_events(
            call, (call.user_id, other_player.id), event_type, message, family_id=target_message.family_id
        )
        return
    channel_access, row = target_message
    if row.author_id != call.user_id:
        raise PermissionDenied(Denial(reason="{caller} did not send the message."))
    messages.changes.delete(call, channel_access, row)


def _require_message(
    call: Call, other_id: int, message_id: int
) -> "PassingMessageRow | tuple[ChannelAccess, MessageRow]":
    """Return a message between the caller and another player: a passing message, or a stored message with the channel access.

    Raise UNKNOWN_MESSAGE if there is none."""
    passing_message = store.find_passing_message(call.tx, message_id, call.now_ms)
    if passing_message is not None and {passing_message.author_id, passing_message.recipient_id} == {
        int(call.user_id),
        int(other_id),
    }:
        return passing_message
    channel_id = direct_messages.find_direct_channel_id(call.tx, call.user_id, other_id)
    row = None if channel_id is None else messages.history.find(call.tx, channel_id, message_id)
    if channel_id is None or row is None:
        raise errors.UNKNOWN_MESSAGE()
    return core_access.get_channel_standing(call, channel_id), row


def _require_channel_row(call: Call, channel_id: int) -> channels.ChannelRow:
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    return row


# Passing messages: not stored, but relayed between games (see `rules.is_stored_message`)


def _send_passing_message(
    call: Call, sender: UserRow, recipient: UserRow, content: str, origin: ApplicationOrigin, body: wire.SendUserMessage
) -> wire.UserMessage:
    row = PassingMessageRow(
        id=call.new_id(MessageId),
        author_id=sender.id,
        recipient_id=recipient.id,
        application_id=origin.application_id,
        family_id=rules.family_id_of(call),
        expires_ms=call.now_ms + PASSING_MESSAGE_LIFETIME_MS,
    )
    store.insert_passing_message(call.tx, row)
    _schedule_sweep(call, row.expires_ms)
    message = _build_passing_message(row, content, origin)
    if origin.activity is not None and body.activity:
        _create_invite(call, sender, recipient, message, sender.id, body.activity.session_id, origin)
    return _publish_passing_message(call, message_wire.MESSAGE_CREATE, message, sender, recipient)


def _build_passing_message(row: PassingMessageRow, content: str, origin: ApplicationOrigin | None = None) -> MessageRow:
    """Build the message row of a passing message, which is not stored.

    `origin` is None if it is no longer known, because the message was sent by an earlier request."""
    origin = origin or ApplicationOrigin(row.application_id)
    return messages.content.build_application_row(row.recipient_id, row.id, row.author_id, content, origin)


def _publish_passing_message(
    call: Call, event: Event[Any], message: MessageRow, author: UserRow, recipient: UserRow, *, is_edited: bool = False
) -> wire.UserMessage:
    """Publish a passing message to both players' games and as a webhook event; return the author's version."""
    if is_edited:
        message = message._replace(edited_ms=call.now_ms)
        store.delete_moderation_metadata(call.tx, [message.id])
    family_id = rules.family_id_of(call)
    moderation_metadata: dict[str, str] | None = {} if is_edited else None
    author_payload = views.passing_message(
        call, message, recipient, recipient_id=recipient.id, moderation_metadata=moderation_metadata
    )
    recipient_payload = views.passing_message(
        call, message, author, recipient_id=recipient.id, moderation_metadata=moderation_metadata
    )
    call.tx.emit(event, author_payload, _game_audience(family_id, author.id))
    call.tx.emit(event, recipient_payload, _game_audience(family_id, recipient.id))
    event_type = (
        WebhookEventType.GAME_DIRECT_MESSAGE_UPDATE if is_edited else WebhookEventType.GAME_DIRECT_MESSAGE_CREATE
    )
    _send_webhook_events(call, (author.id, recipient.id), event_type, recipient_payload, family_id=family_id)
    field_names = wire.UserMessage.__struct_fields__
    return wire.UserMessage(**{field_name: getattr(author_payload, field_name) for field_name in field_names})


def _game_audience(family_id: int, *user_ids: int) -> UserAudience:
    """Return the audience of users' sessions in the games of a family."""
    return UserAudience.of(*user_ids, game_filter=GameFilter(family_id=family_id, oauth2_only=True))


def _schedule_sweep(call: Call, due_ms: int) -> None:
    jobs.enqueue_once(call.tx, SWEEP_JOB, SweepJob(), due_ms=due_ms, key=SWEEP_JOB)


def delete_expired(call: Call) -> None:
    """Delete expired passing messages and invites, and reschedule the job while any are left."""
    due_ms = store.delete_expired(call.tx, call.now_ms)
    if due_ms is not None:
        call.tx.enqueue(SWEEP_JOB, SweepJob(), due_ms=due_ms, key=SWEEP_JOB)


# Invites


def _create_invite(
    call: Call,
    sender: UserRow,
    recipient: UserRow,
    row: MessageRow,
    channel_id: int,
    session_id: str,
    origin: ApplicationOrigin,
) -> None:
    """Store an invite until it expires, and publish it to the recipient's sessions that do not receive messages.

    An invite to join also answers the join requests of its recipient."""
    assert origin.activity is not None
    assert origin.application is not None
    invite = GameInviteRow(
        message_id=row.id,
        channel_id=channel_id,
        type=origin.activity.type,
        sender_id=sender.id,
        recipient_id=recipient.id,
        application_id=origin.application.id,
        session_id=session_id,
        party_id=origin.activity.party_id or "",
        expires_ms=call.now_ms + wire.ACTIVITY_INVITE_LIFETIME_MS,
    )
    store.insert_invite(call.tx, invite)
    if invite.type == ActivityActionType.JOIN:
        store.mark_requests_answered(call.tx, recipient.id, sender.id, invite.application_id, call.now_ms)
    _schedule_sweep(call, invite.expires_ms)
    payload = views.invite(row, sender, channel_id, session_id, origin.application)
    family_id = rules.family_id_of(call)
    game_filter = GameFilter(family_id=family_id, oauth2_only=True, without_scope=Scope.DM_CHANNELS_MESSAGES_READ)
    call.tx.emit(wire.ACTIVITY_INVITE_CREATE, payload, UserAudience.of(recipient.id, game_filter=game_filter))


def get_join_secret(
    call: Call, sender_id: int, session_id: str, application_id: int, query: wire.GetActivityJoinSecret
) -> str:
    """Return the join secret of the activity in a session of the user `sender_id`.

    If `query` names an invite, accept it and publish the acceptance to the caller's sessions in the game. Without a valid
    invite, the sender's activity must allow the caller to join directly."""
    application = applications.find(call.tx, application_id)
    if application is None or (call.actor.family_id is not None and application.family_id != call.actor.family_id):
        raise errors.INVALID_ACTIVITY_ACTION()
    if relationships.is_blocked_between(call.tx, call.user_id, sender_id):
        # spec/sdk.md#9.3: a block also stops invites that were already sent.
        raise errors.MISSING_ACCESS()
    activity = call.presences.find_activity(sender_id, session_id, application_id)
    secret = call.presences.join_secret(sender_id, session_id, application_id)
    invite = None if not query.message_id else store.find_invite(call.tx, query.message_id, call.now_ms)
    if invite is None:
        family_id = application.family_id
        if activity is None or secret is None or not rules.can_join_directly(call, sender_id, activity, family_id):
            raise errors.MISSING_ACCESS()
        return secret
    if invite.recipient_id != call.user_id or invite.type != ActivityActionType.JOIN:
        raise errors.MISSING_ACCESS()
    is_matching_invite = (invite.sender_id, invite.session_id, invite.application_id) == (
        sender_id,
        session_id,
        application_id,
    )
    if query.channel_id and query.channel_id != invite.channel_id:
        is_matching_invite = False
    if not is_matching_invite or activity is None or secret is None or rules.party_id_of(activity) != invite.party_id:
        raise errors.INVALID_ACTIVITY_ACTION()
    store.mark_invite_accepted(call.tx, invite.message_id, call.now_ms)
    _publish_accepted(call, invite, application)
    return secret


def _publish_accepted(call: Call, invite: GameInviteRow, application: applications.ApplicationRow) -> None:
    sender = users.find(call.tx, invite.sender_id)
    if sender is None:
        return
    payload = views.stored_invite(invite, sender, application)
    call.tx.emit(wire.ACTIVITY_INVITE_CREATE, payload, _game_audience(application.family_id, call.user_id))


# Moderation


def moderate(call: Call, user_id: int, other_user_id: int, message_id: int, metadata: dict[str, str]) -> None:
    """Store the moderation metadata of a message between two players and publish it to their games (spec/sdk.md#11.4).

    `user_id` and `other_user_id` are the players' user IDs, in any order."""
    family_id = call.actor.family_id
    assert family_id is not None
    passing_message = store.find_passing_message(call.tx, message_id, call.now_ms)
    if passing_message is not None:
        if passing_message.family_id != family_id or {passing_message.author_id, passing_message.recipient_id} != {
            int(user_id),
            int(other_user_id),
        }:
            raise errors.UNKNOWN_MESSAGE()
        users_by_id = users.find_many(call.tx, (user_id, other_user_id))
        store.replace_moderation_metadata(call.tx, family_id, message_id, metadata)
        # The content is not stored; clients have it and only need the new metadata.
        for recipient_id, partner_id in ((user_id, other_user_id), (other_user_id, user_id)):
            player_view = views.passing_message(
                call,
                _build_passing_message(passing_message, ""),
                users_by_id[partner_id],
                recipient_id=passing_message.recipient_id,
                moderation_metadata=metadata,
            )
            payload = {"id": player_view.id, "channel_id": player_view.channel_id, "moderation_metadata": metadata}
            call.tx.emit(message_wire.MESSAGE_UPDATE, payload, _game_audience(family_id, recipient_id))
        return
    channel_id = direct_messages.find_direct_channel_id(call.tx, user_id, other_user_id)
    channel = None if channel_id is None else core_access.find_channel(call.tx, channel_id)
    if channel is None:
        raise errors.UNKNOWN_CHANNEL()
    row = messages.history.find(call.tx, channel.id, message_id)
    if row is None:
        raise errors.UNKNOWN_MESSAGE()
    if row.application_id is None or applications.families.read_family_id(call.tx, row.application_id) != family_id:
        raise errors.MISSING_ACCESS()
    store.replace_moderation_metadata(call.tx, family_id, message_id, metadata)
    message = views.dispatched_message(call, channel, row, metadata)
    call.tx.emit(message_wire.MESSAGE_UPDATE, message, _game_audience(family_id, user_id, other_user_id))


# Direct messages from any client


def on_message_created(call: Call, signal: MessageCreated) -> None:
    """Send webhook events for a new direct message to the games of its participants."""
    if signal.channel.type == ChannelType.DM:
        _send_message_events(call, signal.channel, signal.row, WebhookEventType.GAME_DIRECT_MESSAGE_CREATE)


def on_message_changed(call: Call, signal: MessageChanged) -> None:
    """Clear the moderation metadata of an edited direct message and send webhook events."""
    if signal.channel.type != ChannelType.DM or signal.row.edited_ms != call.now_ms:
        return
    family_ids = store.list_moderating_families(call.tx, signal.row.id)
    if family_ids:
        store.delete_moderation_metadata(call.tx, [signal.row.id])
        participant_ids = [user_id for user_id, _ in messages.history.list_recipients(call.tx, signal.channel.id)]
        cleared_view = views.dispatched_message(call, signal.channel, signal.row, {})
        for family_id in family_ids:
            call.tx.emit(message_wire.MESSAGE_UPDATE, cleared_view, _game_audience(family_id, *participant_ids))
    _send_message_events(call, signal.channel, signal.row, WebhookEventType.GAME_DIRECT_MESSAGE_UPDATE)


def on_messages_deleted(call: Call, signal: MessagesDeleted) -> None:
    """Delete the moderation metadata and invites of deleted direct messages and send webhook events."""
    if signal.channel.type != ChannelType.DM:
        return
    store.delete_moderation_metadata(call.tx, [row.id for row in signal.rows])
    store.delete_invites(call.tx, [row.id for row in signal.rows])
    for row in signal.rows:
        _send_message_events(call, signal.channel, row, WebhookEventType.GAME_DIRECT_MESSAGE_DELETE)


def _send_message_events(call: Call, channel: ChannelRef, row: MessageRow, event_type: WebhookEventType) -> None:
    participant_ids = [user_id for user_id, _ in messages.history.list_recipients(call.tx, channel.id)]
    if not game_sessions.list_reading_application_ids(call.tx, participant_ids):
        return
    related_data = messages.views.RelatedData(call)
    related_data.load((row,))
    view = messages.views.dispatched(related_data, channel, row)
    users_by_id = users.find_many(call.tx, participant_ids)
    payload = wire.DispatchedUserMessage(
        **{name: getattr(view, name) for name in view.__struct_fields__},
        channel=channels.private_channels.private_channel(
            _require_channel_row(call, channel.id), [users.user_view(user_row) for user_row in users_by_id.values()]
        ),
        recipient_id=next((UserId(user_id) for user_id in users_by_id if user_id != row.author_id), UNSET),
        metadata=messages.views.extra(row).metadata or UNSET,
    )
    _send_webhook_events(call, participant_ids, event_type, payload)


def _send_webhook_events(
    call: Call,
    participant_ids: Sequence[int],
    event_type: WebhookEventType,
    payload: Any,
    *,
    family_id: int | None = None,
) -> None:
    """Send an event to every game in which a participant is active and has granted access to messages (spec/sdk.md#11.5).

    For a passing message, `family_id` restricts the event to the games of that family; None means all games."""
    for application_id in game_sessions.list_reading_application_ids(call.tx, participant_ids, family_id):
        webhook_events.send(call, ApplicationId(application_id), event_type, payload, subject_id=min(participant_ids))


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Delete the acknowledged disclosures, passing messages and game invites of a deleted user."""
    store.delete_user_rows(call.tx, signal.user_id)
