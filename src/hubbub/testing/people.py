"""Users of a test: the actions of a chat client as methods. Each connects first, so that its events are received."""

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import aiohttp
import msgspec

from hubbub.protocol.enums import CommandType, ComponentType, InteractionType
from hubbub.testing import forms
from hubbub.testing.actors import Actor
from hubbub.testing.answers import Answer, Answers
from hubbub.testing.errors import Unanswered
from hubbub.testing.outcomes import InteractionOutcome
from hubbub.testing.ready import Application
from hubbub.testing.sessions import ActorSession

ChannelReference: TypeAlias = "str | Actor | Mapping[str, Any]"
"""A channel by its name in the world, its id, or an object with its id; or a user, for the direct message channel."""

File: TypeAlias = tuple[str, bytes]
"""The name and content of a file."""

_nonces: Final = itertools.count(1)

TIMEOUT_REASON_CODE: Final = 2
"""The reason_code of an interaction without a response in time."""


class Person(Actor):
    """A user of the world, or one added by `Platform.add_user`."""

    # Messages

    def say(
        self, where: ChannelReference, content: str = "", *, files: Mapping[str, bytes] | None = None, **body: Any
    ) -> Answer:
        """Send a message, with optional files by name and further fields of the API's body; return the message."""
        __tracebackhide__ = True
        return self._do(self._say(where, {"content": content, **body}, files or {}), "say")

    async def _say(self, where: ChannelReference, body: dict[str, Any], files: Mapping[str, bytes]) -> Answer:
        __tracebackhide__ = True
        session = await self._online()
        channel_id, _ = await self._resolve_channel(where)
        path = f"/channels/{channel_id}/messages"
        message: Answer = await self._send(path, body, list(files.items()))
        # The user also receives an event for their own message, which the test already has.
        await self._consume(session, "MESSAGE_CREATE", message["id"])
        return message

    async def _send(self, path: str, body: dict[str, Any], files: Sequence[File]) -> Any:
        __tracebackhide__ = True
        if not files:
            return await self._call("POST", path, body)
        form = aiohttp.FormData({"payload_json": msgspec.json.encode(body).decode()})
        for index, (name, content) in enumerate(files):
            form.add_field(f"files[{index}]", content, filename=name)
        return await self._call("POST", path, data=form)

    async def _consume(self, session: ActorSession, event: str, object_id: str) -> None:
        """Consume the event of the user's own action, so that `expect` does not return it."""
        await session.take(event, lambda data: data.get("id") == object_id, within=self._scene.within)

    def react(self, message: Mapping[str, Any], emoji: str) -> Answer:
        """Add a reaction to a message."""
        __tracebackhide__ = True
        path = f"/channels/{message['channel_id']}/messages/{message['id']}/reactions/{quote(emoji, safe='')}/@me"
        return self._do(self._act("PUT", path), f"react {emoji}")

    def read(self, where: ChannelReference, limit: int = 50) -> Answers:
        """Return the latest messages of a channel, newest first."""
        __tracebackhide__ = True
        return self._do(self._read(where, limit), "read")

    async def _read(self, where: ChannelReference, limit: int) -> Answers:
        __tracebackhide__ = True
        channel_id, _ = await self._resolve_channel(where)
        found: Answers = await self._call("GET", f"/channels/{channel_id}/messages?limit={limit}")
        return found

    async def _act(self, method: str, path: str, body: Any = None) -> Answer:
        __tracebackhide__ = True
        await self._online()
        return await self._call(method, path, body) or Answer()

    # Friends, guilds, authorization and voice

    def befriend(self, other: Actor) -> Answer:
        """Send a friend request, or accept one."""
        __tracebackhide__ = True
        return self._do(self._act("PUT", f"/users/@me/relationships/{other.id}", {}), f"befriend {other.name}")

    def join(self, invite: str | Mapping[str, Any]) -> Answer:
        """Accept an invite, given its code or the object of the API; return the invite."""
        __tracebackhide__ = True
        code = invite if isinstance(invite, str) else invite["code"]
        return self._do(self._act("POST", f"/invites/{code}", {}), f"join {code}")

    def authorize(
        self,
        application: str | Application,
        scope: str = "identify",
        *,
        guild: str | None = None,
        permissions: int | None = None,
        **query: Any,
    ) -> Answer:
        """Authorize an application, as on its consent page, or add its bot to a guild (`scope="bot"`).

        Return the URL to which the browser is redirected (`url`), its `redirect_uri`, and its parameters (`code`,
        `state`, `access_token`).
        """
        __tracebackhide__ = True
        return self._do(self._authorize(application, scope, guild, permissions, query), "authorize")

    async def _authorize(
        self,
        application: str | Application,
        scope: str,
        guild: str | None,
        permissions: int | None,
        query: dict[str, Any],
    ) -> Answer:
        __tracebackhide__ = True
        parameters = {"client_id": self._scene.application(application).id, "scope": scope, **query}
        body: dict[str, Any] = {"authorize": True}
        if set(scope.split()) - {"bot", "applications.commands"}:
            parameters.setdefault("response_type", "code")
        if guild is not None:
            known = self._scene.ready.guilds.get(guild)
            body["guild_id"] = guild if known is None else known.id
        if permissions is not None:
            body["permissions"] = parameters["permissions"] = str(permissions)
        sent = await self._act("POST", f"/oauth2/authorize?{urlencode(parameters)}", body)
        parts = urlsplit(sent["url"])
        found = parse_qs(parts.query) | parse_qs(parts.fragment)
        returned = {key: values[0] for key, values in found.items()}
        return Answer({**returned, "url": sent["url"], "redirect_uri": parts._replace(query="", fragment="").geturl()})

    def join_voice(self, where: ChannelReference, *, self_mute: bool = False, self_deaf: bool = False) -> Answer:
        """Join a voice channel; return what a voice client needs: `endpoint`, `token`, `session_id`."""
        __tracebackhide__ = True
        return self._do(self._join_voice(where, {"self_mute": self_mute, "self_deaf": self_deaf}), "join voice")

    async def _join_voice(self, where: ChannelReference, more: dict[str, bool]) -> Answer:
        __tracebackhide__ = True
        session = await self._online()
        channel_id, guild_id = await self._resolve_channel(where)
        state = await self._set_voice_state(session, {"guild_id": guild_id, "channel_id": channel_id, **more})
        server = await session.take("VOICE_SERVER_UPDATE", within=self._scene.within)
        return Answer({**server, "session_id": state["session_id"]})

    def leave_voice(self) -> Answer:
        """Leave the current voice channel."""
        __tracebackhide__ = True
        return self._do(self._leave_voice(), "leave voice")

    async def _leave_voice(self) -> Answer:
        __tracebackhide__ = True
        session = await self._online()
        states = [
            event.data
            for event in session.received
            if event.name == "VOICE_STATE_UPDATE" and event.data["user_id"] == self.id
        ]
        if not states or states[-1]["channel_id"] is None:
            raise AssertionError(f"{self.name} is not in a voice channel")
        state = await self._set_voice_state(session, {"guild_id": states[-1].get("guild_id"), "channel_id": None})
        return Answer(state)

    async def _set_voice_state(self, session: ActorSession, state: dict[str, Any]) -> Any:
        await session.send(4, {"self_mute": False, "self_deaf": False, **state})
        wanted = {"user_id": self.id, "channel_id": state["channel_id"]}
        return await session.take(
            "VOICE_STATE_UPDATE",
            lambda data: all(data.get(key) == value for key, value in wanted.items()),
            within=self._scene.within,
        )

    # Applications

    def run(
        self,
        where: ChannelReference,
        command: str,
        options: Mapping[str, Any] | None = None,
        *,
        target: Actor | Mapping[str, Any] | str | None = None,
        application: str | Application | None = None,
        within: float | None = None,
    ) -> Answer:
        """Run a command; return the first response: a message, which may be deferred, or a modal.

        `"settings show"` is a sub-command. `target` is the user or message of a context menu command.
        """
        __tracebackhide__ = True
        work = self._run(where, command, options or {}, target, application, within)
        return self._do(work, f"run /{command}")

    async def _run(
        self,
        where: ChannelReference,
        command: str,
        given: Mapping[str, Any],
        target: Actor | Mapping[str, Any] | str | None,
        application: str | Application | None,
        within: float | None,
    ) -> Answer:
        __tracebackhide__ = True
        channel_id, guild_id = await self._resolve_channel(where)
        found, path = await self._command(channel_id, command, application, menu=target is not None)
        data: dict[str, Any] = {"id": found["id"], "name": found["name"], "type": found["type"]}
        files: list[File] = []
        if target is not None:
            data["target_id"] = self._scene.id_of(target)
        else:
            data["options"] = forms.options(found, path, given, partial(self._value, files))
        kind = InteractionType.APPLICATION_COMMAND
        return await self._ask(kind, channel_id, guild_id, found["application_id"], data, None, within, files)

    def complete(
        self,
        where: ChannelReference,
        command: str,
        option: str,
        typed: str,
        options: Mapping[str, Any] | None = None,
        *,
        application: str | Application | None = None,
        within: float | None = None,
    ) -> Answers:
        """Type text in an option; return the application's autocomplete choices: a list of `{"name", "value"}`."""
        __tracebackhide__ = True
        given = {**(options or {}), option: typed}
        return self._do(self._complete(where, command, option, given, application, within), f"complete /{command}")

    async def _complete(
        self,
        where: ChannelReference,
        command: str,
        option: str,
        given: Mapping[str, Any],
        application: str | Application | None,
        within: float | None,
    ) -> Answers:
        __tracebackhide__ = True
        channel_id, guild_id = await self._resolve_channel(where)
        found, path = await self._command(channel_id, command, application, menu=False)
        data = {"id": found["id"], "name": found["name"], "type": found["type"]}
        data["options"] = forms.options(found, path, given, partial(self._value, []), option)
        kind = InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE
        answer = await self._ask(kind, channel_id, guild_id, found["application_id"], data, None, within)
        return Answers(answer["choices"])

    def click(self, message: Mapping[str, Any], button: str, *, within: float | None = None) -> Answer:
        """Click a button, given its custom_id or label; return the first response.

        The response is a new message, the updated message with the button, or a modal.
        """
        __tracebackhide__ = True
        return self._do(self._use(message, button, (ComponentType.BUTTON,), None, within), f"click {button}")

    def choose(self, message: Mapping[str, Any], select: str, *values: Any, within: float | None = None) -> Answer:
        """Choose values in a select, given its custom_id or placeholder; return the first response.

        Values may be strings, users, or names of channels and roles.
        """
        __tracebackhide__ = True
        return self._do(self._use(message, select, forms.SELECTS, values, within), f"choose {select}")

    async def _use(
        self,
        message: Mapping[str, Any],
        wanted: str,
        kinds: tuple[int, ...],
        values: tuple[Any, ...] | None,
        within: float | None,
    ) -> Answer:
        __tracebackhide__ = True
        component = forms.component(message, wanted, kinds)
        if "custom_id" not in component:
            raise AssertionError(f"{wanted!r} is a link button: clicking it does not create an interaction")
        data: dict[str, Any] = {"component_type": component["type"], "custom_id": component["custom_id"]}
        if values is not None:
            about = forms.NAMED_COMPONENT_KINDS.get(component["type"])
            data["values"] = [self._value([], value, about) for value in values]
        channel_id, guild_id = await self._resolve_channel(message["channel_id"])
        application_id = message.get("application_id") or message["author"]["id"]
        kind = InteractionType.MESSAGE_COMPONENT
        return await self._ask(kind, channel_id, guild_id, application_id, data, message, within)

    def submit(
        self, modal: Mapping[str, Any], fields: Mapping[str, Any] | None = None, *, within: float | None = None
    ) -> Answer:
        """Submit a modal, with values by custom_id or label of its fields; return the first response."""
        __tracebackhide__ = True
        return self._do(self._submit(modal, fields or {}, within), "submit")

    async def _submit(self, modal: Mapping[str, Any], fields: Mapping[str, Any], within: float | None) -> Answer:
        __tracebackhide__ = True
        data = {"id": modal["id"], "custom_id": modal["custom_id"]}
        files: list[File] = []
        data["components"] = forms.modal_values(modal, fields, partial(self._value, files))
        channel_id, guild_id = await self._resolve_channel(modal["channel_id"])
        application_id = modal["application"]["id"]
        kind = InteractionType.MODAL_SUBMIT
        # The response may update the message from which the modal was opened.
        message = modal.about if isinstance(modal, Answer) else None
        return await self._ask(kind, channel_id, guild_id, application_id, data, message, within, files)

    async def _command(
        self, channel_id: str, command: str, application: str | Application | None, *, menu: bool
    ) -> tuple[dict[str, Any], list[str]]:
        """Return a command that is available to this user in a channel, and the path of its sub-commands."""
        index = await self._call("GET", f"/channels/{channel_id}/application-command-index")
        offered = index["application_commands"]
        if application is not None:
            wanted = self._scene.application(application).id
            offered = [each for each in offered if each["application_id"] == wanted]
        name, path = (command, []) if menu else (command.split()[0], command.split()[1:])
        kinds = (CommandType.USER, CommandType.MESSAGE) if menu else (CommandType.CHAT_INPUT,)
        found = [each for each in offered if each["name"] == name and each["type"] in kinds]
        if not found:
            known = ", ".join(sorted(each["name"] for each in offered)) or "none"
            raise AssertionError(f"command {name!r} is not available to {self.name} there; available: {known}")
        if len({each["application_id"] for each in found}) > 1:
            raise AssertionError(f"several applications have a command {name!r}; select one with application=")
        return found[0], path

    async def _ask(
        self,
        kind: InteractionType,
        channel_id: str,
        guild_id: str | None,
        application_id: str,
        data: dict[str, Any],
        message: Mapping[str, Any] | None,
        within: float | None,
        files: Sequence[File] = (),
    ) -> Answer:
        """Send an interaction and return the first response."""
        __tracebackhide__ = True
        session = await self._online()
        nonce, begin = f"hubbub.testing.{next(_nonces)}", len(session.received)
        body: dict[str, Any] = {
            "type": kind,
            "application_id": application_id,
            "channel_id": channel_id,
            "session_id": session.id,
            "nonce": nonce,
            "data": data,
        }
        if guild_id is not None:
            body["guild_id"] = guild_id
        if message is not None and kind == InteractionType.MESSAGE_COMPONENT:
            body["message_id"] = message["id"]
        await self._send("/interactions", body, files)
        outcome = InteractionOutcome(session, nonce, begin, message)
        seconds = self._scene.within if within is None else within
        if not await session.wait(outcome.is_known, seconds):
            name = self._scene.name_of(application_id)
            if not session.is_open:
                closed_with = session.closed_with
                raise Unanswered(f"{self.name} cannot receive the response of {name}: closed with {closed_with}")
            raise Unanswered(f"{name} did not respond to {self.name} within {seconds:g} s")
        if outcome.failure is not None:
            name, code = self._scene.name_of(application_id), outcome.failure.get("reason_code")
            problem = (
                "did not respond in time" if code == TIMEOUT_REASON_CODE else f"failed to respond (reason_code {code})"
            )
            raise Unanswered(f"{name} {problem}: {self.name} received INTERACTION_FAILURE")
        if outcome.response is None:
            # Only INTERACTION_SUCCESS has arrived. If the gateway is re-reading the guild, the response follows later.
            await self._settle(session)
            outcome.find_late_response()
        answer = Answer(outcome.response if outcome.response is not None else message or {})
        answer.about = message
        return answer

    # Names

    def _value(self, files: list[File], value: Any, about: str | None) -> Any:
        """Convert a test's value for an option, select or field to the value to send; append a file to `files`."""
        if isinstance(value, tuple):
            files.append(value)
            return str(len(files) - 1)
        if isinstance(value, (Actor, Mapping)):
            return self._scene.id_of(value)
        if about is not None and not str(value).isdigit():
            return self._scene.channel(value) if about == "channel" else self._scene.role(value)
        return value

    async def _resolve_channel(self, where: ChannelReference) -> tuple[str, str | None]:
        """Return the id of a channel and of its guild, which is None for a direct message channel."""
        if isinstance(where, Actor):
            opened = await self._call("POST", "/users/@me/channels", {"recipient_id": where.id})
            return opened["id"], None
        if not isinstance(where, str):
            where = str(where["id"])
        channel_id = where if where.isdigit() else self._scene.channel(where)
        guild_id = self._scene.guild_of(channel_id)
        if guild_id is None:
            guild_id = (await self._call("GET", f"/channels/{channel_id}")).get("guild_id")
        return channel_id, guild_id
