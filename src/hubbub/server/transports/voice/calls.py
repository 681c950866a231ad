"""All calls of this process: sessions start with a ticket, survive reconnects, and end with the ticket or by leaving."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Final

from hubbub.protocol import codec
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.server.core.bus import Bus, BusError, Subscription
from hubbub.server.core.call import Call
from hubbub.server.core.change_relay import GUILD_GAP
from hubbub.server.core.clock import Clock
from hubbub.server.core.event_dispatch import NODES_SUBJECT, Dispatch
from hubbub.server.core.store import Database, StoreUnavailable, Tx
from hubbub.server.core.voice import VOICE_CHANGED, VoiceChanged, VoiceTicket, VoiceTickets
from hubbub.server.transports.voice.call import VoiceCall, VoiceConnection, VoiceSession
from hubbub.server.transports.voice.dave import ExternalSender
from hubbub.server.transports.voice.sfu import Forwarder

log = logging.getLogger(__name__)

RESUME_WINDOW_MS: Final = 10_000
"""Time in milliseconds that a session without a connection can be resumed (spec/voice.md#6)."""

MOVE_CLOSE_DELAY_SECONDS: Final = 0.25
"""Delay in seconds before the server closes the old connection of a client that was moved.

discord.py closes the old connection itself when it receives the new server. If the server's close arrives at the same
time, discord.py waits for an event that it has already received, until it times out.
"""

PERMISSION_RETRY_SECONDS: Final = 1.0
"""Interval in seconds at which the permission to send video is read again while the store is unavailable."""

SUBSCRIPTION_SECONDS_MAX: Final = 5.0
"""Time in seconds for which a new subscription to a guild's events waits for the bus."""

SessionKey = tuple[int, int]
"""Server ID (of the guild, lobby or private channel) and user ID."""
MakeCall = Callable[[Tx], Call]
"""Function that creates the `Call` of a transaction, which is the context of an operation and not a voice call."""


class Calls:
    """Voice sessions by server (guild, lobby or private channel) and user, and the calls they are in."""

    def __init__(
        self,
        *,
        db: Database,
        bus: Bus[Dispatch],
        clock: Clock,
        tickets: VoiceTickets,
        make_call: MakeCall,
        forwarder: Forwarder,
    ) -> None:
        self._db = db
        self._bus = bus
        self._clock = clock
        self._tickets = tickets
        self._make_call = make_call
        self.forwarder = forwarder
        self._sessions: dict[SessionKey, VoiceSession] = {}
        self._sessions_by_token_hash: dict[bytes, VoiceSession] = {}
        """Sessions by the hash of their ticket's token."""
        self._sender = ExternalSender()
        """Signs MLS proposals for the groups of all calls."""
        self._calls_by_channel: dict[int, VoiceCall] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscriptions: list[Subscription] = []

    def __len__(self) -> int:
        return len(self._sessions)

    def start(self) -> None:
        """Subscribe to changes of voice states."""
        self._subscriptions = [
            self._bus.subscribe(NODES_SUBJECT, self._receive),
            self._bus.on_gap(self.refresh_all),
        ]

    async def close(self, code: int, reason: str) -> None:
        """End every session."""
        for subscription in self._subscriptions:
            subscription.cancel()
        for session in list(self._sessions.values()):
            self.end(session, code, reason)
        if self._tasks:
            await asyncio.wait(self._tasks)

    # Starting sessions

    async def find_ticket(self, token_hash: bytes) -> VoiceTicket | None:
        return await self._db.read(lambda tx: self._tickets.find_ticket(tx, token_hash))

    def start_session(self, ticket: VoiceTicket, connection: VoiceConnection, dave_version: int) -> VoiceSession:
        """Start the session of a client with a valid ticket, and end the user's previous session.

        `dave_version` is the highest DAVE version that the client supports; 0 means no end-to-end encryption.
        """
        key = (int(ticket.server_id), int(ticket.user_id))
        if (previous_session := self._sessions.get(key)) is not None:
            self.end(previous_session, VoiceCloseCode.DISCONNECTED, "Connected elsewhere")
        voice_call = self._calls_by_channel.get(ticket.channel_id)
        if voice_call is None:
            voice_call = self._calls_by_channel[ticket.channel_id] = VoiceCall(
                ticket.channel_id, self._sender, self.end
            )
        session = VoiceSession(ticket, connection, self.forwarder.add_peer(), voice_call, dave_version)
        voice_call.session_count += 1
        session.peer.supports_dave = dave_version > 0
        self._sessions[key] = self._sessions_by_token_hash[ticket.token_hash] = session
        session.attach(connection)
        self._apply_ticket(session, ticket)
        # Changes of the ticket since it was read were missed, so it is read again.
        self._schedule_refresh(key, has_voice_call_ended=False)
        return session

    def find_session(self, token_hash: bytes) -> VoiceSession | None:
        return self._sessions_by_token_hash.get(token_hash)

    async def report_connected(self, session: VoiceSession) -> None:
        """Report that a client is connected, which resets its count of failed attempts."""
        if session.ticket.failures:
            await self._run_action(self._tickets.on_connected, session.ticket)

    async def report_rejected(self, ticket: VoiceTicket) -> None:
        """Report that a client with a valid ticket was rejected."""
        await self._run_action(self._tickets.on_rejected, ticket)

    async def reject(self, session: VoiceSession) -> None:
        """End a session because the client was rejected, and report it.

        The report is committed before the connection is closed, so that an immediate reconnect is already throttled.
        """
        self.end(session, None, "")
        await self.report_rejected(session.ticket)

    async def _run_action(self, action: Callable[[Call, VoiceTicket], None], ticket: VoiceTicket) -> None:
        try:
            await self._db.write(lambda tx: action(self._make_call(tx), ticket))
        except StoreUnavailable:
            log.warning("Failed to record the state of a voice connection", extra={"user_id": int(ticket.user_id)})

    # Ending sessions

    def connection_lost(self, session: VoiceSession, *, has_client_left: bool) -> None:
        """Handle the loss of a connection: end the session if the client left, else keep it resumable for a while."""
        session.detach()
        if has_client_left:
            self.end(session, None, "", reports_left=True)
        else:
            session.resume_timer = self._clock.call_later(
                RESUME_WINDOW_MS,
                lambda: self.end(session, None, "", reports_left=True) if session.connection is None else None,
            )

    def end(
        self,
        session: VoiceSession,
        code: int | None,
        reason: str,
        *,
        reports_left: bool = False,
        close_delay_seconds: float = 0.0,
    ) -> None:
        """End a session, inform the other members, and close its connection after `close_delay_seconds`.

        With a `code` of None the connection is not closed. `reports_left` also reports to the platform that the user has
        left.
        """
        if session.has_ended:
            return
        session.has_ended = True
        if session.resume_timer is not None:
            session.resume_timer.cancel()
        if session.permission_subscription is not None:
            session.permission_subscription.cancel()
        if self._sessions.get(session.key) is session:
            del self._sessions[session.key]
        if self._sessions_by_token_hash.get(session.ticket.token_hash) is session:
            del self._sessions_by_token_hash[session.ticket.token_hash]
        voice_call = session.call
        voice_call.session_count -= 1
        voice_call.remove_member(session)
        if not voice_call.session_count:
            self._calls_by_channel.pop(voice_call.channel_id, None)
            voice_call.close()
        self.forwarder.remove_peer(session.peer)
        if session.connection is not None and code is not None:
            session.connection.close(code, reason, delay_seconds=close_delay_seconds)
        if reports_left:
            self._spawn(self._run_action(self._tickets.on_connection_ended, session.ticket))

    # Permission to send video (decisions/0185)

    async def allows_video(self, session: VoiceSession) -> bool:
        """Return whether a client may send video; from then on, a loss of the permission ends the video."""
        if not session.ticket.is_in_guild:
            return True
        if session.permission_subscription is None:
            session.permission_subscription = self._bus.subscribe(
                f"guild.{int(session.ticket.server_id)}", lambda dispatch: self._receive_guild_event(session, dispatch)
            )
            self._spawn(self._check_video_after_subscribing(session))
        is_allowed, change_count = False, -1
        while change_count != session.permission_change_count:
            change_count = session.permission_change_count
            is_allowed = await self._read_video_permission(session)
        if not is_allowed:
            await self._run_action(self._tickets.on_video_forbidden, session.ticket)
        return is_allowed

    async def _check_video_after_subscribing(self, session: VoiceSession) -> None:
        """Check the permission again once no later change can be missed. After an outage of the bus, `refresh_all` does it."""
        with contextlib.suppress(BusError, TimeoutError):
            async with asyncio.timeout(SUBSCRIPTION_SECONDS_MAX):
                await self._bus.flush()
            await self._check_video(session)

    async def _read_video_permission(self, session: VoiceSession) -> bool:
        return await self._db.read(lambda tx: self._tickets.allows_video(tx, session.ticket, self._clock.now_ms()))

    def _receive_guild_event(self, session: VoiceSession, dispatch: Dispatch) -> None:
        has_other_subject = dispatch.refresh == "member" and dispatch.subject_id != session.user_id
        if (dispatch.refresh and not has_other_subject) or dispatch.event == GUILD_GAP:
            session.permission_change_count += 1
            self._schedule_video_check(session)

    def _schedule_video_check(self, session: VoiceSession) -> None:
        if session.has_announced_video:
            self._spawn(self._check_video(session))

    async def _check_video(self, session: VoiceSession) -> None:
        """End the video of a client that may not send it any more. While the store cannot be read, nothing is forwarded."""
        with self._clock.working():
            is_allowed: bool | None = None
            while is_allowed is None and session.has_announced_video and not session.has_ended:
                try:
                    is_allowed = await self._read_video_permission(session)
                except StoreUnavailable:
                    session.peer.sends_video = False
                    await asyncio.sleep(PERMISSION_RETRY_SECONDS)
            if not session.has_announced_video or session.has_ended:
                return
            session.peer.sends_video = bool(is_allowed)
            if not is_allowed:
                session.call.end_video(session)
                await self._run_action(self._tickets.on_video_forbidden, session.ticket)

    # Changes of voice states

    def _receive(self, dispatch: Dispatch) -> None:
        if dispatch.event == VOICE_CHANGED.name:
            change = codec.decode(dispatch.body, VoiceChanged)
            self._schedule_refresh((int(change.server_id), int(change.user_id)), has_voice_call_ended=change.has_ended)

    def refresh_all(self) -> None:
        """Re-read every ticket and permission, because the bus may have lost events."""
        for key, session in self._sessions.items():
            self._schedule_refresh(key, has_voice_call_ended=False)
            self._schedule_video_check(session)

    def _schedule_refresh(self, key: SessionKey, *, has_voice_call_ended: bool) -> None:
        if key in self._sessions:
            self._spawn(self._reread_ticket(key, has_voice_call_ended))

    async def _reread_ticket(self, key: SessionKey, has_voice_call_ended: bool) -> None:
        """Re-read a ticket, and update or end its session accordingly."""
        server_id, user_id = key
        with self._clock.working():
            try:
                ticket = await self._db.read(lambda tx: self._tickets.find_ticket_of_user(tx, server_id, user_id))
            except StoreUnavailable:
                log.warning("Failed to re-read a voice ticket", extra={"user_id": user_id})
                return
        session = self._sessions.get(key)
        if session is None:
            return
        if ticket is not None and ticket.token_hash == session.ticket.token_hash:
            self._apply_ticket(session, ticket)
        elif has_voice_call_ended:
            self.end(session, VoiceCloseCode.CALL_TERMINATED, "The call has ended")
        else:
            # spec/voice.md#1: also on a move, otherwise discord.py stays connected to the old server.
            close_delay_seconds = 0.0 if ticket is None else MOVE_CLOSE_DELAY_SECONDS
            self.end(session, VoiceCloseCode.DISCONNECTED, "Disconnected", close_delay_seconds=close_delay_seconds)

    def _apply_ticket(self, session: VoiceSession, ticket: VoiceTicket) -> None:
        session.ticket = ticket
        peer = session.peer
        peer.is_muted, peer.is_suppressed, peer.is_deaf = ticket.is_silent, ticket.is_suppressed, ticket.is_deaf

    def sweep(self, now: float) -> None:
        """Discard messages that are too old to be replayed; `now` is in seconds of the event loop's clock."""
        for session in self._sessions.values():
            session.replay.discard_expired(now)

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
