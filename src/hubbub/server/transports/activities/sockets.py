"""WebSockets through the activity proxy: connect to the target first, then relay messages until either side closes."""

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Final

import aiohttp
from aiohttp import WSMsgType, hdrs, web
from multidict import CIMultiDict
from yarl import URL

from hubbub.server.core.outbound_http import UnreachableError
from hubbub.server.core.outbound_streams import (
    CLOSE_TIMEOUT_SECONDS,
    CONNECT_TIMEOUT_SECONDS,
    HEARTBEAT_SECONDS,
    OutboundStreams,
)
from hubbub.server.transports.activities.pages import ProxyError
from hubbub.server.transports.activities.proxy import FORBIDDEN_TEXT, is_forbidden_target

log = logging.getLogger(__name__)

MESSAGE_BYTES_MAX: Final = 4 << 20
"""Size limit in bytes of a message in either direction."""
GOING_AWAY: Final = 1001
"""WebSocket close code of a server that shuts down (RFC 6455, 7.4.1)."""
CONNECTION_FAILED: Final = 1011
"""WebSocket close code of an unexpected error (RFC 6455, 7.4.1)."""
CLOSE_REASON_BYTES_MAX: Final = 123
"""Size limit in bytes of a close reason (RFC 6455, 5.5)."""

Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse
CloseInfo = tuple[int, str]
"""Close code and reason."""


def is_websocket_request(request: web.Request) -> bool:
    """Return whether a request is a WebSocket handshake."""
    upgrade = request.headers.get(hdrs.UPGRADE, "").strip().lower()
    options = request.headers.get(hdrs.CONNECTION, "").lower().split(",")
    return request.method == "GET" and upgrade == "websocket" and "upgrade" in {option.strip() for option in options}


class ActivitySockets:
    """The open WebSockets of all activities."""

    def __init__(self, streams: OutboundStreams) -> None:
        self._streams = streams
        self._open_sockets: set[web.WebSocketResponse] = set()

    async def bridge(self, request: web.Request, url: URL, headers: CIMultiDict[str]) -> web.StreamResponse:
        """Relay messages between a client and a target; raise `ProxyError` if either handshake fails."""
        protocols = [
            protocol.strip()
            for header in request.headers.getall(hdrs.SEC_WEBSOCKET_PROTOCOL, [])
            for protocol in header.split(",")
            if protocol.strip() and protocol.isascii()
        ]
        for name in [name for name in headers if name.lower().startswith("sec-websocket-")]:
            headers.popall(name, None)
        # Remove the protocol header, because aiohttp logs a warning when the target selects none of the protocols.
        remaining_headers = [
            (name, value) for name, value in request.headers.items() if name.lower() != "sec-websocket-protocol"
        ]
        request_without_protocols = request.clone(headers=CIMultiDict(remaining_headers))
        if not web.WebSocketResponse().can_prepare(request_without_protocols):
            raise ProxyError(400)
        async with AsyncExitStack() as stack:
            target = await self._connect_target(stack, url, headers, protocols)
            client = web.WebSocketResponse(
                protocols=(target.protocol,) if target.protocol else (),
                heartbeat=HEARTBEAT_SECONDS,
                timeout=CLOSE_TIMEOUT_SECONDS,
                compress=False,
                max_msg_size=MESSAGE_BYTES_MAX,
            )
            await client.prepare(request if target.protocol else request_without_protocols)
            self._open_sockets.add(client)
            try:
                await _relay_both(client, target)
            finally:
                self._open_sockets.discard(client)
        return client

    async def drain(self) -> None:
        """Close all WebSockets because the server is shutting down."""
        await asyncio.gather(
            *(socket.close(code=GOING_AWAY) for socket in list(self._open_sockets)), return_exceptions=True
        )

    async def _connect_target(
        self, stack: AsyncExitStack, url: URL, headers: CIMultiDict[str], protocols: list[str]
    ) -> aiohttp.ClientWebSocketResponse:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                connection = self._streams.websocket(
                    url, headers=headers, protocols=protocols, message_bytes_max=MESSAGE_BYTES_MAX
                )
                return await stack.enter_async_context(connection)
        except aiohttp.WSServerHandshakeError as error:
            # A target rejects a client by 401, 403 or 404. Any other status is an error of the target.
            log.info("An activity's target rejected a WebSocket handshake: %d", error.status)
            raise ProxyError(404 if error.status == 404 else 403 if error.status in (401, 403) else 502) from error
        except TimeoutError as error:
            raise ProxyError(504) from error
        except (UnreachableError, aiohttp.ClientError, OSError, ValueError) as error:
            log.info("An activity's target did not respond: %r", error)
            raise ProxyError(502, FORBIDDEN_TEXT if is_forbidden_target(error) else None) from error


async def _relay_both(client: web.WebSocketResponse, target: aiohttp.ClientWebSocketResponse) -> None:
    """Relay messages until one side closes, then close the other side with the code and reason of `_relay_messages`.

    After an error, the code is `CONNECTION_FAILED`.
    """
    target_relay, client_relay = (
        asyncio.create_task(_relay_messages(client, target), name="activity socket, to target"),
        asyncio.create_task(_relay_messages(target, client), name="activity socket, to client"),
    )
    try:
        finished_tasks, _ = await asyncio.wait((target_relay, client_relay), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (target_relay, client_relay):
            task.cancel()
        await asyncio.gather(target_relay, client_relay, return_exceptions=True)
    finished_task = target_relay if target_relay in finished_tasks else client_relay
    code, reason = finished_task.result() if finished_task.exception() is None else (CONNECTION_FAILED, "")
    other_socket = target if finished_task is target_relay else client
    await other_socket.close(code=code, message=reason.encode()[:CLOSE_REASON_BYTES_MAX])


async def _relay_messages(source: Socket, sink: Socket) -> CloseInfo:
    """Relay messages in one direction until the source closes; return the close code and reason for the sink."""
    while True:
        message = await source.receive()
        if message.type is WSMsgType.TEXT:
            await sink.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await sink.send_bytes(message.data)
        elif message.type is WSMsgType.CLOSE:
            return _sendable_code(message.data), message.extra or ""
        elif message.type is WSMsgType.CLOSING:
            # This server is closing the connection.
            return GOING_AWAY, ""
        else:
            return _sendable_code(source.close_code), ""


def _sendable_code(code: int | None) -> int:
    """Return a close code that may be sent: replace a missing code, a code of a lost connection, and a code out of range.

    RFC 6455, 7.4.1 lists the codes that must not be sent.
    """
    if code is None or code == 1006 or code == 1015 or not 1000 <= code <= 4999:
        return CONNECTION_FAILED
    return 1000 if code == 1005 else code
