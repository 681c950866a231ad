"""Changes of messages: what an edit says, and the flags that others set."""

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.resources import messages as wire
from hubbub.server.core.access import ChannelAccess, ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.resources.messages import columns, drafts, mentions, rows, rules, store, views
from hubbub.server.resources.messages.actions import change
from hubbub.server.resources.messages.facts import MessageCrossposted, MessageFilled
from hubbub.server.resources.messages.records import Author, MessageRow
from hubbub.server.resources.messages.saying import ask


def edit(call: Call, access: ChannelAccess, author: Author, row: MessageRow, body: wire.UpdateMessage) -> wire.Message:
    """Change what a message of the caller's own says."""
    draft = drafts.edit(call, access, author, row, body)
    if draft.empty and row.snapshots is None:
        raise errors.EMPTY_MESSAGE()
    after = row._replace(
        content=draft.content,
        flags=draft.flags,
        attachments=rows.text(draft.files),
        embeds=rows.text(draft.embeds),
        components=rows.text(draft.components),
    )
    if body.content is not UNSET or body.components is not UNSET or body.allowed_mentions is not UNSET:
        named = mentions.read(call, access, draft.texts(), body.allowed_mentions, _still_replied(call, row, body))
        after = after._replace(
            mentions=rows.text(list(named.users)),
            mention_roles=rows.text(list(named.roles)),
            mention_everyone=int(named.everyone),
        )
    if after == row:
        return views.message(call, row, guild_id=access.channel.guild_id)
    if after != row._replace(flags=after.flags):
        if author.moderated:
            ask(call, access, author, row.id, draft.words(), edited=True)
        rules.count_edit(call, row)
        # http.md 3.4: a change of flags alone is no edit that readers are told of.
        after = after._replace(edited_ms=call.now)
    return change(call, access.channel, after)


def fill(
    call: Call, access: ChannelAccess, author: Author, row: MessageRow, body: wire.CreateFirstMessage
) -> wire.Message:
    """Let an answer that was still being made say something, as if it were said only now."""
    draft = drafts.read(call, access, author, body)
    if draft.empty:
        raise errors.EMPTY_MESSAGE()
    named = mentions.read(call, access, draft.texts(), body.allowed_mentions)
    extra = columns.extra(row)
    # dated-changes.md 3: until 4 September 2024 an answer that was promised could not become a poll.
    extra.poll = draft.poll if changes.POLL_IN_DEFERRED_EDIT.active(call.now) else None
    if row.ephemeral and extra.poll is not None:
        raise errors.POLL_INVALID_CHANNEL_TYPE()
    after = row._replace(
        flags=row.flags & ~MessageFlags.LOADING | draft.flags,
        content=draft.content,
        attachments=rows.text(draft.files),
        embeds=rows.text(draft.embeds),
        components=rows.text(draft.components),
        mentions=rows.text(list(named.users)),
        mention_roles=rows.text(list(named.roles)),
        mention_everyone=int(named.everyone),
        extra=rows.text(extra),
    )
    if not row.ephemeral:
        call.tell(MessageFilled(channel=access.channel, row=after))
    return change(call, access.channel, after)


def _still_replied(call: Call, row: MessageRow, body: wire.UpdateMessage) -> int | None:
    """Whom a reply keeps notifying through an edit: the author it answers, if it did and the edit does not say otherwise."""
    if row.type != MessageType.REPLY or row.reference is None:
        return None
    reference = json.decode(row.reference, wire.MessageReference)
    replied = store.find(call.tx, reference.channel_id, reference.message_id or 0)
    if replied is None:
        return None
    if not body.allowed_mentions and replied.author_id not in columns.mentions(row):
        return None
    return replied.author_id


def suppress(call: Call, access: ChannelAccess, row: MessageRow, flags: int) -> wire.Message:
    """Hide or show the embeds of somebody's message."""
    wanted = row.flags & ~MessageFlags.SUPPRESS_EMBEDS | flags & MessageFlags.SUPPRESS_EMBEDS
    if wanted == row.flags:
        return views.message(call, row, guild_id=access.channel.guild_id)
    return change(call, access.channel, row._replace(flags=wanted))


def crosspost(call: Call, access: ChannelAccess, row: MessageRow) -> wire.Message:
    """Mark a message as published, for those who bring it to the channels that follow."""
    row = row._replace(flags=row.flags | MessageFlags.CROSSPOSTED)
    shown = change(call, access.channel, row)
    call.tell(MessageCrossposted(channel=access.channel, row=row))
    return shown


def set_flags(call: Call, channel: ChannelRef, message_id: int, on: int = 0, off: int = 0) -> wire.Message:
    """Set and clear flags of a message."""
    row = store.get(call.tx, channel.id, message_id)
    return change(call, channel, row._replace(flags=row.flags & ~off | on))
