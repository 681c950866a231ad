"""A gateway session: one totally ordered stream of events for one client, over any number of connections.

A session has one `GuildSubscription` per guild of its shard. OAuth2 sessions have none. `send_all` sends a packet to many
sessions.
"""

import asyncio
import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol, TypeAlias
from weakref import WeakValueDictionary

import msgspec

from hubbub.protocol.enums import CloseCode
from hubbub.protocol.intents import Intents
from hubbub.server.core.batches import batches
from hubbub.server.core.call import Actor
from hubbub.server.core.clock import Timer
from hubbub.server.core.event_dispatch import Dispatch, UserAudience
from hubbub.server.core.legacy_permissions import STRING_PERMISSIONS_VERSION
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.connection import GatewayWebSocket
from hubbub.server.transports.gateway.guild_arrival import GuildArrival
from hubbub.server.transports.gateway.identification import SessionParameters
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.replay import ReplayBuffer
from hubbub.server.transports.gateway.standings import MemberStanding
from hubbub.server.transports.rate_window import RateWindow

GatewayConnection: TypeAlias = GatewayWebSocket["GatewaySession"]

PREFIXES_OUTSIDE_GUILD_CREATE: Final = (
    "APPLICATION_COMMAND_",
    "AUTO_MODERATION_",
    "GUILD_AUDIT_LOG_",
    "GUILD_BAN_",
    "GUILD_INTEGRATIONS_",
    "GUILD_JOIN_REQUEST_",
    "INTEGRATION_",
    "INTERACTION_",
    "INVITE_",
    "MESSAGE_",
    "TYPING_",
    "VOICE_CHANNEL_EFFECT_",
    "WEBHOOKS_",
)
"""Prefixes of events whose content GUILD_CREATE does not contain; a session must receive them from READY on."""


class KnownChannels(msgspec.Struct, array_like=True):
    """The channels of a guild that a client knows; passed to another node that takes over the session."""

    visible_channels: frozenset[int]
    moderated_channels: frozenset[int]


class SessionReplica(Protocol):
    """The copy of a session on a backup node (decisions/0172)."""

    def mark_changed(self) -> None:
        """Record that the guilds of the session, or the channels that its client knows, changed."""

    def attach(self, connection: GatewayConnection) -> None:
        """Delay the writes to a connection of the session until the backup node has confirmed the events."""

    def end(self) -> None:
        """Discard the copy, because the session ended on this node."""


class ChannelChanges(NamedTuple):
    """IDs of the channels of a guild that a member can newly view, no longer view, and newly moderate."""

    gained: frozenset[int]
    lost: frozenset[int]
    newly_moderated: frozenset[int]


class RecipientClass:
    """Identity object that sessions with the same kind of token, application, family, scopes and intents share.

    For OAuth2 sessions of one class, `GatewaySession.accepts` and the check of the intents have the same result. For other
    sessions, `GatewaySession.accepts` also depends on the capabilities, so the class must not be used for them.
    """

    __slots__ = ("__weakref__",)


WRITE_BATCH_SIZE: Final = 256
"""Number of frames that are built before they are written; small enough to stay in the processor cache."""
_recipient_classes: Final[WeakValueDictionary[tuple[object, ...], RecipientClass]] = WeakValueDictionary()


class GatewaySession:
    """A client's event stream: actor, intents, guilds, replay buffer and current connection."""

    __slots__ = (
        "acknowledged_seq",
        "actor",
        "application_name",
        "started_at",
        "capabilities",
        "connection",
        "device",
        "early_events",
        "has_ended",
        "expiry_timer",
        "ready_snapshot",
        "id",
        "intents",
        "is_oauth2",
        "parameters",
        "pending_task_count",
        "previous_node_numbers",
        "recipient_class",
        "large_threshold",
        "always_obfuscates",
        "presence_limit",
        "replay",
        "replica",
        "resumable_seq_max",
        "resuming_connection",
        "subscriptions",
        "sees_content",
        "shard",
        "late_event_snapshot",
        "user_id",
        "version",
    )

    def __init__(
        self,
        actor: Actor,
        *,
        parameters: SessionParameters,
        version: int,
        device: str,
        replay: ReplayBuffer,
        presence_limit: RateWindow,
        now: float,
    ) -> None:
        self.id = secrets.token_hex(16)
        self.actor = actor
        self.user_id = int(actor.user_id)
        self.is_oauth2 = actor.kind == "bearer"
        """Whether an application connects on behalf of a user, with an OAuth2 token."""
        self.parameters = parameters
        self.intents = intents = parameters.intents
        class_key = (actor.kind, actor.application_id, actor.family_id, actor.scopes, intents)
        self.recipient_class = _recipient_classes.get(class_key) or _recipient_classes.setdefault(
            class_key, RecipientClass()
        )
        self.shard = parameters.shard
        self.large_threshold = parameters.large_threshold
        self.always_obfuscates = parameters.always_obfuscates
        """Whether hidden channels are obfuscated for the session even before changes.CHANNEL_OBFUSCATION takes effect."""
        self.capabilities = parameters.capabilities
        self.application_name = ""
        """Name of the application of an OAuth2 session, otherwise empty."""
        self.sees_content = not actor.is_bot or bool(intents & Intents.MESSAGE_CONTENT)
        """Whether the session receives the content of all messages."""
        self.version = version
        self.device = device
        self.started_at = now
        """Start time, in seconds of the event loop's clock."""
        self.replay = replay
        self.presence_limit = presence_limit
        self.connection: GatewayConnection | None = None
        self.resuming_connection: GatewayConnection | None = None
        """The connection on which missed events are being replayed, or None."""
        self.subscriptions: dict[int, GuildSubscription] = {}
        """Subscriptions of the session, by guild ID."""
        self.early_events: list[Dispatch] | None = []
        """Events for the user received before READY was sent; None afterwards."""
        self.late_event_snapshot: Snapshot | None = None
        """The store snapshot of READY, used to drop events that READY contains; None once no earlier event can still arrive."""
        self.ready_snapshot: Snapshot | None = None
        """The store snapshot of READY, kept until the session ends; None before READY and in a session from another node."""
        self.acknowledged_seq = 0
        """The last sequence number that the client acknowledged in a heartbeat."""
        self.expiry_timer: Timer | None = None
        """Ends the session when it can no longer be resumed; None while a client is connected."""
        self.has_ended = False
        self.replica: SessionReplica | None = None
        """The copy of the session on a backup node; None if there is none."""
        self.resumable_seq_max: int | None = None
        """The last sequence number that the lost node of the session copied to this node; None once the client has resumed.

        A client with a later number has received events that this node does not know."""
        self.pending_task_count = 0
        """Number of running commands and reads that may still send events to the session."""
        self.previous_node_numbers: Mapping[int, int] | None = None
        """Number of the last message that the previous node of the session handled, by publisher; None once it is not needed."""

    def send(self, packet: Packet) -> None:
        """Assign a sequence number to an event, buffer it for a resume, and write it if a client is connected."""
        if self.connection is not None:
            self.connection.record_event(packet)
        send_all([self], packet)

    def accepts(self, dispatch: Dispatch) -> bool:
        """Return whether this session may receive an event that is addressed to its user.

        OAuth2 sessions receive events whose application, family and scope conditions match their token.
        """
        audience = dispatch.audience
        assert isinstance(audience, UserAudience)
        game_filter = audience.game_filter
        if not self.is_oauth2:
            needed_capability = game_filter.own_client_capability
            return not game_filter.oauth2_only and self.capabilities & needed_capability == needed_capability
        actor = self.actor
        is_addressed = (
            game_filter.application_id or game_filter.family_id or audience.session_id or dispatch.oauth2_bodies
        )
        if not (dispatch.intents or dispatch.scope or is_addressed):
            # An event declared without an intent or a scope is sent to OAuth2 sessions only if it is addressed to an
            # application, a family or a session, or has a payload for OAuth2 sessions.
            return False
        return (
            (game_filter.application_id is None or game_filter.application_id == actor.application_id)
            and (game_filter.family_id is None or game_filter.family_id == actor.family_id)
            and (not dispatch.scope or dispatch.scope in actor.scopes)
            and (not game_filter.without_scope or game_filter.without_scope not in actor.scopes)
            and (not game_filter.with_scope or game_filter.with_scope in actor.scopes)
        )

    def is_guild_in_shard(self, guild_id: int) -> bool:
        """Return whether a guild belongs to this session's shard (spec/gateway.md#4.2)."""
        return (guild_id >> 22) % self.shard.shard_count == self.shard.shard_id

    def is_event_in_shard(self, guild_id: int | None) -> bool:
        """Return whether an event belongs to this session's shard; an event without a guild belongs to shard 0."""
        return self.shard.shard_id == 0 if guild_id is None else self.is_guild_in_shard(guild_id)

    def is_commit_in_ready(self, stamp: int) -> bool:
        """Return whether READY contains the commit with this stamp; False for stamp 0 and if there is no snapshot."""
        return self.ready_snapshot is not None and stamp != 0 and self.ready_snapshot.covers(stamp)

    def needs_event(self, dispatch: Dispatch) -> bool:
        """Return whether the session still needs an event, because it was not sent and READY does not contain it."""
        if self.previous_node_numbers is not None and is_received(dispatch, self.previous_node_numbers):
            return False
        return (
            self.late_event_snapshot is None
            or not dispatch.stamp
            or not self.late_event_snapshot.covers(dispatch.stamp)
        )


class GuildSubscription:
    """The subscription of a session to the events of a guild, with the state of the client within it."""

    __slots__ = (
        "is_on_bus",
        "arrival",
        "backlog",
        "is_removed",
        "is_joining",
        "moderated_channels",
        "opened",
        "opened_at",
        "is_read",
        "transferred_channels",
        "session",
        "snapshot",
        "standing",
        "visible_channels",
    )

    def __init__(self, session: GatewaySession, *, is_joining: bool) -> None:
        self.session = session
        self.is_joining = is_joining
        """Whether the user is joining the guild now, rather than the session starting."""
        self.is_on_bus = False
        """Whether the bus delivers the events of the guild to this node, so that GUILD_CREATE may be read."""
        self.is_read = False
        """Whether `arrival` was read."""
        self.arrival: GuildArrival | None = None
        self.backlog: list[Dispatch] | None = []
        """Events received before GUILD_CREATE was sent; None afterwards."""
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Future that is resolved when GUILD_CREATE and the buffered events are sent, or the subscription is removed."""
        self.opened_at = 0.0
        """Time at which GUILD_CREATE was sent, in seconds of the event loop's clock."""
        self.snapshot: Snapshot | None = None
        """The store snapshot of GUILD_CREATE: events that it covers are not sent again. None once it expired."""
        self.standing: MemberStanding | None = None
        """The member's permissions; None before GUILD_CREATE and while the user is not a member."""
        self.visible_channels: frozenset[int] = frozenset()
        """IDs of the channels that are visible to the client, from GUILD_CREATE and later events."""
        self.moderated_channels: frozenset[int] = frozenset()
        """IDs of the channels in which the member has MANAGE_THREADS; all their private threads were sent to the session."""
        self.transferred_channels: KnownChannels | None = None
        """The channels that the client knows from another node, if this node took over the session from it; None otherwise."""
        self.is_removed = False

    @property
    def known_channels(self) -> KnownChannels:
        """The channels that the client knows."""
        return KnownChannels(self.visible_channels, self.moderated_channels)

    def update_channels(self, standing: MemberStanding) -> ChannelChanges | None:
        """Set the channels that the client knows to those of the standing; return the changes, or None if nothing changed."""
        visible_before, moderated_before = self.visible_channels, self.moderated_channels
        if standing.visible == visible_before and standing.moderated == moderated_before:
            return None
        self.visible_channels, self.moderated_channels = standing.visible, standing.moderated
        if self.session.replica is not None:
            self.session.replica.mark_changed()
        return ChannelChanges(
            standing.visible - visible_before, visible_before - standing.visible, standing.moderated - moderated_before
        )

    def needs_event(self, dispatch: Dispatch) -> bool:
        """Return whether the session still needs an event, because it was not sent and GUILD_CREATE does not contain it."""
        received_numbers = self.session.previous_node_numbers
        if received_numbers is not None and is_received(dispatch, received_numbers):
            return False
        if self.snapshot is None or not dispatch.stamp or not self.snapshot.covers(dispatch.stamp):
            return True
        return dispatch.event.startswith(PREFIXES_OUTSIDE_GUILD_CREATE) and self.session.needs_event(dispatch)


def is_received(dispatch: Dispatch, received_numbers: Mapping[int, int]) -> bool:
    """Return whether a node that handled the messages up to `received_numbers`, by publisher, has handled this event."""
    if dispatch.origin is None:
        return False
    publisher_id, number = dispatch.origin
    return number <= received_numbers.get(publisher_id, 0)


def send_all(sessions: list[GatewaySession], packet: Packet) -> None:
    """Send a packet to many sessions, like `GatewaySession.send`.

    Frames are built in batches before the first one is written, because each write is a system call, which evicts the code
    and data of this process from the processor caches. Metrics are updated once for all sessions. Sessions of API versions
    6 and 7 receive a converted packet. While the `FrameBatch` of the connections is open, the frames are added to it.
    """
    templates, sent_count, older_sessions = packet.templates, 0, []
    for batch in (sessions,) if len(sessions) <= WRITE_BATCH_SIZE else batches(sessions, WRITE_BATCH_SIZE):
        writes = []
        for session in batch:
            if session.version < STRING_PERMISSIONS_VERSION and not packet.has_numeric_permissions:
                older_sessions.append(session)
                continue
            seq = session.replay.append(packet)
            connection = session.connection
            if connection is None:
                continue
            transport = connection.transport
            if transport.get_write_buffer_size() > connection.write_buffer_max:
                # Slow client (spec/gateway.md#11): the session stays and may be resumed.
                session.connection = None
                connection.close(CloseCode.UNKNOWN_ERROR, "Too slow")
            else:
                template = templates[connection.template_index] or packet.template(connection.template_index)
                if connection.frame_batch.is_open:
                    connection.frame_batch.add(connection, template.frame(seq))
                    sent_count += 1
                else:
                    writes.append((transport, template.frame(seq)))
        sent_count += len(writes)
        for transport, frame in writes:
            try:
                transport.write(frame)
            except RuntimeError:
                # The peer disconnected (see sockets.IGNORE_DISCONNECT); the other sessions must still receive the event.
                continue
    packet.record_sent(sent_count)
    if older_sessions:
        send_all(older_sessions, packet.with_numeric_permissions())
