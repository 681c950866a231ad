"""Opening and closing private channels, and coming to groups and leaving them: write, publish."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType, MessageType
from hubbub.protocol.ids import ChannelId
from hubbub.protocol.resources import channels as channel_wire
from hubbub.protocol.resources import direct_messages as wire
from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import channels, invites, messages, users
from hubbub.server.resources.channels import ChannelRow
from hubbub.server.resources.direct_messages import rules, store
from hubbub.server.resources.direct_messages.facts import RecipientCame, RecipientGoes
from hubbub.server.resources.users import UserRow


def open_direct(call: Call, other: UserRow) -> PrivateChannel:
    """The caller's channel with somebody, made or put back into the caller's list. The other side hears nothing until
    something is said."""
    channel_id = store.find_direct(call.tx, call.user_id, other.id)
    if channel_id is None:
        row = ChannelRow(id=call.new_id(ChannelId), type=ChannelType.DM)
        channels.insert(call.tx, row)
        store.insert_direct(call.tx, call.user_id, other.id, row.id)
        store.add(call.tx, row.id, call.user_id)
        store.add(call.tx, row.id, other.id, hidden=True)
        appeared = True
    else:
        row = _get(call, channel_id)
        appeared = store.show(call.tx, channel_id, call.user_id)
    shown = channels.private(row, [users.user(other)])
    if appeared and not call.actor.is_bot:
        call.tx.emit(channel_wire.CHANNEL_CREATE, shown, Audience.of_users(call.user_id))
    return shown


def open_group(call: Call, others: Sequence[int], nicks: Mapping[int, str | None]) -> PrivateChannel:
    """A new group of the caller and these others; a bot's group belongs to its application."""
    row = ChannelRow(
        id=call.new_id(ChannelId),
        type=ChannelType.GROUP_DM,
        owner_id=call.user_id,
        application_id=call.actor.application_id if call.actor.is_bot else None,
    )
    channels.insert(call.tx, row)
    everybody = [call.user_id, *others]
    for user_id in everybody:
        store.add(call.tx, row.id, user_id, nick=nicks.get(user_id))
    for user_id in everybody:
        _announce(call, row, user_id)
    return channels.private_for(call, row, call.user_id)


def _announce(call: Call, row: ChannelRow, user_id: int) -> None:
    """CHANNEL_CREATE as one of those in the channel sees it. Bots lack the intent for it (gateway.md 5)."""
    shown = channels.private_for(call, row, user_id)
    call.tx.emit(channel_wire.CHANNEL_CREATE, shown, Audience.of_users(user_id))


def reappear(call: Call, fact: messages.MessageCreated) -> None:
    """A word brings a private channel back into the lists it was hidden from, before the word itself is told."""
    if fact.channel.guild_id is not None:
        return
    hidden = store.hidden_from(call.tx, fact.channel.id)
    if not hidden:
        return
    row = _get(call, fact.channel.id)
    for user_id, bot in hidden:
        store.show(call.tx, row.id, user_id)
        if not bot:
            _announce(call, row, user_id)


def add_to_group(call: Call, group: ChannelRow, user: UserRow, nick: str | None) -> bool:
    """Bring somebody into a group; False when they are in it."""
    present = store.recipients(call.tx, [group.id])[group.id]
    if user.id in present:
        return False
    rules.require_size(len(present) + 1)
    store.add(call.tx, group.id, user.id, nick=nick)
    payload = wire.ChannelRecipientChange(channel_id=ChannelId(group.id), user=users.user(user), nick=nick or UNSET)
    call.tx.emit(wire.CHANNEL_RECIPIENT_ADD, payload, Audience.of_users(*present))
    _announce(call, group, user.id)
    messages.system(call, channels.ref(group), MessageType.RECIPIENT_ADD, call.user_id, mentions=(user.id,))
    call.tell(RecipientCame(channel_id=group.id, user_id=user.id))
    return True


def come_by_invite(call: Call, fact: invites.GroupInviteAccepted) -> None:
    """Let somebody into a group who was invited."""
    user = users.find(call.tx, fact.user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    add_to_group(call, _get(call, fact.channel_id), user, None)


def remove_from_group(call: Call, group: ChannelRow, user: UserRow) -> PrivateChannel:
    """Let somebody go from a group, and show it as they last saw it; the last one turns off the light."""
    shown = channels.private_for(call, group, user.id)
    call.tell(RecipientGoes(channel_id=group.id, user_id=user.id))
    if not store.remove(call.tx, group.id, user.id):
        raise errors.UNKNOWN_USER()
    call.tx.emit(channel_wire.CHANNEL_DELETE, shown, Audience.of_users(user.id))
    if _go_on_without(call, group, user):
        messages.system(call, channels.ref(group), MessageType.RECIPIENT_REMOVE, call.user_id, mentions=(user.id,))
    return shown


def user_deleted(call: Call, fact: users.UserDeleted) -> None:
    """An account is gone, and leaves every group; what two people said to each other stays with the other one."""
    user = users.find(call.tx, fact.user_id)
    if user is None:
        return
    for group in store.list_groups(call.tx, fact.user_id):
        call.tell(RecipientGoes(channel_id=group.id, user_id=user.id))
        store.remove(call.tx, group.id, user.id)
        _go_on_without(call, group, user)


def tell_moved(call: Call, row: ChannelRow, user_id: int, others: Sequence[int]) -> None:
    """A private channel has somebody else in it now: it is new to them, and changed for the others."""
    _announce(call, row, user_id)
    for other in others:
        if other != user_id:
            seen = channels.private_for(call, row, other)
            call.tx.emit(channel_wire.CHANNEL_UPDATE, seen, Audience.of_users(other))


def _go_on_without(call: Call, group: ChannelRow, user: UserRow) -> bool:
    """Tell those who are left, and give the group another owner where it lost its own; False when nobody is left."""
    left = store.recipients(call.tx, [group.id]).get(group.id, [])
    if not left:
        call.tell(channels.ChannelsDeleted(guild_id=None, channel_ids=(group.id,)))
        store.delete_channel(call.tx, group.id)
        return False
    payload = wire.ChannelRecipientChange(channel_id=ChannelId(group.id), user=users.user(user))
    call.tx.emit(wire.CHANNEL_RECIPIENT_REMOVE, payload, Audience.of_users(*left))
    if group.owner_id == user.id:
        inherited = group._replace(owner_id=left[0])
        channels.update(call.tx, group, inherited)
        for user_id in left:
            seen = channels.private_for(call, inherited, user_id)
            call.tx.emit(channel_wire.CHANNEL_UPDATE, seen, Audience.of_users(user_id))
    return True


def close(call: Call, channel_id: int) -> PrivateChannel:
    """DELETE on a private channel: a direct one leaves the caller's list until something is said, a group is left."""
    row = _get(call, channel_id)
    if row.type != ChannelType.GROUP_DM:
        return channels.close(call, row)
    caller = users.find(call.tx, call.user_id)
    if caller is None:
        raise errors.UNKNOWN_USER()
    return remove_from_group(call, row, caller)


def _get(call: Call, channel_id: int) -> ChannelRow:
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    return row
