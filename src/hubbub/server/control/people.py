"""People of a rehearsal: users who act over the public API when the control API asks them to."""

import base64
import binascii
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import aiohttp

from hubbub.people import forms, ogg
from hubbub.people.context import PlatformContext
from hubbub.people.errors import (
    EventNotReceived,
    InteractionFailed,
    InvalidArgument,
    PlatformUnavailable,
    RequestRejected,
    VoiceFailed,
)
from hubbub.people.expectations import resolve_event
from hubbub.people.named_objects import UnknownNameError, suggest
from hubbub.people.results import Result, ResultList
from hubbub.people.sessions import EVENTS_SHOWN_MAX, ReceivedEvent
from hubbub.people.users import UserClient
from hubbub.protocol import errors
from hubbub.protocol.control import people as models
from hubbub.protocol.control.expectations import (
    DEFAULT_TIMEOUT_MS,
    EventOfPerson,
    EventsQuery,
    Expect,
    ExpectMessage,
    ExpectNone,
)
from hubbub.protocol.control.ready import WorldUser
from hubbub.protocol.control.users import CreateUser
from hubbub.protocol.enums import ComponentType
from hubbub.protocol.errors import ApiError, ErrorCode
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import UserId
from hubbub.server.app import App
from hubbub.server.core.traffic import PERSON_HEADER
from hubbub.server.ready_document import build_document
from hubbub.server.worlds import BuiltWorld
from hubbub.server.worlds.builder import BuiltUser

T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS: Final = DEFAULT_TIMEOUT_MS / 1000
FILE_KEYS: Final = {"filename", "data"}
"""Keys of an option or field that is a file."""


class People:
    """The people of one platform and their gateway sessions."""

    def __init__(
        self,
        app: App,
        control_token: str,
        get_built_world: Callable[[], BuiltWorld],
        create_user: Callable[[CreateUser], Awaitable[WorldUser]],
    ) -> None:
        """Create the people of a platform.

        `get_built_world` returns everything built so far; `create_user` adds a user to it."""
        self._app = app
        self._control_token = control_token
        self._get_built_world = get_built_world
        self._create_user = create_user
        self._http: aiohttp.ClientSession | None = None
        self._context: PlatformContext | None = None
        self._known_world: BuiltWorld | None = None
        """The objects that the names of `_context` refer to."""
        self._clients: dict[str, UserClient] = {}

    async def close(self) -> None:
        """Disconnect all people and close the HTTP client."""
        for client in self._clients.values():
            await client.disconnect()
        self._clients.clear()
        if self._http is not None:
            await self._http.close()
            self._http = self._context = self._known_world = None

    # People

    async def list_people(self) -> list[models.Person]:
        """List the people of the world."""
        return [self._person(name) for name in self._get_built_world().users]

    async def create_person(self, body: CreateUser) -> models.Person:
        """Create a person: a user who is not in any guild."""
        created_user = await self._create_user(body)
        # The name may differ from the requested one, because usernames are lowercase.
        users = self._get_built_world().users
        return self._person(next(name for name, user in users.items() if str(user.id) == created_user.id))

    async def get_person(self, name: str) -> models.Person:
        """Return a person with the token and the state of the gateway session."""
        self._require_user(name)
        return self._person(name)

    async def connect(self, name: str) -> models.Person:
        """Connect a person to the gateway.

        A person receives events only while connected. Every action except reading and `request`
        connects automatically.
        """
        client = await self._client(name)
        await client.connect()
        return self._person(name)

    async def disconnect(self, name: str) -> models.Person:
        """Disconnect a person from the gateway and discard the events received so far."""
        client = await self._client(name)
        await client.disconnect()
        return self._person(name)

    def _person(self, name: str) -> models.Person:
        user, client = self._get_built_world().users[name], self._clients.get(name)
        is_connected = client is not None and client.session is not None and client.session.is_open
        return models.Person(name=name, id=user.id, token=user.token, connected=is_connected)

    def _require_user(self, name: str) -> BuiltUser:
        users = self._get_built_world().users
        if name not in users:
            available_names = ", ".join(users) or "none"
            raise errors.NOT_FOUND(
                message=f"This world has no user {name!r}; it has: {available_names}{suggest(name, users)}"
            )
        return users[name]

    async def _client(self, name: str) -> UserClient:
        """Return the client of a user; raise NOT_FOUND if the world has no user of this name."""
        user, context = self._require_user(name), self._current_context()
        client = self._clients.get(name)
        if client is not None and (client.id, client.token) != (str(user.id), user.token):
            # The name belongs to another user since a snapshot was restored.
            del self._clients[name]
            await client.disconnect()
            client = None
        if client is None:
            client = self._clients[name] = UserClient(context, name, str(user.id), user.token)
        return client

    def _current_context(self) -> PlatformContext:
        """Return the context, with the names of all objects built so far."""
        built_world = self._get_built_world()
        if self._context is None or self._known_world is not built_world:
            ready = build_document(self._app.config, built_world, self._control_token, tls=self._app.tls)
            if self._context is None:
                # The trace explains why a person did not receive an event.
                self._app.trace.is_enabled = True
                self._http = self._open_http()
                self._context = PlatformContext(self._http, ready, DEFAULT_TIMEOUT_SECONDS)
            else:
                self._context.set_ready(ready)
            self._known_world = built_world
        return self._context

    def _open_http(self) -> aiohttp.ClientSession:
        tls = self._app.tls
        connector = (
            aiohttp.TCPConnector(limit=0)
            if tls is None
            else aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(cafile=tls.authority))
        )
        return aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(), connector=connector, headers={PERSON_HEADER: "1"}
        )

    # Messages

    async def say(self, name: str, body: models.Say) -> Result:
        """Send a message as a person."""
        files = {file_name: _decode_file(("files", file_name), data) for file_name, data in body.files.items()}
        client = await self._client(name)
        return await client.send_message(body.channel, {"content": body.content, **body.fields}, files)

    async def reply(self, name: str, body: models.SendReply) -> Result:
        """Reply to a message as a person."""
        client = await self._client(name)
        return await client.reply(str(body.message), {"content": body.content, **body.fields}, body.channel)

    async def edit(self, name: str, body: models.Edit) -> Result:
        """Edit a message of a person."""
        client = await self._client(name)
        content = {} if body.content is None else {"content": body.content}
        return await client.edit(str(body.message), {**content, **body.fields}, body.channel)

    async def delete(self, name: str, body: models.MessageTarget) -> None:
        """Delete a message as a person."""
        client = await self._client(name)
        await client.delete(str(body.message), body.channel)

    async def react(self, name: str, body: models.React) -> None:
        """Add a reaction as a person."""
        client = await self._client(name)
        await client.react(str(body.message), body.emoji, body.channel)

    async def read(self, name: str, query: models.ReadQuery) -> ResultList:
        """List the latest messages of a channel that a person can read, newest first."""
        client = await self._client(name)
        return await client.read(query.channel, query.limit)

    # Events

    async def list_events(self, name: str, query: EventsQuery) -> list[EventOfPerson]:
        """List the events that a person has received since connecting."""
        if query.event is not None:
            resolve_event(query.event)
        client = await self._client(name)
        return _convert_events(event for event in client.received_events if query.event in (None, event.name))

    async def expect(self, name: str, body: Expect) -> EventOfPerson:
        """Wait until a person receives an event.

        An event that has arrived and that no operation returned before is returned immediately. If no matching event arrives
        in time, the error shows the differences of the most similar event. The wait ends when the caller disconnects.
        """
        client = await self._client(name)
        data = await client.expect(body.event, None, body.timeout_ms / 1000, body.fields)
        return EventOfPerson(event=body.event, data=data)

    async def expect_none(self, name: str, body: ExpectNone) -> None:
        """Check that a person has not received an event, after all events of earlier actions have arrived."""
        client = await self._client(name)
        await client.expect_none(body.event, None, body.fields)

    async def expect_message(self, name: str, body: ExpectMessage) -> Result:
        """Wait until a person receives a message.

        A message that has arrived and that no operation returned before is returned immediately.
        """
        client = await self._client(name)
        fields = dict(body.fields)
        if body.channel is not None:
            fields["channel_id"], _ = await client.resolve_channel(body.channel)
        if body.author is not None:
            author_id = body.author if body.author.isdigit() else client.context.user_id(body.author)
            fields["author"] = {**fields.get("author", {}), "id": author_id}
        if body.content is not None:
            fields["content"] = body.content
        return await client.expect("MESSAGE_CREATE", None, body.timeout_ms / 1000, fields)

    # Applications

    async def run(self, name: str, body: models.Run) -> models.InteractionResult:
        """Run a command as a person.

        If the application defers its response, the answer that replaces it is returned.
        """
        client = await self._client(name)
        target = body.target
        if target is not None and not target.isdigit():
            target = client.context.user_id(target)
        result = await client.run(
            body.channel,
            body.command,
            _decode_values("options", body.options),
            target,
            body.application,
            body.timeout_ms / 1000,
            wait_for_answer=body.wait_for_answer,
        )
        return _interaction_result(result)

    async def complete(self, name: str, body: models.Complete) -> ResultList:
        """Return the autocomplete choices for an option that a person is typing."""
        client = await self._client(name)
        values = {**_decode_values("options", body.options), body.option: body.typed}
        return await client.complete(
            body.channel, body.command, body.option, values, body.application, body.timeout_ms / 1000
        )

    async def click(self, name: str, body: models.Click) -> models.InteractionResult:
        """Click a button as a person."""
        return await self._use_component(name, body, body.button, (ComponentType.BUTTON,), None)

    async def choose(self, name: str, body: models.Choose) -> models.InteractionResult:
        """Choose values in a select as a person."""
        return await self._use_component(name, body, body.select, forms.SELECT_TYPES, body.values)

    async def _use_component(
        self,
        name: str,
        body: models.Click | models.Choose,
        identifier: str,
        types: tuple[int, ...],
        values: list[str] | None,
    ) -> models.InteractionResult:
        client = await self._client(name)
        if body.message is None:
            message = client.require_message_with_component(identifier, types)
        else:
            message = await client.resolve_message(str(body.message), body.channel)
        timeout_seconds = body.timeout_ms / 1000
        result = await client.use_component(
            message, identifier, types, values, timeout_seconds, wait_for_answer=body.wait_for_answer
        )
        return _interaction_result(result)

    async def submit(self, name: str, body: models.Submit) -> models.InteractionResult:
        """Submit a modal as a person."""
        client = await self._client(name)
        values = _decode_values("fields", body.fields)
        result = await client.submit(
            None if body.modal is None else str(body.modal),
            values,
            body.timeout_ms / 1000,
            wait_for_answer=body.wait_for_answer,
        )
        return _interaction_result(result)

    # Invites, authorization and purchases

    async def invite(self, name: str, body: models.CreateInvite) -> Result:
        """Create an invite as a person."""
        client = await self._client(name)
        return await client.create_invite(body.channel, body.fields)

    async def join(self, name: str, body: models.AcceptInviteCode) -> Result:
        """Accept an invite as a person."""
        client = await self._client(name)
        return await client.join(body.invite)

    async def befriend(self, name: str, body: models.Befriend) -> None:
        """Send a friend request as a person, or accept one."""
        client = await self._client(name)
        await client.befriend(body.user if body.user.isdigit() else client.context.user_id(body.user))

    async def authorize(self, name: str, body: models.Authorize) -> models.Authorization:
        """Authorize an application as a person, as on its consent page."""
        client = await self._client(name)
        result = await client.authorize(body.application, body.scopes, body.guild, body.permissions, body.query)
        url, redirect_uri = result.pop("url"), result.pop("redirect_uri")
        return models.Authorization(url=url, redirect_uri=redirect_uri, parameters=dict(result))

    async def buy(self, name: str, body: models.Buy) -> Result:
        """Buy a SKU as a person."""
        client = await self._client(name)
        return await client.buy(body.sku, body.guild)

    # Voice

    async def join_voice(self, name: str, body: models.JoinVoice) -> models.VoiceCredentials:
        """Join a voice channel as a person.

        Audio needs the extra `voice` of the package; it is recorded from now on, at most the latest five minutes.
        """
        client = await self._client(name)
        flags = {"self_mute": body.self_mute, "self_deaf": body.self_deaf}
        result = await client.join_voice(body.channel, flags, body.timeout_ms / 1000, with_audio=body.audio)
        return models.VoiceCredentials(
            endpoint=result["endpoint"], token=result["token"], session_id=result["session_id"]
        )

    async def leave_voice(self, name: str) -> None:
        """Leave the current voice channel of a person."""
        client = await self._client(name)
        await client.leave_voice()

    async def play(self, name: str, body: models.Play) -> Result:
        """Play a file in the current call of a person, in real time."""
        client = await self._client(name)
        return await client.play(_decode_file(("file",), body.file), body.timeout_ms / 1000)

    async def hear(self, name: str, body: models.Hear) -> models.Heard:
        """Return the audio that a person hears in the current call.

        Audio that has arrived and was not returned before is part of the recording.
        """
        client = await self._client(name)
        user_id = body.user
        if user_id is not None and not user_id.isdigit():
            user_id = client.context.user_id(user_id)
        speaker_id, packets = await client.hear(
            user_id, body.duration_ms / 1000, body.quiet_ms / 1000, body.timeout_ms / 1000
        )
        return models.Heard(
            user=client.context.name_of(speaker_id),
            user_id=UserId(int(speaker_id)),
            frames=len(packets),
            duration_ms=ogg.compute_duration_ms(packets),
            file=base64.b64encode(ogg.encode_file(packets)).decode(),
        )

    # Other requests

    async def request(self, name: str, body: models.SendRequest) -> Any:
        """Send any request to the public API as a person; return its response."""
        client = await self._client(name)
        return await client.request(body.method, body.path, body.body)


async def run_action(action: Awaitable[T]) -> T:
    """Await an action of a person; raise its failure as an error of the control API."""
    try:
        return await action
    except RequestRejected as error:
        raise _convert_rejection(error) from None
    except EventNotReceived as error:
        received_events = _convert_events(error.received[-EVENTS_SHOWN_MAX:])
        raise models.ACTION_FAILED(
            message=str(error), differences=list(error.differences), received=received_events
        ) from None
    except (InteractionFailed, VoiceFailed) as error:
        raise models.ACTION_FAILED(message=str(error)) from None
    except InvalidArgument as error:
        raise errors.invalid(error.field, "ARGUMENT_INVALID", str(error)) from None
    except UnknownNameError as error:
        raise errors.invalid("application", "ARGUMENT_INVALID", str(error)) from None
    except PlatformUnavailable as error:
        raise errors.UNAVAILABLE(message=str(error)) from None


def _convert_rejection(error: RequestRejected) -> ApiError:
    """Return the error for a request that the public API rejected: its status and code, and the rejected request."""
    body = error.body if isinstance(error.body, Mapping) else {}
    # 401 would mean that the control token is wrong.
    status = 403 if error.status == 401 else error.status
    actor, method, path = error.request
    error_fields = {
        "message": str(error),
        "request": {"actor": actor, "method": method, "path": path},
        "cause": error.cause,
    }
    return ApiError(ErrorCode(error.code, status, str(error)), errors=body.get("errors"), extra=error_fields)


def _convert_events(received: Iterable[ReceivedEvent]) -> list[EventOfPerson]:
    return [EventOfPerson(event=event.name, data=event.data) for event in received]


def _interaction_result(result: Result) -> models.InteractionResult:
    if result.is_modal:
        return models.InteractionResult(modal=result)  # type: ignore[arg-type]
    is_deferred = bool(result.get("flags", 0) & MessageFlags.LOADING)
    return models.InteractionResult(message=result or None, deferred=is_deferred)  # type: ignore[arg-type]


def _decode_values(field: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options or fields, with files decoded."""
    return {
        name: (value["filename"], _decode_file((field, name, "data"), value["data"]))
        if isinstance(value, Mapping) and set(value) == FILE_KEYS
        else value
        for name, value in values.items()
    }


def _decode_file(path: tuple[str, ...], data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise errors.invalid(path, "BASE64_INVALID", "The content of a file must be encoded as base64.") from None
