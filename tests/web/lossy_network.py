"""A UDP proxy between a page and the voice server, and the script that makes the page use it.

The proxy can lose, delay and reorder packets, and limit their bitrate."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

SEED = 7
QUEUE_SECONDS_MAX = 0.2
"""Longest time in seconds that a packet waits for a limited bitrate; other packets are dropped, as by a router."""


class _Upstream(asyncio.DatagramProtocol):
    """The socket towards the voice server for one address of the page."""

    def __init__(self, network: "LossyNetwork", client: Any) -> None:
        self._network = network
        self._client = client

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Forward a datagram of the server to the page."""
        self._network.forward("down", data, lambda: self._network.transport.sendto(data, self._client))


class LossyNetwork(asyncio.DatagramProtocol):
    """A proxy of the voice server's UDP port."""

    transport: asyncio.DatagramTransport

    def __init__(self, server_port: int) -> None:
        self.loss = 0.0
        """Share of datagrams that are dropped at random, from 0 to 1."""
        self.jitter_seconds = 0.0
        """Longest random delay of a datagram; datagrams with a short delay overtake others."""
        self.bits_per_second: int | None = None
        """Bitrate of each direction; None is unlimited."""
        self.dropped_count = 0
        self.overtaken_count = 0
        """Number of datagrams that were delivered after a later one of the same direction."""
        self._idle_at = {"up": 0.0, "down": 0.0}
        """Event loop time at which the limited link has sent all its datagrams, by direction."""
        self._sent_number = {"up": 0, "down": 0}
        self._delivered_number = {"up": 0, "down": 0}
        self._server = ("127.0.0.1", server_port)
        self._upstreams: dict[Any, asyncio.Task[asyncio.DatagramTransport]] = {}
        self._random = random.Random(SEED)

    @classmethod
    async def open(cls, server_port: int) -> "LossyNetwork":
        """Listen on a free port."""
        network = cls(server_port)
        loop = asyncio.get_running_loop()
        network.transport, _ = await loop.create_datagram_endpoint(lambda: network, local_addr=("127.0.0.1", 0))
        return network

    def clear_faults(self) -> None:
        """Deliver all later datagrams without a delay."""
        self.loss, self.jitter_seconds, self.bits_per_second = 0.0, 0.0, None

    @property
    def port(self) -> int:
        """The port that pages send to."""
        return int(self.transport.get_extra_info("sockname")[1])

    @property
    def init_script(self) -> str:
        """A script that replaces the port of the voice server in the session description (opcode 4) by the port of this proxy."""
        return """
window.WebSocket = class extends WebSocket {
  addEventListener(type, listener, options) {
    const isVoice = new URL(this.url).pathname === "/voice";
    if (type !== "message" || !isVoice) return super.addEventListener(type, listener, options);
    super.addEventListener(type, event => {
      const message = typeof event.data === "string" ? JSON.parse(event.data) : null;
      if (message?.op !== 4) return listener(event);
      const [, port] = /m=audio (\\d+)/.exec(message.d.sdp);
      message.d.sdp = message.d.sdp.replaceAll(port, "PORT");
      listener({ data: JSON.stringify(message) });
    });
  }
};
""".replace("PORT", str(self.port))

    def forward(self, direction: str, data: bytes, send: Callable[[], None]) -> None:
        """Call `send` after the delay of a datagram, or drop the datagram."""
        loop = asyncio.get_running_loop()
        delay = self._random.uniform(0, self.jitter_seconds)
        if self.bits_per_second is not None:
            started_at = max(self._idle_at[direction], loop.time())
            if started_at - loop.time() > QUEUE_SECONDS_MAX:
                self.dropped_count += 1
                return
            self._idle_at[direction] = started_at + 8 * len(data) / self.bits_per_second
            delay += self._idle_at[direction] - loop.time()
        if self._random.random() < self.loss:
            self.dropped_count += 1
            return
        self._sent_number[direction] += 1
        number = self._sent_number[direction]

        def deliver() -> None:
            if self.transport.is_closing():
                return
            self.overtaken_count += number < self._delivered_number[direction]
            self._delivered_number[direction] = max(number, self._delivered_number[direction])
            send()

        if delay > 0:
            loop.call_later(delay, deliver)
        else:
            deliver()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Forward a datagram of the page to the server."""
        self.forward("up", data, lambda: self._send_upstream(data, addr))

    def _send_upstream(self, data: bytes, client: Any) -> None:
        if client not in self._upstreams:
            self._upstreams[client] = asyncio.create_task(self._open_upstream(client))

        def send(open_task: asyncio.Task[asyncio.DatagramTransport]) -> None:
            if not open_task.cancelled():
                open_task.result().sendto(data)

        self._upstreams[client].add_done_callback(send)

    async def _open_upstream(self, client: Any) -> asyncio.DatagramTransport:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: _Upstream(self, client), remote_addr=self._server)
        return transport

    async def change_address(self) -> None:
        """Send to the server from other addresses from now on, as after a change of a network address translation."""
        upstreams, self._upstreams = self._upstreams, {}
        for opening in upstreams.values():
            (await opening).close()

    async def close(self) -> None:
        """Close all sockets."""
        self.transport.close()
        for upstream_task in self._upstreams.values():
            (await upstream_task).close()
