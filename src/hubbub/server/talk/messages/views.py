"""Build the wire models of messages, for responses and for events; related data is loaded in batches.

Only this module removes the content that bots without the message content intent may not read (spec/http.md#3.4)."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter, methodcaller
from typing import Any, Final, TypeVar, cast

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, codec
from hubbub.protocol.flags import ApplicationFlags, MessageFlags
from hubbub.protocol.ids import (
    EPOCH_MS,
    ApplicationId,
    ChannelId,
    GuildId,
    MessageId,
    RoleId,
    Snowflake,
    UserId,
    WebhookId,
)
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.members import PartialMember
from hubbub.protocol.resources.users import User
from hubbub.server.core.call import Actor, Call
from hubbub.server.identity import users
from hubbub.server.places import members
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk.messages.content import file_urls, json_columns
from hubbub.server.talk.messages.content.json_columns import attachments, components, embeds, extra, mentions, snapshots
from hubbub.server.talk.messages.content.records import (
    ExtraFields,
    MessageRow,
    StoredInteraction,
    StoredSnapshot,
    WebhookIdentity,
)
from hubbub.server.talk.messages.related_data import EMPTY_COLUMNS, REFERENCE_SHOWING_TYPES, RelatedData

__all__ = [
    "CONTENT_INTENT_FLAGS",
    "WEBHOOK_DISCRIMINATOR",
    "RelatedData",
    "attachments",
    "components",
    "dispatched",
    "embeds",
    "extra",
    "mentions",
    "message",
    "messages",
    "build_message",
    "owners_view",
    "snapshots",
]
"""The interface for other slices, including re-exported functions."""

MessageT = TypeVar("MessageT", bound=wire.Message)

MessagePart = MessageRow | StoredSnapshot
"""A message, or a forwarded message inside it, as the unit that is redacted."""

_copy: Final[Callable[[Any], Any]] = methodcaller("__copy__")
"""Return a shallow copy of a model. `copy.copy` calls five functions for it, and this runs for every message."""

CONTENT_INTENT_FLAGS: Final = (
    ApplicationFlags.GATEWAY_MESSAGE_CONTENT | ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED
)
"""Flags of applications that may use the privileged intent MESSAGE_CONTENT; one is enough."""

CONTENT_FIELDS: Final[dict[str, Callable[[], object]]] = {
    "content": str,
    "embeds": list,
    "attachments": list,
    "components": list,
}
"""Fields of a message or snapshot that require the message content intent (spec/gateway.md#5.2).

The values are functions that return the value of the field without content."""

MESSAGE_CONTENT_FIELDS: Final[dict[str, Callable[[], object]]] = CONTENT_FIELDS | {"poll": lambda: UNSET}
"""Fields of a message that require the message content intent, including those that a snapshot does not have."""

SHOWN_MESSAGE_FIELDS: Final = ("referenced_message", "message_snapshots")
"""Fields of a message that show other messages, whose content is removed as well."""

_read_content = attrgetter(*MESSAGE_CONTENT_FIELDS, *SHOWN_MESSAGE_FIELDS)

WEBHOOK_DISCRIMINATOR: Final = "0000"
"""Value of `User.discriminator` in the author of a webhook's message."""

_EMPTY_COLUMN_LIST: Final = list(EMPTY_COLUMNS)


class MessageWithMetadata(wire.DispatchedMessage, kw_only=True):
    """A message of a private channel with the metadata that OAuth2 sessions receive."""

    metadata: dict[str, str]


def messages(call: Call, rows: Sequence[MessageRow], *, guild_id: GuildId | None) -> list[wire.Message]:
    """Return messages of one guild or private channel as the caller may read them, in the order of `rows`.

    Nothing is redacted in a job, which has no caller."""
    related_data = RelatedData(call)
    actor = call.actor_or_none
    related_data.load(rows, 0 if actor is None else actor.user_id)
    return [
        redact_for_caller(related_data, row, build_message(wire.Message, related_data, row), guild_id) for row in rows
    ]


def message(call: Call, row: MessageRow, *, guild_id: GuildId | None) -> wire.Message:
    """Return one message as the caller may read it."""
    return messages(call, (row,), guild_id=guild_id)[0]


def can_read_all(actor: Actor | None, guild_id: int | None) -> bool:
    """Return whether a caller may read all content.

    All callers except bots may, as may jobs (`actor` is None), bots with the message content intent, and all bots in
    private channels."""
    return (
        actor is None or actor.kind != "bot" or guild_id is None or bool(actor.application_flags & CONTENT_INTENT_FLAGS)
    )


def can_read(actor: Actor, part: MessagePart, guild_id: int | None) -> bool:
    """Return whether a caller may read a message or snapshot.

    Bots may always read their own messages, and messages that mention them."""
    return can_read_all(actor, guild_id) or concerns_bot(part, actor.user_id, actor.application_id)


def concerns_bot(part: MessagePart, bot_id: int, application_id: int | None) -> bool:
    """Return whether a bot or its application wrote a message or snapshot, or is mentioned in it."""
    if part.author_id == bot_id:
        return True
    if isinstance(part, StoredSnapshot):
        return bot_id in part.mentions
    if part.application_id is not None and part.application_id == application_id:
        return True
    return part.mentions is not None and bot_id in mentions(part)


def list_parts(related_data: RelatedData, row: MessageRow) -> list[MessagePart]:
    """Return the parts of a message that are redacted separately (spec/gateway.md#5.2).

    The parts are the message, its forwards, its referenced message and the forwards of that message."""
    message_parts: list[MessagePart] = [row, *snapshots(row)]
    if row.type in REFERENCE_SHOWING_TYPES and (reference := json_columns.reference(row)) is not None:
        referenced_row = related_data.referenced_rows.get((reference.channel_id, reference.message_id or 0))
        if referenced_row is not None:
            message_parts += (referenced_row, *snapshots(referenced_row))
    return message_parts


def redact_parts(message: MessageT, readable_parts: Iterator[bool]) -> MessageT:
    """Return a copy of a message without its unreadable parts.

    `readable_parts` yields for each part, in the order of `list_parts()`, whether the reader may read it."""
    redacted_message: MessageT = _copy(message)
    if not next(readable_parts):
        strip_content(redacted_message)
    if message.message_snapshots:
        redacted_message.message_snapshots = [
            snapshot if next(readable_parts) else _redacted_snapshot(snapshot) for snapshot in message.message_snapshots
        ]
    if message.referenced_message:
        redacted_message.referenced_message = redact_parts(message.referenced_message, readable_parts)
    return redacted_message


def _redacted_snapshot(snapshot: wire.MessageSnapshot) -> wire.MessageSnapshot:
    content = _copy(snapshot.message)
    strip_content(content)
    return wire.MessageSnapshot(message=content)


def redact_for_caller(related_data: RelatedData, row: MessageRow, view: MessageT, guild_id: int | None) -> MessageT:
    """Return a message as the caller may read it."""
    actor = related_data.call.actor_or_none
    if actor is None or can_read_all(actor, guild_id):
        return view
    return redact_parts(view, (can_read(actor, part, guild_id) for part in list_parts(related_data, row)))


def strip_content(content: wire.MessageContent) -> None:
    """Remove the fields that require the message content intent (spec/gateway.md#5.2)."""
    fields = MESSAGE_CONTENT_FIELDS if isinstance(content, wire.Message) else CONTENT_FIELDS
    for name, build_empty_value in fields.items():
        setattr(content, name, build_empty_value())


def dispatched(
    related_data: RelatedData,
    channel: ChannelRef,
    row: MessageRow,
    member: PartialMember | UnsetType = UNSET,
    members_by_user: dict[int, PartialMember] | None = None,
) -> wire.DispatchedMessage:
    """Return the event payload of a message.

    `member` is the author's membership, `members_by_user` has the memberships of mentioned users."""
    return add_dispatch_fields(
        build_message(wire.DispatchedMessage, related_data, row), channel, row, member, members_by_user
    )


def to_dispatched(message: wire.Message) -> wire.DispatchedMessage:
    """Convert a message to an event payload, which is cheaper than building it from the row."""
    payload = wire.DispatchedMessage(**{name: getattr(message, name) for name in message.__struct_fields__})
    if message.interaction:
        # The event payload also includes the member.
        payload.interaction = _copy(message.interaction)
    return payload


def add_dispatch_fields(
    payload: wire.DispatchedMessage,
    channel: ChannelRef,
    row: MessageRow,
    member: PartialMember | UnsetType = UNSET,
    members_by_user: dict[int, PartialMember] | None = None,
) -> wire.DispatchedMessage:
    """Add the event-only fields to a payload in place, and return it."""
    payload.channel_type = channel.type
    # spec/gateway.md#10: the event of an ephemeral message has neither guild nor member.
    if channel.guild_id is not None and not row.is_ephemeral:
        payload.guild_id = channel.guild_id
        payload.member = member
        if payload.mentions and members_by_user:
            payload.mentions = [_mentioned_user(user, members_by_user) for user in payload.mentions]
        if payload.interaction and members_by_user and payload.interaction.user.id in members_by_user:
            payload.interaction.member = members_by_user[payload.interaction.user.id]
    return payload


def with_metadata(payload: wire.DispatchedMessage, metadata: dict[str, str]) -> MessageWithMetadata:
    """Return the payload with the metadata of the sending application."""
    return MessageWithMetadata(
        **{name: getattr(payload, name) for name in payload.__struct_fields__}, metadata=metadata
    )


# The same apps and users recur in responses and their payloads depend on the rows alone, so the encoded form is cached.


@lru_cache(maxsize=1024)
def encoded_user(row: users.UserRow) -> User:
    """Return a user in encoded form; its fields cannot be read."""
    return cast("User", msgspec.Raw(codec.encode(users.user_view(row))))


@lru_cache(maxsize=1024)
def encoded_member(row: members.MemberRow, role_ids: tuple[RoleId, ...]) -> PartialMember:
    """Return a partial member in encoded form; its fields cannot be read."""
    return cast("PartialMember", msgspec.Raw(codec.encode(members.views.partial_member(row, role_ids))))


def encoded_event_fields(channel: ChannelRef, member: PartialMember | UnsetType) -> bytes:
    """Return the JSON of the fields that `dispatched` adds to a guild message without mentions."""
    member_field = b"" if member is UNSET else b',"member":' + codec.encode(member)
    return b'"guild_id":"%d"%b,"channel_type":%d' % (channel.guild_id or 0, member_field, channel.type)


def append_fields(object_json: bytes, fields_json: bytes) -> bytes:
    """Append encoded fields to the JSON of an object that is not empty."""
    return b"%b,%b}" % (object_json[:-1], fields_json)


def has_content(message: wire.Message) -> bool:
    """Return whether a message has fields that require the message content intent, or shows other messages.

    The fields are in spec/gateway.md#5.2."""
    return any(_read_content(message))


def redact(message: MessageT) -> MessageT:
    """Return a copy of a message for sessions without the message content intent, without the content of any part."""
    return redact_parts(message, repeat(False))


def build_message(
    model: type[MessageT],
    related_data: RelatedData,
    row: MessageRow,
    *,
    includes_referenced: bool = True,
    decoded_extra: ExtraFields | None = None,
) -> MessageT:
    """Build the wire model `model` of a message, from its row and its loaded related data.

    `includes_referenced` adds the referenced message of a reply or thread starter message. `decoded_extra` is the
    decoded `row.extra`, if it is available."""
    (
        channel_id,
        message_id,
        author_id,
        message_type,
        flags,
        content,
        tts,
        edited_ms,
        pinned_ms,
        mention_everyone,
        *trailing_columns,
    ) = row
    author = related_data.users.get(author_id)
    view = model(
        type=message_type,
        content=content,
        embeds=[],
        attachments=[],
        components=[],
        # The time is `row.created_ms`, computed without creating a Snowflake.
        timestamp=codec.timestamp((message_id >> 22) + EPOCH_MS),
        edited_timestamp=None if edited_ms is None else codec.timestamp(edited_ms),
        flags=flags,
        mentions=[],
        mention_roles=[],
        id=MessageId(message_id),
        channel_id=ChannelId(channel_id),
        author=related_data.get_user(author_id) if author is None else author,
        tts=bool(tts),
        mention_everyone=bool(mention_everyone),
        pinned=pinned_ms is not None,
    )
    if not flags and trailing_columns == _EMPTY_COLUMN_LIST:
        return view
    files = attachments(row)
    if files:
        view.attachments = related_data.get_signer().build_views(row.channel_id, files, is_ephemeral=row.is_ephemeral)
    if row.embeds is not None and not row.flags & MessageFlags.SUPPRESS_EMBEDS:
        view.embeds = file_urls.resolve_in_embeds(
            related_data.get_signer, row.channel_id, embeds(row), files, is_ephemeral=row.is_ephemeral
        )
    if row.components is not None:
        view.components = file_urls.resolve_in_components(
            related_data.get_signer, row.channel_id, components(row), files, is_ephemeral=row.is_ephemeral
        )
    if row.mentions is not None:
        view.mentions = [related_data.get_user(user_id) for user_id in mentions(row)]
    if row.mention_roles is not None:
        view.mention_roles = json_columns.mention_roles(row)
    if row.reacted and row.id in related_data.reactions:
        view.reactions = related_data.reactions[row.id]
    if row.webhook_id is not None:
        view.webhook_id = WebhookId(row.webhook_id)
    if row.application_id is not None:
        view.application_id = ApplicationId(row.application_id)
    if row.flags & MessageFlags.HAS_THREAD and row.id in related_data.threads:
        view.thread = related_data.threads[row.id]
    reference = json_columns.reference(row)
    if reference is not None:
        view.message_reference = reference
        if includes_referenced and row.type in REFERENCE_SHOWING_TYPES:
            referenced_row = related_data.referenced_rows.get((reference.channel_id, reference.message_id or 0))
            view.referenced_message = (
                None
                if referenced_row is None
                else build_message(wire.Message, related_data, referenced_row, includes_referenced=False)
            )
    if row.snapshots is not None:
        view.message_snapshots = [_snapshot_view(related_data, snapshot) for snapshot in snapshots(row)]
    if row.extra is not None:
        decoded_extra = extra(row) if decoded_extra is None else decoded_extra
        if decoded_extra.author is not None:
            view.author = _webhook_user(author_id, decoded_extra.author)
        if decoded_extra.position is not None:
            view.position = decoded_extra.position
        if decoded_extra.sticker_items:
            view.sticker_items = decoded_extra.sticker_items
        if decoded_extra.poll is not None:
            view.poll = decoded_extra.poll
            view.poll.results.answer_counts = related_data.poll_counts.get(message_id, [])
        if decoded_extra.call is not None:
            view.call = decoded_extra.call
        if decoded_extra.shared_client_theme is not None:
            view.shared_client_theme = decoded_extra.shared_client_theme
        if decoded_extra.activity is not None and decoded_extra.application is not None:
            view.activity, view.application = decoded_extra.activity, decoded_extra.application
        if decoded_extra.interaction is not None:
            if changes.USER_INSTALLS.is_active(related_data.call.now_ms):
                view.interaction_metadata = _interaction_metadata(related_data, decoded_extra.interaction)
            if decoded_extra.interaction.name is not None:
                view.interaction = wire.MessageInteraction(
                    id=decoded_extra.interaction.id,
                    type=decoded_extra.interaction.type,
                    name=decoded_extra.interaction.name,
                    user=related_data.get_user(decoded_extra.interaction.user_id),
                )
    return view


def owners_view(owners: dict[str, Snowflake], now_ms: int) -> dict[str, Snowflake]:
    """Return installation owners by type as sent at `now_ms`.

    Before `changes.INTEGRATION_OWNER_STRINGS`, the 0 of a bot DM was a number (spec/dated-changes.md#3)."""
    if changes.INTEGRATION_OWNER_STRINGS.is_active(now_ms):
        return owners
    return {integration_type: owner_id or cast("Snowflake", 0) for integration_type, owner_id in owners.items()}


def _interaction_metadata(related_data: RelatedData, interaction: StoredInteraction) -> wire.InteractionMetadata:
    view = wire.InteractionMetadata(
        id=interaction.id,
        type=interaction.type,
        user=related_data.get_user(interaction.user_id),
        authorizing_integration_owners=owners_view(interaction.owners, related_data.call.now_ms),
    )
    if interaction.original_id is not None:
        view.original_response_message_id = interaction.original_id
    if interaction.target_user_id is not None:
        view.target_user = related_data.get_user(interaction.target_user_id)
    if interaction.target_message_id is not None:
        view.target_message_id = interaction.target_message_id
    if interaction.interacted_message_id is not None:
        view.interacted_message_id = interaction.interacted_message_id
    if interaction.triggering is not None:
        view.triggering_interaction_metadata = _interaction_metadata(related_data, interaction.triggering)
    return view


def _webhook_user(webhook_id: int, identity: WebhookIdentity) -> User:
    """Return the author of a webhook message (spec/webhooks-and-interactions.md#6)."""
    return User(
        id=UserId(webhook_id),
        username=identity.username,
        discriminator=WEBHOOK_DISCRIMINATOR,
        avatar=identity.avatar,
        bot=True,
    )


def _snapshot_view(related_data: RelatedData, snapshot: StoredSnapshot) -> wire.MessageSnapshot:
    is_suppressed = snapshot.flags & MessageFlags.SUPPRESS_EMBEDS
    return wire.MessageSnapshot(
        message=wire.MessageContent(
            type=snapshot.type,
            content=snapshot.content,
            embeds=[]
            if is_suppressed
            else file_urls.resolve_in_embeds(
                related_data.get_signer, snapshot.channel_id, snapshot.embeds, snapshot.attachments
            ),
            attachments=related_data.get_signer().build_views(snapshot.channel_id, snapshot.attachments)
            if snapshot.attachments
            else [],
            components=file_urls.resolve_in_components(
                related_data.get_signer, snapshot.channel_id, snapshot.components, snapshot.attachments
            ),
            timestamp=codec.timestamp(snapshot.message_id.created_ms),
            edited_timestamp=None if snapshot.edited_ms is None else codec.timestamp(snapshot.edited_ms),
            flags=snapshot.flags,
            mentions=[related_data.get_user(user_id) for user_id in snapshot.mentions],
            mention_roles=snapshot.mention_roles,
            sticker_items=snapshot.sticker_items or UNSET,
        )
    )


def _mentioned_user(user: User, members_by_user: dict[int, PartialMember]) -> wire.MentionedUser:
    view = wire.MentionedUser(**{name: getattr(user, name) for name in user.__struct_fields__})
    if user.id in members_by_user:
        view.member = members_by_user[user.id]
    return view
