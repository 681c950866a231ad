"""Clients of users: the actions of a chat client.

Actions that cause events connect to the gateway first, so that the user receives the events.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from hubbub.people import ogg
from hubbub.people.actors import BotClient
from hubbub.people.context import PlatformContext
from hubbub.people.errors import EventNotReceived, InvalidArgument, VoiceFailed
from hubbub.people.interactions import InteractionClient
from hubbub.people.messages import ChannelReference
from hubbub.people.named_objects import suggest
from hubbub.people.results import Result
from hubbub.people.sessions import ActorSession
from hubbub.protocol.control.ready import WorldApplication
from hubbub.protocol.enums import ChannelType, GatewayOpcode, SkuType
from hubbub.protocol.resources.channels import GET_CHANNEL
from hubbub.protocol.resources.invites import ACCEPT_INVITE, CREATE_CHANNEL_INVITE, Invite
from hubbub.protocol.resources.oauth2 import AUTHORIZE_OAUTH2_APPLICATION
from hubbub.protocol.resources.relationships import SET_RELATIONSHIP
from hubbub.protocol.resources.skus import LIST_SKUS
from hubbub.protocol.resources.subscriptions import CREATE_PURCHASE, Purchase
from hubbub.protocol.resources.voice_states import VOICE_SERVER_UPDATE, VOICE_STATE_UPDATE, VoiceState

if TYPE_CHECKING:
    # The import is local, because the libraries of the module are optional.
    from hubbub.people.voice import VoiceClient

VOICE_CHANNEL_TYPES: Final = (
    ChannelType.GUILD_VOICE,
    ChannelType.GUILD_STAGE_VOICE,
    ChannelType.DM,
    ChannelType.GROUP_DM,
)


class UserClient(InteractionClient):
    """Client of a user, with all actions."""

    def __init__(self, context: PlatformContext, name: str, user_id: str, token: str) -> None:
        super().__init__(context, name, user_id, token)
        self._voice_ticket: dict[str, str] | None = None
        """Credentials for the current call; None outside of calls."""
        self._voice: VoiceClient | None = None
        """Connection to the voice server; None without audio."""

    # Friends, guilds, authorization and purchases

    async def befriend(self, user_id: str) -> Result[None]:
        """Send a friend request, or accept one."""
        __tracebackhide__ = True
        return await self.connect_and_send(SET_RELATIONSHIP, {}, user_id=user_id)

    async def create_invite(self, channel: ChannelReference, body: Mapping[str, Any]) -> Result[Invite]:
        """Create an invite to a channel; return the invite."""
        __tracebackhide__ = True
        channel_id, _ = await self.resolve_channel(channel)
        return await self.connect_and_send(CREATE_CHANNEL_INVITE, dict(body), channel_id=channel_id)

    async def join(self, code: str) -> Result[Invite]:
        """Accept an invite; return it."""
        __tracebackhide__ = True
        return await self.connect_and_send(ACCEPT_INVITE, {}, code=code)

    async def authorize(
        self,
        application: str | WorldApplication,
        scope: str | Sequence[str],
        guild: str | None,
        permissions: int | None,
        query: Mapping[str, Any],
    ) -> Result:
        """Authorize an application, as on its consent page; return the URL of the redirect and its parameters."""
        __tracebackhide__ = True
        scopes = scope.split() if isinstance(scope, str) else list(scope)
        client_id = self.context.resolve_application(application).id
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

    async def buy(self, sku: str, guild: str | None) -> Result[Purchase]:
        """Buy a SKU, given its name or ID, for a guild if it is a guild subscription; return the purchase."""
        __tracebackhide__ = True
        guild_id = None if guild is None else self.context.guild_id(guild)
        sku_id = sku if sku.isdigit() else await self._resolve_sku_id(sku)
        return await self.connect_and_send(CREATE_PURCHASE, {"sku_id": sku_id, "guild_id": guild_id})

    async def _resolve_sku_id(self, name: str) -> str:
        """Return the ID of a SKU, which only the application's bot can list."""
        ids: dict[str, str] = {}
        for application_name, application in self.context.applications.items():
            if application.bot is not None:
                bot = BotClient(self.context, application_name, application.bot.id, application.bot.token)
                skus = await bot.call(LIST_SKUS, application_id=application.id)
                # A subscription has a second SKU, its group, with the same name.
                ids |= {sku.name: str(sku.id) for sku in skus if sku.type != SkuType.SUBSCRIPTION_GROUP}
        if name not in ids:
            available_names = ", ".join(ids) or "none"
            raise InvalidArgument(
                "sku", f"this world has no SKU {name!r}; it has: {available_names}{suggest(name, ids)}"
            )
        return ids[name]

    # Voice

    async def join_voice(
        self,
        channel: ChannelReference,
        flags: Mapping[str, bool],
        timeout_seconds: float | None = None,
        *,
        with_audio: bool = False,
    ) -> Result:
        """Join a voice channel; return the `endpoint`, `token` and `session_id` that a voice client needs.

        Raise `VoiceFailed` if the platform ignores the request. With `with_audio`, connect to the voice server, so that the
        user receives the audio of the call.
        """
        __tracebackhide__ = True
        session = await self.ensure_session()
        channel_id, guild_id = await self.resolve_channel(channel)
        # The gateway ignores an invalid request without a message.
        stored_channel = await self.send(GET_CHANNEL, channel_id=channel_id)
        if stored_channel["type"] not in VOICE_CHANNEL_TYPES:
            raise InvalidArgument("channel", f"{stored_channel.get('name') or channel_id} is not a voice channel")
        timeout_seconds = self.context.timeout_seconds if timeout_seconds is None else timeout_seconds
        request = {"guild_id": guild_id, "channel_id": channel_id, **flags}
        try:
            state = await self._set_voice_state(session, request, timeout_seconds)
        except EventNotReceived:
            raise VoiceFailed(
                f"{self.name} did not join {stored_channel.get('name') or channel_id} within {timeout_seconds:g} s: the "
                "platform ignores the request if the member lacks the permission CONNECT there or the channel is full"
            ) from None
        server = await session.wait_event(VOICE_SERVER_UPDATE.name, timeout_seconds=timeout_seconds)
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
        return Result(frames=len(packets), duration_ms=ogg.compute_duration_ms(packets))

    async def hear(
        self,
        user_id: str | None,
        duration_seconds: float,
        quiet_seconds: float,
        timeout_seconds: float | None,
    ) -> "tuple[str, list[bytes]]":
        """Return the ID of a user who speaks in the call, and the Opus packets that were received from that user.

        `user_id` selects the user; None selects the first one who speaks. Recorded audio is returned once; the recording
        ends after `duration_seconds`, or when the user is quiet for `quiet_seconds`.
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
            url = f"ws{self.context.ready.web.removeprefix('http')}/voice"
            ticket = VoiceTicket(**self._voice_ticket)
            self._voice = await VoiceClient.open(self.context.http, url, self.name, ticket)
        return self._voice

    async def _close_voice(self) -> None:
        voice, self._voice, self._voice_ticket = self._voice, None, None
        if voice is not None:
            await voice.close()

    async def disconnect(self) -> Result[None]:
        """Leave the call and disconnect from the gateway; the events received so far are discarded."""
        await self._close_voice()
        return await super().disconnect()

    async def leave_voice(self) -> Result[VoiceState]:
        """Leave the current voice channel; return the new voice state. Raise `InvalidArgument` outside of voice channels."""
        __tracebackhide__ = True
        session = await self.ensure_session()
        states = [
            event.data
            for event in session.kept_events
            if event.name == VOICE_STATE_UPDATE.name and event.data["user_id"] == self.id
        ]
        if not states or states[-1]["channel_id"] is None:
            raise InvalidArgument("", f"{self.name} is not in a voice channel")
        await self._close_voice()
        state = await self._set_voice_state(
            session, {"guild_id": states[-1].get("guild_id"), "channel_id": None}, self.context.timeout_seconds
        )
        return Result.of(state, VOICE_STATE_UPDATE.payload)

    async def _set_voice_state(self, session: ActorSession, state: Mapping[str, Any], timeout_seconds: float) -> Any:
        await session.send(GatewayOpcode.VOICE_STATE_UPDATE, {"self_mute": False, "self_deaf": False, **state})
        expected = {"user_id": self.id, "channel_id": state["channel_id"]}
        return await session.wait_event(
            VOICE_STATE_UPDATE.name,
            lambda data: all(data.get(key) == value for key, value in expected.items()),
            timeout_seconds=timeout_seconds,
        )
