"""A voice client for tests: main gateway, voice socket and UDP, as single steps or as one."""

import asyncio
import json
import ssl
import struct
from typing import Any

import aiohttp
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from nacl import bindings

from tests.world import WAIT_TIMEOUT_SECONDS, Actor, Guild, Session, World

AES = "aead_aes256_gcm_rtpsize"
XCHACHA = "aead_xchacha20_poly1305_rtpsize"
SILENCE = b"\xf8\xff\xfe"


def opus(text: str) -> bytes:
    """Return a frame that the server takes for an end-to-end encrypted one, because of its last bytes."""
    return text.encode() + b"\xfa\xfa"


def encrypt_packet(mode: str, key: bytes, header: bytes, body: bytes, number: int, clear: int = 12) -> bytes:
    """Encrypt a packet as a client does."""
    suffix = struct.pack(">I", number)
    if mode == AES:
        return header + AESGCM(key).encrypt(suffix + bytes(8), body, header) + suffix
    if mode == XCHACHA:
        nonce = suffix + bytes(20)
        return header + bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(body, header, nonce, key) + suffix
    if mode == "aead_aes256_gcm":
        return header + AESGCM(key).encrypt(suffix + bytes(8), body, header) + suffix
    if mode.startswith("xsalsa20_poly1305_lite"):
        return header + bindings.crypto_secretbox(body, suffix + bytes(20), key) + suffix
    if mode == "xsalsa20_poly1305_suffix":
        nonce = bindings.randombytes(24)
        return header + bindings.crypto_secretbox(body, nonce, key) + nonce
    return header + bindings.crypto_secretbox(body, header.ljust(24, b"\0"), key)


def decrypt_packet(mode: str, key: bytes, packet: bytes, clear: int = 12) -> bytes:
    """Decrypt a packet of the server."""
    header, rest = packet[:clear], packet[clear:]
    if mode in (AES, "aead_aes256_gcm"):
        return AESGCM(key).decrypt(rest[-4:] + bytes(8), rest[:-4], header)
    if mode == XCHACHA:
        return bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(rest[:-4], header, rest[-4:] + bytes(20), key)
    if mode.startswith("xsalsa20_poly1305_lite"):
        return bindings.crypto_secretbox_open(rest[:-4], rest[-4:] + bytes(20), key)
    if mode == "xsalsa20_poly1305_suffix":
        return bindings.crypto_secretbox_open(rest[:-24], rest[-24:], key)
    return bindings.crypto_secretbox_open(rest, header.ljust(24, b"\0"), key)


async def close_code(socket: Any) -> int:
    """Wait until the server closes the connection and return the code of the close frame."""
    while True:
        message = await socket.receive(timeout=WAIT_TIMEOUT_SECONDS)
        if message.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            return int(message.data if message.type is aiohttp.WSMsgType.CLOSE else socket.close_code or 0)


class Datagrams(asyncio.DatagramProtocol):
    """Queue of received UDP datagrams."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[bytes] = asyncio.Queue()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Queue a datagram."""
        self.received.put_nowait(data)


class Caller:
    """A voice client of one gateway session."""

    def __init__(self, world: World, session: Session, guild: Guild, trust: ssl.SSLContext | None = None) -> None:
        self.world = world
        self.tls_context = trust
        """TLS context for the voice endpoint, or None to connect to the voice server without TLS."""
        self.session = session
        self.guild = guild
        self.state: Any = None
        self.server: Any = None
        self.socket: Any = None
        self.frames: list[Any] = []
        """All frames received on the voice socket: decoded JSON, or (seq, op, payload) for binary frames."""
        self.position = 0
        self.hello: Any = None
        self.ready: Any = None
        self.description: Any = None
        self.udp: asyncio.DatagramTransport | None = None
        self.datagrams = Datagrams()
        self.number = 0
        self.sequence = 0

    @property
    def actor(self) -> Actor:
        """The calling actor."""
        return self.session.actor

    @property
    def server_id(self) -> int:
        """The `server_id` of Identify: the id of the guild, lobby or private channel."""
        return int(self.server["guild_id"])

    async def update_voice_state(self, channel: int | None, **more: Any) -> None:
        """Send a voice state update (opcode 4) on the main gateway."""
        channel_id = None if channel is None else str(channel)
        await self.session.send(
            4,
            {"guild_id": str(self.guild.id), "channel_id": channel_id, "self_mute": False, "self_deaf": False, **more},
        )

    async def join(self, channel: int, **more: Any) -> None:
        """Join a channel and wait for its voice state and voice server events."""
        await self.update_voice_state(channel, **more)
        await self.receive_ticket()

    async def receive_ticket(self) -> None:
        """Wait for the voice state and voice server events of a join or move."""
        start = len(self.session.dispatches)
        own = str(self.actor.id)
        self.state = await self.session.next("VOICE_STATE_UPDATE", lambda state: state["user_id"] == own)
        self.server = await self.session.next("VOICE_SERVER_UPDATE")
        assert start <= len(self.session.dispatches)

    async def open(self, query: str = "?v=8") -> Any:
        """Connect to the voice socket and receive Hello."""
        if self.tls_context is not None:
            address = f"wss://{self.server['endpoint']}"
        else:
            # Connect directly; in production a TLS proxy is in front of the voice server.
            assert self.world.app.voice is not None
            host, port = self.world.app.voice.sockets.tcp.getsockname()
            address = f"ws://{host}:{port}"
        self.socket = await self.world.client.ws_connect(f"{address}/{query}", ssl=self.tls_context or True)
        self.frames, self.position = [], 0
        self.hello = await self.next(8)
        return self.hello

    def identify_payload(self, **more: Any) -> dict[str, Any]:
        """Return the payload of Identify."""
        return {
            "server_id": str(self.server_id),
            "user_id": str(self.actor.id),
            "session_id": self.state["session_id"],
            "token": self.server["token"],
            "max_dave_protocol_version": 1,
            **more,
        }

    async def identify(self, **more: Any) -> Any:
        """Identify and receive Ready."""
        await self.send_json(0, self.identify_payload(**more))
        self.ready = await self.next(2)
        return self.ready

    async def select(self, mode: str = AES, **more: Any) -> Any:
        """Select an encryption mode and receive the session description."""
        await self.send_json(1, {"protocol": "udp", "data": {"address": "127.0.0.1", "port": 1, "mode": mode}, **more})
        self.description = await self.next(4)
        return self.description

    async def discover(self) -> tuple[str, int]:
        """Run IP discovery over UDP and return our own address."""
        if self.udp is None:
            loop = asyncio.get_running_loop()
            self.udp, _ = await loop.create_datagram_endpoint(
                lambda: self.datagrams, remote_addr=(self.ready["ip"], self.ready["port"])
            )
        self.udp.sendto(struct.pack(">HHI66x", 1, 70, self.ready["ssrc"]))
        answer = await self.datagram(lambda data: len(data) == 74)
        kind, length, ssrc, address, port = struct.unpack(">HHI64sH", answer)
        assert (kind, length, ssrc) == (2, 70, self.ready["ssrc"])
        return address.rstrip(b"\0").decode(), port

    async def join_and_connect(self, channel: int, mode: str = AES, query: str = "?v=8", **identify: Any) -> None:
        """Join a channel and connect completely, until packets can be exchanged."""
        await self.join(channel)
        await self.open(query)
        await self.identify(**identify)
        await self.discover()
        await self.select(mode)
        await self.send_json(5, {"speaking": 1, "delay": 0, "ssrc": self.ready["ssrc"]})

    # The socket

    async def send_json(self, op: int, d: Any) -> None:
        """Send a JSON frame."""
        await self.socket.send_str(json.dumps({"op": op, "d": d}))

    async def frame(self) -> Any:
        """Receive the next frame."""
        message = await self.socket.receive(timeout=WAIT_TIMEOUT_SECONDS)
        if message.type is aiohttp.WSMsgType.TEXT:
            frame: Any = json.loads(message.data)
        elif message.type is aiohttp.WSMsgType.BINARY:
            frame = (int.from_bytes(message.data[:2], "big"), message.data[2], message.data[3:])
        else:
            code = message.data if message.type is aiohttp.WSMsgType.CLOSE else self.socket.close_code
            raise AssertionError(f"closed with {code}, after {self.frames}")
        self.frames.append(frame)
        return frame

    async def next(self, op: int) -> Any:
        """Return the next frame with this opcode; others are skipped but stay in `frames`."""
        while True:
            while self.position < len(self.frames):
                frame = self.frames[self.position]
                self.position += 1
                if isinstance(frame, tuple):
                    if frame[1] == op:
                        return frame
                elif frame["op"] == op:
                    return frame["d"]
            await self.frame()

    async def heartbeat(self, seq_ack: int = -1) -> Any:
        """Exchange a heartbeat, so that the server has handled everything sent before."""
        await self.send_json(3, {"t": 7, "seq_ack": seq_ack})
        return await self.next(6)

    async def closed(self) -> int:
        """Wait until the server closes the connection and return the close code."""
        return await close_code(self.socket)

    def ops(self) -> list[int]:
        """Return the opcodes of all frames so far."""
        return [frame[1] if isinstance(frame, tuple) else frame["op"] for frame in self.frames]

    # Packets

    @property
    def key(self) -> bytes:
        """Encryption key of our packets."""
        return bytes(self.description["secret_key"])

    @property
    def mode(self) -> str:
        """Encryption mode of our packets."""
        mode: str = self.description["mode"]
        return mode

    def packet(self, frame: bytes, *, ssrc: int | None = None, key: bytes | None = None) -> bytes:
        """Build the next packet with a frame."""
        self.number += 1
        self.sequence += 1
        own = self.ready["ssrc"] if ssrc is None else ssrc
        header = struct.pack(">BBHII", 0x80, 0x78, self.sequence, self.sequence * 960, own)
        return encrypt_packet(self.mode, key or self.key, header, frame, self.number)

    def send(self, frame: bytes) -> bytes:
        """Send a frame and return its packet."""
        packet = self.packet(frame)
        self.send_datagram(packet)
        return packet

    def send_datagram(self, packet: bytes) -> None:
        """Send a datagram as it is."""
        assert self.udp is not None
        self.udp.sendto(packet)

    async def datagram(self, wanted: Any = lambda _: True) -> bytes:
        """Return the next datagram that `wanted` accepts; others are discarded."""
        while True:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                data = await self.datagrams.received.get()
            if wanted(data):
                return data

    async def receive_media(self) -> tuple[int, bytes]:
        """Return the SSRC and the decrypted content of the next media packet."""
        data = await self.datagram(lambda data: len(data) > 20 and not 200 <= data[1] <= 206 and data[0] == 0x80)
        return int.from_bytes(data[8:12], "big"), decrypt_packet(self.mode, self.key, data)

    async def wait_packets_read(self) -> None:
        """Wait until the server has read every packet sent before, by exchanging a ping."""
        self.send_datagram(b"\x13\x37\xca\xfe" + b"mark")
        await self.datagram(lambda data: data == b"\x13\x37\xf0\x0dmark")

    async def close(self) -> None:
        """Close the UDP and voice sockets."""
        if self.udp is not None:
            self.udp.close()
        if self.socket is not None and not self.socket.closed:
            await self.socket.close()
