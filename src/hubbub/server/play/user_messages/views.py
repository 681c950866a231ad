"""Build the wire models of messages between players and of activity invites."""

from msgspec import UNSET

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ApplicationId, ChannelId, MessageId, UserId
from hubbub.protocol.resources import user_messages as wire
from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.protocol.resources.message_parts import MessageActivity, MessageApplication
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, relationships, users
from hubbub.server.identity.users import UserRow
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.standing import ChannelRef
from hubbub.server.play.user_messages import store
from hubbub.server.play.user_messages.store import GameInviteRow
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow


def stored_message(
    message: Message, row: MessageRow, channel: PrivateChannel, other_id: int, moderation_metadata: dict[str, str]
) -> wire.UserMessage:
    """Return a stored direct message with the moderation metadata of the caller's family.

    `message` is the wire model of `row`; `other_id` is the ID of the other player, which becomes `recipient_id`."""
    return wire.UserMessage(
        **{name: getattr(message, name) for name in message.__struct_fields__},
        channel=channel,
        recipient_id=UserId(other_id),
        metadata=messages.views.extra(row).metadata or UNSET,
        moderation_metadata=moderation_metadata or UNSET,
    )


def dispatched_message(
    call: Call, channel: ChannelRef, row: MessageRow, moderation_metadata: dict[str, str]
) -> wire.DispatchedUserMessage:
    """Return a stored direct message for the gateway.

    Moderation metadata is always present, so that clients drop earlier values."""
    related_data = messages.views.RelatedData(call)
    related_data.load((row,))
    message = messages.views.dispatched(related_data, channel, row)
    return wire.DispatchedUserMessage(
        **{name: getattr(message, name) for name in message.__struct_fields__},
        metadata=messages.views.extra(row).metadata or UNSET,
        moderation_metadata=moderation_metadata,
    )


def passing_message(
    call: Call,
    row: MessageRow,
    other_player: UserRow,
    *,
    recipient_id: int,
    moderation_metadata: dict[str, str] | None = None,
) -> wire.DispatchedUserMessage:
    """Return a passing message for one player; its channel represents `other_player` (spec/sdk.md#11.3).

    `recipient_id` is the recipient of the message. None for `moderation_metadata` omits the moderation metadata."""
    player_row = row._replace(channel_id=other_player.id)
    channel_ref = ChannelRef(
        ChannelId(other_player.id), None, ChannelType.EPHEMERAL_DM, None, None, None, 0, 0, 0, 0, 0, None
    )
    related_data = messages.views.RelatedData(call)
    related_data.load((player_row,))
    view = messages.views.dispatched(related_data, channel_ref, player_row)
    channel = channels.private_channels.private_channel(
        ChannelRow(id=other_player.id, type=ChannelType.EPHEMERAL_DM), [users.user_view(other_player)]
    )
    return wire.DispatchedUserMessage(
        **{name: getattr(view, name) for name in view.__struct_fields__},
        channel=channel,
        recipient_id=UserId(recipient_id),
        metadata=messages.views.extra(row).metadata or UNSET,
        moderation_metadata=UNSET if moderation_metadata is None else moderation_metadata,
    )


def invite(
    row: MessageRow, author: UserRow, channel_id: int, session_id: str, application: MessageApplication
) -> wire.ActivityInvite:
    """Return an invite for sessions that do not receive messages."""
    activity = messages.views.extra(row).activity
    assert activity is not None
    return wire.ActivityInvite(
        message_id=MessageId(row.id),
        channel_id=ChannelId(channel_id),
        author=users.user_view(author),
        application=application,
        activity=MessageActivity(type=activity.type, party_id=activity.party_id, session_id=session_id),
    )


def stored_invite(
    row: GameInviteRow, author: UserRow, application_row: applications.ApplicationRow
) -> wire.ActivityInvite:
    """Return an invite from its stored row; `author` is its sender."""
    return wire.ActivityInvite(
        message_id=MessageId(row.message_id),
        channel_id=ChannelId(row.channel_id),
        author=users.user_view(author),
        application=application(application_row),
        activity=MessageActivity(type=row.type, party_id=row.party_id, session_id=row.session_id),
    )


def list_pending_invites(call: Call, family_id: int) -> list[wire.ActivityInvite]:
    """Return the caller's pending invites in a family's games, unless the sender blocks the caller or is blocked by them."""
    rows = store.list_pending_invites(call.tx, call.user_id, call.now_ms)
    senders_by_id = users.find_many(call.tx, {row.sender_id for row in rows})
    applications_by_id = applications.find_many(call.tx, {row.application_id for row in rows})
    blocked_ids = relationships.filter_blocked(call.tx, call.user_id, senders_by_id)
    return [
        stored_invite(row, senders_by_id[row.sender_id], application_row)
        for row in rows
        if (application_row := applications_by_id.get(row.application_id)) is not None
        and application_row.family_id == family_id
        and row.sender_id in senders_by_id
        and row.sender_id not in blocked_ids
    ]


def application(row: applications.ApplicationRow) -> MessageApplication:
    view = MessageApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description, type=None
    )
    if row.family_id != row.id:
        # Other applications of the family recognize the game by its parent (spec/sdk.md#8.7).
        view.parent_id = ApplicationId(row.family_id)
    if row.cover_image is not None:
        view.cover_image = row.cover_image
    return view
