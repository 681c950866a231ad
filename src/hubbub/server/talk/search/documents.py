"""Search documents: the words of a message and marks for all its other searchable properties.

Words and marks become terms of one table. A term begins with the prefix of its index, so that a search never matches
messages of other guilds or private channels. A mark starts with a letter for the property;
an ID, a hash or a second letter may follow. Marks are stored, so the meaning of a letter never changes."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.enums import MessageType
from hubbub.protocol.ids import RoleId
from hubbub.protocol.resources.embeds import Embed
from hubbub.protocol.resources.messages import MessageReference
from hubbub.protocol.resources.polls import Poll
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk import messages
from hubbub.server.talk.attachments import StoredAttachment
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.search.tokens import tokenize

_BASE_36_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_PREFIX_LENGTH: Final = 13
"""Number of base 36 digits that hold any 64-bit number. The fixed width keeps prefixes distinct."""

_URL_PATTERN: Final = re.compile(r"https?://[^\s<>\"')\]]+", re.IGNORECASE)

# Marks without a value
MENTIONS_EVERYONE_MARK: Final = "e"
PINNED_MARK: Final = "p"
PRIVATE_THREAD_MARK: Final = "x"

AUTHOR_TYPE_MARKS: Final = {"user": "tu", "bot": "tb", "webhook": "tw"}
"""Marks of the kind of author, by the values of the search parameter `author_type`."""
HAS_MARKS: Final = {
    "link": "hl",
    "embed": "he",
    "file": "hf",
    "image": "hi",
    "video": "hv",
    "sound": "hs",
    "sticker": "ht",
    "poll": "hp",
    "snapshot": "hn",
}
"""Marks of content that a message has, by the values of the search parameter `has`."""
EMBED_TYPE_MARKS: Final = {"image": "ki", "video": "kv", "gif": "kg", "sound": "ks", "article": "ka"}
"""Marks of embed types, by the values of the search parameter `embed_type`."""
_MEDIA_MARKS: Final = {"image": HAS_MARKS["image"], "video": HAS_MARKS["video"], "audio": HAS_MARKS["sound"]}


class Document(NamedTuple):
    """A message in the index."""

    id: int
    guild_id: int
    """ID of the index, under the name of its column: the guild, or the private channel."""
    channel_id: int
    words: str
    """Words in order, separated by spaces."""
    marks: str
    """Marks, separated by spaces."""


# Marks with a value


def author_mark(user_id: int) -> str:
    """Return the mark of messages by a user or webhook."""
    return f"a{int(user_id)}"


def channel_mark(channel_id: int) -> str:
    """Return the mark of the channel or thread that contains the message."""
    return f"c{int(channel_id)}"


def governing_channel_mark(channel_id: int) -> str:
    """Return the mark of the channel whose permissions apply: the channel itself, or a thread's parent."""
    return f"v{int(channel_id)}"


def user_mention_mark(user_id: int) -> str:
    """Return the mark of messages that mention a user."""
    return f"m{int(user_id)}"


def role_mention_mark(role_id: int) -> str:
    """Return the mark of messages that mention a role."""
    return f"r{int(role_id)}"


def replied_user_mark(user_id: int) -> str:
    """Return the mark of replies to messages of a user."""
    return f"q{int(user_id)}"


def replied_message_mark(message_id: int) -> str:
    """Return the mark of replies to a message."""
    return f"s{int(message_id)}"


def provider_mark(name: str) -> str:
    """Return the mark of an embed's provider."""
    return f"d{_hash(name)}"


def hostname_mark(name: str) -> str:
    """Return the mark of a link's host name or of a parent domain."""
    return f"l{_hash(name.rstrip('.'))}"


def filename_mark(name: str) -> str:
    """Return the mark of a file name, with or without its extension."""
    return f"n{_hash(name)}"


def extension_mark(name: str) -> str:
    """Return the mark of a file name's extension."""
    return f"o{_hash(name.lstrip('.'))}"


def _hash(text: str) -> str:
    return hashlib.blake2b(text.strip().casefold().encode(), digest_size=8).hexdigest()


# Terms


def index_id_of(channel: ChannelRef) -> int:
    """Return the ID of the index of a channel: the ID of its guild, or its own ID if it is private (decisions/0123)."""
    return int(channel.id if channel.guild_id is None else channel.guild_id)


@lru_cache(maxsize=1024)
def build_index_prefix(index_id: int) -> str:
    """Return the prefix of all terms of an index. It is also a term of every message of the index."""
    digits = ""
    remaining_number = int(index_id)
    for _ in range(_PREFIX_LENGTH):
        remaining_number, digit = divmod(remaining_number, 36)
        digits = _BASE_36_DIGITS[digit] + digits
    return digits


def word_term(index_prefix: str, word: str) -> str:
    """Return the term of a word in the index whose prefix is `index_prefix`."""
    return f"{index_prefix}w{word}"


def mark_term(index_prefix: str, mark: str) -> str:
    """Return the term of a mark in the index whose prefix is `index_prefix`."""
    return f"{index_prefix}_{mark}"


def build_terms(document: Document) -> list[str]:
    """Return all terms of a message, starting with its words in order."""
    index_prefix = build_index_prefix(document.guild_id)
    terms = [f"{index_prefix}w{word}" for word in document.words.split()]
    terms += [f"{index_prefix}_{mark}" for mark in document.marks.split()]
    terms.append(index_prefix)
    return terms


# Building documents


def build_document(
    row: MessageRow, channel: ChannelRef, bot_ids: Iterable[int], replied_author_ids: Mapping[int, int]
) -> Document:
    """Build the document of a message.

    `bot_ids` are the IDs of authors that are bots. `replied_author_ids` maps IDs of replied-to messages to IDs of their authors."""
    marks = [
        author_mark(row.author_id),
        channel_mark(channel.id),
        governing_channel_mark(channel.overwrites_channel_id),
    ]
    if not row.is_user_authored:
        marks.append(AUTHOR_TYPE_MARKS["webhook"])
    else:
        marks.append(AUTHOR_TYPE_MARKS["bot" if row.author_id in bot_ids else "user"])
    if channel.is_private_thread:
        marks.append(PRIVATE_THREAD_MARK)
    if row.pinned_ms is not None:
        marks.append(PINNED_MARK)
    if row.mention_everyone:
        marks.append(MENTIONS_EVERYONE_MARK)
    texts = [row.content]
    if row.mentions is not None:
        marks += [user_mention_mark(user_id) for user_id in messages.views.mentions(row)]
    if row.mention_roles is not None:
        marks += [role_mention_mark(role_id) for role_id in codec.decode(row.mention_roles, list[RoleId])]
    replied_id = find_replied_id(row)
    if replied_id is not None:
        marks.append(replied_message_mark(replied_id))
        if replied_id in replied_author_ids:
            marks.append(replied_user_mark(replied_author_ids[replied_id]))
    marks += _link_marks(row.content)
    if row.attachments is not None:
        marks += _file_marks(messages.views.attachments(row))
    if row.embeds is not None:
        embeds = messages.views.embeds(row)
        marks += _embed_marks(embeds)
        texts += [text for embed in embeds for text in _embed_texts(embed)]
    if row.components is not None:
        texts += messages.content.text_contents(messages.views.components(row))
    if row.snapshots is not None:
        marks.append(HAS_MARKS["snapshot"])
        texts += [snapshot.content for snapshot in messages.views.snapshots(row)]
    if row.extra is not None:
        extra = messages.views.extra(row)
        if extra.sticker_items:
            marks.append(HAS_MARKS["sticker"])
        if extra.poll is not None:
            marks.append(HAS_MARKS["poll"])
            texts += _poll_texts(extra.poll)
    words = [word for text in texts if text for word in tokenize(text)]
    return Document(row.id, index_id_of(channel), channel.id, " ".join(words), " ".join(dict.fromkeys(marks)))


def find_replied_id(row: MessageRow) -> int | None:
    """Return the ID of the message that a reply refers to, or None."""
    if row.type != MessageType.REPLY or row.reference is None:
        return None
    reference = codec.decode(row.reference, MessageReference)
    return None if reference.message_id is UNSET else int(reference.message_id)


def _link_marks(content: str) -> Iterator[str]:
    if "://" not in content:
        return
    has_link = False
    for url in _URL_PATTERN.findall(content):
        try:
            host = (urlsplit(url).hostname or "").rstrip(".")
        except ValueError:
            continue
        if not host:
            continue
        has_link = True
        yield hostname_mark(host)
        labels = host.split(".")
        # A search for example.com also finds www.example.com.
        for first_label in range(1, len(labels) - 1):
            yield hostname_mark(".".join(labels[first_label:]))
    if has_link:
        yield HAS_MARKS["link"]


def _file_marks(files: list[StoredAttachment]) -> Iterator[str]:
    if files:
        yield HAS_MARKS["file"]
    for file in files:
        media_type = (file.content_type or "").partition("/")[0]
        if media_type in _MEDIA_MARKS:
            yield _MEDIA_MARKS[media_type]
        yield filename_mark(file.filename)
        stem, dot, file_extension = file.filename.rpartition(".")
        if dot:
            yield filename_mark(stem)
            yield extension_mark(file_extension)
        if file.title is not None:
            yield filename_mark(file.title)


def _embed_marks(embeds: list[Embed]) -> Iterator[str]:
    if embeds:
        yield HAS_MARKS["embed"]
    for embed in embeds:
        if embed.provider:
            yield provider_mark(embed.provider.name)
        if embed.type == "gifv":
            yield EMBED_TYPE_MARKS["gif"]
        elif embed.type in EMBED_TYPE_MARKS:
            yield EMBED_TYPE_MARKS[embed.type]
        elif embed.title or embed.description:
            yield EMBED_TYPE_MARKS["article"]
        if embed.image or embed.type == "image":
            yield HAS_MARKS["image"]
            yield EMBED_TYPE_MARKS["image"]
        if embed.video or embed.type in ("video", "gifv"):
            yield HAS_MARKS["video"]
            yield EMBED_TYPE_MARKS["video"]


def _embed_texts(embed: Embed) -> Iterator[str]:
    yield embed.title or ""
    yield embed.description or ""
    if embed.author:
        yield embed.author.name
    for field in embed.fields or ():
        yield field.name
        yield field.value
    if embed.footer:
        yield embed.footer.text


def _poll_texts(poll: Poll) -> Iterator[str]:
    yield poll.question.text or ""
    for answer in poll.answers:
        yield answer.poll_media.text or ""
