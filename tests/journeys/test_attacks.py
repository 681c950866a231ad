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
from aiohttp import WSMsgType

from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.intents import Intents
from tests.fixtures.postgres import with_database
from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, GatewaySession, Server, demo_users, running_server

pytestmark = pytest.mark.xdist_group("attacks")

READ_TIMEOUT_SECONDS = 2.0
IDENTIFY_TIMEOUT_SECONDS = 2.0
MEMORY_GROWTH_BYTES_MAX = 120 * 1024 * 1024
"""The memory in bytes by which the server may grow during all attacks."""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server per database for all attacks. At the end it stops cleanly, without errors in its log."""
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
        memory_before = psutil.Process(server.pid).memory_info().rss
        yield server
        memory_growth = psutil.Process(server.pid).memory_info().rss - memory_before
        server.terminate()
        assert asyncio.run(server.wait_ended()) == 0
        assert '"level":"error"' not in server.log_text(), server.log_text()
        assert memory_growth < MEMORY_GROWTH_BYTES_MAX, f"{memory_growth / 2**20:.0f} MiB"


@pytest.fixture
async def short_timeout_server(tmp_path: Path) -> AsyncIterator[Server]:
    """A server with short timeouts; the timeouts of `server` are long enough for a busy machine."""
    flags = ["--http-read-timeout-ms", str(int(READ_TIMEOUT_SECONDS * 1000))]
    flags += ["--gateway-identify-timeout-ms", str(int(IDENTIFY_TIMEOUT_SECONDS * 1000))]
    async with running_server(tmp_path, "dev", *flags) as server:
        yield server
        assert '"level":"error"' not in server.log_text(), server.log_text()


@pytest.fixture
def alice(server: Server, client: aiohttp.ClientSession) -> ApiUser:
    return demo_users(client, server)["alice"]


def demo_guild_id(server: Server) -> str:
    guild_id: str = server.document["guilds"]["Town Square"]["id"]
    return guild_id


async def send_raw_request(server: Server, request: bytes, *, body: bytes = b"") -> tuple[int, Any, bytes]:
    """Send raw bytes; return the status, JSON body and head of the response.

    The status is 0 if the connection closes without a response.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            writer.write(request + body)
            try:
                response_head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return 0, None, b""
            status = int(response_head.split()[1])
            lengths = [
                line[15:] for line in response_head.lower().split(b"\r\n") if line.startswith(b"content-length:")
            ]
            has_body = lengths and not request.startswith(b"HEAD")
            response_body = await reader.readexactly(int(lengths[0])) if has_body else b""
            return status, json.loads(response_body) if response_body else None, response_head
    finally:
        writer.close()


def request_head(method: str, path: str, user: ApiUser | None = None, **headers: str) -> bytes:
    """Encode the head of a request. Underscores in the names of headers become hyphens."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if user is not None:
        lines.append(f"Authorization: {user.token}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def post_request(path: str, user: ApiUser, body: bytes, **headers: str) -> bytes:
    """Encode a POST request with a JSON body."""
    return (
        request_head("POST", path, user, Content_Type="application/json", Content_Length=str(len(body)), **headers)
        + body
    )


def assert_api_error(response: tuple[int, Any, bytes], status: int) -> Any:
    """Check that a response is an API error with this status and return its body."""
    response_status, body, _ = response
    assert response_status == status, response
    assert isinstance(body, dict), response
    assert isinstance(body["message"], str), response
    assert isinstance(body["code"], int), response
    return body


def nested_json(opening: bytes, closing: bytes, depth: int = 10_000) -> bytes:
    return opening * depth + closing * depth


MALFORMED_BODIES: dict[str, bytes] = {
    "deep arrays": b'{"content":' + nested_json(b"[", b"]") + b"}",
    "deep objects": b'{"content":' + nested_json(b'{"a":', b"}").replace(b":}", b":1}", 1) + b"}",
    "deep in a known field": b'{"content":"x","embeds":' + nested_json(b"[", b"]") + b"}",
    "deep in an unknown field": b'{"content":"x","zzz":' + nested_json(b"[", b"]") + b"}",
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


@pytest.mark.parametrize("body", MALFORMED_BODIES.values(), ids=MALFORMED_BODIES.keys())
async def test_a_malformed_body_is_rejected(server: Server, alice: ApiUser, body: bytes) -> None:
    path = f"/api/v10/channels/{server.general_channel_id}/messages"
    assert_api_error(await send_raw_request(server, post_request(path, alice, body)), 400)


async def test_the_last_of_duplicate_keys_counts(server: Server, alice: ApiUser) -> None:
    path = f"/api/v10/channels/{server.general_channel_id}/messages"
    status, body, _ = await send_raw_request(server, post_request(path, alice, b'{"content":"one","content":"two"}'))
    assert (status, body["content"]) == (200, "two")


UNUSUAL_TEXTS: dict[str, str] = {
    "a\u0000b": "ab",
    "\u202e\u200b\ufeff": "\u202e\u200b\ufeff",
    "\x1b[31m": "\x1b[31m",
    "'; DROP TABLE users; --": "'; DROP TABLE users; --",
    "%s %d {}": "%s %d {}",
    "\U0010ffff": "\U0010ffff",
}
"""Unusual texts, and the text that is stored for each: only NUL is removed."""


async def test_unusual_text_is_stored(server: Server, alice: ApiUser) -> None:
    for text, stored_text in UNUSUAL_TEXTS.items():
        for path, field in (
            (f"/channels/{server.general_channel_id}/messages", "content"),
            (f"/guilds/{demo_guild_id(server)}/roles", "name"),
        ):
            response = await alice.post(path, {field: text})
            assert (response.status, response.json[field]) == (200, stored_text), (text, response)


async def test_text_above_its_limit_is_rejected(server: Server, alice: ApiUser) -> None:
    for path, field, limit in (
        (f"/channels/{server.general_channel_id}/messages", "content", 2000),
        (f"/guilds/{demo_guild_id(server)}/roles", "name", 100),
    ):
        assert (await alice.post(path, {field: "a" * limit})).status == 200
        (await alice.post(path, {field: "a" * (limit + 1)})).rejected(400, 50035)


BAD_REQUEST, INVALID_FORM, INVALID_VERSION, NOT_FOUND = (400, 0), (400, 50035), (400, 50041), (404, 0)

MALFORMED_PATHS: dict[str, tuple[int, int]] = {
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


@pytest.mark.parametrize(("path", "expected"), MALFORMED_PATHS.items(), ids=[path[:50] for path in MALFORMED_PATHS])
async def test_a_malformed_path_is_rejected(
    server: Server, alice: ApiUser, path: str, expected: tuple[int, int]
) -> None:
    response = await send_raw_request(server, request_head("GET", path, alice))
    status, code = expected
    assert assert_api_error(response, status)["code"] == code


MALFORMED_QUERIES: dict[str, tuple[int, int]] = {
    "limit=-1": INVALID_FORM,
    "limit=NaN": INVALID_FORM,
    "limit=" + "9" * 30: INVALID_FORM,
    "limit=%00": INVALID_FORM,
    "before=%D9%A1": INVALID_FORM,
    "around=-5": INVALID_FORM,
    "before=" + "9" * 30: INVALID_FORM,
    "after=%ff": INVALID_FORM,
    "limit=1%26": INVALID_FORM,
    "&".join(f"a{number}=1" for number in range(1500)): BAD_REQUEST,
}
"""Malformed queries, and the status and error code of each response."""


@pytest.mark.parametrize(
    ("query", "expected"), MALFORMED_QUERIES.items(), ids=[query[:30] for query in MALFORMED_QUERIES]
)
async def test_a_malformed_query_is_rejected(
    server: Server, alice: ApiUser, query: str, expected: tuple[int, int]
) -> None:
    channel_id = server.general_channel_id
    response = await send_raw_request(
        server, request_head("GET", f"/api/v10/channels/{channel_id}/messages?{query}", alice)
    )
    status, code = expected
    assert assert_api_error(response, status)["code"] == code


@pytest.mark.parametrize(("query", "count"), [("limit=1&limit=2", 2), ("&&&&", 3), ("=", 3), ("%", 3)])
async def test_meaningless_parts_of_a_query_are_ignored(server: Server, alice: ApiUser, query: str, count: int) -> None:
    channel_id = server.general_channel_id
    contents = [f"{query} {number}" for number in range(3)]
    for content in contents:
        await alice.create_message(channel_id, content)

    status, body, _ = await send_raw_request(
        server, request_head("GET", f"/api/v10/channels/{channel_id}/messages?{query}", alice)
    )

    assert status == 200
    assert [message["content"] for message in body[:3]] == contents[::-1][:count]


MALFORMED_REQUESTS: dict[str, bytes] = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100 + b"\r\n\r\n",
    "HTTP/0.9": b"GET /api/v10/gateway\r\n\r\n",
    "an unknown version": b"GET /api/v10/gateway HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a bad method": b"G@T /api/v10/gateway HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an unknown method": b"BREW /api/v10/gateway HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TRACE": b"TRACE /api/v10/gateway HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "CONNECT": b"CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a negative length": b"POST /api/v10/guilds HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "a length with a sign": b"POST /api/v10/guilds HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello",
    "two lengths": b"POST /api/v10/guilds HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "length and chunks": b"POST /api/v10/guilds HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bad chunks": b"POST /api/v10/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    "a folded header": b"GET /api/v10/gateway HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n c\r\n\r\n",
    "a NUL in a header": b"GET /api/v10/gateway HTTP/1.1\r\nHost: localhost\r\nX-A: b\x00c\r\n\r\n",
    "a space before the colon": b"GET /api/v10/gateway HTTP/1.1\r\nHost: localhost\r\nX-A : b\r\n\r\n",
    "a header without a name": b"GET /api/v10/gateway HTTP/1.1\r\nHost: localhost\r\n: b\r\n\r\n",
    "a long header": b"GET /api/v10/gateway HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n",
    "a long line": b"GET /api/v10/" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "many headers": b"GET /api/v10/gateway HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 5000 + b"\r\n",
    "a binary token": b"GET /api/v10/users/@me HTTP/1.1\r\nHost: localhost\r\nAuthorization: \xff\xfe\xc3\x28\r\n\r\n",
    "a long token": b"GET /api/v10/users/@me HTTP/1.1\r\nHost: localhost\r\nAuthorization: "
    + b"a" * 7000
    + b"\r\n\r\n",
}


# All other malformed requests are rejected with 400.
STATUS_OF_REQUESTS = {"HTTP/0.9": 200, "TRACE": 405, "CONNECT": 404, "a binary token": 401, "a long token": 401}


@pytest.mark.parametrize("name", MALFORMED_REQUESTS)
async def test_a_malformed_or_unusual_request_gets_its_status(server: Server, name: str) -> None:
    response = await send_raw_request(server, MALFORMED_REQUESTS[name])
    expected_status = STATUS_OF_REQUESTS.get(name, 400)
    if expected_status == 200:
        assert response[0] == 200, response
    else:
        assert assert_api_error(response, expected_status)["code"] == 0


async def test_a_reason_cannot_inject_headers(server: Server, alice: ApiUser) -> None:
    path = f"/api/v10/guilds/{demo_guild_id(server)}/roles"
    reason = "%0d%0aSet-Cookie:%20a=b%0d%0a%0d%0a<script>%00%ff"
    status, _, response_head = await send_raw_request(
        server, post_request(path, alice, b"{}", X_Audit_Log_Reason=reason)
    )
    assert status == 200
    assert b"cookie" not in response_head.lower()
    entry = (await alice.get(f"/guilds/{demo_guild_id(server)}/audit-logs?action_type=30&limit=1")).ok()[
        "audit_log_entries"
    ][0]
    assert "<script>" in entry["reason"]
    assert "\x00" not in entry["reason"]
    response = await send_raw_request(
        server, post_request(path, alice, b"{}", X_Audit_Log_Reason="x\r\nX-Evil: 1\r\n\r\nGET / HTTP/1.1")
    )
    assert response[0] == 400, response


async def test_a_declared_size_above_the_limit_is_rejected_before_upload(server: Server, alice: ApiUser) -> None:
    path = f"/api/v10/channels/{server.general_channel_id}/messages"
    for content_type, length in (("application/json", 100 * 2**20), ("multipart/form-data; boundary=x", 10**15)):
        request = request_head("POST", path, alice, Content_Type=content_type, Content_Length=str(length))
        assert_api_error(await send_raw_request(server, request + b"{"), 413)


async def test_an_endless_body_is_cut_off(server: Server, alice: ApiUser) -> None:
    path = f"/api/v10/channels/{server.general_channel_id}/messages"
    request = request_head("POST", path, alice, Content_Type="application/json", Transfer_Encoding="chunked")
    chunk = b"100000\r\n" + b" " * 2**20 + b"\r\n"
    assert_api_error(await send_raw_request(server, request, body=chunk * 4), 413)


async def test_a_compressed_body_is_not_expanded(server: Server, alice: ApiUser) -> None:
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = compressor.compress(b" " * (64 * 2**20)) + compressor.flush()
    memory_before = psutil.Process(server.pid).memory_info().rss
    path = f"/api/v10/channels/{server.general_channel_id}/messages"
    assert_api_error(await send_raw_request(server, post_request(path, alice, bomb, Content_Encoding="gzip")), 413)
    assert psutil.Process(server.pid).memory_info().rss - memory_before < 48 * 2**20


MALFORMED_UPLOADS: dict[str, tuple[str, bytes]] = {
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


@pytest.mark.parametrize(("content_type", "body"), MALFORMED_UPLOADS.values(), ids=MALFORMED_UPLOADS.keys())
async def test_a_malformed_upload_is_rejected(server: Server, alice: ApiUser, content_type: str, body: bytes) -> None:
    path = f"/api/v10/channels/{server.general_channel_id}/messages"
    request = request_head("POST", path, alice, Content_Type=content_type, Content_Length=str(len(body)))
    assert_api_error(await send_raw_request(server, request, body=body), 400)


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
    for name, stored_name in FILE_NAMES.items():
        path = f"/api/v10/channels/{server.general_channel_id}/messages"
        body = b'--x\r\nContent-Disposition: form-data; name="files[0]"; filename="'
        body += name.encode("utf-8", "surrogateescape") + b'"\r\n\r\ndata\r\n--x--\r\n'
        content_type = "multipart/form-data; boundary=x"
        request = request_head("POST", path, alice, Content_Type=content_type, Content_Length=str(len(body)))
        status, message, _ = await send_raw_request(server, request + body)
        assert status == 200, (name, message)
        [attachment] = message["attachments"]
        assert attachment["filename"] == stored_name, name
        async with alice.client.get(attachment["url"]) as response:
            assert (response.status, await response.read()) == (200, b"data"), attachment


async def test_slow_senders_time_out(short_timeout_server: Server, client: aiohttp.ClientSession) -> None:
    """Send nothing, or the start of a head, body or upload and then single bytes: the server ends each connection."""
    server, alice = short_timeout_server, demo_users(client, short_timeout_server)["alice"]
    request_starts = [b"", b"GET /api/v10/gateway HTTP/1.1\r\nX-A: b"] * 5
    path, form = f"/api/v10/channels/{server.general_channel_id}/messages", "multipart/form-data; boundary=x"
    body = request_head("POST", path, alice, Content_Type="application/json", Content_Length="1000") + b'{"content":'
    upload = request_head("POST", path, alice, Content_Type=form, Content_Length="1000") + b"--x\r\n"
    request_starts += [body, upload] * 5

    async def send_slowly(request_start: bytes) -> bytes:
        """Send the start, and after a start that is not empty a byte every 50 ms, until the server ends the connection.

        Return the bytes that the server sent.

        A stream would drop a response that arrived if a later write fails, so this uses the socket itself."""
        loop = asyncio.get_running_loop()
        with socket.socket() as connection:
            connection.setblocking(False)
            await loop.sock_connect(connection, ("127.0.0.1", server.port))
            received_bytes = bytearray()

            async def receive() -> None:
                with contextlib.suppress(ConnectionError):
                    while chunk := await loop.sock_recv(connection, 65536):
                        received_bytes.extend(chunk)

            receiving_task = asyncio.create_task(receive())
            await loop.sock_sendall(connection, request_start)
            while not receiving_task.done():
                await asyncio.sleep(0.05)
                if request_start:
                    with contextlib.suppress(ConnectionError):
                        await loop.sock_sendall(connection, b" ")
            await receiving_task
            return bytes(received_bytes)

    async with asyncio.timeout(TIMEOUT_SECONDS):
        received_by_sender = await asyncio.gather(*map(send_slowly, request_starts))
    # A client that sent a whole head gets an error response.
    for received_bytes, request_start in zip(received_by_sender, request_starts, strict=True):
        if received_bytes or request_start.startswith(b"POST"):
            assert received_bytes.startswith(b"HTTP/1.1 400 "), received_bytes
            assert b'"code":0' in received_bytes, received_bytes


# The gateway


async def connect_gateway(
    client: aiohttp.ClientSession, server: Server, query: str = ""
) -> aiohttp.ClientWebSocketResponse:
    websocket = await client.ws_connect(f"{server.gateway}?v=10&encoding=json{query}", max_msg_size=0)
    assert (await websocket.receive_json(timeout=TIMEOUT_SECONDS))["op"] == GatewayOpcode.HELLO
    return websocket


async def wait_close_code(websocket: aiohttp.ClientWebSocketResponse) -> int | None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        async for _ in websocket:
            pass
    return websocket.close_code


def encode_frame(opcode: int, payload: bytes, *, is_final: bool = True, reserved_bits: int = 0) -> bytes:
    """Encode a client frame; the mask of zeros leaves the payload as it is."""
    first_byte = (0x80 if is_final else 0) | reserved_bits << 4 | opcode
    if len(payload) < 126:
        length = bytes((0x80 | len(payload),))
    elif len(payload) < 65_536:
        length = b"\xfe" + struct.pack(">H", len(payload))
    else:
        length = b"\xff" + struct.pack(">Q", len(payload))
    return bytes((first_byte,)) + length + b"\x00" * 4 + payload


async def send_raw_frames(server: Server, frames: bytes) -> int | None:
    """Send raw WebSocket frames; return the code of the close frame, or None if the connection was cut."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        request_head(
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
                first_byte, second_byte = await reader.readexactly(2)
                length = second_byte & 0x7F
                if length == 126:
                    (length,) = struct.unpack(">H", await reader.readexactly(2))
                payload = await reader.readexactly(length)
                if first_byte & 0x0F == WSMsgType.CLOSE:
                    return int.from_bytes(payload[:2], "big")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    finally:
        writer.close()


MALFORMED_FRAMES: dict[str, tuple[bytes, set[int | None]]] = {
    "no JSON": (encode_frame(WSMsgType.TEXT, b"hello"), {CloseCode.DECODE_ERROR}),
    "nothing": (encode_frame(WSMsgType.TEXT, b""), {CloseCode.DECODE_ERROR}),
    "deep JSON": (
        encode_frame(WSMsgType.TEXT, b'{"op":1,"d":' + b"[" * 7000 + b"]" * 7000 + b"}"),
        {CloseCode.DECODE_ERROR},
    ),
    "deep JSON in an unknown key": (
        encode_frame(WSMsgType.TEXT, b'{"op":1,"d":null,"z":' + b"[" * 7000 + b"]" * 7000 + b"}"),
        {CloseCode.DECODE_ERROR},
    ),
    "a payload too large": (
        encode_frame(WSMsgType.TEXT, b'{"op":1,"d":"' + b"x" * 20_000 + b'"}'),
        {CloseCode.DECODE_ERROR},
    ),
    "a frame far too large": (encode_frame(WSMsgType.TEXT, b" " * (1024 * 1024 + 100)), {1009, None}),
    "a length of 2^63": (b"\x81\xff" + b"\xff" * 8 + b"abcd", {1002, 1009, None}),
    "invalid UTF-8": (encode_frame(WSMsgType.TEXT, b'{"op":1,"d":"\xff"}'), {1007, CloseCode.DECODE_ERROR}),
    "invalid UTF-8 in binary": (encode_frame(WSMsgType.BINARY, b'{"op":1,"d":"\xff"}'), {CloseCode.DECODE_ERROR}),
    "reserved bits": (encode_frame(WSMsgType.TEXT, b'{"op":1,"d":null}', reserved_bits=7), {1002, None}),
    "an unknown frame": (encode_frame(3, b"x"), {1002, None}),
    "a long ping": (encode_frame(WSMsgType.PING, b"x" * 200), {1002, None}),
    "a continuation of nothing": (encode_frame(WSMsgType.CONTINUATION, b"x"), {1002, None}),
    "endless fragments": (
        encode_frame(WSMsgType.TEXT, b"x", is_final=False)
        + encode_frame(WSMsgType.CONTINUATION, b"x" * 2000, is_final=False) * 1000,
        {1002, 1009, CloseCode.DECODE_ERROR, None},
    ),
    "a close with a wrong code": (encode_frame(WSMsgType.CLOSE, b"\x00\x01"), {1002, None}),
    "an opcode before Identify": (encode_frame(WSMsgType.TEXT, b'{"op":3,"d":{}}'), {CloseCode.NOT_AUTHENTICATED}),
    "an unknown opcode": (
        encode_frame(WSMsgType.TEXT, b'{"op":99,"d":{}}'),
        {CloseCode.UNKNOWN_OPCODE, CloseCode.NOT_AUTHENTICATED},
    ),
    "a huge opcode": (
        encode_frame(WSMsgType.TEXT, b'{"op":1' + b"0" * 400 + b',"d":null}'),
        {CloseCode.DECODE_ERROR, CloseCode.NOT_AUTHENTICATED},
    ),
    "an opcode that is a string": (encode_frame(WSMsgType.TEXT, b'{"op":"1"}'), {CloseCode.DECODE_ERROR}),
    "an Identify of nothing": (encode_frame(WSMsgType.TEXT, b'{"op":2,"d":null}'), {CloseCode.DECODE_ERROR}),
    "an Identify of wrong types": (
        encode_frame(WSMsgType.TEXT, b'{"op":2,"d":{"token":1,"intents":"x","properties":[]}}'),
        {CloseCode.DECODE_ERROR},
    ),
    "a wrong token": (
        encode_frame(WSMsgType.TEXT, b'{"op":2,"d":{"token":"x","intents":1,"properties":{}}}'),
        {CloseCode.AUTHENTICATION_FAILED},
    ),
    "a NUL in a token": (
        encode_frame(WSMsgType.TEXT, b'{"op":2,"d":{"token":"\\u0000","intents":1,"properties":{}}}'),
        {CloseCode.AUTHENTICATION_FAILED},
    ),
    "a surrogate in a token": (
        encode_frame(WSMsgType.TEXT, b'{"op":2,"d":{"token":"\\ud800","intents":1,"properties":{}}}'),
        {CloseCode.DECODE_ERROR, CloseCode.AUTHENTICATION_FAILED},
    ),
    "a Resume of nothing": (encode_frame(WSMsgType.TEXT, b'{"op":6,"d":{}}'), {CloseCode.DECODE_ERROR}),
    "a Resume with a wrong token": (
        encode_frame(WSMsgType.TEXT, b'{"op":6,"d":{"token":"x","session_id":"y","seq":1}}'),
        {CloseCode.AUTHENTICATION_FAILED},
    ),
}


@pytest.mark.parametrize(("frames", "codes"), MALFORMED_FRAMES.values(), ids=MALFORMED_FRAMES.keys())
async def test_a_malformed_frame_ends_the_connection(server: Server, frames: bytes, codes: set[int | None]) -> None:
    assert await send_raw_frames(server, frames) in codes


async def test_invalid_session_commands_close_the_session_or_are_ignored(
    server: Server, client: aiohttp.ClientSession
) -> None:
    bot = demo_users(client, server)["demo-bot"]
    guild_id = demo_guild_id(server)
    payloads: list[tuple[int, Any, int | None]] = [
        (
            GatewayOpcode.PRESENCE_UPDATE,
            {"status": "online", "activities": [{"name": "x" * 5000, "type": 0}], "since": 10**18, "afk": False},
            None,
        ),
        (GatewayOpcode.PRESENCE_UPDATE, {"status": "\x00", "activities": [], "since": None, "afk": False}, None),
        (GatewayOpcode.PRESENCE_UPDATE, {"status": "online", "activities": "x"}, CloseCode.DECODE_ERROR),
        (
            GatewayOpcode.VOICE_STATE_UPDATE,
            {"guild_id": "0", "channel_id": "99999999999999999999999", "self_mute": False, "self_deaf": False},
            CloseCode.DECODE_ERROR,
        ),
        (
            GatewayOpcode.VOICE_STATE_UPDATE,
            {"guild_id": guild_id, "channel_id": "\u0661", "self_mute": False, "self_deaf": False},
            CloseCode.DECODE_ERROR,
        ),
        (GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": guild_id, "query": "\x00", "limit": 1}, None),
        (
            GatewayOpcode.REQUEST_GUILD_MEMBERS,
            {"guild_id": guild_id, "query": "a", "limit": 10**30},
            CloseCode.DECODE_ERROR,
        ),
        (GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": guild_id, "query": "%_'\"\\", "limit": -1}, None),
        (GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": guild_id, "user_ids": ["1"] * 1000, "limit": 0}, None),
        (
            GatewayOpcode.REQUEST_GUILD_MEMBERS,
            {"guild_id": guild_id, "query": "a", "limit": 1, "nonce": "\x00" * 100},
            None,
        ),
        (GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": [guild_id] * 500, "query": "", "limit": 0}, None),
        (GatewayOpcode.REQUEST_SOUNDBOARD_SOUNDS, {"guild_ids": [guild_id] * 500}, None),
        (GatewayOpcode.REQUEST_CHANNEL_INFO, {"guild_id": guild_id, "fields": ["\x00"]}, None),
        (GatewayOpcode.HEARTBEAT, 2**63, None),
        (GatewayOpcode.HEARTBEAT, "x", CloseCode.DECODE_ERROR),
    ]
    session = await GatewaySession(bot, server.gateway, intents=Intents.BOT_MASK).open()
    for opcode, payload, expected in payloads:
        # The acknowledgement of the heartbeat below, or the close, proves that the command was handled.
        ack_count = [frame["op"] for frame in session.other_frames].count(GatewayOpcode.HEARTBEAT_ACK) + (
            opcode == GatewayOpcode.HEARTBEAT
        )
        await session.send(opcode, payload)
        with contextlib.suppress(ConnectionError):
            await session.send(GatewayOpcode.HEARTBEAT, None)
        await session.wait_until(
            lambda count=ack_count: (  # type: ignore[misc]
                session.close_code is not None
                or [frame["op"] for frame in session.other_frames].count(GatewayOpcode.HEARTBEAT_ACK) > count
            )
        )
        assert session.close_code == expected, (opcode, payload, session.close_code)
        if session.close_code is not None:
            await session.resume()
    await session.close()


async def test_a_flood_of_frames_ends_the_connection(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with running_server(tmp_path, "dev", "--rate-limits", "real") as limited_server:
        websocket = await connect_gateway(client, limited_server)
        with contextlib.suppress(ConnectionError):
            for _ in range(500):
                await websocket.send_str('{"op":1,"d":null}')
        assert await wait_close_code(websocket) == CloseCode.RATE_LIMITED


async def test_idle_connections_time_out_together(short_timeout_server: Server, client: aiohttp.ClientSession) -> None:
    sockets = await asyncio.gather(*(connect_gateway(client, short_timeout_server) for _ in range(80)))
    codes = await asyncio.gather(*map(wait_close_code, sockets))
    assert set(codes) == {CloseCode.SESSION_TIMED_OUT}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 426),
        ({"Upgrade": "websocket"}, 400),
        ({"Connection": "Upgrade", "Upgrade": "h2c"}, 426),
        ({"Connection": "Upgrade", "Upgrade": "websocket"}, 400),
        (
            {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "1", "Sec_WebSocket_Key": "x"},
            400,
        ),
        (
            {
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec_WebSocket_Version": "13",
                "Sec_WebSocket_Key": "\u00e9",
            },
            400,
        ),
    ],
)
async def test_a_gateway_request_without_a_handshake_is_rejected(
    server: Server, headers: dict[str, str], status: int
) -> None:
    path = "/gateway?v=10&encoding=json"
    response = await send_raw_request(server, request_head("GET", path, **headers))
    body = assert_api_error(response, status)
    if status == 426:
        assert "configure the proxy to use HTTP/1.1 and to pass the headers Upgrade and Connection" in body["message"]
        assert b"upgrade: websocket" in response[2].lower()
    assert (await send_raw_request(server, request_head("HEAD", path, **headers)))[0] == status
    assert_api_error(await send_raw_request(server, request_head("POST", path, **headers)), 404)


async def test_invalid_handshake_parameters_close_with_a_code(server: Server, client: aiohttp.ClientSession) -> None:
    parameters: dict[str, int] = {
        "v=99": CloseCode.INVALID_API_VERSION,
        "v=%00": CloseCode.INVALID_API_VERSION,
        "v=10&encoding=xml": CloseCode.DECODE_ERROR,
        "v=10&encoding=json&compress=x%0d%0a": CloseCode.DECODE_ERROR,
    }
    for query, code in parameters.items():
        async with client.ws_connect(f"{server.gateway}?{query}") as websocket:
            assert await wait_close_code(websocket) == code


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH"])
async def test_endpoints_outside_the_api_reject_other_methods(server: Server, method: str) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/cdn", "/control/clock"):
        assert_api_error(await send_raw_request(server, request_head(method, path)), 404)


async def test_attacks_do_not_affect_other_sessions(
    server: Server, client: aiohttp.ClientSession, alice: ApiUser
) -> None:
    """A session stays connected during many attacks and receives every message."""
    bob_session = await GatewaySession(demo_users(client, server)["bob"], server.gateway).open()
    channel_id = server.general_channel_id
    stop_event = asyncio.Event()

    async def attack(send_attack: Callable[[], Any]) -> None:
        while not stop_event.is_set():
            with contextlib.suppress(OSError, AssertionError):
                await send_attack()

    attackers = [
        asyncio.create_task(attack(lambda: send_raw_frames(server, encode_frame(WSMsgType.TEXT, b"[" * 10_000)))),
        asyncio.create_task(
            attack(
                lambda: send_raw_frames(
                    server, encode_frame(WSMsgType.TEXT, b'{"op":1,"d":null}') * 200 + encode_frame(WSMsgType.TEXT, b"")
                )
            )
        ),
        asyncio.create_task(
            attack(lambda: send_raw_request(server, post_request("/api/v10/auth/login", alice, b"[" * 100_000)))
        ),
        asyncio.create_task(
            attack(lambda: send_raw_request(server, request_head("GET", "/api/v10/users/@me", Authorization="x")))
        ),
    ]
    sent_contents = []
    for number in range(5):
        await alice.create_message(channel_id, f"calm {number}")
        sent_contents.append(f"calm {number}")
        await bob_session.wait_message(sent_contents[-1])
        await bob_session.send(GatewayOpcode.HEARTBEAT, bob_session.seq)
    stop_event.set()
    await asyncio.gather(*attackers)
    assert bob_session.message_contents() == sent_contents
    assert bob_session.close_code is None
    await bob_session.close()
