"""Fuzzing of the voice server: frames on its socket, and datagrams (RTP, RTCP, STUN, DTLS, IP discovery)."""

import asyncio
import base64
import json
import random
import secrets
import socket
import struct
import time
from typing import Any, Self

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.voice import VoiceOpcode
from tests.fuzz.mutations import encode_json, mutate_bytes, mutate_value
from tests.fuzz.platform import Platform
from tests.fuzz.report import Report
from tests.fuzz.target import FuzzTarget, InvalidResponse
from tests.fuzz.values import random_hostile
from tests.server.voice.caller import Caller, encrypt_packet
from tests.server.voice.webrtc.browser import binding_request
from tests.world import Actor, Guild

DATAGRAM_COUNT = 48
"""Number of datagrams of one input."""

SESSION_SECONDS_MAX = 30.0
"""Time after which a new gateway session replaces the old one, which sends no heartbeats."""

SESSION_JOINS_MAX = 50
"""Number of joins after which a new gateway session replaces the old one, because each sends two commands."""

SDP = "\n".join(
    (
        "a=fingerprint:sha-256 " + ":".join(["AB"] * 32),
        "a=ice-ufrag:abcd",
        "a=ice-pwd:" + "p" * 24,
        "a=rtpmap:111 opus/48000/2",
        "a=rtpmap:102 H264/90000",
        "a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
    )
)


class VoiceTarget(FuzzTarget):
    """Sends frames and datagrams to the voice server as a member of a call."""

    name = "voice"

    def __init__(self, platform: Platform, rng: random.Random, report: Report) -> None:
        super().__init__(platform, rng, report)
        self._guild: Guild | None = None
        self._channel_id = 0
        self._actor: Actor | None = None
        self._caller: Caller | None = None
        self._session_started_at = 0.0
        self._join_count = 0
        """Number of joins with the current gateway session."""
        self._frames: list[dict[str, Any]] = []
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.setblocking(False)

    async def start(self) -> None:
        """Create a guild that the other targets do not change, with a voice channel and a bot."""
        world = self.platform.world
        if self._guild is None:
            self._guild = await world.guild()
            self._channel_id = await self._guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
        self._actor = await world.bot(self._guild, permissions=int(Permissions.ADMINISTRATOR))

    def clone(self, rng: random.Random) -> Self:
        """Return a target with its own bot in the same guild, which `start` creates."""
        target = super().clone(rng)
        target._guild, target._channel_id = self._guild, self._channel_id
        return target

    async def _connect(self) -> Caller:
        """Return the caller; join again if the last input ended the voice connection, with a new session every 30 s."""
        session = None
        if self._caller is not None:
            # Without a session description, an earlier attempt to connect ended early.
            if self._caller.session_description is not None and not self._caller.socket.closed:
                return self._caller
            if (
                time.monotonic() - self._session_started_at < SESSION_SECONDS_MAX
                and self._join_count < SESSION_JOINS_MAX
            ):
                session = self._caller.session
                await self._caller.close()
            else:
                await self._leave(self._caller)
        self._frames = []
        assert self._actor is not None
        assert self._guild is not None
        if session is None:
            self._session_started_at, self._join_count = time.monotonic(), 0
        self._join_count += 1
        caller = self._caller = Caller(self.platform.world, session or await self._actor.connect(), self._guild)
        if session is not None:
            await caller.update_voice_state(None)
        await caller.update_voice_state(self._channel_id)
        caller.voice_state = await caller.session.next("VOICE_STATE_UPDATE", self._is_joined)
        caller.voice_server = await caller.session.next("VOICE_SERVER_UPDATE")
        await caller.connect_with_ticket()
        return caller

    def _is_joined(self, state: Any) -> bool:
        assert self._actor is not None
        return bool(state["user_id"] == str(self._actor.id) and state["channel_id"] == str(self._channel_id))

    async def _leave(self, caller: Caller) -> None:
        self._caller = None
        await caller.close()
        self.platform.world.sessions.remove(caller.session)
        await caller.session.close()

    async def step(self) -> None:
        """Send frames or datagrams."""
        caller = await self._connect()
        if self.random.random() < 0.5:
            await self._send_frames(caller, [self._build_frame(caller)])
        else:
            packets = [self._build_packet(caller) for _ in range(DATAGRAM_COUNT)]
            await self._send_packets(caller, packets)

    def _build_frame(self, caller: Caller) -> dict[str, Any]:
        opcode = int(self.random.choice(list(VoiceOpcode)))
        choice = self.random.random()
        if choice < 0.15:
            # Binary frames carry messages of end-to-end encryption.
            encoded = bytes((opcode % 256,)) + secrets.token_bytes(self.random.choice((0, 1, 20, 300)))
            return {"base64": base64.b64encode(encoded).decode()}
        payload: Any = {
            VoiceOpcode.IDENTIFY: caller.identify_payload(),
            VoiceOpcode.SELECT_PROTOCOL: {
                "protocol": self.random.choice(("udp", "webrtc", "x")),
                "data": self.random.choice((SDP, {"address": "127.0.0.1", "port": 1, "mode": "x"})),
                "sdp": SDP,
                "codecs": [{"name": "opus", "type": "audio", "priority": 1000, "payload_type": 111}],
            },
            VoiceOpcode.SPEAKING: {"speaking": 1, "delay": 0, "ssrc": caller.ready["ssrc"]},
            VoiceOpcode.VIDEO: {
                "audio_ssrc": 1,
                "video_ssrc": 2,
                "rtx_ssrc": 3,
                "streams": [{"type": "video", "rid": "100"}],
            },
            VoiceOpcode.HEARTBEAT: {"t": 1, "seq_ack": 1},
            VoiceOpcode.MEDIA_SINK_WANTS: {"any": 100, "1": 0},
            VoiceOpcode.DAVE_TRANSITION_READY: {"transition_id": 0},
        }.get(VoiceOpcode(opcode), {"x": 1})
        if choice < 0.8:
            payload = mutate_value(payload, self.random)
        elif choice < 0.9:
            payload = random_hostile(self.random)
        encoded = encode_json({"op": opcode, "d": payload}, self.random)
        try:
            return {"text": encoded.decode()}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(encoded).decode()}

    def _build_packet(self, caller: Caller) -> bytes:
        ssrc = struct.pack(">I", caller.ready["ssrc"])
        body = secrets.token_bytes(self.random.choice((0, 1, 3, 20, 200, 1300)))
        choice = self.random.randrange(8)
        if choice == 0:
            packet = body
        elif choice == 1:
            packet = struct.pack(">HHI66x", self.random.choice((1, 2, 9)), 70, caller.ready["ssrc"])
        elif choice == 2:
            first_byte = self.random.choice((0x80, 0x90, 0x9F, 0xB0, 0xA0))
            header = bytes((first_byte, self.random.choice((0x78, 0xF8, 102, 0)))) + secrets.token_bytes(6) + ssrc
            packet = encrypt_packet(caller.mode, caller.secret_key, header, body, self.random.getrandbits(31))
        elif choice == 3:
            kind = self.random.choice((200, 201, 202, 203, 205, 206))
            packet = (
                bytes((0x80 | self.random.randrange(32), kind))
                + struct.pack(">H", self.random.choice((0, 1, 9, 65535)))
                + ssrc
                + body
            )
        elif choice == 4:
            packet = binding_request("abcd:efgh", "password", extra=body[: len(body) // 4 * 4])
        elif choice == 5:
            kind = self.random.choice((20, 21, 22, 23, 25, 63))
            packet = bytes((kind, 0xFE, 0xFD)) + bytes(8) + struct.pack(">H", len(body)) + body
        elif choice == 6:
            packet = bytes((0x80, 0x78)) + secrets.token_bytes(6) + ssrc + body
        else:
            packet = struct.pack(">HHI", 1, self.random.choice((0, 4, 70, 65535)), 0x2112A442) + body
        return mutate_bytes(packet, self.random) if self.random.random() < 0.3 else packet

    async def _send_frames(self, caller: Caller, frames: list[dict[str, Any]]) -> None:
        self._frames = [*self._frames[-8:], *frames]
        self.last_input = {"frames": self._frames}
        try:
            for frame in frames:
                if "text" in frame:
                    await caller.socket.send_str(frame["text"])
                else:
                    await caller.socket.send_bytes(base64.b64decode(frame["base64"]))
            await caller.socket.send_str(json.dumps({"op": int(VoiceOpcode.HEARTBEAT), "d": {"t": 77, "seq_ack": -1}}))
        except ConnectionError:
            pass
        message = await caller.socket.receive()
        while message.type.name in ("TEXT", "BINARY") and '"t":77' not in str(message.data):
            message = await caller.socket.receive()
        outcome = "acknowledged" if message.type.name == "TEXT" else f"closed with {caller.socket.close_code}"
        self.report.count(self.name, outcome)
        if caller.socket.close_code == 1011:
            raise InvalidResponse(f"the voice server {outcome}")
        if message.type.name != "TEXT":
            await caller.socket.close()

    async def _send_packets(self, caller: Caller, packets: list[bytes]) -> None:
        self.last_input = {"packets": [base64.b64encode(packet).decode() for packet in packets]}
        address = (caller.ready["ip"], caller.ready["port"])
        for packet in packets:
            if self.random.random() < 0.5:
                caller.send_datagram(packet)
            else:
                self._udp.sendto(packet, address)
        await asyncio.sleep(0)
        self.report.count(self.name, "datagrams", len(packets))

    async def replay(self, stored_input: Any) -> None:
        """Send stored frames or datagrams."""
        await self.start()
        caller = await self._connect()
        if "frames" in stored_input:
            await self._send_frames(caller, stored_input["frames"])
        else:
            await self._send_packets(caller, [base64.b64decode(packet) for packet in stored_input["packets"]])
            await caller.heartbeat()

    async def close(self) -> None:
        """Leave the call."""
        self._udp.close()
        if self._caller is not None:
            await self._leave(self._caller)
