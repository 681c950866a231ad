"""A call: those who are in one voice channel, lobby or private channel on this server, what they are told of each other
(voice.md 4), and their group."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from hubbub.protocol import voice as words
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.ids import UserId
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.transports.voice.dave import ExternalSender, Group, Sending
from hubbub.server.transports.voice.session import VoiceSession
from hubbub.server.transports.voice.sfu import Party


class Room:
    """The members of a call. Who has identified and has no key yet is not one of them."""

    def __init__(
        self, channel_id: int, sender: ExternalSender, end: Callable[[VoiceSession, VoiceCloseCode, str], None]
    ) -> None:
        self.channel_id = channel_id
        # Clients without end-to-end encryption are refused before they come here, where they are (door.py).
        self._group = Group(channel_id, sender, mixed=True)
        self._end = end
        self._ticking: asyncio.TimerHandle | None = None
        self.members: dict[int, VoiceSession] = {}
        self.expected = 0
        """Sessions that are members, or are about to be."""
        self.party = Party(lambda: self._group.plain_allowed(_now()))
        """The same for packets."""

    def others(self, session: VoiceSession) -> Iterator[VoiceSession]:
        """Everybody but one."""
        return (member for member in list(self.members.values()) if member is not session)

    def tell_others(self, session: VoiceSession, op: int, payload: object) -> None:
        """Tell everybody but one."""
        for member in self.others(session):
            member.tell(op, payload)

    def introduce(self, session: VoiceSession) -> None:
        """Tell a newcomer, after Ready, who is there; and before they enter, who came and went since."""
        here = {other.user_id: other.peer.ssrc for other in self.others(session)}
        for user_id in [user_id for user_id, ssrc in session.met.items() if here.get(user_id) != ssrc]:
            session.tell(VoiceOpcode.CLIENT_DISCONNECT, words.ClientDisconnect(user_id=UserId(user_id)))
            del session.met[user_id]
        others = [other for other in self.others(session) if other.user_id not in session.met]
        if not others:
            return
        session.tell(
            VoiceOpcode.CLIENTS_CONNECT, words.ClientsConnect(user_ids=[UserId(other.user_id) for other in others])
        )
        for other in others:
            session.met[other.user_id] = other.peer.ssrc
            self._describe(other, session)
            # Also of who is silent: it says whose packets are whose.
            session.tell(VoiceOpcode.SPEAKING, _speaking(other))
            if other.video is not None:
                session.tell(VoiceOpcode.VIDEO, other.video)

    def announce(self, session: VoiceSession) -> None:
        """Tell the others of a newcomer: before any proposal that adds them to the group (voice.md 4)."""
        for member in self.others(session):
            member.tell(VoiceOpcode.CLIENTS_CONNECT, words.ClientsConnect(user_ids=[UserId(session.user_id)]))
            self._describe(session, member)

    def enter(self, session: VoiceSession) -> None:
        """They have their key: from here on they are in the call."""
        session.entered = True
        self.members[session.user_id] = session
        self.party.add(session.peer)

    def leave(self, session: VoiceSession) -> None:
        """They are gone."""
        if self.members.get(session.user_id) is not session:
            return
        del self.members[session.user_id]
        self.party.remove(session.peer)
        self.tell_others(
            session, VoiceOpcode.CLIENT_DISCONNECT, words.ClientDisconnect(user_id=UserId(session.user_id))
        )
        self._send(self._group.left(session.user_id, _now()))

    # End-to-end encryption (voice.md 8 to 10): the group says what to send, we send it.

    def version_for(self, session: VoiceSession) -> int:
        """The version that a newcomer is told with their key."""
        return self._group.version_for(session.dave)

    def described(self, session: VoiceSession) -> None:
        """A newcomer has their key, and the others know of them: the group does too from here on."""
        self._send(self._group.joined(session.user_id, _now(), session.dave))

    def received(self, session: VoiceSession, op: int, payload: bytes | words.TransitionDone) -> None:
        """Something about the group came from a member; from who is none yet it means nothing."""
        if session.entered and not session.ended:
            said = payload if isinstance(payload, bytes) else {"transition_id": payload.transition_id}
            self._send(self._group.received(session.user_id, op, said, _now()))

    def close(self) -> None:
        """Nobody is left."""
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None

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
        self._watch()

    def _watch(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None
        deadline = self._group.deadline
        if deadline is not None and self.members:
            self._ticking = asyncio.get_running_loop().call_at(deadline, self._tick)

    def _tick(self) -> None:
        self._ticking = None
        self._send(self._group.tick(_now()))
        for user_id in self._group.late:
            member = self.members.get(user_id)
            # discord.py, told of version 0 once, never hears of a later one: it has to identify again (voice.md 10). Who was told
            # of version 1 and is silent harms nobody.
            if member is not None and member.connection is not None and not member.told_version:
                self._end(member, VoiceCloseCode.SESSION_NO_LONGER_VALID, "Identify again")

    def speak(self, session: VoiceSession, speaking: int) -> None:
        """Somebody begins or ends to speak."""
        session.speaking = speaking
        self.tell_others(session, VoiceOpcode.SPEAKING, _speaking(session))

    def show(self, session: VoiceSession, video: words.Video) -> None:
        """Somebody begins or ends to send pictures."""
        session.video = video
        self.tell_others(session, VoiceOpcode.VIDEO, video)

    def _describe(self, other: VoiceSession, to: VoiceSession) -> None:
        user_id = UserId(other.user_id)
        to.tell(VoiceOpcode.CLIENT_FLAGS, words.ClientFlags(user_id=user_id))
        to.tell(VoiceOpcode.CLIENT_PLATFORM, words.ClientPlatform(user_id=user_id))


def _now() -> float:
    """By the event loop's time: clients answer by theirs (decisions/0005)."""
    return asyncio.get_running_loop().time()


def _speaking(session: VoiceSession) -> words.Speaking:
    return words.Speaking(speaking=session.speaking, ssrc=session.peer.ssrc, user_id=UserId(session.user_id))
