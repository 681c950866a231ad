"""What players say to each other: kept in their direct channel, or passed on between games; and invites among it."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import ActivityActionType, ChannelType, MessageType, Scope, WebhookEventType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ApplicationId, ChannelId, MessageId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import messages as message_wire
from hubbub.protocol.resources import user_messages as wire
from hubbub.protocol.resources.messages import MessageActivity
from hubbub.server.core import access as core_access
from hubbub.server.core import jobs
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import (
    applications,
    channels,
    direct_messages,
    game_sessions,
    messages,
    relationships,
    users,
    webhook_events,
)
from hubbub.server.resources.messages import FromGame, MessageChanged, MessageCreated, MessageRow, MessagesDeleted
from hubbub.server.resources.user_messages import rules, store, views
from hubbub.server.resources.user_messages.store import InviteRow, PassingRow
from hubbub.server.resources.users import UserRow

FORGET: Final = "user_messages.forget"
PASSING_MS: Final = 6 * 3_600_000
"""How long it is known who said what passed, so that it can be changed and moderated."""


class Sweep(msgspec.Struct):
    """The job that forgets what is over knows nothing else."""


def send(call: Call, other: UserRow, body: wire.SendUserMessage) -> wire.UserMessage:
    """Say something to another player, or invite them."""
    me = rules.require_player_self(call)
    application = rules.require_activity(call, other.id, body) if body.activity else None
    if application is None and not (body.content or "").strip():
        raise errors.EMPTY_MESSAGE()
    assert call.actor.application_id is not None
    game = FromGame(application_id=call.actor.application_id, metadata=body.metadata or {})
    content = body.content or ""
    if application is not None:
        sent = body.activity
        assert sent
        if Scope.DM_CHANNELS_MESSAGES_WRITE not in call.actor.scopes:
            # sdk.md 10.5: with the presence scopes the words are dropped and the invite still goes.
            content = ""
        party = _party(call, body, application, other)
        game = game._replace(
            activity=MessageActivity(type=int(sent.type), party_id=party, session_id=sent.session_id),
            application=views.application(application),
        )
    if rules.require_kept(call, me, other):
        return _keep(call, me, other, content, game, body)
    if game.activity is None:
        rules.require_shown(call, other.id)
    return _pass(call, me, other, content, game, body)


def _party(call: Call, body: wire.SendUserMessage, application: applications.ApplicationRow, other: UserRow) -> str:
    sent = body.activity
    assert sent
    if sent.type == ActivityActionType.JOIN_REQUEST:
        shown = call.presences.find(other.id, family_id=application.family_id) or call.presences.find(other.id)
        activities = [] if shown is None else shown.activities
        found = [each for each in activities if int(each.get("application_id", 0)) == application.id]
        return rules.party_of(found[0]) if found else ""
    return rules.party_of(call.presences.activity(call.user_id, sent.session_id, application.id) or {})


# Kept: a direct message like any other, which a game sent


def _keep(
    call: Call, me: UserRow, other: UserRow, content: str, game: FromGame, body: wire.SendUserMessage
) -> wire.UserMessage:
    channel = direct_messages.open_direct(call, other)
    here = core_access.channel(call, channel.id)
    author = messages.require_send(call, here)
    said = message_wire.CreateMessage(content=content)
    shown = messages.create(call, here, said, author=author, game=game)
    row = messages.get(call.tx, here.channel.id, shown.id)
    if game.activity is not None and body.activity:
        _invite(call, me, other, row, here.channel.id, body.activity.session_id, game)
    return views.kept(shown, row, channel, other.id, {})


def edit(call: Call, other: UserRow, message_id: int, content: str) -> wire.UserMessage:
    """Change what one said."""
    found = _find(call, other.id, message_id)
    if isinstance(found, PassingRow):
        if found.author_id != call.user_id:
            raise errors.CANNOT_EDIT_OTHERS_MESSAGE()
        me = rules.require_player_self(call)
        rules.require_unblocked(call, other.id)
        said = _passing(found, content)
        if not said.content:
            raise errors.EMPTY_MESSAGE()
        return _pass_on(call, message_wire.MESSAGE_UPDATE, said, me, other, edited=True)
    here, row = found
    if row.author_id != call.user_id:
        raise errors.CANNOT_EDIT_OTHERS_MESSAGE()
    author = messages.require_send(call, here)
    shown = messages.edit(call, here, author, row, message_wire.UpdateMessage(content=content))
    channel = channels.private(_channel_row(call, here.channel.id), [users.user(other)])
    return views.kept(shown, messages.get(call.tx, here.channel.id, row.id), channel, other.id, {})


def delete(call: Call, other: UserRow, message_id: int) -> None:
    """Take back what one said."""
    found = _find(call, other.id, message_id)
    if isinstance(found, PassingRow):
        if found.author_id != call.user_id:
            raise errors.MISSING_PERMISSIONS()
        store.delete_passing(call.tx, found.id)
        store.forget_moderation(call.tx, [found.id])
        store.forget_invites(call.tx, [found.id])
        for one, another in ((call.user_id, other.id), (other.id, call.user_id)):
            gone = message_wire.MessageDeleted(id=MessageId(found.id), channel_id=ChannelId(another))
            call.tx.emit(message_wire.MESSAGE_DELETE, gone, _players(found.family_id, one))
        # Its words were not kept, so all is told but them.
        me = rules.require_player_self(call)
        whole = views.passing(call, _passing(found, ""), me, recipient_id=other.id)
        kind = WebhookEventType.GAME_DIRECT_MESSAGE_DELETE
        _webhooks(call, (call.user_id, other.id), kind, whole, family_id=found.family_id)
        return
    here, row = found
    if row.author_id != call.user_id:
        raise errors.MISSING_PERMISSIONS()
    messages.delete(call, here, row)


def _find(call: Call, other_id: int, message_id: int) -> "PassingRow | tuple[core_access.ChannelAccess, MessageRow]":
    passed = store.find_passing(call.tx, message_id, call.now)
    if passed is not None and {passed.author_id, passed.recipient_id} == {int(call.user_id), int(other_id)}:
        return passed
    channel_id = direct_messages.find_channel(call.tx, call.user_id, other_id)
    row = None if channel_id is None else messages.find(call.tx, channel_id, message_id)
    if channel_id is None or row is None:
        raise errors.UNKNOWN_MESSAGE()
    return core_access.channel(call, channel_id), row


def _channel_row(call: Call, channel_id: int) -> channels.ChannelRow:
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    return row


# Passed on: between provisional accounts, and between players who are no friends


def _pass(
    call: Call, me: UserRow, other: UserRow, content: str, game: FromGame, body: wire.SendUserMessage
) -> wire.UserMessage:
    row = PassingRow(
        id=call.new_id(MessageId),
        author_id=me.id,
        recipient_id=other.id,
        application_id=game.application_id,
        family_id=rules.family_of(call),
        expires_ms=call.now + PASSING_MS,
    )
    store.insert_passing(call.tx, row)
    _forget_later(call, row.expires_ms)
    said = _passing(row, content, game)
    if game.activity is not None and body.activity:
        _invite(call, me, other, said, me.id, body.activity.session_id, game)
    return _pass_on(call, message_wire.MESSAGE_CREATE, said, me, other)


def _passing(row: PassingRow, content: str, game: FromGame | None = None) -> MessageRow:
    extra = messages.Extra()
    if game is not None:
        extra.metadata, extra.activity, extra.application = game.metadata, game.activity, game.application
    return MessageRow(
        channel_id=row.recipient_id,
        id=row.id,
        author_id=row.author_id,
        type=MessageType.DEFAULT,
        flags=MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION,
        content=content.replace("\x00", "").strip(),
        application_id=row.application_id,
        extra=None if extra == messages.Extra() else messages.encode_extra(extra),
    )


def _pass_on(
    call: Call, event: Event[Any], said: MessageRow, me: UserRow, other: UserRow, *, edited: bool = False
) -> wire.UserMessage:
    """Tell both players' games, and the application's webhook."""
    if edited:
        said = said._replace(edited_ms=call.now)
        store.forget_moderation(call.tx, [said.id])
    family_id = rules.family_of(call)
    moderation: dict[str, str] | None = {} if edited else None
    mine = views.passing(call, said, other, recipient_id=other.id, moderation=moderation)
    theirs = views.passing(call, said, me, recipient_id=other.id, moderation=moderation)
    call.tx.emit(event, mine, _players(family_id, me.id))
    call.tx.emit(event, theirs, _players(family_id, other.id))
    kind = WebhookEventType.GAME_DIRECT_MESSAGE_UPDATE if edited else WebhookEventType.GAME_DIRECT_MESSAGE_CREATE
    _webhooks(call, (me.id, other.id), kind, theirs, family_id=family_id)
    names = wire.UserMessage.__struct_fields__
    return wire.UserMessage(**{name: getattr(mine, name) for name in names})


def _players(family_id: int, *user_ids: int) -> Audience:
    return Audience(users=frozenset(user_ids), family_id=family_id, games_only=True)


def _forget_later(call: Call, due_ms: int) -> None:
    jobs.enqueue_once(call.tx, FORGET, Sweep(), due_ms=due_ms, key=FORGET)


def forget(call: Call) -> None:
    """Forget what passed and what was offered too long ago."""
    due_ms = store.forget_old(call.tx, call.now)
    if due_ms is not None:
        call.tx.enqueue(FORGET, Sweep(), due_ms=due_ms, key=FORGET)


# Invites


def _invite(
    call: Call, me: UserRow, other: UserRow, row: MessageRow, channel_id: int, session_id: str, game: FromGame
) -> None:
    """Keep an invite for as long as it is good, and tell the recipient's sessions that do not read messages."""
    assert game.activity is not None
    assert game.application is not None
    kept = InviteRow(
        message_id=row.id,
        channel_id=channel_id,
        type=game.activity.type,
        sender_id=me.id,
        recipient_id=other.id,
        application_id=game.application.id,
        session_id=session_id,
        party_id=game.activity.party_id or "",
        expires_ms=call.now + wire.INVITE_VALID_MS,
    )
    store.insert_invite(call.tx, kept)
    if kept.type == ActivityActionType.JOIN:
        store.answer_requests(call.tx, other.id, me.id, kept.application_id, call.now)
    _forget_later(call, kept.expires_ms)
    told = views.invite(row, me, channel_id, session_id, game.application)
    family_id = rules.family_of(call)
    audience = Audience(
        users=frozenset((int(other.id),)),
        family_id=family_id,
        games_only=True,
        lacking=Scope.DM_CHANNELS_MESSAGES_READ,
    )
    call.tx.emit(wire.ACTIVITY_INVITE_CREATE, told, audience)


def accept(call: Call, sender_id: int, session_id: str, application_id: int, query: wire.AcceptInvite) -> str:
    """The secret that joins what somebody is invited to; their other sessions in the game hear that they accepted."""
    application = applications.find(call.tx, application_id)
    if application is None or (call.actor.family_id is not None and application.family_id != call.actor.family_id):
        raise errors.INVALID_ACTIVITY_ACTION()
    if relationships.is_blocked_between(call.tx, call.user_id, sender_id):
        # sdk.md 9.3: a block stops invites, those on their way too.
        raise errors.MISSING_ACCESS()
    activity = call.presences.activity(sender_id, session_id, application_id)
    secret = call.presences.join_secret(sender_id, session_id, application_id)
    invited = None if not query.message_id else store.find_invite(call.tx, query.message_id, call.now)
    if invited is None:
        family_id = application.family_id
        if activity is None or secret is None or not rules.may_join_directly(call, sender_id, activity, family_id):
            raise errors.MISSING_ACCESS()
        return secret
    if invited.recipient_id != call.user_id or invited.type != ActivityActionType.JOIN:
        raise errors.MISSING_ACCESS()
    same = (invited.sender_id, invited.session_id, invited.application_id) == (sender_id, session_id, application_id)
    if query.channel_id and query.channel_id != invited.channel_id:
        same = False
    if not same or activity is None or secret is None or rules.party_of(activity) != invited.party_id:
        raise errors.INVALID_ACTIVITY_ACTION()
    store.answer_invite(call.tx, invited.message_id, call.now)
    _tell_accepted(call, invited, application)
    return secret


def _tell_accepted(call: Call, invited: InviteRow, application: applications.ApplicationRow) -> None:
    sender = users.find(call.tx, invited.sender_id)
    if sender is None:
        return
    told = views.kept_invite(invited, sender, application)
    call.tx.emit(wire.ACTIVITY_INVITE_CREATE, told, _players(application.family_id, call.user_id))


# What moderation says


def moderate(call: Call, one: int, other: int, message_id: int, metadata: dict[str, str]) -> None:
    """Keep what the application's moderation says of a message between two players; their games hear of it (sdk.md 11.4)."""
    family_id = call.actor.family_id
    assert family_id is not None
    passed = store.find_passing(call.tx, message_id, call.now)
    if passed is not None:
        if passed.family_id != family_id or {passed.author_id, passed.recipient_id} != {int(one), int(other)}:
            raise errors.UNKNOWN_MESSAGE()
        people = users.find_many(call.tx, (one, other))
        store.put_moderation(call.tx, family_id, message_id, metadata)
        # Its words are nobody's to repeat: clients know them, and take what is new.
        for mine, another in ((one, other), (other, one)):
            update = views.passing(
                call, _passing(passed, ""), people[another], recipient_id=passed.recipient_id, moderation=metadata
            )
            told = {"id": update.id, "channel_id": update.channel_id, "moderation_metadata": metadata}
            call.tx.emit(message_wire.MESSAGE_UPDATE, told, _players(family_id, mine))
        return
    channel_id = direct_messages.find_channel(call.tx, one, other)
    ref = None if channel_id is None else core_access.find_channel(call.tx, channel_id)
    if ref is None:
        raise errors.UNKNOWN_CHANNEL()
    row = messages.find(call.tx, ref.id, message_id)
    if row is None:
        raise errors.UNKNOWN_MESSAGE()
    if row.application_id is None or applications.family_id(call.tx, row.application_id) != family_id:
        raise errors.MISSING_ACCESS()
    store.put_moderation(call.tx, family_id, message_id, metadata)
    told_whole = views.dispatched(call, ref, row, metadata)
    call.tx.emit(message_wire.MESSAGE_UPDATE, told_whole, _players(family_id, one, other))


# Direct messages, wherever they were written


def created(call: Call, fact: MessageCreated) -> None:
    """A direct message was kept: the games that its people are in hear of it on their webhooks."""
    if fact.channel.type == ChannelType.DM:
        _tell_webhooks(call, fact.channel, fact.row, WebhookEventType.GAME_DIRECT_MESSAGE_CREATE)


def changed(call: Call, fact: MessageChanged) -> None:
    """A direct message was edited: what moderation said of it no longer holds, and games are told so."""
    if fact.channel.type != ChannelType.DM or fact.row.edited_ms != call.now:
        return
    families = store.moderators(call.tx, fact.row.id)
    if families:
        store.forget_moderation(call.tx, [fact.row.id])
        people = [user_id for user_id, _ in messages.recipients(call.tx, fact.channel.id)]
        cleared = views.dispatched(call, fact.channel, fact.row, {})
        for family_id in families:
            call.tx.emit(message_wire.MESSAGE_UPDATE, cleared, _players(family_id, *people))
    _tell_webhooks(call, fact.channel, fact.row, WebhookEventType.GAME_DIRECT_MESSAGE_UPDATE)


def deleted(call: Call, fact: MessagesDeleted) -> None:
    """Direct messages are gone, and what was said of them."""
    if fact.channel.type != ChannelType.DM:
        return
    store.forget_moderation(call.tx, [row.id for row in fact.rows])
    store.forget_invites(call.tx, [row.id for row in fact.rows])
    for row in fact.rows:
        _tell_webhooks(call, fact.channel, row, WebhookEventType.GAME_DIRECT_MESSAGE_DELETE)


def _tell_webhooks(call: Call, channel: ChannelRef, row: MessageRow, kind: WebhookEventType) -> None:
    people = [user_id for user_id, _ in messages.recipients(call.tx, channel.id)]
    if not game_sessions.readers_of(call.tx, people):
        return
    around = messages.views.Around(call)
    around.load((row,))
    shown = messages.views.dispatched(around, channel, row)
    found = users.find_many(call.tx, people)
    whole = wire.DispatchedUserMessage(
        **{name: getattr(shown, name) for name in shown.__struct_fields__},
        channel=channels.private(_channel_row(call, channel.id), [users.user(each) for each in found.values()]),
        recipient_id=next((UserId(each) for each in found if each != row.author_id), UNSET),
        metadata=messages.views.extra(row).metadata or UNSET,
    )
    _webhooks(call, people, kind, whole)


def _webhooks(
    call: Call, people: Sequence[int], kind: WebhookEventType, data: Any, *, family_id: int | None = None
) -> None:
    """Tell every game that one of the two is in now and lets read their messages (sdk.md 11.5); of what passed, the family's
    games alone."""
    for application_id in game_sessions.readers_of(call.tx, people, family_id):
        webhook_events.send(call, ApplicationId(application_id), kind, data, subject_id=min(people))


def user_deleted(call: Call, fact: users.UserDeleted) -> None:
    """An account is gone."""
    store.forget_user(call.tx, fact.user_id)
