"""Reads of the gateway: READY, GUILD_CREATE, events for channels that became visible, presence audiences, filter state.

Reads run in read transactions. Payloads are encoded in the transaction. `GatewayContext` also creates the calls in which
commands and session hooks run.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.intents import Intents
from hubbub.protocol.resources.gateway import Ready
from hubbub.server.core.call import Actor, Call, Listeners, Ports
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.gateway_queries import GuildReader, GuildState, GuildView, MemberState
from hubbub.server.core.observation import Observer, Span
from hubbub.server.core.presences import Presences
from hubbub.server.core.slices import Slice
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import Database, Snapshot, Tx
from hubbub.server.core.trace import Trace
from hubbub.server.transports.gateway.guild_arrival import GuildArrival
from hubbub.server.transports.gateway.ready import SessionOpening, ready_events
from hubbub.server.transports.gateway.session import GatewaySession
from hubbub.server.transports.gateway.standings import MemberStanding, Standings

THREADS_SLICE: Final = "threads"
"""Name of the slice, and of its key in GUILD_CREATE, that THREAD_LIST_SYNC is made from."""
VOICE_CHANNEL_EVENTS: Final = {
    "voice_states": ("VOICE_STATE_UPDATE", Intents.GUILD_VOICE_STATES),
    "stage_instances": ("STAGE_INSTANCE_CREATE", Intents.GUILDS),
    "guild_scheduled_events": ("GUILD_SCHEDULED_EVENT_CREATE", Intents.GUILD_SCHEDULED_EVENTS),
    "activity_instances": ("EMBEDDED_ACTIVITY_UPDATE_V2", Intents.GUILD_EMBEDDED_ACTIVITIES),
}
"""Events with the state that is sent when a voice channel becomes visible, and their intents, by key of GUILD_CREATE."""
VOICE_CHANNEL_SLICES: Final = frozenset({"voice_states", "stage_instances", "scheduled_events", "activity_instances"})
"""Names of the slices that provide the keys of `VOICE_CHANNEL_EVENTS`."""

# Keys of GUILD_CREATE that client libraries require, with the values for a server without the slices that provide them.
_GUILD_CREATE_DEFAULTS: Final[dict[str, Any]] = {
    "voice_states": [],
    "members": [],
    "threads": [],
    "presences": [],
    "stage_instances": [],
    "guild_scheduled_events": [],
    "soundboard_sounds": [],
    "activity_instances": [],
}
USER_PROFILES_KEY: Final = "user_application_profiles"
"""The key of READY that several slices provide."""
# Keys of READY that client libraries require, with the values for a server without the slices that provide them.
_READY_DEFAULTS: Final[dict[str, Any]] = {
    field.encode_name: field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    for field in msgspec.structs.fields(Ready)
    if not field.required and field.default is not msgspec.UNSET
}


class GuildRefresh(msgspec.Struct, kw_only=True):
    """The result of re-reading a guild that sessions are in."""

    snapshot: Snapshot
    state: GuildState | None = None
    """The guild; None if it was deleted or suspended, or if only members were read."""
    members: dict[int, MemberState] = {}
    """The members that were read, by user ID."""


class VisibilityGain(NamedTuple):
    """Channels of a guild that became visible to a session."""

    session: GatewaySession
    member: MemberState
    standing: MemberStanding
    thread_channels: list[int]
    """IDs of the channels whose threads are sent to the session."""
    voice_channels: list[int]
    """IDs of the voice channels whose current state is sent to the session."""


class PresenceAudience(NamedTuple):
    """The guilds and users that may see a user's presence."""

    guilds: list[int]
    """IDs of the guilds that the user is in."""
    friends: list[tuple[int, int]]
    """(family ID, user ID) of each friend; family 0 means friends on the platform."""
    families: set[int]
    """IDs of the families of applications that the user plays."""


class GatewayContext:
    """The store, the slices and the clock of the gateway, and its reads."""

    def __init__(
        self,
        *,
        db: Database,
        clock: Clock,
        config: Config,
        ids: SnowflakeFactory,
        presences: Presences,
        guild_reader: GuildReader,
        slices: Sequence[Slice],
        listeners: Listeners | None,
        ports: Ports | None,
        trace: Trace,
        observer: Observer | None = None,
    ) -> None:
        self.clock = clock
        self.observer = observer
        self.trace = trace
        self.config = config
        self.busy_hubs: dict[object, Mapping[GatewaySession, object]] = {}
        """The sessions of each hub that has received events which it may not have sent yet, by hub."""
        self.sessions_with_reads: dict[GatewaySession, int] = {}
        """Number of reads after which a received event is sent to a session, by session."""
        self._guild_reader = guild_reader
        self.slices = slices
        self.db = db
        self._ids = ids
        self._presences = presences
        self._listeners = listeners
        self._ports = ports
        self._thread_parts = [
            resource_slice.guild
            for resource_slice in slices
            if resource_slice.name == THREADS_SLICE and resource_slice.guild is not None
        ]
        self._voice_channel_parts = [
            resource_slice.guild
            for resource_slice in slices
            if resource_slice.name in VOICE_CHANNEL_SLICES and resource_slice.guild is not None
        ]

    @contextmanager
    def reading_event(self, session: GatewaySession) -> Iterator[None]:
        """Record for the block that an event was received for a session, but must be read before it is sent."""
        session.pending_task_count += 1
        self.sessions_with_reads[session] = self.sessions_with_reads.get(session, 0) + 1
        try:
            yield
        finally:
            session.pending_task_count -= 1
            self.sessions_with_reads[session] -= 1
            if not self.sessions_with_reads[session]:
                del self.sessions_with_reads[session]

    def start_dispatch_span(self, dispatch: Dispatch) -> Span | None:
        """Start the span of the delivery of a traced event to the sessions of this node; return None without a tracer."""
        if self.observer is None or self.observer.tracer is None:
            return None
        name = f"dispatch {dispatch.event}"
        return self.observer.tracer.start(name, "internal", traceparent=dispatch.traceparent, is_trusted=True)

    def call(self, tx: Tx, session: GatewaySession) -> Call:
        """Return a call on behalf of a session."""
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
            ports=self._ports,
        )

    def hook_call(self, tx: Tx, actor: Actor, session_id: str) -> Call:
        """Return a call that runs session hooks, for which the session object may no longer exist."""
        return Call(
            tx,
            actor=actor,
            now=self.clock.now_ms(),
            ids=self._ids,
            config=self.config,
            presences=self._presences,
            session_id=session_id,
            listeners=self._listeners,
            ports=self._ports,
        )

    def obfuscates(self, session: GatewaySession) -> bool:
        """Return whether channels that a session cannot view are obfuscated for it now (spec/gateway.md#9)."""
        return session.always_obfuscates or changes.CHANNEL_OBFUSCATION.is_active(self.clock.now_ms())

    async def presence_audience(self, user_id: int, *, with_friends: bool) -> PresenceAudience:
        """Return the guilds and friends that may see a user's presence, in one read.

        Without `with_friends`, `friends` and `families` are empty.
        """

        def read_audience(tx: Tx) -> PresenceAudience:
            friends = self._guild_reader.friends(tx, user_id) if with_friends else []
            return PresenceAudience(
                guilds=self._guild_reader.guild_ids(tx, user_id),
                friends=friends,
                families=self._guild_reader.families(tx, user_id) if friends else set(),
            )

        return await self.db.read(read_audience)

    async def guild_name(self, guild_id: int) -> str | None:
        """Return a guild's name, or None if the guild does not exist."""
        return (await self.db.read(lambda tx: self._guild_reader.guild_names(tx, [guild_id]))).get(guild_id)

    async def ready(
        self, session: GatewaySession, build_own_fields: Callable[[list[Any]], dict[str, Any]]
    ) -> SessionOpening:
        """Return READY, the session's guilds in its shard, and the snapshot of both.

        `build_own_fields` returns the keys that the gateway itself provides. An OAuth2 session has no guilds: with the scope
        `guilds` it gets the names of its user's guilds (spec/sdk.md#5.4).
        """

        def read_opening(tx: Tx) -> SessionOpening:
            call = self.call(tx, session)
            guild_ids = [
                guild_id
                for guild_id in self._guild_reader.guild_ids(tx, session.user_id)
                if session.is_guild_in_shard(guild_id)
            ]
            guild_entries: list[Any] = [{"id": GuildId(guild_id), "unavailable": True} for guild_id in guild_ids]
            if session.is_oauth2:
                names = self._guild_reader.guild_names(tx, guild_ids) if Scope.GUILDS in session.actor.scopes else {}
                guild_entries = [{"id": GuildId(guild_id), "name": name} for guild_id, name in names.items()]
                guild_ids = []
            ready_fields = _READY_DEFAULTS | build_own_fields(guild_entries)
            for resource_slice in self.slices:
                if resource_slice.ready is not None:
                    slice_fields = resource_slice.ready(call)
                    if USER_PROFILES_KEY in slice_fields:
                        # Several slices provide profiles; they are merged.
                        slice_fields[USER_PROFILES_KEY] = (
                            ready_fields[USER_PROFILES_KEY] | slice_fields[USER_PROFILES_KEY]
                        )
                    ready_fields |= slice_fields
            application_name = getattr(ready_fields.get("application"), "name", "")
            return SessionOpening(
                events=ready_events(ready_fields, session),
                guild_ids=guild_ids,
                snapshot=tx.snapshot,
                application_name=application_name if isinstance(application_name, str) else "",
            )

        return await self.db.read(read_opening, long=True)

    async def guild_count(self, actor: Actor) -> int:
        """Return the number of guilds of a user over all shards."""
        return await self.db.read(lambda tx: self._guild_reader.guild_count(tx, actor.user_id))

    async def guild_arrivals(
        self, guild_id: int, sessions: Sequence[tuple[GatewaySession, bool]]
    ) -> list[GuildArrival | None]:
        """Read the data that adds sessions to a guild, in the order of `sessions`.

        The data is None for a session whose user is not a member, and for all sessions if the guild was deleted or suspended.

        `sessions` are pairs of a session and whether its user is joining the guild now.
        """

        def read_arrivals(tx: Tx) -> list[GuildArrival | None]:
            # The slices run the same queries about the guild for each session.
            tx.remember_results()
            state = self._guild_reader.guild_state(tx, guild_id)
            if state is None:
                return [None] * len(sessions)
            snapshot = state.snapshot = state.snapshot or tx.snapshot
            members = self._guild_reader.member_states(tx, guild_id, {session.user_id for session, _ in sessions})
            standings, now = Standings(state), self.clock.now_ms()
            bot_ids = {session.user_id for session, _ in sessions if session.actor.is_bot}
            standing_by_user = {
                user_id: standings.standing_of(member, now, is_bot=user_id in bot_ids)
                for user_id, member in members.items()
            }
            builder = _GuildCreateBuilder(state, self.slices)
            arrivals: list[GuildArrival | None] = []
            for session, is_joining in sessions:
                member = members.get(session.user_id)
                if member is None:
                    arrivals.append(None)
                    continue
                standing = standing_by_user[session.user_id]
                body = None
                if has_guilds_intent(session):
                    call = self.call(tx, session)
                    body = builder.body(
                        call, session, member, standing, is_joining=is_joining, obfuscates=self.obfuscates(session)
                    )
                arrivals.append(
                    GuildArrival(
                        state=state,
                        snapshot=snapshot,
                        member=member,
                        visible=standing.visible,
                        moderated=standing.moderated,
                        body=body,
                    )
                )
            return arrivals

        return await self.db.read(read_arrivals, long=True)

    async def refresh(self, guild_id: int, *, includes_whole_guild: bool, user_ids: Collection[int]) -> GuildRefresh:
        """Re-read the members of a guild among `user_ids`, and with `includes_whole_guild` also the guild itself."""

        def read_refresh(tx: Tx) -> GuildRefresh:
            members = self._guild_reader.member_states(tx, guild_id, user_ids) if user_ids else {}
            state = self._guild_reader.guild_state(tx, guild_id) if includes_whole_guild else None
            snapshot = tx.snapshot
            if state is not None:
                state.snapshot = state.snapshot or snapshot
            return GuildRefresh(snapshot=snapshot, state=state, members=members)

        return await self.db.read(read_refresh, long=True)

    async def visibility_events(
        self, state: GuildState, gains: Sequence[VisibilityGain]
    ) -> list[list[tuple[str, bytes]]]:
        """Return the names and payloads of the events that describe the channels, for each of `gains` in order."""

        def read_events(tx: Tx) -> list[list[tuple[str, bytes]]]:
            events_by_gain = []
            for gain in gains:
                session_events = self._voice_channel_events(tx, state, gain)
                if gain.thread_channels:
                    session_events.insert(0, ("THREAD_LIST_SYNC", self._thread_list(tx, state, gain)))
                events_by_gain.append(session_events)
            return events_by_gain

        return await self.db.read(read_events)

    def _voice_channel_events(self, tx: Tx, state: GuildState, gain: VisibilityGain) -> list[tuple[str, bytes]]:
        """Return the events with the current state of voice channels that became visible."""
        if not gain.voice_channels:
            return []
        call = self.call(tx, gain.session)
        view = guild_view(
            state, gain.session, gain.member, gain.standing, visible_channel_ids=frozenset(gain.voice_channels)
        )
        events: list[tuple[str, bytes]] = []
        for guild_part in self._voice_channel_parts:
            for key, channel_objects in guild_part(call, view).items():
                event, intent = VOICE_CHANNEL_EVENTS.get(key, ("", 0))
                # The session has already received entries without a channel, such as external scheduled events.
                revealed_objects = (
                    [channel_object for channel_object in channel_objects if channel_object.channel_id in view.visible]
                    if event
                    else []
                )
                if gain.session.intents & intent:
                    for channel_object in msgspec.json.decode(codec.encode(revealed_objects)):
                        events.append((event, codec.encode({"guild_id": GuildId(state.id), **channel_object})))
        return events

    def _thread_list(self, tx: Tx, state: GuildState, gain: VisibilityGain) -> bytes:
        """Return the payload of THREAD_LIST_SYNC for channels that became visible."""
        session, channel_ids = gain.session, gain.thread_channels
        call = self.call(tx, session)
        view = guild_view(state, session, gain.member, gain.standing, visible_channel_ids=frozenset(channel_ids))
        threads: list[Any] = []
        for guild_part in self._thread_parts:
            threads += msgspec.json.decode(codec.encode(guild_part(call, view).get(THREADS_SLICE, [])))
        # In GUILD_CREATE a thread contains the user's membership; in THREAD_LIST_SYNC memberships are a separate list.
        members = [
            {"id": thread["id"], "user_id": str(session.user_id), **thread["member"]}
            for thread in threads
            if thread.get("member")
        ]
        return codec.encode(
            {
                "guild_id": GuildId(state.id),
                "channel_ids": [ChannelId(channel) for channel in channel_ids],
                "threads": threads,
                "members": members,
            }
        )


class _GuildCreateBuilder:
    """Builds GUILD_CREATE of one guild for several sessions; the common part is encoded once."""

    def __init__(self, state: GuildState, slices: Sequence[Slice]) -> None:
        self._state = state
        self._parts = [resource_slice.guild for resource_slice in slices if resource_slice.guild is not None]
        self._shared_bodies: dict[frozenset[str], bytes] = {}

    def body(
        self,
        call: Call,
        session: GatewaySession,
        member: MemberState,
        standing: MemberStanding,
        *,
        is_joining: bool,
        obfuscates: bool,
    ) -> bytes:
        """Return the payload for one session; with `obfuscates`, channels that the member cannot view are obfuscated.

        At session start it has `unavailable: false`. With `is_joining` the user joins the guild now, and the key is absent.
        """
        state = self._state
        fields: dict[str, Any] = {
            "joined_at": member.joined_at,
            "large": state.member_count > session.large_threshold,
            "member_count": state.member_count,
        }
        if not is_joining:
            fields["unavailable"] = False
        visible_channels = standing.visible
        fields["channels"] = msgspec.Raw(
            b"["
            + b",".join(
                channel.body if not obfuscates or channel.id in visible_channels else channel.obfuscated_body
                for channel in state.channels.values()
            )
            + b"]"
        )
        view = guild_view(state, session, member, standing)
        for guild_part in self._parts:
            fields |= guild_part(call, view)
        return self._shared_body(frozenset(fields)) + codec.encode(fields)[1:]

    def _shared_body(self, field_names: frozenset[str]) -> bytes:
        """Return the start of an encoded object, with the fields that all sessions with these own fields share."""
        shared_body = self._shared_bodies.get(field_names)
        if shared_body is None:
            all_fields = _GUILD_CREATE_DEFAULTS | self._state.shared_fields
            shared_fields = {key: value for key, value in all_fields.items() if key not in field_names}
            shared_body = self._shared_bodies[field_names] = codec.encode(shared_fields)[:-1] + (
                b"," if shared_fields else b""
            )
        return shared_body


def has_guilds_intent(session: GatewaySession) -> bool:
    """Return whether a session has the GUILDS intent; without it there is no GUILD_CREATE (spec/gateway.md#4.4)."""
    return bool(session.intents & Intents.GUILDS)


def guild_view(
    state: GuildState,
    session: GatewaySession,
    member: MemberState,
    standing: MemberStanding,
    visible_channel_ids: frozenset[int] | None = None,
) -> GuildView:
    """Return a session's view of a guild, for the slices. `visible_channel_ids` restricts it to some channels."""
    return GuildView(
        guild=state,
        member=member,
        intents=session.intents,
        large_threshold=session.large_threshold,
        visible=standing.visible if visible_channel_ids is None else visible_channel_ids,
        channel_permissions=standing.permissions,
    )
