"""A WebSocket through the proxy: opened at the target first, then messages both ways until either side says goodbye."""

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Final

import aiohttp
from aiohttp import WSMsgType, hdrs, web
from multidict import CIMultiDict
from yarl import URL

from hubbub.server.core.guarded import UnreachableError
from hubbub.server.core.guarded_streams import CLOSE_S, CONNECT_S, HEARTBEAT_S, GuardedStreams
from hubbub.server.transports.activities.forwarding import FORBIDDEN, is_forbidden
from hubbub.server.transports.activities.pages import Refusal

log = logging.getLogger(__name__)

MESSAGE_MAX: Final = 4 << 20
"""The largest message either way."""
GOING_AWAY: Final = 1001
BROKE_OFF: Final = 1011

Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse
Goodbye = tuple[int, str]


def is_asked_for(request: web.Request) -> bool:
    """Whether a request wants to become a WebSocket."""
    upgrade = request.headers.get(hdrs.UPGRADE, "").strip().lower()
    words = request.headers.get(hdrs.CONNECTION, "").lower().split(",")
    return request.method == "GET" and upgrade == "websocket" and "upgrade" in {word.strip() for word in words}


class Sockets:
    """Those that are open."""

    def __init__(self, streams: GuardedStreams) -> None:
        self._streams = streams
        self._open: set[web.WebSocketResponse] = set()

    async def bridge(self, request: web.Request, url: URL, headers: CIMultiDict[str]) -> web.StreamResponse:
        """Carry messages between a client and a target; Refusal where the target does not open."""
        offered = [
            word.strip()
            for header in request.headers.getall(hdrs.SEC_WEBSOCKET_PROTOCOL, [])
            for word in header.split(",")
            if word.strip() and word.isascii()
        ]
        for name in [name for name in headers if name.lower().startswith("sec-websocket-")]:
            headers.popall(name, None)
        # aiohttp would complain each time that a target takes none of the protocols.
        kept = [pair for pair in request.headers.items() if pair[0].lower() != "sec-websocket-protocol"]
        bare = request.clone(headers=CIMultiDict(kept))
        if not web.WebSocketResponse().can_prepare(bare):
            raise Refusal(400)
        async with AsyncExitStack() as stack:
            theirs = await self._connect(stack, url, headers, offered)
            ours = web.WebSocketResponse(
                protocols=(theirs.protocol,) if theirs.protocol else (),
                heartbeat=HEARTBEAT_S,
                timeout=CLOSE_S,
                compress=False,
                max_msg_size=MESSAGE_MAX,
            )
            await ours.prepare(request if theirs.protocol else bare)
            self._open.add(ours)
            try:
                await _carry_both(ours, theirs)
            finally:
                self._open.discard(ours)
        return ours

    async def drain(self) -> None:
        """The platform stops: say so to everybody."""
        await asyncio.gather(*(each.close(code=GOING_AWAY) for each in list(self._open)), return_exceptions=True)

    async def _connect(
        self, stack: AsyncExitStack, url: URL, headers: CIMultiDict[str], offered: list[str]
    ) -> aiohttp.ClientWebSocketResponse:
        try:
            async with asyncio.timeout(CONNECT_S):
                opening = self._streams.websocket(url, headers=headers, protocols=offered, max_bytes=MESSAGE_MAX)
                return await stack.enter_async_context(opening)
        except aiohttp.WSServerHandshakeError as error:
            # What the target says of who may come in is its own business; that it is no WebSocket at all is not.
            log.info("an activity's target opened no WebSocket: %d", error.status)
            raise Refusal(404 if error.status == 404 else 403 if error.status in (401, 403) else 502) from error
        except TimeoutError as error:
            raise Refusal(504) from error
        except (UnreachableError, aiohttp.ClientError, OSError, ValueError) as error:
            log.info("an activity's target did not answer: %r", error)
            raise Refusal(502, FORBIDDEN if is_forbidden(error) else None) from error


async def _carry_both(ours: web.WebSocketResponse, theirs: aiohttp.ClientWebSocketResponse) -> None:
    """Until one side is closed; then the other hears the same goodbye."""
    there, back = (
        asyncio.create_task(_carry(ours, theirs), name="activity socket, to target"),
        asyncio.create_task(_carry(theirs, ours), name="activity socket, to client"),
    )
    try:
        done, _ = await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (there, back):
            task.cancel()
        await asyncio.gather(there, back, return_exceptions=True)
    first = there if there in done else back
    code, reason = first.result() if first.exception() is None else (BROKE_OFF, "")
    other = theirs if first is there else ours
    await other.close(code=code, message=reason.encode()[:123])


async def _carry(source: Socket, sink: Socket) -> Goodbye:
    """Every message of one side to the other; how the one ended."""
    while True:
        message = await source.receive()
        if message.type is WSMsgType.TEXT:
            await sink.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await sink.send_bytes(message.data)
        elif message.type is WSMsgType.CLOSE:
            return _sayable(message.data), message.extra or ""
        elif message.type is WSMsgType.CLOSING:
            # It is we who close it.
            return GOING_AWAY, ""
        else:
            return _sayable(source.close_code), ""


def _sayable(code: int | None) -> int:
    """A code as it may be sent: none was given, or the connection broke (RFC 6455, 7.4.1)."""
    if code is None or code == 1006 or code == 1015 or not 1000 <= code <= 4999:
        return BROKE_OFF
    return 1000 if code == 1005 else code
