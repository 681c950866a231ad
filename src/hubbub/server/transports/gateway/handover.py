"""Handover of sessions between gateway nodes (decisions/0170).

Every node knows which node holds each session, from its presence. A node takes a session in three steps:

1. It reads the description of the session, subscribes to its user and guilds, and buffers their events.
2. It requests the state. The holder waits until it has sent all events that it received, ends its session, and returns
   the state with the unsent events and, for each publisher on the bus, the number of the last message that it handled.
3. It sends the buffered events that follow these numbers, and continues the session.

Both nodes subscribe during the handover and a publisher's messages arrive in order at both, so that no event is lost or repeated.
"""

import asyncio
import logging
import zlib
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from hubbub.protocol import codec
from hubbub.server.core.bus import Bus, BusError, Subscription
from hubbub.server.core.call import Actor
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.presences import LOCAL_NODE, Presences, SessionPresence
from hubbub.server.transports.gateway.identification import SessionParameters
from hubbub.server.transports.gateway.replay import ReplayBuffer, ReplayedEvent
from hubbub.server.transports.gateway.session import GatewaySession, SeatState
from hubbub.server.transports.gateway.sessions import GatewaySessions

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_MS: Final = 8000
"""Time in milliseconds for a reply of another node; longer than `IDLE_SECONDS_MAX`."""
IDLE_SECONDS_MAX: Final = 5.0
"""Time in seconds for which a holder waits until it has sent all events that it received for a session."""
IDLE_CHECK_SECONDS: Final = 0.005
"""Interval in seconds between two checks that a session has no unsent events."""
ATTEMPTS_MAX: Final = 5
"""Maximum number of attempts to take a session that changes its holder or its guilds meanwhile."""
PART_BYTES_MAX: Final = 256 * 1024
"""Maximum size in bytes of the part of a state in one reply; NATS limits messages to 1 MiB by default."""
RETENTION_SECONDS: Final = 60.0
"""Time in seconds for which a node keeps the state of a session that another node takes, and refers requests to that node."""
CONCURRENT_SESSIONS_MAX: Final = 16
"""Maximum number of sessions that a node takes at the same time from a node that stops."""
PUSH_BATCH_SIZE: Final = 50
"""Number of sessions that a node that stops assigns to another node per request."""
PUSH_TIMEOUT_MS: Final = 30_000
"""Time in milliseconds for another node to take a batch of sessions."""


class HandoverError(Exception):
    """A session could not be taken from another node."""


class _Request(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A request to a gateway node."""

    action: Literal["describe", "take", "read", "adopt"]
    session_id: str = ""
    node: str = ""
    """The node that sent the request."""
    seq: int | None = None
    """The last sequence number that the client received; None for the last one that it acknowledged."""
    guild_ids: list[int] = []
    """IDs of the guilds whose events the requesting node buffers."""
    offset: int = 0
    """Position in the state, for `read`."""
    sessions: list[tuple[int, str]] = []
    """User IDs and session IDs, for `adopt`."""


class _Reply(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The reply to a request."""

    status: Literal["ok", "unknown", "moved", "changed", "busy"]
    """`moved`: `data` is the node that took the session. `changed`: `data` is a new description, with other guilds."""
    data: bytes = b""
    size: int = 0
    """Size of the state in bytes, of which `data` is a part."""


class SessionDescription(msgspec.Struct, kw_only=True):
    """The part of a session that does not change, and its guilds."""

    actor: Actor
    parameters: SessionParameters
    version: int
    device: str
    application_name: str
    guild_ids: list[int]


class SessionState(msgspec.Struct, kw_only=True):
    """The part of a session that changes with every event."""

    seq: int
    """The sequence number before the first event of `events`."""
    acknowledged_seq: int
    events: list[ReplayedEvent]
    seats: dict[int, SeatState]
    """The state of the session in each of its guilds, by guild ID."""
    received_numbers: dict[int, int]
    """Number of the last message that the holder handled, by publisher."""
    presence: SessionPresence | None


_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(_Request).decode
_decode_reply = msgspec.msgpack.Decoder(_Reply).decode


class SessionHandover:
    """Takes sessions from other nodes and gives sessions to them."""

    def __init__(self, sessions: GatewaySessions, bus: Bus[Dispatch], presences: Presences) -> None:
        self._sessions = sessions
        self._bus = bus
        self._presences = presences
        self._adoptions: dict[str, asyncio.Task[GatewaySession | None]] = {}
        """Running handovers to this node, by session ID."""
        self._given_states: dict[str, tuple[str, bytes]] = {}
        """Nodes and encoded states of sessions that other nodes took recently, by session ID."""
        self._subscription: Subscription | None = None
        self._is_draining = False

    @property
    def _node(self) -> str:
        return self._sessions.presence_feed.node

    def start(self) -> None:
        """Reply to requests of other nodes."""
        self._subscription = self._bus.reply(_subject(self._node), self._handle)

    def close(self) -> None:
        """Stop replying."""
        if self._subscription is not None:
            self._subscription.cancel()
        for task in self._adoptions.values():
            task.cancel()

    # Taking sessions

    async def find_or_take(self, actor: Actor, session_id: str, seq: int) -> GatewaySession | None:
        """Return a session that an actor resumes, from this node or taken from another one; None if there is none.

        A session is taken only for the token that it was started with.
        """
        session = self._sessions.find(session_id)
        if session is None:
            session = await self._take_once(int(actor.user_id), session_id, seq, actor)
        if session is None or session.user_id != actor.user_id or session.actor.token_id != actor.token_id:
            return None
        return session

    async def _take_once(
        self, user_id: int, session_id: str, seq: int | None, actor: Actor | None
    ) -> GatewaySession | None:
        """Take a session, or wait for a handover of the session that already runs."""
        task = self._adoptions.get(session_id)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._take(user_id, session_id, seq, actor))
            self._adoptions[session_id] = task
            task.add_done_callback(lambda _: self._adoptions.pop(session_id, None))
        return await asyncio.shield(task)

    async def _take(self, user_id: int, session_id: str, seq: int | None, actor: Actor | None) -> GatewaySession | None:
        presence = self._presences.find_session(user_id, session_id)
        holder = LOCAL_NODE if presence is None else presence.node
        for _ in range(ATTEMPTS_MAX):
            if self._is_draining or holder in (LOCAL_NODE, self._node):
                return None
            try:
                reply = await self._request(holder, _Request(action="describe", session_id=session_id))
                if reply.status == "moved":
                    holder = reply.data.decode()
                elif reply.status != "ok":
                    return None
                else:
                    description = codec.decoder(SessionDescription).decode(reply.data)
                    if description.actor.user_id != user_id or (
                        actor is not None and description.actor.token_id != actor.token_id
                    ):
                        return None
                    return await self._take_from(holder, session_id, seq, description)
            except (BusError, HandoverError, msgspec.MsgspecError) as error:
                log.warning("A session could not be taken from another node", extra={"error": str(error)})
                return None
        return None

    async def _take_from(
        self, holder: str, session_id: str, seq: int | None, description: SessionDescription
    ) -> GatewaySession | None:
        session = self._sessions.create_session(
            description.actor, description.parameters, version=description.version, device=description.device
        )
        session.id, session.application_name = session_id, description.application_name
        previous_gap_count = self._sessions.gap_count
        self._sessions.join_user_sessions(session)
        is_taken = False
        try:
            for _ in range(ATTEMPTS_MAX):
                self._sessions.set_seats(session, description.guild_ids)
                await self._bus.flush()
                request = _Request(
                    action="take",
                    session_id=session_id,
                    node=self._node,
                    seq=seq,
                    guild_ids=sorted(session.seats),
                )
                is_taken = True
                reply = await self._request(holder, request)
                is_taken = reply.status == "ok"
                if reply.status != "changed":
                    break
                description = codec.decoder(SessionDescription).decode(reply.data)
            if not is_taken:
                raise HandoverError(f"the node that holds the session replied {reply.status}")
            state = await self._read_state(holder, session_id, reply)
            if session.has_ended or previous_gap_count != self._sessions.gap_count:
                raise HandoverError("events were lost, or the session was revoked, during the handover")
        except BaseException:
            self._sessions.abandon(session, was_taken=is_taken)
            raise
        settings = self._sessions.settings
        session.replay = ReplayBuffer(settings.replay_events_max, settings.replay_bytes_max, state.seq)
        self._sessions.continue_session(
            session,
            events=state.events,
            seats=state.seats,
            received_numbers=state.received_numbers,
            acknowledged_seq=state.acknowledged_seq,
            presence=state.presence,
        )
        return session

    async def _read_state(self, holder: str, session_id: str, reply: _Reply) -> SessionState:
        """Return the state of which a reply contains the first part."""
        data = bytearray(reply.data)
        while len(data) < reply.size:
            request = _Request(action="read", session_id=session_id, node=self._node, offset=len(data))
            part = await self._request(holder, request)
            if part.status != "ok" or not part.data:
                raise HandoverError("the state of the session is incomplete")
            data += part.data
        state: SessionState = codec.decoder(SessionState).decode(zlib.decompress(data))
        return state

    async def _request(self, node: str, request: _Request, timeout_ms: int = REQUEST_TIMEOUT_MS) -> _Reply:
        return _decode_reply(await self._bus.request(_subject(node), _encode(request), timeout_ms))

    # Giving sessions

    async def drain(self) -> None:
        """Assign the remaining sessions to other gateway nodes, which take them; sessions that cannot be taken stay."""
        self._is_draining = True
        nodes = sorted(self._sessions.presence_feed.gateway_nodes)
        sessions = [(session.user_id, session.id) for session in self._sessions]
        if not nodes or not sessions:
            return
        batches = [sessions[index : index + PUSH_BATCH_SIZE] for index in range(0, len(sessions), PUSH_BATCH_SIZE)]
        requests = [
            self._request(nodes[index % len(nodes)], _Request(action="adopt", sessions=batch), PUSH_TIMEOUT_MS)
            for index, batch in enumerate(batches)
        ]
        for result in await asyncio.gather(*requests, return_exceptions=True):
            if isinstance(result, BaseException):
                log.warning("Sessions could not be handed over", extra={"error": str(result)})

    async def _handle(self, data: bytes) -> bytes:
        """Handle a request of another node."""
        request = _decode_request(data)
        if request.action == "adopt":
            return _encode(await self._adopt(request.sessions))
        if request.action == "read":
            return _encode(self._read_part(request))
        task = self._adoptions.get(request.session_id)
        if task is not None:
            # This node is taking the session itself.
            await asyncio.wait({task})
        session = self._sessions.find(request.session_id)
        if session is None:
            given_state = self._given_states.get(request.session_id)
            if given_state is None:
                return _encode(_Reply(status="unknown"))
            return _encode(_Reply(status="moved", data=given_state[0].encode()))
        if request.action == "describe":
            return _encode(_Reply(status="ok", data=_describe(session)))
        return _encode(await self._give(session, request))

    async def _adopt(self, sessions: Iterable[tuple[int, str]]) -> _Reply:
        """Take the sessions of a node that stops."""
        slots = asyncio.Semaphore(CONCURRENT_SESSIONS_MAX)

        async def take(user_id: int, session_id: str) -> None:
            async with slots:
                await self._take_once(user_id, session_id, None, None)

        await asyncio.gather(*(take(user_id, session_id) for user_id, session_id in sessions))
        return _Reply(status="ok")

    async def _give(self, session: GatewaySession, request: _Request) -> _Reply:
        """End a session on this node and return its state, once all received events were sent to it."""
        self._sessions.disconnect(session)
        received_numbers = await self._wait_idle(session)
        if received_numbers is None:
            return _Reply(status="unknown" if session.has_ended else "busy")
        if sorted(session.seats) != request.guild_ids:
            return _Reply(status="changed", data=_describe(session))
        seq = session.acknowledged_seq if request.seq is None else request.seq
        # A sequence number that the client cannot have, or whose events were discarded, is rejected by the resume.
        seq = min(max(seq, session.replay.discarded_seq), session.replay.last_seq)
        state = SessionState(
            seq=seq,
            acknowledged_seq=session.acknowledged_seq,
            events=session.replay.export(seq, asyncio.get_running_loop().time()),
            seats={guild_id: seat.state for guild_id, seat in session.seats.items()},
            received_numbers=received_numbers,
            presence=self._presences.find_session(session.user_id, session.id),
        )
        data = zlib.compress(codec.encode(state), 1)
        self._given_states[session.id] = (request.node, data)
        asyncio.get_running_loop().call_later(RETENTION_SECONDS, self._given_states.pop, session.id, None)
        self._sessions.give(session, request.node)
        return _Reply(status="ok", data=data[:PART_BYTES_MAX], size=len(data))

    async def _wait_idle(self, session: GatewaySession) -> dict[int, int] | None:
        """Wait until all received events were sent to a session; return the numbers of the last received messages.

        Return None if the session ended, or if that takes too long.
        """
        loop = asyncio.get_running_loop()
        end_at = loop.time() + IDLE_SECONDS_MAX
        while not session.has_ended and loop.time() < end_at:
            received_numbers = self._bus.received_numbers()
            if received_numbers is not None and self._sessions.is_idle(session):
                return received_numbers
            await asyncio.sleep(IDLE_CHECK_SECONDS)
        return None

    def _read_part(self, request: _Request) -> _Reply:
        node, data = self._given_states.get(request.session_id, ("", b""))
        if node != request.node:
            return _Reply(status="unknown")
        return _Reply(status="ok", data=data[request.offset : request.offset + PART_BYTES_MAX], size=len(data))


def _subject(node: str) -> str:
    return f"gateway.{node}"


def _describe(session: GatewaySession) -> bytes:
    return codec.encode(
        SessionDescription(
            actor=session.actor,
            parameters=session.parameters,
            version=session.version,
            device=session.device,
            application_name=session.application_name,
            guild_ids=sorted(session.seats),
        )
    )
