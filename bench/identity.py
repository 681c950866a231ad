"""The cost of token verification and of a code exchange, against posting a message."""

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from bench.load import Subject, send_requests

CONNECTION_COUNT = 32

MeasureCost = Callable[[Subject, Callable[[int], bytes], int], Awaitable[float]]


async def run_identity_benchmark(
    benchmarks: set[str],
    record_figure: Callable[..., None],
    measure_request_cost: MeasureCost,
    message_request_factory: Callable[[Subject], Callable[[int], bytes]],
    is_quick: bool,
) -> None:
    """Measure token verification, and code exchanges without and with an ID token."""
    count = 2_000 if is_quick else 8_000
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            post_cost = statistics.median(
                [await measure_request_cost(subject, message_request_factory(subject), count) for _ in range(3)]
            )
            connection_info = subject.connection_info
            if "exchange" in benchmarks:
                # The first request creates the signing key.
                await send_requests(connection_info["url"], [_get_request("/api/v10/oauth2/keys")], 1)
        if "token" in benchmarks:
            cached_us, uncached_us = await _measure_verification(count * 10)
            detail = f"{cached_us:.2f} us of {post_cost:.0f} us; {uncached_us:.0f} us for a token that is not cached"
            record_figure("token verification / POST message, CPU", cached_us / post_cost * 100, 5.0, "%", detail)
        if "exchange" in benchmarks:
            exchange_cost = await _measure_exchange(folder, connection_info, "sdk.social_layer", count // 2)
            record_figure(
                "code exchange / POST message, CPU", exchange_cost / post_cost, 5.0, "x", f"{exchange_cost:.0f} us"
            )
            # The server signs with ES256: the default RSA signature, which public clients expect, would be most of the cost.
            signed_cost = await _measure_exchange(folder, connection_info, "openid sdk.social_layer", count // 4)
            detail = f"{signed_cost:.0f} us with ES256; an RS256 signature alone takes {_measure_signature():.0f} us"
            record_figure(
                "code exchange with an ID token / POST message, CPU", signed_cost / post_cost, 5.0, "x", detail
            )


def _measure_signature() -> float:
    """Return the CPU time of an ID token signature with the default algorithm, in microseconds."""
    from hubbub.server.identity.oauth2.signatures import keys

    kid, jwk = keys.generate_key(keys.RS256)
    keys.sign(kid, jwk, {"sub": "1"})
    cpu_before = time.process_time()
    for _ in range(100):
        keys.sign(kid, jwk, {"sub": "1"})
    return (time.process_time() - cpu_before) / 100 * 1e6


async def _measure_verification(count: int) -> tuple[float, float]:
    """Return the CPU time to verify a cached token and an uncached one, in microseconds."""
    from hubbub.server.core import auth
    from hubbub.server.core.auth import Authenticator
    from hubbub.server.core.clock import RealClock
    from hubbub.server.core.snowflakes import SnowflakeFactory
    from hubbub.server.core.sqlite import SqliteDatabase
    from hubbub.server.identity.applications.interface.access import find_token_application

    clock = RealClock()
    database = SqliteDatabase(None)
    await database.start()
    ids = SnowflakeFactory(clock)
    tokens = await database.write(
        lambda tx: [auth.issue(tx, kind="user", user_id=7, now=clock.now_ms(), ids=ids) for _ in range(200)]
    )
    authenticator = Authenticator(database, clock, find_token_application)
    cpu_before = time.process_time()
    for token in tokens:
        await authenticator.authenticate(token)
    uncached_us = (time.process_time() - cpu_before) / len(tokens) * 1e6
    cpu_before = time.process_time()
    for _ in range(count):
        await authenticator.authenticate(tokens[0])
    cached_us = (time.process_time() - cpu_before) / count * 1e6
    await database.close()
    return cached_us, uncached_us


async def _measure_exchange(folder: str, connection_info: dict[str, Any], scope: str, count: int) -> float:
    """Return the CPU time of one code exchange with the client's secret, in microseconds."""
    warm_up = 200
    with Subject("hubbub-clients", folder, connection_info["user_id"], scope, str(count + warm_up)) as subject:
        requests = [_exchange_request(subject.connection_info, number) for number in range(count + warm_up)]
        await send_requests(subject.connection_info["url"], requests[:warm_up], CONNECTION_COUNT)
        cpu_before = subject.cpu_seconds()
        await send_requests(subject.connection_info["url"], requests[warm_up:], CONNECTION_COUNT)
        return (subject.cpu_seconds() - cpu_before) / count * 1e6


def _exchange_request(client: dict[str, Any], number: int) -> bytes:
    credentials = {name: client[name] for name in ("client_id", "client_secret", "redirect_uri")}
    fields = {"grant_type": "authorization_code", "code": f"{client['client_id']} {number}", **credentials}
    payload = urlencode(fields).encode()
    head = (
        "POST /api/v10/oauth2/token HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


def _get_request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n\r\n".encode()
