"""Handles of messages and channels (spec/sdk.md#11.1)."""

import re
from datetime import datetime
from typing import Final, TypeVar

from msgspec import UNSET

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import EPOCH_MS
from hubbub.sdk.cache import CachedMessage, recipient_ids
from hubbub.sdk.core import Core
from hubbub.sdk.enums import AdditionalContentType, ChannelType, DisclosureTypes, member_or_default
from hubbub.sdk.handles.base import Handle
from hubbub.sdk.handles.lobbies import LobbyHandle, find_lobby
from hubbub.sdk.handles.users import UserHandle, find_user
from hubbub.sdk.payloads import ChannelPayload, UserPayload
from hubbub.sdk.records import AdditionalContent

T = TypeVar("T")

SENT_FROM_GAME_FLAG: Final = MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION
"""Flag of a message that a game sent with the SDK."""
_MENTION_PATTERN: Final = re.compile(r"<@!?(\d{1,20})>")
_CHANNEL_PATTERN: Final = re.compile(r"<#(\d{1,20})>")
_EMOJI_PATTERN: Final = re.compile(r"<a?:(\w{1,64}):\d{1,20}>")


class ChannelHandle(Handle):
    """A channel: a direct message conversation, a lobby, or the guild channel linked to a lobby."""

    def _data(self) -> ChannelPayload | None:
        with self._core.lock:
            return self._core.cache.channels.get(self._id) if self._alive else None

    @property
    def name(self) -> str:
        """Name of the channel; empty for a direct message conversation."""
        data = self._data()
        return (data.name or "") if data else ""

    @property
    def type(self) -> ChannelType:
        """Kind of channel."""
        data = self._data()
        return member_or_default(ChannelType, data.type, ChannelType.DM) if data else ChannelType.DM

    @property
    def recipients(self) -> list[int]:
        """User IDs of the recipients; empty for a lobby or a guild channel."""
        data = self._data()
        return list(recipient_ids(data)) if data else []


class MessageHandle(Handle):
    """A message in a direct message conversation or a lobby."""

    def __init__(self, core: Core, message: CachedMessage) -> None:
        super().__init__(core, message.payload.id)
        self._message = message

    def _read_field(self, name: str, otherwise: T) -> T:
        """Return a field of the payload, or `otherwise` if it is null, missing, or the client was destroyed."""
        value: T | None = getattr(self._message.payload, name) if self._alive else None
        return otherwise if value is None or value is UNSET else value

    @property
    def author_id(self) -> int:
        """User ID of the author."""
        author: UserPayload | None = self._read_field("author", None)
        return author.id if author else 0

    @property
    def author(self) -> UserHandle | None:
        """The author, or None if the client does not have the user cached."""
        return find_user(self._core, self.author_id)

    @property
    def channel_id(self) -> int:
        """ID of the channel or lobby that the message was sent to."""
        return self._read_field("channel_id", 0) or self._read_field("lobby_id", 0)

    @property
    def channel(self) -> ChannelHandle | None:
        """The channel that the message was sent to; None for an ephemeral conversation."""
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
        return self._read_field("content", "")

    @property
    def sent_timestamp(self) -> int:
        """Time at which the message was sent, in Unix milliseconds."""
        return (self.id >> 22) + EPOCH_MS if self.id else 0

    @property
    def edited_timestamp(self) -> int:
        """Time of the last edit in Unix milliseconds; 0 if the message was not edited."""
        return _unix_ms(self._read_field("edited_timestamp", ""))

    @property
    def lobby(self) -> LobbyHandle | None:
        """The lobby that the message was sent to, or None."""
        return find_lobby(self._core, self._read_field("lobby_id", 0))

    @property
    def recipient_id(self) -> int:
        """User ID of the other participant of a direct message conversation; 0 in a lobby.

        For a received message this is the author, not the current user."""
        return self._message.other_user_id if self._alive else 0

    @property
    def recipient(self) -> UserHandle | None:
        """The other participant of a direct message conversation, or None."""
        return find_user(self._core, self.recipient_id)

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata that the sender's game attached to the message."""
        return dict(self._read_field("metadata", {}))

    @property
    def moderation_metadata(self) -> dict[str, str]:
        """Moderation metadata that the game's backend attached to the message."""
        return dict(self._read_field("moderation_metadata", {}))

    @property
    def additional_content(self) -> AdditionalContent | None:
        """Content that a game cannot render as text, such as a poll or attachments; None if there is none."""
        if not self._alive:
            return None
        payload = self._message.payload
        flags = payload.flags or 0
        # Type, title and number of items of each kind of content, in order of precedence.
        kinds: tuple[tuple[AdditionalContentType, str | None, int], ...] = (
            (
                AdditionalContentType.POLL,
                payload.poll.question.text if payload.poll and payload.poll.question else None,
                1,
            )
            if payload.poll
            else (AdditionalContentType.POLL, None, 0),
            (AdditionalContentType.THREAD, payload.thread.name if payload.thread else None, int(bool(payload.thread))),
            (
                AdditionalContentType.VOICE_MESSAGE
                if flags & MessageFlags.IS_VOICE_MESSAGE
                else AdditionalContentType.ATTACHMENT,
                None,
                len(payload.attachments or ()),
            ),
            (AdditionalContentType.STICKER, None, len(payload.sticker_items or ())),
            (AdditionalContentType.EMBED, None, len(payload.embeds or ())),
        )
        for kind, title, count in kinds:
            if count:
                return self._core.make(AdditionalContent, type=kind, title=title, count=min(count, 255))
        return None

    @property
    def additional_name(self) -> str | None:
        """The author's additional name in the lobby when the message was sent, or None."""
        member = self._message.payload.lobby_member if self._alive else None
        return member.additional_name if member else None

    @property
    def application_id(self) -> int | None:
        """ID of the application that sent the message, or None."""
        return self._message.payload.application_id if self._alive else None

    @property
    def sent_from_game(self) -> bool:
        """Whether the message was sent from this game or another game of the same publisher."""
        return bool(self._read_field("flags", 0) & SENT_FROM_GAME_FLAG)

    @property
    def disclosure_type(self) -> DisclosureTypes | None:
        """Kind of disclosure if the SDK inserted this message itself; None for a message of a user."""
        disclosure = self._message.disclosure if self._alive else None
        return None if disclosure is None else DisclosureTypes(disclosure)


def find_channel(core: Core, channel_id: int) -> ChannelHandle | None:
    """Return the handle of a cached channel, or None; lobbies and the channels linked to them are channels as well."""
    with core.lock:
        return core.make(ChannelHandle, core, channel_id) if channel_id in core.cache.channels else None


def _unix_ms(timestamp: str) -> int:
    """Convert an ISO 8601 timestamp to Unix milliseconds; an empty timestamp is 0."""
    return int(datetime.fromisoformat(timestamp).timestamp() * 1000) if timestamp else 0
