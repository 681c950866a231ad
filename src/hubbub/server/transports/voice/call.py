"""One call in a voice channel, lobby or private channel: its members, their messages (spec/voice.md#4) and MLS group."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from hubbub.protocol import voice as protocol
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.ids import UserId
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.transports.voice.dave import DaveGroup, ExternalSender, OutgoingMessage
from hubbub.server.transports.voice.session import VoiceSession
from hubbub.server.transports.voice.sfu import ForwardingGroup


class VoiceCall:
    """The members of a call. A client that has identified but has no key yet is not a member."""

    def __init__(
        self, channel_id: int, sender: ExternalSender, end: Callable[[VoiceSession, VoiceCloseCode, str], None]
    ) -> None:
        self.channel_id = channel_id
        # Where clients without end-to-end encryption are not allowed, `VoiceDoor` rejects them before they get here.
        self._group = DaveGroup(channel_id, sender, allows_plain_clients=True)
        self._end = end
        self._tick_timer: asyncio.TimerHandle | None = None
        self.members: dict[int, VoiceSession] = {}
        self.session_count = 0
        """Number of sessions that are members or will become members."""
        self.forwarding_group = ForwardingGroup(lambda: self._group.allows_unencrypted(_now()))
        """The members' peers, among which packets are forwarded."""

    def others(self, session: VoiceSession) -> Iterator[VoiceSession]:
        """Return all members except one."""
        return (member for member in list(self.members.values()) if member is not session)

    def send_to_others(self, session: VoiceSession, op: int, payload: object) -> None:
        """Send a message to all members except one."""
        for member in self.others(session):
            member.send_buffered(op, payload)

    def send_members(self, session: VoiceSession) -> None:
        """Inform a new client of the members: after Ready, and before it enters, of those who joined or left since."""
        present = {other.user_id: other.peer.ssrc for other in self.others(session)}
        for user_id in [user_id for user_id, ssrc in session.known_ssrcs.items() if present.get(user_id) != ssrc]:
            session.send_buffered(VoiceOpcode.CLIENT_DISCONNECT, protocol.ClientDisconnect(user_id=UserId(user_id)))
            del session.known_ssrcs[user_id]
        others = [other for other in self.others(session) if other.user_id not in session.known_ssrcs]
        if not others:
            return
        session.send_buffered(
            VoiceOpcode.CLIENTS_CONNECT, protocol.ClientsConnect(user_ids=[UserId(other.user_id) for other in others])
        )
        for other in others:
            session.known_ssrcs[other.user_id] = other.peer.ssrc
            self._describe(other, session)
            # Also sent for members who do not speak, because it maps SSRCs to users.
            session.send_buffered(VoiceOpcode.SPEAKING, _speaking(other))
            if other.video is not None:
                session.send_buffered(VoiceOpcode.VIDEO, other.video)

    def announce_member(self, session: VoiceSession) -> None:
        """Inform the members of a new client, before any proposal that adds it to the group (spec/voice.md#4)."""
        for member in self.others(session):
            member.send_buffered(
                VoiceOpcode.CLIENTS_CONNECT, protocol.ClientsConnect(user_ids=[UserId(session.user_id)])
            )
            self._describe(session, member)

    def add_member(self, session: VoiceSession) -> None:
        """Make a session a member; from here on it receives packets."""
        session.is_member = True
        self.members[session.user_id] = session
        self.forwarding_group.add(session.peer)

    def remove_member(self, session: VoiceSession) -> None:
        """Remove a member and inform the others."""
        if self.members.get(session.user_id) is not session:
            return
        del self.members[session.user_id]
        self.forwarding_group.remove(session.peer)
        self.send_to_others(
            session, VoiceOpcode.CLIENT_DISCONNECT, protocol.ClientDisconnect(user_id=UserId(session.user_id))
        )
        self._send(self._group.left(session.user_id, _now()))

    # End-to-end encryption (spec/voice.md#8 to 10): the group decides which messages to send.

    def dave_version_for(self, session: VoiceSession) -> int:
        """Return the DAVE version that a new member receives together with its key."""
        return self._group.version_for(session.dave_version)

    def join_dave_group(self, session: VoiceSession) -> None:
        """Add a new member to the group; must be called after its key was sent and `announce_member` informed the others."""
        self._send(self._group.joined(session.user_id, _now(), session.dave_version))

    def handle_dave_message(self, session: VoiceSession, op: int, payload: bytes | protocol.TransitionReport) -> None:
        """Handle a DAVE message of a member; ignore it from a session that is not a member."""
        if session.is_member and not session.ended:
            data = payload if isinstance(payload, bytes) else {"transition_id": payload.transition_id}
            self._send(self._group.received(session.user_id, op, data, _now()))

    def close(self) -> None:
        """Stop the timer after the last member has left."""
        if self._tick_timer is not None:
            self._tick_timer.cancel()
            self._tick_timer = None

    def _send(self, sendings: Iterable[OutgoingMessage]) -> None:
        for sending in sendings:
            for user_id in sending.to:
                member = self.members.get(user_id)
                if member is None:
                    continue
                if isinstance(sending.payload, bytes):
                    member.send_buffered_bytes(sending.op, sending.payload)
                else:
                    member.send_buffered(sending.op, sending.payload)
        self._schedule_tick()

    def _schedule_tick(self) -> None:
        if self._tick_timer is not None:
            self._tick_timer.cancel()
            self._tick_timer = None
        deadline = self._group.deadline
        if deadline is not None and self.members:
            self._tick_timer = asyncio.get_running_loop().call_at(deadline, self._tick)

    def _tick(self) -> None:
        self._tick_timer = None
        self._send(self._group.tick(_now()))
        for user_id in self._group.overdue:
            member = self.members.get(user_id)
            # After version 0, discord.py ignores later versions, so it has to identify again (spec/voice.md#10). A client
            # that was sent version 1 and does not respond is harmless.
            if member is not None and member.connection is not None and not member.announced_dave_version:
                self._end(member, VoiceCloseCode.SESSION_NO_LONGER_VALID, "Identify again")

    def set_speaking(self, session: VoiceSession, speaking: int) -> None:
        """Set the speaking flags of a member and inform the others."""
        session.speaking = speaking
        self.send_to_others(session, VoiceOpcode.SPEAKING, _speaking(session))

    def set_video(self, session: VoiceSession, video: protocol.Video) -> None:
        """Set the video streams of a member and inform the others."""
        session.video = video
        self.send_to_others(session, VoiceOpcode.VIDEO, video)

    def _describe(self, other: VoiceSession, to: VoiceSession) -> None:
        user_id = UserId(other.user_id)
        to.send_buffered(VoiceOpcode.CLIENT_FLAGS, protocol.ClientFlags(user_id=user_id))
        to.send_buffered(VoiceOpcode.CLIENT_PLATFORM, protocol.ClientPlatform(user_id=user_id))


def _now() -> float:
    """Return the event loop's time, because clients respond in real time (decisions/0005)."""
    return asyncio.get_running_loop().time()


def _speaking(session: VoiceSession) -> protocol.Speaking:
    return protocol.Speaking(speaking=session.speaking, ssrc=session.peer.ssrc, user_id=UserId(session.user_id))
