"""A message as it goes over the wire: for the one who asks, and for everybody as an event. Loading is by the batch.

What a bot without the message content intent may not read is taken out here (http.md 3.4) and nowhere else.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeVar, cast

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import changes
from hubbub.protocol import wire as json
from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import ApplicationFlags, MessageFlags
from hubbub.protocol.ids import (
    EPOCH_MS,
    ApplicationId,
    ChannelId,
    EmojiId,
    GuildId,
    MessageId,
    RoleId,
    Snowflake,
    UserId,
    WebhookId,
)
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.channels import Thread
from hubbub.protocol.resources.embeds import Embed, EmbedMedia
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.protocol.resources.members import PartialMember
from hubbub.protocol.resources.polls import PollAnswerCount
from hubbub.protocol.resources.reactions import Reaction, ReactionCountDetails
from hubbub.protocol.resources.users import User
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Actor, Call
from hubbub.server.resources import channels, members, users
from hubbub.server.resources.attachments import Signer, StoredAttachment
from hubbub.server.resources.messages import store
from hubbub.server.resources.messages.records import (
    Extra,
    Identity,
    Interacted,
    MessageRow,
    ReactionRow,
    StoredSnapshot,
)

M = TypeVar("M", bound=wire.Message)

Part = MessageRow | StoredSnapshot

READS_CONTENT: Final = ApplicationFlags.GATEWAY_MESSAGE_CONTENT | ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED

WEBHOOK_DISCRIMINATOR: Final = "0000"

# Types whose reference is looked up and shown: a reply, and the first message of a thread started from another.
_SHOWS_REFERENCED: Final = frozenset({MessageType.REPLY, MessageType.THREAD_STARTER_MESSAGE})

# What a row ends with when the message is words and nothing else.
_PLAIN: Final = list(MessageRow(0, 0, 0, 0, 0, "")[10:])
_PLAIN_ROW: Final = tuple(_PLAIN)

_users: Final = json.decoder(list[UserId])
_roles: Final = json.decoder(list[RoleId])
_attachments: Final = json.decoder(list[StoredAttachment])
_embeds: Final = json.decoder(list[Embed])
_components: Final = msgspec.json.Decoder(list[dict[str, Any]])
_reference: Final = json.decoder(wire.MessageReference)
_snapshots: Final = json.decoder(list[StoredSnapshot])
_extra: Final = json.decoder(Extra)


class GameMessage(wire.DispatchedMessage, kw_only=True):
    """A direct message as games hear of it."""

    metadata: dict[str, str]


class Around:
    """All that some messages need to be shown and that is not in their rows, loaded in a fixed number of queries."""

    __slots__ = ("call", "polls", "reactions", "referenced", "signer", "threads", "users")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.users: dict[int, User] = {}
        self.reactions: dict[int, list[Reaction]] = {}
        self.polls: dict[int, list[PollAnswerCount]] = {}
        self.referenced: dict[tuple[int, int], MessageRow] = {}
        self.threads: dict[int, Thread] = {}
        self.signer: Signer | None = None

    def load(self, rows: Sequence[MessageRow], viewer_id: int = 0) -> None:
        """Load for these messages; `viewer_id` says whose reactions and votes are `me`."""
        people: set[int] = set()
        wanted: dict[int, list[int]] = {}
        reacted: list[int] = []
        polled: list[int] = []
        threads: list[int] = []
        for row in rows:
            if row.author_id != row.webhook_id or row.webhook_id == row.application_id:
                # What an app answers bears its bot's id thrice.
                people.add(row.author_id)
            if row[10:] == _PLAIN_ROW and not row.flags:
                continue
            if row.mentions is not None:
                people.update(mentions(row))
            if row.reacted:
                reacted.append(row.id)
            if row.polled:
                polled.append(row.id)
            people.update(_interacted_people(_interacted(row)))
            if row.flags & MessageFlags.HAS_THREAD:
                threads.append(row.id)
            if row.reference is not None and row.type in _SHOWS_REFERENCED:
                reference = _reference.decode(row.reference)
                if reference.message_id is not UNSET:
                    wanted.setdefault(reference.channel_id, []).append(reference.message_id)
            if row.snapshots is not None:
                for snapshot in _snapshots.decode(row.snapshots):
                    people.update(snapshot.mentions)
        tx = self.call.tx
        for channel_id, ids in wanted.items():
            missing = [each for each in ids if (channel_id, each) not in self.referenced]
            for found in store.find_many(tx, channel_id, missing).values() if missing else ():
                self.referenced[channel_id, found.id] = found
        for found in self.referenced.values():
            people.add(found.author_id)
            people.update(_interacted_people(_interacted(found)))
            if found.mentions is not None:
                people.update(mentions(found))
            if found.polled:
                polled.append(found.id)
        self.load_users(people)
        if reacted:
            for message_id, counted in store.reactions(tx, reacted, viewer_id).items():
                self.reactions[message_id] = [_reaction(each) for each in counted]
        if polled:
            self.polls.update(store.poll_counts(tx, polled, viewer_id))
        if threads:
            for thread_id, thread in channels.find_many(tx, threads).items():
                self.threads[thread_id] = channels.thread(thread)

    def know(self, *rows: users.UserRow) -> None:
        """Take users that were loaded already."""
        for row in rows:
            self.users[row.id] = users.user(row)

    def load_users(self, user_ids: Iterable[int]) -> None:
        """Load users that are not known yet."""
        missing = [each for each in user_ids if each not in self.users]
        if missing:
            for user_id, row in users.find_many(self.call.tx, missing).items():
                self.users[user_id] = users.user(row)

    def user(self, user_id: int) -> User:
        """A user, or the stand-in for one who is gone."""
        found = self.users.get(user_id)
        return User(id=UserId(user_id), username="Deleted User") if found is None else found

    def sign(self) -> Signer:
        """What makes addresses of files."""
        if self.signer is None:
            self.signer = Signer(self.call)
        return self.signer


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


def mentions(row: MessageRow) -> list[UserId]:
    """The users a message notifies."""
    found: list[UserId] = [] if row.mentions is None else _users.decode(row.mentions)
    return found


def attachments(row: MessageRow) -> list[StoredAttachment]:
    """The files of a message, those inside embeds included."""
    found: list[StoredAttachment] = [] if row.attachments is None else _attachments.decode(row.attachments)
    return found


def embeds(row: MessageRow) -> list[Embed]:
    """The embeds of a message, shown or not."""
    found: list[Embed] = [] if row.embeds is None else _embeds.decode(row.embeds)
    return found


def components(row: MessageRow) -> list[dict[str, Any]]:
    """The components of a message, as sent."""
    return [] if row.components is None else _components.decode(row.components)


def snapshots(row: MessageRow) -> list[StoredSnapshot]:
    """What a forward carries."""
    found: list[StoredSnapshot] = [] if row.snapshots is None else _snapshots.decode(row.snapshots)
    return found


def forwarded_bytes(kept: str) -> int:
    """How many bytes of attachments a stored forward carries."""
    found: list[StoredSnapshot] = _snapshots.decode(kept)
    return sum(file.size for snapshot in found for file in snapshot.attachments)


def extra(row: MessageRow) -> Extra:
    """What few messages have."""
    found: Extra = Extra() if row.extra is None else _extra.decode(row.extra)
    return found


def asking(row: MessageRow) -> int | None:
    """Who ran the command that a message answers, where it names them in the older form too."""
    found = _interacted(row)
    return None if found is None or found.name is None else found.user_id


def reads_all(actor: Actor | None, guild_id: int | None) -> bool:
    """Whether a caller may read whatever is said: people may, and bots with the intent, or in private. A job has no caller."""
    return actor is None or actor.kind != "bot" or guild_id is None or bool(actor.application_flags & READS_CONTENT)


def _interacted(row: MessageRow) -> Interacted | None:
    """The interaction that a message answers, to be read and not changed."""
    return None if row.extra is None or '"interaction":' not in row.extra else _interacted_in(row.extra)


@lru_cache(maxsize=256)
def _interacted_in(text: str) -> Interacted | None:
    # A new answer is asked for this several times on its way, and read by many after.
    found: Extra = _extra.decode(text)
    return found.interaction


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
    if row.reference is not None and row.type in _SHOWS_REFERENCED:
        reference = _reference.decode(row.reference)
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
    if row.attachments is not None:
        files = attachments(row)
        shown.attachments = around.sign().attachments(row.channel_id, files, ephemeral=row.ephemeral)
    else:
        files = []
    if row.embeds is not None and not row.flags & MessageFlags.SUPPRESS_EMBEDS:
        shown.embeds = _with_files(around, row.channel_id, embeds(row), files, ephemeral=row.ephemeral)
    if row.components is not None:
        shown.components = _resolved(around, row.channel_id, components(row), files, ephemeral=row.ephemeral)
    if row.mentions is not None:
        shown.mentions = [around.user(each) for each in mentions(row)]
    if row.mention_roles is not None:
        shown.mention_roles = _roles.decode(row.mention_roles)
    if row.reacted and row.id in around.reactions:
        shown.reactions = around.reactions[row.id]
    if row.webhook_id is not None:
        shown.webhook_id = WebhookId(row.webhook_id)
    if row.application_id is not None:
        shown.application_id = ApplicationId(row.application_id)
    if row.flags & MessageFlags.HAS_THREAD and row.id in around.threads:
        shown.thread = around.threads[row.id]
    if row.reference is not None:
        reference = shown.message_reference = _reference.decode(row.reference)
        if references and row.type in _SHOWS_REFERENCED:
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


def _interacted_people(found: Interacted | None) -> Iterable[int]:
    while found is not None:
        yield found.user_id
        if found.target_user_id is not None:
            yield found.target_user_id
        found = found.triggering


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
            embeds=[] if suppressed else _with_files(around, kept.channel_id, kept.embeds, kept.attachments),
            attachments=around.sign().attachments(kept.channel_id, kept.attachments) if kept.attachments else [],
            components=_resolved(around, kept.channel_id, kept.components, kept.attachments),
            timestamp=json.timestamp(kept.message_id.created_ms),
            edited_timestamp=None if kept.edited_ms is None else json.timestamp(kept.edited_ms),
            flags=kept.flags,
            mentions=[around.user(each) for each in kept.mentions],
            mention_roles=kept.mention_roles,
            sticker_items=kept.sticker_items or UNSET,
        )
    )


class _Addresses(NamedTuple):
    """Where the files of a message are, by the names that it says them with."""

    signer: Signer
    channel_id: int
    ephemeral: bool
    by_name: dict[str, StoredAttachment]

    def of(self, file: StoredAttachment) -> tuple[str, str]:
        """The address of a file, and the one behind our proxy."""
        url = self.signer.url(self.channel_id, file, ephemeral=self.ephemeral)
        return url, self.signer.proxied(url)


def _with_files(
    around: Around, channel_id: int, found: list[Embed], files: list[StoredAttachment], *, ephemeral: bool = False
) -> list[Embed]:
    """Put the addresses of uploaded files where embeds name them."""
    by_name = {f"attachment://{each.filename}": each for each in files if each.embedded}
    if not by_name:
        return found
    addresses = _Addresses(around.sign(), channel_id, ephemeral, by_name)
    for embed in found:
        for media in (embed.image, embed.thumbnail):
            if media and media.url and (file := by_name.get(media.url)):
                _fill(media, file, addresses)
        for line in (embed.author, embed.footer):
            if line and line.icon_url and (file := by_name.get(line.icon_url)):
                line.icon_url, line.proxy_icon_url = addresses.of(file)
    return found


def _fill(media: EmbedMedia, file: StoredAttachment, addresses: _Addresses) -> None:
    media.url, media.proxy_url = addresses.of(file)
    if file.width is not None and file.height is not None:
        media.width, media.height = file.width, file.height
    if file.content_type is not None:
        media.content_type = file.content_type


def _resolved(
    around: Around,
    channel_id: int,
    found: list[dict[str, Any]],
    files: list[StoredAttachment],
    *,
    ephemeral: bool = False,
) -> list[dict[str, Any]]:
    """Put the addresses of uploaded files where components name them."""
    if found and files:
        by_name = {f"attachment://{each.filename}": each for each in files}
        addresses = _Addresses(around.sign(), channel_id, ephemeral, by_name)
        for component in found:
            _resolve(component, addresses)
    return found


def _resolve(node: Any, addresses: _Addresses) -> None:
    by_name = addresses.by_name
    if isinstance(node, list):
        for each in node:
            _resolve(each, addresses)
    elif isinstance(node, dict):
        url = node.get("url")
        if isinstance(url, str) and (file := by_name.get(url)):
            node["url"], node["proxy_url"] = addresses.of(file)
            node["id"] = node["attachment_id"] = str(int(file.id))
            if file.content_type is not None:
                node["content_type"] = file.content_type
            if file.width is not None and file.height is not None:
                node["width"], node["height"] = file.width, file.height
        elif isinstance(inner := node.get("file"), dict) and (file := by_name.get(str(inner.get("url")))):
            node["name"], node["size"] = file.filename, file.size
        for each in list(node.values()):
            if isinstance(each, dict | list):
                _resolve(each, addresses)


def _reaction(row: ReactionRow) -> Reaction:
    return Reaction(
        emoji=PartialEmoji(
            id=None if row.emoji_id is None else EmojiId(row.emoji_id),
            name=row.emoji_name,
            animated=True if row.animated else UNSET,
        ),
        count=row.normal + row.burst,
        count_details=ReactionCountDetails(normal=row.normal, burst=row.burst),
        me=bool(row.mine),
        me_burst=bool(row.mine_burst),
        burst_colors=[],
    )


def _mentioned(user: User, known: dict[int, PartialMember]) -> wire.MentionedUser:
    shown = wire.MentionedUser(**{name: getattr(user, name) for name in user.__struct_fields__})
    if user.id in known:
        shown.member = known[user.id]
    return shown
