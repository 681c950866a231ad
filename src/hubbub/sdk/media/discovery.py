"""UDP socket to the voice server, and discovery of the client's external address (spec/voice.md#7)."""

import asyncio
import ipaddress
import socket
from typing import Final

from hubbub.media.datagrams import discovery_request, parse_discovery_response
from hubbub.media.rtp import PACKET_BYTES_MAX

TRY_TIMEOUT_SECONDS: Final = 1.0
"""Maximum time to wait for the response to one request, in seconds; also the pause after a failed try."""
TRIES_MAX: Final = 5


def open_udp_socket(ip: str, port: int) -> socket.socket:
    """Open a UDP socket to a server; raise ValueError for a host name, because resolving one would block."""
    is_ipv6 = ipaddress.ip_address(ip).version == 6
    udp_socket = socket.socket(socket.AF_INET6 if is_ipv6 else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        udp_socket.setblocking(False)
        udp_socket.connect((ip, port))
    except BaseException:
        udp_socket.close()
        raise
    return udp_socket


async def discover_address(udp_socket: socket.socket, ssrc: int) -> tuple[str, int]:
    """Return the client's external address and port; raise TimeoutError if the server does not respond."""
    loop = asyncio.get_running_loop()
    for _ in range(TRIES_MAX):
        try:
            udp_socket.send(discovery_request(ssrc))
            async with asyncio.timeout(TRY_TIMEOUT_SECONDS):
                while True:
                    address = parse_discovery_response(await loop.sock_recv(udp_socket, PACKET_BYTES_MAX), ssrc)
                    if address is not None:
                        return address
        except TimeoutError:
            continue
        except OSError:
            # For example ICMP port unreachable: the server may not be ready yet.
            await asyncio.sleep(TRY_TIMEOUT_SECONDS)
    raise TimeoutError("The voice server did not respond to address discovery")
