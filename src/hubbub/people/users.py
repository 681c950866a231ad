"""Clients of users: the actions of a chat client.

Every action connects to the gateway first, so that the user receives the resulting events.
"""

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

import aiohttp
import msgspec

from hubbub.people import forms, ogg
from hubbub.people.actors import ActorClient, BotClient
from hubbub.people.context import Identified, PlatformContext
from hubbub.people.errors import InteractionFailed, InvalidArgument
from hubbub.people.expectations import suggest
from hubbub.people.outcomes import InteractionOutcome
from hubbub.people.ready import Application
from hubbub.people.results import Result, ResultList
from hubbub.people.sessions import ActorSession
from hubbub.protocol.enums import CommandType, GatewayOpcode, InteractionType, SkuType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.operation import Operation
from hubbub.protocol.resources.channels import GET_CHANNEL
from hubbub.protocol.resources.direct_messages import CREATE_DM
from hubbub.protocol.resources.interactions import CREATE_INTERACTION, GET_CHANNEL_APPLICATION_COMMAND_INDEX
from hubbub.protocol.resources.invites import ACCEPT_INVITE, CREATE_CHANNEL_INVITE
from hubbub.protocol.resources.messages import (
    CREATE_MESSAGE,
    DELETE_MESSAGE,
    GET_MESSAGE,
    LIST_MESSAGES,
    UPDATE_MESSAGE,
)
from hubbub.protocol.resources.oauth2 import AUTHORIZE_OAUTH2_APPLICATION
from hubbub.protocol.resources.reactions import ADD_MY_MESSAGE_REACTION
from hubbub.protocol.resources.relationships import SET_RELATIONSHIP
from hubbub.protocol.resources.skus import LIST_SKUS
from hubbub.protocol.resources.subscriptions import CREATE_PURCHASE

if TYPE_CHECKING:
    # Imported at the first call, because its libraries are optional.
    from hubbub.people.voice import VoiceClient

ChannelReference: TypeAlias = str | Identified | Mapping[str, Any]
"""A channel by its name in the world, its ID, or an object with its ID; or a user or `@name`, for direct messages."""

MessageReference: TypeAlias = str | Mapping[str, Any]
"""A message, or the ID of a message that the user has received."""

File: TypeAlias = tuple[str, bytes]
"""The name and content of a file."""

_nonce_numbers: Final = itertools.count(1)

TIMEOUT_REASON_CODE: Final = 2
"""The reason_code of INTERACTION_FAILURE if the application did not respond in time."""


class UserClient(ActorClient):
    """Client of a user."""

    def __init__(self, context: PlatformContext, name: str, user_id: str, token: str) -> None:
        super().__init__(context, name, user_id, token)
        self._modals: dict[str, Result] = {}
        """Modals that the user has received, by ID."""
        self._voice_ticket: dict[str, str] | None = None
        """Credentials for the current call; None outside of calls."""
        self._voice: VoiceClient | None = None
        """Connection to the voice server; None without audio."""

    # Messages

    async def send_message(
        self, channel: ChannelReference, body: Mapping[str, Any], files: Mapping[str, bytes]
    ) -> Result:
        """Send a message with files by name; return the message."""
        __tracebackhide__ = True
        session = await self.ensure_session()
        channel_id, _ = await self.resolve_channel(channel)
        message: Result = await self._send_with_files(
            CREATE_MESSAGE, dict(body), list(files.items()), channel_id=channel_id
        )
        # The user also receives an event for their own message, which the caller already has.
        await self._consume_own_event(session, "MESSAGE_CREATE", message["id"])
        return message

    async def reply(
        self, message: MessageReference, body: Mapping[str, Any], channel: ChannelReference | None = None
    ) -> Result:
        """Reply to a message; return the reply."""
        __tracebackhide__ = True
        replied_to = await self.find_message(message, channel)
        reference = {"message_id": replied_to["id"], "channel_id": replied_to["channel_id"]}
        return await self.send_message(replied_to["channel_id"], {**body, "message_reference": reference}, {})

    async def edit(
        self, message: MessageReference, body: Mapping[str, Any], channel: ChannelReference | None = None
    ) -> Result:
        """Edit a message of this user; return the message."""
        __tracebackhide__ = True
        session = await self.ensure_session()
        found = await self.find_message(message, channel)
        edited: Result = await self.send(
            UPDATE_MESSAGE, dict(body), channel_id=found["channel_id"], message_id=found["id"]
        )
        await self._consume_own_event(session, "MESSAGE_UPDATE", found["id"])
        return edited

    async def delete(self, message: MessageReference, channel: ChannelReference | None = None) -> Result:
        """Delete a message."""
        __tracebackhide__ = True
        session = await self.ensure_session()
        found = await self.find_message(message, channel)
        await self.send(DELETE_MESSAGE, channel_id=found["channel_id"], message_id=found["id"])
        await self._consume_own_event(session, "MESSAGE_DELETE", found["id"])
        return Result()

    async def react(self, message: MessageReference, emoji: str, channel: ChannelReference | None = None) -> Result:
        """Add a reaction to a message."""
        __tracebackhide__ = True
        found = await self.find_message(message, channel)
        return await self.connect_and_send(
            ADD_MY_MESSAGE_REACTION, channel_id=found["channel_id"], message_id=found["id"], emoji_name=emoji
        )

    async def read(self, channel: ChannelReference, limit: int) -> ResultList:
        """Return the latest messages of a channel, newest first."""
        __tracebackhide__ = True
        channel_id, _ = await self.resolve_channel(channel)
        messages: ResultList = await self.send(LIST_MESSAGES, query={"limit": limit}, channel_id=channel_id)
        return messages

    async def find_message(
        self, message: MessageReference, channel: ChannelReference | None = None
    ) -> Mapping[str, Any]:
        """Return a message in its latest state: from the received events, or else from its channel."""
        __tracebackhide__ = True
        if isinstance(message, Mapping):
            return message
        found: dict[str, Any] = {}
        for event in self.received_events:
            if event.name in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and event.data["id"] == message:
                found |= event.data
        if found:
            return found
        if channel is None:
            raise InvalidArgument(
                "message", f"{self.name} has not received the message {message}; name its channel to read it there"
            )
        channel_id, _ = await self.resolve_channel(channel)
        read: Result = await self.send(GET_MESSAGE, channel_id=channel_id, message_id=message)
        return read

    async def _send_with_files(
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
        operation: Operation[Any, Any],
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        **parameters: str,
    ) -> Result:
        """Connect to the gateway, then send an operation; return its result, or an empty object."""
        __tracebackhide__ = True
        await self.ensure_session()
        return await self.send(operation, body, query=query, data=None, **parameters) or Result()

    # Friends, guilds, authorization and purchases

    async def befriend(self, user_id: str) -> Result:
        """Send a friend request, or accept one."""
        __tracebackhide__ = True
        return await self.connect_and_send(SET_RELATIONSHIP, {}, user_id=user_id)

    async def create_invite(self, channel: ChannelReference, body: Mapping[str, Any]) -> Result:
        """Create an invite to a channel; return the invite."""
        __tracebackhide__ = True
        channel_id, _ = await self.resolve_channel(channel)
        return await self.connect_and_send(CREATE_CHANNEL_INVITE, dict(body), channel_id=channel_id)

    async def join(self, code: str) -> Result:
        """Accept an invite; return it."""
        __tracebackhide__ = True
        return await self.connect_and_send(ACCEPT_INVITE, {}, code=code)

    async def authorize(
        self,
        application: str | Application,
        scope: str | Sequence[str],
        guild: str | None,
        permissions: int | None,
        query: Mapping[str, Any],
    ) -> Result:
        """Authorize an application, as on its consent page; return the URL of the redirect and its parameters."""
        __tracebackhide__ = True
        scopes = scope.split() if isinstance(scope, str) else list(scope)
        client_id = self.context.find_application(application).id
        parameters = {"client_id": client_id, "scope": " ".join(scopes), **query}
        body: dict[str, Any] = {"authorize": True}
        if set(scopes) - {"bot", "applications.commands"}:
            parameters.setdefault("response_type", "code")
        if guild is not None:
            body["guild_id"] = self.context.guild_id(guild)
        if permissions is not None:
            body["permissions"] = parameters["permissions"] = str(permissions)
        response = await self.connect_and_send(AUTHORIZE_OAUTH2_APPLICATION, body, query=parameters)
        parts = urlsplit(response["url"])
        redirect_query = parse_qs(parts.query) | parse_qs(parts.fragment)
        redirect_parameters = {key: values[0] for key, values in redirect_query.items()}
        return Result(
            {
                **redirect_parameters,
                "url": response["url"],
                "redirect_uri": parts._replace(query="", fragment="").geturl(),
            }
        )

    async def buy(self, sku: str, guild: str | None) -> Result:
        """Buy a SKU, given its name or ID, for a guild if it is a guild subscription; return the purchase."""
        __tracebackhide__ = True
        guild_id = None if guild is None else self.context.guild_id(guild)
        sku_id = sku if sku.isdigit() else await self._find_sku_id(sku)
        return await self.connect_and_send(CREATE_PURCHASE, {"sku_id": sku_id, "guild_id": guild_id})

    async def _find_sku_id(self, name: str) -> str:
        """Return the ID of a SKU, which only the application's bot can list."""
        ids: dict[str, str] = {}
        for application_name, application in self.context.applications.items():
            if application.bot is not None:
                bot = BotClient(self.context, application_name, application.bot.id, application.bot.token)
                skus = await bot.send(LIST_SKUS, application_id=application.id)
                # A subscription has a second SKU, its group, with the same name.
                ids |= {item["name"]: item["id"] for item in skus if item["type"] != SkuType.SUBSCRIPTION_GROUP}
        if name not in ids:
            available = ", ".join(ids) or "none"
            raise InvalidArgument("sku", f"this world has no SKU {name!r}; it has: {available}{suggest(name, ids)}")
        return ids[name]

    # Voice

    async def join_voice(
        self, channel: ChannelReference, flags: Mapping[str, bool], *, with_audio: bool = False
    ) -> Result:
        """Join a voice channel; return the `endpoint`, `token` and `session_id` that a voice client needs.

        With `with_audio`, connect to the voice server, so that the user hears the call.
        """
        __tracebackhide__ = True
        session = await self.ensure_session()
        channel_id, guild_id = await self.resolve_channel(channel)
        state = await self._set_voice_state(session, {"guild_id": guild_id, "channel_id": channel_id, **flags})
        server = await session.wait_event("VOICE_SERVER_UPDATE", timeout_seconds=self.context.timeout_seconds)
        await self._close_voice()
        self._voice_ticket = {
            "server_id": server.get("guild_id") or channel_id,
            "channel_id": channel_id,
            "user_id": self.id,
            "session_id": state["session_id"],
            "token": server["token"],
        }
        if with_audio:
            await self._ensure_voice()
        return Result({**server, "session_id": state["session_id"]})

    async def play(self, file: bytes, timeout_seconds: float | None) -> Result:
        """Play an Ogg Opus file in the call; return its number of `frames` and its `duration_ms`.

        The call begins when another user is connected; `timeout_seconds` limits the wait for one.
        """
        __tracebackhide__ = True
        try:
            packets = ogg.read_packets(file)
        except ogg.OggError as error:
            raise InvalidArgument("file", str(error)) from None
        voice = await self._ensure_voice()
        await voice.play(packets, self.context.timeout_seconds if timeout_seconds is None else timeout_seconds)
        return Result(frames=len(packets), duration_ms=ogg.duration_ms(packets))

    async def hear(
        self,
        user_id: str | None,
        duration_seconds: float,
        quiet_seconds: float,
        timeout_seconds: float | None,
    ) -> "tuple[str, list[bytes]]":
        """Return the ID of a user who speaks in the call and the Opus packets of what this user hears.

        `user_id` selects the user. Recorded audio is returned once; the recording ends after `duration_seconds`, or when
        the user is quiet for `quiet_seconds`.
        """
        __tracebackhide__ = True
        voice = await self._ensure_voice()
        timeout_seconds = self.context.timeout_seconds if timeout_seconds is None else timeout_seconds
        frames = await voice.hear(user_id, duration_seconds, quiet_seconds, timeout_seconds)
        return frames[0].user_id, [frame.packet for frame in frames]

    async def _ensure_voice(self) -> "VoiceClient":
        if self._voice_ticket is None:
            raise InvalidArgument("", f"{self.name} is not in a voice channel")
        if self._voice is None:
            if self.context.ready.voice is None:
                raise InvalidArgument("", "this platform has no voice server")
            try:
                from hubbub.people.voice import VoiceClient, VoiceTicket
            except ImportError as error:
                raise InvalidArgument("", f"audio needs {error.name}: install hubbub[server,voice]") from None
            # The web listener serves the voice socket too, so no certificate is needed.
            url = self.context.ready.gateway.removesuffix("/gateway") + "/voice"
            ticket = VoiceTicket(**self._voice_ticket)
            self._voice = await VoiceClient.open(self.context.http, url, self.name, ticket)
        return self._voice

    async def _close_voice(self) -> None:
        voice, self._voice, self._voice_ticket = self._voice, None, None
        if voice is not None:
            await voice.close()

    async def disconnect(self) -> Result:
        """Leave the call and disconnect from the gateway; the events received so far are discarded."""
        await self._close_voice()
        return await super().disconnect()

    async def leave_voice(self) -> Result:
        """Leave the current voice channel."""
        __tracebackhide__ = True
        session = await self.ensure_session()
        states = [
            event.data
            for event in session.received
            if event.name == "VOICE_STATE_UPDATE" and event.data["user_id"] == self.id
        ]
        if not states or states[-1]["channel_id"] is None:
            raise InvalidArgument("", f"{self.name} is not in a voice channel")
        await self._close_voice()
        state = await self._set_voice_state(session, {"guild_id": states[-1].get("guild_id"), "channel_id": None})
        return Result(state)

    async def _set_voice_state(self, session: ActorSession, state: Mapping[str, Any]) -> Any:
        await session.send(GatewayOpcode.VOICE_STATE_UPDATE, {"self_mute": False, "self_deaf": False, **state})
        expected = {"user_id": self.id, "channel_id": state["channel_id"]}
        return await session.wait_event(
            "VOICE_STATE_UPDATE",
            lambda data: all(data.get(key) == value for key, value in expected.items()),
            timeout_seconds=self.context.timeout_seconds,
        )

    # Applications

    async def run(
        self,
        channel: ChannelReference,
        command: str,
        values: Mapping[str, Any],
        target: Identified | Mapping[str, Any] | str | None,
        application: str | Application | None,
        timeout_seconds: float | None,
        *,
        wait_for_answer: bool = True,
    ) -> Result:
        """Run a command; return the response, and instead of a deferred one its answer if `wait_for_answer` is True."""
        __tracebackhide__ = True
        channel_id, guild_id = await self.resolve_channel(channel)
        command_object, path = await self._find_command(
            channel_id, command, application, is_context_menu=target is not None
        )
        data: dict[str, Any] = {
            "id": command_object["id"],
            "name": command_object["name"],
            "type": command_object["type"],
        }
        files: list[File] = []
        if target is not None:
            data["target_id"] = self.context.id_of(target)
        else:
            data["options"] = forms.build_options(command_object, path, values, partial(self._resolve_value, files))
        interaction_type = InteractionType.APPLICATION_COMMAND
        return await self._send_interaction(
            interaction_type,
            channel_id,
            guild_id,
            command_object["application_id"],
            data,
            None,
            timeout_seconds,
            files,
            wait_for_answer=wait_for_answer,
        )

    async def complete(
        self,
        channel: ChannelReference,
        command: str,
        option: str,
        values: Mapping[str, Any],
        application: str | Application | None,
        timeout_seconds: float | None,
    ) -> ResultList:
        """Return the application's choices for `option`, whose typed text is among the `values`."""
        __tracebackhide__ = True
        channel_id, guild_id = await self.resolve_channel(channel)
        command_object, path = await self._find_command(channel_id, command, application, is_context_menu=False)
        data = {"id": command_object["id"], "name": command_object["name"], "type": command_object["type"]}
        data["options"] = forms.build_options(command_object, path, values, partial(self._resolve_value, []), option)
        interaction_type = InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE
        response = await self._send_interaction(
            interaction_type, channel_id, guild_id, command_object["application_id"], data, None, timeout_seconds
        )
        return ResultList(response["choices"])

    async def use_component(
        self,
        message: Mapping[str, Any],
        identifier: str,
        types: tuple[int, ...],
        values: Sequence[Any] | None,
        timeout_seconds: float | None,
        *,
        wait_for_answer: bool = True,
    ) -> Result:
        """Click a button or choose the values of a select; return the response.

        The response is a new message, the updated message with the component, or a modal.
        """
        __tracebackhide__ = True
        component = forms.find_component(message, identifier, types)
        if "custom_id" not in component:
            raise InvalidArgument(
                "component", f"{identifier!r} is a link button: clicking it does not create an interaction"
            )
        data: dict[str, Any] = {"component_type": component["type"], "custom_id": component["custom_id"]}
        if values is not None:
            object_type = forms.NAMED_COMPONENT_OBJECTS.get(component["type"])
            with forms.error_path("values"):
                data["values"] = [self._resolve_value([], value, object_type) for value in values]
        channel_id, guild_id = await self.resolve_channel(message["channel_id"])
        application_id = message.get("application_id") or message["author"]["id"]
        interaction_type = InteractionType.MESSAGE_COMPONENT
        return await self._send_interaction(
            interaction_type,
            channel_id,
            guild_id,
            application_id,
            data,
            message,
            timeout_seconds,
            wait_for_answer=wait_for_answer,
        )

    async def submit(
        self,
        modal: Mapping[str, Any] | str,
        fields: Mapping[str, Any],
        timeout_seconds: float | None,
        *,
        wait_for_answer: bool = True,
    ) -> Result:
        """Submit a modal, or the modal with this ID, with values by custom_id or label; return the response."""
        __tracebackhide__ = True
        if isinstance(modal, str):
            if modal not in self._modals:
                raise InvalidArgument("modal", f"{self.name} has not received the modal {modal}")
            modal = self._modals[modal]
        data = {"id": modal["id"], "custom_id": modal["custom_id"]}
        files: list[File] = []
        data["components"] = forms.build_modal_components(modal, fields, partial(self._resolve_value, files))
        channel_id, guild_id = await self.resolve_channel(modal["channel_id"])
        application_id = modal["application"]["id"]
        interaction_type = InteractionType.MODAL_SUBMIT
        # The response may update the message from which the modal was opened.
        message = modal.component_message if isinstance(modal, Result) else None
        return await self._send_interaction(
            interaction_type,
            channel_id,
            guild_id,
            application_id,
            data,
            message,
            timeout_seconds,
            files,
            wait_for_answer=wait_for_answer,
        )

    async def _find_command(
        self, channel_id: str, command: str, application: str | Application | None, *, is_context_menu: bool
    ) -> tuple[dict[str, Any], list[str]]:
        """Return a command that is available to this user in a channel, and the path of its sub-commands."""
        index = await self.send(GET_CHANNEL_APPLICATION_COMMAND_INDEX, channel_id=channel_id)
        available = index["application_commands"]
        if application is not None:
            application_id = self.context.find_application(application).id
            available = [item for item in available if item["application_id"] == application_id]
        name, *path = [command] if is_context_menu else command.split() or [""]
        types = (CommandType.USER, CommandType.MESSAGE) if is_context_menu else (CommandType.CHAT_INPUT,)
        matching = [item for item in available if item["name"] == name and item["type"] in types]
        if not matching:
            names = sorted({item["name"] for item in available})
            raise InvalidArgument(
                "command",
                f"command {name!r} is not available to {self.name} there; available: {', '.join(names) or 'none'}"
                f"{suggest(name, names)}",
            )
        if len({item["application_id"] for item in matching}) > 1:
            raise InvalidArgument(
                "application", f"several applications have a command {name!r}; select one with application="
            )
        return matching[0], path

    async def _send_interaction(
        self,
        interaction_type: InteractionType,
        channel_id: str,
        guild_id: str | None,
        application_id: str,
        data: dict[str, Any],
        message: Mapping[str, Any] | None,
        timeout_seconds: float | None,
        files: Sequence[File] = (),
        *,
        wait_for_answer: bool = True,
    ) -> Result:
        """Send an interaction and return the response."""
        __tracebackhide__ = True
        session = await self.ensure_session()
        nonce, first_position = f"hubbub.people.{next(_nonce_numbers)}", len(session.received)
        body: dict[str, Any] = {
            "type": interaction_type,
            "application_id": application_id,
            "channel_id": channel_id,
            "session_id": session.id,
            "nonce": nonce,
            "data": data,
        }
        if guild_id is not None:
            body["guild_id"] = guild_id
        if message is not None and interaction_type == InteractionType.MESSAGE_COMPONENT:
            body["message_id"] = message["id"]
        await self._send_with_files(CREATE_INTERACTION, body, files)
        outcome = InteractionOutcome(session, nonce, first_position, message)
        timeout_seconds = self.context.timeout_seconds if timeout_seconds is None else timeout_seconds
        deadline = asyncio.get_running_loop().time() + timeout_seconds
        if not await session.wait_until(outcome.process_events, timeout_seconds):
            name = self.context.name_of(application_id)
            if not session.is_open:
                closed_with = session.closed_with
                raise InteractionFailed(f"{self.name} cannot receive the response of {name}: closed with {closed_with}")
            raise InteractionFailed(f"{name} did not respond to {self.name} within {timeout_seconds:g} s")
        if outcome.failure is not None:
            name, code = self.context.name_of(application_id), outcome.failure.get("reason_code")
            failure = (
                "did not respond in time" if code == TIMEOUT_REASON_CODE else f"failed to respond (reason_code {code})"
            )
            raise InteractionFailed(f"{name} {failure}: {self.name} received INTERACTION_FAILURE")
        if outcome.response is None:
            # Only INTERACTION_SUCCESS has arrived. If the gateway is re-reading the guild, the response follows later.
            await self.wait_for_delivery(session)
            outcome.find_late_response()
        result = Result(outcome.response if outcome.response is not None else message or {})
        result.component_message, result.is_modal = message, outcome.is_modal
        if outcome.is_modal:
            self._modals[result["id"]] = result
        elif wait_for_answer and result.get("flags", 0) & MessageFlags.LOADING:
            seconds_left = deadline - asyncio.get_running_loop().time()
            return await self._wait_for_answer(session, result, application_id, seconds_left)
        return result

    async def _wait_for_answer(
        self, session: ActorSession, deferred: Result, application_id: str, timeout_seconds: float
    ) -> Result:
        """Return the message that replaces a deferred response."""
        __tracebackhide__ = True

        def is_answer(data: dict[str, Any]) -> bool:
            return bool(data["id"] == deferred["id"] and not data.get("flags", 0) & MessageFlags.LOADING)

        def is_deletion(data: dict[str, Any]) -> bool:
            return bool(data["id"] == deferred["id"])

        def is_known() -> bool:
            return (
                session.find("MESSAGE_UPDATE", is_answer) is not None
                or session.find("MESSAGE_DELETE", is_deletion) is not None
            )

        name = self.context.name_of(application_id)
        if not await session.wait_until(is_known, timeout_seconds):
            raise InteractionFailed(f"{name} deferred its response to {self.name} and did not answer in time")
        position = session.find("MESSAGE_UPDATE", is_answer)
        if position is None:
            raise InteractionFailed(f"{name} deferred its response to {self.name} and deleted it")
        answer = Result(session.consume(position))
        answer.component_message = deferred.component_message
        return answer

    # Resolution of names

    def _resolve_value(self, files: list[File], value: Any, object_type: str | None) -> Any:
        """Convert a test's value for an option, select or field to the value to send; append a file to `files`."""
        if isinstance(value, tuple):
            files.append(value)
            return str(len(files) - 1)
        if isinstance(value, Mapping) or hasattr(value, "id"):
            return self.context.id_of(value)
        if object_type is not None and not str(value).isdigit():
            return self.context.find_id(object_type, str(value))
        return value

    async def resolve_channel(self, channel: ChannelReference) -> tuple[str, str | None]:
        """Return the ID of a channel and of its guild, which is None for a direct message channel."""
        if isinstance(channel, str) and channel.startswith("@"):
            return await self._open_direct_channel(self.context.user_id(channel[1:])), None
        if isinstance(channel, Mapping):
            channel = str(channel["id"])
        elif not isinstance(channel, str):
            return await self._open_direct_channel(channel.id), None
        channel_id = channel if channel.isdigit() else self.context.channel_id(channel)
        guild_id = self.context.guild_id_of(channel_id)
        if guild_id is None:
            guild_id = (await self.send(GET_CHANNEL, channel_id=channel_id)).get("guild_id")
        return channel_id, guild_id

    async def _open_direct_channel(self, user_id: str) -> str:
        direct_channel = await self.send(CREATE_DM, {"recipient_id": user_id})
        return str(direct_channel["id"])
