"""What clients ask for once they have a session."""

import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import wire
from hubbub.protocol.enums import CloseCode, GatewayOpcode, Scope
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.operation import Command
from hubbub.protocol.resources.gateway import (
    NONCE_BYTES_MAX,
    RATE_LIMITED,
    REQUEST_GUILD_MEMBERS,
    RateLimited,
    RateLimitedRequest,
    RequestGuildMembers,
)
from hubbub.protocol.resources.presence import SET_PRESENCE
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.rate_limits import RateLimits
from hubbub.server.core.refusals import Refusal, follow
from hubbub.server.core.store import StoreUnavailable, Tx
from hubbub.server.transports.gateway.connection import Connection
from hubbub.server.transports.gateway.limits import MemberRequests
from hubbub.server.transports.gateway.session import Session
from hubbub.server.transports.gateway.sessions import Sessions
from hubbub.server.transports.gateway.world import World
from hubbub.server.transports.http import forms
from hubbub.server.transports.sockets import Closing

log = logging.getLogger(__name__)

# First-party and SDK clients say these (gateway.md 2); from a bot they are unknown. Where no slice obeys one, nothing comes of it:
# streams are not carried, and a client that asks for them must not lose its session by that.
HINTS: Final = frozenset(
    {
        GatewayOpcode.VOICE_SERVER_PING,
        GatewayOpcode.GUILD_SUBSCRIPTIONS,
        *range(18, 23),  # streams
        *range(28, 31),  # remote commands
        *range(34, 37),
        GatewayOpcode.GUILD_SUBSCRIPTIONS_BULK,
        GatewayOpcode.GUILD_CHANNELS_RESYNC,
        GatewayOpcode.REQUEST_CHANNEL_MEMBER_COUNT,
        GatewayOpcode.UPDATE_TIME_SPENT_SESSION,
    }
)


# What concerns guilds: a game is in none (sdk.md 5.3), and only the scope `voice` lets it into a voice channel.
OF_GUILDS: Final = {
    GatewayOpcode.VOICE_STATE_UPDATE: Scope.VOICE.value,
    GatewayOpcode.REQUEST_GUILD_MEMBERS: "",
    GatewayOpcode.REQUEST_SOUNDBOARD_SOUNDS: "",
    GatewayOpcode.REQUEST_CHANNEL_INFO: "",
}


class Commands:
    """The opcodes that slices obey, and the door's own."""

    def __init__(self, world: World, sessions: Sessions, metrics: Metrics, rate_limits: RateLimits) -> None:
        self._world = world
        self._sessions = sessions
        self._counts = metrics.commands
        self._requests = MemberRequests(world.clock, rate_limits)
        self._rate_limits = rate_limits
        self._table: dict[int, tuple[Command[Any], Callable[..., Any]]] = {}
        for part in world.slices:
            for command, function in part.commands():
                self._table[command.opcode] = (command, function)

    async def obey(self, connection: Connection, session: Session, opcode: int, data: msgspec.Raw, now: float) -> None:
        """Do what a frame asks for; Closing when it makes no sense."""
        if opcode == SET_PRESENCE.opcode:
            self._counts(SET_PRESENCE.name).inc()
            wish = _payload(SET_PRESENCE, data)
            if session.presences.take(now) or not self._rate_limits.refuses("presence updates", session.user_id):
                self._sessions.feed.put(session, wish)
            return
        if session.is_game and opcode in OF_GUILDS and OF_GUILDS[GatewayOpcode(opcode)] not in session.actor.scopes:
            return
        entry = self._table.get(opcode)
        if entry is None or (session.actor.is_bot and not entry[0].bots):
            if opcode in HINTS and not session.actor.is_bot:
                return
            raise Closing(CloseCode.UNKNOWN_OPCODE, "Unknown opcode")
        command, function = entry
        self._counts(command.name).inc()
        payload = _payload(command, data)
        if command is REQUEST_GUILD_MEMBERS and self._refused(session, payload):
            return

        def work(tx: Tx) -> list[tuple[str, bytes]]:
            call = self._world.call(tx, session)
            function(call, payload)
            return [(event.name, wire.encode(reply)) for event, reply in call.replies]

        run = self._world.db.write if getattr(function, "__writes__", False) else self._world.db.read
        try:
            try:
                replies = await run(work)
            except Refusal as refusal:
                await follow(refusal, self._world.db, lambda tx: self._world.call(tx, session))
                raise
        except ApiError as error:
            # There is no answer on the gateway that says no (gateway.md 7).
            log.debug("a command was refused", extra={"command": command.name, "reason": str(error)})
            return
        except StoreUnavailable:
            log.warning("a command could not reach the store", extra={"command": command.name})
            return
        for event, body in replies:
            session.send(self._sessions.packet(event, body))
            await connection.room()

    def _refused(self, session: Session, request: RequestGuildMembers) -> bool:
        """Whether all members of a guild are asked for too soon after the last time; the client is told."""
        if not session.actor.is_bot or request.query != "" or request.limit or request.wanted:
            return False
        try:
            guilds = request.guild_ids
        except ValueError as error:
            raise Closing(CloseCode.DECODE_ERROR, "Error while decoding payload") from error
        if len(guilds) != 1 or guilds[0] not in session.seats:
            return False
        guild_id = guilds[0]
        wait = self._requests.wait_ms(session.user_id, guild_id, self._sessions.member_count(guild_id))
        if not wait:
            return False
        nonce = request.nonce
        if not isinstance(nonce, str) or len(nonce.encode()) > NONCE_BYTES_MAX:
            nonce = UNSET
        told = RateLimited(
            opcode=REQUEST_GUILD_MEMBERS.opcode,
            retry_after=wait / 1000,
            meta=RateLimitedRequest(guild_id=Snowflake(guild_id), nonce=nonce),
        )
        session.send(self._sessions.packet(RATE_LIMITED.name, wire.encode(told)))
        return True


def _payload(command: Command[Any], data: msgspec.Raw) -> Any:
    try:
        # As bodies of requests are read, so that no store sees what it cannot take: NUL in text, numbers over 64 bits.
        return forms.decode(bytes(data), command.payload)
    except (ApiError, ValueError) as error:
        raise Closing(CloseCode.DECODE_ERROR, "Error while decoding payload") from error
