"""Delivery of events that are addressed to a user, including the guilds that the user joins and leaves."""

import logging
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.resources.guilds import GUILD_CREATE, GUILD_DELETE
from hubbub.server.core import voice
from hubbub.server.core.auth import ACTOR_CHANGED, ActorChanged
from hubbub.server.core.bus import Subscription
from hubbub.server.core.change_relay import USER_GAP
from hubbub.server.core.event_dispatch import Dispatch, UserAudience
from hubbub.server.transports.gateway import delivery_trace
from hubbub.server.transports.gateway.context import GatewayContext
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.session import GatewaySession, RecipientClass, send_all

log = logging.getLogger(__name__)

MEMBERSHIP_EVENTS: Final = frozenset({GUILD_CREATE.name, GUILD_DELETE.name})
"""Events that, when addressed to a user, mean that the user joined or left a guild, or that its availability changed."""


class _GuildReference(msgspec.Struct):
    """The ID and availability of the guild in GUILD_CREATE and GUILD_DELETE."""

    id: str
    unavailable: bool | None = None
    """False in GUILD_CREATE of a guild that is available again, True in GUILD_DELETE of a guild that is unavailable.

    None if the user joins or leaves the guild."""


class SessionControl(Protocol):
    """The operations of the gateway that `UserSessions` needs."""

    def add_to_guild(self, session: GatewaySession, guild_id: int, *, is_joining: bool = True) -> None:
        """Add a session to a guild that its user joins now or, if `is_joining` is False, that is available again."""

    def remove_from_guild(self, session: GatewaySession, guild_id: int) -> None:
        """Remove a session from a guild that its user left, or that became unavailable."""

    def revoke(self, session: GatewaySession) -> None:
        """End a session whose token was revoked."""

    def invalidate(self, session: GatewaySession) -> None:
        """End a session that missed events."""


class DispatchBatch:
    """The packets of one dispatch, with the sessions that receive each of them."""

    __slots__ = ("oauth2_recipients", "packets")

    def __init__(self) -> None:
        self.packets: dict[int, tuple[Packet, list[GatewaySession]]] = {}
        """Packets with their recipients, by `id()` of the body; a dispatch may have several bodies."""
        self.oauth2_recipients: dict[RecipientClass, list[GatewaySession] | None] = {}
        """The recipient list for each class of OAuth2 sessions, or None if the class does not receive the event."""

    def send(self) -> None:
        """Send each packet to its recipients."""
        for packet, sessions in self.packets.values():
            send_all(sessions, packet)
        self.packets.clear()
        self.oauth2_recipients.clear()


class UserSessions:
    """The sessions of one user on this node."""

    __slots__ = ("_context", "_control", "_create_packet", "sessions", "subscription")

    def __init__(
        self, control: SessionControl, create_packet: Callable[[str, bytes], Packet], context: GatewayContext
    ) -> None:
        self._control = control
        self._context = context
        self._create_packet = create_packet
        self.sessions: list[GatewaySession] = []
        self.subscription: Subscription | None = None

    def receive(self, dispatch: Dispatch) -> None:
        """Handle an event for the user from the bus."""
        if dispatch.event == ACTOR_CHANGED.name:
            revoked_ids = set(codec.decode(dispatch.body, ActorChanged).revoked)
            for session in list(self.sessions):
                if session.actor.token_id in revoked_ids:
                    self._control.revoke(session)
        elif dispatch.event == USER_GAP:
            for session in list(self.sessions):
                if not session.is_commit_in_ready(dispatch.stamp):
                    self._control.invalidate(session)
        # Other events whose names start with `_` are internal and not for clients.
        elif not dispatch.event.startswith("_"):
            try:
                span = self._context.start_dispatch_span(dispatch) if dispatch.traceparent else None
                self.deliver(dispatch)
                if span is not None:
                    span.end()
            except Exception:
                log.exception("Failed to deliver an event to a user")
                for session in list(self.sessions):
                    self._control.invalidate(session)

    def deliver(self, dispatch: Dispatch) -> None:
        """Deliver an event to the user's sessions, and record it if the trace is enabled."""
        if self._context.trace.is_enabled:
            delivery_trace.deliver_traced(
                self._context,
                dispatch,
                list(self.sessions),
                lambda: self._send(dispatch),
                lambda session: delivery_trace.explain_user_miss(session, dispatch),
            )
        else:
            self._send(dispatch)

    def _send(self, dispatch: Dispatch) -> None:
        batch = DispatchBatch()
        self.add_recipients(dispatch, batch)
        batch.send()

    def add_recipients(self, dispatch: Dispatch, batch: DispatchBatch) -> None:
        """Add the user's sessions to the recipients of an event; `batch.send()` delivers it.

        An event for a session whose READY is not sent yet is buffered instead.
        """
        for session in list(self.sessions):
            if session.early_events is not None:
                session.early_events.append(dispatch)
            else:
                self.add_if_recipient(session, dispatch, batch)

    def add_if_recipient(self, session: GatewaySession, dispatch: Dispatch, batch: DispatchBatch) -> None:
        """Add a session to the recipients if the event is meant for it.

        GUILD_CREATE and GUILD_DELETE first add the session to the guild or remove it.
        """
        audience = dispatch.audience
        assert isinstance(audience, UserAudience)
        if (
            session.late_event_snapshot is not None or session.previous_node_numbers is not None
        ) and not session.needs_event(dispatch):
            return
        if audience.session_id and audience.session_id != session.id:
            return
        if audience.voice_session_id and audience.voice_session_id != voice.derive_session_id(session.id):
            return
        if dispatch.event in MEMBERSHIP_EVENTS:
            if not self._update_membership(session, dispatch):
                return
        elif (
            session.shard.shard_count > 1
            and not audience.session_id
            and not session.is_event_in_shard(audience.shard_guild_id)
        ):
            return
        game_filter = audience.game_filter
        if session.is_oauth2:
            if game_filter.families_by_user:
                family_ids = game_filter.families_by_user.get(session.user_id)
                if family_ids is not None and session.actor.family_id not in family_ids:
                    return
            if session.recipient_class not in batch.oauth2_recipients:
                batch.oauth2_recipients[session.recipient_class] = self._oauth2_recipients(session, dispatch, batch)
            recipients = batch.oauth2_recipients[session.recipient_class]
            if recipients is not None:
                recipients.append(session)
        elif session.accepts(dispatch) and (not dispatch.intents or session.intents & dispatch.intents):
            body = dispatch.body if session.sees_content else dispatch.body_without_intent(session.user_id)
            self._recipients(dispatch, body, batch).append(session)

    def _oauth2_recipients(
        self, session: GatewaySession, dispatch: Dispatch, batch: DispatchBatch
    ) -> list[GatewaySession] | None:
        """Return the recipient list of the session's class, or None if the class does not receive the event."""
        if dispatch.intents and not session.intents & dispatch.intents:
            return None
        if not session.accepts(dispatch) or dispatch.event in self._context.config.gateway.disabled_gateway_events:
            return None
        # Key 0 has the body for the families that have no body of their own.
        family_bodies = dispatch.oauth2_bodies
        body = family_bodies.get(int(session.actor.family_id or 0)) or family_bodies.get(0) if family_bodies else None
        return self._recipients(dispatch, body or dispatch.body, batch)

    def _recipients(self, dispatch: Dispatch, body: bytes, batch: DispatchBatch) -> list[GatewaySession]:
        """Return the recipient list of the packet with this body, which is created on first use."""
        packet_and_recipients = batch.packets.get(id(body))
        if packet_and_recipients is None:
            packet_and_recipients = batch.packets[id(body)] = (self._create_packet(dispatch.event, body), [])
        return packet_and_recipients[1]

    def _update_membership(self, session: GatewaySession, dispatch: Dispatch) -> bool:
        """Add the session to a guild or remove it; return whether the event itself is sent to the session now.

        GUILD_CREATE is not: the hub sends it with the whole guild, once the guild is read."""
        guild = codec.decode(dispatch.body, _GuildReference)
        guild_id = int(guild.id)
        if dispatch.event == GUILD_CREATE.name:
            self._control.add_to_guild(session, guild_id, is_joining=guild.unavailable is None)
            return False
        if not session.is_guild_in_shard(guild_id):
            return False
        self._control.remove_from_guild(session, guild_id)
        return True
