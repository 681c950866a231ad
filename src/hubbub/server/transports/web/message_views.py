"""View models of messages for the pages: text split into spans, system message texts and links to local files."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from hubbub.protocol.enums import USER_MESSAGE_TYPES, MessageType
from hubbub.protocol.flags import AttachmentFlags
from hubbub.protocol.resources.attachments import Attachment
from hubbub.protocol.resources.embeds import Embed, EmbedMedia
from hubbub.protocol.resources.messages import Message, MessageContent
from hubbub.protocol.resources.users import User
from hubbub.server.core.translation import gettext, ngettext

SNIPPET_MAX: Final = 120
"""Maximum length in characters of the text shown of a message that is replied to."""
_SPOILER_PREFIX: Final = "SPOILER_"

# Only http and https ever become links: no other scheme matches.
_MARKUP_PATTERN: Final = re.compile(
    r"<@!?(?P<user>\d{1,19})>|<@&(?P<role>\d{1,19})>|<#(?P<channel>\d{1,19})>"
    r"|<a?(?P<emoji>:\w{1,64}:)\d{1,19}>|<(?P<command>/[^<>:]{1,100}):\d{1,19}>"
    r"|<t:(?P<time>-?\d{1,13})(?::[a-zA-Z])?>|(?P<link>https?://[^\s<>]+)",
    re.IGNORECASE,
)
_TRAILING_PUNCTUATION: Final = ".,:;!?'\"*_|"


class MessageSpan(NamedTuple):
    """A part of a text that the page shows in one form."""

    text: str
    kind: str = "plain"
    """`plain`, `mention`, `channel`, `link` or `time`."""
    href: str = ""
    """URL of a link or channel; empty for other kinds."""


@dataclass(frozen=True, slots=True)
class MentionNames:
    """Names of the users, roles and channels that a text can mention, by ID."""

    users: Mapping[int, str] = field(default_factory=dict)
    roles: Mapping[int, str] = field(default_factory=dict)
    channels: Mapping[int, str] = field(default_factory=dict)
    guild_segment: str = "@me"
    """ID of the guild that channel mentions link to, or "@me"."""


class FileView(NamedTuple):
    """The view model of an attachment."""

    name: str
    path: str
    """Path on this server."""
    size: int
    """Size in bytes."""
    is_image: bool
    """Whether the page shows the file as an image; False for spoilers."""
    description: str


@dataclass(frozen=True, slots=True)
class EmbedView:
    """The view model of an embed."""

    title: str
    href: str
    """URL of the title; empty if it is not a link."""
    header: str
    """Name of the author or provider."""
    text: list[MessageSpan]
    fields: list[tuple[str, list[MessageSpan]]]
    footer: str
    image: str | None
    """Path of the image on this server, or None."""


@dataclass(frozen=True, slots=True)
class ReferencedMessageView:
    """The view model of a message that another message replies to."""

    name: str
    text: str
    href: str


@dataclass(frozen=True, slots=True)
class MessageView:
    """The view model of a message."""

    id: int
    author: User
    name: str
    timestamp: str
    is_edited: bool
    is_highlighted: bool
    system_text: str
    """Text of a system message; empty for user messages."""
    text: list[MessageSpan]
    files: list[FileView]
    embeds: list[EmbedView]
    notes: list[str]
    """Descriptions of the contents besides text, files and embeds, such as polls and stickers."""
    referenced_message: ReferencedMessageView | None
    is_reply: bool
    """Whether the message is a reply, even if the referenced message was deleted."""
    thread: tuple[str, int] | None
    """Name and ID of the thread that started from the message, or None."""
    reactions: list[tuple[str, int]]
    """Emoji and number of each reaction."""


def display_name(user: User) -> str:
    """Return the display name of a user, or the username."""
    return user.global_name or user.username


def split_text(text: str, names: MentionNames) -> list[MessageSpan]:
    """Split a text into spans, with mentions by name and URLs as links."""
    spans: list[MessageSpan] = []
    position = 0
    for match in _MARKUP_PATTERN.finditer(text):
        span = _markup_span(match, names)
        if span is None:
            continue
        if match.start() > position:
            spans.append(MessageSpan(text[position : match.start()]))
        spans.append(span)
        position = match.start() + len(span.href) if span.kind == "link" else match.end()
    if position < len(text):
        spans.append(MessageSpan(text[position:]))
    return spans


def _markup_span(match: re.Match[str], names: MentionNames) -> MessageSpan | None:
    """Return the span of a match of `_MARKUP_PATTERN`; None if it stays plain text."""
    kind, group_text = str(match.lastgroup), str(match[str(match.lastgroup)])
    if kind == "user":
        name = names.users.get(int(group_text)) or gettext("unknown user")
        return MessageSpan(f"@{name}", "mention")
    if kind == "role":
        name = names.roles.get(int(group_text)) or gettext("unknown role")
        return MessageSpan(f"@{name}", "mention")
    if kind == "channel":
        name = names.channels.get(int(group_text)) or gettext("unknown channel")
        return MessageSpan(f"#{name}", "channel", f"/app/channels/{names.guild_segment}/{group_text}")
    if kind == "time":
        try:
            return MessageSpan(datetime.fromtimestamp(int(group_text), UTC).isoformat(), "time")
        except (OverflowError, ValueError, OSError):
            return None
    if kind == "link":
        url = group_text.rstrip(_TRAILING_PUNCTUATION)
        # A closing parenthesis belongs to the sentence unless the URL contains the opening one.
        while url.endswith(")") and url.count(")") > url.count("("):
            url = url[:-1].rstrip(_TRAILING_PUNCTUATION)
        return MessageSpan(url, "link", url) if len(url) > len("https://") else None
    return MessageSpan(group_text, "mention")


def _is_link(url: str) -> bool:
    match = _MARKUP_PATTERN.fullmatch(url)
    return match is not None and match.lastgroup == "link"


class MessageRenderer:
    """Builds the view models of the messages of one conversation.

    `conversation_path` is the path of the conversation, `guild_segment` is the ID of its guild or "@me", `roles` maps role IDs to
    names, and `highlighted_id` is the ID of the message to highlight, or None.
    """

    def __init__(
        self,
        *,
        web_url: str,
        conversation_path: str,
        guild_segment: str,
        roles: Mapping[int, str],
        highlighted_id: int | None,
    ) -> None:
        self._web_url = web_url
        self._conversation_path = conversation_path
        self._guild_segment = guild_segment
        self._roles = roles
        self._highlighted_id = highlighted_id

    def build(self, message: Message) -> MessageView:
        """Build the view model of a message."""
        names = self._mention_names(message)
        is_from_user = message.type in USER_MESSAGE_TYPES
        referenced_message = (
            self._referenced_message_view(message.referenced_message) if message.referenced_message else None
        )
        thread = (message.thread.name, int(message.thread.id)) if message.thread else None
        if message.type == MessageType.THREAD_CREATED and message.message_reference:
            thread = (message.content, int(message.message_reference.channel_id))
        view = MessageView(
            id=int(message.id),
            author=message.author,
            name=display_name(message.author),
            timestamp=message.timestamp,
            is_edited=message.edited_timestamp is not None,
            is_highlighted=int(message.id) == self._highlighted_id,
            system_text="" if is_from_user else system_message_text(message),
            text=split_text(message.content, names) if is_from_user else [],
            files=[file for attachment in message.attachments if (file := self._file_view(attachment)) is not None],
            embeds=[
                self._embed_view(embed, names)
                for embed in message.embeds
                if embed.type == "rich" or not _is_in_spoiler(message.content, embed.url or "")
            ],
            notes=list(_other_contents(message, names)),
            referenced_message=referenced_message,
            is_reply=message.type == MessageType.REPLY,
            thread=thread,
            reactions=[
                (reaction.emoji.name or gettext("deleted emoji"), reaction.count)
                for reaction in message.reactions or ()
            ],
        )
        if is_from_user and not (view.text or view.files or view.embeds or view.notes):
            view.notes.append(gettext("This page cannot display this message. Open it in a chat client."))
        return view

    def _mention_names(self, message: MessageContent) -> MentionNames:
        channels = message.mention_channels or [] if isinstance(message, Message) else []
        return MentionNames(
            users={int(user.id): display_name(user) for user in message.mentions},
            roles=self._roles,
            channels={int(channel.id): channel.name for channel in channels},
            guild_segment=self._guild_segment,
        )

    def _referenced_message_view(self, message: Message) -> ReferencedMessageView:
        """Build the view model of a message that another message replies to."""
        plain_text = "".join(span.text for span in split_text(message.content, self._mention_names(message)))
        text = " ".join(plain_text.split()) or (gettext("a file") if message.attachments else gettext("a message"))
        snippet = text if len(text) <= SNIPPET_MAX else f"{text[:SNIPPET_MAX].rstrip()}…"
        return ReferencedMessageView(
            display_name(message.author),
            snippet,
            f"{self._conversation_path}/{int(message.id)}#message-{int(message.id)}",
        )

    def _local_path(self, url: str) -> str | None:
        """Return the path of a URL of this server's CDN; None for any other, which the page's policy would block."""
        return url.removeprefix(self._web_url) if url.startswith(f"{self._web_url}/cdn/") else None

    def _file_view(self, attachment: Attachment) -> FileView | None:
        """Build the view model of an attachment; None if the file is not on this server."""
        path = self._local_path(attachment.url)
        if path is None:
            return None
        is_image = bool(attachment.width) and (attachment.content_type or "").startswith("image/")
        is_spoiler = (
            attachment.filename.startswith(_SPOILER_PREFIX) or (attachment.flags or 0) & AttachmentFlags.IS_SPOILER
        )
        return FileView(
            attachment.title or attachment.filename,
            path,
            attachment.size,
            is_image and not is_spoiler,
            attachment.description or "",
        )

    def _embed_view(self, embed: Embed, names: MentionNames) -> EmbedView:
        fields = [
            # Embeds that the platform creates have machine-readable field names.
            (
                embed_field.name if embed.type == "rich" else embed_field.name.replace("_", " "),
                split_text(embed_field.value, names),
            )
            for embed_field in embed.fields or ()
        ]
        return EmbedView(
            title=embed.title or "",
            href=embed.url if embed.url and _is_link(embed.url) else "",
            header=embed.author.name if embed.author else embed.provider.name if embed.provider else "",
            text=split_text(embed.description or "", names),
            fields=fields,
            footer=embed.footer.text if embed.footer else "",
            image=self._image_path(embed.image) or self._image_path(embed.thumbnail),
        )

    def _image_path(self, media: "EmbedMedia | Any") -> str | None:
        return self._local_path(media.proxy_url) if media and media.proxy_url else None


def _is_in_spoiler(content: str, url: str) -> bool:
    """Return whether a link is between two spoiler marks; the page then does not show its preview."""
    parts = content.split("||")
    return any(url in part for part in parts[1:-1:2]) if url else False


def _other_contents(message: Message, names: MentionNames) -> Iterator[str]:
    """Describe the contents of a message besides text, files and embeds."""
    interaction = message.interaction or None
    if interaction is not None:
        yield gettext("{name} used {command}.", name=display_name(interaction.user), command=interaction.name)
    for snapshot in message.message_snapshots or ():
        text = "".join(span.text for span in split_text(snapshot.message.content, names))
        yield gettext("Forwarded: {text}", text=text) if text else gettext("Forwarded a message without text.")
    if message.poll:
        yield from _poll_lines(message)
    for sticker in message.sticker_items or ():
        yield gettext("Sticker: {name}", name=sticker.name)
    if message.activity:
        if message.application:
            yield gettext("Invitation to play {game}.", game=message.application.name)
        else:
            yield gettext("Invitation to play together.")
    yield from _component_texts(message.components)


def _poll_lines(message: Message) -> Iterator[str]:
    poll = message.poll
    if not poll:
        return
    yield gettext("Poll: {question}", question=poll.question.text or "")
    counts = {answer_count.id: answer_count.count for answer_count in poll.results.answer_counts}
    for answer in poll.answers:
        media = answer.poll_media
        label = media.text or (media.emoji.name if media.emoji else None) or gettext("Answer")
        vote_count = counts.get(answer.answer_id, 0)
        yield ngettext("{answer}: {count} vote", "{answer}: {count} votes", vote_count, answer=label)


def _component_texts(components: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the text of components at any depth."""
    for component in components:
        content = component.get("content")
        if isinstance(content, str) and content:
            yield content
        children = component.get("components")
        if isinstance(children, list):
            yield from _component_texts([child for child in children if isinstance(child, dict)])


# System messages

_SystemText = Callable[[str, str, str], str]
"""Function that returns a text from the author's name, the name of the first mentioned user and the content."""

_SYSTEM_TEXTS: Final[Mapping[int, _SystemText]] = {
    MessageType.RECIPIENT_ADD: lambda by, target, _: (
        gettext("{name} added {names}.", name=by, names=target)
        if target and target != by
        else gettext("{name} joined the group.", name=by)
    ),
    MessageType.RECIPIENT_REMOVE: lambda by, target, _: (
        gettext("{name} removed {names}.", name=by, names=target)
        if target and target != by
        else gettext("{name} left the group.", name=by)
    ),
    MessageType.CALL: lambda by, *_: gettext("{name} started a call.", name=by),
    MessageType.CHANNEL_NAME_CHANGE: lambda by, _, new: (
        gettext("{name} changed the name to {title}.", name=by, title=new)
        if new
        else gettext("{name} removed the name.", name=by)
    ),
    MessageType.CHANNEL_ICON_CHANGE: lambda by, *_: gettext("{name} changed the icon.", name=by),
    MessageType.CHANNEL_PINNED_MESSAGE: lambda by, *_: gettext("{name} pinned a message.", name=by),
    MessageType.USER_JOIN: lambda by, *_: gettext("{name} joined the guild.", name=by),
    MessageType.GUILD_BOOST: lambda by, *_: gettext("{name} boosted the guild.", name=by),
    MessageType.GUILD_BOOST_TIER_1: lambda by, *_: gettext("{name} boosted the guild. It reached level 1.", name=by),
    MessageType.GUILD_BOOST_TIER_2: lambda by, *_: gettext("{name} boosted the guild. It reached level 2.", name=by),
    MessageType.GUILD_BOOST_TIER_3: lambda by, *_: gettext("{name} boosted the guild. It reached level 3.", name=by),
    MessageType.CHANNEL_FOLLOW_ADD: lambda by, _, name: gettext(
        "{name} followed {channel}. Its announcements appear here.", name=by, channel=name
    ),
    MessageType.GUILD_DISCOVERY_DISQUALIFIED: lambda *_: gettext("The guild was removed from discovery."),
    MessageType.GUILD_DISCOVERY_REQUALIFIED: lambda *_: gettext("The guild is listed in discovery again."),
    MessageType.GUILD_DISCOVERY_GRACE_PERIOD_INITIAL_WARNING: lambda *_: gettext(
        "The guild may be removed from discovery."
    ),
    MessageType.GUILD_DISCOVERY_GRACE_PERIOD_FINAL_WARNING: lambda *_: gettext(
        "The guild will be removed from discovery."
    ),
    MessageType.THREAD_CREATED: lambda by, _, name: gettext("{name} started a thread: {thread}", name=by, thread=name),
    MessageType.THREAD_STARTER_MESSAGE: lambda by, *_: gettext("{name} started this thread from a message.", name=by),
    MessageType.GUILD_INVITE_REMINDER: lambda *_: gettext("Invite people to get started."),
    MessageType.AUTO_MODERATION_ACTION: lambda by, *_: gettext(
        "Auto moderation acted on a message from {name}.", name=by
    ),
    MessageType.ROLE_SUBSCRIPTION_PURCHASE: lambda by, *_: gettext("{name} subscribed to a role.", name=by),
    MessageType.INTERACTION_PREMIUM_UPSELL: lambda *_: gettext("This feature requires a purchase."),
    MessageType.STAGE_START: lambda by, _, topic: gettext("{name} started the stage: {topic}", name=by, topic=topic),
    MessageType.STAGE_END: lambda by, _, topic: gettext("{name} ended the stage: {topic}", name=by, topic=topic),
    MessageType.STAGE_SPEAKER: lambda by, *_: gettext("{name} is now a speaker.", name=by),
    MessageType.STAGE_TOPIC: lambda by, _, topic: gettext(
        "{name} changed the stage topic: {topic}", name=by, topic=topic
    ),
    MessageType.GUILD_APPLICATION_PREMIUM_SUBSCRIPTION: lambda by, *_: gettext(
        "{name} bought a subscription for the guild.", name=by
    ),
    MessageType.GUILD_INCIDENT_ALERT_MODE_ENABLED: lambda by, *_: gettext("{name} enabled security actions.", name=by),
    MessageType.GUILD_INCIDENT_ALERT_MODE_DISABLED: lambda by, *_: gettext(
        "{name} disabled security actions.", name=by
    ),
    MessageType.GUILD_INCIDENT_REPORT_RAID: lambda by, *_: gettext("{name} reported a raid.", name=by),
    MessageType.GUILD_INCIDENT_REPORT_FALSE_ALARM: lambda by, *_: gettext("{name} reported a false alarm.", name=by),
    MessageType.PURCHASE_NOTIFICATION: lambda by, *_: gettext("{name} made a purchase.", name=by),
    MessageType.POLL_RESULT: lambda by, *_: gettext("The poll by {name} has ended.", name=by),
    MessageType.CHANNEL_LINKED_TO_LOBBY: lambda by, *_: gettext("{name} linked this channel to a game lobby.", name=by),
    MessageType.HD_STREAMING_UPGRADED: lambda by, *_: gettext("{name} upgraded streaming to HD.", name=by),
}


def system_message_text(message: Message) -> str:
    target = display_name(message.mentions[0]) if message.mentions else ""
    build = _SYSTEM_TEXTS.get(message.type)
    author_name = display_name(message.author)
    if build is None:
        return gettext("{name} sent a message that this page cannot display.", name=author_name)
    return build(author_name, target, message.content)
