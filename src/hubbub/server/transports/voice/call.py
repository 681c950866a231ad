"""One call in a voice channel, lobby or private channel: its sessions, their messages (spec/voice.md#4) and MLS group."""

import asyncio
import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from hubbub.protocol import voice as protocol
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.ids import UserId
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.core.bus import Subscription
from hubbub.server.core.clock import Timer
from hubbub.server.core.voice import VoiceTicket
from hubbub.server.transports.frames import BINARY, TEXT
from hubbub.server.transports.voice.connection import VoiceWebSocket
from hubbub.server.transports.voice.dave import DaveGroup, ExternalSender, OutgoingMessage
from hubbub.server.transports.voice.peers import ForwardingGroup, Peer
from hubbub.server.transports.voice.replay import VoiceReplayBuffer, wire_seq

VoiceConnection: TypeAlias = VoiceWebSocket["VoiceSession"]


class VoiceSession:
    """A user's participation in a call: ticket, connection, media peer, and the messages sent to the client."""

    __slots__ = (
        "connection",
        "dave_version",
        "detached_number",
        "has_ended",
        "is_member",
        "resume_timer",
        "media_session_id",
        "known_ssrcs",
        "peer",
        "permission_change_count",
        "permission_subscription",
        "replay",
        "call",
        "speaking",
        "ticket",
        "announced_dave_version",
        "version",
        "video",
        "viewer_ids",
    )

    def __init__(
        self, ticket: VoiceTicket, connection: "VoiceConnection", peer: Peer, call: "VoiceCall", dave_version: int
    ) -> None:
        self.ticket = ticket
        self.connection: VoiceConnection | None = connection
        self.version = connection.version
        self.peer = peer
        self.call = call
        self.dave_version = dave_version
        """The highest DAVE version that the client supports; 0 means no end-to-end encryption."""
        self.replay = VoiceReplayBuffer()
        self.media_session_id = secrets.token_hex(16)
        self.known_ssrcs: dict[int, int] = {}
        """User ID to SSRC of the members that the client was informed of before it became a member."""
        self.is_member = False
        """Whether the client was sent its media key, which makes it a member of the call."""
        self.announced_dave_version = 0
        """The DAVE version that was sent to the client together with its key."""
        self.speaking = 0
        """The speaking flags that the client last sent."""
        self.video: protocol.Video | None = None
        """The video streams that the client last announced; None if it never announced any."""
        self.permission_subscription: Subscription | None = None
        """Subscription to changes of the user's permission to send video; None until the client announces video in a guild."""
        self.permission_change_count = 0
        """Number of received events after which the user's permissions may differ."""
        self.viewer_ids: list[UserId] | None = None
        """IDs of the viewers that the client was last informed of; None if it shares no screen."""
        self.detached_number = 0
        """The number of the newest message at the time the last connection was lost."""
        self.resume_timer: Timer | None = None
        """Timer that ends the session when it can no longer be resumed; None while a client is connected."""
        self.has_ended = False

    @property
    def user_id(self) -> int:
        """The ID of the user who has the ticket."""
        return int(self.ticket.user_id)

    @property
    def key(self) -> tuple[int, int]:
        """(server ID, user ID), which identifies the session."""
        return int(self.ticket.server_id), int(self.ticket.user_id)

    @property
    def has_announced_video(self) -> bool:
        """Whether the client's last announcement of video contained a stream."""
        return self.video is not None and self.video.video_ssrc != 0

    def send(self, op: int, payload: object) -> None:
        """Send a message that is not replayed on a resume."""
        if self.connection is not None:
            self.connection.send_payload(op, payload)

    def send_buffered(self, op: int, payload: object) -> None:
        """Send a message, and buffer it for a resume."""
        seq = wire_seq(self.replay.last_number + 1) if self.version >= protocol.BUFFERED_VERSION else None
        self._buffer_and_write(TEXT, protocol.encode_frame(op, payload, seq))

    def send_buffered_bytes(self, op: int, payload: bytes) -> None:
        """Send a binary message, which always has a sequence number, and buffer it for a resume."""
        self._buffer_and_write(BINARY, protocol.encode_binary_frame(op, payload, wire_seq(self.replay.last_number + 1)))

    def _buffer_and_write(self, first_byte: int, payload: bytes) -> None:
        self.replay.append(first_byte, payload, asyncio.get_running_loop().time())
        if self.connection is not None:
            self.connection.write(first_byte, payload)

    def attach(self, connection: "VoiceConnection") -> None:
        """Continue the session over another connection. The caller replays missed messages."""
        if self.resume_timer is not None:
            self.resume_timer.cancel()
            self.resume_timer = None
        self.connection = connection
        self.peer.set_proven_ip(connection.client_ip)
        connection.session = self

    def detach(self) -> None:
        """Record the loss of the connection; later messages are only buffered."""
        self.connection = None
        self.detached_number = self.replay.last_number


class VoiceCall:
    """The members of a call. A client that has identified but has no key yet is not a member."""

    def __init__(
        self, channel_id: int, sender: ExternalSender, end: Callable[[VoiceSession, VoiceCloseCode, str], None]
    ) -> None:
        """Create a call; `sender` signs MLS proposals, and `end` ends a session with a close code and reason."""
        self.channel_id = channel_id
        # Where clients without end-to-end encryption are not allowed, `VoiceServer` rejects them before they join the call.
        self._group = DaveGroup(channel_id, sender, allows_plain_clients=True)
        self._end = end
        self._tick_timer: asyncio.TimerHandle | None = None
        self.members: dict[int, VoiceSession] = {}
        """Sessions of the members by user ID."""
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
        """Inform a client of the members of the call, or of the changes since it was last informed.

        It is called after Ready, and again before the client becomes a member.
        """
        ssrcs_by_user_id = {other.user_id: other.peer.ssrc for other in self.others(session)}
        for user_id in [
            user_id for user_id, ssrc in session.known_ssrcs.items() if ssrcs_by_user_id.get(user_id) != ssrc
        ]:
            session.send_buffered(VoiceOpcode.CLIENT_DISCONNECT, protocol.ClientDisconnect(user_id=UserId(user_id)))
            del session.known_ssrcs[user_id]
        new_members = [other for other in self.others(session) if other.user_id not in session.known_ssrcs]
        if not new_members:
            return
        session.send_buffered(
            VoiceOpcode.CLIENTS_CONNECT,
            protocol.ClientsConnect(user_ids=[UserId(other.user_id) for other in new_members]),
        )
        for other in new_members:
            session.known_ssrcs[other.user_id] = other.peer.ssrc
            self._send_client_info(other, session)
            # SPEAKING is also sent for members who do not speak, because it maps SSRCs to users.
            session.send_buffered(VoiceOpcode.SPEAKING, _speaking_payload(other))
            if other.video is not None:
                session.send_buffered(VoiceOpcode.VIDEO, other.video)

    def announce_member(self, session: VoiceSession) -> None:
        """Inform the members of a new client, before any proposal that adds it to the group (spec/voice.md#4)."""
        for member in self.others(session):
            member.send_buffered(
                VoiceOpcode.CLIENTS_CONNECT, protocol.ClientsConnect(user_ids=[UserId(session.user_id)])
            )
            self._send_client_info(session, member)

    def add_member(self, session: VoiceSession) -> None:
        """Make a session a member, to which packets are forwarded."""
        session.is_member = True
        self.members[session.user_id] = session
        self.forwarding_group.add(session.peer)

    def remove_member(self, session: VoiceSession) -> None:
        """Remove a member and inform the others; does nothing for a session that is not a member."""
        if self.members.get(session.user_id) is not session:
            return
        del self.members[session.user_id]
        self.forwarding_group.remove(session.peer)
        self.send_to_others(
            session, VoiceOpcode.CLIENT_DISCONNECT, protocol.ClientDisconnect(user_id=UserId(session.user_id))
        )
        self._send(self._group.remove_participant(session.user_id, _now()))
        self.update_viewers()

    # End-to-end encryption (spec/voice.md#8 to 10): the group decides which messages to send.

    def dave_version_for(self, session: VoiceSession) -> int:
        """Return the DAVE version that a new member receives together with its key."""
        return self._group.version_for(session.dave_version)

    def join_dave_group(self, session: VoiceSession) -> None:
        """Add a new member to the group; must be called after its key was sent and `announce_member` informed the others."""
        self._send(self._group.add_participant(session.user_id, _now(), session.dave_version))

    def handle_dave_message(self, session: VoiceSession, op: int, payload: bytes | protocol.TransitionReport) -> None:
        """Handle a DAVE message of a member; ignore it from a session that is not a member."""
        if session.is_member and not session.has_ended:
            dave_payload = payload if isinstance(payload, bytes) else {"transition_id": payload.transition_id}
            self._send(self._group.handle_message(session.user_id, op, dave_payload, _now()))

    def close(self) -> None:
        """Stop the timer after the last member has left."""
        if self._tick_timer is not None:
            self._tick_timer.cancel()
            self._tick_timer = None

    def _send(self, messages: Iterable[OutgoingMessage]) -> None:
        for message in messages:
            for user_id in message.to:
                member = self.members.get(user_id)
                if member is None:
                    continue
                if isinstance(message.payload, bytes):
                    member.send_buffered_bytes(message.op, message.payload)
                else:
                    member.send_buffered(message.op, message.payload)
        self._schedule_tick()

    def _schedule_tick(self) -> None:
        if self._tick_timer is not None:
            self._tick_timer.cancel()
            self._tick_timer = None
        deadline = self._group.deadline
        if deadline is not None and self.members:
            self._tick_timer = asyncio.get_running_loop().call_at(deadline, self._tick)

    def _tick(self) -> None:
        """Handle the timeouts of the group, and end sessions whose key package is overdue."""
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
        self.send_to_others(session, VoiceOpcode.SPEAKING, _speaking_payload(session))

    def start_video(self, session: VoiceSession, streams: list[protocol.Stream]) -> None:
        """Forward the video of a member, and inform the others of its streams."""
        session.peer.sends_video = True
        self._set_video(session, session.peer.ssrcs[1], streams)

    def end_video(self, session: VoiceSession) -> None:
        """Stop forwarding the video of a member, and inform the others."""
        session.peer.sends_video = False
        self._set_video(session, 0, [])

    def _set_video(self, session: VoiceSession, video_ssrc: int, streams: list[protocol.Stream]) -> None:
        video = session.video = protocol.Video(
            user_id=UserId(session.user_id), audio_ssrc=session.peer.ssrc, video_ssrc=video_ssrc, streams=streams
        )
        self.send_to_others(session, VoiceOpcode.VIDEO, video)
        session.viewer_ids = None
        self.update_viewers()

    def update_viewers(self) -> None:
        """Inform the members who share a screen of their viewers, if these changed (decisions/0161)."""
        for member in self.members.values():
            if member.video is None or all(stream.type != "screen" for stream in member.video.streams):
                continue
            viewer_ids = [
                UserId(other.user_id)
                for other in self.others(member)
                if other.peer.browser is not None and member.video.video_ssrc not in other.peer.unwanted_ssrcs
            ]
            if viewer_ids != member.viewer_ids:
                member.viewer_ids = viewer_ids
                member.send_buffered(
                    VoiceOpcode.MEDIA_SINK_WANTS,
                    protocol.StreamViewers(any=100 if viewer_ids else 0, viewer_ids=viewer_ids),
                )

    def _send_client_info(self, member: VoiceSession, recipient: VoiceSession) -> None:
        """Send the flags and the platform of a member to another."""
        user_id = UserId(member.user_id)
        recipient.send_buffered(VoiceOpcode.CLIENT_FLAGS, protocol.ClientFlags(user_id=user_id))
        recipient.send_buffered(VoiceOpcode.CLIENT_PLATFORM, protocol.ClientPlatform(user_id=user_id))


def _now() -> float:
    """Return the event loop's time, because clients respond in real time (decisions/0005)."""
    return asyncio.get_running_loop().time()


def _speaking_payload(session: VoiceSession) -> protocol.Speaking:
    return protocol.Speaking(speaking=session.speaking, ssrc=session.peer.ssrc, user_id=UserId(session.user_id))
