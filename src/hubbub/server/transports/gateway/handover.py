"""Handover of sessions between gateway nodes (decisions/0170).

Every node knows which node holds each session, from its presence. A node takes a session in three steps:

1. It reads the description of the session, subscribes to its user and guilds, and buffers their events.
2. It requests the state. The holder waits until it has sent all events that it received, ends its session, and returns
   the state with the unsent events and, for each publisher on the bus, the number of the last message that it handled.
3. It sends the buffered events that follow these numbers, and continues the session.

Both nodes subscribe during the handover and a publisher's messages arrive in order at both, so that no event is lost or repeated.

Presences arrive late on an overloaded node and on one that just started. So a session that this node does not know is looked
up at the other nodes, and a holder that does not reply in time is asked again. Meanwhile the client is asked to reconnect.
"""

import asyncio
import logging
import secrets
import zlib
from collections.abc import Callable, Coroutine
from typing import Any, Final, Literal, NamedTuple

import msgspec

from hubbub.protocol import codec
from hubbub.server.core.bus import Bus, BusError, LocalBus, NoResponderError, RequestFailedError, Subscription
from hubbub.server.core.call import Actor
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.presences import LOCAL_NODE, Presences, SessionPresence
from hubbub.server.transports.gateway.backup import SessionBackup
from hubbub.server.transports.gateway.replay import ReplayBuffer, ReplayedEvent
from hubbub.server.transports.gateway.session import GatewaySession, KnownChannels
from hubbub.server.transports.gateway.session_transfer import HandoverDelayed, SessionDescription, describe
from hubbub.server.transports.gateway.sessions import GatewaySessions

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_MS: Final = 8000
"""Time in milliseconds for a reply of another node; longer than `IDLE_SECONDS_MAX`."""
IDLE_SECONDS_MAX: Final = 5.0
"""Time in seconds for which a holder waits until it has sent all events that it received for a session."""
IDLE_CHECK_SECONDS: Final = 0.005
"""Interval in seconds between two checks that a session has no unsent events."""
RETRY_SECONDS: Final = 0.1
"""Pause in seconds before a holder that cannot give a session yet is asked again."""
CLIENT_WAIT_SECONDS: Final = 10.0
"""Time in seconds after which a client is asked to reconnect while its session is still being taken."""
TAKE_SECONDS_MAX: Final = 45.0
"""Time in seconds after which a node stops asking for a session; shorter than `RETENTION_SECONDS`."""
REPORT_SECONDS: Final = 10.0
"""Time in seconds after the start of a node for which it waits for other nodes to report a session that it does not know."""
ATTEMPTS_MAX: Final = 5
"""Maximum number of nodes that are asked for a session that moves meanwhile, and of handovers that a client waits for."""
PART_BYTES_MAX: Final = 256 * 1024
"""Maximum size in bytes of the part of a state in one reply; NATS limits messages to 1 MiB by default."""
RETENTION_SECONDS: Final = 60.0
"""Time in seconds for which a node keeps the state of a session that another node takes, and refers requests to that node."""
GIVEN_BYTES_MAX: Final = 256 * 1024 * 1024
"""Maximum size in bytes of the kept states of all sessions; the oldest are discarded first."""
CONCURRENT_SESSIONS_MAX: Final = 16
"""Maximum number of sessions that a node takes at the same time from nodes that stop."""
PUSH_BATCH_SIZE: Final = 50
"""Number of sessions that a node that stops assigns to another node per request."""
PUSH_TIMEOUT_MS: Final = 30_000
"""Time in milliseconds for another node to take a batch of sessions."""
PUSH_SECONDS_MAX: Final = 60.0
"""Time in seconds after which a node that stops assigns no more sessions."""
PUSH_ROUNDS_MAX: Final = 3
"""Maximum number of times that a node that stops assigns the same session."""
NODE_WAIT_SECONDS_MAX: Final = 5.0
"""Time in seconds for which a node that stops waits for another gateway node to appear, at most its drain time."""

HAS_COPY: Final = b"copy"
"""Data of the reply `busy` of a node that has a copy of the session, whose node may still run."""


class HandoverError(Exception):
    """A session cannot be taken from another node."""


class _Request(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A request to a gateway node."""

    action: Literal["describe", "take", "read", "adopt"]
    session_id: str = ""
    node: str = ""
    """The node that sent the request."""
    attempt: str = ""
    """Random name of the handover: a repeated `take` with the same name returns the same state."""
    seq: int | None = None
    """The last sequence number that the client received; None for the last one that it acknowledged."""
    guild_ids: list[int] = []
    """IDs of the guilds whose events the requesting node buffers."""
    offset: int = 0
    """Position in the state, for `read`."""
    sessions: list[tuple[int, str]] = []
    """User IDs and session IDs, for `adopt`; at most `PUSH_BATCH_SIZE`."""


class _Reply(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The reply to a request."""

    status: Literal["ok", "unknown", "moved", "changed", "busy"]
    """`moved`: `data` is the node that took the session. `changed`: `data` is a new description, with other guilds.
    `busy`: the request must be repeated."""
    data: bytes = b""
    size: int = 0
    """Size of the state in bytes, of which `data` is a part."""


class SessionState(msgspec.Struct, kw_only=True):
    """The part of a session that changes with every event."""

    seq: int
    """The sequence number before the first event of `events`."""
    acknowledged_seq: int
    events: list[ReplayedEvent]
    known_channels: dict[int, KnownChannels]
    """The channels that the client knows, by ID of each guild of the session."""
    received_numbers: dict[int, int]
    """Number of the last message that the holder handled, by publisher."""
    presence: SessionPresence | None
    resumable_seq_max: int | None = None
    """The last sequence number that is known from a lost node; None if the client has resumed since then."""


class _GivenState(NamedTuple):
    """The state of a session that another node took."""

    node: str
    attempt: str
    data: bytes
    """The encoded state; empty if it was discarded."""


_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(_Request).decode
_decode_reply = msgspec.msgpack.Decoder(_Reply).decode


class SessionHandover:
    """Takes sessions from other nodes and gives sessions to them."""

    def __init__(
        self, sessions: GatewaySessions, bus: Bus[Dispatch], presences: Presences, backup: SessionBackup
    ) -> None:
        self._sessions = sessions
        self._backup = backup
        self._bus = bus
        self._presences = presences
        self._adoptions: dict[str, asyncio.Task[GatewaySession | None]] = {}
        """Running handovers to this node, by session ID."""
        self._given_states: dict[str, _GivenState] = {}
        """States of sessions that other nodes took recently, by session ID; the oldest is first."""
        self._given_bytes = 0
        self._adoption_slots = asyncio.Semaphore(CONCURRENT_SESSIONS_MAX)
        self._reported_at = 0.0
        """Time from which every other node has reported its sessions, in seconds of the event loop's clock."""
        self._subscription: Subscription | None = None
        self._is_draining = False

    @property
    def _node(self) -> str:
        return self._sessions.presence_feed.node

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def start(self) -> None:
        """Reply to requests of other nodes."""
        self._reported_at = self._now() + (0.0 if isinstance(self._bus, LocalBus) else REPORT_SECONDS)
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

        A session is taken only for the token that it was started with. Raise `HandoverDelayed` if it cannot be taken yet.
        """
        user_id = int(actor.user_id)
        session = self._sessions.find(session_id)
        for _ in range(ATTEMPTS_MAX):
            if session is not None:
                break
            is_own = session_id not in self._adoptions
            task = self._start_taking(session_id, lambda: self._take(user_id, session_id, seq, actor))
            await asyncio.wait({task}, timeout=CLIENT_WAIT_SECONDS)
            if not task.done() or task.cancelled():
                raise HandoverDelayed("the session is still being taken")
            session = task.result()
            if is_own:
                break
            # A handover for another token or for an assignment may fail although this client may resume.
        if session is None or session.user_id != actor.user_id or session.actor.token_id != actor.token_id:
            return None
        return session

    def _start_taking(
        self, session_id: str, take: Callable[[], Coroutine[Any, Any, GatewaySession | None]]
    ) -> "asyncio.Task[GatewaySession | None]":
        """Start to take a session, or return the task that already takes it: a node has each session at most once."""
        task = self._adoptions.get(session_id)
        if task is None:
            task = self._adoptions[session_id] = asyncio.get_running_loop().create_task(take())
            task.add_done_callback(lambda _: self._adoptions.pop(session_id, None))
            # The exception is raised where the result is used; a client may have disconnected.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return task

    async def _take(
        self, user_id: int, session_id: str, seq: int | None, actor: Actor | None, holder: str = ""
    ) -> GatewaySession | None:
        """Take a session from the node that holds it; `holder` is that node, or empty if it must be found.

        Return None if no node has the session or it belongs to another token. Raise `HandoverDelayed` if that is not known yet.
        """
        ends_at = self._now() + TAKE_SECONDS_MAX
        move_count = 0
        while move_count < ATTEMPTS_MAX:
            if self._is_draining or self._now() >= ends_at:
                raise HandoverDelayed("the node stops, or the node that holds the session does not reply")
            presence = self._presences.find_session(user_id, session_id)
            holder, reply = await self._find_holder(user_id, session_id, holder)
            try:
                if reply.status == "unknown":
                    session = await self._backup.find_or_continue(session_id)
                    if session is not None:
                        return session if session.user_id == user_id else None
                    if self._now() >= self._reported_at:
                        return None
                    holder = ""
                elif reply.status == "moved":
                    holder = reply.data.decode()
                    move_count += 1
                    continue
                elif reply.status == "ok":
                    description = codec.decoder(SessionDescription).decode(reply.data)
                    if description.actor.user_id != user_id or (
                        actor is not None and description.actor.token_id != actor.token_id
                    ):
                        return None
                    result = await self._take_from(holder, session_id, seq, description, ends_at)
                    if isinstance(result, GatewaySession):
                        return result
                    holder = result
                    move_count += 1
                    continue
            except (BusError, HandoverError, msgspec.MsgspecError, ValueError, zlib.error) as error:
                log.warning("A session could not be taken from another node", extra={"error": str(error)})
                return None
            await asyncio.sleep(RETRY_SECONDS)
            if self._presences.find_session(user_id, session_id) != presence:
                # Another node may continue the session, because its node did not respond.
                holder = ""
        return None

    async def _find_holder(self, user_id: int, session_id: str, holder: str) -> tuple[str, _Reply]:
        """Return a node that knows a session and its description of the session; `holder` is the most likely node, or empty.

        The presence names the holder, unless it has not arrived yet: then all nodes are asked.
        """
        request = _Request(action="describe", session_id=session_id)
        presence = self._presences.find_session(user_id, session_id)
        if not holder and presence is not None:
            holder = presence.node
        if holder not in (LOCAL_NODE, self._node):
            reply = await self._ask(holder, request)
            if reply.status != "unknown":
                return holder, reply
        nodes = sorted(self._sessions.presence_feed.other_nodes - {holder})
        replies = await asyncio.gather(*(self._ask(node, request) for node in nodes))
        for status in ("ok", "moved"):
            for node, reply in zip(nodes, replies, strict=True):
                if reply.status == status and reply.data != self._node.encode():
                    return node, reply
        for node, reply in zip(nodes, replies, strict=True):
            if reply.status == "busy" and reply.data == HAS_COPY:
                return node, reply
        return holder, _Reply(status="unknown")

    async def _take_from(
        self, holder: str, session_id: str, seq: int | None, description: SessionDescription, ends_at: float
    ) -> GatewaySession | str:
        """Take a session and return it; if another node took it first, return that node."""
        session = self._sessions.create_session(
            description.actor, description.parameters, version=description.version, device=description.device
        )
        session.id, session.application_name = session_id, description.application_name
        previous_gap_count = self._sessions.gap_count
        self._sessions.join_user_sessions(session)
        attempt = secrets.token_hex(8)
        is_taken = False
        try:
            while True:
                self._sessions.set_subscriptions(session, description.guild_ids)
                await self._bus.flush()
                request = _Request(
                    action="take",
                    session_id=session_id,
                    node=self._node,
                    attempt=attempt,
                    seq=seq,
                    guild_ids=sorted(session.subscriptions),
                )
                # Without a reply, the holder may have handed the session over: a repeated request returns the same state.
                is_taken = True
                reply = await self._ask(holder, request, ends_at)
                is_taken = reply.status == "ok"
                if reply.status != "changed":
                    break
                description = codec.decoder(SessionDescription).decode(reply.data)
            if reply.status == "moved":
                self._sessions.abandon(session, was_taken=False)
                return reply.data.decode()
            if reply.status == "busy":
                raise HandoverDelayed("the node that holds the session has not sent all events to it")
            if not is_taken:
                raise HandoverError(f"the node that holds the session replied {reply.status}")
            state = await self._read_state(holder, session_id, reply, ends_at)
            if session.has_ended or previous_gap_count != self._sessions.gap_count:
                raise HandoverError("events were lost, or the session was revoked, during the handover")
        except BaseException:
            self._sessions.abandon(session, was_taken=is_taken)
            raise
        settings = self._sessions.settings
        session.replay = ReplayBuffer(settings.replay_events_max, settings.replay_bytes_max, state.seq)
        session.resumable_seq_max = state.resumable_seq_max
        self._discard_given_state(session_id)
        self._sessions.continue_session(
            session,
            events=state.events,
            known_channels=state.known_channels,
            received_numbers=state.received_numbers,
            acknowledged_seq=state.acknowledged_seq,
            presence=state.presence,
        )
        return session

    async def _read_state(self, holder: str, session_id: str, reply: _Reply, ends_at: float) -> SessionState:
        """Return the state of which a reply contains the first part."""
        data = bytearray(reply.data)
        while len(data) < reply.size:
            request = _Request(action="read", session_id=session_id, node=self._node, offset=len(data))
            part = await self._ask(holder, request, ends_at)
            if part.status != "ok" or not part.data:
                raise HandoverError("the state of the session is incomplete")
            data += part.data
        state: SessionState = codec.decoder(SessionState).decode(zlib.decompress(data))
        return state

    async def _ask(self, node: str, request: _Request, ends_at: float = 0.0) -> _Reply:
        """Send a request until the node replies or `ends_at`, in seconds of the event loop's clock, but at least once.

        The reply is `unknown` if the node does not run, and `busy` if it does not reply in time. Raise BusError instead if
        `ends_at` is set and the node may have handled the request.
        """
        while True:
            error: BusError | None = None
            try:
                reply = await self._request(node, request)
            except (NoResponderError, RequestFailedError):
                return _Reply(status="unknown")
            except BusError as bus_error:
                error, reply = bus_error, _Reply(status="busy")
            if reply.status != "busy" or self._now() >= ends_at:
                if error is not None and ends_at:
                    raise error
                return reply
            await asyncio.sleep(RETRY_SECONDS)

    async def _request(self, node: str, request: _Request, timeout_ms: int = REQUEST_TIMEOUT_MS) -> _Reply:
        return _decode_reply(await self._bus.request(_subject(node), _encode(request), timeout_ms))

    # Giving sessions

    async def drain(self, node_wait_seconds: float) -> None:
        """Assign the remaining sessions to other gateway nodes, which take them; sessions that cannot be taken stay.

        Do nothing on the bus of a single process. Wait for a node to appear if none is known, for at most `node_wait_seconds`
        and `NODE_WAIT_SECONDS_MAX`.
        """
        self._is_draining = True
        if isinstance(self._bus, LocalBus):
            return
        ends_at = self._now() + PUSH_SECONDS_MAX
        for _ in range(PUSH_ROUNDS_MAX):
            if self._adoptions:
                # Sessions that this node is taking are assigned as well.
                await asyncio.wait(set(self._adoptions.values()), timeout=ends_at - self._now())
            sessions = [(session.user_id, session.id) for session in self._sessions]
            if not sessions or self._now() >= ends_at:
                break
            await self._wait_for_node(min(node_wait_seconds, NODE_WAIT_SECONDS_MAX))
            nodes = sorted(self._sessions.presence_feed.gateway_nodes)
            if not nodes:
                break
            batches = [sessions[index : index + PUSH_BATCH_SIZE] for index in range(0, len(sessions), PUSH_BATCH_SIZE)]
            pushes = [self._push(node, batches[index :: len(nodes)], ends_at) for index, node in enumerate(nodes)]
            await asyncio.gather(*pushes)
        remaining_count = len(list(self._sessions))
        if remaining_count:
            log.warning("Sessions could not be handed over", extra={"sessions": remaining_count})

    async def _wait_for_node(self, timeout_seconds: float) -> None:
        """Wait until another gateway node is known: the message of a node that just started may arrive late."""
        for _ in range(round(timeout_seconds / RETRY_SECONDS)):
            if self._sessions.presence_feed.gateway_nodes:
                return
            await asyncio.sleep(RETRY_SECONDS)

    async def _push(self, node: str, batches: list[list[tuple[int, str]]], ends_at: float) -> None:
        """Assign batches of sessions to a node, one after the other."""
        for batch in batches:
            if self._now() >= ends_at:
                return
            request = _Request(action="adopt", node=self._node, sessions=batch)
            try:
                await self._request(node, request, PUSH_TIMEOUT_MS)
            except BusError as error:
                log.warning("Sessions were not taken by another node", extra={"error": str(error), "node": node})

    async def _handle(self, data: bytes) -> bytes:
        """Handle a request of another node."""
        request = _decode_request(data)
        if request.action == "adopt":
            return _encode(await self._adopt(request))
        if request.action == "read":
            return _encode(self._read_part(request))
        task = self._adoptions.get(request.session_id)
        if task is not None:
            # This node is taking the session itself.
            await asyncio.wait({task}, timeout=IDLE_SECONDS_MAX)
            if not task.done():
                return _encode(_Reply(status="busy"))
        session = self._sessions.find(request.session_id)
        if session is None and request.action == "describe":
            try:
                session = await self._backup.find_or_continue(request.session_id)
            except HandoverDelayed:
                return _encode(_Reply(status="busy", data=HAS_COPY))
        if session is None:
            return _encode(self._refer(request))
        if request.action == "describe":
            return _encode(_Reply(status="ok", data=describe(session)))
        return _encode(await self._give(session, request))

    def _refer(self, request: _Request) -> _Reply:
        """Reply to a request for a session that this node does not have."""
        given_state = self._given_states.get(request.session_id)
        if given_state is None:
            return _Reply(status="unknown")
        if request.action == "take" and (given_state.node, given_state.attempt) == (request.node, request.attempt):
            if not given_state.data:
                return _Reply(status="unknown")
            # The first reply did not arrive in time.
            return _Reply(status="ok", data=given_state.data[:PART_BYTES_MAX], size=len(given_state.data))
        return _Reply(status="moved", data=given_state.node.encode())

    async def _adopt(self, request: _Request) -> _Reply:
        """Take sessions of a node that stops."""

        async def take(user_id: int, session_id: str) -> None:
            async with self._adoption_slots:
                if self._sessions.find(session_id) is None:
                    await asyncio.wait(
                        {
                            self._start_taking(
                                session_id, lambda: self._take(user_id, session_id, None, None, request.node)
                            )
                        }
                    )

        await asyncio.gather(*(take(*session) for session in request.sessions[:PUSH_BATCH_SIZE]))
        return _Reply(status="ok")

    async def _give(self, session: GatewaySession, request: _Request) -> _Reply:
        """End a session on this node and return its state, once all received events were sent to it."""
        self._sessions.disconnect(session)
        received_numbers = await self._wait_idle(session)
        if received_numbers is None:
            # Another node may have taken the session meanwhile.
            return self._refer(request) if session.has_ended else _Reply(status="busy")
        if sorted(session.subscriptions) != request.guild_ids:
            return _Reply(status="changed", data=describe(session))
        seq = session.acknowledged_seq if request.seq is None else request.seq
        # A sequence number that the client cannot have, or whose events were discarded, is rejected by the resume.
        seq = min(max(seq, session.replay.discarded_seq), session.replay.last_seq)
        state = SessionState(
            seq=seq,
            acknowledged_seq=session.acknowledged_seq,
            events=session.replay.export(seq, asyncio.get_running_loop().time()),
            known_channels={
                guild_id: subscription.known_channels for guild_id, subscription in session.subscriptions.items()
            },
            received_numbers=received_numbers,
            presence=self._presences.find_session(session.user_id, session.id),
            resumable_seq_max=session.resumable_seq_max,
        )
        data = zlib.compress(codec.encode(state), 1)
        self._keep_given_state(session.id, _GivenState(request.node, request.attempt, data))
        self._sessions.give(session, request.node)
        return _Reply(status="ok", data=data[:PART_BYTES_MAX], size=len(data))

    def _keep_given_state(self, session_id: str, given_state: _GivenState) -> None:
        """Keep a state for `RETENTION_SECONDS`; discard the data of the oldest ones above `GIVEN_BYTES_MAX`."""
        self._discard_given_state(session_id)
        self._given_states[session_id] = given_state
        self._given_bytes += len(given_state.data)
        if self._given_bytes > GIVEN_BYTES_MAX:
            for old_session_id, old_state in list(self._given_states.items()):
                if self._given_bytes <= GIVEN_BYTES_MAX or old_session_id == session_id:
                    break
                self._given_bytes -= len(old_state.data)
                self._given_states[old_session_id] = old_state._replace(data=b"")

        def expire() -> None:
            kept_state = self._given_states.get(session_id)
            if kept_state is not None and kept_state.attempt == given_state.attempt:
                self._discard_given_state(session_id)

        asyncio.get_running_loop().call_later(RETENTION_SECONDS, expire)

    def _discard_given_state(self, session_id: str) -> None:
        given_state = self._given_states.pop(session_id, None)
        if given_state is not None:
            self._given_bytes -= len(given_state.data)

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
        given_state = self._given_states.get(request.session_id)
        if given_state is None or given_state.node != request.node:
            return _Reply(status="unknown")
        data = given_state.data
        return _Reply(status="ok", data=data[request.offset : request.offset + PART_BYTES_MAX], size=len(data))


def _subject(node: str) -> str:
    return f"gateway.{node}"
