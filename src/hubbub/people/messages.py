"""Clients that send, edit, delete, read and react to messages."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import aiohttp
import msgspec
from msgspec import UNSET

from hubbub.people.actors import ActorClient
from hubbub.people.context import Identified
from hubbub.people.errors import InvalidArgument
from hubbub.people.results import Result, ResultList
from hubbub.people.sessions import ActorSession
from hubbub.protocol.ids import UserId
from hubbub.protocol.operation import Operation, ResultT
from hubbub.protocol.resources.channels import GET_CHANNEL
from hubbub.protocol.resources.direct_messages import CREATE_DM, CreateDm
from hubbub.protocol.resources.messages import (
    CREATE_MESSAGE,
    DELETE_MESSAGE,
    GET_MESSAGE,
    LIST_MESSAGES,
    MESSAGE_CREATE,
    MESSAGE_DELETE,
    MESSAGE_UPDATE,
    UPDATE_MESSAGE,
    Message,
)
from hubbub.protocol.resources.reactions import ADD_MY_MESSAGE_REACTION

ChannelReference: TypeAlias = str | Identified | Mapping[str, Any]
"""A channel by its name in the world, its ID or its API object; or a user or `@name`, for direct messages."""

MessageReference: TypeAlias = str | Mapping[str, Any]
"""A message, or its ID; without a channel, an ID must be that of a message that the user has received."""

File: TypeAlias = tuple[str, bytes]
"""The name and content of a file."""


class MessagingClient(ActorClient):
    """Client of a user who sends, edits, deletes, reads and reacts to messages."""

    async def send_message(
        self, channel: ChannelReference, body: Mapping[str, Any], files: Mapping[str, bytes]
    ) -> Result[Message]:
        """Send a message; `files` contains the content of each file by filename. Return the message."""
        __tracebackhide__ = True
        session = await self.ensure_session()
        channel_id, _ = await self.resolve_channel(channel)
        message: Result[Message] = await self.send_with_files(
            CREATE_MESSAGE, dict(body), list(files.items()), channel_id=channel_id
        )
        # The user also receives an event for their own message, which the caller already has.
        await self._consume_own_event(session, MESSAGE_CREATE.name, message["id"])
        return message

    async def reply(
        self, message: MessageReference, body: Mapping[str, Any], channel: ChannelReference | None = None
    ) -> Result[Message]:
        """Reply to a message; return the reply."""
        __tracebackhide__ = True
        replied_to = await self.resolve_message(message, channel)
        reference = {"message_id": replied_to["id"], "channel_id": replied_to["channel_id"]}
        return await self.send_message(replied_to["channel_id"], {**body, "message_reference": reference}, {})

    async def edit(
        self, message: MessageReference, body: Mapping[str, Any], channel: ChannelReference | None = None
    ) -> Result[Message]:
        """Edit a message of this user; return the message."""
        __tracebackhide__ = True
        session = await self.ensure_session()
        target = await self.resolve_message(message, channel)
        edited_message: Result[Message] = await self.send(
            UPDATE_MESSAGE, dict(body), channel_id=target["channel_id"], message_id=target["id"]
        )
        await self._consume_own_event(session, MESSAGE_UPDATE.name, target["id"])
        return edited_message

    async def delete(self, message: MessageReference, channel: ChannelReference | None = None) -> Result[None]:
        """Delete a message of this user, or of another user with the permission for it."""
        __tracebackhide__ = True
        session = await self.ensure_session()
        target = await self.resolve_message(message, channel)
        await self.send(DELETE_MESSAGE, channel_id=target["channel_id"], message_id=target["id"])
        await self._consume_own_event(session, MESSAGE_DELETE.name, target["id"])
        return Result()

    async def react(
        self, message: MessageReference, emoji: str, channel: ChannelReference | None = None
    ) -> Result[None]:
        """Add a reaction to a message."""
        __tracebackhide__ = True
        target = await self.resolve_message(message, channel)
        return await self.connect_and_send(
            ADD_MY_MESSAGE_REACTION, channel_id=target["channel_id"], message_id=target["id"], emoji_name=emoji
        )

    async def read(self, channel: ChannelReference, limit: int) -> ResultList[Message]:
        """Return the latest messages of a channel, newest first."""
        __tracebackhide__ = True
        channel_id, _ = await self.resolve_channel(channel)
        messages: ResultList[Message] = await self.send(LIST_MESSAGES, query={"limit": limit}, channel_id=channel_id)
        return messages

    async def resolve_message(
        self, message: MessageReference, channel: ChannelReference | None = None
    ) -> Mapping[str, Any]:
        """Return a message object unchanged, or the message with an ID from the received events or else from its channel.

        Raise `InvalidArgument` if the user has not received the message and `channel` is None."""
        __tracebackhide__ = True
        if isinstance(message, Mapping):
            return message
        merged_message: dict[str, Any] = {}
        for event in self.received_events:
            if event.name in (MESSAGE_CREATE.name, MESSAGE_UPDATE.name) and event.data["id"] == message:
                merged_message |= event.data
        if merged_message:
            return merged_message
        if channel is None:
            raise InvalidArgument(
                "message", f"{self.name} has not received the message {message}; name its channel to read it there"
            )
        channel_id, _ = await self.resolve_channel(channel)
        fetched_message: Result[Message] = await self.send(GET_MESSAGE, channel_id=channel_id, message_id=message)
        return fetched_message

    async def send_with_files(
        self, operation: Operation[Any, Any], body: dict[str, Any], files: Sequence[File], **parameters: str
    ) -> Any:
        __tracebackhide__ = True
        if not files:
            return await self.send(operation, body, query=None, data=None, **parameters)
        form = aiohttp.FormData({"payload_json": msgspec.json.encode(body).decode()})
        for index, (name, content) in enumerate(files):
            form.add_field(f"files[{index}]", content, filename=name)
        return await self.send(operation, None, query=None, data=form, **parameters)

    async def _consume_own_event(self, session: ActorSession, event: str, object_id: str) -> None:
        """Consume the event of the user's own action, so that `expect` does not return it."""
        await session.wait_event(
            event, lambda data: data.get("id") == object_id, timeout_seconds=self.context.timeout_seconds
        )

    async def connect_and_send(
        self,
        operation: Operation[Any, ResultT],
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        **parameters: str,
    ) -> Result[ResultT]:
        """Connect to the gateway, then send an operation; return its result, or an empty object."""
        __tracebackhide__ = True
        await self.ensure_session()
        return await self.send(operation, body, query=query, data=None, **parameters) or Result()

    async def resolve_channel(self, channel: ChannelReference) -> tuple[str, str | None]:
        """Return the ID of a channel and of its guild, which is None for a direct message channel.

        For a user, the direct message channel is created if it does not exist."""
        if isinstance(channel, str) and channel.startswith("@"):
            return await self._open_direct_channel(self.context.user_id(channel[1:])), None
        if isinstance(channel, Mapping):
            channel = str(channel["id"])
        elif not isinstance(channel, str):
            return await self._open_direct_channel(channel.id), None
        channel_id = channel if channel.isdigit() else self.context.channel_id(channel)
        guild_id = self.context.guild_id_of(channel_id)
        if guild_id is None:
            found_guild_id = (await self.call(GET_CHANNEL, channel_id=channel_id)).guild_id
            guild_id = str(found_guild_id) if found_guild_id is not UNSET else None
        return channel_id, guild_id

    async def _open_direct_channel(self, user_id: str) -> str:
        direct_channel = await self.call(CREATE_DM, CreateDm(recipient_id=UserId(user_id)))
        return str(direct_channel.id)
