"""All calls of this process: sessions begin by a ticket, go on over new connections, and end when the ticket does."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Final

from hubbub.protocol import wire
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.server.core.bus import Bus, Subscription
from hubbub.server.core.call import Call
from hubbub.server.core.clock import Clock
from hubbub.server.core.dispatches import Dispatch
from hubbub.server.core.store import Database, StoreUnavailable, Tx
from hubbub.server.core.voice import VOICE_CHANGED, Ticket, VoiceChanged, VoiceSource
from hubbub.server.transports.voice.connection import VoiceConnection
from hubbub.server.transports.voice.dave import ExternalSender
from hubbub.server.transports.voice.room import Room
from hubbub.server.transports.voice.session import VoiceSession
from hubbub.server.transports.voice.sfu import Forwarder

log = logging.getLogger(__name__)

GRACE_MS: Final = 10_000
"""How long a session without a connection can be resumed (voice.md 6)."""

MOVING_S: Final = 0.25
"""How long who is moved may take to close the old socket by themselves. discord.py does, when it hears of the new server; where our
close comes at the same instant it waits for a word that it has just had, until it times out."""

Key = tuple[int, int]
MakeCall = Callable[[Tx], Call]


class Calls:
    """Sessions by server (guild, lobby or private channel) and user, and the rooms they are in."""

    def __init__(
        self,
        *,
        db: Database,
        bus: Bus[Dispatch],
        clock: Clock,
        source: VoiceSource,
        make_call: MakeCall,
        forwarder: Forwarder,
    ) -> None:
        self._db = db
        self._bus = bus
        self._clock = clock
        self._source = source
        self._make_call = make_call
        self.forwarder = forwarder
        self._sessions: dict[Key, VoiceSession] = {}
        self._by_token: dict[bytes, VoiceSession] = {}
        self._sender = ExternalSender()
        """Signs for the groups of all calls."""
        self._rooms: dict[int, Room] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscriptions: list[Subscription] = []

    def __len__(self) -> int:
        return len(self._sessions)

    def start(self) -> None:
        """Begin to hear of voice states that change."""
        self._subscriptions = [
            self._bus.subscribe("nodes", self._hear),
            self._bus.on_gap(self.look_at_all),
        ]

    async def close(self, code: int, reason: str) -> None:
        """End every session."""
        for subscription in self._subscriptions:
            subscription.cancel()
        for session in list(self._sessions.values()):
            self.end(session, code, reason)
        if self._tasks:
            await asyncio.wait(self._tasks)

    # Beginning

    async def find(self, token_hash: bytes) -> Ticket | None:
        """The ticket of a token."""
        return await self._db.read(lambda tx: self._source.find_ticket(tx, token_hash))

    def begin(self, ticket: Ticket, connection: VoiceConnection, dave: int) -> VoiceSession:
        """A client with a good ticket is there; a session it had before is over."""
        key = (int(ticket.server_id), int(ticket.user_id))
        if (before := self._sessions.get(key)) is not None:
            self.end(before, VoiceCloseCode.DISCONNECTED, "Connected anew")
        room = self._rooms.get(ticket.channel_id)
        if room is None:
            room = self._rooms[ticket.channel_id] = Room(ticket.channel_id, self._sender, self.end)
        session = VoiceSession(ticket, connection, self.forwarder.admit(), room, dave)
        room.expected += 1
        session.peer.dave = dave > 0
        self._sessions[key] = self._by_token[ticket.token_hash] = session
        session.attach(connection)
        self._follow(session, ticket)
        # What changed since the ticket was read was told to nobody.
        self._look_at(key, ended=False)
        return session

    def resumable(self, token_hash: bytes) -> VoiceSession | None:
        """The session of a token, if there is one."""
        return self._by_token.get(token_hash)

    async def entered(self, session: VoiceSession) -> None:
        """A connection stands."""
        if session.ticket.failures:
            await self._report(self._source.entered, session.ticket)

    async def refused(self, ticket: Ticket) -> None:
        """A client with a good ticket was refused."""
        await self._report(self._source.refused, ticket)

    async def refuse(self, session: VoiceSession) -> None:
        """The same, where there is a session already. It is written down before the client knows: who comes back at once waits."""
        self.end(session, None, "")
        await self.refused(session.ticket)

    async def _report(self, tell: Callable[[Call, Ticket], None], ticket: Ticket) -> None:
        try:
            await self._db.write(lambda tx: tell(self._make_call(tx), ticket))
        except StoreUnavailable:
            log.warning("a voice connection could not be reported", extra={"user_id": int(ticket.user_id)})

    # Ending

    def lost(self, session: VoiceSession, *, left: bool) -> None:
        """The connection is gone; unless the client said goodbye it may come back for a while."""
        session.detach()
        if left:
            self.end(session, None, "", leaves=True)
        else:
            session.grace = self._clock.call_later(
                GRACE_MS, lambda: self.end(session, None, "", leaves=True) if session.connection is None else None
            )

    def end(
        self, session: VoiceSession, code: int | None, reason: str, *, leaves: bool = False, after_s: float = 0.0
    ) -> None:
        """A session is over: the others are told, and where its end is news to the platform, that too. Its socket is closed after
        a while."""
        if session.ended:
            return
        session.ended = True
        if session.grace is not None:
            session.grace.cancel()
        if self._sessions.get(session.key) is session:
            del self._sessions[session.key]
        if self._by_token.get(session.ticket.token_hash) is session:
            del self._by_token[session.ticket.token_hash]
        room = session.room
        room.expected -= 1
        room.leave(session)
        if not room.expected:
            self._rooms.pop(room.channel_id, None)
            room.close()
        self.forwarder.dismiss(session.peer)
        if session.connection is not None and code is not None:
            session.connection.close(code, reason, after_s=after_s)
        if leaves:
            self._spawn(self._report(self._source.gone, session.ticket))

    # What changes meanwhile

    def _hear(self, dispatch: Dispatch) -> None:
        if dispatch.event == VOICE_CHANGED.name:
            changed = wire.decode(dispatch.body, VoiceChanged)
            self._look_at((int(changed.server_id), int(changed.user_id)), ended=changed.ended)

    def look_at_all(self) -> None:
        """Read every ticket again: some word of it may have been lost."""
        for key in self._sessions:
            self._look_at(key, ended=False)

    def _look_at(self, key: Key, *, ended: bool) -> None:
        if key in self._sessions:
            self._spawn(self._renew(key, ended))

    async def _renew(self, key: Key, ended: bool) -> None:
        """Read a ticket again: it may be another's turn, or how they are connected may have changed."""
        with self._clock.working():
            try:
                ticket = await self._db.read(lambda tx: self._source.ticket_of(tx, *key))
            except StoreUnavailable:
                log.warning("a voice ticket could not be read again", extra={"user_id": key[1]})
                return
        session = self._sessions.get(key)
        if session is None:
            return
        if ticket is not None and ticket.token_hash == session.ticket.token_hash:
            self._follow(session, ticket)
        elif ended:
            self.end(session, VoiceCloseCode.CALL_TERMINATED, "The call has ended")
        else:
            # voice.md 1: on a move too, or discord.py stays where it was.
            after_s = 0.0 if ticket is None else MOVING_S
            self.end(session, VoiceCloseCode.DISCONNECTED, "Disconnected", after_s=after_s)

    def _follow(self, session: VoiceSession, ticket: Ticket) -> None:
        session.ticket = ticket
        session.peer.silent, session.peer.deaf = ticket.silent, ticket.deaf

    def sweep(self, now: float) -> None:
        """Forget messages that are too old to be told again."""
        for session in self._sessions.values():
            session.replay.forget(now)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
