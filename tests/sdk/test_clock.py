"""The SDK applies the platform's rules by the platform's clock, even when the local clock is wrong."""

import time
from collections.abc import AsyncIterator, Callable

import pytest

from hubbub.protocol.ids import EPOCH_MS
from hubbub.sdk import AuthorizationTokenType, Client, ClientCreateOptions
from hubbub.sdk.clock import PlatformClock
from tests.demo_rehearsal import DemoRehearsal
from tests.sdk.players import CallbackRecorder, Player, befriend_players, create_game, create_player, joinable_activity
from tests.world import World

HOUR_MS = 3_600_000
CLOCK_ERROR_MS = 10 * 24 * HOUR_MS


@pytest.fixture(params=[CLOCK_ERROR_MS, -CLOCK_ERROR_MS], ids=["ahead", "behind"])
def wrong_clock(request: pytest.FixtureRequest, world: World) -> Callable[[], int]:
    """A local clock that is ten days ahead of the platform or behind it."""
    return lambda: world.clock.now_ms() + int(request.param)


@pytest.fixture
async def friend_pair(world: World, wrong_clock: Callable[[], int]) -> AsyncIterator[tuple[Player, Player]]:
    """Two friends whose local clocks are wrong."""
    application = await create_game(world)
    mary, zoe = [await create_player(world, application, name, clock=wrong_clock) for name in ("mary", "zoe")]
    await befriend_players(mary, zoe)
    yield mary, zoe
    await mary.client.close()
    await zoe.client.close()


async def test_history_shows_72_hours_of_the_platforms_time(world: World, friend_pair: tuple[Player, Player]) -> None:
    mary, zoe = friend_pair
    created_events = zoe.record_event("message_created")
    old_id = await mary.client.send_user_message(zoe.id, "old")
    await created_events.next(lambda message_id: message_id == old_id)
    assert [message.id for message in await zoe.client.get_user_messages_with_limit(mary.id, 5)] == [old_id]

    new_id = await mary.client.send_user_message(zoe.id, "new")
    await created_events.next(lambda message_id: message_id == new_id)
    assert [message.id for message in await zoe.client.get_user_messages_with_limit(mary.id, 5)] == [new_id, old_id]

    world.clock.advance(72 * HOUR_MS + 1)
    late_id = await mary.client.send_user_message(zoe.id, "late")
    # The message's ID carries the platform's time.
    await created_events.next(lambda message_id: message_id == late_id)
    assert [message.id for message in await zoe.client.get_user_messages_with_limit(mary.id, 5)] == [late_id]


async def test_an_invite_is_valid_for_six_hours_of_the_platforms_time(
    world: World, friend_pair: tuple[Player, Player]
) -> None:
    mary, zoe = friend_pair
    invited_events, updated_events = (
        zoe.record_event("activity_invite_created"),
        zoe.record_event("activity_invite_updated"),
    )
    presence_events = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(joinable_activity())
    await presence_events.next(lambda user_id: user_id == mary.id)

    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invited_events.next()
    assert invite.is_valid

    world.clock.advance(6 * HOUR_MS + 1)
    await zoe.client.get_user_guilds()
    assert (await updated_events.next()).is_valid is False


async def test_token_expiration_follows_the_platforms_clock(world: World, wrong_clock: Callable[[], int]) -> None:
    mary = await create_player(world, await create_game(world), connect=False)
    client, expirations = Client(ClientCreateOptions(web_base=world.url), clock=wrong_clock), CallbackRecorder()
    client.set_token_expiration_callback(expirations)
    # The client did not request this token itself, so it knows only the expiration time.
    await client.update_token(AuthorizationTokenType.BEARER, mary.tokens["access_token"])
    await client.connect()
    await client.get_user_guilds()
    assert expirations.calls == []

    world.clock.advance((604_800 - 540) * 1000)
    await client.get_user_guilds()

    assert await expirations.next() == ()
    await client.get_user_guilds()
    assert len(expirations.calls) == 1
    await client.close()
    await mary.client.close()


async def test_an_idle_client_follows_jumps_of_the_platforms_clock(demo_rehearsal: DemoRehearsal) -> None:
    mary = await create_player(demo_rehearsal, await create_game(demo_rehearsal))
    expirations = CallbackRecorder()
    mary.client.set_token_expiration_callback(expirations)

    # The client sends no request of its own; the platform's clock jumps to nine minutes before the token expires.
    (await demo_rehearsal.control_request("POST", "/clock/advance", json={"ms": (604_800 - 540) * 1000})).ok()

    assert await expirations.next() == ()
    await mary.client.close()


class ClockSetup:
    """A platform clock on a wrong local clock, with a monotonic time that the test advances, and a count of jumps."""

    def __init__(self) -> None:
        self.elapsed_seconds = 0.0
        self.clock = PlatformClock(lambda: 5)
        self.clock.monotonic = lambda: self.elapsed_seconds
        self.jump_count = 0
        self.clock.jump_watchers.append(self._count_jump)

    def _count_jump(self) -> None:
        self.jump_count += 1


def test_response_headers_set_the_clock_to_the_millisecond_or_second() -> None:
    setup = ClockSetup()
    assert setup.clock() == 5

    setup.clock.update_from_headers({"Date": "Thu, 01 Jan 2026 00:00:10 GMT"})
    assert setup.clock() == 1_767_225_610_000
    setup.clock.update_from_headers({"X-RateLimit-Reset": "1767225613.250", "X-RateLimit-Reset-After": "2.000"})
    assert setup.clock() == 1_767_225_611_250
    setup.elapsed_seconds += 1.5
    assert setup.clock() == 1_767_225_612_750

    # A Date header in the same second is less precise, and a cached response does not carry the current time.
    setup.clock.update_from_headers({"Date": "Thu, 01 Jan 2026 00:00:12 GMT"})
    setup.clock.update_from_headers({"Date": "Wed, 31 Dec 2025 00:00:00 GMT", "Age": "86400"})
    assert (setup.clock(), setup.jump_count) == (1_767_225_612_750, 2)
    setup.clock.update_from_headers({"Date": "Thu, 01 Jan 2026 01:00:00 GMT"})
    assert (setup.clock(), setup.jump_count) == (1_767_229_200_000, 3)


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
    setup = ClockSetup()

    setup.clock.update_from_headers(headers)

    assert (setup.clock(), setup.jump_count) == (5, 0)


def test_ids_only_move_the_clock_forward() -> None:
    setup = ClockSetup()
    setup.clock.update_from_id(1000 << 22)
    assert setup.clock() == EPOCH_MS + 1000

    setup.clock.update_from_id(900 << 22)
    assert setup.clock() == EPOCH_MS + 1000
    setup.clock.update_from_id(5000 << 22)
    assert setup.clock() == EPOCH_MS + 5000


async def test_response_dates_use_the_platforms_clock(world: World) -> None:
    mary = await world.user()
    world.clock.advance(CLOCK_ERROR_MS)

    response = await mary.get("/users/@me")

    expected = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(world.clock.now_ms() // 1000))
    assert response.headers.getall("Date") == [expected]
