"""What it costs to know who asks, and to let an application in, against posting a message."""

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from bench.load import Subject, drive

CONNECTIONS = 32

Cost = Callable[[Subject, Callable[[int], bytes], int], Awaitable[float]]


async def identity_bench(
    which: set[str],
    note: Callable[..., None],
    cost: Cost,
    posting: Callable[[Subject], Callable[[int], bytes]],
    quick: bool,
) -> None:
    """Token verification on the request path, and one code exchange."""
    count = 2_000 if quick else 8_000
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            post = statistics.median([await cost(subject, posting(subject), count) for _ in range(3)])
            about = subject.about
            if "exchange" in which:
                # The first one who signs in makes the key that signs.
                await drive(about["url"], [_get("/api/v10/oauth2/keys")], 1)
        if "token" in which:
            known, unknown = await _verification(count * 10)
            detail = f"{known:.2f} us of {post:.0f} us; {unknown:.0f} us for a token seen the first time"
            note("token verification / POST message, CPU", known / post * 100, 5.0, "%", detail)
        if "exchange" in which:
            each = await _exchange(folder, about, "sdk.social_layer", count // 2)
            note("code exchange / POST message, CPU", each / post, 5.0, "x", f"{each:.0f} us")
            # Signed with ES256: by default one RSA signature, which the public wire asks for, is most of the cost.
            signed = await _exchange(folder, about, "openid sdk.social_layer", count // 4)
            detail = f"{signed:.0f} us with ES256; an RS256 signature alone takes {_signature():.0f} us"
            note("code exchange with an ID token / POST message, CPU", signed / post, 5.0, "x", detail)


def _signature() -> float:
    """Microseconds of processor time to sign an ID token as by default."""
    from hubbub.server.resources.oauth2 import keys

    kid, jwk = keys.generate(keys.RSA)
    keys.sign(kid, jwk, {"sub": "1"})
    before = time.process_time()
    for _ in range(100):
        keys.sign(kid, jwk, {"sub": "1"})
    return (time.process_time() - before) / 100 * 1e6


async def _verification(count: int) -> tuple[float, float]:
    """Microseconds of processor time to know a token that is remembered, and one that is not."""
    from hubbub.server.core import auth
    from hubbub.server.core.auth import Authenticator
    from hubbub.server.core.clock import RealClock
    from hubbub.server.core.snowflakes import SnowflakeFactory
    from hubbub.server.core.sqlite import SqliteDatabase

    clock = RealClock()
    database = SqliteDatabase(None)
    await database.start()
    ids = SnowflakeFactory(clock)
    made = await database.write(
        lambda tx: [auth.issue(tx, kind="user", user_id=7, now=clock.now_ms(), ids=ids) for _ in range(200)]
    )
    keeper = Authenticator(database, clock)
    before = time.process_time()
    for token in made:
        await keeper.actor(token)
    unknown = (time.process_time() - before) / len(made) * 1e6
    before = time.process_time()
    for _ in range(count):
        await keeper.actor(made[0])
    known = (time.process_time() - before) / count * 1e6
    await database.close()
    return known, unknown


async def _exchange(folder: str, about: dict[str, Any], scope: str, count: int) -> float:
    """Microseconds of processor time for one code, brought with the client's secret."""
    warm = 200
    with Subject("hubbub-clients", folder, about["user_id"], scope, str(count + warm)) as subject:
        requests = [_post(subject.about, number) for number in range(count + warm)]
        await drive(subject.about["url"], requests[:warm], CONNECTIONS)
        before = subject.cpu()
        await drive(subject.about["url"], requests[warm:], CONNECTIONS)
        return (subject.cpu() - before) / count * 1e6


def _post(client: dict[str, Any], number: int) -> bytes:
    named = {name: client[name] for name in ("client_id", "client_secret", "redirect_uri")}
    fields = {"grant_type": "authorization_code", "code": f"{client['client_id']} {number}", **named}
    payload = urlencode(fields).encode()
    head = (
        "POST /api/v10/oauth2/token HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


def _get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\n\r\n".encode()
