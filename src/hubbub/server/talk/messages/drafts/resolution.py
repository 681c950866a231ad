"""Resolve the mentions and the reference of a new message against stored users, roles and messages."""

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import USER_MESSAGE_TYPES, MessageReferenceType, MessageType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.server.core.call import Call
from hubbub.server.places.standing import ChannelAccess, access
from hubbub.server.talk.messages import rules, store
from hubbub.server.talk.messages.content import json_columns, references
from hubbub.server.talk.messages.content.mentions import Mentions
from hubbub.server.talk.messages.content.records import MessageRow
from hubbub.server.talk.messages.content.references import ResolvedReference


def resolve_mentions(call: Call, channel_access: ChannelAccess, requested_mentions: Mentions) -> Mentions:
    """Return the mentions that notify: of existing users, and of roles that the author may mention."""
    can_mention_all = channel_access.can(Permissions.MENTION_EVERYONE)
    user_ids = store.filter_existing_users(call.tx, requested_mentions.users) if requested_mentions.users else ()
    role_ids: set[int] = set()
    if requested_mentions.roles and channel_access.guild is not None:
        guild_id = channel_access.guild.guild_id
        role_ids = store.filter_mentionable_roles(call.tx, guild_id, requested_mentions.roles, can_mention_all)
        # The @everyone role is mentioned by name, never by ID.
        role_ids.discard(guild_id)
    return Mentions(
        tuple(user_id for user_id in requested_mentions.users if user_id in user_ids),
        tuple(role_id for role_id in requested_mentions.roles if role_id in role_ids),
        requested_mentions.includes_everyone and can_mention_all,
    )


def resolve_reference(
    call: Call, channel_access: ChannelAccess, body: wire.MessageReferenceRequest
) -> ResolvedReference | None:
    """Resolve the reference of a reply or forward; raise if it is invalid.

    Return None if the replied-to message is unknown and `fail_if_not_exists` is false."""
    if body.type == MessageReferenceType.FORWARD and changes.MESSAGE_FORWARDING.is_active(call.now_ms):
        return _resolve_forward(call, channel_access, body)
    rules.require_repliable(channel_access, body)
    row = store.find(call.tx, channel_access.channel.id, body.message_id)
    if row is None:
        if body.fail_if_not_exists is False:
            return None
        raise errors.invalid("message_reference", *errors.reply_unknown_message())
    if row.type not in USER_MESSAGE_TYPES:
        raise errors.invalid("message_reference", *errors.reply_system_message())
    return ResolvedReference(
        MessageType.REPLY, references.build_reference(channel_access.channel, row.id), replied_row=row
    )


def _resolve_forward(
    call: Call, channel_access: ChannelAccess, body: wire.MessageReferenceRequest
) -> ResolvedReference:
    """Return a reference to a message that the caller may forward, with a snapshot; mark its files as shared."""
    source_access = access.require_channel(
        call, body.channel_id or channel_access.channel.id, Permissions.READ_MESSAGE_HISTORY
    )
    rules.require_message_channel(source_access)
    source_channel = source_access.channel
    row = store.get(call.tx, source_channel.id, body.message_id)
    rules.require_forwardable(call, source_channel, row)
    rules.require_forward_quota(call)
    mark_files_shared(call, row)
    snapshots = json_columns.snapshots(row)
    # Forwarding a forward copies its snapshot; snapshots are never nested.
    snapshot = snapshots[0] if snapshots else references.build_snapshot(row)
    return ResolvedReference(
        MessageType.DEFAULT,
        references.build_reference(source_channel, row.id, MessageReferenceType.FORWARD),
        snapshot=snapshot,
    )


def mark_files_shared(call: Call, row: MessageRow) -> None:
    """Mark the files of a message as shared, so that the files remain when the message is deleted."""
    extra = json_columns.extra(row)
    if row.attachments is not None and not extra.has_shared_files:
        extra.has_shared_files = True
        store.set_extra(call.tx, row, extra)
