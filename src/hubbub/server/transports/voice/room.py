"""A call: those who are in one voice channel on this server, and what they are told of each other (voice.md 4)."""

from collections.abc import Iterator

from hubbub.protocol import voice as words
from hubbub.protocol.ids import UserId
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.transports.voice.session import VoiceSession
from hubbub.server.transports.voice.sfu import Party


class Room:
    """The members of a call. Who has identified and has no key yet is not one of them."""

    def __init__(self, channel_id: int) -> None:
        self.channel_id = channel_id
        self.members: dict[int, VoiceSession] = {}
        self.expected = 0
        """Sessions that are members, or are about to be."""
        self.party = Party()
        """The same for packets."""

    def others(self, session: VoiceSession) -> Iterator[VoiceSession]:
        """Everybody but one."""
        return (member for member in list(self.members.values()) if member is not session)

    def tell_others(self, session: VoiceSession, op: int, payload: object) -> None:
        """Tell everybody but one."""
        for member in self.others(session):
            member.tell(op, payload)

    def introduce(self, session: VoiceSession) -> None:
        """Tell a newcomer, after Ready, who is there."""
        others = list(self.others(session))
        if not others:
            return
        session.tell(
            VoiceOpcode.CLIENTS_CONNECT, words.ClientsConnect(user_ids=[UserId(other.user_id) for other in others])
        )
        for other in others:
            self._describe(other, session)
            if other.speaking:
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
        self._weigh()

    def leave(self, session: VoiceSession) -> None:
        """They are gone."""
        if self.members.get(session.user_id) is not session:
            return
        del self.members[session.user_id]
        self.party.remove(session.peer)
        self._weigh()
        self.tell_others(
            session, VoiceOpcode.CLIENT_DISCONNECT, words.ClientDisconnect(user_id=UserId(session.user_id))
        )

    @property
    def version(self) -> int:
        """The end-to-end encryption of the call: what all in it speak."""
        return min((member.dave for member in self.members.values()), default=0)

    def described(self, session: VoiceSession) -> None:
        """They know their key."""

    def received(self, session: VoiceSession, op: int, payload: bytes | words.TransitionDone) -> None:
        """Something about the group came from a member."""

    def close(self) -> None:
        """Nobody is left."""

    def speak(self, session: VoiceSession, speaking: int) -> None:
        """Somebody begins or ends to speak."""
        session.speaking = speaking
        session.peer.spoke = True
        self.tell_others(session, VoiceOpcode.SPEAKING, _speaking(session))

    def show(self, session: VoiceSession, video: words.Video) -> None:
        """Somebody begins or ends to send pictures."""
        session.video = video
        self.tell_others(session, VoiceOpcode.VIDEO, video)

    def _weigh(self) -> None:
        """In a call that all could encrypt, nothing else is forwarded (voice.md 7)."""
        self.party.encrypted = self.version > 0

    def _describe(self, other: VoiceSession, to: VoiceSession) -> None:
        user_id = UserId(other.user_id)
        to.tell(VoiceOpcode.CLIENT_FLAGS, words.ClientFlags(user_id=user_id))
        to.tell(VoiceOpcode.CLIENT_PLATFORM, words.ClientPlatform(user_id=user_id))


def _speaking(session: VoiceSession) -> words.Speaking:
    return words.Speaking(speaking=session.speaking, ssrc=session.peer.ssrc, user_id=UserId(session.user_id))
