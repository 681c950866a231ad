"""Metrics: counted apart for each App, rendered for Prometheus."""

import re

from hubbub.server.core.metrics import Metrics
from tests.world import World


def test_what_was_counted_is_rendered() -> None:
    metrics = Metrics()
    metrics.http_requests("GET", "/users/@me", "200").inc()
    metrics.http_requests("GET", "/users/@me", "200").inc()
    metrics.http_seconds("GET", "/users/@me").observe(0.003)
    metrics.db_batch.observe(16)
    metrics.bus_published.inc(5)
    text = metrics.render().decode()
    assert 'hubbub_http_requests_total{method="GET",route="/users/@me",status="200"} 2.0' in text
    assert 'hubbub_http_request_seconds_bucket{le="0.005",method="GET",route="/users/@me"} 1.0' in text
    assert 'hubbub_db_batch_units_bucket{le="16.0"} 1.0' in text
    assert "hubbub_bus_published_total 5.0" in text


def test_two_apps_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.dispatches("MESSAGE_CREATE").inc()
    assert b"MESSAGE_CREATE" in one.render()
    assert b"MESSAGE_CREATE" not in other.render()


def test_the_child_of_the_same_labels_is_made_once() -> None:
    metrics = Metrics()
    assert metrics.deliveries("READY") is metrics.deliveries("READY")
    assert metrics.deliveries("READY") is not metrics.deliveries("RESUMED")


def test_a_watched_gauge_is_asked_when_it_is_rendered() -> None:
    metrics = Metrics()
    sessions: list[int] = []
    metrics.watch(metrics.gateway_sessions, lambda: len(sessions))
    sessions += [1, 2, 3]
    assert "hubbub_gateway_sessions 3.0" in metrics.render().decode()


async def test_a_platform_at_work_counts_its_store_and_its_events(world: World) -> None:
    guild = await world.guild()
    await guild.say(guild.owner)

    async with world.client.get(f"{world.url}/metrics") as response:
        told = dict(re.findall(r"^hubbub_(\S+) (\S+)$", await response.text(), re.MULTILINE))
    assert told['dispatches_total{event="MESSAGE_CREATE"}'] == "1.0"
    assert float(told["db_seconds_count"]) > 0
    if world.app.config.database_url is None:
        assert float(told["db_batch_units_count"]) > 0
