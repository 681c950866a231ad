"""What threads do when something happens below them: somebody speaks, somebody goes, a channel is deleted."""

from hubbub.protocol import errors
from hubbub.protocol.enums import MessageType
from hubbub.protocol.resources.threads import THREAD_MEMBERS_MAX
from hubbub.server.core.call import Call
from hubbub.server.resources import channels, members, messages
from hubbub.server.resources.threads import actions, rules, store


def hear_message(call: Call, fact: messages.MessageCreated) -> None:
    """Somebody spoke: in a thread that counts, wakes it when it was archived, and brings in who spoke."""
    ref, message = fact.channel, fact.row
    if not ref.is_thread:
        return
    # http.md 3.3: neither the starter message nor a post's first message is counted.
    if message.type != MessageType.THREAD_STARTER_MESSAGE and message.id != ref.id:
        store.count_message(call.tx, ref.id)
    spoken = message.type in rules.SPOKEN and message.webhook_id is None
    comes = spoken and channels.find_thread_member(call.tx, ref.id, message.author_id) is None
    if not comes and not ref.archived:
        return
    row = channels.find(call.tx, ref.id)
    if row is None:
        return
    if row.archived:
        rules.require_room(call, row.guild_id or 0, row.type)
        row = actions.change(call, row, row._replace(archived=0), logged=False)
    if comes:
        if row.member_count >= THREAD_MEMBERS_MAX:
            raise errors.MAX_THREAD_PARTICIPANTS()
        actions.join(call, row, message.author_id)


def hear_deletion(call: Call, fact: messages.MessagesDeleted) -> None:
    """Messages are gone: the thread counts fewer."""
    if fact.channel.is_thread:
        uncounted = sum(
            row.type == MessageType.THREAD_STARTER_MESSAGE or row.id == fact.channel.id for row in fact.rows
        )
        if len(fact.rows) > uncounted:
            store.discount_messages(call.tx, fact.channel.id, len(fact.rows) - uncounted)


def hear_channels_deleted(call: Call, fact: channels.ChannelsDeleted) -> None:
    """Channels go, and their threads and the members of those go with them."""
    store.delete_all_members(call.tx, fact.channel_ids)
    told = set(fact.channel_ids)
    threads = [each for each in store.ids_of_parents(call.tx, fact.channel_ids) if each not in told]
    if threads:
        actions.forget(call, fact.guild_id, threads)


def hear_member_removed(call: Call, fact: members.MemberRemoved) -> None:
    """Who leaves a guild leaves its threads."""
    for row in store.joined_in_guild(call.tx, fact.guild_id, fact.user_id):
        actions.leave(call, row, fact.user_id)
