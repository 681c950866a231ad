"""Hostile clients get a documented error or a closed connection, never a 500, and do not affect other users."""

import asyncio
import base64
import contextlib
import json
import os
import random
import socket
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import psycopg
import pytest

from tests.fixtures.postgres import with_database
from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, GatewaySession, Server, demo_users, running

pytestmark = pytest.mark.xdist_group("attacks")

READ_TIMEOUT_S = 2.0
HELLO_TIMEOUT_S = 2.0
MEMORY_GROWTH_MAX = 120 * 1024 * 1024
"""The memory in bytes by which the server may grow during all attacks."""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all attacks. Afterwards it still works, and its log contains no error."""
    directory: Path = tmp_path_factory.mktemp("attacks")
    flags: list[str] = []
    with contextlib.ExitStack() as stack:
        if request.param == "postgres":
            connection: psycopg.Connection = request.getfixturevalue("postgres_connection")
            name = f"attacks_{os.getpid()}"
            connection.execute(f"CREATE DATABASE {name}")
            stack.callback(connection.execute, f"DROP DATABASE {name} WITH (FORCE)")
            flags += ["--database-url", with_database(request.getfixturevalue("postgres_url"), name)]
        server = Server(directory, "dev", *flags)
        stack.callback(server.stop)
        asyncio.run(server.start())
        size = psutil.Process(server.pid).memory_info().rss
        yield server
        grown = psutil.Process(server.pid).memory_info().rss - size
        server.terminate()
        assert asyncio.run(server.ended()) == 0
        assert '"level":"error"' not in server.log_text(), server.log_text()
        assert grown < MEMORY_GROWTH_MAX, f"{grown / 2**20:.0f} MiB"


@pytest.fixture
async def short_timeout_server(tmp_path: Path) -> AsyncIterator[Server]:
    """A server with short timeouts; those of the other server are long enough for a busy machine."""
    flags = ["--http-read-timeout-ms", str(int(READ_TIMEOUT_S * 1000))]
    flags += ["--gateway-hello-timeout-ms", str(int(HELLO_TIMEOUT_S * 1000))]
    async with running(tmp_path, "dev", *flags) as server:
        yield server
        assert '"level":"error"' not in server.log_text(), server.log_text()


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as client:
        yield client


@pytest.fixture
def alice(server: Server, client: aiohttp.ClientSession) -> ApiUser:
    return demo_users(client, server)["alice"]


def guild_of(server: Server) -> str:
    guild: str = server.document["guilds"]["Town Square"]["id"]
    return guild


def general(server: Server) -> str:
    channel: str = server.document["guilds"]["Town Square"]["channels"]["general"]
    return channel


async def exchange(server: Server, request: bytes, *, more: bytes = b"") -> tuple[int, Any, bytes]:
    """Send raw bytes; return status, JSON body and head, or status 0 if the connection closes without a response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            writer.write(request + more)
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return 0, None, b""
            status = int(head.split()[1])
            lengths = [line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            body = await reader.readexactly(int(lengths[0])) if lengths and not request.startswith(b"HEAD") else b""
            return status, json.loads(body) if body else None, head
    finally:
        writer.close()


def head(method: str, path: str, person: ApiUser | None = None, **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: hubbub"]
    if person is not None:
        lines.append(f"Authorization: {person.token}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def posting(path: str, person: ApiUser, body: bytes, **headers: str) -> bytes:
    return head("POST", path, person, Content_Type="application/json", Content_Length=str(len(body)), **headers) + body


def refused(answer: tuple[int, Any, bytes], *statuses: int) -> Any:
    """Check that a response is an API error and return its body."""
    status, body, _ = answer
    assert status in (statuses or range(400, 500)), answer
    assert isinstance(body, dict), answer
    assert isinstance(body["message"], str), answer
    assert isinstance(body["code"], int), answer
    return body


def nested(opening: bytes, closing: bytes, depth: int = 10_000) -> bytes:
    return opening * depth + closing * depth


BODIES: dict[str, bytes] = {
    "deep arrays": b'{"content":' + nested(b"[", b"]") + b"}",
    "deep objects": b'{"content":' + nested(b'{"a":', b"}").replace(b":}", b":1}", 1) + b"}",
    "deep in a known field": b'{"content":"x","embeds":' + nested(b"[", b"]") + b"}",
    "deep in an unknown field": b'{"content":"x","zzz":' + nested(b"[", b"]") + b"}",
    "only openings": b"[" * 100_000,
    "invalid UTF-8": b'{"content":"\xff\xfe"}',
    "overlong UTF-8": b'{"content":"\xc0\xaf"}',
    "encoded surrogates": b'{"content":"\xed\xa0\x80"}',
    "a lone surrogate": b'{"content":"\\ud800"}',
    "UTF-16": '{"content":"x"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"content":"x"}',
    "not an object": b"[]",
    "a number": b"1",
    "nothing": b"",
    "NUL bytes": b"\x00" * 100,
    "two values": b'{"content":"x"}{"content":"y"}',
    "NaN": b'{"content":NaN}',
    "a huge number": b'{"content":"x","flags":1' + b"0" * 5000 + b"}",
    "a huge exponent": b'{"content":"x","flags":1e999999999}',
    "wrong types": b'{"content":{"a":1},"embeds":"x","flags":[],"nonce":{},"tts":"maybe"}',
    "a huge snowflake": b'{"content":"x","message_reference":{"message_id":"' + b"9" * 40 + b'"}}',
    "a negative snowflake": b'{"content":"x","message_reference":{"message_id":"-1"}}',
    "unicode digits": '{"content":"x","message_reference":{"message_id":"١٢٣"}}'.encode(),
    "too long": b'{"content":"' + b"x" * 5000 + b'"}',
    "only NUL": b'{"content":"\\u0000"}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
async def test_a_malformed_body_is_rejected(server: Server, alice: ApiUser, body: bytes) -> None:
    path = f"/api/v10/channels/{general(server)}/messages"
    refused(await exchange(server, posting(path, alice, body)), 400)


async def test_the_last_of_duplicate_keys_counts(server: Server, alice: ApiUser) -> None:
    path = f"/api/v10/channels/{general(server)}/messages"
    status, body, _ = await exchange(server, posting(path, alice, b'{"content":"one","content":"two"}'))
    assert (status, body["content"]) == (200, "two")


TEXTS: dict[str, str] = {
    "a\u0000b": "ab",
    "\u202e\u200b\ufeff": "\u202e\u200b\ufeff",
    "\x1b[31m": "\x1b[31m",
    "'; DROP TABLE users; --": "'; DROP TABLE users; --",
    "%s %d {}": "%s %d {}",
    "\U0010ffff": "\U0010ffff",
}
"""Unusual texts, and the text that is stored for each: only NUL is removed."""


async def test_unusual_text_is_stored(server: Server, alice: ApiUser) -> None:
    for text, stored in TEXTS.items():
        for path, field in (
            (f"/channels/{general(server)}/messages", "content"),
            (f"/guilds/{guild_of(server)}/roles", "name"),
        ):
            answer = await alice.post(path, {field: text})
            assert (answer.status, answer.json[field]) == (200, stored), (text, answer)


async def test_text_above_its_limit_is_rejected(server: Server, alice: ApiUser) -> None:
    for path, field, limit in (
        (f"/channels/{general(server)}/messages", "content", 2000),
        (f"/guilds/{guild_of(server)}/roles", "name", 100),
    ):
        assert (await alice.post(path, {field: "a" * limit})).status == 200
        (await alice.post(path, {field: "a" * (limit + 1)})).rejected(400, 50035)


BAD_REQUEST, INVALID_FORM, INVALID_VERSION, NOT_FOUND = (400, 0), (400, 50035), (400, 50041), (404, 0)

PATHS: dict[str, tuple[int, int]] = {
    "/api/v10/channels/%2e%2e/%2e%2e/healthz": NOT_FOUND,
    "/api/v10/../../../../etc/passwd": NOT_FOUND,
    "/api/v10/channels/../../healthz": NOT_FOUND,
    "/api/v10/channels/1%2f2/messages": INVALID_FORM,
    "/api/v10/channels/1%252f2": INVALID_FORM,
    "/api/v10/channels/1%5c2": INVALID_FORM,
    "/api/v10/channels/%D9%A1%D9%A2%D9%A3": INVALID_FORM,
    "/api/v10/channels/\u0661\u0662\u0663": BAD_REQUEST,
    "/api/v10/channels/\uff11\uff12": BAD_REQUEST,
    "/api/v10/channels/%00": NOT_FOUND,
    "/api/v10/channels/1%00": (404, 10003),
    "/api/v10/channels/%ff%fe": INVALID_FORM,
    "/api/v10/channels/%": INVALID_FORM,
    "/api/v10/channels/%zz": INVALID_FORM,
    "/api/v10/channels/+1": INVALID_FORM,
    "/api/v10/channels/-1": INVALID_FORM,
    "/api/v10/channels/1_0": INVALID_FORM,
    "/api/v10/channels/0x10": INVALID_FORM,
    "/api/v10/channels/1e3": INVALID_FORM,
    "/api/v10/channels/%201": INVALID_FORM,
    "/api/v10/channels/1;a=b": INVALID_FORM,
    "/api/v10/channels/18446744073709551616": INVALID_FORM,
    "/api/v10/channels/9223372036854775808": INVALID_FORM,
    "/api/v10/channels/" + "9" * 4000: INVALID_FORM,
    "/api/v10/channels//messages": NOT_FOUND,
    "//api//v10//channels": NOT_FOUND,
    "/api/v10/" + "a/" * 1500: NOT_FOUND,
    "/api/v11/channels/1": INVALID_VERSION,
    "/api/v010/channels/1": INVALID_VERSION,
    "/api/v\u0661\u0660/channels/1": BAD_REQUEST,
    "/api/v10/users/@me/../../channels": NOT_FOUND,
    "/api/v10/channels/@me": NOT_FOUND,
    "/api/v10/invites/%2e%2e%2f%2e%2e": (404, 10006),
    "/cdn/../../../../etc/passwd": NOT_FOUND,
    "/cdn/%2e%2e/%2e%2e/hubbub.sqlite3": NOT_FOUND,
    "/cdn/attachments/1/..%2f..%2fhubbub.sqlite3/x": NOT_FOUND,
    "/cdn/attachments/%2e%2e%2f%2e%2e%2fetc/1/passwd": NOT_FOUND,
    "/nowhere": NOT_FOUND,
    "*": BAD_REQUEST,
}
"""Malformed request targets, and the status and error code of each response."""


@pytest.mark.parametrize(("path", "expected"), PATHS.items(), ids=[path[:50] for path in PATHS])
async def test_a_malformed_path_is_rejected(
    server: Server, alice: ApiUser, path: str, expected: tuple[int, int]
) -> None:
    answer = await exchange(server, head("GET", path, alice))
    body = refused(answer)
    assert (answer[0], body["code"]) == expected


QUERIES: dict[str, tuple[int, int]] = {
    "limit=-1": INVALID_FORM,
    "limit=NaN": INVALID_FORM,
    "limit=" + "9" * 30: INVALID_FORM,
    "limit=%00": INVALID_FORM,
    "before=%D9%A1": INVALID_FORM,
    "around=-5": INVALID_FORM,
    "before=" + "9" * 30: INVALID_FORM,
    "after=%ff": INVALID_FORM,
    "limit=1%26": INVALID_FORM,
    "&".join(f"a{n}=1" for n in range(1500)): BAD_REQUEST,
}
"""Malformed queries, and the status and error code of each response."""


@pytest.mark.parametrize(("query", "expected"), QUERIES.items(), ids=[query[:30] for query in QUERIES])
async def test_a_malformed_query_is_rejected(
    server: Server, alice: ApiUser, query: str, expected: tuple[int, int]
) -> None:
    channel_id = general(server)
    answer = await exchange(server, head("GET", f"/api/v10/channels/{channel_id}/messages?{query}", alice))
    body = refused(answer)
    assert (answer[0], body["code"]) == expected


@pytest.mark.parametrize(("query", "count"), [("limit=1&limit=2", 2), ("&&&&", 3), ("=", 3), ("%", 3)])
async def test_meaningless_parts_of_a_query_are_ignored(server: Server, alice: ApiUser, query: str, count: int) -> None:
    channel_id = general(server)
    contents = [f"{query} {number}" for number in range(3)]
    for content in contents:
        await alice.create_message(channel_id, content)

    status, body, _ = await exchange(server, head("GET", f"/api/v10/channels/{channel_id}/messages?{query}", alice))

    assert status == 200
    assert [message["content"] for message in body[:3]] == contents[::-1][:count]


RAW: dict[str, bytes] = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100 + b"\r\n\r\n",
    "HTTP/0.9": b"GET /api/v10/gateway\r\n\r\n",
    "an unknown version": b"GET /api/v10/gateway HTTP/9.9\r\nHost: x\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a bad method": b"G@T /api/v10/gateway HTTP/1.1\r\nHost: x\r\n\r\n",
    "an unknown method": b"BREW /api/v10/gateway HTTP/1.1\r\nHost: x\r\n\r\n",
    "TRACE": b"TRACE /api/v10/gateway HTTP/1.1\r\nHost: x\r\n\r\n",
    "CONNECT": b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a negative length": b"POST /api/v10/guilds HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "a length with a sign": b"POST /api/v10/guilds HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello",
    "two lengths": b"POST /api/v10/guilds HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "length and chunks": b"POST /api/v10/guilds HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bad chunks": b"POST /api/v10/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    "a folded header": b"GET /api/v10/gateway HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n",
    "a NUL in a header": b"GET /api/v10/gateway HTTP/1.1\r\nHost: x\r\nX-A: b\x00c\r\n\r\n",
    "a space before the colon": b"GET /api/v10/gateway HTTP/1.1\r\nHost: x\r\nX-A : b\r\n\r\n",
    "a header without a name": b"GET /api/v10/gateway HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n",
    "a long header": b"GET /api/v10/gateway HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n",
    "a long line": b"GET /api/v10/" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "many headers": b"GET /api/v10/gateway HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 5000 + b"\r\n",
    "a binary token": b"GET /api/v10/users/@me HTTP/1.1\r\nHost: x\r\nAuthorization: \xff\xfe\xc3\x28\r\n\r\n",
    "a long token": b"GET /api/v10/users/@me HTTP/1.1\r\nHost: x\r\nAuthorization: " + b"a" * 7000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", RAW.values(), ids=RAW.keys())
async def test_a_malformed_request_is_rejected_or_dropped(server: Server, request_bytes: bytes) -> None:
    answer = await exchange(server, request_bytes)
    if answer[0] not in (0, 200):
        refused(answer)


async def test_a_reason_cannot_inject_headers(server: Server, alice: ApiUser) -> None:
    path = f"/api/v10/guilds/{guild_of(server)}/roles"
    reason = "%0d%0aSet-Cookie:%20a=b%0d%0a%0d%0a<script>%00%ff"
    status, _, response_head = await exchange(server, posting(path, alice, b"{}", X_Audit_Log_Reason=reason))
    assert status == 200
    assert b"cookie" not in response_head.lower()
    entry = (await alice.get(f"/guilds/{guild_of(server)}/audit-logs?action_type=30&limit=1")).ok()[
        "audit_log_entries"
    ][0]
    assert "<script>" in entry["reason"]
    assert "\x00" not in entry["reason"]
    answer = await exchange(
        server, posting(path, alice, b"{}", X_Audit_Log_Reason="x\r\nX-Evil: 1\r\n\r\nGET / HTTP/1.1")
    )
    assert answer[0] == 400, answer


async def test_a_declared_size_above_the_limit_is_rejected_before_upload(server: Server, alice: ApiUser) -> None:
    path = f"/api/v10/channels/{general(server)}/messages"
    for kind, length in (("application/json", 100 * 2**20), ("multipart/form-data; boundary=x", 10**15)):
        request = head("POST", path, alice, Content_Type=kind, Content_Length=str(length))
        refused(await exchange(server, request + b"{"), 413)


async def test_an_endless_body_is_cut_off(server: Server, alice: ApiUser) -> None:
    path = f"/api/v10/channels/{general(server)}/messages"
    request = head("POST", path, alice, Content_Type="application/json", Transfer_Encoding="chunked")
    chunk = b"100000\r\n" + b" " * 2**20 + b"\r\n"
    refused(await exchange(server, request, more=chunk * 4), 413)


async def test_a_compressed_body_is_not_expanded(server: Server, alice: ApiUser) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = packer.compress(b" " * (64 * 2**20)) + packer.flush()
    before = psutil.Process(server.pid).memory_info().rss
    path = f"/api/v10/channels/{general(server)}/messages"
    refused(await exchange(server, posting(path, alice, bomb, Content_Encoding="gzip")), 413)
    assert psutil.Process(server.pid).memory_info().rss - before < 48 * 2**20


PARTS: dict[str, tuple[str, bytes]] = {
    "no boundary": ("multipart/form-data", b"--x\r\n\r\n--x--\r\n"),
    "an empty boundary": ("multipart/form-data; boundary=", b"--\r\n\r\n----\r\n"),
    "a long boundary": ("multipart/form-data; boundary=" + "b" * 5000, b""),
    "no end": (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="payload_json"\r\n\r\n{',
    ),
    "no disposition": ("multipart/form-data; boundary=x", b"--x\r\n\r\nhello\r\n--x--\r\n"),
    "long part headers": (
        "multipart/form-data; boundary=x",
        b"--x\r\nX-A: " + b"a" * 200_000 + b"\r\n\r\n\r\n--x--\r\n",
    ),
    "many parts": (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="files[0]"; filename="a"\r\n\r\na\r\n' * 5000 + b"--x--\r\n",
    ),
    "a huge index": (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="files[99999999999999999999]"; filename="a"\r\n\r\na\r\n--x--\r\n',
    ),
    "a payload that is not JSON": (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="payload_json"\r\n\r\n' + b"[" * 100_000 + b"\r\n--x--\r\n",
    ),
    "nothing at all": ("multipart/form-data; boundary=x", b""),
    "noise": ("multipart/form-data; boundary=x", random.Random(5).randbytes(100_000)),
}


@pytest.mark.parametrize(("kind", "body"), PARTS.values(), ids=PARTS.keys())
async def test_a_malformed_upload_is_rejected(server: Server, alice: ApiUser, kind: str, body: bytes) -> None:
    path = f"/api/v10/channels/{general(server)}/messages"
    request = head("POST", path, alice, Content_Type=kind, Content_Length=str(len(body)))
    refused(await exchange(server, request, more=body), 400)


FILE_NAMES = {
    "../../../../etc/passwd": "passwd",
    "..": "unknown",
    "/": "unknown",
    "a\x00b": "ab",
    "C:\\windows\\x.exe": "Cwindowsx.exe",
    "\u202egnp.exe": "gnp.exe",
    "." * 300: "unknown",
    '\\"': "unknown",
    "": "unknown",
    "a\nb": "ab",
    "%2e%2e%2fpasswd": "2e2e2fpasswd",
    "\udcff": "unknown",
}
"""File names in uploads, and the name that each attachment gets."""


async def test_a_file_name_cannot_be_a_path(server: Server, alice: ApiUser) -> None:
    for name, stored in FILE_NAMES.items():
        path = f"/api/v10/channels/{general(server)}/messages"
        body = b'--x\r\nContent-Disposition: form-data; name="files[0]"; filename="'
        body += name.encode("utf-8", "surrogateescape") + b'"\r\n\r\ndata\r\n--x--\r\n'
        kind = "multipart/form-data; boundary=x"
        request = head("POST", path, alice, Content_Type=kind, Content_Length=str(len(body)))
        status, answer, _ = await exchange(server, request + body)
        assert status == 200, (name, answer)
        [attachment] = answer["attachments"]
        assert attachment["filename"] == stored, name
        async with alice.client.get(attachment["url"]) as response:
            assert (response.status, await response.read()) == (200, b"data"), attachment


async def test_slow_senders_time_out(short_timeout_server: Server, client: aiohttp.ClientSession) -> None:
    """Send half a head, half a body, a body byte by byte, and nothing: each connection ends soon after its timeout."""
    server, alice = short_timeout_server, demo_users(client, short_timeout_server)["alice"]
    beginnings = [b"", b"GET /api/v10/gateway HTTP/1.1\r\nX-A: b"] * 5
    path, form = f"/api/v10/channels/{general(server)}/messages", "multipart/form-data; boundary=x"
    body = head("POST", path, alice, Content_Type="application/json", Content_Length="1000") + b'{"content":'
    upload = head("POST", path, alice, Content_Type=form, Content_Length="1000") + b"--x\r\n"
    beginnings += [body, upload] * 5

    async def trickle(beginning: bytes) -> bytes:
        """Send a byte every 50 ms until the server ends the connection; return what it sent.

        A stream would drop a response that arrived if a later write fails, so this uses the socket itself."""
        loop = asyncio.get_running_loop()
        with socket.socket() as connection:
            connection.setblocking(False)
            await loop.sock_connect(connection, ("127.0.0.1", server.port))
            received = bytearray()

            async def receive() -> None:
                with contextlib.suppress(ConnectionError):
                    while chunk := await loop.sock_recv(connection, 65536):
                        received.extend(chunk)

            receiving = asyncio.create_task(receive())
            await loop.sock_sendall(connection, beginning)
            while not receiving.done():
                await asyncio.sleep(0.05)
                if beginning:
                    with contextlib.suppress(ConnectionError):
                        await loop.sock_sendall(connection, b" ")
            await receiving
            return bytes(received)

    async with asyncio.timeout(TIMEOUT_SECONDS):
        answers = await asyncio.gather(*map(trickle, beginnings))
    # A client that sent a whole head gets an error response.
    for answer, beginning in zip(answers, beginnings, strict=True):
        if answer or beginning.startswith(b"POST"):
            assert answer.startswith(b"HTTP/1.1 400 "), answer
            assert b'"code":0' in answer, answer


# The gateway


async def gateway(client: aiohttp.ClientSession, server: Server, query: str = "") -> aiohttp.ClientWebSocketResponse:
    socket = await client.ws_connect(f"{server.gateway}?v=10&encoding=json{query}", max_msg_size=0)
    assert (await socket.receive_json(timeout=TIMEOUT_SECONDS))["op"] == 10
    return socket


async def closed(socket: aiohttp.ClientWebSocketResponse) -> int | None:
    """Wait for the close and return its code."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        async for _ in socket:
            pass
    return socket.close_code


def frame(opcode: int, payload: bytes, *, final: bool = True, reserved: int = 0) -> bytes:
    """Encode a client frame; the mask of zeros leaves the payload as it is."""
    first = (0x80 if final else 0) | reserved << 4 | opcode
    if len(payload) < 126:
        length = bytes((0x80 | len(payload),))
    elif len(payload) < 65_536:
        length = b"\xfe" + struct.pack(">H", len(payload))
    else:
        length = b"\xff" + struct.pack(">Q", len(payload))
    return bytes((first,)) + length + b"\x00" * 4 + payload


async def raw_gateway(server: Server, frames: bytes) -> int | None:
    """Send raw WebSocket frames; return the code of the close frame, or None if the connection was cut."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        head(
            "GET",
            "/gateway?v=10",
            Connection="Upgrade",
            Upgrade="websocket",
            Sec_WebSocket_Version="13",
            Sec_WebSocket_Key=key,
        )
    )
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
            writer.write(frames)
            while True:
                first, second = await reader.readexactly(2)
                length = second & 0x7F
                if length == 126:
                    (length,) = struct.unpack(">H", await reader.readexactly(2))
                payload = await reader.readexactly(length)
                if first & 0x0F == 8:
                    return int.from_bytes(payload[:2], "big")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    finally:
        writer.close()


FRAMES: dict[str, tuple[bytes, set[int | None]]] = {
    "no JSON": (frame(1, b"hello"), {4002}),
    "nothing": (frame(1, b""), {4002}),
    "deep JSON": (frame(1, b'{"op":1,"d":' + b"[" * 7000 + b"]" * 7000 + b"}"), {4002}),
    "deep JSON in an unknown key": (frame(1, b'{"op":1,"d":null,"z":' + b"[" * 7000 + b"]" * 7000 + b"}"), {4002}),
    "a payload too large": (frame(1, b'{"op":1,"d":"' + b"x" * 20_000 + b'"}'), {4002}),
    "a frame far too large": (frame(1, b" " * (1024 * 1024 + 100)), {1009, None}),
    "a length of 2^63": (b"\x81\xff" + b"\xff" * 8 + b"abcd", {1002, 1009, None}),
    "invalid UTF-8": (frame(1, b'{"op":1,"d":"\xff"}'), {1007, 4002}),
    "invalid UTF-8 in binary": (frame(2, b'{"op":1,"d":"\xff"}'), {4002}),
    "reserved bits": (frame(1, b'{"op":1,"d":null}', reserved=7), {1002, None}),
    "an unknown frame": (frame(3, b"x"), {1002, None}),
    "a long ping": (frame(9, b"x" * 200), {1002, None}),
    "a continuation of nothing": (frame(0, b"x"), {1002, None}),
    "endless fragments": (
        frame(1, b"x", final=False) + frame(0, b"x" * 2000, final=False) * 1000,
        {1002, 1009, 4002, None},
    ),
    "a close with a wrong code": (frame(8, b"\x00\x01"), {1002, None}),
    "an operation before Identify": (frame(1, b'{"op":3,"d":{}}'), {4003}),
    "an unknown operation": (frame(1, b'{"op":99,"d":{}}'), {4001, 4003}),
    "a huge operation": (frame(1, b'{"op":1' + b"0" * 400 + b',"d":null}'), {4002, 4003}),
    "an operation that is a word": (frame(1, b'{"op":"1"}'), {4002}),
    "an Identify of nothing": (frame(1, b'{"op":2,"d":null}'), {4002}),
    "an Identify of wrong types": (frame(1, b'{"op":2,"d":{"token":1,"intents":"x","properties":[]}}'), {4002}),
    "a wrong token": (frame(1, b'{"op":2,"d":{"token":"x","intents":1,"properties":{}}}'), {4004}),
    "a NUL in a token": (frame(1, b'{"op":2,"d":{"token":"\\u0000","intents":1,"properties":{}}}'), {4004}),
    "a surrogate in a token": (frame(1, b'{"op":2,"d":{"token":"\\ud800","intents":1,"properties":{}}}'), {4002, 4004}),
    "a Resume of nothing": (frame(1, b'{"op":6,"d":{}}'), {4002}),
    "a Resume with a wrong token": (frame(1, b'{"op":6,"d":{"token":"x","session_id":"y","seq":1}}'), {4004}),
}


@pytest.mark.parametrize(("frames", "codes"), FRAMES.values(), ids=FRAMES.keys())
async def test_a_malformed_frame_ends_the_connection(server: Server, frames: bytes, codes: set[int | None]) -> None:
    assert await raw_gateway(server, frames) in codes


async def test_invalid_session_commands_close_the_session_or_are_ignored(
    server: Server, client: aiohttp.ClientSession
) -> None:
    bot = demo_users(client, server)["demo-bot"]
    guild_id = guild_of(server)
    payloads: list[tuple[int, Any, int | None]] = [
        (3, {"status": "online", "activities": [{"name": "x" * 5000, "type": 0}], "since": 10**18, "afk": False}, None),
        (3, {"status": "\x00", "activities": [], "since": None, "afk": False}, None),
        (3, {"status": "online", "activities": "x"}, 4002),
        (4, {"guild_id": "0", "channel_id": "99999999999999999999999", "self_mute": False, "self_deaf": False}, 4002),
        (4, {"guild_id": guild_id, "channel_id": "\u0661", "self_mute": False, "self_deaf": False}, 4002),
        (8, {"guild_id": guild_id, "query": "\x00", "limit": 1}, None),
        (8, {"guild_id": guild_id, "query": "a", "limit": 10**30}, 4002),
        (8, {"guild_id": guild_id, "query": "%_'\"\\", "limit": -1}, None),
        (8, {"guild_id": guild_id, "user_ids": ["1"] * 1000, "limit": 0}, None),
        (8, {"guild_id": guild_id, "query": "a", "limit": 1, "nonce": "\x00" * 100}, None),
        (8, {"guild_id": [guild_id] * 500, "query": "", "limit": 0}, None),
        (31, {"guild_ids": [guild_id] * 500}, None),
        (43, {"guild_id": guild_id, "fields": ["\x00"]}, None),
        (1, 2**63, None),
        (1, "x", 4002),
    ]
    whole = await GatewaySession(bot, server.gateway, intents=3276799).open()
    for op, d, expected in payloads:
        # The acknowledgement of the heartbeat below, or the close, proves that the command was handled.
        acknowledged = [f["op"] for f in whole.opcodes].count(11) + (op == 1)
        await whole.send(op, d)
        with contextlib.suppress(ConnectionError):
            await whole.send(1, None)
        await whole.wait_until(
            lambda count=acknowledged: (  # type: ignore[misc]
                whole.closed_with is not None or [f["op"] for f in whole.opcodes].count(11) > count
            )
        )
        assert whole.closed_with == expected, (op, d, whole.closed_with)
        if whole.closed_with is not None:
            await whole.resume()
    await whole.close()


async def test_a_flood_of_frames_ends_the_connection(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with running(tmp_path, "dev", "--rate-limits", "real") as strict:
        socket = await gateway(client, strict)
        with contextlib.suppress(ConnectionError):
            for _ in range(500):
                await socket.send_str('{"op":1,"d":null}')
        assert await closed(socket) == 4008


async def test_idle_connections_time_out_together(short_timeout_server: Server, client: aiohttp.ClientSession) -> None:
    sockets = await asyncio.gather(*(gateway(client, short_timeout_server) for _ in range(80)))
    codes = await asyncio.gather(*map(closed, sockets))
    assert set(codes) == {4009}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Upgrade": "websocket"},
        {"Connection": "Upgrade", "Upgrade": "h2c"},
        {"Connection": "Upgrade", "Upgrade": "websocket"},
        {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "1", "Sec_WebSocket_Key": "x"},
        {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13", "Sec_WebSocket_Key": "\u00e9"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
async def test_a_gateway_request_without_a_handshake_is_rejected(
    server: Server, method: str, headers: dict[str, str]
) -> None:
    answer = await exchange(server, head(method, "/gateway?v=10&encoding=json", **headers))
    if method != "HEAD":
        refused(answer)
    else:
        assert answer[0] in range(400, 500)


async def test_invalid_handshake_parameters_close_with_a_code(server: Server, client: aiohttp.ClientSession) -> None:
    parameters: dict[str, int] = {
        "v=99": 4012,
        "v=%00": 4012,
        "v=10&encoding=etf": 4002,
        "v=10&encoding=json&compress=x%0d%0a": 4002,
    }
    for query, code in parameters.items():
        async with client.ws_connect(f"{server.gateway}?{query}") as socket:
            assert await closed(socket) == code


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH"])
async def test_operator_endpoints_reject_other_methods(server: Server, method: str) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/cdn", "/control/clock"):
        refused(await exchange(server, head(method, path)), 404)


async def test_attacks_do_not_affect_other_sessions(
    server: Server, client: aiohttp.ClientSession, alice: ApiUser
) -> None:
    """A session stays connected during many attacks and receives every message."""
    bob = await GatewaySession(demo_users(client, server)["bob"], server.gateway).open()
    channel_id = general(server)
    stop = asyncio.Event()

    async def attack(make: Callable[[], Any]) -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError, AssertionError):
                await make()

    attackers = [
        asyncio.create_task(attack(lambda: raw_gateway(server, frame(1, b"[" * 10_000)))),
        asyncio.create_task(attack(lambda: raw_gateway(server, frame(1, b'{"op":1,"d":null}') * 200 + frame(1, b"")))),
        asyncio.create_task(attack(lambda: exchange(server, posting("/api/v10/auth/login", alice, b"[" * 100_000)))),
        asyncio.create_task(attack(lambda: exchange(server, head("GET", "/api/v10/users/@me", Authorization="x")))),
    ]
    sent = []
    for number in range(5):
        await alice.create_message(channel_id, f"calm {number}")
        sent.append(f"calm {number}")
        await bob.message(sent[-1])
        await bob.send(1, bob.seq)
    stop.set()
    await asyncio.gather(*attackers)
    assert bob.contents() == sent
    assert bob.closed_with is None
    await bob.close()
