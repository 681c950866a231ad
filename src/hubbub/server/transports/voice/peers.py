"""The media state of each client, and the groups among which packets are forwarded (spec/voice.md#7)."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from hubbub.media.ciphers import Cipher
from hubbub.server.transports.voice.bitrate import BitrateLimit
from hubbub.server.transports.voice.reception import Reception, ReplayWindow
from hubbub.server.transports.voice.webrtc import BrowserTransport, SrtpCipher

Address = tuple[str, int]

EARLY_PACKETS_MAX: Final = 16
"""Maximum number of buffered packets of a client that has not announced speaking yet; a third of a second of audio."""
DISCOVERED_ADDRESSES_MAX: Final = 4
"""Maximum number of addresses of discovery requests that are stored for a peer."""
ADDRESS_PROOF_PACKETS: Final = 3
"""Number of successive packets from another address after which a native client receives there; 60 ms of audio."""
ADDRESS_CHANGE_INTERVAL_SECONDS: Final = 1.0
"""Minimum time in seconds between two changes of the address of a native client."""
FOREIGN_BITS_PER_SECOND: Final = 1_000_000
"""Maximum bits per second that a native client receives at another IP address than that of its WebSocket.

They suffice for the audio of 11 members at 64 kbit/s, with headers."""
FOREIGN_BURST_BYTES: Final = 125_000
"""Maximum bytes that a native client receives at once at another IP address than that of its WebSocket."""


class SendAllowance:
    """The bytes that may be sent to an address whose owner may not have asked for them (decisions/0176)."""

    __slots__ = ("_bytes", "_updated_at")

    def __init__(self) -> None:
        self._bytes: float = FOREIGN_BURST_BYTES
        self._updated_at = asyncio.get_running_loop().time()

    def take(self, size: int) -> bool:
        """Take the bytes of a packet, or return False if fewer are left."""
        now = asyncio.get_running_loop().time()
        earned_bytes = (now - self._updated_at) * FOREIGN_BITS_PER_SECOND / 8
        self._bytes, self._updated_at = min(self._bytes + earned_bytes, FOREIGN_BURST_BYTES), now
        if self._bytes < size:
            return False
        self._bytes -= size
        return True


class ForwardingGroup:
    """The peers of one call, among which packets are forwarded."""

    __slots__ = ("allows_unencrypted", "peers")

    def __init__(self, allows_unencrypted: Callable[[], bool]) -> None:
        self.peers: list[Peer] = []
        self.allows_unencrypted = allows_unencrypted
        """Function that returns whether frames without end-to-end encryption may be forwarded."""

    def add(self, peer: "Peer") -> None:
        peer.group = self
        if peer not in self.peers:
            self.peers = [*self.peers, peer]

    def remove(self, peer: "Peer") -> None:
        peer.group = None
        self.peers = [other for other in self.peers if other is not peer]
        for other in self.peers:
            if isinstance(other.cipher, SrtpCipher):
                for ssrc in peer.ssrcs:
                    other.cipher.remove_stream(ssrc)


class Peer:
    """The media state of one client."""

    __slots__ = (
        "address",
        "address_changed_at",
        "allowance",
        "_foreign_allowance",
        "browser",
        "discovered_addresses",
        "discovery_timer",
        "cipher",
        "supports_dave",
        "is_deaf",
        "early_packets",
        "group",
        "new_address",
        "new_address_first_number",
        "new_address_packet_count",
        "bitrate_limit",
        "bitrate_timer",
        "key_frame_requested_at",
        "pause_count",
        "pause_timers",
        "proven_ip",
        "reception",
        "report_timer",
        "sends_video",
        "is_muted",
        "is_suppressed",
        "has_announced_speaking",
        "on_key_exhausted",
        "ssrc",
        "unwanted_ssrcs",
        "video_reception",
        "windows",
    )

    def __init__(self, ssrc: int) -> None:
        self.ssrc = ssrc
        """SSRC of the client's audio; the next two numbers are for its video and for retransmissions."""
        self.cipher: Cipher | None = None
        """The cipher of the client's packets; None until the client has a key."""
        self.address: Address | None = None
        """The address that the client receives packets at; None until the client has proven it (decisions/0070)."""
        self.allowance: SendAllowance | None = None
        """The bytes that may be sent to `address`; None if the client is known to be there, so that there is no limit."""
        self._foreign_allowance: SendAllowance | None = None
        """The allowance of all addresses of another IP; None until the client has had one."""
        self.on_key_exhausted: Callable[[], None] = lambda: None
        """Function that ends the session of a native client whose key must not be used any longer."""
        self.new_address: Address | None = None
        """Another address, from which the newest packets of a native client came; None if there is none (decisions/0176)."""
        self.new_address_packet_count = self.new_address_first_number = 0
        """Number of packets from `new_address` since the last one from `address`, and the packet number of the first."""
        self.address_changed_at = float("-inf")
        """Event loop time of the last change from one address to another."""
        self.browser: BrowserTransport | None = None
        """The transport of a browser; None for a native client."""
        self.discovered_addresses: deque[Address] = deque(maxlen=DISCOVERED_ADDRESSES_MAX)
        """The latest addresses of discovery requests with the client's SSRC; anyone may have sent them."""
        self.proven_ip: str | None = None
        """The IP address of the client's WebSocket, which cannot be forged, because TCP needs responses from it."""
        self.group: ForwardingGroup | None = None
        self.is_muted = False
        """Whether the client's audio is dropped."""
        self.is_suppressed = False
        """Whether the client's audio and video are dropped."""
        self.is_deaf = False
        """Whether the client receives no audio."""
        self.has_announced_speaking = False
        """Whether the client announced by opcode 5 that it speaks."""
        self.early_packets: deque[bytes] = deque(maxlen=EARLY_PACKETS_MAX)
        """The most recent audio packets received before the client announced that it speaks."""
        self.sends_video = False
        """Whether the client announced by opcode 12 that it sends video."""
        self.supports_dave = False
        """Whether the client can decrypt end-to-end encrypted frames."""
        self.unwanted_ssrcs: frozenset[int] = frozenset()
        """SSRCs of the streams that the client does not want to receive."""
        self.windows: dict[int, ReplayWindow] = {}
        """Replay windows by SSRC, or one under the key 0 if all streams share it."""
        self.reception = Reception()
        """Statistics of the client's audio."""
        self.video_reception = Reception()
        """Statistics of the video of a browser."""
        self.bitrate_limit = BitrateLimit()
        """The bitrate that a browser may use for its video."""
        self.pause_timers: dict[int, asyncio.TimerHandle] = {}
        """Timers that end the pauses of the videos that a browser's network cannot carry, by SSRC."""
        self.pause_count = 0
        """Number of pauses so far."""
        self.report_timer: asyncio.TimerHandle | None = None
        self.discovery_timer: asyncio.TimerHandle | None = None
        self.bitrate_timer: asyncio.TimerHandle | None = None
        self.key_frame_requested_at = float("-inf")
        """Event loop time of the last key frame request that was forwarded to the client."""

    @property
    def ssrcs(self) -> tuple[int, int, int]:
        """The SSRCs of audio, video and retransmitted video."""
        return self.ssrc, self.ssrc + 1, self.ssrc + 2

    def record_packet(self, ssrc: int, number: int) -> bool:
        """Record the number of a packet; return False if it was seen before or is too old.

        `number` is a nonce counter (32 bits), which covers all streams of a key, or a sequence number (16 bits), which
        is per stream.
        """
        return self._resolve_window(ssrc).record(number)

    def needs_new_key(self) -> bool:
        """Return whether one side has almost used all its packet numbers, or is near those of the other side."""
        cipher = self.cipher
        if cipher is None or cipher.packet_number_bits != 32:
            return False
        window = self.windows.get(0)
        return cipher.has_few_numbers or (
            window is not None and window.highest >= 0 and cipher.has_number_near(window.first, window.highest)
        )

    def set_address(self, address: Address | None) -> None:
        """Send packets to another address, or to none, from now on."""
        self.address = address
        self.new_address, self.new_address_packet_count = None, 0
        self._limit_bytes()

    def set_proven_ip(self, ip: str) -> None:
        """Set the IP address of the client's WebSocket."""
        self.proven_ip = ip
        self._limit_bytes()

    def _limit_bytes(self) -> None:
        """Limit what is sent to the address, unless TCP has proven its IP or a browser has answered a request there.

        A member of a call can send packets with forged source addresses, and native clients answer no request over UDP.
        """
        if self.browser is not None or self.address is None or self.address[0] == self.proven_ip:
            self.allowance = None
        else:
            self._foreign_allowance = self._foreign_allowance or SendAllowance()
            self.allowance = self._foreign_allowance

    def record_source(self, address: Address, ssrc: int, number: int, *, is_new: bool, now: float) -> None:
        """Record the address that a recorded packet of a native client came from, which may become the client's address.

        A client that has another address needs `ADDRESS_PROOF_PACKETS` packets from the new one without any from the
        other in between, because an attacker can deliver a copy from its own address before the original arrives.
        `is_new` tells whether the packet was the first one with its number; `now` is the event loop's time.
        """
        window = self._resolve_window(ssrc)
        if address == self.address:
            # The original of a packet that came from the new address shows that another sender copies packets there.
            if is_new or not window.is_before(number, self.new_address_first_number):
                self.new_address = None
            return
        if not is_new or number != window.highest:
            # A late packet may come from an address that the client has left.
            return
        if self.address is None:
            self.set_address(address)
            return
        if address != self.new_address:
            self.new_address, self.new_address_packet_count = address, 0
            self.new_address_first_number = number
        self.new_address_packet_count += 1
        if (
            self.new_address_packet_count >= ADDRESS_PROOF_PACKETS
            and now - self.address_changed_at >= ADDRESS_CHANGE_INTERVAL_SECONDS
        ):
            self.set_address(address)
            self.address_changed_at = now

    def _resolve_window(self, ssrc: int) -> ReplayWindow:
        """Return the replay window of a stream, or of all streams if their packets have common numbers."""
        assert self.cipher is not None
        stream = 0 if self.cipher.packet_number_bits == 32 else ssrc
        window = self.windows.get(stream)
        if window is None:
            window = self.windows[stream] = ReplayWindow(self.cipher.packet_number_bits)
        return window
