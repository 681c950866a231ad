"""Messages between players as games see them."""

from msgspec import UNSET

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ApplicationId, ChannelId, MessageId, UserId
from hubbub.protocol.resources import user_messages as wire
from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.protocol.resources.messages import Message, MessageActivity, MessageApplication
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.resources import applications, channels, messages, relationships, users
from hubbub.server.resources.channels import ChannelRow
from hubbub.server.resources.messages import MessageRow
from hubbub.server.resources.user_messages import store
from hubbub.server.resources.user_messages.store import InviteRow
from hubbub.server.resources.users import UserRow


def kept(
    shown: Message, row: MessageRow, channel: PrivateChannel, other_id: int, moderation: dict[str, str]
) -> wire.UserMessage:
    """A message of a direct channel, for a game of the family that moderated it."""
    return wire.UserMessage(
        **{name: getattr(shown, name) for name in shown.__struct_fields__},
        channel=channel,
        recipient_id=UserId(other_id),
        metadata=messages.views.extra(row).metadata or UNSET,
        moderation_metadata=moderation or UNSET,
    )


def dispatched(
    call: Call, channel: ChannelRef, row: MessageRow, moderation: dict[str, str]
) -> wire.DispatchedUserMessage:
    """The same for the gateway; what moderation says is always there, so that clients forget what it said before."""
    around = messages.views.Around(call)
    around.load((row,))
    shown = messages.views.dispatched(around, channel, row)
    return wire.DispatchedUserMessage(
        **{name: getattr(shown, name) for name in shown.__struct_fields__},
        metadata=messages.views.extra(row).metadata or UNSET,
        moderation_metadata=moderation,
    )


def passing(
    call: Call, row: MessageRow, other: UserRow, *, recipient_id: int, moderation: dict[str, str] | None = None
) -> wire.DispatchedUserMessage:
    """A message that nobody keeps, as one side sees it: the channel is the other player (sdk.md 11.3)."""
    seen = row._replace(channel_id=other.id)
    ref = ChannelRef(ChannelId(other.id), None, ChannelType.EPHEMERAL_DM, None, None, None, 0, 0, 0, 0, 0, None)
    around = messages.views.Around(call)
    around.load((seen,))
    shown = messages.views.dispatched(around, ref, seen)
    channel = channels.private(ChannelRow(id=other.id, type=ChannelType.EPHEMERAL_DM), [users.user(other)])
    return wire.DispatchedUserMessage(
        **{name: getattr(shown, name) for name in shown.__struct_fields__},
        channel=channel,
        recipient_id=UserId(recipient_id),
        metadata=messages.views.extra(row).metadata or UNSET,
        moderation_metadata=UNSET if moderation is None else moderation,
    )


def invite(
    row: MessageRow, author: UserRow, channel_id: int, session_id: str, application: MessageApplication
) -> wire.ActivityInvite:
    """An invite for sessions that do not read messages."""
    sent = messages.views.extra(row).activity
    assert sent is not None
    return wire.ActivityInvite(
        message_id=MessageId(row.id),
        channel_id=ChannelId(channel_id),
        author=users.user(author),
        application=application,
        activity=MessageActivity(type=sent.type, party_id=sent.party_id, session_id=session_id),
    )


def kept_invite(row: InviteRow, author: UserRow, about: applications.ApplicationRow) -> wire.ActivityInvite:
    """An invite that was sent before."""
    return wire.ActivityInvite(
        message_id=MessageId(row.message_id),
        channel_id=ChannelId(row.channel_id),
        author=users.user(author),
        application=application(about),
        activity=MessageActivity(type=row.type, party_id=row.party_id, session_id=row.session_id),
    )


def waiting(call: Call, family_id: int) -> list[wire.ActivityInvite]:
    """The invites to the caller in a family's games that they have not answered; not from those whom a block stops."""
    rows = store.list_unanswered(call.tx, call.user_id, call.now)
    people = users.find_many(call.tx, {row.sender_id for row in rows})
    games = applications.find_many(call.tx, {row.application_id for row in rows})
    blocked = relationships.blocks_among(call.tx, call.user_id, people)
    return [
        kept_invite(row, people[row.sender_id], about)
        for row in rows
        if (about := games.get(row.application_id)) is not None
        and about.family_id == family_id
        and row.sender_id in people
        and row.sender_id not in blocked
    ]


def application(row: applications.ApplicationRow) -> MessageApplication:
    """The application that a message belongs to."""
    shown = MessageApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description, type=None
    )
    if row.family_id != row.id:
        # So that a sibling of the game knows it for one (sdk.md 8.7).
        shown.parent_id = ApplicationId(row.family_id)
    if row.cover_image is not None:
        shown.cover_image = row.cover_image
    return shown
