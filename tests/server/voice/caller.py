"""A voice client for tests: main gateway, voice socket and UDP. Also functions for packets and lost connections."""

import asyncio
import json
import ssl
import struct
from typing import Any

import aiohttp
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from nacl import bindings

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.voice import VoiceOpcode
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, Guild, Session, World

AES = "aead_aes256_gcm_rtpsize"
XCHACHA = "aead_xchacha20_poly1305_rtpsize"
SILENCE = b"\xf8\xff\xfe"
"""The Opus frame of silence, which clients send without end-to-end encryption."""


def fake_encrypted_frame(text: str) -> bytes:
    """Return a frame that ends with the magic bytes of end-to-end encryption, so that the server forwards it."""
    return text.encode() + b"\xfa\xfa"


def encrypt_packet(mode: str, key: bytes, header: bytes, body: bytes, nonce: int) -> bytes:
    """Encrypt a packet as a client does; `nonce` is the 32-bit counter of the modes that have one."""
    suffix = struct.pack(">I", nonce)
    if mode == AES:
        return header + AESGCM(key).encrypt(suffix + bytes(8), body, header) + suffix
    if mode == XCHACHA:
        full_nonce = suffix + bytes(20)
        return header + bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(body, header, full_nonce, key) + suffix
    if mode == "aead_aes256_gcm":
        return header + AESGCM(key).encrypt(suffix + bytes(8), body, header) + suffix
    if mode.startswith("xsalsa20_poly1305_lite"):
        return header + bindings.crypto_secretbox(body, suffix + bytes(20), key) + suffix
    if mode == "xsalsa20_poly1305_suffix":
        random_nonce = bindings.randombytes(24)
        return header + bindings.crypto_secretbox(body, random_nonce, key) + random_nonce
    return header + bindings.crypto_secretbox(body, header.ljust(24, b"\0"), key)


def decrypt_packet(mode: str, key: bytes, packet: bytes, header_length: int = 12) -> bytes:
    """Decrypt a packet of the server; the first `header_length` bytes are not encrypted."""
    header, rest = packet[:header_length], packet[header_length:]
    if mode in (AES, "aead_aes256_gcm"):
        return AESGCM(key).decrypt(rest[-4:] + bytes(8), rest[:-4], header)
    if mode == XCHACHA:
        return bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(rest[:-4], header, rest[-4:] + bytes(20), key)
    if mode.startswith("xsalsa20_poly1305_lite"):
        return bindings.crypto_secretbox_open(rest[:-4], rest[-4:] + bytes(20), key)
    if mode == "xsalsa20_poly1305_suffix":
        return bindings.crypto_secretbox_open(rest[:-24], rest[-24:], key)
    return bindings.crypto_secretbox_open(rest, header.ljust(24, b"\0"), key)


def dropped_packet_count(world: World, reason: str) -> float:
    """Return the value of the metric for packets dropped for this reason."""
    return float(world.app.metrics.voice_packets(reason).value)


async def wait_close_code(socket: Any) -> int:
    """Wait until the server closes the connection and return the close code, or 0 if there is none."""
    while True:
        message = await socket.receive(timeout=WAIT_TIMEOUT_SECONDS)
        if message.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            return int(message.data if message.type is aiohttp.WSMsgType.CLOSE else socket.close_code or 0)


def is_media_packet(data: bytes) -> bool:
    """Return whether a datagram is an RTP packet without extensions; types 200 to 206 are RTCP."""
    return len(data) > 20 and data[0] == 0x80 and not 200 <= data[1] <= 206


class DatagramQueue(asyncio.DatagramProtocol):
    """Queue of received UDP datagrams."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[bytes] = asyncio.Queue()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Queue a datagram."""
        self.received.put_nowait(data)


class Caller:
    """A voice client of one gateway session."""

    def __init__(self, world: World, session: Session, guild: Guild, tls_context: ssl.SSLContext | None = None) -> None:
        self.world = world
        self.tls_context = tls_context
        """TLS context for the voice endpoint, or None to connect to the voice server without TLS."""
        self.session = session
        self.guild = guild
        self.voice_state: Any = None
        """The latest own VOICE_STATE_UPDATE."""
        self.voice_server: Any = None
        """The latest VOICE_SERVER_UPDATE, which contains the ticket's token."""
        self.socket: Any = None
        """The voice socket."""
        self.frames: list[Any] = []
        """All frames received on the voice socket: decoded JSON, or (seq, opcode, payload) for binary frames."""
        self.position = 0
        """Index in `frames` of the first frame that `next` has not examined."""
        self.hello: Any = None
        self.ready: Any = None
        self.session_description: Any = None
        self.udp_transport: asyncio.DatagramTransport | None = None
        self.datagrams = DatagramQueue()
        self.discovered_address = ("127.0.0.1", 1)
        """The address and port of the latest discovery response."""
        self.last_nonce = 0
        self.last_sequence = 0

    @property
    def actor(self) -> Actor:
        """The actor of the gateway session."""
        return self.session.actor

    @property
    def server_id(self) -> int:
        """The `server_id` of Identify: the ID of the guild, lobby or private channel."""
        return int(self.voice_server["guild_id"])

    async def update_voice_state(self, channel_id: int | None, **fields: Any) -> None:
        """Send a voice state update (opcode 4) on the main gateway."""
        state = {
            "guild_id": str(self.guild.id),
            "channel_id": None if channel_id is None else str(channel_id),
            "self_mute": False,
            "self_deaf": False,
        }
        await self.session.send(GatewayOpcode.VOICE_STATE_UPDATE, state | fields)

    async def join(self, channel_id: int, **fields: Any) -> None:
        """Join a channel and wait for its voice state and voice server events."""
        await self.update_voice_state(channel_id, **fields)
        await self.receive_ticket()

    async def receive_ticket(self) -> None:
        """Wait for the voice state and voice server events of a join or move."""
        user_id = str(self.actor.id)
        self.voice_state = await self.session.next("VOICE_STATE_UPDATE", lambda state: state["user_id"] == user_id)
        self.voice_server = await self.session.next("VOICE_SERVER_UPDATE")

    async def open_socket(self, query: str = "?v=8") -> Any:
        """Connect to the voice socket and receive Hello."""
        if self.tls_context is not None:
            address = f"wss://{self.voice_server['endpoint']}"
        else:
            # Connect directly; in production a TLS proxy is in front of the voice server.
            assert self.world.app.voice is not None
            host, port = self.world.app.voice.sockets.tcp.getsockname()
            address = f"ws://{host}:{port}"
        self.socket = await self.world.client.ws_connect(f"{address}/{query}", ssl=self.tls_context or True)
        self.frames, self.position = [], 0
        self.hello = await self.next(VoiceOpcode.HELLO)
        return self.hello

    def identify_payload(self, **fields: Any) -> dict[str, Any]:
        return {
            "server_id": str(self.server_id),
            "user_id": str(self.actor.id),
            "session_id": self.voice_state["session_id"],
            "token": self.voice_server["token"],
            "max_dave_protocol_version": 1,
            **fields,
        }

    async def identify(self, **fields: Any) -> Any:
        """Identify and receive Ready."""
        await self.send_json(VoiceOpcode.IDENTIFY, self.identify_payload(**fields))
        self.ready = await self.next(VoiceOpcode.READY)
        return self.ready

    async def select_protocol(self, mode: str = AES, **fields: Any) -> Any:
        """Select an encryption mode and receive the session description."""
        address, port = self.discovered_address
        selection = {"protocol": "udp", "data": {"address": address, "port": port, "mode": mode}}
        await self.send_json(VoiceOpcode.SELECT_PROTOCOL, selection | fields)
        self.session_description = await self.next(VoiceOpcode.SESSION_DESCRIPTION)
        return self.session_description

    async def discover_ip(self) -> tuple[str, int]:
        """Run IP discovery over UDP and return the address and port from which the server received the request."""
        if self.udp_transport is None:
            loop = asyncio.get_running_loop()
            self.udp_transport, _ = await loop.create_datagram_endpoint(
                lambda: self.datagrams, remote_addr=(self.ready["ip"], self.ready["port"])
            )
        self.udp_transport.sendto(struct.pack(">HHI66x", 1, 70, self.ready["ssrc"]))
        response = await self.receive_datagram(lambda data: len(data) == 74)
        kind, length, ssrc, address, port = struct.unpack(">HHI64sH", response)
        assert (kind, length, ssrc) == (2, 70, self.ready["ssrc"])
        self.discovered_address = address.rstrip(b"\0").decode(), port
        return self.discovered_address

    async def join_and_connect(self, channel_id: int, /, mode: str = AES, query: str = "?v=8", **identify: Any) -> None:
        """Join a channel and connect completely, until packets can be exchanged."""
        await self.join(channel_id)
        await self.connect_with_ticket(mode, query, **identify)

    async def connect_with_ticket(self, mode: str = AES, query: str = "?v=8", **identify: Any) -> None:
        """Connect to the voice server with the current ticket, until packets can be exchanged."""
        await self.open_socket(query)
        await self.identify(**identify)
        await self.discover_ip()
        await self.select_protocol(mode)
        await self.send_json(VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": self.ready["ssrc"]})

    # The socket

    async def send_json(self, opcode: int, data: Any) -> None:
        """Send a JSON frame on the voice socket."""
        await self.socket.send_str(json.dumps({"op": opcode, "d": data}))

    async def receive_frame(self) -> Any:
        """Receive the next frame of the voice socket, append it to `frames`, and return it. Fail if the socket closes."""
        message = await self.socket.receive(timeout=WAIT_TIMEOUT_SECONDS)
        if message.type is aiohttp.WSMsgType.TEXT:
            frame: Any = json.loads(message.data)
        elif message.type is aiohttp.WSMsgType.BINARY:
            frame = (int.from_bytes(message.data[:2], "big"), message.data[2], message.data[3:])
        else:
            code = message.data if message.type is aiohttp.WSMsgType.CLOSE else self.socket.close_code
            raise AssertionError(f"the server closed the connection with {code}; received frames: {self.frames}")
        self.frames.append(frame)
        return frame

    async def next(self, opcode: int) -> Any:
        """Return the data of the next JSON frame with this opcode, or the next binary frame with it.

        Other frames are skipped but stay in `frames`."""
        while True:
            while self.position < len(self.frames):
                frame = self.frames[self.position]
                self.position += 1
                if isinstance(frame, tuple):
                    if frame[1] == opcode:
                        return frame
                elif frame["op"] == opcode:
                    return frame["d"]
            await self.receive_frame()

    async def heartbeat(self, seq_ack: int = -1) -> Any:
        """Exchange a heartbeat and return the data of the response; the server has then handled all earlier frames."""
        await self.send_json(VoiceOpcode.HEARTBEAT, {"t": 7, "seq_ack": seq_ack})
        return await self.next(VoiceOpcode.HEARTBEAT_ACK)

    async def wait_close_code(self) -> int:
        """Wait until the server closes the connection and return the close code."""
        return await wait_close_code(self.socket)

    def opcodes(self) -> list[int]:
        """Return the opcodes of all received frames."""
        return [frame[1] if isinstance(frame, tuple) else frame["op"] for frame in self.frames]

    # Packets

    @property
    def secret_key(self) -> bytes:
        """The encryption key of this client's packets."""
        return bytes(self.session_description["secret_key"])

    @property
    def mode(self) -> str:
        """The encryption mode of this client's packets."""
        mode: str = self.session_description["mode"]
        return mode

    def build_packet(self, frame: bytes, *, ssrc: int | None = None, key: bytes | None = None) -> bytes:
        """Build the next packet with a frame; `ssrc` and `key` replace the client's own."""
        self.last_nonce += 1
        self.last_sequence += 1
        ssrc = self.ready["ssrc"] if ssrc is None else ssrc
        header = struct.pack(">BBHII", 0x80, 0x78, self.last_sequence, self.last_sequence * 960, ssrc)
        return encrypt_packet(self.mode, key or self.secret_key, header, frame, self.last_nonce)

    def send_frame(self, frame: bytes) -> bytes:
        """Send a frame and return its packet."""
        packet = self.build_packet(frame)
        self.send_datagram(packet)
        return packet

    def send_datagram(self, packet: bytes) -> None:
        """Send a datagram unchanged."""
        assert self.udp_transport is not None
        self.udp_transport.sendto(packet)

    async def receive_datagram(self, accepts: Any = lambda _: True) -> bytes:
        """Return the next datagram for which `accepts` returns True; others are discarded."""
        while True:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                data = await self.datagrams.received.get()
            if accepts(data):
                return data

    async def receive_media(self) -> tuple[int, bytes]:
        """Return the SSRC and the decrypted content of the next media packet."""
        data = await self.receive_datagram(is_media_packet)
        return int.from_bytes(data[8:12], "big"), decrypt_packet(self.mode, self.secret_key, data)

    async def wait_packets_read(self) -> list[bytes]:
        """Exchange a ping, after which the server has read every earlier packet; return the datagrams before its response."""
        self.send_datagram(b"\x13\x37\xca\xfe" + b"mark")
        earlier: list[bytes] = []
        while (data := await self.receive_datagram()) != b"\x13\x37\xf0\x0dmark":
            earlier.append(data)
        return earlier

    async def close(self) -> None:
        """Close the UDP and voice sockets."""
        if self.udp_transport is not None:
            self.udp_transport.close()
        if self.socket is not None and not self.socket.closed:
            await self.socket.close()


async def assert_identify_rejected(caller: Caller, code: int, **identify: object) -> None:
    """Identify and assert that the server closes the connection with this code."""
    await caller.open_socket()
    await caller.send_json(VoiceOpcode.IDENTIFY, caller.identify_payload(**identify))
    assert await caller.wait_close_code() == code


def abort_connection(caller: Caller) -> None:
    """Abort the voice connection without a close frame."""
    caller.socket._response.connection.transport.abort()


async def wait_connection_lost(world: World, caller: Caller) -> None:
    """Wait until the server has noticed the lost connection."""
    assert world.app.voice is not None
    session = world.app.voice.calls._sessions[caller.server_id, caller.actor.id]
    async with asyncio.timeout(10):
        while session.connection is not None:
            await asyncio.sleep(0)


def resume_payload(caller: Caller, **fields: Any) -> dict[str, Any]:
    """Return the payload of Resume with the caller's ticket."""
    return {
        "server_id": str(caller.server_id),
        "session_id": caller.voice_state["session_id"],
        "token": caller.voice_server["token"],
        **fields,
    }


def last_seq(caller: Caller) -> int:
    """Return the last sequence number that the caller received, or -1 if there is none."""
    seqs = [frame[0] if isinstance(frame, tuple) else frame.get("seq") for frame in caller.frames]
    return next((seq for seq in reversed(seqs) if seq), -1)
