"""Mutations of JSON values, of encoded JSON, of bytes, and of requests: headers, body, method, path and query."""

import copy
import gzip
import json
import random
import zlib
from typing import Any

from tests.fuzz.values import TEXTS, random_hostile
from tests.fuzz.wire import WireRequest

_HEADERS = (
    ("Content-Type", "text/plain"),
    ("Content-Type", "application/json; charset=utf-16"),
    ("Content-Type", "application/json; charset=\x7f"),
    ("Content-Type", "multipart/form-data"),
    ("Content-Type", "multipart/form-data; boundary="),
    ("Content-Type", "multipart/form-data; boundary=" + "b" * 300),
    ("Content-Type", "application/x-www-form-urlencoded"),
    ("Content-Type", "application/json, application/json"),
    ("Content-Type", ";;;="),
    ("Content-Encoding", "gzip"),
    ("Content-Encoding", "deflate"),
    ("Content-Encoding", "br"),
    ("Content-Encoding", "zstd"),
    ("Content-Encoding", "identity, gzip"),
    ("Transfer-Encoding", "chunked"),
    ("Transfer-Encoding", "gzip, chunked"),
    ("Content-Length", "-1"),
    ("Content-Length", "99999999999999999999"),
    ("Content-Length", "1e3"),
    ("Expect", "100-continue"),
    ("Expect", "teapot"),
    ("X-Audit-Log-Reason", "%ff%00%zz"),
    ("X-Audit-Log-Reason", "é" * 600),
    ("X-Forwarded-For", "1.2.3.4, ::1, nonsense"),
    ("X-Forwarded-For", "," * 300),
    ("X-RateLimit-Precision", "\u00b2"),
    ("X-HTTP-Method-Override", "DELETE"),
    ("Range", "bytes=5-2,-1"),
    ("If-None-Match", '"' * 50),
    ("If-Modified-Since", "Thu, 99 Foo 99999 99:99:99 GMT"),
    ("Accept-Encoding", "gzip;q=x, *;q=-1"),
    ("Accept-Language", "-" * 200 + ";q=nan"),
    ("Cookie", "session=\x80; =; a=b=c;;"),
    ("Origin", "null"),
    ("Origin", "http://[::1"),
    ("Host", "[::1"),
    ("Host", "a b"),
    ("User-Agent", "\x01" * 20),
    ("Authorization", "Bot "),
    ("Authorization", "Bearer \u00e9"),
    ("Authorization", "Basic AAAA"),
    ("Authorization", "x" * 5000),
    ("Upgrade", "websocket"),
    ("Connection", "upgrade"),
    ("Sec-WebSocket-Version", "99"),
    ("X-Signature-Ed25519", "zz"),
    ("X-GitHub-Event", "push"),
    ("X-Super-Properties", "AAAA"),
)


def mutate_value(value: Any, rng: random.Random) -> Any:
    """Return a copy of a JSON value with one to three changes at random places."""
    mutated_value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 3))):
        mutated_value = _mutate_once(mutated_value, rng)
    return mutated_value


def _mutate_once(value: Any, rng: random.Random) -> Any:
    places = list(_list_places(value))
    if not places or rng.random() < 0.04:
        return random_hostile(rng)
    container, key = rng.choice(places)
    choice = rng.randrange(8)
    if choice <= 2:
        container[key] = random_hostile(rng)
    elif choice == 3:
        del container[key]
    elif choice == 4:
        container[key] = [container[key]]
    elif choice == 5:
        container[key] = {"0": container[key]}
    elif choice == 6 and isinstance(container, list):
        container.extend(copy.deepcopy(container) * rng.choice((1, 10)))
    elif choice == 6:
        container[rng.choice(TEXTS)] = random_hostile(rng)
    else:
        container[key] = _perturb(container[key], rng)
    return value


def _perturb(value: Any, rng: random.Random) -> Any:
    """Return a value close to a Boolean, an integer or a string; for other values, a random hostile one."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return rng.choice((-value, value + 1, value - 1, value * 2**32, float(value), str(value)))
    if isinstance(value, str):
        changes = (value + "\x00", value * 50, value[:-1], value.upper(), f" {value} ", value + "\ud800", value[::-1])
        return int(value) if value.isdecimal() and len(value) < 30 and rng.random() < 0.3 else rng.choice(changes)
    return random_hostile(rng)


def _list_places(value: Any, depth: int = 0) -> Any:
    if depth > 8:
        return
    if isinstance(value, dict):
        for key in value:
            yield value, key
            yield from _list_places(value[key], depth + 1)
    elif isinstance(value, list):
        for position in range(min(len(value), 20)):
            yield value, position
            yield from _list_places(value[position], depth + 1)


def encode_json(value: Any, rng: random.Random) -> bytes:
    """Encode a value as JSON, rarely with a defect. The defects also include bytes that do not depend on the value."""
    text = json.dumps(value)
    if rng.random() >= 0.06:
        return text.encode("utf-8", "surrogatepass") if rng.random() < 0.9 else _encode_unescaped(value)
    choice = rng.randrange(9)
    if choice == 0:
        depth = rng.choice((100, 1100, 20_000))
        return b"[" * depth + b"]" * depth
    if choice == 1:
        depth = rng.choice((100, 1100, 20_000))
        return b'{"a":' * depth + b"1" + b"}" * depth
    if choice == 2:
        return text.replace("{", '{"id":"1","id":null,', 1).encode()
    if choice == 3:
        return text.encode()[: rng.randrange(len(text))]
    if choice == 4:
        return b"\xef\xbb\xbf" + text.encode()
    if choice == 5:
        return text.encode("utf-16")
    if choice == 6:
        return text.replace("1", "NaN").replace("0", "-Infinity").encode()
    if choice == 7:
        return mutate_bytes(text.encode(), rng)
    return rng.choice(
        (b"", b"null", b"[]", b"0", b'""', b"\x00", b"\xff\xfe", b"1" * 5000, b"[" + b"1," * 9999 + b"1]")
    )


def _encode_unescaped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return data with a few bytes changed, removed, repeated or inserted."""
    changed_data = bytearray(data)
    for _ in range(rng.choice((1, 2, 5))):
        if not changed_data:
            break
        position = rng.randrange(len(changed_data))
        choice = rng.randrange(4)
        if choice == 0:
            changed_data[position] = rng.randrange(256)
        elif choice == 1:
            del changed_data[position : position + rng.choice((1, 2, 10))]
        elif choice == 2:
            changed_data[position:position] = changed_data[position : position + 8] * rng.choice((1, 20))
        else:
            changed_data[position:position] = bytes([rng.choice((0, 13, 10, 34, 45, 255))])
    return bytes(changed_data)


def mutate_wire(request: WireRequest, rng: random.Random) -> WireRequest:
    """Return a request with one change: of headers, body, method, path or query, or truncated."""
    headers, body, method, target = list(request.headers), request.body, request.method, request.target
    is_truncated = False
    choice = rng.randrange(10)
    if choice <= 3:
        name, value = rng.choice(_HEADERS)
        if rng.random() < 0.7:
            headers = [pair for pair in headers if pair[0].lower() != name.lower()]
        headers.append((name, value))
        if name == "Content-Encoding" and rng.random() < 0.5:
            body = gzip.compress(body) if value == "gzip" else zlib.compress(body)
    elif choice == 4:
        body = mutate_bytes(body, rng)
    elif choice == 5:
        is_truncated = bool(body)
    elif choice == 6:
        method = rng.choice(("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO"))
    elif choice == 7:
        separator = "&" if "?" in target else "?"
        target += separator + rng.choice(
            ("%", "%ff", "a=%00", "limit=²", "limit=-1", "limit=1&limit=2", "&&=&", "x" * 9000)
        )
    elif choice == 8:
        path, _, query = target.partition("?")
        changed_paths = (path + "/", path.replace("/", "//", 2), path + "/%2e%2e", path.replace("/api/v10", "/api/v6"))
        changed_paths += (
            path.replace("/api/v10", "/api"),
            path + "%00",
            path + "%ff",
            path + ";a=b",
            path.replace("v10", "v99"),
        )
        target = rng.choice(changed_paths) + (f"?{query}" if query else "")
    else:
        headers += [(f"X-{number}", "y" * 50) for number in range(rng.choice((5, 60)))]
    return WireRequest(method, target, headers, body, is_truncated, is_mutated=True)
