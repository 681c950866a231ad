"""Clients that use applications: commands, autocomplete, components and modals."""

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from hubbub.people import forms
from hubbub.people.context import Identified, PlatformContext
from hubbub.people.errors import InteractionFailed, InvalidArgument
from hubbub.people.messages import ChannelReference, File, MessagingClient
from hubbub.people.named_objects import suggest
from hubbub.people.outcomes import InteractionOutcome
from hubbub.people.results import Result, ResultList
from hubbub.people.sessions import ActorSession
from hubbub.protocol.control.ready import WorldApplication
from hubbub.protocol.enums import CommandType, InteractionType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.resources.interaction_callbacks import AutocompleteChoice
from hubbub.protocol.resources.interactions import (
    CREATE_INTERACTION,
    GET_CHANNEL_APPLICATION_COMMAND_INDEX,
    INTERACTION_FAILURE,
)
from hubbub.protocol.resources.messages import MESSAGE_CREATE, MESSAGE_DELETE, MESSAGE_UPDATE, DispatchedMessage

_nonce_numbers: Final = itertools.count(1)

TIMEOUT_REASON_CODE: Final = 2
"""The reason_code of INTERACTION_FAILURE if the application did not respond in time."""


class InteractionClient(MessagingClient):
    """Client of a user who sends messages and uses applications."""

    def __init__(self, context: PlatformContext, name: str, user_id: str, token: str) -> None:
        super().__init__(context, name, user_id, token)
        self._modals: dict[str, Result[Any]] = {}
        """Modals that the user has received, by ID."""

    async def run(
        self,
        channel: ChannelReference,
        command: str,
        values: Mapping[str, Any],
        target: Identified | Mapping[str, Any] | str | None,
        application: str | WorldApplication | None,
        timeout_seconds: float | None,
        *,
        wait_for_answer: bool = True,
    ) -> Result[Any]:
        """Run a command and return the response. With `wait_for_answer`, the answer replaces a deferred response."""
        __tracebackhide__ = True
        channel_id, guild_id = await self.resolve_channel(channel)
        command_object, path = await self._resolve_command(
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
        application: str | WorldApplication | None,
        timeout_seconds: float | None,
    ) -> ResultList[AutocompleteChoice]:
        """Return the application's choices for `option`, whose typed text is among the `values`."""
        __tracebackhide__ = True
        channel_id, guild_id = await self.resolve_channel(channel)
        command_object, path = await self._resolve_command(channel_id, command, application, is_context_menu=False)
        data = {"id": command_object["id"], "name": command_object["name"], "type": command_object["type"]}
        data["options"] = forms.build_options(command_object, path, values, partial(self._resolve_value, []), option)
        interaction_type = InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE
        response = await self._send_interaction(
            interaction_type, channel_id, guild_id, command_object["application_id"], data, None, timeout_seconds
        )
        choices: ResultList[AutocompleteChoice] = ResultList(response["choices"])
        choices.model_type = AutocompleteChoice
        return choices

    async def use_component(
        self,
        message: Mapping[str, Any],
        identifier: str,
        types: tuple[int, ...],
        values: Sequence[Any] | None,
        timeout_seconds: float | None,
        *,
        wait_for_answer: bool = True,
    ) -> Result[Any]:
        """Click a button or choose the values of a select; return the response.

        The response is a new message, the updated message with the component, or a modal.
        """
        __tracebackhide__ = True
        component = forms.require_component(message, identifier, types)
        if "custom_id" not in component:
            raise InvalidArgument(
                forms.component_argument(types),
                f"{identifier!r} is a link button: clicking it does not create an interaction",
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

    def require_message_with_component(self, identifier: str, types: Sequence[int]) -> Mapping[str, Any]:
        """Return the latest received message that has a component with this custom_id, label or placeholder.

        Raise `InvalidArgument` if there is none."""
        messages: dict[str, dict[str, Any]] = {}
        for event in self.received_events:
            if event.name in (MESSAGE_CREATE.name, MESSAGE_UPDATE.name):
                messages[event.data["id"]] = messages.pop(event.data["id"], {}) | event.data
            elif event.name == MESSAGE_DELETE.name:
                messages.pop(event.data["id"], None)
        for message in reversed(messages.values()):
            if forms.has_component(message, identifier, types):
                return message
        names = list(
            dict.fromkeys(name for received in messages.values() for name in forms.component_names(received, types))
        )
        raise InvalidArgument(
            forms.component_argument(types),
            f"{self.name} has received no message with the component {identifier!r}; received: "
            f"{', '.join(names) or 'none'}",
        )

    async def submit(
        self,
        modal: Mapping[str, Any] | str | None,
        fields: Mapping[str, Any],
        timeout_seconds: float | None,
        *,
        wait_for_answer: bool = True,
    ) -> Result[Any]:
        """Submit a modal with values by custom_id or label; return the response.

        `modal` is a modal, its ID, or None for the latest one that the user received.
        """
        __tracebackhide__ = True
        if modal is None:
            if not self._modals:
                raise InvalidArgument("modal", f"{self.name} has not received a modal")
            modal = next(reversed(self._modals.values()))
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

    async def _resolve_command(
        self, channel_id: str, command: str, application: str | WorldApplication | None, *, is_context_menu: bool
    ) -> tuple[dict[str, Any], list[str]]:
        """Return a command that is available to this user in a channel, and the path of its subcommands.

        With `is_context_menu`, find a user or message command, whose name may contain spaces."""
        index = await self.send(GET_CHANNEL_APPLICATION_COMMAND_INDEX, channel_id=channel_id)
        available_commands = index["application_commands"]
        if application is not None:
            application_id = self.context.resolve_application(application).id
            available_commands = [
                candidate for candidate in available_commands if candidate["application_id"] == application_id
            ]
        name, *path = [command] if is_context_menu else command.split() or [""]
        types = (CommandType.USER, CommandType.MESSAGE) if is_context_menu else (CommandType.CHAT_INPUT,)
        matching_commands = [
            candidate for candidate in available_commands if candidate["name"] == name and candidate["type"] in types
        ]
        if not matching_commands:
            names = sorted({candidate["name"] for candidate in available_commands})
            raise InvalidArgument(
                "command",
                f"command {name!r} is not available to {self.name} there; available: {', '.join(names) or 'none'}"
                f"{suggest(name, names)}",
            )
        if len({candidate["application_id"] for candidate in matching_commands}) > 1:
            raise InvalidArgument(
                "application", f"several applications have a command {name!r}; select one with application="
            )
        return matching_commands[0], path

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
    ) -> Result[Any]:
        """Send an interaction and return the response; raise `InteractionFailed` if the application does not respond.

        Without a new message, the response is the message of the component, or an empty object."""
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
        await self.send_with_files(CREATE_INTERACTION, body, files)
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
            raise InteractionFailed(f"{name} {failure}: {self.name} received {INTERACTION_FAILURE.name}")
        if outcome.response is None:
            # Only INTERACTION_SUCCESS has arrived. If the gateway is re-reading the guild, the response follows later.
            await self.wait_for_delivery(session)
            outcome.record_late_response()
        result: Result[Any] = Result(outcome.response if outcome.response is not None else message or {})
        result.model_type = outcome.response_model if result else None
        result.component_message, result.is_modal = message, outcome.is_modal
        if outcome.is_modal:
            self._modals[result["id"]] = result
        elif wait_for_answer and result.get("flags", 0) & MessageFlags.LOADING:
            seconds_left = deadline - asyncio.get_running_loop().time()
            return await self._wait_for_answer(session, result, application_id, seconds_left)
        return result

    async def _wait_for_answer(
        self, session: ActorSession, deferred: Result[Any], application_id: str, timeout_seconds: float
    ) -> Result[Any]:
        """Return the message that replaces a deferred response; raise `InteractionFailed` on timeout or if it is deleted."""
        __tracebackhide__ = True

        def is_answer(data: dict[str, Any]) -> bool:
            return bool(data["id"] == deferred["id"] and not data.get("flags", 0) & MessageFlags.LOADING)

        def is_deletion(data: dict[str, Any]) -> bool:
            return bool(data["id"] == deferred["id"])

        def has_ended() -> bool:
            return (
                session.find(MESSAGE_UPDATE.name, is_answer) is not None
                or session.find(MESSAGE_DELETE.name, is_deletion) is not None
            )

        name = self.context.name_of(application_id)
        if not await session.wait_until(has_ended, timeout_seconds):
            raise InteractionFailed(f"{name} deferred its response to {self.name} and did not answer in time")
        position = session.find(MESSAGE_UPDATE.name, is_answer)
        if position is None:
            raise InteractionFailed(f"{name} deferred its response to {self.name} and deleted it")
        answer = Result.of(session.consume(position), DispatchedMessage)
        answer.component_message = deferred.component_message
        return answer

    def _resolve_value(self, files: list[File], value: Any, object_type: str | None) -> Any:
        """Convert the caller's value for an option, select or field to the value to send; append a file to `files`."""
        if isinstance(value, tuple):
            files.append(value)
            return str(len(files) - 1)
        if isinstance(value, Mapping) or hasattr(value, "id"):
            return self.context.id_of(value)
        if object_type is not None and not str(value).isdigit():
            return self.context.resolve_id(object_type, str(value))
        return value
