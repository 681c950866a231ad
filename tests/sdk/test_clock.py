"""The SDK applies the platform's rules by the platform's clock, even when the local clock is wrong."""

import time
from collections.abc import AsyncIterator, Callable

import pytest

from hubbub.protocol.ids import EPOCH_MS
from hubbub.sdk import AuthorizationTokenType, Client, ClientCreateOptions
from hubbub.sdk.clock import PlatformClock
from tests.sdk.players import CallbackRecorder, Player, game, player
from tests.sdk.test_presence import befriend, joinable_activity
from tests.world import World

HOUR_MS = 3_600_000
DAYS_MS = 10 * 24 * HOUR_MS


@pytest.fixture(params=[DAYS_MS, -DAYS_MS], ids=["ahead", "behind"])
def wrong(request: pytest.FixtureRequest, world: World) -> Callable[[], int]:
    """Set the SDK's local clock ten days off."""
    return lambda: world.clock.now_ms() + int(request.param)


@pytest.fixture
async def pair(world: World, wrong: Callable[[], int]) -> AsyncIterator[tuple[Player, Player]]:
    """Create two friends whose local clocks are wrong."""
    application = await game(world)
    mary, zoe = [await player(world, application, name, clock=wrong) for name in ("mary", "zoe")]
    await befriend(mary, zoe)
    yield mary, zoe
    await mary.client.close()
    await zoe.client.close()


async def test_history_shows_72_hours_of_the_platforms_time(world: World, pair: tuple[Player, Player]) -> None:
    mary, zoe = pair
    expiring = zoe.record_event("message_created")
    old = await mary.client.send_user_message(zoe.id, "old")
    await expiring.next(lambda which: which == old)
    assert [each.id for each in await zoe.client.get_user_messages_with_limit(mary.id, 5)] == [old]

    new = await mary.client.send_user_message(zoe.id, "new")
    await expiring.next(lambda which: which == new)
    assert [each.id for each in await zoe.client.get_user_messages_with_limit(mary.id, 5)] == [new, old]

    world.clock.advance(72 * HOUR_MS + 1)
    late = await mary.client.send_user_message(zoe.id, "late")
    # The message's id carries the platform's time.
    await expiring.next(lambda which: which == late)
    assert [each.id for each in await zoe.client.get_user_messages_with_limit(mary.id, 5)] == [late]


async def test_an_invite_is_valid_for_six_hours_of_the_platforms_time(
    world: World, pair: tuple[Player, Player]
) -> None:
    mary, zoe = pair
    invited, updated = zoe.record_event("activity_invite_created"), zoe.record_event("activity_invite_updated")
    seen = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(joinable_activity())
    await seen.next(lambda user_id: user_id == mary.id)

    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invited.next()
    assert invite.is_valid

    world.clock.advance(6 * HOUR_MS + 1)
    await zoe.client.get_user_guilds()
    assert (await updated.next()).is_valid is False


async def test_token_expiration_follows_the_platforms_clock(world: World, wrong: Callable[[], int]) -> None:
    mary = await player(world, await game(world), connect=False)
    client, ending = Client(ClientCreateOptions(web_base=world.url), clock=wrong), CallbackRecorder()
    client.set_token_expiration_callback(ending)
    # The client did not request this token itself, so it knows only the expiration time.
    await client.update_token(AuthorizationTokenType.BEARER, mary.tokens["access_token"])
    await client.connect()
    await client.get_user_guilds()
    assert ending.all == []

    world.clock.advance((604_800 - 540) * 1000)
    await client.get_user_guilds()

    assert await ending.next() == ()
    await client.get_user_guilds()
    assert len(ending.all) == 1
    await client.close()
    await mary.client.close()


class Machine:
    """A wrong local clock whose time the test advances."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.clock = PlatformClock(lambda: 5)
        self.clock.monotonic = lambda: self.seconds
        self.jumps = 0
        self.clock.jump_watchers.append(self._jumped)

    def _jumped(self) -> None:
        self.jumps += 1


def test_response_headers_set_the_clock_to_the_millisecond_or_second() -> None:
    machine = Machine()
    assert machine.clock() == 5

    machine.clock.update_from_headers({"Date": "Thu, 01 Jan 2026 00:00:10 GMT"})
    assert machine.clock() == 1_767_225_610_000
    machine.clock.update_from_headers({"X-RateLimit-Reset": "1767225613.250", "X-RateLimit-Reset-After": "2.000"})
    assert machine.clock() == 1_767_225_611_250
    machine.seconds += 1.5
    assert machine.clock() == 1_767_225_612_750

    # A Date header is no more precise than this, and a cached response carries no time.
    machine.clock.update_from_headers({"Date": "Thu, 01 Jan 2026 00:00:12 GMT"})
    machine.clock.update_from_headers({"Date": "Wed, 31 Dec 2025 00:00:00 GMT", "Age": "86400"})
    assert (machine.clock(), machine.jumps) == (1_767_225_612_750, 2)
    machine.clock.update_from_headers({"Date": "Thu, 01 Jan 2026 01:00:00 GMT"})
    assert (machine.clock(), machine.jumps) == (1_767_229_200_000, 3)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Date": "yesterday"},
        {"X-RateLimit-Reset": "soon", "X-RateLimit-Reset-After": "1"},
        {"X-RateLimit-Reset": "nan", "X-RateLimit-Reset-After": "1"},
        {"X-RateLimit-Reset": "inf", "X-RateLimit-Reset-After": "1"},
    ],
)
def test_headers_without_a_valid_time_are_ignored(headers: dict[str, str]) -> None:
    machine = Machine()

    machine.clock.update_from_headers(headers)

    assert (machine.clock(), machine.jumps) == (5, 0)


def test_ids_only_move_the_clock_forward() -> None:
    machine = Machine()
    machine.clock.update_from_id(1000 << 22)
    assert machine.clock() == EPOCH_MS + 1000

    machine.clock.update_from_id(900 << 22)
    assert machine.clock() == EPOCH_MS + 1000
    machine.clock.update_from_id(5000 << 22)
    assert machine.clock() == EPOCH_MS + 5000


async def test_response_dates_use_the_platforms_clock(world: World) -> None:
    mary = await world.user()
    world.clock.advance(DAYS_MS)

    answer = await mary.get("/users/@me")

    expected = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(world.clock.now_ms() // 1000))
    assert answer.headers.getall("Date") == [expected]
