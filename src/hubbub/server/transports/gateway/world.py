"""What the gateway reads: the parts of READY, GUILD_CREATE and THREAD_LIST_SYNC, and the state behind its filters.

Everything here runs in read transactions, off the event loop, and comes back encoded.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from hubbub.protocol import changes, wire
from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.intents import Intents
from hubbub.protocol.resources.gateway import Ready
from hubbub.server.core.call import Actor, Call, Listeners
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.presences import Presences
from hubbub.server.core.realtime import GuildState, GuildView, MemberState, Source
from hubbub.server.core.slices import Slice
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import Database, Snapshot, Tx
from hubbub.server.core.trace import Trace
from hubbub.server.transports.gateway.ready import Opening, packets
from hubbub.server.transports.gateway.session import Session
from hubbub.server.transports.gateway.standing import Standing, Standings

T = TypeVar("T")

THREADS: Final = "threads"
"""The slice, and its key in GUILD_CREATE, that THREAD_LIST_SYNC is made from."""
REVEALED: Final = {
    "voice_states": ("VOICE_STATE_UPDATE", Intents.GUILD_VOICE_STATES),
    "stage_instances": ("STAGE_INSTANCE_CREATE", Intents.GUILDS),
    "guild_scheduled_events": ("GUILD_SCHEDULED_EVENT_CREATE", Intents.GUILD_SCHEDULED_EVENTS),
    "activity_instances": ("EMBEDDED_ACTIVITY_UPDATE_V2", Intents.GUILD_EMBEDDED_ACTIVITIES),
}
"""What goes on in a voice channel that comes into sight: keys of GUILD_CREATE, the event that tells each, and its intent."""
REVEALING: Final = frozenset({"voice_states", "stage_instances", "scheduled_events", "activity_instances"})
"""The slices that have them."""

# Keys of GUILD_CREATE that libraries index, for worlds whose slices do not fill them.
_GUILD_LISTS: Final[dict[str, Any]] = {
    "voice_states": [],
    "members": [],
    "threads": [],
    "presences": [],
    "stage_instances": [],
    "guild_scheduled_events": [],
    "soundboard_sounds": [],
    "activity_instances": [],
}
PROFILES: Final = "user_application_profiles"
# The same for READY.
_READY: Final[dict[str, Any]] = {
    field.encode_name: field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    for field in msgspec.structs.fields(Ready)
    if not field.required and field.default is not msgspec.UNSET
}


class Arrival(msgspec.Struct, kw_only=True):
    """What a session needs to begin in a guild."""

    state: GuildState
    snapshot: Snapshot
    member: MemberState
    visible: frozenset[int]
    moderated: frozenset[int]
    body: bytes | None
    """GUILD_CREATE, unless the session did not ask for it."""


class Renewal(msgspec.Struct, kw_only=True):
    """What changed in a guild that sessions are in."""

    snapshot: Snapshot
    state: GuildState | None = None
    members: dict[int, MemberState] = {}


class Gain(NamedTuple):
    """What a session can now see in a guild."""

    session: Session
    member: MemberState
    standing: Standing
    threaded: list[int]
    """Channels whose threads it is to be told."""
    voiced: list[int]
    """Voice channels of which it is to be told what goes on there."""


class Reach(NamedTuple):
    """Who may see a user's presence."""

    guilds: list[int]
    friends: list[tuple[int, int]]
    """Each with the family they are friends in: 0 for the platform."""
    families: set[int]
    """The families of games that the user plays."""


class World:
    """The store, the slices and the time, as the gateway asks them."""

    def __init__(
        self,
        *,
        db: Database,
        clock: Clock,
        config: Config,
        ids: SnowflakeFactory,
        presences: Presences,
        source: Source,
        slices: Sequence[Slice],
        listeners: Listeners | None,
        trace: Trace,
    ) -> None:
        self.clock = clock
        self.trace = trace
        self.config = config
        self.source = source
        self.slices = slices
        self.db = db
        self._ids = ids
        self._presences = presences
        self._listeners = listeners
        self._threads = [part.guild for part in slices if part.name == THREADS and part.guild is not None]
        self._revealing = [part.guild for part in slices if part.name in REVEALING and part.guild is not None]

    def call(self, tx: Tx, session: Session) -> Call:
        """A call on behalf of a session."""
        return Call(
            tx,
            actor=session.actor,
            now=self.clock.now_ms(),
            ids=self._ids,
            config=self.config,
            presences=self._presences,
            api_version=session.version,
            session_id=session.id,
            intents=session.intents,
            listeners=self._listeners,
        )

    def call_after(self, tx: Tx, actor: Actor, session_id: str) -> Call:
        """A call to clean up after a session."""
        return Call(
            tx,
            actor=actor,
            now=self.clock.now_ms(),
            ids=self._ids,
            config=self.config,
            presences=self._presences,
            session_id=session_id,
            listeners=self._listeners,
        )

    def obfuscates(self, session: Session) -> bool:
        """Whether channels that a session may not see are hidden from it now (gateway.md 9)."""
        return session.obfuscates or changes.CHANNEL_OBFUSCATION.active(self.clock.now_ms())

    async def reach(self, user_id: int, *, friends: bool) -> Reach:
        """Who may see a user's presence, in one read."""

        def work(tx: Tx) -> Reach:
            found = self.source.friends(tx, user_id) if friends else []
            return Reach(
                guilds=self.source.guild_ids(tx, user_id),
                friends=found,
                families=self.source.families(tx, user_id) if found else set(),
            )

        return await self.db.read(work)

    async def guild_name(self, guild_id: int) -> str | None:
        """What a guild is called, or None when it is gone."""
        return (await self.db.read(lambda tx: self.source.guild_names(tx, [guild_id]))).get(guild_id)

    async def ready(self, session: Session, make: Callable[[list[Any]], dict[str, Any]]) -> Opening:
        """READY, the session's guilds in its shard, and the moment of both; `make` gives the keys that the door knows. A game
        is in no guild: it is told what its player's are called, if it may know (sdk.md 5.4)."""

        def work(tx: Tx) -> Opening:
            call = self.call(tx, session)
            guilds = [guild for guild in self.source.guild_ids(tx, session.user_id) if session.in_shard(guild)]
            named: list[Any] = [{"id": GuildId(guild), "unavailable": True} for guild in guilds]
            if session.is_game:
                names = self.source.guild_names(tx, guilds) if Scope.GUILDS in session.actor.scopes else {}
                named, guilds = [{"id": GuildId(guild), "name": name} for guild, name in names.items()], []
            parts = _READY | make(named)
            for part in self.slices:
                if part.ready is not None:
                    told = part.ready(call)
                    if PROFILES in told:
                        # Every slice that names users adds theirs.
                        told[PROFILES] = parts[PROFILES] | told[PROFILES]
                    parts |= told
            name = getattr(parts.get("application"), "name", "")
            return Opening(
                packets=packets(parts, session),
                guilds=guilds,
                snapshot=tx.snapshot,
                application_name=name if isinstance(name, str) else "",
            )

        return await self.db.read(work, long=True)

    async def guild_count(self, actor: Actor) -> int:
        """How many guilds somebody is in, over all shards."""
        return await self.db.read(lambda tx: self.source.guild_count(tx, actor.user_id))

    async def arrivals(self, guild_id: int, sessions: Sequence[tuple[Session, bool]]) -> list[Arrival | None]:
        """What sessions need to begin in a guild, in order; None for who is not a member. True beside a session: it joins now."""

        def work(tx: Tx) -> list[Arrival | None]:
            state = self.source.guild_state(tx, guild_id)
            if state is None:
                return [None] * len(sessions)
            snapshot = state.snapshot = state.snapshot or tx.snapshot
            members = self.source.member_states(tx, guild_id, {session.user_id for session, _ in sessions})
            standings, now = Standings(state), self.clock.now_ms()
            stand = {user_id: standings.of(member, now) for user_id, member in members.items()}
            builder = _GuildCreate(state, self.slices)
            found: list[Arrival | None] = []
            for session, joins in sessions:
                member = members.get(session.user_id)
                if member is None:
                    found.append(None)
                    continue
                standing = stand[session.user_id]
                body = None
                if wants_guilds(session):
                    call = self.call(tx, session)
                    body = builder.body(call, session, member, standing, joins=joins, hides=self.obfuscates(session))
                found.append(
                    Arrival(
                        state=state,
                        snapshot=snapshot,
                        member=member,
                        visible=standing.visible,
                        moderated=standing.moderated,
                        body=body,
                    )
                )
            return found

        return await self.db.read(work, long=True)

    async def renew(self, guild_id: int, *, whole: bool, users: Collection[int]) -> Renewal:
        """Read a guild (or only some of its members) again."""

        def work(tx: Tx) -> Renewal:
            members = self.source.member_states(tx, guild_id, users) if users else {}
            state = self.source.guild_state(tx, guild_id) if whole else None
            snapshot = tx.snapshot
            if state is not None:
                state.snapshot = state.snapshot or snapshot
            return Renewal(snapshot=snapshot, state=state, members=members)

        return await self.db.read(work, long=True)

    async def gained(self, state: GuildState, gains: Sequence[Gain]) -> list[list[tuple[str, bytes]]]:
        """What sessions have to be told of channels that came into their sight: events, for each."""

        def work(tx: Tx) -> list[list[tuple[str, bytes]]]:
            told = []
            for gain in gains:
                packets = self._revealed(tx, state, gain)
                if gain.threaded:
                    packets.insert(0, ("THREAD_LIST_SYNC", self._thread_list(tx, state, gain)))
                told.append(packets)
            return told

        return await self.db.read(work)

    def _revealed(self, tx: Tx, state: GuildState, gain: Gain) -> list[tuple[str, bytes]]:
        if not gain.voiced:
            return []
        call = self.call(tx, gain.session)
        view = view_of(state, gain.session, gain.member, gain.standing, visible=frozenset(gain.voiced))
        told: list[tuple[str, bytes]] = []
        for part in self._revealing:
            for key, values in part(call, view).items():
                event, intent = REVEALED.get(key, ("", 0))
                # An event outside every channel is known already.
                known = [each for each in values if each.channel_id in view.visible] if event else []
                if gain.session.intents & intent:
                    for each in msgspec.json.decode(wire.encode(known)):
                        told.append((event, wire.encode({"guild_id": GuildId(state.id), **each})))
        return told

    def _thread_list(self, tx: Tx, state: GuildState, gain: Gain) -> bytes:
        session, gained = gain.session, gain.threaded
        call = self.call(tx, session)
        view = view_of(state, session, gain.member, gain.standing, visible=frozenset(gained))
        threads: list[Any] = []
        for part in self._threads:
            threads += msgspec.json.decode(wire.encode(part(call, view).get(THREADS, [])))
        # In GUILD_CREATE a thread carries the reader's membership; here it stands beside, with its ids.
        members = [
            {"id": thread["id"], "user_id": str(session.user_id), **thread["member"]}
            for thread in threads
            if thread.get("member")
        ]
        return wire.encode(
            {
                "guild_id": GuildId(state.id),
                "channel_ids": [ChannelId(channel) for channel in gained],
                "threads": threads,
                "members": members,
            }
        )


class _GuildCreate:
    """GUILD_CREATE of one guild for several viewers; what they have in common is encoded once."""

    def __init__(self, state: GuildState, slices: Sequence[Slice]) -> None:
        self._state = state
        self._parts = [part.guild for part in slices if part.guild is not None]
        self._common: dict[frozenset[str], bytes] = {}

    def body(
        self, call: Call, session: Session, member: MemberState, standing: Standing, *, joins: bool, hides: bool
    ) -> bytes:
        """The payload for one session. At start-up it says `unavailable: false`; a real join lacks the key."""
        state = self._state
        own: dict[str, Any] = {
            "joined_at": member.joined_at,
            "large": state.member_count > session.large_threshold,
            "member_count": state.member_count,
        }
        if not joins:
            own["unavailable"] = False
        visible = standing.visible
        own["channels"] = msgspec.Raw(
            b"["
            + b",".join(c.full if not hides or c.id in visible else c.hidden for c in state.channels.values())
            + b"]"
        )
        view = view_of(state, session, member, standing)
        for part in self._parts:
            own |= part(call, view)
        return self._shared(frozenset(own)) + wire.encode(own)[1:]

    def _shared(self, own: frozenset[str]) -> bytes:
        shared = self._common.get(own)
        if shared is None:
            everything = _GUILD_LISTS | self._state.common
            kept = {key: value for key, value in everything.items() if key not in own}
            shared = self._common[own] = wire.encode(kept)[:-1] + (b"," if kept else b"")
        return shared


def wants_guilds(session: Session) -> bool:
    """Whether a session asked to be told of guilds; without the intent there is no GUILD_CREATE (gateway.md 4.4)."""
    return bool(session.intents & Intents.GUILDS)


def view_of(
    state: GuildState, session: Session, member: MemberState, standing: Standing, visible: frozenset[int] | None = None
) -> GuildView:
    """A session's relation to a guild, for the slices."""
    return GuildView(
        guild=state,
        member=member,
        intents=session.intents,
        large_threshold=session.large_threshold,
        visible=standing.visible if visible is None else visible,
        permissions=standing.permissions,
    )
