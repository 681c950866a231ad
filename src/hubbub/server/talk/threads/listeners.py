"""Listeners that update threads after changes to messages, members and channels, and after the import of a guild."""

from hubbub.protocol.enums import MessageType
from hubbub.server.core.call import Call
from hubbub.server.places import channels, guilds, members
from hubbub.server.talk import messages
from hubbub.server.talk.threads import actions, store


def on_message_created(call: Call, signal: messages.signals.MessageCreated) -> None:
    """Count a message in a thread, unarchive the thread, and add an author who is not a member yet."""
    channel, message = signal.channel, signal.row
    if not channel.is_thread:
        return
    if _is_counted(message, channel.id):
        channels.thread_channels.increment_message_counts(call.tx, channel.id)
    if not signal.is_new_member and not channel.archived:
        return
    row = channels.find(call.tx, channel.id)
    if row is None:
        return
    if row.archived:
        row = actions.update(call, row, row._replace(archived=0), is_audited=False)
    if signal.is_new_member:
        actions.add_member(call, row, message.author_id)


def on_guild_imported(call: Call, signal: guilds.creation.GuildImported) -> None:
    """Schedule the archiving of the active threads of an imported guild."""
    for row in store.list_active(call.tx, signal.guild_id):
        actions.schedule_archive(call.tx, row)


def on_messages_deleted(call: Call, signal: messages.signals.MessagesDeleted) -> None:
    """Decrease the message count of a thread after messages were deleted."""
    if signal.channel.is_thread:
        counted_total = sum(_is_counted(row, signal.channel.id) for row in signal.rows)
        if counted_total:
            channels.thread_channels.subtract_message_count(call.tx, signal.channel.id, counted_total)


def on_channels_deleting(call: Call, signal: channels.signals.ChannelsDeleting) -> None:
    """Delete the members of deleted threads and the threads of deleted channels."""
    channels.thread_members.delete_of_threads(call.tx, signal.channel_ids)
    deleted_ids = set(signal.channel_ids)
    thread_ids = [
        thread_id
        for thread_id in store.list_ids_by_parents(call.tx, signal.channel_ids)
        if thread_id not in deleted_ids
    ]
    if thread_ids:
        actions.delete_without_events(call, signal.guild_id, thread_ids)


def on_member_removed(call: Call, signal: members.signals.MemberRemoved) -> None:
    """Remove a user who is no longer a guild member from the guild's threads."""
    for row in store.list_joined(call.tx, signal.guild_id, signal.user_id):
        actions.remove_member(call, row, signal.user_id)


def _is_counted(row: messages.MessageRow, thread_id: int) -> bool:
    """Return whether a message counts: neither the starter message nor a post's first message does (spec/http.md#3.3)."""
    return row.type != MessageType.THREAD_STARTER_MESSAGE and row.id != thread_id
