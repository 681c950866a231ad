"""A message as it goes over the wire: for the one who asks, and for everybody as an event. Loading is by the batch.

What a bot without the message content intent may not read is taken out here (http.md 3.4) and nowhere else.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Final, TypeVar, cast

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import changes
from hubbub.protocol import wire as json
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
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Actor, Call
from hubbub.server.resources import members, users
from hubbub.server.resources.messages import columns, files
from hubbub.server.resources.messages.around import PLAIN, SHOWS_REFERENCED, Around
from hubbub.server.resources.messages.columns import attachments, components, embeds, extra, mentions, snapshots
from hubbub.server.resources.messages.records import (
    Extra,
    Identity,
    Interacted,
    MessageRow,
    StoredSnapshot,
)

__all__ = [
    "READS_CONTENT",
    "WEBHOOK_DISCRIMINATOR",
    "Around",
    "attachments",
    "components",
    "dispatched",
    "embeds",
    "extra",
    "mentions",
    "message",
    "messages",
    "show",
    "shown_owners",
    "snapshots",
]
"""What other slices use, some of which stands in files of its own."""

M = TypeVar("M", bound=wire.Message)

Part = MessageRow | StoredSnapshot

READS_CONTENT: Final = ApplicationFlags.GATEWAY_MESSAGE_CONTENT | ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED

WEBHOOK_DISCRIMINATOR: Final = "0000"

_PLAIN: Final = list(PLAIN)


class GameMessage(wire.DispatchedMessage, kw_only=True):
    """A direct message as games hear of it."""

    metadata: dict[str, str]


def messages(call: Call, rows: Sequence[MessageRow], *, guild_id: GuildId | None) -> list[wire.Message]:
    """Messages of one guild (or of one private channel) as the caller may read them, in the order given.

    Without a caller (a job) they are shown whole."""
    around = Around(call)
    actor = call.find_actor
    around.load(rows, 0 if actor is None else actor.user_id)
    return [as_read(around, row, show(wire.Message, around, row), guild_id) for row in rows]


def message(call: Call, row: MessageRow, *, guild_id: GuildId | None) -> wire.Message:
    """One message as the caller may read it."""
    return messages(call, (row,), guild_id=guild_id)[0]


def reads_all(actor: Actor | None, guild_id: int | None) -> bool:
    """Whether a caller may read whatever is said: people may, and bots with the intent, or in private. A job has no caller."""
    return actor is None or actor.kind != "bot" or guild_id is None or bool(actor.application_flags & READS_CONTENT)


def readable(actor: Actor, part: Part, guild_id: int | None) -> bool:
    """Whether a caller may read what was said: who reads all may, and bots what is their own or mentions them."""
    return reads_all(actor, guild_id) or concerns(part, actor.user_id, actor.application_id)


def concerns(part: Part, bot_id: int, application_id: int | None) -> bool:
    """Whether an app said something itself, or is mentioned by it."""
    if part.author_id == bot_id:
        return True
    if isinstance(part, StoredSnapshot):
        return bot_id in part.mentions
    if part.application_id is not None and part.application_id == application_id:
        return True
    return part.mentions is not None and bot_id in mentions(part)


def parts(around: Around, row: MessageRow) -> list[Part]:
    """What is read or kept from a reader each for itself (gateway.md 5.2): a message, what it carries, what it answers."""
    found: list[Part] = [row, *snapshots(row)]
    if row.type in SHOWS_REFERENCED and (reference := columns.reference(row)) is not None:
        answered = around.referenced.get((reference.channel_id, reference.message_id or 0))
        if answered is not None:
            found += (answered, *snapshots(answered))
    return found


def veiled(shown: M, read: Iterator[bool]) -> M:
    """A message without what a reader may not read, who may read these of its `parts`, in their order."""
    told = copy.copy(shown)
    if not next(read):
        strip(told)
    if shown.message_snapshots:
        told.message_snapshots = [each if next(read) else _bare(each) for each in shown.message_snapshots]
    if shown.referenced_message:
        told.referenced_message = veiled(shown.referenced_message, read)
    return told


def _bare(snapshot: wire.MessageSnapshot) -> wire.MessageSnapshot:
    told = copy.copy(snapshot.message)
    strip(told)
    return wire.MessageSnapshot(message=told)


def as_read(around: Around, row: MessageRow, shown: M, guild_id: int | None) -> M:
    """A message as the caller may read it."""
    actor = around.call.find_actor
    if actor is None or reads_all(actor, guild_id):
        return shown
    return veiled(shown, (readable(actor, part, guild_id) for part in parts(around, row)))


def strip(shown: wire.MessageContent) -> None:
    """Take out what only those who may read the content see (gateway.md 5.2)."""
    shown.content = ""
    shown.embeds = []
    shown.attachments = []
    shown.components = []
    if isinstance(shown, wire.Message):
        shown.poll = UNSET


def dispatched(
    around: Around,
    channel: ChannelRef,
    row: MessageRow,
    member: PartialMember | UnsetType = UNSET,
    known: dict[int, PartialMember] | None = None,
) -> wire.DispatchedMessage:
    """A message as the gateway tells everybody of it; `member` is the author's membership, `known` that of the mentioned."""
    return told_of(show(wire.DispatchedMessage, around, row), channel, row, member, known)


def as_dispatched(message: wire.Message) -> wire.DispatchedMessage:
    """A message that was shown already, to be told of too; it costs less than showing it again."""
    told = wire.DispatchedMessage(**{name: getattr(message, name) for name in message.__struct_fields__})
    if message.interaction:
        # What is told of it has the member besides.
        told.interaction = copy.copy(message.interaction)
    return told


def told_of(
    shown: wire.DispatchedMessage,
    channel: ChannelRef,
    row: MessageRow,
    member: PartialMember | UnsetType = UNSET,
    known: dict[int, PartialMember] | None = None,
) -> wire.DispatchedMessage:
    """The same of a message that is shown already, which it becomes part of."""
    shown.channel_type = channel.type
    # gateway.md 10: an ephemeral message names neither guild nor member.
    if channel.guild_id is not None and not row.ephemeral:
        shown.guild_id = channel.guild_id
        shown.member = member
        if shown.mentions and known:
            shown.mentions = [_mentioned(user, known) for user in shown.mentions]
        if shown.interaction and known and shown.interaction.user.id in known:
            shown.interaction.member = known[shown.interaction.user.id]
    return shown


def for_games(shown: wire.DispatchedMessage, metadata: dict[str, str]) -> GameMessage:
    """The same event for games, with what the sending game added."""
    return GameMessage(**{name: getattr(shown, name) for name in shown.__struct_fields__}, metadata=metadata)


# The same app answers again and again, and the same people ask it: what is told of them follows from their rows alone.


@lru_cache(maxsize=1024)
def encoded_user(row: users.UserRow) -> User:
    """A user, encoded: to be shown and not to be looked at."""
    return cast("User", msgspec.Raw(json.encode(users.user(row))))


@lru_cache(maxsize=1024)
def encoded_member(row: members.MemberRow, roles: tuple[RoleId, ...]) -> PartialMember:
    """A membership, encoded likewise."""
    return cast("PartialMember", msgspec.Raw(json.encode(members.partial_member(row, roles))))


def encoded_dispatch(encoded: bytes, channel: ChannelRef, member: PartialMember | UnsetType) -> bytes:
    """The same event as `dispatched` for a guild message that mentions nobody, made of the message's own JSON."""
    shown = b"" if member is UNSET else b',"member":' + json.encode(member)
    return b'%b,"guild_id":"%d"%b,"channel_type":%d}' % (encoded[:-1], channel.guild_id or 0, shown, channel.type)


def is_words_alone(shown: wire.DispatchedMessage) -> bool:
    """Whether nothing but its words is kept from who may not read a message's content."""
    return bool(shown.content) and not (
        shown.embeds
        or shown.attachments
        or shown.components
        or shown.poll
        or shown.referenced_message
        or shown.message_snapshots
    )


def redacted(shown: wire.DispatchedMessage) -> wire.DispatchedMessage | None:
    """The event for sessions without the message content intent; None where it is the same."""
    if not (
        shown.content
        or shown.embeds
        or shown.attachments
        or shown.components
        or shown.poll
        or shown.referenced_message
        or shown.message_snapshots
    ):
        return None
    return veiled(shown, repeat(False))


def partial_members(call: Call, guild_id: GuildId, user_ids: Sequence[int]) -> dict[int, PartialMember]:
    """The memberships of some users, without the users."""
    if not user_ids:
        return {}
    roles = members.find_roles(call.tx, guild_id, user_ids)
    rows = members.find_rows(call.tx, guild_id, user_ids)
    return {user_id: members.partial_member(row, roles.get(user_id, ())) for user_id, row in rows.items()}


def show(kind: type[M], around: Around, row: MessageRow, *, references: bool = True, kept: Extra | None = None) -> M:
    """A message with all it says; `references`: also the message it answers; `kept`: its extra, where that is at hand."""
    channel_id, message_id, author_id, type_, flags, content, tts, edited_ms, pinned_ms, mention_everyone, *rest = row
    author = around.users.get(author_id)
    shown = kind(
        type=type_,
        content=content,
        embeds=[],
        attachments=[],
        components=[],
        timestamp=json.timestamp((message_id >> 22) + EPOCH_MS),
        edited_timestamp=None if edited_ms is None else json.timestamp(edited_ms),
        flags=flags,
        mentions=[],
        mention_roles=[],
        id=MessageId(message_id),
        channel_id=ChannelId(channel_id),
        author=around.user(author_id) if author is None else author,
        tts=bool(tts),
        mention_everyone=bool(mention_everyone),
        pinned=pinned_ms is not None,
    )
    if not flags and rest == _PLAIN:
        return shown
    uploads = attachments(row)
    if uploads:
        shown.attachments = around.sign().attachments(row.channel_id, uploads, ephemeral=row.ephemeral)
    if row.embeds is not None and not row.flags & MessageFlags.SUPPRESS_EMBEDS:
        shown.embeds = files.in_embeds(around, row.channel_id, embeds(row), uploads, ephemeral=row.ephemeral)
    if row.components is not None:
        shown.components = files.in_components(
            around, row.channel_id, components(row), uploads, ephemeral=row.ephemeral
        )
    if row.mentions is not None:
        shown.mentions = [around.user(each) for each in mentions(row)]
    if row.mention_roles is not None:
        shown.mention_roles = columns.mention_roles(row)
    if row.reacted and row.id in around.reactions:
        shown.reactions = around.reactions[row.id]
    if row.webhook_id is not None:
        shown.webhook_id = WebhookId(row.webhook_id)
    if row.application_id is not None:
        shown.application_id = ApplicationId(row.application_id)
    if row.flags & MessageFlags.HAS_THREAD and row.id in around.threads:
        shown.thread = around.threads[row.id]
    reference = columns.reference(row)
    if reference is not None:
        shown.message_reference = reference
        if references and row.type in SHOWS_REFERENCED:
            inner = around.referenced.get((reference.channel_id, reference.message_id or 0))
            shown.referenced_message = None if inner is None else show(wire.Message, around, inner, references=False)
    if row.snapshots is not None:
        shown.message_snapshots = [_snapshot(around, each) for each in snapshots(row)]
    if row.extra is not None:
        kept = extra(row) if kept is None else kept
        if kept.author is not None:
            shown.author = _webhook_user(author_id, kept.author)
        if kept.position is not None:
            shown.position = kept.position
        if kept.sticker_items:
            shown.sticker_items = kept.sticker_items
        if kept.poll is not None:
            shown.poll = kept.poll
            shown.poll.results.answer_counts = around.polls.get(message_id, [])
        if kept.call is not None:
            shown.call = kept.call
        if kept.shared_client_theme is not None:
            shown.shared_client_theme = kept.shared_client_theme
        if kept.activity is not None and kept.application is not None:
            shown.activity, shown.application = kept.activity, kept.application
        if kept.interaction is not None:
            if changes.USER_INSTALLS.active(around.call.now):
                shown.interaction_metadata = _metadata(around, kept.interaction)
            if kept.interaction.name is not None:
                shown.interaction = wire.MessageInteraction(
                    id=kept.interaction.id,
                    type=kept.interaction.type,
                    name=kept.interaction.name,
                    user=around.user(kept.interaction.user_id),
                )
    return shown


def shown_owners(kept: dict[str, Snowflake], now: int) -> dict[str, Snowflake]:
    """Who let an application in, as it is shown at a moment: the 0 of a bot's conversation was a number at first."""
    if changes.EXTERNAL_APPS.active(now):
        return kept
    return {key: owner or cast("Snowflake", 0) for key, owner in kept.items()}


def _metadata(around: Around, kept: Interacted) -> wire.InteractionMetadata:
    shown = wire.InteractionMetadata(
        id=kept.id,
        type=kept.type,
        user=around.user(kept.user_id),
        authorizing_integration_owners=shown_owners(kept.owners, around.call.now),
    )
    if kept.original_id is not None:
        shown.original_response_message_id = kept.original_id
    if kept.target_user_id is not None:
        shown.target_user = around.user(kept.target_user_id)
    if kept.target_message_id is not None:
        shown.target_message_id = kept.target_message_id
    if kept.interacted_message_id is not None:
        shown.interacted_message_id = kept.interacted_message_id
    if kept.triggering is not None:
        shown.triggering_interaction_metadata = _metadata(around, kept.triggering)
    return shown


def _webhook_user(webhook_id: int, said: Identity) -> User:
    """The user-like author of what a webhook said (webhooks-and-interactions.md 6)."""
    return User(
        id=UserId(webhook_id),
        username=said.username,
        discriminator=WEBHOOK_DISCRIMINATOR,
        avatar=said.avatar,
        bot=True,
    )


def _snapshot(around: Around, kept: StoredSnapshot) -> wire.MessageSnapshot:
    suppressed = kept.flags & MessageFlags.SUPPRESS_EMBEDS
    return wire.MessageSnapshot(
        message=wire.MessageContent(
            type=kept.type,
            content=kept.content,
            embeds=[] if suppressed else files.in_embeds(around, kept.channel_id, kept.embeds, kept.attachments),
            attachments=around.sign().attachments(kept.channel_id, kept.attachments) if kept.attachments else [],
            components=files.in_components(around, kept.channel_id, kept.components, kept.attachments),
            timestamp=json.timestamp(kept.message_id.created_ms),
            edited_timestamp=None if kept.edited_ms is None else json.timestamp(kept.edited_ms),
            flags=kept.flags,
            mentions=[around.user(each) for each in kept.mentions],
            mention_roles=kept.mention_roles,
            sticker_items=kept.sticker_items or UNSET,
        )
    )


def _mentioned(user: User, known: dict[int, PartialMember]) -> wire.MentionedUser:
    shown = wire.MentionedUser(**{name: getattr(user, name) for name in user.__struct_fields__})
    if user.id in known:
        shown.member = known[user.id]
    return shown
