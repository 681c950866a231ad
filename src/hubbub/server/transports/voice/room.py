"""One call in a voice channel, lobby or private channel: its members, their messages (voice.md 4) and MLS group."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from hubbub.protocol import voice as protocol
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.ids import UserId
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.transports.voice.dave import ExternalSender, Group, Sending
from hubbub.server.transports.voice.session import VoiceSession
from hubbub.server.transports.voice.sfu import Party


class Room:
    """The members of a call. A client that has identified but has no key yet is not a member."""

    def __init__(
        self, channel_id: int, sender: ExternalSender, end: Callable[[VoiceSession, VoiceCloseCode, str], None]
    ) -> None:
        self.channel_id = channel_id
        # Where clients without end-to-end encryption are not allowed, `VoiceDoor` rejects them before they get here.
        self._group = Group(channel_id, sender, mixed=True)
        self._end = end
        self._tick_timer: asyncio.TimerHandle | None = None
        self.members: dict[int, VoiceSession] = {}
        self.expected = 0
        """Number of sessions that are members or will become members."""
        self.party = Party(lambda: self._group.plain_allowed(_now()))
        """The members' peers, among which packets are forwarded."""

    def others(self, session: VoiceSession) -> Iterator[VoiceSession]:
        """Return all members except one."""
        return (member for member in list(self.members.values()) if member is not session)

    def tell_others(self, session: VoiceSession, op: int, payload: object) -> None:
        """Send a message to all members except one."""
        for member in self.others(session):
            member.tell(op, payload)

    def introduce(self, session: VoiceSession) -> None:
        """Inform a new client of the members: after Ready, and before it enters, of those who joined or left since."""
        present = {other.user_id: other.peer.ssrc for other in self.others(session)}
        for user_id in [user_id for user_id, ssrc in session.met.items() if present.get(user_id) != ssrc]:
            session.tell(VoiceOpcode.CLIENT_DISCONNECT, protocol.ClientDisconnect(user_id=UserId(user_id)))
            del session.met[user_id]
        others = [other for other in self.others(session) if other.user_id not in session.met]
        if not others:
            return
        session.tell(
            VoiceOpcode.CLIENTS_CONNECT, protocol.ClientsConnect(user_ids=[UserId(other.user_id) for other in others])
        )
        for other in others:
            session.met[other.user_id] = other.peer.ssrc
            self._describe(other, session)
            # Also sent for members who do not speak, because it maps SSRCs to users.
            session.tell(VoiceOpcode.SPEAKING, _speaking(other))
            if other.video is not None:
                session.tell(VoiceOpcode.VIDEO, other.video)

    def announce(self, session: VoiceSession) -> None:
        """Inform the members of a new client, before any proposal that adds it to the group (voice.md 4)."""
        for member in self.others(session):
            member.tell(VoiceOpcode.CLIENTS_CONNECT, protocol.ClientsConnect(user_ids=[UserId(session.user_id)]))
            self._describe(session, member)

    def enter(self, session: VoiceSession) -> None:
        """Make a session a member; from here on it receives packets."""
        session.entered = True
        self.members[session.user_id] = session
        self.party.add(session.peer)

    def leave(self, session: VoiceSession) -> None:
        """Remove a member and inform the others."""
        if self.members.get(session.user_id) is not session:
            return
        del self.members[session.user_id]
        self.party.remove(session.peer)
        self.tell_others(
            session, VoiceOpcode.CLIENT_DISCONNECT, protocol.ClientDisconnect(user_id=UserId(session.user_id))
        )
        self._send(self._group.left(session.user_id, _now()))

    # End-to-end encryption (voice.md 8 to 10): the group decides which messages to send.

    def version_for(self, session: VoiceSession) -> int:
        """Return the DAVE version that a new member receives together with its key."""
        return self._group.version_for(session.dave)

    def described(self, session: VoiceSession) -> None:
        """Add a new member to the group; must be called after its key was sent and `announce` informed the others."""
        self._send(self._group.joined(session.user_id, _now(), session.dave))

    def received(self, session: VoiceSession, op: int, payload: bytes | protocol.TransitionDone) -> None:
        """Handle a DAVE message of a member; ignore it from a session that is not a member."""
        if session.entered and not session.ended:
            data = payload if isinstance(payload, bytes) else {"transition_id": payload.transition_id}
            self._send(self._group.received(session.user_id, op, data, _now()))

    def close(self) -> None:
        """Stop the timer after the last member has left."""
        if self._tick_timer is not None:
            self._tick_timer.cancel()
            self._tick_timer = None

    def _send(self, sendings: Iterable[Sending]) -> None:
        for sending in sendings:
            for user_id in sending.to:
                member = self.members.get(user_id)
                if member is None:
                    continue
                if isinstance(sending.payload, bytes):
                    member.tell_bytes(sending.op, sending.payload)
                else:
                    member.tell(sending.op, sending.payload)
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
        for user_id in self._group.late:
            member = self.members.get(user_id)
            # After version 0, discord.py ignores later versions, so it has to identify again (voice.md 10). A client
            # that was sent version 1 and does not respond is harmless.
            if member is not None and member.connection is not None and not member.told_version:
                self._end(member, VoiceCloseCode.SESSION_NO_LONGER_VALID, "Identify again")

    def speak(self, session: VoiceSession, speaking: int) -> None:
        """Set the speaking flags of a member and inform the others."""
        session.speaking = speaking
        self.tell_others(session, VoiceOpcode.SPEAKING, _speaking(session))

    def show(self, session: VoiceSession, video: protocol.Video) -> None:
        """Set the video streams of a member and inform the others."""
        session.video = video
        self.tell_others(session, VoiceOpcode.VIDEO, video)

    def _describe(self, other: VoiceSession, to: VoiceSession) -> None:
        user_id = UserId(other.user_id)
        to.tell(VoiceOpcode.CLIENT_FLAGS, protocol.ClientFlags(user_id=user_id))
        to.tell(VoiceOpcode.CLIENT_PLATFORM, protocol.ClientPlatform(user_id=user_id))


def _now() -> float:
    """Return the event loop's time, because clients respond in real time (decisions/0005)."""
    return asyncio.get_running_loop().time()


def _speaking(session: VoiceSession) -> protocol.Speaking:
    return protocol.Speaking(speaking=session.speaking, ssrc=session.peer.ssrc, user_id=UserId(session.user_id))
