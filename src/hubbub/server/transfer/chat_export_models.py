"""Objects of DiscordChatExporter's JSON files, with the field names of the format."""

from datetime import datetime
from typing import Any

import msgspec


class ExportedRole(msgspec.Struct):
    """A role of a user."""

    id: str
    name: str = "role"
    color: str | None = None
    position: int = 1


class ExportedUser(msgspec.Struct):
    """A user, with the roles of the member; reactions contain users without roles."""

    id: str
    name: str = ""
    discriminator: str | None = None
    nickname: str | None = None
    isBot: bool = False
    roles: list[ExportedRole] = []
    avatarUrl: str | None = None


class ExportedAttachment(msgspec.Struct):
    """A file of a message."""

    id: str
    url: str = ""
    fileName: str = "file"
    fileSizeBytes: int = 0


class ExportedEmoji(msgspec.Struct):
    """A custom emoji, or a Unicode emoji without an ID."""

    id: str | None = None
    name: str = ""
    isAnimated: bool = False
    imageUrl: str | None = None


class ExportedReaction(msgspec.Struct):
    """The reactions with one emoji; older exports have no users."""

    emoji: ExportedEmoji
    count: int = 0
    users: list[ExportedUser] = []


class ExportedReference(msgspec.Struct):
    """The message that a reply or a forward refers to."""

    messageId: str | None = None
    channelId: str | None = None
    guildId: str | None = None


class ExportedSticker(msgspec.Struct):
    """A sticker of a message."""

    id: str
    name: str = ""
    format: str = ""
    sourceUrl: str | None = None


class ExportedMessage(msgspec.Struct):
    """A message with its author."""

    id: str
    timestamp: datetime
    author: ExportedUser
    type: str = "Default"
    timestampEdited: datetime | None = None
    isPinned: bool = False
    content: str = ""
    attachments: list[ExportedAttachment] = []
    embeds: list[dict[str, Any]] = []
    stickers: list[ExportedSticker] = []
    reactions: list[ExportedReaction] = []
    mentions: list[ExportedUser] = []
    reference: ExportedReference | None = None
    inlineEmojis: list[ExportedEmoji] = []


class ExportedGuild(msgspec.Struct):
    """The guild of an exported channel."""

    id: str
    name: str
    iconUrl: str | None = None


class ExportedChannel(msgspec.Struct):
    """The exported channel or thread; the category of a thread is its channel."""

    id: str
    name: str
    type: str = "GuildTextChat"
    categoryId: str | None = None
    category: str | None = None
    topic: str | None = None


class ExportedHeader(msgspec.Struct):
    """The part of a file before the messages."""

    guild: ExportedGuild
    channel: ExportedChannel
