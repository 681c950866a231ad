"""A UDP proxy between a page and the voice server that loses packets, and the script that makes the page use it."""

import asyncio
import random
from typing import Any

SEED = 7


class _Upstream(asyncio.DatagramProtocol):
    """The socket towards the voice server for one address of the page."""

    def __init__(self, network: "LossyNetwork", client: Any) -> None:
        self._network = network
        self._client = client

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Forward a datagram of the server to the page."""
        if self._network.decide_to_forward():
            self._network.transport.sendto(data, self._client)


class LossyNetwork(asyncio.DatagramProtocol):
    """A proxy of the voice server's UDP port. `loss` is the share of datagrams that it drops, from 0 to 1."""

    transport: asyncio.DatagramTransport

    def __init__(self, server_port: int) -> None:
        self.loss = 0.0
        self.dropped_count = 0
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

    def decide_to_forward(self) -> bool:
        """Return at random whether the next datagram is forwarded, and count it if it is dropped."""
        is_lost = self._random.random() < self.loss
        self.dropped_count += is_lost
        return not is_lost

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Forward a datagram of the page to the server."""
        if not self.decide_to_forward():
            return
        if addr not in self._upstreams:
            self._upstreams[addr] = asyncio.create_task(self._open_upstream(addr))

        def send(open_task: asyncio.Task[asyncio.DatagramTransport]) -> None:
            if not open_task.cancelled():
                open_task.result().sendto(data)

        self._upstreams[addr].add_done_callback(send)

    async def _open_upstream(self, client: Any) -> asyncio.DatagramTransport:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: _Upstream(self, client), remote_addr=self._server)
        return transport

    async def close(self) -> None:
        """Close all sockets."""
        self.transport.close()
        for opening in self._upstreams.values():
            (await opening).close()
