"""Gateway commands: opcodes that clients send within a session."""

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
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
from hubbub.server.core.call import Call
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.rate_limits import RateLimits
from hubbub.server.core.rejections import RejectedWithSideEffects, run_side_effects
from hubbub.server.core.store import StoreUnavailable, Tx
from hubbub.server.transports.gateway.context import GatewayContext
from hubbub.server.transports.gateway.limits import MemberRequests
from hubbub.server.transports.gateway.session import GatewayConnection, GatewaySession
from hubbub.server.transports.gateway.sessions import GatewaySessions
from hubbub.server.transports.http import decoding
from hubbub.server.transports.sockets import CloseConnection

log = logging.getLogger(__name__)

# Opcodes that first-party and SDK clients send (spec/gateway.md#2). For bots they are unknown opcodes. For users, an opcode
# of this set that no slice handles is ignored: streams, for example, are not supported, but a client that requests one
# keeps its session.
IGNORED_OPCODES: Final = frozenset(
    {
        GatewayOpcode.VOICE_SERVER_PING,
        GatewayOpcode.GUILD_SUBSCRIPTIONS,
        *range(18, 23),  # streams
        *range(28, 31),  # remote commands
        *range(34, 37),  # without a name in the specification
        GatewayOpcode.GUILD_SUBSCRIPTIONS_BULK,
        GatewayOpcode.GUILD_CHANNELS_RESYNC,
        GatewayOpcode.REQUEST_CHANNEL_MEMBER_COUNT,
        GatewayOpcode.UPDATE_TIME_SPENT_SESSION,
    }
)

# Opcodes about guilds, with the scope that an OAuth2 session needs; "" means never. An OAuth2 session has no guilds
# (spec/sdk.md#5.3), but with the scope `voice` it may join a voice channel.
GUILD_OPCODE_SCOPES: Final = {
    GatewayOpcode.VOICE_STATE_UPDATE: Scope.VOICE.value,
    GatewayOpcode.REQUEST_GUILD_MEMBERS: "",
    GatewayOpcode.REQUEST_SOUNDBOARD_SOUNDS: "",
    GatewayOpcode.REQUEST_CHANNEL_INFO: "",
}


class _CommandResult(NamedTuple):
    """What a transaction of a command read."""

    replies: list[tuple[str, bytes]]
    """Names and encoded payloads of events for the session."""
    further_reads: list[Callable[[Call], None]]
    """Functions that read more replies."""


class Commands:
    """Executes the opcodes that slices handle, and presence updates, which the gateway handles itself."""

    def __init__(
        self, context: GatewayContext, sessions: GatewaySessions, metrics: Metrics, rate_limits: RateLimits
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._command_counters = metrics.commands
        self._member_requests = MemberRequests(context.clock, rate_limits)
        self._rate_limits = rate_limits
        self._handlers_by_opcode: dict[int, tuple[Command[Any], Callable[..., Any]]] = {}
        for resource_slice in context.slices:
            for command, function in resource_slice.commands():
                self._handlers_by_opcode[command.opcode] = (command, function)

    async def execute(
        self, connection: GatewayConnection, session: GatewaySession, opcode: int, raw_payload: msgspec.Raw, now: float
    ) -> None:
        """Execute a command; raise `CloseConnection` if its opcode is unknown or its payload invalid.

        `now` is the time in seconds of the event loop's clock.
        """
        if opcode == SET_PRESENCE.opcode:
            self._command_counters(SET_PRESENCE.name).inc()
            presence = _decode_payload(SET_PRESENCE, raw_payload)
            if session.presence_limit.take(now) or not self._rate_limits.report_excess(
                "presence updates", session.user_id
            ):
                self._sessions.presence_feed.set_presence(session, presence)
            return
        if (
            session.is_oauth2
            and opcode in GUILD_OPCODE_SCOPES
            and GUILD_OPCODE_SCOPES[GatewayOpcode(opcode)] not in session.actor.scopes
        ):
            return
        command, function = self._handlers_by_opcode.get(opcode, (None, None))
        if command is None or function is None or (session.actor.is_bot and not command.allows_bots):
            if opcode in IGNORED_OPCODES and not session.actor.is_bot:
                return
            raise CloseConnection(CloseCode.UNKNOWN_OPCODE, "Unknown opcode")
        self._command_counters(command.name).inc()
        payload = _decode_payload(command, raw_payload)
        if command is REQUEST_GUILD_MEMBERS and self._is_rate_limited(session, payload):
            return

        def run_command(tx: Tx) -> _CommandResult:
            return self._run(tx, session, lambda call: function(call, payload))

        run_transaction = self._context.db.write if getattr(function, "__writes__", False) else self._context.db.read
        observer = self._context.observer
        observation = None if observer is None else observer.start("gateway", command.name)
        try:
            try:
                result = await run_transaction(run_command)
            except RejectedWithSideEffects as rejection:
                await run_side_effects(rejection, self._context.db, lambda tx: self._context.call(tx, session))
                raise
        except ApiError as error:
            # The gateway protocol has no error response (spec/gateway.md#7).
            log.debug("Gateway command rejected", extra={"command": command.name, "reason": str(error)})
            return
        except StoreUnavailable:
            log.warning("Gateway command failed: the database is unavailable", extra={"command": command.name})
            return
        finally:
            if observer is not None:
                observer.end(observation)
        await self._send_replies(connection, session, result)

    def _run(self, tx: Tx, session: GatewaySession, function: Callable[[Call], None]) -> "_CommandResult":
        call = self._context.call(tx, session)
        function(call)
        return _CommandResult([(event.name, codec.encode(reply)) for event, reply in call.replies], call.further_reads)

    async def _send_replies(
        self, connection: GatewayConnection, session: GatewaySession, result: "_CommandResult"
    ) -> None:
        """Send the replies of a command, and read and send further replies at the pace of the client."""
        further_reads = deque[Callable[[Call], None]]()
        while True:
            for event, body in result.replies:
                session.send(self._sessions.create_packet(event, body))
                await connection.wait_writable()
            further_reads.extendleft(reversed(result.further_reads))
            if not further_reads or session.has_ended:
                return
            read = partial(self._run, session=session, function=further_reads.popleft())
            try:
                result = await self._context.db.read(read, long=True)
            except StoreUnavailable:
                log.warning("Gateway command failed: the database is unavailable")
                return

    def _is_rate_limited(self, session: GatewaySession, request: RequestGuildMembers) -> bool:
        """Return whether to reject a request for all members of a guild; send RATE_LIMITED if it came too soon.

        Raise `CloseConnection` if the guild IDs are invalid.
        """
        if not session.actor.is_bot or request.query != "" or request.limit or request.requested_user_ids:
            return False
        try:
            guild_ids = request.guild_ids
        except ValueError as error:
            raise CloseConnection(CloseCode.DECODE_ERROR, "Error while decoding payload") from error
        if len(guild_ids) != 1 or guild_ids[0] not in session.subscriptions:
            return False
        guild_id = guild_ids[0]
        wait_ms, is_rejected = self._member_requests.record_request(
            session.user_id, guild_id, self._sessions.member_count(guild_id)
        )
        if not wait_ms:
            return False
        nonce = request.nonce
        if not isinstance(nonce, str) or len(nonce.encode()) > NONCE_BYTES_MAX:
            nonce = UNSET
        rate_limited = RateLimited(
            opcode=REQUEST_GUILD_MEMBERS.opcode,
            retry_after=wait_ms / 1000,
            meta=RateLimitedRequest(guild_id=Snowflake(guild_id), nonce=nonce),
        )
        session.send(self._sessions.create_packet(RATE_LIMITED.name, codec.encode(rate_limited)))
        return is_rejected


def _decode_payload(command: Command[Any], raw_payload: msgspec.Raw) -> Any:
    try:
        # Payloads are decoded like HTTP request bodies, because a store cannot hold some values: NUL is removed from text, and
        # integers over 64 bits are rejected.
        return decoding.decode(bytes(raw_payload), command.payload)
    except (ApiError, ValueError) as error:
        raise CloseConnection(CloseCode.DECODE_ERROR, "Error while decoding payload") from error
