"""A user's connection to a voice server: plays Opus packets, and records those of other users (spec/voice.md#7 to 10).

Calls are end-to-end encrypted, so this module needs davey, which the extra `voice` installs.
"""

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import aiohttp
import davey
import msgspec

from hubbub.media import datagrams, rtp
from hubbub.media.ciphers import CIPHERS, NONCE_BYTES, TAG_BYTES, Cipher, PacketError
from hubbub.people.errors import VoiceFailed
from hubbub.people.ogg import SAMPLES_PER_MS, count_samples
from hubbub.protocol.voice import DAVE_VERSION, ENCRYPTION_MODES, VoiceOpcode

CONNECT_TIMEOUT_SECONDS: Final = 30.0
"""Time limit for connecting to the voice server."""
RECORDED_FRAMES_MAX: Final = 15_000
"""Maximum number of recorded frames, five minutes of one speaker; the oldest are discarded."""
UNKNOWN_PACKETS_MAX: Final = 100
"""Maximum number of frames kept for a speaker whose user is not known yet."""
SILENCE_FRAMES: Final = 5
"""Number of silence frames that end a transmission."""
FRAME_SAMPLES: Final = 20 * SAMPLES_PER_MS
"""Duration of a silence frame in samples."""
NEW_GROUP_EPOCH: Final = 1
"""Epoch of a new encryption group, which the client must join with a new key package."""
_BINARY_HEADER_BYTES: Final = 3


class RecordedFrame(NamedTuple):
    """An Opus packet that a user sent."""

    user_id: str
    packet: bytes


class VoiceTicket(NamedTuple):
    """The credentials for one call."""

    server_id: str
    """ID of the guild, or of the channel for a private call."""
    channel_id: str
    user_id: str
    session_id: str
    token: str


class VoiceClient(asyncio.DatagramProtocol):
    """A voice connection that records all audio until it is closed; it does not reconnect."""

    def __init__(self, name: str, ticket: VoiceTicket) -> None:
        self._name = name
        self._ticket = ticket
        self._dave = davey.DaveSession(DAVE_VERSION, int(ticket.user_id), int(ticket.channel_id))
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._transport: asyncio.DatagramTransport | None = None
        self._cipher: Cipher | None = None
        self._ssrc = 0
        self._sequence = self._timestamp = 0
        self._seq = -1
        """Sequence number of the last message of the voice gateway."""
        self._user_ids: dict[int, str] = {}
        """User IDs by SSRC."""
        self._unknown_frames: dict[int, deque[bytes]] = defaultdict(lambda: deque(maxlen=UNKNOWN_PACKETS_MAX))
        """Frames of speakers whose user is not known yet, by SSRC."""
        self._call_user_ids: set[str] = {ticket.user_id}
        """IDs of the users who may be in the encryption group."""
        self.recorded: deque[RecordedFrame] = deque(maxlen=RECORDED_FRAMES_MAX)
        """Recorded frames that `hear` has not returned."""
        self._closed_with: int | None = None
        self._changed = asyncio.Event()
        self._address: asyncio.Future[tuple[str, int]] = asyncio.get_running_loop().create_future()
        self._is_described = False
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(cls, http: aiohttp.ClientSession, url: str, name: str, ticket: VoiceTicket) -> "VoiceClient":
        """Connect to the voice server at a WebSocket URL; return when audio can be exchanged."""
        client = cls(name, ticket)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                client._socket = await http.ws_connect(f"{url}?v=8", max_msg_size=0)
                client._tasks.append(asyncio.create_task(client._read()))
                await client._wait_until(lambda: client._is_described)
        except (TimeoutError, aiohttp.ClientError) as error:
            await client.close()
            raise VoiceFailed(f"{name} cannot connect to the voice server: {error or 'timeout'}") from None
        except BaseException:
            await client.close()
            raise
        return client

    @property
    def is_open(self) -> bool:
        """Whether the connection has not ended."""
        return self._closed_with is None

    async def close(self) -> None:
        """End the connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._transport is not None:
            self._transport.close()
        if self._socket is not None:
            with contextlib.suppress(ConnectionError):
                await self._socket.close(code=1000)

    # Audio

    async def play(self, packets: Sequence[bytes], timeout_seconds: float) -> None:
        """Send Opus packets in real time, once another user is in the call.

        Raise `VoiceFailed` if no other user connects within `timeout_seconds`, or if the connection ends."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._wait_until(lambda: self._dave.ready)
        except TimeoutError:
            raise VoiceFailed(f"{self._name} cannot play: no other user is connected to the call") from None
        await self._send(VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": self._ssrc})
        loop = asyncio.get_running_loop()
        due = loop.time()
        for packet in packets:
            self._send_frame(bytes(self._dave.encrypt_opus(packet)), count_samples(packet))
            due += count_samples(packet) / SAMPLES_PER_MS / 1000
            await asyncio.sleep(max(due - loop.time(), 0))
            self._require_open()
        for _ in range(SILENCE_FRAMES):
            self._send_frame(rtp.SILENCE_FRAME, FRAME_SAMPLES)
        await self._send(VoiceOpcode.SPEAKING, {"speaking": 0, "delay": 0, "ssrc": self._ssrc})

    async def hear(
        self, user_id: str | None, duration_seconds: float, quiet_seconds: float, timeout_seconds: float
    ) -> list[RecordedFrame]:
        """Return recorded frames of a user, or of the first user who speaks, and remove them from the recording.

        Wait `timeout_seconds` for the first frame; then until the user is quiet for `quiet_seconds`, or until frames of
        `duration_seconds` are recorded. Raise `VoiceFailed` if no frame arrives, or if the connection ends.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._wait_until(lambda: self._first_speaker(user_id) is not None)
        except TimeoutError:
            raise VoiceFailed(f"{self._name} heard nothing within {timeout_seconds:g} s") from None
        speaker_id = self._first_speaker(user_id)
        # The frames stay recorded until the end, so that a canceled call loses none.
        while True:
            frames = [frame for frame in self.recorded if frame.user_id == speaker_id]
            count = len(frames)
            if sum(count_samples(frame.packet) for frame in frames) / SAMPLES_PER_MS / 1000 >= duration_seconds:
                break
            try:
                async with asyncio.timeout(quiet_seconds):
                    await self._wait_until(lambda known=count: self._count_frames(speaker_id) > known)
            except TimeoutError:
                break
        self.recorded = deque((f for f in self.recorded if f.user_id != speaker_id), RECORDED_FRAMES_MAX)
        return frames

    def _count_frames(self, user_id: str | None) -> int:
        return sum(frame.user_id == user_id for frame in self.recorded)

    def _first_speaker(self, user_id: str | None) -> str | None:
        return next((frame.user_id for frame in self.recorded if user_id in (None, frame.user_id)), None)

    def _send_frame(self, frame: bytes, samples: int) -> None:
        self._sequence = (self._sequence + 1) & 0xFFFF
        header = rtp.build_audio_header(self._sequence, self._timestamp, self._ssrc)
        self._timestamp = (self._timestamp + samples) & 0xFFFFFFFF
        if self._transport is not None and self._cipher is not None:
            self._transport.sendto(self._cipher.encrypt(header, frame))

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Record the audio of a datagram, or complete the discovery of the client's address."""
        address = datagrams.parse_discovery_response(data, self._ssrc)
        if address is not None:
            if not self._address.done():
                self._address.set_result(address)
            return
        if self._cipher is None or len(data) < rtp.FIXED_HEADER_BYTES or data[1] & 0x7F != rtp.OPUS_PAYLOAD_TYPE:
            return
        header_bytes = rtp.header_length(data)
        if len(data) < header_bytes + TAG_BYTES + NONCE_BYTES:
            return
        try:
            body, _ = self._cipher.decrypt(data, header_bytes)
        except PacketError:
            return
        frame = rtp.extract_frame(data[:header_bytes] + body, header_bytes)
        if frame is not None and frame != rtp.SILENCE_FRAME:
            self._record(int.from_bytes(data[8:12], "big"), frame)

    def _record(self, ssrc: int, frame: bytes) -> None:
        user_id = self._user_ids.get(ssrc)
        if user_id is None:
            self._unknown_frames[ssrc].append(frame)
            return
        if frame.endswith(rtp.E2EE_TRAILER):
            try:
                frame = bytes(self._dave.decrypt(int(user_id), davey.MediaType.audio, frame))
            except Exception:
                # davey raises the same type for every error. The expected one is a frame of a group that this client is not in.
                return
        self.recorded.append(RecordedFrame(user_id, frame))
        self._notify()

    # Voice gateway

    async def _read(self) -> None:
        assert self._socket is not None
        try:
            async for message in self._socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    frame = msgspec.json.decode(message.data)
                    self._seq = frame.get("seq", self._seq)
                    await self._handle_message(frame["op"], frame["d"])
                elif message.type is aiohttp.WSMsgType.BINARY:
                    self._seq = int.from_bytes(message.data[:2], "big")
                    await self._handle_message(message.data[2], message.data[_BINARY_HEADER_BYTES:])
                self._notify()
        finally:
            self._closed_with = self._socket.close_code or 1006
            self._notify()

    async def _handle_message(self, op: int, data: Any) -> None:
        if op == VoiceOpcode.HELLO:
            self._tasks.append(asyncio.create_task(self._send_heartbeats(data["heartbeat_interval"] / 1000)))
            await self._send(
                VoiceOpcode.IDENTIFY,
                {
                    "server_id": self._ticket.server_id,
                    "user_id": self._ticket.user_id,
                    "session_id": self._ticket.session_id,
                    "token": self._ticket.token,
                    "max_dave_protocol_version": DAVE_VERSION,
                },
            )
        elif op == VoiceOpcode.READY:
            # Select the protocol in a task, because the discovery waits for a datagram while further messages arrive.
            self._tasks.append(asyncio.create_task(self._select_protocol(data)))
        elif op == VoiceOpcode.SESSION_DESCRIPTION:
            self._cipher = CIPHERS[data["mode"]](bytes(data["secret_key"]))
            await self._send_key_package()
            # The server announces the SSRC of this client to the others after its first Speaking message.
            await self._send(VoiceOpcode.SPEAKING, {"speaking": 0, "delay": 0, "ssrc": self._ssrc})
            self._is_described = True
        elif op == VoiceOpcode.SPEAKING:
            self._user_ids[data["ssrc"]] = str(data["user_id"])
            for frame in self._unknown_frames.pop(data["ssrc"], ()):
                self._record(data["ssrc"], frame)
        elif op == VoiceOpcode.CLIENTS_CONNECT:
            self._call_user_ids.update(data["user_ids"])
        elif op == VoiceOpcode.CLIENT_DISCONNECT:
            self._call_user_ids.discard(str(data["user_id"]))
        elif VoiceOpcode.DAVE_PREPARE_TRANSITION <= op <= VoiceOpcode.MLS_WELCOME:
            await self._handle_group_message(op, data)

    async def _select_protocol(self, ready: Any) -> None:
        self._ssrc = ready["ssrc"]
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, remote_addr=(ready["ip"], ready["port"]))
        self._transport.sendto(datagrams.discovery_request(self._ssrc))
        address, port = await self._address
        mode = next(mode for mode in ENCRYPTION_MODES if mode in CIPHERS and mode in ready["modes"])
        transport = {"address": address, "port": port, "mode": mode}
        await self._send(VoiceOpcode.SELECT_PROTOCOL, {"protocol": "udp", "data": transport})

    async def _handle_group_message(self, op: int, data: Any) -> None:
        """Process a message of the encryption group; join the group again if that fails."""
        transition_id = 0
        try:
            if op == VoiceOpcode.MLS_EXTERNAL_SENDER:
                self._dave.set_external_sender(data)
            elif op == VoiceOpcode.MLS_PROPOSALS:
                operations = davey.ProposalsOperationType
                operation = operations.append if data[0] == 0 else operations.revoke
                user_ids = [int(user_id) for user_id in self._call_user_ids]
                result = self._dave.process_proposals(operation, data[1:], user_ids)
                if result is not None:
                    commit = bytes(result.commit) + bytes(result.welcome or b"")
                    await self._send_bytes(VoiceOpcode.MLS_COMMIT_WELCOME, commit)
            elif op in (VoiceOpcode.MLS_ANNOUNCE_COMMIT, VoiceOpcode.MLS_WELCOME):
                transition_id = int.from_bytes(data[:2], "big")
                if op == VoiceOpcode.MLS_ANNOUNCE_COMMIT:
                    self._dave.process_commit(data[2:])
                else:
                    self._dave.process_welcome(data[2:])
                await self._confirm_transition(transition_id)
            elif op == VoiceOpcode.DAVE_PREPARE_EPOCH and data["epoch"] == NEW_GROUP_EPOCH:
                await self._join_group_again()
            elif op == VoiceOpcode.DAVE_PREPARE_TRANSITION:
                await self._confirm_transition(data["transition_id"])
        except (ConnectionError, aiohttp.ClientError):
            raise
        except Exception:
            # davey raises the same type for every error. After any of them, the server adds the client with a new key package.
            await self._send(VoiceOpcode.MLS_INVALID_COMMIT_WELCOME, {"transition_id": transition_id})
            await self._join_group_again()

    async def _join_group_again(self) -> None:
        self._dave.reinit(DAVE_VERSION, int(self._ticket.user_id), int(self._ticket.channel_id))
        await self._send_key_package()

    async def _send_key_package(self) -> None:
        await self._send_bytes(VoiceOpcode.MLS_KEY_PACKAGE, bytes(self._dave.get_serialized_key_package()))

    async def _confirm_transition(self, transition_id: int) -> None:
        if transition_id:
            await self._send(VoiceOpcode.DAVE_TRANSITION_READY, {"transition_id": transition_id})

    async def _send_heartbeats(self, interval_seconds: float) -> None:
        number = 0
        while True:
            await asyncio.sleep(interval_seconds)
            number += 1
            await self._send(VoiceOpcode.HEARTBEAT, {"t": number, "seq_ack": self._seq})

    async def _send(self, op: int, data: Any) -> None:
        assert self._socket is not None
        await self._socket.send_str(msgspec.json.encode({"op": op, "d": data}).decode())

    async def _send_bytes(self, op: int, data: bytes) -> None:
        assert self._socket is not None
        await self._socket.send_bytes(bytes((op,)) + data)

    # Waiting

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _wait_until(self, predicate: Any) -> None:
        while not predicate():
            self._require_open()
            await self._changed.wait()

    def _require_open(self) -> None:
        if not self.is_open:
            raise VoiceFailed(f"the voice connection of {self._name} was closed with {self._closed_with}")
