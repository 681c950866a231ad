"""Store, update and delete messages, send the signals of the slice and publish its events.

Only this module of the slice publishes events; `creation.py` and `edits.py` build the rows."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import AuditLogAction, ChannelType
from hubbub.protocol.ids import ChannelId, MessageId, RoleId, Snowflake
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.embeds import EMBEDS_MAX, Embed
from hubbub.protocol.resources.members import PartialMember
from hubbub.server.core import cdn_urls
from hubbub.server.core.batches import batches
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import NO_FILTER, Audience, GameFilter, GuildAudience, UserAudience
from hubbub.server.identity import users
from hubbub.server.places import audit_log, channels, members
from hubbub.server.places.audit_log import audit
from hubbub.server.places.bans import UserBanned
from hubbub.server.places.standing import ChannelAccess, ChannelRef, GuildAccess, access
from hubbub.server.talk.messages import authors, files, ports, rules, store, views
from hubbub.server.talk.messages.content import json_columns, links, rows
from hubbub.server.talk.messages.content.records import Author, InteractionResponse, MessageRow
from hubbub.server.talk.messages.content.rows import NewMessage
from hubbub.server.talk.messages.files import FileRow, jobs
from hubbub.server.talk.messages.signals import (
    MessageChanged,
    MessageCreated,
    MessagePinned,
    MessagesDeleted,
)

DELETION_ENTRY_WINDOW_MS: Final = 5 * 60_000
"""Time in milliseconds in which deletions of an author's messages in a channel share an audit log entry (spec/http.md#3.4)."""
EPHEMERAL_LIFETIME_MS: Final = 15 * 60_000
"""Lifetime of an ephemeral message in milliseconds: as long as its app can edit it (decisions/0030)."""
BULK_EVENT_IDS_MAX: Final = 100
"""Maximum number of IDs in one MESSAGE_DELETE_BULK event."""


# Creation


class CreatedMessage(NamedTuple):
    """A new message as its author receives it."""

    view: wire.Message
    view_json: bytes | None
    """The JSON of `view` if the event was built from the same JSON, otherwise None."""


def create(call: Call, channel_or_access: ChannelAccess | ChannelRef, new_message: NewMessage) -> CreatedMessage:
    """Store a new message, send the signal MessageCreated, publish the message and return it.

    Ephemeral messages send no signal. All messages except imported ones are created here. With a `ChannelAccess`, the
    roles of its user are not read again."""
    if isinstance(channel_or_access, ChannelRef):
        channel, standing = channel_or_access, None
    else:
        channel, standing = channel_or_access.channel, channel_or_access.guild
    row, author, mentions = new_message.row, new_message.author, new_message.mentions
    related_data = views.RelatedData(call)
    if row.is_ephemeral:
        store.insert_ephemeral(call.tx, row, call.now_ms, call.now_ms + EPHEMERAL_LIFETIME_MS)
        related_data.add_users(author.user)
        related_data.load((row,))
        _emit(
            call,
            wire.MESSAGE_CREATE,
            channel,
            row,
            related_data,
            views.dispatched(related_data, channel, row),
            frozenset(),
        )
        return CreatedMessage(views.build_message(wire.Message, related_data, row), None)
    is_new_member = channel.is_thread and ports.require_thread_capacity(call, channel, row)
    store.insert(call.tx, row)
    if row.attachments is not None:
        files.record(call, channel, row)
    is_encoded_once = can_encode_once(channel, row)
    invoker = _find_invoker(call, channel, new_message)
    for user in (author.user,) if invoker is None else (author.user, invoker.user):
        related_data.users[user.id] = views.encoded_user(user) if is_encoded_once else users.user_view(user)
    if new_message.replied_row is not None:
        related_data.referenced_rows[new_message.replied_row.channel_id, new_message.replied_row.id] = (
            new_message.replied_row
        )
    if not is_encoded_once or _refers_to_other_users(new_message.response):
        related_data.load((row,))
    call.notify(
        MessageCreated(
            channel=channel,
            row=row,
            mentions=mentions.users,
            mention_roles=mentions.roles,
            is_new_member=is_new_member,
            lobby_message_row=new_message.lobby_message_row,
        )
    )
    view = views.build_message(wire.Message, related_data, row, decoded_extra=new_message.extra)
    if new_message.nonce is not None:
        view.nonce = new_message.nonce
    unredacted_for = rules.find_reader_ids(call, row, mentions.users)
    role_ids_by_user = _find_role_ids(call, channel, standing, new_message, invoker)
    if is_encoded_once:
        return _publish_encoded(call, channel, view, author, invoker, role_ids_by_user, unredacted_for)
    member: PartialMember | UnsetType = UNSET
    members_by_user: dict[int, PartialMember] = {}
    if channel.guild_id is not None:
        members_by_user = members.views.find_partial_views(call.tx, channel.guild_id, mentions.users)
        if author.member is not None:
            member = members.views.partial_member(author.member, role_ids_by_user[author.user.id])
        if invoker is not None and invoker.member is not None:
            members_by_user[invoker.user.id] = members.views.partial_member(
                invoker.member, role_ids_by_user[invoker.user.id]
            )
    payload = views.add_dispatch_fields(views.to_dispatched(view), channel, row, member, members_by_user)
    _emit(call, wire.MESSAGE_CREATE, channel, row, related_data, payload, unredacted_for)
    if view.referenced_message or view.message_snapshots:
        # Replying to or forwarding a message does not grant reading it.
        view = views.redact_for_caller(related_data, row, view, channel.guild_id)
    return CreatedMessage(view, None)


def can_encode_once(channel: ChannelRef, row: MessageRow) -> bool:
    """Return whether the event of a new message is the JSON of the response plus the fields of its guild and author.

    Events of messages with mentions or references differ from the response, and events of private channels can differ
    between sessions."""
    return channel.guild_id is not None and row.mentions is None and row.reference is None and row.snapshots is None


def _refers_to_other_users(response: InteractionResponse | None) -> bool:
    """Return whether an interaction response shows users other than its author and the invoking user."""
    return response is not None and (
        response.interaction.name is None
        or response.interaction.target_user_id is not None
        or response.interaction.triggering is not None
    )


def _find_invoker(call: Call, channel: ChannelRef, new_message: NewMessage) -> Author | None:
    """Return the user whose command a new message responds to, or None."""
    if new_message.response is None or new_message.response.interaction.name is None:
        return None
    return new_message.response.invoker or authors.find_author(
        call.tx, channel.guild_id, new_message.response.interaction.user_id
    )


def _find_role_ids(
    call: Call, channel: ChannelRef, standing: GuildAccess | None, new_message: NewMessage, invoker: Author | None
) -> dict[int, tuple[RoleId, ...]]:
    """Return the role IDs of the author and the invoking user by user ID; users who are not members are absent."""
    if channel.guild_id is None:
        return {}
    role_ids_by_user: dict[int, tuple[RoleId, ...]] = {}
    unloaded_ids = []
    for author in (new_message.author,) if invoker is None else (new_message.author, invoker):
        user_id = author.user.id
        if author.member is None:
            continue
        if standing is not None and standing.user_id == user_id:
            role_ids_by_user[user_id] = tuple(standing.role_ids)
        elif (
            author is invoker and new_message.response is not None and new_message.response.invoker_role_ids is not None
        ):
            role_ids_by_user[user_id] = new_message.response.invoker_role_ids
        else:
            role_ids_by_user[user_id] = ()
            unloaded_ids.append(user_id)
    if unloaded_ids:
        role_ids_by_user |= members.find_role_ids(call.tx, channel.guild_id, unloaded_ids)
    return role_ids_by_user


def _publish_encoded(
    call: Call,
    channel: ChannelRef,
    view: wire.Message,
    author: Author,
    invoker: Author | None,
    role_ids_by_user: dict[int, tuple[RoleId, ...]],
    unredacted_for: frozenset[int],
) -> CreatedMessage:
    """Publish a new message from the JSON of its view, and return it."""
    member: PartialMember | UnsetType = UNSET
    if author.member is not None:
        member = views.encoded_member(author.member, role_ids_by_user[author.user.id])
    if view.interaction and invoker is not None and invoker.member is not None:
        view.interaction.member = views.encoded_member(invoker.member, role_ids_by_user[invoker.user.id])
    view_json = codec.encode(view)
    event_fields_json = views.encoded_event_fields(channel, member)
    redacted_json = codec.encode(views.redact(view)) if views.has_content(view) else None
    call.tx.emit(
        wire.MESSAGE_CREATE,
        views.append_fields(view_json, event_fields_json),
        audience(call, channel),
        redacted=None if redacted_json is None else msgspec.Raw(views.append_fields(redacted_json, event_fields_json)),
        unredacted_for=unredacted_for,
    )
    if view.interaction and view.interaction.member is not UNSET:
        # Only the event includes the member.
        view.interaction.member = UNSET
        return CreatedMessage(view, None)
    return CreatedMessage(view, view_json)


# Updates


def set_pinned(call: Call, row: MessageRow, pinned_ms: int | None) -> wire.Message:
    """Pin a message at `pinned_ms` (Unix milliseconds), or unpin it with None.

    Send the signal MessagePinned and publish the message."""
    store.set_pinned(call.tx, row.channel_id, row.id, pinned_ms)
    channel = _channel_of(call, row)
    row = row._replace(pinned_ms=pinned_ms)
    call.notify(MessagePinned(channel=channel, row=row))
    return _publish_update(call, channel, row)


def update(call: Call, channel: ChannelRef, row: MessageRow) -> wire.Message:
    """Store an updated message, replace its files, send the signal MessageChanged, publish the message and return it.

    Files of ephemeral messages are not replaced, and they send no signal."""
    store.update(call.tx, row)
    if not row.is_ephemeral:
        jobs.replace_files(call, channel, row)
        call.notify(MessageChanged(channel=channel, row=row))
    return _publish_update(call, channel, row)


def extend_ephemeral(call: Call, row: MessageRow) -> None:
    """Restart the lifetime of an ephemeral message."""
    store.extend_ephemeral(call.tx, row, call.now_ms + EPHEMERAL_LIFETIME_MS)


def set_link_previews(call: Call, channel: ChannelRef, row: MessageRow, previews: Sequence[Embed]) -> None:
    """Replace the previews of a message's links and publish the message, unless they are the same.

    The edit time of the message does not change (decisions/0142)."""
    own_embeds, _ = links.split_previews(json_columns.embeds(row))
    changed_row = row._replace(embeds=rows.encode_json([*own_embeds, *previews][:EMBEDS_MAX]))
    if changed_row == row:
        return
    # The URLs of images are signed, and views only read the key.
    cdn_urls.find_or_create_signing_key(call.tx)
    store.update(call.tx, changed_row)
    call.notify(MessageChanged(channel=channel, row=changed_row, are_previews_current=True))
    _publish_update(call, channel, changed_row)


def remove_file(call: Call, file: FileRow) -> None:
    """Remove a file from its message, publish the message, and delete the content of the file without a delay."""
    row, channel = store.find(call.tx, file.channel_id, file.message_id), access.find_channel(call.tx, file.channel_id)
    if row is not None and channel is not None:
        remaining_attachments = [attachment for attachment in json_columns.attachments(row) if attachment.id != file.id]
        row = row._replace(attachments=rows.encode_json(remaining_attachments) if remaining_attachments else None)
        store.update(call.tx, row)
        call.notify(MessageChanged(channel=channel, row=row))
        _publish_update(call, channel, row)
    jobs.delete_files_now(call, [file.id])


def _publish_update(call: Call, channel: ChannelRef, row: MessageRow) -> wire.Message:
    related_data = views.RelatedData(call)
    related_data.load((row,))
    mentioned_ids = json_columns.mentions(row)
    members_by_user: dict[int, PartialMember] = {}
    if channel.guild_id is not None and not row.is_ephemeral:
        invoker_id = json_columns.invoker_id(row)
        user_ids = [row.author_id, *mentioned_ids, *(() if invoker_id is None else (invoker_id,))]
        members_by_user = members.views.find_partial_views(call.tx, channel.guild_id, user_ids)
    payload = views.dispatched(related_data, channel, row, members_by_user.get(row.author_id, UNSET), members_by_user)
    # spec/gateway.md#6: an update is never read aloud.
    payload.tts = False
    _emit(
        call,
        wire.MESSAGE_UPDATE,
        channel,
        row,
        related_data,
        payload,
        rules.find_reader_ids(call, row, mentioned_ids),
    )
    return views.message(call, row, guild_id=channel.guild_id)


def _channel_of(call: Call, row: MessageRow) -> ChannelRef:
    cached_access: ChannelAccess | None = call.standing_cache.get(("channel", row.channel_id))
    channel = access.find_channel(call.tx, row.channel_id) if cached_access is None else cached_access.channel
    if channel is None:
        raise errors.UNKNOWN_CHANNEL()
    return channel


# Deletion


def delete(call: Call, channel_access: ChannelAccess, row: MessageRow) -> None:
    """Delete a message. If a user deletes another author's message in a guild, record it in the audit log.

    Deletions by bots are not recorded (spec/http.md#3.4)."""
    channel = channel_access.channel
    if row.is_ephemeral:
        store.delete_ephemeral(call.tx, row)
        payload = wire.MessageDeleted(id=MessageId(row.id), channel_id=ChannelId(channel.id))
        call.tx.emit(wire.MESSAGE_DELETE, payload, UserAudience.of(*json_columns.extra(row).seen_by))
        return
    _delete_rows(call, channel, (row,))
    actor = call.actor_or_none
    if channel.guild_id is not None and actor is not None and row.author_id != actor.user_id and not actor.is_bot:
        _log_deletion(call, channel.guild_id, channel, row.author_id)
    _publish_deletion(call, channel, row)


def delete_for_operator(call: Call, row: MessageRow) -> None:
    """Delete a message for an operator, whose name must not appear in the audit log of the guild."""
    channel = _channel_of(call, row)
    _delete_rows(call, channel, (row,))
    _publish_deletion(call, channel, row)


def _publish_deletion(call: Call, channel: ChannelRef, row: MessageRow) -> None:
    payload = wire.MessageDeleted(
        id=MessageId(row.id),
        channel_id=ChannelId(channel.id),
        guild_id=UNSET if channel.guild_id is None else channel.guild_id,
    )
    call.tx.emit(wire.MESSAGE_DELETE, payload, audience(call, channel))


def _log_deletion(call: Call, guild_id: int, channel: ChannelRef, author_id: int) -> None:
    since_id = Snowflake.at(call.now_ms - DELETION_ENTRY_WINDOW_MS)
    deletion_entry = audit_log.find_deletion_entry(
        call.tx, guild_id, call.user_id, author_id, channel.id, since_id, call.reason
    )
    if deletion_entry is not None:
        entry_id, count = deletion_entry
        audit_log.set_deletion_count(call.tx, guild_id, entry_id, channel.id, count + 1)
        return
    audit.record(
        call,
        guild_id,
        AuditLogAction.MESSAGE_DELETE,
        target_id=author_id,
        options={"channel_id": int(channel.id), "count": 1},
    )


def bulk_delete(call: Call, channel_access: ChannelAccess, message_ids: Iterable[int]) -> None:
    """Delete many messages of a channel and record it in the audit log; unknown and undeletable messages are skipped."""
    channel = channel_access.channel
    rows_by_id = store.find_many(call.tx, channel.id, message_ids)
    rows = [
        rows_by_id[message_id]
        for message_id in sorted(rows_by_id)
        if rows_by_id[message_id].type not in wire.UNDELETABLE_TYPES
    ]
    if not rows:
        return
    _delete_batch(call, channel, rows)
    audit.record(
        call,
        channel_access.guild_id,
        AuditLogAction.MESSAGE_BULK_DELETE,
        target_id=channel.id,
        options={"count": len(rows)},
    )


def delete_by_author_since(call: Call, guild_id: int, user_id: int, since_ms: int) -> None:
    """Delete the messages that a user sent in a guild since `since_ms` (Unix milliseconds)."""
    since_id = Snowflake.at(since_ms)
    while rows := store.list_by_author_in_guild(call.tx, guild_id, user_id, since_id, store.BATCH_SIZE):
        rows_by_channel: dict[int, list[MessageRow]] = {}
        for row in rows:
            rows_by_channel.setdefault(row.channel_id, []).append(row)
        for channel_rows in rows_by_channel.values():
            _delete_batch(call, _channel_of(call, channel_rows[0]), channel_rows)
        if len(rows) < store.BATCH_SIZE:
            return


def delete_batch_by_author(call: Call, user_id: int) -> bool:
    """Delete a batch of a user's messages in all channels. Return whether the user may have more messages."""
    rows = store.list_by_author(call.tx, user_id, 0, store.BATCH_SIZE)
    rows_by_channel: dict[int, list[MessageRow]] = {}
    for row in rows:
        rows_by_channel.setdefault(row.channel_id, []).append(row)
    for channel_id, channel_rows in rows_by_channel.items():
        channel = access.find_channel(call.tx, channel_id)
        if channel is None:
            # The channel was deleted, and a job is deleting its messages.
            store.delete(call.tx, channel_id, channel_rows)
            jobs.schedule_file_deletion(call, channel_rows)
        else:
            _delete_batch(call, channel, channel_rows)
    return len(rows) == store.BATCH_SIZE


def on_user_banned(call: Call, signal: UserBanned) -> None:
    """Delete the messages that a banned user sent in the guild in the `delete_message_seconds` before the ban."""
    if signal.delete_message_seconds > 0:
        since_ms = call.now_ms - signal.delete_message_seconds * 1000
        delete_by_author_since(call, signal.guild_id, signal.user_id, since_ms)


def _delete_batch(call: Call, channel: ChannelRef, rows: Sequence[MessageRow]) -> None:
    _delete_rows(call, channel, tuple(rows))
    event_audience = audience(call, channel)
    for batch in batches(rows, BULK_EVENT_IDS_MAX):
        payload = wire.MessagesDeleted(
            ids=[MessageId(row.id) for row in batch],
            channel_id=ChannelId(channel.id),
            guild_id=UNSET if channel.guild_id is None else channel.guild_id,
        )
        call.tx.emit(wire.MESSAGE_DELETE_BULK, payload, event_audience)


def _delete_rows(call: Call, channel: ChannelRef, rows: tuple[MessageRow, ...]) -> None:
    store.delete(call.tx, channel.id, rows)
    jobs.schedule_file_deletion(call, rows)
    call.notify(MessagesDeleted(channel=channel, rows=rows))


# Publishing


def audience(call: Call, channel: ChannelRef) -> Audience:
    """Return the audience of events about a channel's messages."""
    if channel.guild_id is None:
        user_ids = [user_id for user_id, _ in store.list_recipients(call.tx, channel.id)]
        # Users can restrict which OAuth2 sessions receive their direct messages.
        families_by_user = rules.find_in_game_families(call, user_ids) if channel.type == ChannelType.DM else {}
        game_filter = GameFilter(families_by_user=families_by_user) if families_by_user else NO_FILTER
        return UserAudience.of(*user_ids, game_filter=game_filter)
    if channel.is_private_thread:
        return GuildAudience(
            channel.guild_id,
            channel.overwrites_channel_id,
            members=frozenset(channels.thread_members.list_user_ids(call.tx, channel.id)),
        )
    return GuildAudience(channel.guild_id, channel.overwrites_channel_id)


def _emit(
    call: Call,
    event: Event[Any],
    channel: ChannelRef,
    row: MessageRow,
    related_data: views.RelatedData,
    payload: wire.DispatchedMessage,
    unredacted_for: frozenset[int],
) -> None:
    """Publish a message, with a redacted version for sessions without the message content intent.

    Messages in private channels and ephemeral messages are not redacted."""
    if row.is_ephemeral:
        call.tx.emit(event, payload, UserAudience.of(*json_columns.extra(row).seen_by))
        return
    redacted_payload = views.redact(payload) if channel.guild_id is not None and views.has_content(payload) else None
    partial_views: rules.PartialViews = ()
    if redacted_payload is not None and (payload.referenced_message or payload.message_snapshots):
        unredacted_for, partial_views = rules.split_readers(call, row, related_data, payload, unredacted_for)
    metadata_views = None
    if channel.guild_id is None and row.extra is not None and (metadata := json_columns.extra(row).metadata):
        # Key 0 is the payload for the OAuth2 sessions of all applications.
        metadata_views = {0: views.with_metadata(payload, metadata)}
    event_audience = audience(call, channel)
    if isinstance(event_audience, UserAudience) and payload.activity:
        # Activity invites are always delivered to the application's OAuth2 sessions.
        event_audience = UserAudience(event_audience.users)
    call.tx.emit(
        event,
        payload,
        event_audience,
        redacted=redacted_payload,
        unredacted_for=unredacted_for,
        partial_payloads=partial_views,
        oauth2_payloads=metadata_views,
    )
