"""A message as a page shows it: its text in pieces, what the platform itself says in words, and files by our own addresses only."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import AttachmentFlags
from hubbub.protocol.resources.attachments import Attachment
from hubbub.protocol.resources.embeds import Embed, EmbedMedia
from hubbub.protocol.resources.messages import Message, MessageContent
from hubbub.protocol.resources.users import User

SPOKEN: Final = frozenset(
    {MessageType.DEFAULT, MessageType.REPLY, MessageType.CHAT_INPUT_COMMAND, MessageType.CONTEXT_MENU_COMMAND}
)
"""What people and applications say; every other type is the platform's."""

SNIPPET_MAX: Final = 120
_SPOILER: Final = "SPOILER_"

# Only http and https ever become links: no other scheme matches.
_MARKS: Final = re.compile(
    r"<@!?(?P<user>\d{1,19})>|<@&(?P<role>\d{1,19})>|<#(?P<channel>\d{1,19})>"
    r"|<a?(?P<emoji>:\w{1,64}:)\d{1,19}>|<(?P<command>/[^<>:]{1,100}):\d{1,19}>"
    r"|<t:(?P<time>-?\d{1,13})(?::[a-zA-Z])?>|(?P<link>https?://[^\s<>]+)",
    re.IGNORECASE,
)
_AFTER_LINKS: Final = ".,:;!?'\"*_|"


class Piece(NamedTuple):
    """A part of a text: plain, something that is named, a link, or a time."""

    text: str
    kind: str = "plain"
    href: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """What mentions are called."""

    users: Mapping[int, str] = field(default_factory=dict)
    roles: Mapping[int, str] = field(default_factory=dict)
    channels: Mapping[int, str] = field(default_factory=dict)
    place: str = "@me"
    """The guild that mentions of channels lead to."""


class File(NamedTuple):
    """A file of a message."""

    name: str
    path: str
    """On this server."""
    size: int
    is_picture: bool
    description: str


@dataclass(frozen=True, slots=True)
class Box:
    """An embed."""

    title: str
    href: str
    head: str
    text: list[Piece]
    rows: list[tuple[str, list[Piece]]]
    foot: str
    picture: str | None


@dataclass(frozen=True, slots=True)
class Quote:
    """The message that another answers."""

    name: str
    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Said:
    """A message."""

    id: int
    author: User
    name: str
    at: str
    is_edited: bool
    is_marked: bool
    words: str
    """What the platform says by it; empty where somebody speaks."""
    text: list[Piece]
    files: list[File]
    boxes: list[Box]
    notes: list[str]
    """What else it holds, in words."""
    reply: Quote | None
    is_answer: bool
    """It answers a message, be that there or gone."""
    thread: tuple[str, int] | None
    reactions: list[tuple[str, int]]


def name_of(user: User) -> str:
    """What somebody is called."""
    return user.global_name or user.username


def pieces(text: str, names: Names) -> list[Piece]:
    """A text with its mentions by name and its addresses as links."""
    found: list[Piece] = []
    at = 0
    for mark in _MARKS.finditer(text):
        piece = _piece(mark, names)
        if piece is None:
            continue
        if mark.start() > at:
            found.append(Piece(text[at : mark.start()]))
        found.append(piece)
        at = mark.start() + len(piece.href) if piece.kind == "link" else mark.end()
    if at < len(text):
        found.append(Piece(text[at:]))
    return found


def _piece(mark: re.Match[str], names: Names) -> Piece | None:
    kind, value = str(mark.lastgroup), str(mark[str(mark.lastgroup)])
    if kind == "user":
        return Piece(f"@{names.users.get(int(value), 'somebody')}", "mention")
    if kind == "role":
        return Piece(f"@{names.roles.get(int(value), 'a role')}", "mention")
    if kind == "channel":
        return Piece(f"#{names.channels.get(int(value), 'a channel')}", "place", f"/app/channels/{names.place}/{value}")
    if kind == "time":
        try:
            return Piece(datetime.fromtimestamp(int(value), UTC).isoformat(), "time")
        except (OverflowError, ValueError, OSError):
            return None
    if kind == "link":
        address = value.rstrip(_AFTER_LINKS)
        # A bracket belongs to the sentence unless it was opened within the address.
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(_AFTER_LINKS)
        return Piece(address, "link", address) if len(address) > len("https://") else None
    return Piece(value, "mention")


def _is_link(address: str) -> bool:
    mark = _MARKS.fullmatch(address)
    return mark is not None and mark.lastgroup == "link"


class Reader:
    """Turns messages into what a page shows."""

    def __init__(self, *, web_url: str, here: str, place: str, roles: Mapping[int, str], marked: int | None) -> None:
        self._web_url = web_url
        self._here = here
        self._place = place
        self._roles = roles
        self._marked = marked

    def read(self, message: Message) -> Said:
        """One message."""
        names = self._names(message)
        spoken = message.type in SPOKEN
        mine = list(_shown(message, names))
        reply = self._quote(message.referenced_message) if message.referenced_message else None
        thread = (message.thread.name, int(message.thread.id)) if message.thread else None
        if message.type == MessageType.THREAD_CREATED and message.message_reference:
            thread = (message.content, int(message.message_reference.channel_id))
        said = Said(
            id=int(message.id),
            author=message.author,
            name=name_of(message.author),
            at=message.timestamp,
            is_edited=message.edited_timestamp is not None,
            is_marked=int(message.id) == self._marked,
            words="" if spoken else words_of(message),
            text=pieces(message.content, names) if spoken else [],
            files=[file for each in message.attachments if (file := self._file(each)) is not None],
            boxes=[self._box(embed, names) for embed in message.embeds],
            notes=mine,
            reply=reply,
            is_answer=message.type == MessageType.REPLY,
            thread=thread,
            reactions=[(each.emoji.name or "an emoji that is gone", each.count) for each in message.reactions or ()],
        )
        if spoken and not (said.text or said.files or said.boxes or said.notes):
            said.notes.append("This message has parts that only a chat client shows.")
        return said

    def _names(self, message: MessageContent) -> Names:
        channels = message.mention_channels or [] if isinstance(message, Message) else []
        return Names(
            users={int(user.id): name_of(user) for user in message.mentions},
            roles=self._roles,
            channels={int(each.id): each.name for each in channels},
            place=self._place,
        )

    def _quote(self, message: Message) -> Quote:
        plain = "".join(each.text for each in pieces(message.content, self._names(message)))
        text = " ".join(plain.split()) or ("a file" if message.attachments else "a message")
        short = text if len(text) <= SNIPPET_MAX else f"{text[:SNIPPET_MAX].rstrip()}…"
        return Quote(name_of(message.author), short, f"{self._here}/{int(message.id)}#message-{int(message.id)}")

    def _own(self, url: str) -> str | None:
        """The path of an address of ours; None of any other, which the page's policy would not let in."""
        return url.removeprefix(self._web_url) if url.startswith(f"{self._web_url}/cdn/") else None

    def _file(self, attachment: Attachment) -> File | None:
        path = self._own(attachment.url)
        if path is None:
            return None
        picture = bool(attachment.width) and (attachment.content_type or "").startswith("image/")
        hidden = attachment.filename.startswith(_SPOILER) or (attachment.flags or 0) & AttachmentFlags.IS_SPOILER
        return File(
            attachment.title or attachment.filename,
            path,
            attachment.size,
            picture and not hidden,
            attachment.description or "",
        )

    def _box(self, embed: Embed, names: Names) -> Box:
        rows = [
            # What the platform itself embeds has fields named for programs.
            (each.name if embed.type == "rich" else each.name.replace("_", " "), pieces(each.value, names))
            for each in embed.fields or ()
        ]
        return Box(
            title=embed.title or "",
            href=embed.url if embed.url and _is_link(embed.url) else "",
            head=embed.author.name if embed.author else embed.provider.name if embed.provider else "",
            text=pieces(embed.description or "", names),
            rows=rows,
            foot=embed.footer.text if embed.footer else "",
            picture=self._picture(embed.image) or self._picture(embed.thumbnail),
        )

    def _picture(self, media: "EmbedMedia | Any") -> str | None:
        return self._own(media.proxy_url) if media and media.proxy_url else None


def _shown(message: Message, names: Names) -> Iterator[str]:
    """What a message holds besides text, files and embeds."""
    asked = message.interaction or None
    if asked is not None:
        yield f"{name_of(asked.user)} used {asked.name}."
    for snapshot in message.message_snapshots or ():
        told = "".join(each.text for each in pieces(snapshot.message.content, names))
        yield f"Forwarded: {told}" if told else "Forwarded a message without words."
    if message.poll:
        yield from _poll(message)
    for sticker in message.sticker_items or ():
        yield f"Sticker: {sticker.name}"
    if message.activity:
        yield f"An invitation to play {message.application.name if message.application else 'together'}."
    yield from _texts(message.components)


def _poll(message: Message) -> Iterator[str]:
    poll = message.poll
    if not poll:
        return
    yield f"Poll: {poll.question.text or ''}"
    counts = {each.id: each.count for each in poll.results.answer_counts}
    for answer in poll.answers:
        media = answer.poll_media
        label = media.text or (media.emoji.name if media.emoji else None) or "An answer"
        votes = counts.get(answer.answer_id, 0)
        yield f"{label}: {votes} {'vote' if votes == 1 else 'votes'}"


def _texts(components: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The words in components, however deep."""
    for each in components:
        content = each.get("content")
        if isinstance(content, str) and content:
            yield content
        inner = each.get("components")
        if isinstance(inner, list):
            yield from _texts([part for part in inner if isinstance(part, dict)])


# What the platform says

_Words = Callable[[str, str, str], str]
"""From the author's name, the name of whom it is about, and the content."""

_WORDS: Final[Mapping[int, _Words]] = {
    MessageType.RECIPIENT_ADD: lambda by, whom, _: f"{by} added {whom}." if whom and whom != by else f"{by} came in.",
    MessageType.RECIPIENT_REMOVE: lambda by, whom, _: f"{by} removed {whom}." if whom and whom != by else f"{by} left.",
    MessageType.CALL: lambda by, *_: f"{by} started a call.",
    MessageType.CHANNEL_NAME_CHANGE: lambda by, _, new: (
        f"{by} named this {new}." if new else f"{by} took the name away."
    ),
    MessageType.CHANNEL_ICON_CHANGE: lambda by, *_: f"{by} changed the picture.",
    MessageType.CHANNEL_PINNED_MESSAGE: lambda by, *_: f"{by} pinned a message.",
    MessageType.USER_JOIN: lambda by, *_: f"{by} joined. Welcome!",
    MessageType.GUILD_BOOST: lambda by, *_: f"{by} boosted the guild.",
    MessageType.GUILD_BOOST_TIER_1: lambda by, *_: f"{by} boosted the guild, which reached level 1.",
    MessageType.GUILD_BOOST_TIER_2: lambda by, *_: f"{by} boosted the guild, which reached level 2.",
    MessageType.GUILD_BOOST_TIER_3: lambda by, *_: f"{by} boosted the guild, which reached level 3.",
    MessageType.CHANNEL_FOLLOW_ADD: lambda by, _, name: f"{by} follows {name}: what is announced there appears here.",
    MessageType.GUILD_DISCOVERY_DISQUALIFIED: lambda *_: "The guild is not listed in discovery any more.",
    MessageType.GUILD_DISCOVERY_REQUALIFIED: lambda *_: "The guild is listed in discovery again.",
    MessageType.GUILD_DISCOVERY_GRACE_PERIOD_INITIAL_WARNING: lambda *_: "The guild may be taken out of discovery.",
    MessageType.GUILD_DISCOVERY_GRACE_PERIOD_FINAL_WARNING: lambda *_: "The guild will be taken out of discovery.",
    MessageType.THREAD_CREATED: lambda by, _, name: f"{by} started the thread {name}.",
    MessageType.THREAD_STARTER_MESSAGE: lambda by, *_: f"{by} started this thread from a message.",
    MessageType.GUILD_INVITE_REMINDER: lambda *_: "Invite people to begin with.",
    MessageType.AUTO_MODERATION_ACTION: lambda by, *_: f"Auto moderation acted on what {by} wrote.",
    MessageType.ROLE_SUBSCRIPTION_PURCHASE: lambda by, *_: f"{by} subscribed to a role.",
    MessageType.INTERACTION_PREMIUM_UPSELL: lambda *_: "That needs a purchase.",
    MessageType.STAGE_START: lambda by, _, topic: f"{by} opened the stage: {topic}.",
    MessageType.STAGE_END: lambda by, _, topic: f"{by} closed the stage: {topic}.",
    MessageType.STAGE_SPEAKER: lambda by, *_: f"{by} is a speaker now.",
    MessageType.STAGE_TOPIC: lambda by, _, topic: f"{by} changed the topic of the stage: {topic}.",
    MessageType.GUILD_APPLICATION_PREMIUM_SUBSCRIPTION: lambda by, *_: f"{by} bought a subscription for the guild.",
    MessageType.GUILD_INCIDENT_ALERT_MODE_ENABLED: lambda by, *_: f"{by} turned security actions on.",
    MessageType.GUILD_INCIDENT_ALERT_MODE_DISABLED: lambda by, *_: f"{by} turned security actions off.",
    MessageType.GUILD_INCIDENT_REPORT_RAID: lambda by, *_: f"{by} reported a raid.",
    MessageType.GUILD_INCIDENT_REPORT_FALSE_ALARM: lambda by, *_: f"{by} reported a false alarm.",
    MessageType.PURCHASE_NOTIFICATION: lambda by, *_: f"{by} bought something.",
    MessageType.POLL_RESULT: lambda by, *_: f"The poll of {by} is over.",
    MessageType.CHANNEL_LINKED_TO_LOBBY: lambda by, *_: f"{by} linked this channel to the lobby of a game.",
    MessageType.HD_STREAMING_UPGRADED: lambda by, *_: f"{by} upgraded streams to high definition.",
}


def words_of(message: Message) -> str:
    """What the platform says by a message of its own."""
    whom = name_of(message.mentions[0]) if message.mentions else ""
    say = _WORDS.get(message.type)
    by = name_of(message.author)
    return f"{by}: something that this page has no words for." if say is None else say(by, whom, message.content)
