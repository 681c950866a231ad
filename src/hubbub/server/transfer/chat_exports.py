"""JSON exports of DiscordChatExporter as a source of an import: one file per channel, with or without media files.

The format is described in docs/moving.md. Files are untrusted and may be large, so they are read in parts."""

import hashlib
import mimetypes
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.enums import ChannelType, MessageType, StickerFormatType
from hubbub.protocol.ids import WIDE_MAX
from hubbub.protocol.images import detect_image_type
from hubbub.protocol.permissions import Permissions
from hubbub.server.core import cdn_urls, media
from hubbub.server.places import expressions
from hubbub.server.talk.attachments import clean_filename
from hubbub.server.transfer.chat_export_models import (
    ExportedAttachment,
    ExportedChannel,
    ExportedEmoji,
    ExportedHeader,
    ExportedMessage,
    ExportedReaction,
    ExportedRole,
    ExportedSticker,
    ExportedUser,
)
from hubbub.server.transfer.conversion import OWNER_ID, guild_records, make_record
from hubbub.server.transfer.json_stream import JsonStream
from hubbub.server.transfer.records import InvalidArchive, Record
from hubbub.server.transfer.sources import FILE_BYTES_MAX, SourceFile

FILES_MAX: Final = 20_000
"""Maximum number of .json files of an import; the export of a large channel may have several files."""
IMAGE_BYTES_MAX: Final = 10 << 20
"""Maximum size of an avatar, emoji, sticker or icon in bytes; larger ones are not imported."""
MEDIA_FOLDER_SUFFIX: Final = "_Files"
"""End of the names of folders with downloaded files."""

_CHANNEL_TYPES: Final = {
    "GuildTextChat": ChannelType.GUILD_TEXT,
    "GuildVoiceChat": ChannelType.GUILD_VOICE,
    "GuildCategory": ChannelType.GUILD_CATEGORY,
    "GuildNews": ChannelType.GUILD_ANNOUNCEMENT,
    "GuildNewsThread": ChannelType.ANNOUNCEMENT_THREAD,
    "GuildPublicThread": ChannelType.PUBLIC_THREAD,
    "GuildPrivateThread": ChannelType.PRIVATE_THREAD,
    "GuildStageVoice": ChannelType.GUILD_STAGE_VOICE,
    "GuildDirectory": ChannelType.GUILD_TEXT,
    "GuildForum": ChannelType.GUILD_FORUM,
}
_THREAD_TYPES: Final = frozenset(
    {ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD}
)
_MESSAGE_TYPES: Final = {
    "Default": MessageType.DEFAULT,
    "RecipientAdd": MessageType.RECIPIENT_ADD,
    "RecipientRemove": MessageType.RECIPIENT_REMOVE,
    "Call": MessageType.CALL,
    "ChannelNameChange": MessageType.CHANNEL_NAME_CHANGE,
    "ChannelIconChange": MessageType.CHANNEL_ICON_CHANGE,
    "ChannelPinnedMessage": MessageType.CHANNEL_PINNED_MESSAGE,
    "GuildMemberJoin": MessageType.USER_JOIN,
    "ThreadCreated": MessageType.THREAD_CREATED,
    "Reply": MessageType.REPLY,
}
_STICKER_FORMATS: Final = {
    "Png": StickerFormatType.PNG,
    "Apng": StickerFormatType.APNG,
    "Lottie": StickerFormatType.LOTTIE,
    "Gif": StickerFormatType.GIF,
}
_COLOR_PATTERN: Final = re.compile(r"#[0-9A-Fa-f]{6}")


class _File(NamedTuple):
    path: Path
    name: str
    """Name for messages to the operator."""
    header: ExportedHeader


class ChatExportSource:
    """The exported channels of one guild: a JSON file, or a folder of such files."""

    format = "DiscordChatExporter"

    def __init__(self, path: Path) -> None:
        self._root = (path if path.is_dir() else path.parent).resolve()
        # Lottie stickers in the folders of downloaded files are JSON files too.
        paths = [file for file in sorted(path.rglob("*.json")) if not file.parent.name.endswith(MEDIA_FOLDER_SUFFIX)]
        if not path.is_dir():
            paths = [path]
        if not paths:
            raise InvalidArchive("the folder contains no .json files", file=path.name)
        if len(paths) > FILES_MAX:
            raise InvalidArchive(f"the folder contains more than {FILES_MAX} .json files", file=path.name)
        self.notes: list[str] = []
        self._files = [self._open_channel(file) for file in paths]
        self._files.sort(key=lambda file: (int(file.header.channel.id), file.name))
        guild_ids = {file.header.guild.id for file in self._files}
        if len(guild_ids) > 1:
            raise InvalidArchive("the files belong to several guilds; import each guild on its own", file=path.name)
        self._guild = self._files[0].header.guild
        if self._guild.id == "0":
            raise InvalidArchive("direct messages cannot be imported", file=self._files[0].name, field="guild.id")
        self.guild_name = self._guild.name
        self.owner_id = OWNER_ID
        self.totals: dict[str, int] = {}
        self._users: dict[int, ExportedUser] = {}
        self._roles: dict[int, ExportedRole] = {}
        self._emojis: dict[int, ExportedEmoji] = {}
        self._stickers: dict[int, ExportedSticker] = {}
        self._post_ids: set[int] = set()
        """IDs of threads that contain the message from which they were created, as the posts of a forum do."""
        self._channel_stats: dict[int, tuple[int, int]] = {}
        """Number of messages, and Unix milliseconds of the first message, by channel ID."""
        self._images: dict[str, str | None] = {}
        """Hash of an image by the path of its file; None if the image cannot be used."""
        self._has_attachments = False
        self._is_scanned = False

    def _open_channel(self, path: Path) -> _File:
        name = path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else path.name
        with JsonStream(path, name) as stream:
            header = _convert(stream.read_header("messages"), ExportedHeader, name, 1)
        for field, text in (("guild.id", header.guild.id), ("channel.id", header.channel.id)):
            _require_id(text, name, 1, field)
        return _File(path, name, header)

    def digest(self) -> str:
        """Return a hash of all JSON files, which contain the names of the media files."""
        digest = hashlib.sha256()
        for file in self._files:
            with file.path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()

    # Reading

    def _iter_messages(self, file: _File) -> Iterator[tuple[int, ExportedMessage]]:
        """Yield the messages of a file, with the line at which each begins."""
        with JsonStream(file.path, file.name) as stream:
            stream.read_header("messages")
            for line, value in stream.items():
                message = _convert(value, ExportedMessage, file.name, line)
                _require_id(message.id, file.name, line, "id")
                yield line, message

    def _scan(self) -> None:
        """Collect the users, roles and emoji that messages refer to, the numbers of messages, and notes, when first called."""
        if self._is_scanned:
            return
        unknown_types: set[str] = set()
        message_count = 0
        for file in self._files:
            file_message_count, first_ms = 0, 0
            for line, message in self._iter_messages(file):
                file_message_count += 1
                first_ms = first_ms or codec.milliseconds(message.timestamp)
                self._add_user(message.author, file, line, "author.id")
                for user in message.mentions:
                    self._add_user(user, file, line, "mentions.id")
                for reaction in message.reactions:
                    self._add_emoji(reaction.emoji)
                    for user in reaction.users:
                        self._add_user(user, file, line, "reactions.users.id")
                for emoji in message.inlineEmojis:
                    self._add_emoji(emoji)
                for sticker in message.stickers:
                    if _is_id(sticker.id):
                        self._stickers.setdefault(int(sticker.id), sticker)
                if message.id == file.header.channel.id and message.type == "Default":
                    self._post_ids.add(int(message.id))
                self._has_attachments |= bool(message.attachments)
                if message.type not in _MESSAGE_TYPES and not message.type.isdigit():
                    unknown_types.add(message.type)
            # An export may split a channel into several files.
            channel_id = int(file.header.channel.id)
            earlier_message_count, earlier_ms = self._channel_stats.get(channel_id, (0, 0))
            self._channel_stats[channel_id] = (
                earlier_message_count + file_message_count,
                min(earlier_ms, first_ms) if earlier_ms and first_ms else earlier_ms or first_ms,
            )
            message_count += file_message_count
        self.totals = {
            "users": len(self._users),
            "members": len(self._users),
            "roles": len(self._roles) + 1,
            "channels": len(self._channel_stats),
            "messages": message_count,
        }
        self.notes += [f"Messages of type {name} are imported as plain messages." for name in sorted(unknown_types)]
        self.notes.append("The export contains no permissions; check the roles and channels after the import.")
        self._is_scanned = True

    def _add_user(self, user: ExportedUser, file: _File, line: int, field: str) -> None:
        user_id = _require_id(user.id, file.name, line, field)
        known_user = self._users.get(user_id)
        # Reactions contain users without roles.
        if known_user is None or (user.roles and not known_user.roles):
            self._users[user_id] = user
        for role in user.roles:
            self._roles.setdefault(_require_id(role.id, file.name, line, "roles.id"), role)

    def _add_emoji(self, emoji: ExportedEmoji) -> None:
        if emoji.id and _is_id(emoji.id):
            self._emojis.setdefault(int(emoji.id), emoji)

    # Records

    def records(self) -> Iterator[Record]:
        """Yield all records, users first; raise InvalidArchive at an invalid one."""
        self._scan()
        file = self._files[0].name
        for user_id, user in sorted(self._users.items()):
            values: dict[str, Any] = {
                "id": str(user_id),
                "username": (user.name or "unknown")[:100],
                "discriminator": user.discriminator if user.isBot and _is_discriminator(user.discriminator) else None,
                "global_name": None,
                "avatar": self._find_image(user.avatarUrl),
                "bot": int(user.isBot),
            }
            yield make_record("users", values, file=file)
        guild_id = int(self._guild.id)
        yield from guild_records(
            guild_id,
            self._guild.name,
            everyone_permissions=int(Permissions.DEFAULT_EVERYONE),
            file=file,
            icon=self._find_image(self._guild.iconUrl),
        )
        ranked_roles = sorted(self._roles.items(), key=lambda item: (item[1].position, item[0]))
        for position, (role_id, role) in enumerate(ranked_roles, start=1):
            if role_id != guild_id:
                values = {
                    "id": str(role_id),
                    "name": role.name[:100] or "role",
                    "permissions": "0",
                    "position": position,
                    "color": _parse_color(role.color),
                    "hoist": 0,
                }
                yield make_record("roles", values, file=file)
        joined_ms = codec.milliseconds(_EARLIEST) if not self._channel_stats else self._earliest_ms()
        for user_id, user in sorted(self._users.items()):
            # The export has one display name: the nickname in the guild or else the global name.
            nick = user.nickname[:100] if user.nickname and user.nickname != user.name else None
            yield make_record("members", {"user_id": str(user_id), "joined_ms": joined_ms, "nick": nick}, file=file)
        for user_id, user in sorted(self._users.items()):
            for role_id in sorted({int(role.id) for role in user.roles} - {guild_id}):
                yield make_record("member_roles", {"user_id": str(user_id), "role_id": str(role_id)}, file=file)
        for emoji_id, emoji in sorted(self._emojis.items()):
            image = self._find_image(emoji.imageUrl)
            if image is not None:
                values = {
                    "id": str(emoji_id),
                    "user_id": str(OWNER_ID),
                    "name": emoji.name[:32] or "emoji",
                    "image": image,
                    "animated": int(emoji.isAnimated),
                    "roles": [],
                }
                yield make_record("emojis", values, file=file)
        for _, sticker in sorted(self._stickers.items()):
            if (item := self._sticker_values(sticker)) is not None:
                values = item | {"user_id": str(OWNER_ID), "tags": item["name"], "image": self._sticker_image(sticker)}
                yield make_record("stickers", values, file=file)
        yield from self._channel_records()
        for channel_file in self._files:
            yield from self._message_records(channel_file)

    def _sticker_image(self, sticker: ExportedSticker) -> str | None:
        return self._find_image(sticker.sourceUrl) if sticker.format in _STICKER_FORMATS else None

    def _sticker_values(self, sticker: ExportedSticker) -> dict[str, Any] | None:
        """Return a sticker as a message contains it, or None if its file is not in the export."""
        if self._sticker_image(sticker) is None:
            return None
        format_type = int(_STICKER_FORMATS[sticker.format])
        return {"id": sticker.id, "name": sticker.name[:30] or "sticker", "format_type": format_type}

    def _earliest_ms(self) -> int:
        return min((first_ms for _, first_ms in self._channel_stats.values() if first_ms), default=0)

    def _channel_records(self) -> Iterator[Record]:
        """Yield categories, then channels and threads; a parent that was not exported is created with its name."""
        exported_channel_ids = {int(file.header.channel.id) for file in self._files}
        parents_by_id: dict[int, tuple[str, ChannelType]] = {}
        for file in self._files:
            channel = file.header.channel
            if (
                channel.categoryId
                and _is_id(channel.categoryId)
                and int(channel.categoryId) not in exported_channel_ids
            ):
                # The parent of a post is a forum, that of another thread is a channel, that of a channel is a category.
                parent_type = ChannelType.GUILD_CATEGORY
                if _CHANNEL_TYPES.get(channel.type) in _THREAD_TYPES:
                    is_post = int(channel.id) in self._post_ids
                    parent_type = ChannelType.GUILD_FORUM if is_post else ChannelType.GUILD_TEXT
                parent_id = int(channel.categoryId)
                if parent_id not in parents_by_id or parent_type == ChannelType.GUILD_FORUM:
                    parents_by_id[parent_id] = (channel.category or "category", parent_type)
        for position, (parent_id, (name, channel_type)) in enumerate(sorted(parents_by_id.items())):
            values = {"id": str(parent_id), "type": int(channel_type), "name": name[:100], "position": position}
            yield make_record("channels", values, file=self._files[0].name)
        written_channel_ids: set[int] = set()
        ordered_files = sorted(
            self._files, key=lambda file: _CHANNEL_TYPES.get(file.header.channel.type) in _THREAD_TYPES
        )
        for position, file in enumerate(ordered_files):
            channel = file.header.channel
            if int(channel.id) in written_channel_ids:  # A large channel may be exported in several parts.
                continue
            written_channel_ids.add(int(channel.id))
            yield make_record("channels", self._channel_values(channel, position), file=file.name, line=1)

    def _channel_values(self, channel: ExportedChannel, position: int) -> dict[str, Any]:
        channel_type = _CHANNEL_TYPES.get(channel.type, ChannelType.GUILD_TEXT)
        values: dict[str, Any] = {
            "id": channel.id,
            "type": int(channel_type),
            "name": channel.name[:100] or "channel",
            "topic": channel.topic[:4096] if channel.topic else None,
            "position": position,
            "parent_id": channel.categoryId if channel.categoryId and _is_id(channel.categoryId) else None,
        }
        if channel_type in _THREAD_TYPES:
            message_count, first_ms = self._channel_stats.get(int(channel.id), (0, 0))
            values |= {
                "owner_id": str(OWNER_ID),
                "archived": 1,
                "archive_changed_ms": first_ms,
                "auto_archive_duration": 4320,
                "created_ms": first_ms,
                "message_count": message_count,
                "total_message_sent": message_count,
            }
        return values

    def _message_records(self, file: _File) -> Iterator[Record]:
        for line, message in self._iter_messages(file):
            yield make_record("messages", self._message_values(message, file, line), file=file.name, line=line)

    def _message_values(self, message: ExportedMessage, file: _File, line: int) -> dict[str, Any]:
        timestamp_ms = codec.milliseconds(message.timestamp)
        message_type = _MESSAGE_TYPES.get(message.type)
        type_number = (
            int(message.type)
            if message_type is None and message.type.isdigit() and len(message.type) < 4
            else message_type
        )
        attachments = [
            self._convert_attachment(attachment, file, line)
            for attachment in message.attachments
            if _require_id(attachment.id, file.name, line, "attachments.id")
        ]
        reactions = [
            values for reaction in message.reactions for values in self._iter_reactions(reaction, timestamp_ms)
        ]
        reference = message.reference
        sticker_items = [
            values
            for sticker in message.stickers
            if _is_id(sticker.id) and (values := self._sticker_values(self._stickers[int(sticker.id)])) is not None
        ]
        return {
            "channel_id": file.header.channel.id,
            "id": message.id,
            "author_id": message.author.id,
            "type": min(int(type_number or 0), 255),
            "content": message.content[:6000],
            "edited_ms": None if message.timestampEdited is None else codec.milliseconds(message.timestampEdited),
            "pinned_ms": timestamp_ms if message.isPinned else None,
            "mentions": list(dict.fromkeys(user.id for user in message.mentions)) or None,
            "attachments": attachments or None,
            "embeds": [_convert_embed(embed) for embed in message.embeds[:10]] or None,
            "reference": None
            if reference is None or not (reference.messageId and _is_id(reference.messageId))
            else {
                "message_id": reference.messageId,
                "channel_id": reference.channelId or file.header.channel.id,
                "guild_id": self._guild.id,
            },
            "extra": {"sticker_items": sticker_items} if sticker_items else None,
            "reacted": int(bool(reactions)),
            "reactions": reactions,
        }

    def _iter_reactions(self, reaction: ExportedReaction, timestamp_ms: int) -> Iterator[dict[str, Any]]:
        """Yield the reactions of users; older exports have only a number, which cannot be imported."""
        emoji = reaction.emoji
        emoji_id = emoji.id if emoji.id and _is_id(emoji.id) else None
        if not emoji.name and emoji_id is None:
            return
        for user in reaction.users:
            yield {
                "emoji": emoji_id or emoji.name[:100],
                "user_id": user.id,
                "emoji_id": emoji_id,
                "emoji_name": emoji.name[:100],
                "animated": int(emoji.isAnimated),
                "created_ms": timestamp_ms,
            }

    # Files

    def _convert_attachment(self, attachment: ExportedAttachment, file: _File, line: int) -> dict[str, Any]:
        path = self._find_file(attachment.url)
        values: dict[str, Any] = {
            "id": attachment.id,
            "filename": clean_filename(attachment.fileName[:200]),
            "size": max(0, attachment.fileSizeBytes),
            "content_type": mimetypes.guess_type(attachment.fileName)[0],
        }
        if path is not None:
            with path.open("rb") as stream:
                media_info = media.inspect_file(stream.read(1 << 16), attachment.fileName)
            values["size"] = path.stat().st_size
            values |= {"content_type": media_info.content_type, "width": media_info.width, "height": media_info.height}
        return {name: value for name, value in values.items() if value is not None}

    def _find_file(self, url: str | None) -> Path | None:
        """Return the downloaded file that a relative URL names, or None. It must be inside the folder of the export."""
        if not url or "://" in url:
            return None
        for folder in {file.path.parent for file in self._files}:
            try:
                path = (folder / unquote(url)).resolve()
            except (OSError, ValueError):
                continue
            if path.is_relative_to(self._root) and path.is_file():
                return path
        return None

    def _find_image(self, url: str | None) -> str | None:
        """Return the hash of a downloaded image, or None."""
        path = self._find_file(url)
        if path is None:
            return None
        if str(path) not in self._images:
            self._images[str(path)] = _hash_image(path)
        return self._images[str(path)]

    def files(self) -> Iterator[SourceFile]:
        """Yield the downloaded files: images first, then attachments in the order of their messages.

        Add a note if attachments are missing."""
        self._scan()
        yielded_images: set[str] = set()
        urls = [self._guild.iconUrl]
        urls += [user.avatarUrl for _, user in sorted(self._users.items())]
        urls += [emoji.imageUrl for _, emoji in sorted(self._emojis.items())]
        urls += [sticker.sourceUrl for _, sticker in sorted(self._stickers.items())]
        for url in urls:
            image, path = self._find_image(url), self._find_file(url)
            if image is not None and path is not None and image not in yielded_images:
                yielded_images.add(image)
                yield SourceFile(cdn_urls.image_key(image), path.stat().st_size, None, str(path))
        missing_count = 0
        for file in self._files if self._has_attachments else ():
            for _, message in self._iter_messages(file):
                for attachment in message.attachments:
                    path = self._find_file(attachment.url)
                    if path is None:
                        missing_count += 1
                    elif _is_id(attachment.id):
                        yield SourceFile(
                            cdn_urls.attachment_key(int(attachment.id)), path.stat().st_size, None, str(path)
                        )
        note = f"Attachments that the export does not contain: {missing_count}. Export again with its media option."
        if missing_count and note not in self.notes:
            self.notes.append(note)

    def open_file(self, file: SourceFile) -> IO[bytes]:
        """Open a downloaded file."""
        return Path(file.path).open("rb")

    def close(self) -> None:
        """Do nothing, because files are closed after each use."""


_EARLIEST: Final = datetime.fromisoformat("2015-01-01T00:00:00+00:00")


def _hash_image(path: Path) -> str | None:
    if path.stat().st_size > min(IMAGE_BYTES_MAX, FILE_BYTES_MAX):
        return None
    image_bytes = path.read_bytes()
    if detect_image_type(image_bytes) is None and not expressions.stickers.is_animation(image_bytes):
        return None
    prefix = "a_" if media.inspect_file(image_bytes).is_animated else ""
    return prefix + hashlib.sha256(image_bytes).hexdigest()[:32]


def _convert_embed(embed: dict[str, Any]) -> dict[str, Any]:
    """Return an embed in the form of the API; fields of an unexpected type are left out."""

    def limit_text(value: Any, length_max: int) -> str | None:
        return value[:length_max] if isinstance(value, str) and value else None

    def limit_url(value: Any) -> str | None:
        return value[:2048] if isinstance(value, str) and value.startswith(("http://", "https://")) else None

    def picture(value: Any) -> dict[str, Any] | None:
        image_url = limit_url(value.get("url")) if isinstance(value, dict) else None
        return None if image_url is None else {"url": image_url}

    api_embed: dict[str, Any] = {
        "type": "rich",
        "title": limit_text(embed.get("title"), 256),
        "description": limit_text(embed.get("description"), 4096),
        "url": limit_url(embed.get("url")),
        "color": _parse_color(embed.get("color")) or None,
        "timestamp": limit_text(embed.get("timestamp"), 64),
        "image": picture(embed.get("image")),
        "thumbnail": picture(embed.get("thumbnail")),
    }
    author, footer, fields = embed.get("author"), embed.get("footer"), embed.get("fields")
    if isinstance(author, dict) and limit_text(author.get("name"), 256):
        author_fields = {"name": limit_text(author.get("name"), 256), "url": limit_url(author.get("url"))}
        api_embed["author"] = {name: value for name, value in author_fields.items() if value is not None}
    if isinstance(footer, dict) and limit_text(footer.get("text"), 2048):
        api_embed["footer"] = {"text": limit_text(footer.get("text"), 2048)}
    if isinstance(fields, list):
        api_embed["fields"] = [
            {
                "name": limit_text(field.get("name"), 256) or "\u200b",
                "value": limit_text(field.get("value"), 1024) or "\u200b",
                "inline": bool(field.get("isInline")),
            }
            for field in fields[:25]
            if isinstance(field, dict)
        ]
    return {name: value for name, value in api_embed.items() if value is not None}


def _parse_color(color: Any) -> int:
    return int(color[1:], 16) if isinstance(color, str) and _COLOR_PATTERN.fullmatch(color) else 0


def _is_discriminator(text: str | None) -> bool:
    return text is not None and len(text) == 4 and text.isascii() and text.isdigit()


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= WIDE_MAX


def _require_id(text: str, file: str, line: int, field: str) -> int:
    if not _is_id(text):
        raise InvalidArchive("not an ID", file=file, line=line, field=field)
    return int(text)


def _convert(decoded_json: Any, type_: Any, file: str, line: int) -> Any:
    try:
        return msgspec.convert(decoded_json, type_)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `")
        raise InvalidArchive(problem, file=file, line=line, field=path.rstrip("`").removeprefix("$.")) from None
