"""Direct messages and messages of lobbies (sdk.md 11)."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import aiohttp
import msgspec

from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import EPOCH_MS
from hubbub.sdk.cache import HISTORY_MESSAGES, History, Message
from hubbub.sdk.core import Core, Held
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import ChannelType, ClientStatus, DisclosureTypes
from hubbub.sdk.events import Events
from hubbub.sdk.handles import ChannelHandle, MessageHandle, find_channel, find_user
from hubbub.sdk.merges import Merges
from hubbub.sdk.payloads import MessagePayload, read
from hubbub.sdk.records import UserMessageSummary
from hubbub.sdk.results import ClientResult, invalid
from hubbub.sdk.rpc import Rpc

CONTENT_MAX: Final = 2000
METADATA_KEYS: Final = 25
METADATA_TEXT: Final = 1024
HISTORY_MS: Final = 72 * 3600 * 1000
"""Nothing older than 72 hours is shown (the specification, Limits)."""

DISCLOSURES: Final = "/applications/{application_id}/disclosures"
NOTICE: Final = DisclosureTypes.MESSAGE_DATA_VISIBLE_ON_PLATFORM

Sent = Callable[[ClientResult, int], object]
Done = Callable[[ClientResult], object]
Listed = Callable[[ClientResult, list[MessageHandle]], object]


class SummaryPayload(msgspec.Struct):
    """A conversation in short."""

    user_id: int
    last_message_id: int | None = None


class DisclosuresPayload(msgspec.Struct):
    """Notices that the player has read."""

    acked_disclosures: list[int] = []


class Messages:
    """Writes and reads messages."""

    def __init__(self, core: Core, events: Events, rpc: Callable[[], Rpc], merges: Merges) -> None:
        self._core = core
        self._events = events
        self._rpc = rpc
        self._merges = merges
        events.acknowledge = lambda: core.background(self._acknowledge)
        core.watchers.append(self._watch)

    # Writing

    def send_user_message(self, recipient_id: int, content: str, callback: Sent | None = None) -> Completion[int]:
        """Write to somebody; answers the message's id."""
        return self._core.start("SendUserMessage", callback, (0,), self._send_user, recipient_id, content, None)

    def send_user_message_with_metadata(
        self, recipient_id: int, content: str, metadata: Mapping[str, str], callback: Sent | None = None
    ) -> Completion[int]:
        """Write to somebody, and send something for the game along."""
        name = "SendUserMessageWithMetadata"
        return self._core.start(name, callback, (0,), self._send_user, recipient_id, content, dict(metadata))

    def edit_user_message(
        self, recipient_id: int, message_id: int, content: str, callback: Done | None = None
    ) -> Completion[None]:
        """Change a message of ours."""
        return self._core.start("EditUserMessage", callback, (), self._edit, recipient_id, message_id, content)

    def delete_user_message(self, recipient_id: int, message_id: int, callback: Done | None = None) -> Completion[None]:
        """Take a message of ours away."""
        return self._core.start("DeleteUserMessage", callback, (), self._delete, recipient_id, message_id)

    def send_lobby_message(self, lobby_id: int, content: str, callback: Sent | None = None) -> Completion[int]:
        """Write in a lobby; answers the message's id."""
        return self._core.start("SendLobbyMessage", callback, (0,), self._send_lobby, lobby_id, content, None)

    def send_lobby_message_with_metadata(
        self, lobby_id: int, content: str, metadata: Mapping[str, str], callback: Sent | None = None
    ) -> Completion[int]:
        """Write in a lobby, and send something for the game along."""
        name = "SendLobbyMessageWithMetadata"
        return self._core.start(name, callback, (0,), self._send_lobby, lobby_id, content, dict(metadata))

    # Reading

    def get_lobby_messages_with_limit(
        self, lobby_id: int, limit: int, callback: Listed | None = None
    ) -> Completion[list[MessageHandle]]:
        """The newest messages of a lobby, the newest first: at most 200 of 72 hours; always over the network."""
        return self._core.start("GetLobbyMessagesWithLimit", callback, ([],), self._of_lobby, lobby_id, limit)

    def get_user_messages_with_limit(
        self, recipient_id: int, limit: int, callback: Listed | None = None
    ) -> Completion[list[MessageHandle]]:
        """The newest messages with somebody, the newest first; over the network unless enough are known."""
        return self._core.start("GetUserMessagesWithLimit", callback, ([],), self._with_user, recipient_id, limit)

    def get_user_message_summaries(
        self, callback: Callable[[ClientResult, list[UserMessageSummary]], object] | None = None
    ) -> Completion[list[UserMessageSummary]]:
        """With whom there are conversations."""
        return self._core.start("GetUserMessageSummaries", callback, ([],), self._summaries)

    def get_message_handle(self, message_id: int) -> MessageHandle | None:
        """A message among the newest of its channel; nothing goes over the network."""
        with self._core.lock:
            message = self._core.cache.recent(message_id)
            return self._core.make(MessageHandle, self._core, message) if message is not None else None

    def get_channel_handle(self, channel_id: int) -> ChannelHandle | None:
        """A conversation that the client knows."""
        return find_channel(self._core, channel_id)

    def can_open_message_in_platform(self, message_id: int) -> bool:
        """Whether the chat client could show it: not one of an unlinked lobby, nor an ephemeral one."""
        with self._core.lock:
            message = self._core.cache.message(message_id)
            if message is None or message.disclosure is not None:
                return False
            told = message.payload
            if told.lobby_id:
                lobby = self._core.cache.lobbies.get(told.lobby_id)
                return lobby is not None and lobby.linked_channel is not None
            channel = self._core.cache.channels.get(told.channel_id)
            return channel is not None and channel.type != ChannelType.EPHEMERAL_DM

    def open_message_in_platform(
        self,
        message_id: int,
        provisional_user_merge_required: Callable[[], object],
        callback: Done | None = None,
    ) -> Completion[None]:
        """Show a message in the chat client; a provisional account is asked to link first."""
        name = "OpenMessageInPlatform"
        return self._core.start(
            name, callback, (), self._open, message_id, self._core.hold(provisional_user_merge_required)
        )

    def set_message_created_callback(self, callback: Callable[[int], object]) -> None:
        """Hear of new messages, invites excepted."""
        self._core.listen("message_created", callback)

    def set_message_updated_callback(self, callback: Callable[[int], object]) -> None:
        """Hear of edits, and of moderation metadata."""
        self._core.listen("message_updated", callback)

    def set_message_deleted_callback(self, callback: Callable[[int, int], object]) -> None:
        """Hear that a message is gone, and from which channel."""
        self._core.listen("message_deleted", callback)

    # Inside

    def _watch(self, status: ClientStatus) -> None:
        if status is ClientStatus.CONNECTED:
            # A session began anew, so messages may have been missed: no history is without a gap.
            with self._core.lock:
                self._core.cache.histories.clear()
            self._core.background(self._look_at_disclosures)

    async def _look_at_disclosures(self) -> None:
        """What the player was told before, in this game or on another device."""
        with contextlib.suppress(ApiError, aiohttp.ClientError, OSError, msgspec.MsgspecError):
            answer = await self._core.ask("GET", DISCLOSURES, application_id=self._core.application_id)
            self._events.disclosed = NOTICE in read(answer, DisclosuresPayload).acked_disclosures

    async def _acknowledge(self) -> None:
        body = {"disclosures": [int(NOTICE)]}
        with contextlib.suppress(ApiError, aiohttp.ClientError, OSError):
            await self._core.ask("POST", DISCLOSURES, json=body, application_id=self._core.application_id)

    async def _post(self, path: str, content: str, metadata: dict[str, str] | None, to: int) -> int:
        if not content:
            raise invalid("a message has content")
        _check_content(content)
        body: dict[str, Any] = {"content": content}
        if metadata is not None:
            _check_metadata(metadata)
            body["metadata"] = metadata
        return read(await self._core.ask("POST", path, json=body, to=to), MessagePayload).id

    async def _send_user(self, recipient_id: int, content: str, metadata: dict[str, str] | None) -> int:
        return await self._post("/users/{to}/messages", content, metadata, recipient_id)

    async def _send_lobby(self, lobby_id: int, content: str, metadata: dict[str, str] | None) -> int:
        return await self._post("/lobbies/{to}/messages", content, metadata, lobby_id)

    async def _edit(self, recipient_id: int, message_id: int, content: str) -> None:
        _check_content(content)
        await self._core.ask(
            "PATCH",
            "/users/{user_id}/messages/{message_id}",
            json={"content": content},
            user_id=recipient_id,
            message_id=message_id,
        )

    async def _delete(self, recipient_id: int, message_id: int) -> None:
        await self._core.ask(
            "DELETE", "/users/{user_id}/messages/{message_id}", user_id=recipient_id, message_id=message_id
        )

    async def _of_lobby(self, lobby_id: int, limit: int) -> list[MessageHandle]:
        if not 1 <= limit <= HISTORY_MESSAGES:
            raise invalid(f"a limit is between 1 and {HISTORY_MESSAGES}")
        answer = await self._core.ask("GET", "/lobbies/{lobby_id}/messages", query={"limit": limit}, lobby_id=lobby_id)
        told = read(answer, list[MessagePayload])
        for each in told:
            each.lobby_id = each.lobby_id or lobby_id
            each.channel_id = each.channel_id or lobby_id
        return [self._core.make(MessageHandle, self._core, each) for each in self._hold(told, 0)]

    async def _with_user(self, recipient_id: int, limit: int) -> list[MessageHandle]:
        limit = HISTORY_MESSAGES if limit <= 0 else min(limit, HISTORY_MESSAGES)
        core = self._core
        with core.lock:
            history = core.cache.histories.get(recipient_id)
            if history is not None and history.enough(limit):
                since = core.clock() - HISTORY_MS
                known = [each for each in history.messages if (each.payload.id >> 22) + EPOCH_MS >= since]
                return [core.make(MessageHandle, core, each) for each in known[:limit]]
        answer = await core.ask("GET", "/users/{user_id}/messages", query={"limit": limit}, user_id=recipient_id)
        told = read(answer, list[MessagePayload])
        held = self._hold(told, recipient_id)
        with core.lock:
            before, history = core.cache.histories.get(recipient_id), History()
            newest = held[0].payload.id if held else 0
            # What was written while the answer was under way.
            history.messages.extend(each for each in (before.messages if before else ()) if each.payload.id > newest)
            history.messages.extend(held)
            history.complete = len(held) < limit
            core.cache.histories[recipient_id] = history
        return [core.make(MessageHandle, core, each) for each in held]

    def _hold(self, told: list[MessagePayload], other: int) -> list[Message]:
        """The newest first."""
        with self._core.lock:
            return [self._core.cache.hold(each, other=other) for each in sorted(told, key=_age)]

    async def _summaries(self) -> list[UserMessageSummary]:
        told = read(await self._core.ask("GET", "/partner-sdk/users/@me/channels"), list[SummaryPayload])
        return [
            self._core.make(UserMessageSummary, user_id=each.user_id, last_message_id=each.last_message_id or 0)
            for each in told
        ]

    async def _open(self, message_id: int, merge_required: Held) -> None:
        if not self.can_open_message_in_platform(message_id):
            raise invalid("the chat client cannot show this message")
        me = find_user(self._core, self._core.cache.me)
        if me is not None and me.is_provisional:
            await self._merges.required(merge_required)
        with self._core.lock:
            message = self._core.cache.message(message_id)
            channel_id = message.payload.channel_id if message is not None else 0
        args = {"channel_id": str(channel_id), "message_id": str(message_id)}
        await self._rpc().command("OPEN_MESSAGE", args)


def _age(message: MessagePayload) -> int:
    return -message.id


def _check_content(content: str) -> None:
    if len(content) > CONTENT_MAX:
        raise invalid(f"a message has at most {CONTENT_MAX} characters")


def _check_metadata(metadata: dict[str, str]) -> None:
    if len(metadata) > METADATA_KEYS:
        raise invalid(f"metadata has at most {METADATA_KEYS} keys")
    if any(len(text) > METADATA_TEXT for pair in metadata.items() for text in pair):
        raise invalid(f"keys and values of metadata have at most {METADATA_TEXT} characters")
