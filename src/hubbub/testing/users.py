"""Users of a test: methods for the actions of a chat client.

Every action connects to the gateway first, so that the user receives the resulting events.
"""

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

import aiohttp
import msgspec

from hubbub.protocol.enums import CommandType, ComponentType, GatewayOpcode, InteractionType
from hubbub.protocol.operation import Operation
from hubbub.protocol.resources.channels import GET_CHANNEL
from hubbub.protocol.resources.direct_messages import CREATE_DM
from hubbub.protocol.resources.interactions import CREATE_INTERACTION, GET_CHANNEL_APPLICATION_COMMAND_INDEX
from hubbub.protocol.resources.invites import ACCEPT_INVITE
from hubbub.protocol.resources.messages import CREATE_MESSAGE, LIST_MESSAGES
from hubbub.protocol.resources.oauth2 import AUTHORIZE_OAUTH2_APPLICATION
from hubbub.protocol.resources.reactions import ADD_MY_MESSAGE_REACTION
from hubbub.protocol.resources.relationships import SET_RELATIONSHIP
from hubbub.testing import forms
from hubbub.testing.actors import Actor
from hubbub.testing.errors import InteractionFailed
from hubbub.testing.outcomes import InteractionOutcome
from hubbub.testing.ready import Application
from hubbub.testing.results import Result, ResultList
from hubbub.testing.sessions import ActorSession

ChannelReference: TypeAlias = "str | Actor | Mapping[str, Any]"
"""A channel by its name in the world, its ID, or an object with its ID; or a user, for the direct message channel."""

File: TypeAlias = tuple[str, bytes]
"""The name and content of a file."""

_nonce_numbers: Final = itertools.count(1)

TIMEOUT_REASON_CODE: Final = 2
"""The reason_code of INTERACTION_FAILURE if the application did not respond in time."""


class User(Actor):
    """A user of the world, or one added by `Platform.add_user`."""

    # Messages

    def send_message(
        self, channel: ChannelReference, content: str = "", *, files: Mapping[str, bytes] | None = None, **body: Any
    ) -> Result:
        """Send a message, with optional files by name and further fields of the API's body; return the message."""
        __tracebackhide__ = True
        return self._run_action(self._send_message(channel, {"content": content, **body}, files or {}), "send_message")

    async def _send_message(
        self, channel: ChannelReference, body: dict[str, Any], files: Mapping[str, bytes]
    ) -> Result:
        __tracebackhide__ = True
        session = await self._ensure_session()
        channel_id, _ = await self._resolve_channel(channel)
        message: Result = await self._send_with_files(CREATE_MESSAGE, body, list(files.items()), channel_id=channel_id)
        # The user also receives an event for their own message, which the test already has.
        await self._consume_own_event(session, "MESSAGE_CREATE", message["id"])
        return message

    async def _send_with_files(
        self, operation: Operation[Any, Any], body: dict[str, Any], files: Sequence[File], **parameters: str
    ) -> Any:
        __tracebackhide__ = True
        if not files:
            return await self._send(operation, body, query=None, data=None, **parameters)
        form = aiohttp.FormData({"payload_json": msgspec.json.encode(body).decode()})
        for index, (name, content) in enumerate(files):
            form.add_field(f"files[{index}]", content, filename=name)
        return await self._send(operation, None, query=None, data=form, **parameters)

    async def _consume_own_event(self, session: ActorSession, event: str, object_id: str) -> None:
        """Consume the event of the user's own action, so that `expect` does not return it."""
        await session.wait_event(
            event, lambda data: data.get("id") == object_id, timeout_seconds=self._context.timeout_seconds
        )

    def react(self, message: Mapping[str, Any], emoji: str) -> Result:
        """Add a reaction to a message."""
        __tracebackhide__ = True
        reaction = self._connect_and_send(
            ADD_MY_MESSAGE_REACTION, channel_id=message["channel_id"], message_id=message["id"], emoji_name=emoji
        )
        return self._run_action(reaction, f"react {emoji}")

    def read(self, channel: ChannelReference, limit: int = 50) -> ResultList:
        """Return the latest messages of a channel, newest first."""
        __tracebackhide__ = True
        return self._run_action(self._read_messages(channel, limit), "read")

    async def _read_messages(self, channel: ChannelReference, limit: int) -> ResultList:
        __tracebackhide__ = True
        channel_id, _ = await self._resolve_channel(channel)
        messages: ResultList = await self._send(LIST_MESSAGES, query={"limit": limit}, channel_id=channel_id)
        return messages

    async def _connect_and_send(
        self,
        operation: Operation[Any, Any],
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        **parameters: str,
    ) -> Result:
        __tracebackhide__ = True
        await self._ensure_session()
        return await self._send(operation, body, query=query, data=None, **parameters) or Result()

    # Friends, guilds, authorization and voice

    def befriend(self, other: Actor) -> Result:
        """Send a friend request, or accept one."""
        __tracebackhide__ = True
        return self._run_action(
            self._connect_and_send(SET_RELATIONSHIP, {}, user_id=other.id), f"befriend {other.name}"
        )

    def join(self, invite: str | Mapping[str, Any]) -> Result:
        """Accept an invite, which is a code or an invite object of the API; return the invite."""
        __tracebackhide__ = True
        code = invite if isinstance(invite, str) else invite["code"]
        return self._run_action(self._connect_and_send(ACCEPT_INVITE, {}, code=code), f"join {code}")

    def authorize(
        self,
        application: str | Application,
        scope: str = "identify",
        *,
        guild: str | None = None,
        permissions: int | None = None,
        **query: Any,
    ) -> Result:
        """Authorize an application, as on its consent page, or add its bot to a guild (`scope="bot"`).

        Return the URL to which the browser is redirected (`url`), its `redirect_uri`, and its parameters (`code`,
        `state`, `access_token`).
        """
        __tracebackhide__ = True
        return self._run_action(self._authorize(application, scope, guild, permissions, query), "authorize")

    async def _authorize(
        self,
        application: str | Application,
        scope: str,
        guild: str | None,
        permissions: int | None,
        query: dict[str, Any],
    ) -> Result:
        __tracebackhide__ = True
        parameters = {"client_id": self._context.find_application(application).id, "scope": scope, **query}
        body: dict[str, Any] = {"authorize": True}
        if set(scope.split()) - {"bot", "applications.commands"}:
            parameters.setdefault("response_type", "code")
        if guild is not None:
            world_guild = self._context.ready.guilds.get(guild)
            body["guild_id"] = guild if world_guild is None else world_guild.id
        if permissions is not None:
            body["permissions"] = parameters["permissions"] = str(permissions)
        response = await self._connect_and_send(AUTHORIZE_OAUTH2_APPLICATION, body, query=parameters)
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

    def join_voice(self, channel: ChannelReference, *, self_mute: bool = False, self_deaf: bool = False) -> Result:
        """Join a voice channel; return the `endpoint`, `token` and `session_id` that a voice client needs."""
        __tracebackhide__ = True
        return self._run_action(
            self._join_voice(channel, {"self_mute": self_mute, "self_deaf": self_deaf}), "join voice"
        )

    async def _join_voice(self, channel: ChannelReference, flags: dict[str, bool]) -> Result:
        __tracebackhide__ = True
        session = await self._ensure_session()
        channel_id, guild_id = await self._resolve_channel(channel)
        state = await self._set_voice_state(session, {"guild_id": guild_id, "channel_id": channel_id, **flags})
        server = await session.wait_event("VOICE_SERVER_UPDATE", timeout_seconds=self._context.timeout_seconds)
        return Result({**server, "session_id": state["session_id"]})

    def leave_voice(self) -> Result:
        """Leave the current voice channel."""
        __tracebackhide__ = True
        return self._run_action(self._leave_voice(), "leave voice")

    async def _leave_voice(self) -> Result:
        __tracebackhide__ = True
        session = await self._ensure_session()
        states = [
            event.data
            for event in session.received
            if event.name == "VOICE_STATE_UPDATE" and event.data["user_id"] == self.id
        ]
        if not states or states[-1]["channel_id"] is None:
            raise AssertionError(f"{self.name} is not in a voice channel")
        state = await self._set_voice_state(session, {"guild_id": states[-1].get("guild_id"), "channel_id": None})
        return Result(state)

    async def _set_voice_state(self, session: ActorSession, state: dict[str, Any]) -> Any:
        await session.send(GatewayOpcode.VOICE_STATE_UPDATE, {"self_mute": False, "self_deaf": False, **state})
        expected = {"user_id": self.id, "channel_id": state["channel_id"]}
        return await session.wait_event(
            "VOICE_STATE_UPDATE",
            lambda data: all(data.get(key) == value for key, value in expected.items()),
            timeout_seconds=self._context.timeout_seconds,
        )

    # Applications

    def run(
        self,
        channel: ChannelReference,
        command: str,
        options: Mapping[str, Any] | None = None,
        *,
        target: Actor | Mapping[str, Any] | str | None = None,
        application: str | Application | None = None,
        within: float | None = None,
    ) -> Result:
        """Run a command; return the first response: a message, which may be deferred, or a modal.

        `"settings show"` is a sub-command. `target` is the user or message of a context menu command.
        """
        __tracebackhide__ = True
        action = self._run_command(channel, command, options or {}, target, application, within)
        return self._run_action(action, f"run /{command}")

    async def _run_command(
        self,
        channel: ChannelReference,
        command: str,
        values: Mapping[str, Any],
        target: Actor | Mapping[str, Any] | str | None,
        application: str | Application | None,
        timeout_seconds: float | None,
    ) -> Result:
        __tracebackhide__ = True
        channel_id, guild_id = await self._resolve_channel(channel)
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
            data["target_id"] = self._context.id_of(target)
        else:
            data["options"] = forms.build_options(command_object, path, values, partial(self._resolve_value, files))
        interaction_type = InteractionType.APPLICATION_COMMAND
        return await self._send_interaction(
            interaction_type, channel_id, guild_id, command_object["application_id"], data, None, timeout_seconds, files
        )

    def complete(
        self,
        channel: ChannelReference,
        command: str,
        option: str,
        typed: str,
        options: Mapping[str, Any] | None = None,
        *,
        application: str | Application | None = None,
        within: float | None = None,
    ) -> ResultList:
        """Type text in an option; return the application's autocomplete choices: a list of `{"name", "value"}`."""
        __tracebackhide__ = True
        values = {**(options or {}), option: typed}
        return self._run_action(
            self._complete(channel, command, option, values, application, within), f"complete /{command}"
        )

    async def _complete(
        self,
        channel: ChannelReference,
        command: str,
        option: str,
        values: Mapping[str, Any],
        application: str | Application | None,
        timeout_seconds: float | None,
    ) -> ResultList:
        __tracebackhide__ = True
        channel_id, guild_id = await self._resolve_channel(channel)
        command_object, path = await self._find_command(channel_id, command, application, is_context_menu=False)
        data = {"id": command_object["id"], "name": command_object["name"], "type": command_object["type"]}
        data["options"] = forms.build_options(command_object, path, values, partial(self._resolve_value, []), option)
        interaction_type = InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE
        response = await self._send_interaction(
            interaction_type, channel_id, guild_id, command_object["application_id"], data, None, timeout_seconds
        )
        return ResultList(response["choices"])

    def click(self, message: Mapping[str, Any], button: str, *, within: float | None = None) -> Result:
        """Click a button, given its custom_id or label; return the first response.

        The response is a new message, the updated message with the button, or a modal.
        """
        __tracebackhide__ = True
        return self._run_action(
            self._use_component(message, button, (ComponentType.BUTTON,), None, within), f"click {button}"
        )

    def choose(self, message: Mapping[str, Any], select: str, *values: Any, within: float | None = None) -> Result:
        """Choose values in a select, given its custom_id or placeholder; return the first response.

        Values may be strings, users, or names of channels and roles.
        """
        __tracebackhide__ = True
        return self._run_action(
            self._use_component(message, select, forms.SELECT_TYPES, values, within), f"choose {select}"
        )

    async def _use_component(
        self,
        message: Mapping[str, Any],
        identifier: str,
        types: tuple[int, ...],
        values: tuple[Any, ...] | None,
        timeout_seconds: float | None,
    ) -> Result:
        __tracebackhide__ = True
        component = forms.find_component(message, identifier, types)
        if "custom_id" not in component:
            raise AssertionError(f"{identifier!r} is a link button: clicking it does not create an interaction")
        data: dict[str, Any] = {"component_type": component["type"], "custom_id": component["custom_id"]}
        if values is not None:
            object_type = forms.NAMED_COMPONENT_OBJECTS.get(component["type"])
            data["values"] = [self._resolve_value([], value, object_type) for value in values]
        channel_id, guild_id = await self._resolve_channel(message["channel_id"])
        application_id = message.get("application_id") or message["author"]["id"]
        interaction_type = InteractionType.MESSAGE_COMPONENT
        return await self._send_interaction(
            interaction_type, channel_id, guild_id, application_id, data, message, timeout_seconds
        )

    def submit(
        self, modal: Mapping[str, Any], fields: Mapping[str, Any] | None = None, *, within: float | None = None
    ) -> Result:
        """Submit a modal, with values by custom_id or label of its fields; return the first response."""
        __tracebackhide__ = True
        return self._run_action(self._submit(modal, fields or {}, within), "submit")

    async def _submit(
        self, modal: Mapping[str, Any], fields: Mapping[str, Any], timeout_seconds: float | None
    ) -> Result:
        __tracebackhide__ = True
        data = {"id": modal["id"], "custom_id": modal["custom_id"]}
        files: list[File] = []
        data["components"] = forms.build_modal_components(modal, fields, partial(self._resolve_value, files))
        channel_id, guild_id = await self._resolve_channel(modal["channel_id"])
        application_id = modal["application"]["id"]
        interaction_type = InteractionType.MODAL_SUBMIT
        # The response may update the message from which the modal was opened.
        message = modal.component_message if isinstance(modal, Result) else None
        return await self._send_interaction(
            interaction_type, channel_id, guild_id, application_id, data, message, timeout_seconds, files
        )

    async def _find_command(
        self, channel_id: str, command: str, application: str | Application | None, *, is_context_menu: bool
    ) -> tuple[dict[str, Any], list[str]]:
        """Return a command that is available to this user in a channel, and the path of its sub-commands."""
        index = await self._send(GET_CHANNEL_APPLICATION_COMMAND_INDEX, channel_id=channel_id)
        available = index["application_commands"]
        if application is not None:
            application_id = self._context.find_application(application).id
            available = [item for item in available if item["application_id"] == application_id]
        name, path = (command, []) if is_context_menu else (command.split()[0], command.split()[1:])
        types = (CommandType.USER, CommandType.MESSAGE) if is_context_menu else (CommandType.CHAT_INPUT,)
        matching = [item for item in available if item["name"] == name and item["type"] in types]
        if not matching:
            names = ", ".join(sorted(item["name"] for item in available)) or "none"
            raise AssertionError(f"command {name!r} is not available to {self.name} there; available: {names}")
        if len({item["application_id"] for item in matching}) > 1:
            raise AssertionError(f"several applications have a command {name!r}; select one with application=")
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
    ) -> Result:
        """Send an interaction and return the first response."""
        __tracebackhide__ = True
        session = await self._ensure_session()
        nonce, first_position = f"hubbub.testing.{next(_nonce_numbers)}", len(session.received)
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
        timeout_seconds = self._context.timeout_seconds if timeout_seconds is None else timeout_seconds
        if not await session.wait_until(outcome.process_events, timeout_seconds):
            name = self._context.name_of(application_id)
            if not session.is_open:
                closed_with = session.closed_with
                raise InteractionFailed(f"{self.name} cannot receive the response of {name}: closed with {closed_with}")
            raise InteractionFailed(f"{name} did not respond to {self.name} within {timeout_seconds:g} s")
        if outcome.failure is not None:
            name, code = self._context.name_of(application_id), outcome.failure.get("reason_code")
            failure = (
                "did not respond in time" if code == TIMEOUT_REASON_CODE else f"failed to respond (reason_code {code})"
            )
            raise InteractionFailed(f"{name} {failure}: {self.name} received INTERACTION_FAILURE")
        if outcome.response is None:
            # Only INTERACTION_SUCCESS has arrived. If the gateway is re-reading the guild, the response follows later.
            await self._wait_for_delivery(session)
            outcome.find_late_response()
        result = Result(outcome.response if outcome.response is not None else message or {})
        result.component_message = message
        return result

    # Resolution of names

    def _resolve_value(self, files: list[File], value: Any, object_type: str | None) -> Any:
        """Convert a test's value for an option, select or field to the value to send; append a file to `files`."""
        if isinstance(value, tuple):
            files.append(value)
            return str(len(files) - 1)
        if isinstance(value, (Actor, Mapping)):
            return self._context.id_of(value)
        if object_type is not None and not str(value).isdigit():
            return self._context.channel_id(value) if object_type == "channel" else self._context.role_id(value)
        return value

    async def _resolve_channel(self, channel: ChannelReference) -> tuple[str, str | None]:
        """Return the ID of a channel and of its guild, which is None for a direct message channel."""
        if isinstance(channel, Actor):
            direct_channel = await self._send(CREATE_DM, {"recipient_id": channel.id})
            return direct_channel["id"], None
        if not isinstance(channel, str):
            channel = str(channel["id"])
        channel_id = channel if channel.isdigit() else self._context.channel_id(channel)
        guild_id = self._context.guild_id_of(channel_id)
        if guild_id is None:
            guild_id = (await self._send(GET_CHANNEL, channel_id=channel_id)).get("guild_id")
        return channel_id, guild_id
