"""Presence: publishes session presences to shared guilds, to friends and to the other nodes.

Every node stores the presences of all sessions in the cluster. This includes nodes without a gateway, whose operations
count online users. A node publishes changes of its own sessions on the bus subject `presence`. A node that starts or
that missed messages requests the full state. A node that stops responding is removed together with its sessions, and
the other nodes look in its log for changes that it committed and did not publish (decisions/0170). A node that announces its
shutdown has published everything.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.enums import Scope, Status
from hubbub.protocol.resources.presence import PRESENCE_UPDATE, SESSIONS_REPLACE, SetPresence
from hubbub.server.core import presences
from hubbub.server.core.bus import Bus, Subscription
from hubbub.server.core.call import Actor
from hubbub.server.core.change_relay import GUILD_GAP, USER_GAP
from hubbub.server.core.clock import Clock
from hubbub.server.core.event_dispatch import (
    BROADCAST_SUBJECT,
    NO_SESSIONS,
    Audience,
    Dispatch,
    GameFilter,
    GuildAudience,
    UserAudience,
    dispatch,
)
from hubbub.server.core.presences import (
    LOCAL_NODE,
    PLATFORM_VIEW,
    ActivitySecrets,
    Presence,
    Presences,
    SessionPresence,
)
from hubbub.server.core.publication_log import MissedEvent, PublicationLog
from hubbub.server.transports.gateway.activities import visible_activities
from hubbub.server.transports.gateway.context import PresenceAudience
from hubbub.server.transports.gateway.session import GatewaySession

log = logging.getLogger(__name__)

BUS_SUBJECT: Final = "presence"
"""Bus subject of the messages between nodes."""
KEEPALIVE_SECONDS: Final = 20.0
"""Interval in seconds between a node's keepalive messages."""
NODE_TIMEOUT_SECONDS: Final = 70.0
"""Time in seconds without a message after which a node is removed together with its sessions."""

MERGE_THRESHOLD: Final = 1000
"""Minimum number of pending changes above which changes of the same user are merged."""

NODE_REPORT: Final = "_PRESENCE"
"""Message with the presences of sessions of the sending node."""
NODE_SESSION_ENDED: Final = "_PRESENCE_ENDED"
"""Message about a session of the sending node that ended."""
NODE_HELLO: Final = "_PRESENCE_HELLO"
"""Message that requests the full state of the other nodes."""
NODE_KEEPALIVE: Final = "_PRESENCE_ALIVE"
"""Message that a node sends periodically, so that it is not removed."""
NODE_SHUTDOWN: Final = "_PRESENCE_BYE"
"""Message that removes the sending node and its sessions."""

GAP_SUBJECT_PREFIXES: Final = ("guild.", "user.")
"""Prefixes of the bus subjects for which a missed event ends only the sessions of the guild or user."""

STATUSES: Final = frozenset(Status)
PRESENCE_SCOPES: Final = frozenset({Scope.ACTIVITIES_WRITE.value, Scope.PRESENCES_WRITE.value})
"""Scopes that allow an OAuth2 session to set its user's presence; either is enough."""


class _NodeMessage(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A message between nodes, encoded as JSON."""

    node: str
    """The node that sent the message."""
    session_presences: list[SessionPresence] = msgspec.field(default_factory=list)
    """Presences of the node's sessions; used by `NODE_REPORT`."""
    is_full: bool = msgspec.field(default=False, name="full")
    """Whether `session_presences` holds all sessions of the node."""
    user_id: int = 0
    """User of the session that ended; used by `NODE_SESSION_ENDED`."""
    session_id: str = ""
    """Session that ended; used by `NODE_SESSION_ENDED`."""
    move_count: int | None = None
    """Number of times that the ended session had moved, so that a later move to another node is not undone; or None."""
    is_gateway: bool = msgspec.field(default=False, name="gateway")
    """Whether the node accepts sessions, also those of other nodes."""
    has_publication_log: bool = msgspec.field(default=False, name="logged")
    """Whether the node records its unpublished events in the store."""


class PresenceFeed:
    """Stores the presences of the sessions of all nodes, and publishes those of this node."""

    def __init__(
        self,
        bus: Bus[Dispatch],
        clock: Clock,
        presences: Presences,
        *,
        read_audience: Callable[..., Awaitable[PresenceAudience]] | None = None,
        deliver_local: Callable[[Dispatch], None] = lambda _: None,
        on_lost_sessions: Callable[[list[SessionPresence]], None] = lambda _: None,
        on_moved_session: Callable[[str, str], None] = lambda _, __: None,
        publication_log: PublicationLog | None = None,
    ) -> None:
        """Create a feed; `publication_log` has the ID of this node. Without it, the feed creates an ID."""
        self._bus = bus
        self._clock = clock
        self._presences = presences
        self._read_audience = read_audience
        """Function that finds the guilds and users that may see a user's presence; None on a node without a gateway."""
        self._deliver_local = deliver_local
        """Function that delivers an event to this node's sessions only."""
        self._on_lost_sessions = on_lost_sessions
        """Function called with the sessions of a node that stopped responding."""
        self._on_moved_session = on_moved_session
        """Function called with the ID of a session of this node that another node continues, and with that node."""
        self._publication_log = publication_log
        self._logged_nodes: set[str] = set()
        """Nodes that record their unpublished events."""
        self.gateway_nodes: set[str] = set()
        """Other nodes that accept sessions."""
        self._is_draining = False
        self.lost_node_checks: set[asyncio.Task[None]] = set()
        """Running tasks that read the logs of lost nodes."""
        self.node = secrets.token_hex(8) if publication_log is None else publication_log.node
        self._last_message_at: dict[str, float] = {}
        """Time of the last message of each node in seconds of the event loop's clock, by node."""
        self._changes: deque[_PendingUpdate] = deque()
        self._merge_at = MERGE_THRESHOLD
        """Number of pending changes above which they are merged next."""
        self.on_lost_node: Callable[[str], None] = lambda _: None
        """Function called with a node that stopped responding, before its presences are removed."""
        self.publish_task: asyncio.Task[None] | None = None
        self._subscriptions: list[Subscription] = []
        self._last_keepalive_at = 0.0
        """Time of this node's last keepalive, in seconds of the event loop's clock."""
        self._users_with_several_sessions: set[int] = set()
        """Users whose clients were informed that the user has more than one session."""
        self._published: Dispatch | None = None
        """The last message that this node published."""

    @property
    def other_nodes(self) -> frozenset[str]:
        """The other nodes that respond."""
        return frozenset(self._last_message_at)

    def start(self) -> None:
        """Subscribe to the other nodes' messages and request their sessions."""
        self._subscriptions = [self._bus.subscribe(BUS_SUBJECT, self._receive), self._bus.on_gap(self._resync)]
        self._send(NODE_HELLO)

    def close(self) -> None:
        """Unsubscribe and announce the shutdown to the other nodes."""
        if self._subscriptions:
            for subscription in self._subscriptions:
                subscription.cancel()
            self._subscriptions = []
            self._send(NODE_SHUTDOWN)
        if self.publish_task is not None:
            self.publish_task.cancel()
        for task in self.lost_node_checks:
            task.cancel()

    def drain(self) -> None:
        """Announce that this node accepts no more sessions."""
        self._is_draining = True
        self._send(NODE_KEEPALIVE)

    def take(self, presence: SessionPresence) -> None:
        """Store the presence of a session that this node took from another one, and report it to the other nodes."""
        presence = msgspec.structs.replace(presence, node=LOCAL_NODE, move_count=presence.move_count + 1)
        changed_views = self._presences.update(presence)
        self._send(NODE_REPORT, session_presences=[presence])
        # The presence of a user with several sessions depends on their order.
        self._queue_update(presence.user_id, changed_views, to_all_nodes=True, is_bot=presence.is_bot)

    def give(self, user_id: int, session_id: str, node: str) -> None:
        """Record that another node took a session of this node."""
        presence = self._presences.find_session(user_id, session_id)
        if presence is not None:
            self._presences.update(msgspec.structs.replace(presence, node=node, move_count=presence.move_count + 1))

    def set_presence(self, session: GatewaySession, request: SetPresence) -> None:
        """Set a session's presence. A request with an unknown status is ignored (spec/gateway.md#8)."""
        if request.status not in STATUSES:
            return
        actor, status, activities, activity_secrets = (
            session.actor,
            request.status,
            list[Any](),
            list[ActivitySecrets](),
        )
        previous_presence = self._presences.find_session(session.user_id, session.id)
        if session.is_oauth2 and actor.scopes.isdisjoint(PRESENCE_SCOPES):
            # The session may receive events for its user, but not set their presence.
            status = Status.INVISIBLE
        else:
            activities, activity_secrets = visible_activities(
                request.all_activities,
                actor,
                session_id=session.id,
                application_name=session.application_name,
                now_ms=self._clock.now_ms(),
                previous_presence=previous_presence,
            )
        presence = SessionPresence(
            user_id=session.user_id,
            session_id=session.id,
            device=session.device,
            status=status,
            activities=activities,
            move_count=0 if previous_presence is None else previous_presence.move_count,
            is_bot=actor.is_bot,
            application_id=int(actor.application_id) if session.is_oauth2 and actor.application_id else None,
            family_id=int(actor.family_id) if session.is_oauth2 and actor.family_id else None,
            secrets=activity_secrets,
            is_showing_chat=request.showing_chat is True,
            is_active=request.afk is False,
        )
        changed_views = self._presences.update(presence)
        self._send(NODE_REPORT, session_presences=[presence])
        self._send_own_sessions(presence.user_id)
        self._queue_update(presence.user_id, changed_views, to_all_nodes=True, is_bot=presence.is_bot)

    def drop(self, user_id: int, session_id: str) -> None:
        """Remove the presence of a session that ended."""
        presence = self._presences.find_session(user_id, session_id)
        changed_views = self._presences.remove(user_id, session_id)
        move_count = None if presence is None else presence.move_count
        self._send(NODE_SESSION_ENDED, user_id=user_id, session_id=session_id, move_count=move_count)
        self._send_own_sessions(user_id)
        self._queue_update(user_id, changed_views, to_all_nodes=True)

    def publish_to_guild(self, user_id: int, guild_id: int) -> None:
        """Publish a user's presence to a guild that the user just joined, unless the user is offline."""
        if (presence := self._presences.find(user_id)) is not None:
            self._bus.publish(f"guild.{guild_id}", presence_update(user_id, guild_id, presence))

    def sweep(self, now: float) -> None:
        """Send a keepalive when it is due, and remove nodes that stopped responding.

        `now` is in seconds of the event loop's clock.
        """
        if now - self._last_keepalive_at >= KEEPALIVE_SECONDS:
            self._last_keepalive_at = now
            self._send(NODE_KEEPALIVE)
        if self._publication_log is not None:
            self._publication_log.prune(now)
        if not self._bus.is_healthy:
            # While the bus is unhealthy, missing messages do not mean that a node has stopped.
            self._last_message_at = dict.fromkeys(self._last_message_at, now)
        lost_nodes = [
            node
            for node, last_message_at in self._last_message_at.items()
            if now - last_message_at >= NODE_TIMEOUT_SECONDS
        ]
        are_events_lost = False
        for node in lost_nodes:
            log.warning("A node stopped responding; ending its sessions", extra={"node": node})
            self.on_lost_node(node)
            self._on_lost_sessions(self._presences.sessions(node))
            if self._publication_log is not None and node in self._logged_nodes:
                task = asyncio.get_running_loop().create_task(self._check_lost_node(node, self._publication_log))
                self.lost_node_checks.add(task)
                task.add_done_callback(self.lost_node_checks.discard)
            else:
                are_events_lost = True
            self._remove_node(node)
        if are_events_lost:
            self._bus.notify_gap()

    async def _check_lost_node(self, node: str, publication_log: PublicationLog) -> None:
        """Report a gap to sessions that need an event which a lost node did not publish.

        All sessions have a gap if its log cannot be read, or if the event is for many users or for the nodes themselves.
        """
        try:
            missed_events = await publication_log.find_missed(node)
        except Exception:
            log.exception("The log of a lost node could not be read", extra={"node": node})
            self._bus.notify_gap()
            return
        if missed_events:
            log.warning("A lost node did not publish events", extra={"node": node, "messages": len(missed_events)})
        if any(not event.subject.startswith(GAP_SUBJECT_PREFIXES) for event in missed_events):
            self._bus.notify_gap()
            return
        for event in missed_events:
            self._bus.deliver_local(event.subject, missed_event_gap(event))

    def _send(self, event: str, **fields: Any) -> None:
        message = _NodeMessage(
            node=self.node,
            has_publication_log=self._publication_log is not None,
            is_gateway=self._read_audience is not None and not self._is_draining,
            **fields,
        )
        self._published = Dispatch(event=event, body=codec.encode(message), audience=NO_SESSIONS)
        self._bus.publish(BUS_SUBJECT, self._published)

    def _receive(self, dispatch: Dispatch) -> None:
        """Handle a message of another node."""
        if dispatch is self._published:
            # The bus of one process delivers the object itself; it does not need to be decoded.
            return
        message = codec.decode(dispatch.body, _NodeMessage)
        if message.node == self.node:
            return
        if dispatch.event == NODE_SHUTDOWN:
            self._remove_node(message.node)
            return
        if dispatch.event == NODE_HELLO or message.node not in self._last_message_at:
            # The other node does not know this node's sessions, or its HELLO may have been lost: send the full state.
            self._send(NODE_REPORT, session_presences=self._presences.sessions(), is_full=True)
            if dispatch.event != NODE_HELLO and dispatch.event != NODE_REPORT:
                self._send(NODE_HELLO)
        self._last_message_at[message.node] = asyncio.get_running_loop().time()
        if message.has_publication_log:
            self._logged_nodes.add(message.node)
        if message.is_gateway:
            self.gateway_nodes.add(message.node)
        else:
            self.gateway_nodes.discard(message.node)
        if dispatch.event == NODE_REPORT and message.is_full:
            self._replace(message.node, message.session_presences)
        elif dispatch.event == NODE_REPORT:
            for session_presence in message.session_presences:
                if self._is_outdated(session_presence):
                    continue
                self._end_moved(session_presence, message.node)
                self._presences.update(msgspec.structs.replace(session_presence, node=message.node))
                self._send_own_sessions(session_presence.user_id)
        elif dispatch.event == NODE_SESSION_ENDED:
            presence = self._presences.find_session(message.user_id, message.session_id)
            if presence is not None and (message.move_count is None or presence.move_count <= message.move_count):
                self._presences.remove(message.user_id, message.session_id)
                self._send_own_sessions(message.user_id)

    def _is_outdated(self, reported_presence: SessionPresence) -> bool:
        """Return whether a session has moved to another node since its presence was reported."""
        presence = self._presences.find_session(reported_presence.user_id, reported_presence.session_id)
        return presence is not None and presence.move_count > reported_presence.move_count

    def _end_moved(self, reported_presence: SessionPresence, node: str) -> None:
        """End a session of this node that another node has taken meanwhile, because this node did not respond."""
        presence = self._presences.find_session(reported_presence.user_id, reported_presence.session_id)
        if presence is not None and presence.node == LOCAL_NODE and reported_presence.move_count > presence.move_count:
            self._on_moved_session(reported_presence.session_id, node)

    def _replace(self, node: str, reported_presences: list[SessionPresence]) -> None:
        """Replace the known sessions of a node with its full report, and publish the difference."""
        previous_presences = {
            session_presence.session_id: session_presence for session_presence in self._presences.sessions(node)
        }
        views_by_user: dict[int, frozenset[int]] = {}
        for session_presence in reported_presences:
            previous_presence = previous_presences.pop(session_presence.session_id, None)
            # An unchanged presence is not stored again: that would make it the user's most recent one.
            session_presence = msgspec.structs.replace(session_presence, node=node)
            if previous_presence != session_presence and not self._is_outdated(session_presence):
                self._end_moved(session_presence, node)
                views_by_user[session_presence.user_id] = views_by_user.get(
                    session_presence.user_id, frozenset()
                ) | self._presences.update(session_presence)
        for removed_presence in previous_presences.values():
            views = self._presences.remove(removed_presence.user_id, removed_presence.session_id)
            views_by_user[removed_presence.user_id] = views_by_user.get(removed_presence.user_id, frozenset()) | views
        for user_id, views in views_by_user.items():
            self._send_own_sessions(user_id)
            self._queue_update(user_id, views, to_all_nodes=False)

    def _resync(self) -> None:
        """Exchange full state with every node after the bus lost messages."""
        self._send(NODE_HELLO)
        self._send(NODE_REPORT, session_presences=self._presences.sessions(), is_full=True)

    def _remove_node(self, node: str) -> None:
        """Remove a node and its sessions, and inform this node's sessions."""
        self._last_message_at.pop(node, None)
        self._logged_nodes.discard(node)
        self.gateway_nodes.discard(node)
        # Every remaining node detects the loss itself, so each updates only its own sessions.
        user_ids = {presence.user_id for presence in self._presences.sessions(node)}
        for user_id, views in self._presences.remove_node(node).items():
            self._queue_update(user_id, views, to_all_nodes=False)
        for user_id in user_ids:
            self._send_own_sessions(user_id)

    def _send_own_sessions(self, user_id: int) -> None:
        """Send SESSIONS_REPLACE to a user's own clients on this node while the user has several sessions, and once afterwards.

        Every node receives every presence, so each node sends only to its own clients. Bots do not receive the event.
        """
        if self._read_audience is None:
            return
        if self._presences.session_count(user_id) > 1:
            self._users_with_several_sessions.add(user_id)
        elif user_id in self._users_with_several_sessions:
            self._users_with_several_sessions.discard(user_id)
        else:
            return
        if self._presences.is_bot(user_id):
            return
        if sessions := self._presences.sessions_of(user_id):
            body = codec.encode(presences.session_list(sessions))
            self._deliver_local(Dispatch(event=SESSIONS_REPLACE.name, body=body, audience=UserAudience.of(user_id)))

    def _queue_update(self, user_id: int, views: frozenset[int], *, to_all_nodes: bool, is_bot: bool = False) -> None:
        """Queue PRESENCE_UPDATE for the users who see the changed views of a user.

        `to_all_nodes` also sends it to the sessions of other nodes; `is_bot` is whether the user is a bot, which has no friends.
        """
        if self._read_audience is None or not views:
            return
        presences_by_view = {family_id: self._presences.find(user_id, family_id=family_id) for family_id in views}
        self._changes.append(_PendingUpdate(user_id, presences_by_view, to_all_nodes, is_bot))
        if len(self._changes) > self._merge_at:
            self._merge_changes()
        if self.publish_task is None:
            self.publish_task = asyncio.get_running_loop().create_task(self._publish_updates())

    def _merge_changes(self) -> None:
        """Merge pending changes of the same user, so that the queue is bounded by the number of users."""
        merged_changes: dict[tuple[int, bool], _PendingUpdate] = {}
        for change in self._changes:
            earlier_change = merged_changes.pop((change.user_id, change.to_all_nodes), None)
            if earlier_change is not None:
                change = change._replace(
                    presences_by_view=earlier_change.presences_by_view | change.presences_by_view,
                    is_bot=earlier_change.is_bot or change.is_bot,
                )
            merged_changes[change.user_id, change.to_all_nodes] = change
        self._changes = deque(merged_changes.values())
        self._merge_at = max(MERGE_THRESHOLD, 2 * len(merged_changes))

    async def _publish_updates(self) -> None:
        """Publish the pending changes in order."""
        assert self._read_audience is not None
        try:
            while self._changes:
                change = self._changes.popleft()
                try:
                    audience = await self._read_audience(change.user_id, with_friends=not change.is_bot)
                except Exception:
                    log.exception("Failed to publish a presence")
                    continue
                for dispatch in _iter_updates(change, audience):
                    if not change.to_all_nodes:
                        self._deliver_local(dispatch)
                    elif isinstance(dispatch.audience, UserAudience):
                        self._bus.publish(BROADCAST_SUBJECT, dispatch)
                    else:
                        self._bus.publish(f"guild.{dispatch.audience.guild_id}", dispatch)
        finally:
            self.publish_task = None


class _PendingUpdate(NamedTuple):
    """A pending presence update of a user."""

    user_id: int
    presences_by_view: dict[int, Presence | None]
    """The presence that each family of applications sees; the key `PLATFORM_VIEW` is for all other users."""
    to_all_nodes: bool
    """Whether the update is also sent to other nodes."""
    is_bot: bool


def _iter_updates(change: _PendingUpdate, audience: PresenceAudience) -> Iterator[Dispatch]:
    """Yield the updates for a user's guilds, friends, and friends in a family of applications (spec/sdk.md#9.3)."""
    user_id, friend_ids = (
        change.user_id,
        {friend_id for family_id, friend_id in audience.friends if family_id == PLATFORM_VIEW},
    )
    for view, presence in change.presences_by_view.items():
        if view == PLATFORM_VIEW:
            for guild_id in audience.guilds:
                yield presence_update(user_id, guild_id, presence)
            if friend_ids:
                yield friends_update(user_id, presence, UserAudience.of(*friend_ids), audience.families)
        elif (
            family_friend_ids := {friend_id for family_id, friend_id in audience.friends if family_id == view}
            - friend_ids
        ):
            family_audience = UserAudience.of(
                *family_friend_ids, game_filter=GameFilter(family_id=view, oauth2_only=True)
            )
            yield friends_update(user_id, presence, family_audience, audience.families)


def missed_event_gap(event: MissedEvent) -> Dispatch:
    """Return the internal event that ends the sessions of a guild or user that need a missed event."""
    subject_type, _, subject_id = event.subject.partition(".")
    if subject_type == "guild":
        return Dispatch(
            event=GUILD_GAP, body=b"null", audience=GuildAudience(guild_id=int(subject_id)), stamp=event.stamp
        )
    return Dispatch(event=USER_GAP, body=b"null", audience=UserAudience.of(int(subject_id)), stamp=event.stamp)


def presence_update(user_id: int, guild_id: int, presence: Presence | None) -> Dispatch:
    """Return PRESENCE_UPDATE for one guild. It is never sent to the user it is about (spec/gateway.md#5.1)."""
    return Dispatch(
        event=PRESENCE_UPDATE.name,
        body=codec.encode(presences.presence_update(user_id, presence, guild_id=guild_id)),
        audience=GuildAudience(guild_id, excluded_user_id=user_id),
        intents=PRESENCE_UPDATE.intents,
    )


def friends_update(user_id: int, presence: Presence | None, audience: Audience, families: Iterable[int]) -> Dispatch:
    """Return PRESENCE_UPDATE for friends. For OAuth2 sessions it contains whether the user plays their application.

    `families` are the families of applications that the user plays.
    """
    return dispatch(
        PRESENCE_UPDATE,
        presences.presence_update(user_id, presence),
        audience,
        oauth2_payloads=presences.oauth2_presence_updates(user_id, presence, families),
    )


def device_of(actor: Actor, properties: dict[str, Any]) -> str:
    """Return the device kind of a session: web, mobile, desktop or vr; always web for bots (spec/gateway.md#8)."""
    if actor.is_bot:
        return "web"
    client_text = " ".join(
        str(properties.get(key) or properties.get("$" + key) or "") for key in ("os", "browser", "device")
    )
    client_text = client_text.lower()
    if any(keyword in client_text for keyword in ("android", "ios", "mobile")):
        return "mobile"
    return (
        "vr"
        if "vr" in client_text.split()
        else "desktop"
        if "client" in client_text or "console" in client_text
        else "web"
    )
