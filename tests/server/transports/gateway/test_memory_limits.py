"""Memory limits of a gateway node: session starts, member requests, queued events, write buffers and presences."""

import asyncio
from typing import Any

import pytest

from hubbub.protocol import codec
from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources.presence import SetPresence
from hubbub.server.core.bus import LocalBus
from hubbub.server.core.call import Actor
from hubbub.server.core.clock import DAY_MS, ControlledClock
from hubbub.server.core.config import Config, GatewayConfig
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.presences import Presences
from hubbub.server.core.rate_limits import RateLimits
from hubbub.server.transports.gateway import hub, limits, presence
from hubbub.server.transports.gateway.compression import Compression
from hubbub.server.transports.gateway.context import GatewayContext, PresenceAudience
from hubbub.server.transports.gateway.identification import SessionParameters, Shard
from hubbub.server.transports.gateway.limits import MemberRequests, SessionStarts
from hubbub.server.transports.gateway.presence import PresenceFeed
from hubbub.server.transports.gateway.replay import ReplayBuffer
from hubbub.server.transports.gateway.session import GatewayConnection, GatewaySession
from hubbub.server.transports.rate_window import RateWindow
from tests.server.transports.gateway.harness import PUBLIC_CHANNEL_ID, START_MS, GatewayPlatform, sample_guild


def test_session_starts_older_than_a_day_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SWEEP_THRESHOLD", 10)
    clock = ControlledClock(START_MS, running=False)
    starts = SessionStarts(Config(gateway=GatewayConfig(session_starts_max=2)), clock, RateLimits(clock.now_ms))
    for bot in range(1000):
        clock.advance(DAY_MS // 5)
        assert starts.take(bot, 0, bot * 100.0)
    assert len(starts._daily_usage) <= 10
    assert len(starts._last_starts) <= 10
    # Entries of the last day are still counted.
    assert [starts.remaining(bot).remaining for bot in (999, 998, 997, 990)] == [1, 1, 1, 2]


def test_session_starts_of_one_day_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SWEEP_THRESHOLD", 10)
    clock = ControlledClock(START_MS, running=False)
    starts = SessionStarts(Config(gateway=GatewayConfig(session_starts_max=2)), clock, RateLimits(clock.now_ms))
    for bot in range(100):
        starts.take(bot, 0, 0.0)
    assert all(starts.remaining(bot).remaining == 1 for bot in range(100))


def test_member_requests_are_removed_after_their_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SWEEP_THRESHOLD", 10)
    clock = ControlledClock(START_MS, running=False)
    requests = MemberRequests(clock, RateLimits(clock.now_ms))
    for guild in range(1000):
        clock.advance(10_000)
        assert requests.record_request(5, guild, 10**6) == (0, False)
    assert len(requests._last_requests) <= 10
    assert requests.record_request(5, 999, 10**6)[0] > 0


async def test_a_session_that_never_loads_its_guild_is_invalidated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "QUEUED_EVENTS_MAX", 50)
    guild_arrivals = GatewayContext.guild_arrivals
    release = asyncio.Event()

    async def delayed_guild_arrivals(self: GatewayContext, *arguments: Any) -> Any:
        await release.wait()
        return await guild_arrivals(self, *arguments)

    monkeypatch.setattr(GatewayContext, "guild_arrivals", delayed_guild_arrivals)
    async with GatewayPlatform() as platform:
        await platform.create_guild(sample_guild(), member_roles={5: [], 6: []})
        waiting_client = await platform.connect()
        await waiting_client.identify(platform.create_bot(user_id=5))
        for _ in range(40):
            await platform.publish_message(PUBLIC_CHANNEL_ID, "buffered")
        assert await waiting_client.take_event_names() == ["READY"]

        for _ in range(20):
            await platform.publish_message(PUBLIC_CHANNEL_ID, "too many")

        assert (await waiting_client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
        assert not list(platform.gateway.sessions)
        release.set()
        # The connection and the guild are still usable.
        await waiting_client.identify(platform.create_bot(user_id=6))
        await waiting_client.next_event("GUILD_CREATE")


class StuckTransport(asyncio.WriteTransport):
    """A transport whose peer never reads."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0
        self.is_aborted = False

    def write(self, data: Any) -> None:
        self.size += len(data)

    def get_write_buffer_size(self) -> int:
        return self.size

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True


class FakeSocket:
    """A replacement for aiohttp's socket that sends no close frame."""

    async def close(self, **_: Any) -> None:
        """Return immediately."""


async def test_a_client_that_reads_no_heartbeat_acks_is_disconnected() -> None:
    transport = StuckTransport()
    connection = GatewayConnection(
        FakeSocket(),  # type: ignore[arg-type]
        transport,
        compression=Compression.NONE,
        version=10,
        resume_url="",
        now=0.0,
        frame_limit=RateWindow(120, 60.0),
        write_buffer_max=10_000,
    )
    for _ in range(10_000):
        connection.send_payload(GatewayOpcode.HEARTBEAT_ACK)
    assert transport.size < 11_000
    assert connection.code == CloseCode.UNKNOWN_ERROR
    assert connection.close_task is not None
    await connection.close_task
    assert transport.is_aborted


def make_session(user_id: int) -> GatewaySession:
    """Return a session without a connection."""
    return GatewaySession(
        Actor(user_id=UserId(user_id), kind="user"),
        parameters=SessionParameters(intents=0, shard=Shard(0, 1), large_threshold=50, always_obfuscates=False),
        version=10,
        device="web",
        replay=ReplayBuffer(10, 1024),
        presence_limit=RateWindow(5, 20.0),
        now=0.0,
    )


async def test_pending_presence_changes_are_replaced_by_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "MERGE_THRESHOLD", 10)
    store_ready = asyncio.Event()

    async def read_audience(user_id: int, *, with_friends: bool) -> PresenceAudience:
        await store_ready.wait()
        return PresenceAudience(guilds=[1], friends=[], families=set())

    bus: LocalBus[Dispatch] = LocalBus()
    published_presences: list[tuple[str, str]] = []

    def record(dispatch: Dispatch) -> None:
        body = codec.decode(dispatch.body, dict)
        published_presences.append((body["user"]["id"], body["status"]))

    bus.subscribe("guild.1", record)
    feed = PresenceFeed(bus, ControlledClock(START_MS, running=False), Presences(), read_audience=read_audience)
    sessions = [make_session(user_id) for user_id in range(20, 35)]
    for number in range(100):
        for session in sessions:
            feed.set_presence(session, SetPresence(status="idle" if number % 2 else "dnd"))
            # The first change is being published and waits for the store.
            await asyncio.sleep(0)
    feed.set_presence(sessions[0], SetPresence(status="online"))
    assert len(feed._changes) <= 2 * len(sessions)

    publish_task = feed.publish_task
    assert publish_task is not None
    store_ready.set()
    await publish_task

    assert len(published_presences) <= 2 * len(sessions) + 1
    expected = {str(session.user_id): "idle" for session in sessions} | {str(sessions[0].user_id): "online"}
    assert dict(published_presences) == expected
    feed.close()
