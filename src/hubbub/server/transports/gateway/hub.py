"""One guild on this node: the sessions in it, what each may hear, and events fanned out to them in order.

Most events need nothing but a look at a remembered list of recipients. An event that changes who may see what
(`Dispatch.refresh`) makes the hub pause: later events queue, the guild is read again, the event itself goes out, then what
sessions gained and lost by it, then the queue.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from hubbub.protocol.permissions import Permissions
from hubbub.server.core import voice
from hubbub.server.core.dispatches import Dispatch
from hubbub.server.core.realtime import GuildState
from hubbub.server.transports.gateway import tracing
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.seats import Seat, SeatedMember
from hubbub.server.transports.gateway.session import Session, send_all
from hubbub.server.transports.gateway.standing import THREADED, VOICED, Standing, Standings
from hubbub.server.transports.gateway.world import Gain, World, wants_guilds

log = logging.getLogger(__name__)

T = TypeVar("T")

CHANNEL_EVENTS: Final = frozenset({"CHANNEL_CREATE", "CHANNEL_UPDATE", "CHANNEL_DELETE"})
WHOLE: Final = frozenset({"guild", "channels"})
"""Kinds of `Dispatch.refresh` for which the whole guild is read again."""
FRESH_S: Final = 30.0
"""How long after a session entered an event from before may still be on its way."""
RETRY_S: Final = 0.5
ARRIVALS_MOST: Final = 50
"""Sessions that are let in by one read."""
QUEUE_MOST: Final = 20_000
"""Events that may wait for a read, or for a session to come in; more would mean that the store or the client is away, and
memory is not endless."""


class Hub:
    """A guild and the sessions of this node that are in it."""

    def __init__(
        self,
        guild_id: int,
        world: World,
        packet: Callable[[str, bytes], Packet],
        on_empty: Callable[["Hub"], None],
        on_hole: Callable[[list[Session]], None],
    ) -> None:
        self.guild_id = guild_id
        self.state: GuildState | None = None
        self.seats: dict[Session, Seat] = {}
        self._world = world
        self._packet = packet
        self._on_empty = on_empty
        self._on_hole = on_hole
        """Called with sessions that missed something."""
        self._members: dict[int, SeatedMember] = {}
        self._standings: Standings | None = None
        self._timeout_end = 0
        self._lists: dict[tuple[int | None, int, int], tuple[list[Session], list[Session]]] = {}
        """(channel, permission, intents) to those who hear everything, and those who do not see message content."""
        self._arriving: list[Seat] = []
        self._loading: asyncio.Task[None] | None = None
        self._fresh: dict[Session, Seat] = {}
        """Sessions whose GUILD_CREATE may have in it what an event on its way tells."""
        self._fresh_end = 0
        """From this stamp on no GUILD_CREATE of theirs has it."""
        self._queue: deque[Dispatch | Seat] = deque()
        self._working: asyncio.Task[None] | None = None
        self._before: dict[int, tuple[bytes, frozenset[int], float]] = {}
        """Channels that changed or went, until their event comes: how they looked obfuscated, who saw them, and since when."""
        self._unannounced: set[int] = set()
        """Channels that are new in the state, until their CHANNEL_CREATE comes."""

    # Coming and going

    def expect(self, seat: Seat) -> None:
        """Keep events for a session that is about to come in."""
        self._arriving.append(seat)

    def admit(self, seat: Seat) -> "asyncio.Future[None]":
        """Let an expected session in: GUILD_CREATE and all events after it; done when that is sent."""
        seat.admitted = True
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load())
        return seat.opened

    async def _load(self) -> None:
        """Read what arriving sessions need, many at once, and queue their entry."""
        try:
            while waiting := [seat for seat in self._arriving if seat.admitted and not seat.read][:ARRIVALS_MOST]:
                sessions = [(seat.session, seat.joins) for seat in waiting]
                arrivals = await self._insist(partial(self._world.arrivals, self.guild_id, sessions))
                for seat, arrival in zip(waiting, arrivals, strict=True):
                    seat.arrival, seat.read = arrival, True
                    if arrival is None:
                        # Not a member any more; a GUILD_DELETE for the user says so.
                        self.leave(seat)
                    else:
                        self._queue.append(seat)
                self._work()
        finally:
            self._loading = None

    def leave(self, seat: Seat) -> None:
        """The session ended or its user left the guild."""
        if seat.gone:
            return
        seat.gone = True
        if not seat.opened.done():
            seat.opened.set_result(None)
        session = seat.session
        if seat in self._arriving:
            self._arriving.remove(seat)
        if self.seats.get(session) is seat:
            del self.seats[session]
            self._fresh.pop(session, None)
            self._lists.clear()
            member = self._members[session.user_id]
            member.seats.remove(seat)
            if not member.seats:
                del self._members[session.user_id]
        if not self.seats and not self._arriving:
            self._on_empty(self)

    def under_way(self) -> list[asyncio.Task[None]]:
        """What has to end before everything heard so far is sent."""
        return [task for task in (self._loading, self._working) if task is not None]

    def close(self) -> None:
        """Stop working."""
        for task in self.under_way():
            task.cancel()

    def tidy(self, now: float) -> None:
        """Forget what only mattered for a while."""
        for session, seat in list(self._fresh.items()):
            if now - seat.opened_at >= FRESH_S:
                del self._fresh[session]
                seat.snapshot = None
        if self._before:
            self._before = {channel: was for channel, was in self._before.items() if now - was[2] < FRESH_S}

    async def _open(self, seat: Seat) -> None:
        if seat.gone or seat.arrival is None:
            return
        self._arriving.remove(seat)
        arrival, session = seat.arrival, seat.session
        seat.arrival = None
        if self.state is None:
            self._adopt(arrival.state)
        member = self._members.get(session.user_id)
        if member is None:
            member = self._members[session.user_id] = SeatedMember(arrival.member, arrival.snapshot)
        elif member.state is None:
            member.state, member.snapshot = arrival.member, arrival.snapshot
        member.seats.append(seat)
        seat.snapshot, seat.visible, seat.moderated = arrival.snapshot, arrival.visible, arrival.moderated
        seat.opened_at = asyncio.get_running_loop().time()
        self.seats[session] = self._fresh[session] = seat
        self._fresh_end = max(self._fresh_end, arrival.snapshot.end)
        self._stand(member)
        if arrival.body is not None:
            session.send(self._packet("GUILD_CREATE", arrival.body))
        backlog, seat.backlog = seat.backlog or [], None
        for dispatch in backlog:
            if seat.missed(dispatch):
                await self._process(dispatch, seat)
        if not seat.opened.done():
            seat.opened.set_result(None)

    # Events in order

    def hear(self, dispatch: Dispatch) -> None:
        """An event of the guild, from the bus."""
        if self._working is not None:
            self._queue.append(dispatch)
            if len(self._queue) > QUEUE_MOST:
                log.error("a guild's events waited too long", extra={"guild_id": self.guild_id})
                self._give_up()
        elif self._stale(dispatch):
            self._queue.append(dispatch)
            self._work()
        else:
            try:
                self._deliver(dispatch, None)
            except Exception:
                log.exception("a guild's event failed", extra={"guild_id": self.guild_id})
                self._give_up()

    def _work(self) -> None:
        if self._working is None and self._queue:
            self._working = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        try:
            while self._queue:
                item = self._queue.popleft()
                try:
                    if isinstance(item, Seat):
                        await self._open(item)
                    else:
                        await self._process(item, None)
                except Exception:
                    log.exception("a guild's event failed", extra={"guild_id": self.guild_id})
                    self._give_up(item if isinstance(item, Seat) else None)
        finally:
            self._working = None

    def _give_up(self, opening: Seat | None = None) -> None:
        """Who heard what cannot be said any more: a stream with a hole is worse than a new one (decisions/0004)."""
        self._queue.clear()
        seats = [*self.seats.values(), *self._arriving]
        if opening is not None and opening not in seats:
            seats.append(opening)
        self._on_hole([seat.session for seat in seats])

    def _stale(self, dispatch: Dispatch) -> bool:
        """Whether something must be read again before this event is delivered."""
        if not dispatch.refresh or self.state is None:
            return False
        if dispatch.refresh in WHOLE:
            return not dispatch.stamp or not self.state.snapshot.covers(dispatch.stamp)
        if dispatch.refresh == "member":
            member = self._members.get(dispatch.subject_id)
            return member is not None and not (dispatch.stamp and member.snapshot.covers(dispatch.stamp))
        return False

    async def _process(self, dispatch: Dispatch, only: Seat | None) -> None:
        """Deliver an event (to one session, if it is still catching up), reading first and announcing after as needed."""
        stale = self._stale(dispatch)
        if stale:
            await self._renew(dispatch)
        self._deliver(dispatch, only)
        if stale:
            await self._announce(dispatch, list(self.seats.values()))
        elif only is not None and dispatch.refresh:
            await self._announce(dispatch, [only])

    async def _renew(self, dispatch: Dispatch) -> None:
        whole = dispatch.refresh in WHOLE
        waiting = [dispatch, *(item for item in self._queue if isinstance(item, Dispatch))]
        users = {d.subject_id for d in waiting if d.refresh == "member" and d.subject_id in self._members}
        renewal = await self._insist(lambda: self._world.renew(self.guild_id, whole=whole, users=users))
        if renewal.state is not None:
            self._adopt(renewal.state)
        for user in users:
            if (member := self._members.get(user)) is not None:
                member.state, member.snapshot = renewal.members.get(user), renewal.snapshot
        self._stand()

    async def _insist(self, read: Callable[[], Awaitable[T]]) -> T:
        """Read until it works: delivering by stale permissions would show what must not be seen."""
        while True:
            try:
                return await read()
            except Exception:
                log.exception("a guild could not be read", extra={"guild_id": self.guild_id})
                await asyncio.sleep(RETRY_S)

    def _adopt(self, state: GuildState) -> None:
        old, self.state = self.state, state
        self._standings = Standings(state)
        if old is None:
            return
        at = asyncio.get_running_loop().time()
        for channel_id, channel in old.channels.items():
            now = state.channels.get(channel_id)
            if now is None:
                viewers = frozenset(s.session.user_id for s in self.seats.values() if channel_id in s.visible)
                self._before.setdefault(channel_id, (channel.hidden, viewers, at))
            elif now.hidden != channel.hidden:
                self._before.setdefault(channel_id, (channel.hidden, frozenset(), at))
        self._unannounced = (self._unannounced | (state.channels.keys() - old.channels.keys())) & state.channels.keys()

    def _stand(self, *members: SeatedMember) -> None:
        """Work out the standing of these members anew, or of all."""
        assert self._standings is not None
        now = self._world.clock.now_ms()
        ends = {self._timeout_end} if members else set()
        for member in members or self._members.values():
            standing = None if member.state is None else self._standings.of(member.state, now)
            for seat in member.seats:
                seat.standing = standing
            if member.state is not None and member.state.timed_out_until_ms > now:
                ends.add(member.state.timed_out_until_ms)
        # Then standings change by themselves.
        self._timeout_end = min(ends - {0}, default=0)
        self._lists.clear()

    # Who hears what

    def _deliver(self, dispatch: Dispatch, only: Seat | None) -> None:
        if self._world.trace.on:
            sessions = list(self.seats) if only is None else [only.session]
            tracing.watch(
                self._world,
                dispatch,
                sessions,
                lambda: self._fan_out(dispatch, only),
                lambda session: tracing.why_not_in_guild(self.seats[session], dispatch),
            )
        else:
            self._fan_out(dispatch, only)

    def _fan_out(self, dispatch: Dispatch, only: Seat | None) -> None:
        if only is None and self._arriving:
            self._put_by(dispatch)
        if not self.seats:
            return
        if self._timeout_end and self._world.clock.now_ms() >= self._timeout_end:
            self._stand()
        if dispatch.event in CHANNEL_EVENTS:
            self._deliver_channel(dispatch, only)
            return
        audience = dispatch.audience
        seeing, stripped = self._recipients(audience.channel_id, audience.permission, dispatch.intents)
        if (
            (self._fresh and 0 < dispatch.stamp < self._fresh_end)
            or only is not None
            or audience.users
            or audience.members is not None
            or audience.excluded is not None
            or audience.blind_to is not None
            or audience.always is not None
        ):
            seeing, stripped = self._narrow(seeing, dispatch, only), self._narrow(stripped, dispatch, only)
            if audience.always is not None:
                seeing += self._always(dispatch, only, {*seeing, *stripped})
        if not seeing and not stripped:
            return
        packet = self._packet(dispatch.event, dispatch.body)
        send_all(seeing, packet)
        if stripped:
            if dispatch.redacted is None:
                send_all(stripped, packet)
            else:
                exempt = dispatch.unredacted_for
                send_all([session for session in stripped if session.user_id in exempt], packet)
                rest = [session for session in stripped if session.user_id not in exempt]
                for users, body in dispatch.partly:
                    if told := [session for session in rest if session.user_id in users]:
                        send_all(told, self._packet(dispatch.event, body))
                        rest = [session for session in rest if session.user_id not in users]
                send_all(rest, self._packet(dispatch.event, dispatch.redacted))

    def _put_by(self, dispatch: Dispatch) -> None:
        """Keep an event for those who come in; who takes too long, since it reads nothing of what it was sent, begins anew."""
        late = []
        for seat in self._arriving:
            if seat.backlog is not None:
                seat.backlog.append(dispatch)
                if len(seat.backlog) > QUEUE_MOST:
                    late.append(seat.session)
        if late:
            self._on_hole(late)

    def _recipients(self, channel_id: int | None, permission: int, intents: int) -> tuple[list[Session], list[Session]]:
        key = (channel_id, permission, intents)
        found = self._lists.get(key)
        if found is None:
            found = self._lists[key] = ([], [])
            for session, seat in self.seats.items():
                if (not intents or session.intents & intents) and _allowed(seat.standing, channel_id, permission):
                    found[0 if session.sees_content else 1].append(session)
        return found

    def _narrow(self, sessions: list[Session], dispatch: Dispatch, only: Seat | None) -> list[Session]:
        audience = dispatch.audience
        users, members, excluded, channel_id = audience.users, audience.members, audience.excluded, audience.channel_id
        chosen = []
        for session in sessions:
            user_id = session.user_id
            if (only is not None and session is not only.session) or (users and user_id not in users):
                continue
            if audience.voice_session and voice.session_id(session.id) != audience.voice_session:
                continue
            if user_id == excluded or ((fresh := self._fresh.get(session)) is not None and not fresh.missed(dispatch)):
                continue
            if audience.blind_to is not None:
                standing = self.seats[session].standing
                if standing is None or audience.blind_to in standing.visible:
                    continue
            if members is not None and user_id not in members:
                standing = self.seats[session].standing
                if standing is None or channel_id is None:
                    continue
                if not standing.permissions(channel_id) & Permissions.MANAGE_THREADS:
                    continue
            chosen.append(session)
        return chosen

    def _always(self, dispatch: Dispatch, only: Seat | None, heard: set[Session]) -> list[Session]:
        member = self._members.get(dispatch.audience.always or 0)
        if member is None or member.state is None:
            return []
        return [
            seat.session
            for seat in member.seats
            if seat.session not in heard and (only is None or seat is only) and seat.missed(dispatch)
        ]

    # Channels and who sees them (gateway.md 9)

    def _deliver_channel(self, dispatch: Dispatch, only: Seat | None) -> None:
        """CHANNEL_CREATE, UPDATE and DELETE go to all; who may not see the channel gets it obfuscated, where that is on."""
        assert self.state is not None
        channel_id = dispatch.subject_id or dispatch.audience.channel_id or 0
        channel = self.state.channels.get(channel_id)
        hidden_before, viewers, _ = self._before.get(channel_id, (None, frozenset[int](), 0.0))
        full = self._packet(dispatch.event, dispatch.body)
        hidden = channel.hidden if channel is not None else hidden_before
        thin = None if hidden is None else self._packet(dispatch.event, hidden)
        # A hidden channel's edit is told only if something visible changed; to who is catching up, in any case.
        edited = hidden_before is not None and hidden_before != hidden
        told = only is not None or edited or dispatch.event != "CHANNEL_UPDATE"
        seeing: list[Session] = []
        others: list[Session] = []
        for seat in list(self.seats.values()) if only is None else [only]:
            session = seat.session
            if seat.standing is None or not wants_guilds(session) or not seat.missed(dispatch):
                continue
            sees = channel_id in seat.standing.visible if channel is not None else session.user_id in viewers
            if sees or not self._world.obfuscates(session):
                seeing.append(session)
            elif told or channel_id in seat.visible:
                others.append(session)
        send_all(seeing, full)
        if thin is not None:
            send_all(others, thin)
        if only is None:
            self._unannounced.discard(channel_id)
            if channel is not None:
                self._before.pop(channel_id, None)

    async def _announce(self, cause: Dispatch, seats: list[Seat]) -> None:
        """Tell sessions which channels they now see, or no longer do, after the event that caused it."""
        state = self.state
        assert state is not None
        caused = cause.subject_id if cause.event in CHANNEL_EVENTS else 0
        created = {caused} if cause.event == "CHANNEL_CREATE" else set()
        made: dict[bytes, Packet] = {}
        gains: list[Gain] = []
        for seat in seats:
            session, standing = seat.session, seat.standing
            if standing is None or seat.gone:
                continue
            before, seat.visible = seat.visible, standing.visible
            moderated, seat.moderated = seat.moderated, standing.moderated
            if (before == seat.visible and moderated == seat.moderated) or not wants_guilds(session):
                continue
            new = self._unannounced | created
            gained = sorted(seat.visible - before - new)
            lost = sorted(channel for channel in before - seat.visible if channel in state.channels)
            if self._world.obfuscates(session):
                for body in [state.channels[c].full for c in gained if c != caused] + [
                    state.channels[c].hidden for c in lost if c != caused
                ]:
                    packet = made.get(body) or made.setdefault(body, self._packet("CHANNEL_UPDATE", body))
                    session.send(packet)
            # Who now moderates a channel sees private threads in it that they did not.
            threaded = {channel for channel in gained if state.channels[channel].type in THREADED}
            threaded |= seat.moderated - moderated - new
            voiced = [channel for channel in gained if state.channels[channel].type in VOICED]
            member = self._members[session.user_id].state
            if (threaded or voiced) and member is not None:
                gains.append(Gain(session, member, standing, sorted(threaded), voiced))
        if gains:
            told = await self._insist(lambda: self._world.gained(state, gains))
            for gain, packets in zip(gains, told, strict=True):
                for event, body in packets:
                    gain.session.send(self._packet(event, body))


def _allowed(standing: Standing | None, channel_id: int | None, permission: int) -> bool:
    if standing is None:
        return False
    if channel_id is None:
        return not permission or bool(standing.base & permission)
    if channel_id not in standing.visible:
        return False
    return not permission or bool(standing.permissions(channel_id) & permission)
