"""Handles of messages and channels (spec/sdk.md#11.1)."""

import re
from datetime import datetime
from typing import Final

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import Snowflake
from hubbub.sdk.cache import CachedChannel, CachedMessage
from hubbub.sdk.core import Core
from hubbub.sdk.enums import AdditionalContentType, ChannelType, DisclosureTypes, member_or_default
from hubbub.sdk.handles.base import Handle
from hubbub.sdk.handles.lobbies import LobbyHandle, find_lobby
from hubbub.sdk.handles.users import UserHandle, find_user
from hubbub.sdk.records import AdditionalContent

SENT_FROM_GAME_FLAG: Final = MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION
"""Flag of a message that a game sent with the SDK."""
_CONTENT_PRECEDENCE: Final = (
    AdditionalContentType.POLL,
    AdditionalContentType.THREAD,
    AdditionalContentType.ATTACHMENT,
    AdditionalContentType.STICKER,
    AdditionalContentType.EMBED,
)
"""Kinds of additional content in the order of their precedence: a handle returns only the first kind."""
_MENTION_PATTERN: Final = re.compile(r"<@!?(\d{1,20})>")
_CHANNEL_PATTERN: Final = re.compile(r"<#(\d{1,20})>")
_EMOJI_PATTERN: Final = re.compile(r"<a?:(\w{1,64}):\d{1,20}>")


class ChannelHandle(Handle):
    """A channel: a direct message conversation, a group, a lobby, or the guild channel linked to a lobby."""

    def _find_cached_channel(self) -> CachedChannel | None:
        with self._core.lock:
            return self._core.cache.channels.get(self._id) if self._is_alive else None

    @property
    def name(self) -> str:
        """Name of the channel; empty for a direct message conversation or a lobby."""
        cached_channel = self._find_cached_channel()
        return cached_channel.name if cached_channel else ""

    @property
    def type(self) -> ChannelType:
        """Kind of channel; `DM` if the channel is no longer cached."""
        cached_channel = self._find_cached_channel()
        return member_or_default(ChannelType, cached_channel.type, ChannelType.DM) if cached_channel else ChannelType.DM

    @property
    def recipients(self) -> list[int]:
        """User IDs of the recipients; empty for a lobby or a guild channel."""
        cached_channel = self._find_cached_channel()
        return list(cached_channel.recipient_ids) if cached_channel else []


class MessageHandle(Handle):
    """A message in a direct message conversation or a lobby."""

    def __init__(self, core: Core, message: CachedMessage) -> None:
        super().__init__(core, message.id)
        self._message = message

    def _get_cached_message(self) -> CachedMessage:
        """Return the message, or an empty one after the client was destroyed."""
        return self._message if self._is_alive else CachedMessage(0)

    @property
    def author_id(self) -> int:
        """User ID of the author."""
        return self._get_cached_message().author_id

    @property
    def author(self) -> UserHandle | None:
        """The author, or None if the client does not have the user cached."""
        return find_user(self._core, self.author_id)

    @property
    def channel_id(self) -> int:
        """ID of the channel or lobby that the message was sent to."""
        return self._get_cached_message().channel_id

    @property
    def channel(self) -> ChannelHandle | None:
        """The channel that the message was sent to; None if it is not cached, such as an ephemeral conversation."""
        return find_channel(self._core, self.channel_id)

    @property
    def content(self) -> str:
        """The text to display, with known mentions, channels and custom emoji replaced by their names."""
        text = _CHANNEL_PATTERN.sub(
            self._replace_channel, _MENTION_PATTERN.sub(self._replace_mention, self.raw_content)
        )
        return _EMOJI_PATTERN.sub(r":\1:", text)

    def _replace_mention(self, match: re.Match[str]) -> str:
        user = find_user(self._core, int(match[1]))
        return f"@{user.display_name}" if user else match[0]

    def _replace_channel(self, match: re.Match[str]) -> str:
        channel = find_channel(self._core, int(match[1]))
        return f"#{channel.name}" if channel and channel.name else match[0]

    @property
    def raw_content(self) -> str:
        """The text as sent, with mention and emoji markup."""
        return self._get_cached_message().content

    @property
    def sent_timestamp(self) -> int:
        """Time at which the message was sent, as Unix milliseconds; 0 after the client is destroyed."""
        return Snowflake(self.id).created_ms if self.id else 0

    @property
    def edited_timestamp(self) -> int:
        """Time of the last edit as Unix milliseconds; 0 if the message was not edited."""
        return _parse_unix_ms(self._get_cached_message().edited_timestamp)

    @property
    def lobby(self) -> LobbyHandle | None:
        """The lobby that the message was sent to, or None."""
        return find_lobby(self._core, self._get_cached_message().lobby_id)

    @property
    def recipient_id(self) -> int:
        """User ID of the other participant of a direct message conversation; 0 in a lobby.

        For a received message this is the author, not the current user."""
        return self._get_cached_message().other_user_id

    @property
    def recipient(self) -> UserHandle | None:
        """The other participant of a direct message conversation, or None."""
        return find_user(self._core, self.recipient_id)

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata that the sender's game attached to the message."""
        return dict(self._get_cached_message().metadata)

    @property
    def moderation_metadata(self) -> dict[str, str]:
        """Moderation metadata that the game's backend attached to the message."""
        return dict(self._get_cached_message().moderation_metadata)

    @property
    def additional_content(self) -> AdditionalContent | None:
        """Content that a game cannot render as text, such as a poll or attachments; None if there is none."""
        cached_message = self._get_cached_message()
        for kind in _CONTENT_PRECEDENCE:
            content = cached_message.additional_content.get(kind)
            if not content or not content.item_count:
                continue
            if kind is AdditionalContentType.ATTACHMENT and cached_message.flags & MessageFlags.IS_VOICE_MESSAGE:
                kind = AdditionalContentType.VOICE_MESSAGE
            return self._core.make(
                AdditionalContent, type=kind, title=content.title, count=min(content.item_count, 255)
            )
        return None

    @property
    def additional_name(self) -> str | None:
        """The author's additional name in the lobby when the message was sent, or None."""
        return self._get_cached_message().additional_name

    @property
    def application_id(self) -> int | None:
        """ID of the application that sent the message, or None."""
        return self._get_cached_message().application_id

    @property
    def sent_from_game(self) -> bool:
        """Whether the message was sent from this game or another game of the same publisher."""
        return bool(self._get_cached_message().flags & SENT_FROM_GAME_FLAG)

    @property
    def disclosure_type(self) -> DisclosureTypes | None:
        """Kind of disclosure if the SDK inserted this message itself; None for a message of a user."""
        disclosure = self._get_cached_message().disclosure
        return None if disclosure is None else DisclosureTypes(disclosure)


def find_channel(core: Core, channel_id: int) -> ChannelHandle | None:
    """Return the handle of a cached channel, or None; lobbies and the channels linked to them are channels as well."""
    with core.lock:
        return core.make(ChannelHandle, core, channel_id) if channel_id in core.cache.channels else None


def _parse_unix_ms(timestamp: str) -> int:
    """Convert an ISO 8601 timestamp to Unix milliseconds; an empty timestamp is 0."""
    return int(datetime.fromisoformat(timestamp).timestamp() * 1000) if timestamp else 0
