"""Edits of message content and flags, completion of deferred responses, and crossposting."""

from msgspec import UNSET

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.resources import messages as wire
from hubbub.server.core import link_rules
from hubbub.server.core.call import Call
from hubbub.server.places.standing import ChannelAccess, ChannelRef
from hubbub.server.talk.messages import rules, store, views
from hubbub.server.talk.messages.actions import update
from hubbub.server.talk.messages.content import json_columns, mentions, rows
from hubbub.server.talk.messages.content.records import Author, MessageRow
from hubbub.server.talk.messages.drafts import resolution, validation
from hubbub.server.talk.messages.drafts.creation import check_draft
from hubbub.server.talk.messages.signals import DeferredMessageCompleted, MessageCrossposted


def edit(
    call: Call, channel_access: ChannelAccess, author: Author, row: MessageRow, body: wire.UpdateMessage
) -> wire.Message:
    """Edit the content of a message as its author."""
    draft = validation.validate_edit(call, channel_access, author, row, body)
    if draft.is_empty and row.snapshots is None:
        raise errors.EMPTY_MESSAGE()
    edited_row = row._replace(
        content=draft.content,
        flags=draft.flags,
        attachments=rows.encode_json(draft.files),
        embeds=rows.encode_json(draft.embeds),
        components=rows.encode_json(draft.components),
    )
    if body.content is not UNSET or body.components is not UNSET or body.allowed_mentions is not UNSET:
        requested_mentions = mentions.parse_mentions(
            draft.mention_texts(), body.allowed_mentions, _notified_reply_author(call, row, body)
        )
        notified_mentions = resolution.resolve_mentions(call, channel_access, requested_mentions)
        edited_row = edited_row._replace(
            mentions=rows.encode_json(list(notified_mentions.users)),
            mention_roles=rows.encode_json(list(notified_mentions.roles)),
            mention_everyone=int(notified_mentions.includes_everyone),
        )
    if edited_row == row:
        return views.message(call, row, guild_id=channel_access.channel.guild_id)
    if edited_row != row._replace(flags=edited_row.flags):
        rules.require_links_allowed(call, author, draft.readable_texts())
        link_rules.require_allowed(call, draft.linked_texts())
        if author.moderation_rule_bits:
            check_draft(call, channel_access, author, row.id, draft.readable_texts(), is_edited=True)
        rules.consume_edit_quotas(call, row)
        # spec/http.md#3.4: a change of flags alone does not set edited_timestamp.
        edited_row = edited_row._replace(edited_ms=call.now_ms)
    return update(call, channel_access.channel, edited_row)


def complete_deferred(
    call: Call, channel_access: ChannelAccess, author: Author, row: MessageRow, body: wire.CreateMessageContent
) -> wire.Message:
    """Complete a deferred interaction response with its content.

    Send the signal DeferredMessageCompleted unless the response is ephemeral."""
    draft = validation.validate_create(call, channel_access, author, body)
    if draft.is_empty:
        raise errors.EMPTY_MESSAGE()
    requested_mentions = mentions.parse_mentions(draft.mention_texts(), body.allowed_mentions)
    notified_mentions = resolution.resolve_mentions(call, channel_access, requested_mentions)
    extra = json_columns.extra(row)
    # spec/dated-changes.md#3: before 4 September 2024 a deferred response could not become a poll.
    extra.poll = draft.poll if changes.POLL_IN_DEFERRED_EDIT.is_active(call.now_ms) else None
    if row.is_ephemeral and extra.poll is not None:
        raise errors.POLL_INVALID_CHANNEL_TYPE()
    completed_row = row._replace(
        flags=row.flags & ~MessageFlags.LOADING | draft.flags,
        content=draft.content,
        attachments=rows.encode_json(draft.files),
        embeds=rows.encode_json(draft.embeds),
        components=rows.encode_json(draft.components),
        mentions=rows.encode_json(list(notified_mentions.users)),
        mention_roles=rows.encode_json(list(notified_mentions.roles)),
        mention_everyone=int(notified_mentions.includes_everyone),
        extra=rows.encode_extra(extra),
    )
    if not row.is_ephemeral:
        call.notify(DeferredMessageCompleted(channel=channel_access.channel, row=completed_row))
    return update(call, channel_access.channel, completed_row)


def _notified_reply_author(call: Call, row: MessageRow, body: wire.UpdateMessage) -> int | None:
    """Return the ID of the replied-to author if a reply may still notify them after an edit, otherwise None."""
    if row.type != MessageType.REPLY or row.reference is None:
        return None
    reference = codec.decode(row.reference, wire.MessageReference)
    replied_row = store.find(call.tx, reference.channel_id, reference.message_id or 0)
    if replied_row is None:
        return None
    if not body.allowed_mentions and replied_row.author_id not in json_columns.mentions(row):
        return None
    return replied_row.author_id


def suppress_embeds(call: Call, channel_access: ChannelAccess, row: MessageRow, flags: int) -> wire.Message:
    """Set or clear SUPPRESS_EMBEDS on another user's message, to its value in the requested `flags`."""
    new_flags = row.flags & ~MessageFlags.SUPPRESS_EMBEDS | flags & MessageFlags.SUPPRESS_EMBEDS
    if new_flags == row.flags:
        return views.message(call, row, guild_id=channel_access.channel.guild_id)
    return update(call, channel_access.channel, row._replace(flags=new_flags))


def crosspost(call: Call, channel_access: ChannelAccess, row: MessageRow) -> wire.Message:
    """Mark a message as crossposted and signal it, so that it is copied to the following channels."""
    row = row._replace(flags=row.flags | MessageFlags.CROSSPOSTED)
    view = update(call, channel_access.channel, row)
    call.notify(MessageCrossposted(channel=channel_access.channel, row=row))
    return view


def set_flags(
    call: Call, channel: ChannelRef, message_id: int, flags_to_set: int = 0, flags_to_clear: int = 0
) -> wire.Message:
    """Set the flags `flags_to_set` of a message and clear the flags `flags_to_clear`."""
    row = store.get(call.tx, channel.id, message_id)
    return update(call, channel, row._replace(flags=row.flags & ~flags_to_clear | flags_to_set))
