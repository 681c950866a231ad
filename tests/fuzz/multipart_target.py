"""Fuzzing of multipart bodies: the grammar of parts, headers, names and boundaries, and the bytes around them."""

import random
from typing import Any

from hubbub.server.core.endpoints import Endpoint
from tests.fuzz.http_target import HttpTarget
from tests.fuzz.mutations import encode_json, mutate_bytes, mutate_wire
from tests.fuzz.platform import Platform
from tests.fuzz.report import Report
from tests.fuzz.values import TEXTS
from tests.fuzz.wire import WireRequest
from tests.media import mp3, png

_NAMES = (
    "payload_json",
    "files[0]",
    "files[1]",
    "files[99999999999999999999]",
    "files[-1]",
    "files[]",
    "files%5B0%5D",
    "file",
    "file1",
    "content",
    "name",
    "tags",
    "target_users_file",
    "",
    "%ff",
    'a"b',
)
_FILENAMES = (
    "a.png",
    "",
    "..",
    "../../a",
    "a" * 400 + ".png",
    "a\\b.txt",
    "é.png",
    "\x00.png",
    "CON",
    ".",
    "a.b.c.d",
    "\u202e.png",
    "a.svg",
    "a.html",
)
_TYPES = (
    "image/png",
    "text/csv",
    "application/json",
    "text/html",
    "a/b; c=d",
    "",
    "\x7f",
    "image/" + "x" * 200,
    "multipart/mixed",
)
_DISPOSITIONS = ("form-data", "attachment", "", "FORM-DATA", "form-data;;;", "form-data; name")
_CONTENTS = (
    png(),
    png(320, 320),
    mp3(),
    b"",
    b"\r\n",
    b"user_id\n1\n",
    b"user_id\r\n" + b"1\r\n" * 300,
    b"\x00" * 3000,
    b"GIF89a" + bytes(60),
    b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    b"RIFF\x24\x00\x00\x00WEBPVP8L" + bytes(30),
    b"\xff\xd8\xff\xe0" + bytes(40),
    b'{"v":"5.5.2","layers":[]}',
    b"PK\x03\x04" + bytes(40),
)


class MultipartTarget(HttpTarget):
    """Sends multipart bodies to the operations that accept files."""

    name = "multipart"

    def __init__(self, platform: Platform, rng: random.Random, report: Report) -> None:
        super().__init__(platform, rng, report)
        self.endpoints = [endpoint for endpoint in self.endpoints if endpoint.operation.uploads is not None]

    async def step(self) -> None:
        """Send a multipart body to one operation."""
        endpoint = self.random.choice(self.endpoints)
        if self.random.random() < 0.02:
            await self._send_valid(endpoint)
            return
        valid_request = self._valid_requests.get(endpoint.name)
        if valid_request is None:
            return
        boundary = self.random.choice(("b", "----boundary", "x" * 70, "x" * 201, "a b", "-", "--"))
        body = self._build_body(endpoint, boundary.encode(), valid_request.body)
        if self.random.random() < 0.25:
            body = mutate_bytes(body, self.random)
        boundary_text = f'"{boundary}"' if self.random.random() < 0.3 else boundary
        content_type = f"multipart/form-data; boundary={boundary_text}"
        caller_kind, caller = self._choose_caller(endpoint, valid_request)
        wire = await self._encode(
            endpoint,
            caller,
            valid_request.values,
            valid_request.query,
            None,
            (content_type, body),
            valid_request.headers,
        )
        self._is_mutated = self.random.random() < 0.1
        if self._is_mutated:
            wire = mutate_wire(wire, self.random)
        elif self.random.random() < 0.2:
            wire = _chunk(wire, self.random)
        await self._send(endpoint, wire, {"caller": caller_kind, "values": valid_request.values})

    def _build_body(self, endpoint: Endpoint, boundary: bytes, valid_body: Any) -> bytes:
        parts = []
        if self.random.random() < 0.6:
            body = valid_body if self.random.random() < 0.5 else self._value_source.build(endpoint.operation.body)
            parts.append(
                _encode_part('form-data; name="payload_json"', "application/json", encode_json(body, self.random))
            )
        for _ in range(self.random.choice((0, 1, 1, 2, 3, 12, 201) if self.random.random() < 0.1 else (1, 1, 2))):
            parts.append(self._build_part(endpoint))
        line_break = b"\r\n" if self.random.random() < 0.95 else b"\n"
        body = b"".join(b"--" + boundary + line_break + part + line_break for part in parts)
        preamble = self.random.choice((b"", b"", b"", b"preamble\r\n", b"--", b"\r\n" * 5))
        last_line = self.random.choice(
            (b"--\r\n", b"--\r\n", b"--\r\n", b"--", b"", b"-", b"--\r\nepilogue", b" " * 300 + b"--")
        )
        return preamble + body + b"--" + boundary + last_line

    def _build_part(self, endpoint: Endpoint) -> bytes:
        uploads = endpoint.operation.uploads
        assert uploads is not None
        field = "files[0]" if uploads.field == "files" else uploads.field
        name = field if self.random.random() < 0.6 else self.random.choice(_NAMES)
        disposition = "form-data" if self.random.random() < 0.9 else self.random.choice(_DISPOSITIONS)
        header = f'{disposition}; name="{name}"'
        if self.random.random() < 0.8:
            filename = self.random.choice(_FILENAMES)
            header += self.random.choice(
                (f'; filename="{filename}"', f"; filename={filename}", f"; filename*=UTF-8''{filename}")
            )
        content = self.random.choice(_CONTENTS)
        if self.random.random() < 0.2:
            content = mutate_bytes(content, self.random)
        if self.random.random() < 0.1:
            content = self.random.choice(TEXTS).encode("utf-8", "surrogatepass")
        return _encode_part(header, self.random.choice(_TYPES) if self.random.random() < 0.5 else "image/png", content)


def _encode_part(disposition: str, content_type: str, content: bytes) -> bytes:
    head = f"Content-Disposition: {disposition}\r\n"
    if content_type:
        head += f"Content-Type: {content_type}\r\n"
    return head.encode("utf-8", "surrogatepass") + b"\r\n" + content


def _chunk(wire: WireRequest, rng: random.Random) -> WireRequest:
    """Return the request with a chunked body in pieces of random sizes."""
    body, position = b"", 0
    while position < len(wire.body):
        chunk_size = rng.choice((1, 2, 7, 100, 4000))
        chunk = wire.body[position : position + chunk_size]
        body += f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n"
        position += chunk_size
        if len(body) > 60_000:
            chunk = wire.body[position:]
            body += f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" if chunk else b""
            break
    headers = [*wire.headers, ("Transfer-Encoding", "chunked")]
    return WireRequest(wire.method, wire.target, headers, body + b"0\r\n\r\n")
