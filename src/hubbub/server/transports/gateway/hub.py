"""One guild on this node: its sessions, their permissions, and ordered delivery of events to them.

Most events only need a cached list of recipients. An event that changes visibility (`Dispatch.refresh`) pauses the hub:
later events are queued, the guild is re-read, the event is sent, then the channels that sessions gained and lost by it,
then the queued events.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from hubbub.protocol.permissions import Permissions
from hubbub.server.core import voice
from hubbub.server.core.change_relay import GUILD_GAP
from hubbub.server.core.event_dispatch import Dispatch, GuildAudience
from hubbub.server.core.gateway_queries import GuildState
from hubbub.server.transports.gateway import delivery_trace
from hubbub.server.transports.gateway.context import GatewayContext, VisibilityGain, has_guilds_intent
from hubbub.server.transports.gateway.hub_records import ChangedChannel, TrackedMember
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.recipients import RecipientLists
from hubbub.server.transports.gateway.session import GatewaySession, GuildSubscription, send_all
from hubbub.server.transports.gateway.standings import (
    THREAD_PARENT_TYPES,
    VOICE_CHANNEL_TYPES,
    Standings,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

CHANNEL_EVENTS: Final = frozenset({"CHANNEL_CREATE", "CHANNEL_UPDATE", "CHANNEL_DELETE"})
WHOLE_GUILD_REFRESHES: Final = frozenset({"guild", "channels"})
"""Values of `Dispatch.refresh` for which the whole guild is re-read."""
LATE_EVENT_SECONDS: Final = 120.0
"""Time in seconds after a read during which events that the read already contains may still arrive."""
RETRY_DELAY_SECONDS: Final = 0.5
"""Delay in seconds before a failed read is retried."""
ADMISSION_BATCH_SIZE: Final = 50
"""Maximum number of sessions whose data one read contains."""
QUEUED_EVENTS_MAX: Final = 20_000
"""Maximum number of events that may wait for a read or for a session to be admitted, which bounds the memory in use."""


def _awaits_read(subscription: GuildSubscription) -> bool:
    """Return whether the GUILD_CREATE of a subscription can be read and was not read yet."""
    return subscription.is_on_bus and not subscription.is_read


class GuildHub:
    """A guild and the sessions of this node that are in it."""

    def __init__(
        self,
        guild_id: int,
        context: GatewayContext,
        create_packet: Callable[[str, bytes], Packet],
        on_empty: Callable[["GuildHub"], None],
        on_missed_events: Callable[[list[GatewaySession]], None],
    ) -> None:
        self.guild_id = guild_id
        self.state: GuildState | None = None
        """The guild as of its last read; None until the first session is admitted."""
        self.subscriptions: dict[GatewaySession, GuildSubscription] = {}
        """Subscriptions of the admitted sessions."""
        self._context = context
        self._create_packet = create_packet
        self._on_empty = on_empty
        """Function called when the last session has left the hub."""
        self._on_missed_events = on_missed_events
        """Function called with sessions that missed events."""
        self._members: dict[int, TrackedMember] = {}
        self._standings: Standings | None = None
        self._timeout_end_ms = 0
        """End of the earliest member timeout as Unix milliseconds, or 0."""
        self._recipient_lists = RecipientLists()
        self._arriving: dict[GuildSubscription, None] = {}
        """Sessions that are not admitted yet, in the order of their arrival."""
        self._load_task: asyncio.Task[None] | None = None
        self._recent: dict[GatewaySession, GuildSubscription] = {}
        """Recently admitted sessions, whose GUILD_CREATE may already contain an event that arrives later."""
        self._recent_end_stamp = 0
        """Stamp at and after which no event is contained in the GUILD_CREATE of a recently admitted session."""
        self._has_transferred = False
        """Whether a recently admitted session was taken from another node, which may have sent an event that arrives later."""
        self._queue: deque[Dispatch | GuildSubscription] = deque()
        self._queue_task: asyncio.Task[None] | None = None
        self._changed_channels: dict[int, ChangedChannel] = {}
        """Channels that changed (until their event) or were deleted, by ID, for at most `LATE_EVENT_SECONDS`."""
        self._unannounced_channels: set[int] = set()
        """IDs of channels that are new in the state, until an event about the channel arrives."""

    # Admission

    def expect(self, subscription: GuildSubscription) -> None:
        """Start to buffer events for a session that will be admitted."""
        self._arriving[subscription] = None

    def admit(self, subscription: GuildSubscription) -> "asyncio.Future[None]":
        """Admit an expected session; the future is done when the events that it missed are sent, or the subscription is removed."""
        subscription.is_on_bus = True
        if self._load_task is None:
            self._load_task = asyncio.get_running_loop().create_task(self._load_arrivals())
            self._update_busy()
        return subscription.opened

    async def _load_arrivals(self) -> None:
        """Read the data of arriving sessions in batches and queue their admission."""
        try:
            while batch := list(islice(filter(_awaits_read, self._arriving), ADMISSION_BATCH_SIZE)):
                joins = [(subscription.session, subscription.is_joining) for subscription in batch]
                arrivals = await self._read_with_retry(partial(self._context.guild_arrivals, self.guild_id, joins))
                for subscription, arrival in zip(batch, arrivals, strict=True):
                    subscription.arrival, subscription.is_read = arrival, True
                    if arrival is None:
                        # The user is no longer a member, or the guild was deleted or suspended. The user also receives a
                        # GUILD_DELETE.
                        self.leave(subscription)
                    else:
                        self._queue.append(subscription)
                self._start_queue_task()
        finally:
            self._load_task = None
            self._update_busy()

    def leave(self, subscription: GuildSubscription) -> None:
        """Remove a session that ended or whose user left the guild."""
        if subscription.is_removed:
            return
        subscription.is_removed = True
        if not subscription.opened.done():
            subscription.opened.set_result(None)
        session = subscription.session
        self._arriving.pop(subscription, None)
        if self.subscriptions.get(session) is subscription:
            del self.subscriptions[session]
            self._recent.pop(session, None)
            self._recipient_lists.clear()
            member = self._members[session.user_id]
            del member.subscriptions[subscription]
            if not member.subscriptions:
                del self._members[session.user_id]
        if not self.subscriptions and not self._arriving:
            self._on_empty(self)

    def running_tasks(self) -> list[asyncio.Task[None]]:
        """Return the tasks that must finish before all received events are sent."""
        return [task for task in (self._load_task, self._queue_task) if task is not None]

    def close(self) -> None:
        """Cancel the hub's tasks."""
        for task in self.running_tasks():
            task.cancel()
        self._context.busy_hubs.pop(self, None)

    def _update_busy(self) -> None:
        """Record whether received events may not be sent to the sessions of the hub yet."""
        if self._load_task is None and self._queue_task is None:
            self._context.busy_hubs.pop(self, None)
        else:
            self._context.busy_hubs[self] = self.subscriptions

    def prune(self, now: float) -> None:
        """Discard expired state of admissions and changed channels; `now` is in seconds of the event loop's clock."""
        for session, subscription in list(self._recent.items()):
            if now - subscription.opened_at >= LATE_EVENT_SECONDS:
                del self._recent[session]
                subscription.snapshot = None
        self._has_transferred = self._has_transferred and bool(self._recent)
        if self._changed_channels:
            self._changed_channels = {
                channel: change
                for channel, change in self._changed_channels.items()
                if now - change.changed_at < LATE_EVENT_SECONDS
            }

    async def _open_subscription(self, subscription: GuildSubscription) -> None:
        """Admit a session whose data was read: send GUILD_CREATE and then the buffered events."""
        if subscription.is_removed or subscription.arrival is None:
            return
        del self._arriving[subscription]
        arrival, session = subscription.arrival, subscription.session
        subscription.arrival = None
        if self.state is None:
            self._set_state(arrival.state)
        member = self._members.get(session.user_id)
        if member is None:
            member = self._members[session.user_id] = TrackedMember(arrival.member, arrival.snapshot)
        elif member.state is None:
            member.state, member.snapshot = arrival.member, arrival.snapshot
        member.subscriptions[subscription] = None
        subscription.snapshot, subscription.visible_channels, subscription.moderated_channels = (
            arrival.snapshot,
            arrival.visible,
            arrival.moderated,
        )
        if subscription.transferred_channels is not None:
            # The client has GUILD_CREATE from another node. A change since then is announced with its event.
            subscription.snapshot, self._has_transferred = None, True
            subscription.visible_channels = subscription.transferred_channels.visible_channels
            subscription.moderated_channels = subscription.transferred_channels.moderated_channels
        subscription.opened_at = asyncio.get_running_loop().time()
        self.subscriptions[session] = self._recent[session] = subscription
        self._recent_end_stamp = max(self._recent_end_stamp, arrival.snapshot.end)
        self._add_standing(member, subscription)
        if arrival.body is not None and subscription.transferred_channels is None:
            session.send(self._create_packet("GUILD_CREATE", arrival.body))
        backlog, subscription.backlog = subscription.backlog or [], None
        for dispatch in backlog:
            if subscription.needs_event(dispatch):
                await self._process(dispatch, subscription)
        if not subscription.opened.done():
            subscription.opened.set_result(None)

    # Ordered processing

    def receive(self, dispatch: Dispatch) -> None:
        """Handle an event of the guild from the bus."""
        if dispatch.event == GUILD_GAP:
            self._handle_gap(dispatch.stamp)
        elif self._queue_task is not None:
            self._queue.append(dispatch)
            if len(self._queue) > QUEUED_EVENTS_MAX:
                log.error(
                    "event queue of a guild overflowed; its sessions are invalidated", extra={"guild_id": self.guild_id}
                )
                self._invalidate_all()
        elif self._needs_refresh(dispatch):
            self._queue.append(dispatch)
            self._start_queue_task()
        else:
            try:
                self._deliver(dispatch, None)
            except Exception:
                log.exception("Failed to deliver a guild event", extra={"guild_id": self.guild_id})
                self._invalidate_all()

    def _start_queue_task(self) -> None:
        if self._queue_task is None and self._queue:
            self._queue_task = asyncio.get_running_loop().create_task(self._process_queue())
            self._update_busy()

    async def _process_queue(self) -> None:
        try:
            while self._queue:
                queued_work = self._queue.popleft()
                try:
                    if isinstance(queued_work, GuildSubscription):
                        await self._open_subscription(queued_work)
                    else:
                        await self._process(queued_work, None)
                except Exception:
                    log.exception("Failed to deliver a guild event", extra={"guild_id": self.guild_id})
                    self._invalidate_all(queued_work if isinstance(queued_work, GuildSubscription) else None)
        finally:
            self._queue_task = None
            self._update_busy()

    def _invalidate_all(self, opening_subscription: GuildSubscription | None = None) -> None:
        """Invalidate all sessions after a failure: a new session is better than lost events (decisions/0004)."""
        self._queue.clear()
        subscriptions = [*self.subscriptions.values(), *self._arriving]
        if opening_subscription is not None and opening_subscription not in subscriptions:
            subscriptions.append(opening_subscription)
        self._on_missed_events([subscription.session for subscription in subscriptions])

    def _handle_gap(self, stamp: int) -> None:
        """Invalidate the sessions that need the commit with this stamp, or all sessions if the guild's state lacks it."""
        if self.state is None or not stamp or not self.state.snapshot.covers(stamp):
            self._invalidate_all()
        else:
            subscriptions = [*self.subscriptions.values(), *self._arriving]
            self._on_missed_events([each.session for each in subscriptions if self._lacks_commit(each, stamp)])

    def _lacks_commit(self, subscription: GuildSubscription, stamp: int) -> bool:
        member = self._members.get(subscription.session.user_id)
        is_in_member = member is None or member.snapshot.covers(stamp)
        return not (is_in_member and subscription.session.is_commit_in_ready(stamp))

    def _needs_refresh(self, dispatch: Dispatch) -> bool:
        """Return whether the guild or a member must be re-read before this event is delivered."""
        if not dispatch.refresh or self.state is None:
            return False
        if dispatch.refresh in WHOLE_GUILD_REFRESHES:
            return not dispatch.stamp or not self.state.snapshot.covers(dispatch.stamp)
        if dispatch.refresh == "member":
            member = self._members.get(dispatch.subject_id)
            return member is not None and not (dispatch.stamp and member.snapshot.covers(dispatch.stamp))
        return False

    async def _process(self, dispatch: Dispatch, only: GuildSubscription | None) -> None:
        """Deliver an event. If needed, re-read the guild before it and announce visibility changes after it.

        `only` limits delivery to one session that is still processing its backlog.
        """
        needs_refresh = self._needs_refresh(dispatch)
        if needs_refresh:
            await self._refresh(dispatch)
        self._deliver(dispatch, only)
        if needs_refresh:
            await self._announce_visibility(dispatch, list(self.subscriptions.values()))
        elif only is not None and dispatch.refresh:
            await self._announce_visibility(dispatch, [only])

    async def _refresh(self, dispatch: Dispatch) -> None:
        """Re-read the guild or members that an event changed, and recompute the standings."""
        includes_whole_guild = dispatch.refresh in WHOLE_GUILD_REFRESHES
        dispatches = [dispatch, *(queued_item for queued_item in self._queue if isinstance(queued_item, Dispatch))]
        user_ids = {
            queued_dispatch.subject_id
            for queued_dispatch in dispatches
            if queued_dispatch.refresh == "member" and queued_dispatch.subject_id in self._members
        }
        guild_refresh = await self._read_with_retry(
            lambda: self._context.refresh(self.guild_id, includes_whole_guild=includes_whole_guild, user_ids=user_ids)
        )
        if guild_refresh.state is not None:
            self._set_state(guild_refresh.state)
        for user_id in user_ids:
            if (member := self._members.get(user_id)) is not None:
                member.state, member.snapshot = guild_refresh.members.get(user_id), guild_refresh.snapshot
        self._update_standings()

    async def _read_with_retry(self, read: Callable[[], Awaitable[T]]) -> T:
        """Run a read until it succeeds: delivery with outdated permissions would reveal hidden channels."""
        while True:
            try:
                return await read()
            except Exception:
                log.exception("Failed to read a guild; retrying", extra={"guild_id": self.guild_id})
                await asyncio.sleep(RETRY_DELAY_SECONDS)

    def _set_state(self, state: GuildState) -> None:
        """Replace the guild's state, and record changed and new channels until their events arrive."""
        old_state, self.state = self.state, state
        self._standings = Standings(state)
        if old_state is None:
            return
        loop_time = asyncio.get_running_loop().time()
        for channel_id, channel in old_state.channels.items():
            new_channel = state.channels.get(channel_id)
            if new_channel is None:
                viewer_ids = frozenset(
                    subscription.session.user_id
                    for subscription in self.subscriptions.values()
                    if channel_id in subscription.visible_channels
                )
                change = ChangedChannel(channel.obfuscated_body, viewer_ids, loop_time)
                self._changed_channels.setdefault(channel_id, change)
            elif new_channel.obfuscated_body != channel.obfuscated_body:
                change = ChangedChannel(channel.obfuscated_body, frozenset(), loop_time)
                self._changed_channels.setdefault(channel_id, change)
        self._unannounced_channels = (
            self._unannounced_channels | (state.channels.keys() - old_state.channels.keys())
        ) & state.channels.keys()

    def _update_standings(self, *members: TrackedMember) -> None:
        """Recompute the standing of these members, or of all members if none are given."""
        assert self._standings is not None
        now_ms = self._context.clock.now_ms()
        timeout_ends_ms = {self._timeout_end_ms} if members else set()
        for member in members or self._members.values():
            is_bot = any(subscription.session.actor.is_bot for subscription in member.subscriptions)
            standing = (
                None if member.state is None else self._standings.standing_of(member.state, now_ms, is_bot=is_bot)
            )
            for subscription in member.subscriptions:
                subscription.standing = standing
            if member.state is not None and member.state.timed_out_until_ms > now_ms:
                timeout_ends_ms.add(member.state.timed_out_until_ms)
        # When the earliest timeout ends, standings change without an event.
        self._timeout_end_ms = min(timeout_ends_ms - {0}, default=0)
        self._recipient_lists.clear()

    def _add_standing(self, member: TrackedMember, subscription: GuildSubscription) -> None:
        """Set the standing of an admitted session, and add the session to the cached recipients.

        The cost does not grow with the number of sessions, unless the standing of the member changed."""
        assert self._standings is not None
        state, now_ms = member.state, self._context.clock.now_ms()
        first_subscription = next(iter(member.subscriptions))
        if state is not None and state.timed_out_until_ms <= now_ms:
            is_bot = subscription.session.actor.is_bot
            subscription.standing = self._standings.standing_of(state, now_ms, is_bot=is_bot)
            if subscription.standing is first_subscription.standing:
                self._recipient_lists.add(subscription)
                return
        self._update_standings(member)

    # Delivery

    def _deliver(self, dispatch: Dispatch, only: GuildSubscription | None) -> None:
        """Send an event to the sessions that may receive it, or only to one, and trace it if enabled."""
        span = self._context.start_dispatch_span(dispatch) if dispatch.traceparent else None
        if self._context.trace.is_enabled:
            sessions = list(self.subscriptions) if only is None else [only.session]
            delivery_trace.deliver_traced(
                self._context,
                dispatch,
                sessions,
                lambda: self._fan_out(dispatch, only),
                lambda session: delivery_trace.explain_guild_miss(self.subscriptions[session], dispatch),
            )
        else:
            self._fan_out(dispatch, only)
        if span is not None:
            span.end()

    def _fan_out(self, dispatch: Dispatch, only: GuildSubscription | None) -> None:
        """Send an event to the sessions that may receive it, or only to one; buffer it for arriving sessions."""
        if only is None and self._arriving:
            self._buffer_for_arriving(dispatch)
        if not self.subscriptions:
            return
        if self._timeout_end_ms and self._context.clock.now_ms() >= self._timeout_end_ms:
            self._update_standings()
        if dispatch.event in CHANNEL_EVENTS:
            self._deliver_channel(dispatch, only)
            return
        audience = dispatch.audience
        assert isinstance(audience, GuildAudience)
        sessions_with_content, sessions_without_content = self._recipient_lists.read(
            audience.channel_id, audience.permission, dispatch.intents, self.subscriptions.values()
        )
        if (
            (self._recent and (self._has_transferred or 0 < dispatch.stamp < self._recent_end_stamp))
            or only is not None
            or audience.users
            or audience.members is not None
            or audience.excluded_user_id is not None
            or audience.hidden_channel_id is not None
            or audience.intent_exempt_user_id is not None
        ):
            sessions_with_content = self._narrow(sessions_with_content, dispatch, audience, only)
            sessions_without_content = self._narrow(sessions_without_content, dispatch, audience, only)
            if audience.intent_exempt_user_id is not None:
                exempt_member = self._members.get(audience.intent_exempt_user_id)
                if exempt_member is not None:
                    recipients = {*sessions_with_content, *sessions_without_content}
                    sessions_with_content += exempt_member.intent_exempt_sessions(dispatch, only, recipients)
        if not sessions_with_content and not sessions_without_content:
            return
        packet = self._create_packet(dispatch.event, dispatch.body)
        send_all(sessions_with_content, packet)
        if sessions_without_content:
            if dispatch.redacted is None:
                send_all(sessions_without_content, packet)
            else:
                unredacted_ids = dispatch.unredacted_for
                send_all([session for session in sessions_without_content if session.user_id in unredacted_ids], packet)
                remaining_sessions = [
                    session for session in sessions_without_content if session.user_id not in unredacted_ids
                ]
                for users, body in dispatch.partial_bodies:
                    if partial_recipients := [session for session in remaining_sessions if session.user_id in users]:
                        send_all(partial_recipients, self._create_packet(dispatch.event, body))
                        remaining_sessions = [session for session in remaining_sessions if session.user_id not in users]
                send_all(remaining_sessions, self._create_packet(dispatch.event, dispatch.redacted))

    def _buffer_for_arriving(self, dispatch: Dispatch) -> None:
        """Buffer an event for sessions that are not admitted yet; invalidate a session whose buffer overflows."""
        overflowed_sessions = []
        for subscription in self._arriving:
            if subscription.backlog is not None:
                subscription.backlog.append(dispatch)
                if len(subscription.backlog) > QUEUED_EVENTS_MAX:
                    overflowed_sessions.append(subscription.session)
        if overflowed_sessions:
            self._on_missed_events(overflowed_sessions)

    def _narrow(
        self,
        sessions: list[GatewaySession],
        dispatch: Dispatch,
        audience: GuildAudience,
        only: GuildSubscription | None,
    ) -> list[GatewaySession]:
        """Return the sessions that meet the conditions which recipient lists do not cover."""
        users, members, excluded_id, channel_id = (
            audience.users,
            audience.members,
            audience.excluded_user_id,
            audience.channel_id,
        )
        matching_sessions = []
        for session in sessions:
            user_id = session.user_id
            if (only is not None and session is not only.session) or (users and user_id not in users):
                continue
            if audience.voice_session_id and voice.derive_session_id(session.id) != audience.voice_session_id:
                continue
            if user_id == excluded_id or (
                (recent := self._recent.get(session)) is not None and not recent.needs_event(dispatch)
            ):
                continue
            if audience.hidden_channel_id is not None:
                standing = self.subscriptions[session].standing
                if standing is None or audience.hidden_channel_id in standing.visible:
                    continue
            if members is not None and user_id not in members:
                standing = self.subscriptions[session].standing
                if standing is None or channel_id is None:
                    continue
                if not standing.permissions(channel_id) & Permissions.MANAGE_THREADS:
                    continue
            matching_sessions.append(session)
        return matching_sessions

    # Channel visibility (spec/gateway.md#9)

    def _deliver_channel(self, dispatch: Dispatch, only: GuildSubscription | None) -> None:
        """Send a CHANNEL_* event to the sessions with the GUILDS intent.

        A session that cannot view the channel receives it obfuscated if `GatewayContext.obfuscates` is true, else unchanged.
        `only` limits delivery to one session that is still processing its backlog.
        """
        assert self.state is not None
        channel_id = dispatch.subject_id
        channel = self.state.channels.get(channel_id)
        change = self._changed_channels.get(channel_id)
        previous_obfuscated = None if change is None else change.obfuscated_body
        full_packet = self._create_packet(dispatch.event, dispatch.body)
        obfuscated_body = channel.obfuscated_body if channel is not None else previous_obfuscated
        obfuscated_packet = None if obfuscated_body is None else self._create_packet(dispatch.event, obfuscated_body)
        # An update of a hidden channel is sent only if its obfuscated form changed, to a session that processes its
        # backlog, or (below) to a session that could view the channel before.
        has_changed = previous_obfuscated is not None and previous_obfuscated != obfuscated_body
        sends_obfuscated = only is not None or has_changed or dispatch.event != "CHANNEL_UPDATE"
        full_payload_sessions: list[GatewaySession] = []
        obfuscated_payload_sessions: list[GatewaySession] = []
        for subscription in list(self.subscriptions.values()) if only is None else [only]:
            session = subscription.session
            if (
                subscription.standing is None
                or not has_guilds_intent(session)
                or not subscription.needs_event(dispatch)
            ):
                continue
            if channel is not None:
                can_view = channel_id in subscription.standing.visible
            else:
                can_view = change is not None and session.user_id in change.viewer_ids
            if can_view or not self._context.obfuscates(session):
                full_payload_sessions.append(session)
            elif sends_obfuscated or channel_id in subscription.visible_channels:
                obfuscated_payload_sessions.append(session)
        send_all(full_payload_sessions, full_packet)
        if obfuscated_packet is not None:
            send_all(obfuscated_payload_sessions, obfuscated_packet)
        if only is None:
            self._unannounced_channels.discard(channel_id)
            if channel is not None:
                self._changed_channels.pop(channel_id, None)

    async def _announce_visibility(self, cause: Dispatch, subscriptions: list[GuildSubscription]) -> None:
        """Inform sessions of channels that the event `cause` made visible or hidden to them."""
        state = self.state
        assert state is not None
        cause_id = cause.subject_id if cause.event in CHANNEL_EVENTS else 0
        created_ids = {cause_id} if cause.event == "CHANNEL_CREATE" else set()
        packets_by_body: dict[bytes, Packet] = {}
        gains: list[VisibilityGain] = []
        for subscription in subscriptions:
            session, standing = subscription.session, subscription.standing
            if standing is None or subscription.is_removed:
                continue
            changes = subscription.update_channels(standing)
            if changes is None or not has_guilds_intent(session):
                continue
            unannounced_ids = self._unannounced_channels | created_ids
            gained_ids = sorted(changes.gained - unannounced_ids)
            lost_ids = sorted(changes.lost & state.channels.keys())
            if self._context.obfuscates(session):
                for body in [state.channels[channel_id].body for channel_id in gained_ids if channel_id != cause_id] + [
                    state.channels[channel_id].obfuscated_body for channel_id in lost_ids if channel_id != cause_id
                ]:
                    if (packet := packets_by_body.get(body)) is None:
                        packet = packets_by_body[body] = self._create_packet("CHANNEL_UPDATE", body)
                    session.send(packet)
            # A member who gained MANAGE_THREADS in a channel now sees all of its private threads.
            thread_channels = {
                channel_id for channel_id in gained_ids if state.channels[channel_id].type in THREAD_PARENT_TYPES
            }
            thread_channels |= changes.newly_moderated - unannounced_ids
            voice_channels = [
                channel_id for channel_id in gained_ids if state.channels[channel_id].type in VOICE_CHANNEL_TYPES
            ]
            member = self._members[session.user_id].state
            if (thread_channels or voice_channels) and member is not None:
                gains.append(VisibilityGain(session, member, standing, sorted(thread_channels), voice_channels))
        if gains:
            events_by_gain = await self._read_with_retry(lambda: self._context.visibility_events(state, gains))
            for gain, session_events in zip(gains, events_by_gain, strict=True):
                for event, body in session_events:
                    gain.session.send(self._create_packet(event, body))
