"""An HTTP/1.1 client that sends any bytes: requests may violate the protocol in ways that client libraries prevent."""

import asyncio
import re
from dataclasses import dataclass, field

_STATUS_LINE_PATTERN = re.compile(rb"HTTP/1\.[01] (\d{3})")
_LENGTH_PATTERN = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED_PATTERN = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_CLOSE_PATTERN = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
_BODILESS_STATUSES = (204, 304)


@dataclass
class WireRequest:
    """A request as bytes: method, target, headers and body. `encode` adds Host and Content-Length where needed."""

    method: str
    target: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    is_truncated: bool = False
    """Whether the connection closes before the whole body was sent."""
    is_mutated: bool = False
    """Whether the bytes were mutated, so that they may violate HTTP."""

    def encode(self) -> bytes:
        """Return the request as it is sent."""
        names = {name.lower() for name, _ in self.headers}
        headers = list(self.headers)
        if "host" not in names:
            headers.insert(0, ("Host", "127.0.0.1"))
        if not names & {"content-length", "transfer-encoding"} and (self.body or self.method not in ("GET", "HEAD")):
            headers.append(("Content-Length", str(len(self.body))))
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
        head = "\r\n".join(lines).encode("utf-8", "surrogateescape")
        body = self.body[: len(self.body) // 2] if self.is_truncated else self.body
        return head + body


@dataclass
class WireResponse:
    """A response: status, head and body. Status 0 stands for a connection that closed without a valid response."""

    status: int
    head: bytes = b""
    body: bytes = b""


class WireClient:
    """A client with one connection, which is opened again after every close."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, request: WireRequest) -> WireResponse:
        """Send a request and return the response; a reused connection that the server closed is opened again once."""
        request_bytes = request.encode()
        is_reused = self._streams is not None
        response = await self._exchange(request_bytes, request)
        if response.status == 0 and is_reused and not request.is_truncated:
            response = await self._exchange(request_bytes, request)
        return response

    async def _exchange(self, request_bytes: bytes, request: WireRequest) -> WireResponse:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=2**26)
        reader, writer = self._streams
        try:
            writer.write(request_bytes)
            await writer.drain()
            if request.is_truncated:
                self.close()
                return WireResponse(0)
            head = await reader.readuntil(b"\r\n\r\n")
            while head.startswith(b"HTTP/1.1 100"):
                head = await reader.readuntil(b"\r\n\r\n")
            return await self._read_body(reader, head, request)
        except (OSError, asyncio.IncompleteReadError, ValueError):
            self.close()
            return WireResponse(0)
        except BaseException:
            self.close()
            raise

    async def _read_body(self, reader: asyncio.StreamReader, head: bytes, request: WireRequest) -> WireResponse:
        line = _STATUS_LINE_PATTERN.match(head)
        if line is None:
            raise ValueError(f"invalid response: {head[:100]!r}")
        status = int(line[1])
        body = b""
        if status in _BODILESS_STATUSES or request.method == "HEAD":
            pass
        elif length := _LENGTH_PATTERN.search(head):
            body = await reader.readexactly(int(length[1]))
        elif _CHUNKED_PATTERN.search(head):
            while chunk_size := int(await reader.readuntil(b"\r\n"), 16):
                body += (await reader.readexactly(chunk_size + 2))[:-2]
            await reader.readexactly(2)
        else:
            body = await reader.read()
            self.close()
        # Close the connection if the server may not have read the whole request: the rest would become the next request.
        names = {name.lower() for name, _ in request.headers}
        if (
            _CLOSE_PATTERN.search(head)
            or (status in (400, 413, 417, 431) and request.is_mutated)
            or names & {"content-length", "transfer-encoding"}
        ):
            self.close()
        return WireResponse(status, head, body)

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
