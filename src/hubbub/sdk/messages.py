"""Direct messages and lobby messages (spec/sdk.md#11)."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import aiohttp
import msgspec

from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.rpc_names import RpcCommand
from hubbub.sdk import resources
from hubbub.sdk.arguments import Int32
from hubbub.sdk.cache import HISTORY_MESSAGES_MAX, CachedMessage, MessageHistory
from hubbub.sdk.core import Core, OneShotCallback
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import ChannelType, ClientStatus, DisclosureTypes
from hubbub.sdk.events import GatewayEventHandlers
from hubbub.sdk.handles import ChannelHandle, MessageHandle, find_channel, find_user
from hubbub.sdk.merges import Merges
from hubbub.sdk.records import UserMessageSummary
from hubbub.sdk.results import ClientResult, validation_error
from hubbub.sdk.rpc import RpcClient
from hubbub.sdk.tolerant_models import decode

if TYPE_CHECKING:
    from hubbub.sdk.cache import AnyMessage

DISCLOSURE_TYPE: Final = DisclosureTypes.MESSAGE_DATA_VISIBLE_ON_PLATFORM

MessageIdCallback = Callable[[ClientResult, int], object]
ResultCallback = Callable[[ClientResult], object]
MessagesCallback = Callable[[ClientResult, list[MessageHandle]], object]


class Messages:
    """Component of the client that sends and reads messages.

    `rpc` returns the RPC client of the client, which is created on first use."""

    def __init__(self, core: Core, events: GatewayEventHandlers, rpc: Callable[[], RpcClient], merges: Merges) -> None:
        self._core = core
        self._events = events
        self._rpc = rpc
        self._merges = merges
        events.on_disclosed = lambda: core.run_in_background(self._acknowledge_disclosure)
        core.status_watchers.append(self._status_changed)

    # Sending

    def send_user_message(
        self, recipient_id: int, content: str, callback: MessageIdCallback | None = None
    ) -> Completion[int]:
        """Send a direct message of 1 to 2000 characters to a user; completes with the ID of the message."""
        return self._core.run_in_session(
            "SendUserMessage", callback, (0,), self._send_user_message, recipient_id, content, None
        )

    def send_user_message_with_metadata(
        self, recipient_id: int, content: str, metadata: Mapping[str, str], callback: MessageIdCallback | None = None
    ) -> Completion[int]:
        """Send a direct message with metadata for the game; completes with the ID of the message.

        Metadata has at most 25 keys; keys and values have at most 1024 characters each."""
        name = "SendUserMessageWithMetadata"
        return self._core.run_in_session(
            name, callback, (0,), self._send_user_message, recipient_id, content, dict(metadata)
        )

    def edit_user_message(
        self, recipient_id: int, message_id: int, content: str, callback: ResultCallback | None = None
    ) -> Completion[None]:
        """Replace the content of a direct message that the current user sent."""
        return self._core.run_in_session(
            "EditUserMessage", callback, (), self._edit_message, recipient_id, message_id, content
        )

    def delete_user_message(
        self, recipient_id: int, message_id: int, callback: ResultCallback | None = None
    ) -> Completion[None]:
        """Delete a direct message that the current user sent."""
        return self._core.run_in_session(
            "DeleteUserMessage", callback, (), self._delete_message, recipient_id, message_id
        )

    def send_lobby_message(
        self, lobby_id: int, content: str, callback: MessageIdCallback | None = None
    ) -> Completion[int]:
        """Send a message of 1 to 2000 characters to a lobby; completes with the ID of the message."""
        return self._core.run_in_session(
            "SendLobbyMessage", callback, (0,), self._send_lobby_message, lobby_id, content, None
        )

    def send_lobby_message_with_metadata(
        self, lobby_id: int, content: str, metadata: Mapping[str, str], callback: MessageIdCallback | None = None
    ) -> Completion[int]:
        """Send a lobby message with metadata for the game; completes with the ID of the message.

        Metadata has at most 25 keys; keys and values have at most 1024 characters each."""
        name = "SendLobbyMessageWithMetadata"
        return self._core.run_in_session(
            name, callback, (0,), self._send_lobby_message, lobby_id, content, dict(metadata)
        )

    # Reading

    def get_lobby_messages_with_limit(
        self, lobby_id: int, limit: Int32, callback: MessagesCallback | None = None
    ) -> Completion[list[MessageHandle]]:
        """Fetch the newest messages of a lobby, newest first, not older than 72 hours.

        `limit` is 1 to 200. This always sends a request."""
        return self._core.run_in_session(
            "GetLobbyMessagesWithLimit", callback, ([],), self._fetch_lobby_messages, lobby_id, limit
        )

    def get_user_messages_with_limit(
        self, recipient_id: int, limit: Int32, callback: MessagesCallback | None = None
    ) -> Completion[list[MessageHandle]]:
        """Return the newest direct messages with a user, newest first: at most 200, not older than 72 hours.

        A `limit` of 0 or less means 200. This sends a request only if the client does not have enough messages
        cached."""
        return self._core.run_in_session(
            "GetUserMessagesWithLimit", callback, ([],), self._get_user_messages, recipient_id, limit
        )

    def get_user_message_summaries(
        self, callback: Callable[[ClientResult, list[UserMessageSummary]], object] | None = None
    ) -> Completion[list[UserMessageSummary]]:
        """List the direct message conversations of the current user."""
        return self._core.run_in_session("GetUserMessageSummaries", callback, ([],), self._fetch_summaries)

    def get_message_handle(self, message_id: int) -> MessageHandle | None:
        """Return a message from the cache, which has the newest 25 messages of each channel, or None."""
        with self._core.lock:
            message = self._core.cache.find_recent_message(message_id)
            return self._core.make(MessageHandle, self._core, message) if message is not None else None

    def get_channel_handle(self, channel_id: int) -> ChannelHandle | None:
        """Return a channel from the cache, or None."""
        return find_channel(self._core, channel_id)

    def can_open_message_in_platform(self, message_id: int) -> bool:
        """Return whether the chat client can show a message; False if the message is not cached.

        The chat client cannot show a message of a lobby without a linked channel, an ephemeral direct message or a disclosure."""
        with self._core.lock:
            message = self._core.cache.find_message(message_id)
            if message is None or message.disclosure is not None:
                return False
            if message.lobby_id:
                lobby = self._core.cache.lobbies.get(message.lobby_id)
                return lobby is not None and lobby.linked_channel is not None
            channel = self._core.cache.channels.get(message.channel_id)
            return channel is not None and channel.type != ChannelType.EPHEMERAL_DM

    def open_message_in_platform(
        self,
        message_id: int,
        provisional_user_merge_required: Callable[[], object],
        callback: ResultCallback | None = None,
    ) -> Completion[None]:
        """Show a message in the chat client on this machine.

        If the current user has a provisional account, `provisional_user_merge_required` is called first; the game then
        links the account and calls `provisional_user_merge_completed`."""
        name = "OpenMessageInPlatform"
        return self._core.run_in_session(
            name,
            callback,
            (),
            self._open_message,
            message_id,
            self._core.hold_callback(provisional_user_merge_required),
        )

    def set_message_created_callback(self, callback: Callable[[int], object]) -> None:
        """Set the callback for new messages, except activity invites; it receives the message ID."""
        self._core.set_callback("message_created", callback)

    def set_message_updated_callback(self, callback: Callable[[int], object]) -> None:
        """Set the callback for edited messages and changed moderation metadata; it receives the message ID."""
        self._core.set_callback("message_updated", callback)

    def set_message_deleted_callback(self, callback: Callable[[int, int], object]) -> None:
        """Set the callback for deleted messages; it receives the message ID and the channel ID."""
        self._core.set_callback("message_deleted", callback)

    # Implementation

    def _status_changed(self, status: ClientStatus) -> None:
        if status is ClientStatus.CONNECTED:
            # A new session may have missed messages, so cached histories may have gaps.
            with self._core.lock:
                self._core.cache.histories.clear()
            self._core.run_in_background(self._fetch_disclosures)

    async def _fetch_disclosures(self) -> None:
        """Fetch the disclosures that the player has already acknowledged, on any device."""
        with contextlib.suppress(ApiError, aiohttp.ClientError, OSError, msgspec.MsgspecError):
            disclosures = await self._core.call(
                resources.user_messages.GET_DISCLOSURES, application_id=self._core.application_id
            )
            self._events.is_disclosed = DISCLOSURE_TYPE in disclosures.acked_disclosures

    async def _acknowledge_disclosure(self) -> None:
        body = resources.user_messages.AcknowledgeDisclosures(disclosures=[int(DISCLOSURE_TYPE)])
        with contextlib.suppress(ApiError, aiohttp.ClientError, OSError):
            await self._core.request(
                resources.user_messages.ACKNOWLEDGE_DISCLOSURES, body=body, application_id=self._core.application_id
            )

    async def _send_user_message(self, recipient_id: int, content: str, metadata: dict[str, str] | None) -> int:
        _check_new_message(content, metadata)
        body = resources.user_messages.SendUserMessage(content=content)
        if metadata is not None:
            body.metadata = metadata
        operation = resources.user_messages.SEND_USER_MESSAGE
        return (await self._core.call_tolerantly(operation, body=body, user_id=recipient_id)).id

    async def _send_lobby_message(self, lobby_id: int, content: str, metadata: dict[str, str] | None) -> int:
        _check_new_message(content, metadata)
        body = resources.lobbies.CreateLobbyMessage(content=content)
        if metadata is not None:
            body.metadata = metadata
        operation = resources.lobbies.CREATE_LOBBY_MESSAGE
        return (await self._core.call_tolerantly(operation, body=body, lobby_id=lobby_id)).id

    async def _edit_message(self, recipient_id: int, message_id: int, content: str) -> None:
        _check_content(content)
        await self._core.request(
            resources.user_messages.EDIT_USER_MESSAGE,
            body=resources.user_messages.EditUserMessage(content=content),
            user_id=recipient_id,
            message_id=message_id,
        )

    async def _delete_message(self, recipient_id: int, message_id: int) -> None:
        await self._core.request(
            resources.user_messages.DELETE_USER_MESSAGE, user_id=recipient_id, message_id=message_id
        )

    async def _fetch_lobby_messages(self, lobby_id: int, limit: int) -> list[MessageHandle]:
        if not 1 <= limit <= HISTORY_MESSAGES_MAX:
            raise validation_error(f"The limit must be between 1 and {HISTORY_MESSAGES_MAX}")
        query = resources.lobbies.ListLobbyMessages(limit=limit)
        response = await self._core.request(resources.lobbies.GET_LOBBY_MESSAGES, query=query, lobby_id=lobby_id)
        # Messages of a linked channel are complete messages, with more fields than the operation declares.
        payloads = decode(response, list[resources.lobbies.LinkedLobbyMessage])
        messages = self._cache_messages(payloads, lobby_id=lobby_id)
        return [self._core.make(MessageHandle, self._core, message) for message in messages]

    async def _get_user_messages(self, recipient_id: int, limit: int) -> list[MessageHandle]:
        limit = HISTORY_MESSAGES_MAX if limit <= 0 else min(limit, HISTORY_MESSAGES_MAX)
        core = self._core
        with core.lock:
            history = core.cache.histories.get(recipient_id)
            if history is not None and history.can_serve(limit):
                since_ms = core.clock() - resources.user_messages.USER_MESSAGE_HISTORY_MS
                cached = [message for message in history.messages if Snowflake(message.id).created_ms >= since_ms]
                return [core.make(MessageHandle, core, message) for message in cached[:limit]]
        query = resources.user_messages.ListUserMessages(limit=limit)
        payloads = await core.call_tolerantly(
            resources.user_messages.LIST_USER_MESSAGES, query=query, user_id=recipient_id
        )
        messages = self._cache_messages(payloads, other_user_id=recipient_id)
        with core.lock:
            previous_history, history = core.cache.histories.get(recipient_id), MessageHistory()
            newest = messages[0].id if messages else 0
            # Keep the messages that arrived while the request was in progress.
            history.messages.extend(
                message for message in (previous_history.messages if previous_history else ()) if message.id > newest
            )
            history.messages.extend(messages)
            history.is_complete = len(messages) < limit
            core.cache.histories[recipient_id] = history
        return [core.make(MessageHandle, core, message) for message in messages]

    def _cache_messages(
        self, payloads: "Sequence[AnyMessage]", *, lobby_id: int = 0, other_user_id: int = 0
    ) -> list[CachedMessage]:
        """Add messages to the cache and return them, newest first; the parameters are those of `cache.Cache.shared_message`."""
        with self._core.lock:
            return [
                self._core.cache.shared_message(payload, lobby_id=lobby_id, other_user_id=other_user_id)
                for payload in sorted(payloads, key=_newest_first)
            ]

    async def _fetch_summaries(self) -> list[UserMessageSummary]:
        summaries = await self._core.call(resources.user_messages.LIST_USER_MESSAGE_SUMMARIES)
        return [
            self._core.make(UserMessageSummary, user_id=summary.user_id, last_message_id=summary.last_message_id)
            for summary in summaries
        ]

    async def _open_message(self, message_id: int, merge_required: OneShotCallback) -> None:
        if not self.can_open_message_in_platform(message_id):
            raise validation_error("The chat client cannot show this message")
        current_user = find_user(self._core, self._core.cache.current_user_id)
        if current_user is not None and current_user.is_provisional:
            await self._merges.request_merge(merge_required)
        with self._core.lock:
            message = self._core.cache.find_message(message_id)
            channel_id = message.channel_id if message is not None else 0
        args = {"channel_id": str(channel_id), "message_id": str(message_id)}
        await self._rpc().command(RpcCommand.OPEN_MESSAGE, args)


def _newest_first(message: "AnyMessage") -> int:
    return -message.id


def _check_new_message(content: str, metadata: dict[str, str] | None) -> None:
    """Raise a validation error if the content or the metadata of a new message is invalid."""
    if not content:
        raise validation_error("The message content must not be empty")
    _check_content(content)
    if metadata is not None:
        _check_metadata(metadata)


def _check_content(content: str) -> None:
    content_max = resources.user_messages.USER_MESSAGE_LENGTH_MAX
    if len(content) > content_max:
        raise validation_error(f"The message content must have at most {content_max} characters")


def _check_metadata(metadata: dict[str, str]) -> None:
    keys_max, text_max = (
        resources.user_messages.USER_MESSAGE_METADATA_KEYS_MAX,
        resources.user_messages.USER_MESSAGE_METADATA_TEXT_LENGTH_MAX,
    )
    if len(metadata) > keys_max:
        raise validation_error(f"Metadata must have at most {keys_max} keys")
    if any(len(text) > text_max for pair in metadata.items() for text in pair):
        raise validation_error(f"Metadata keys and values must have at most {text_max} characters")
