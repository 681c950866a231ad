"""Metrics: separate for each App, rendered for Prometheus."""

import re
import threading

from hubbub.server.core.metrics import Metrics
from tests.world import World


def test_counters_and_histograms_are_rendered() -> None:
    metrics = Metrics()
    metrics.http_requests("GET", "/users/@me", "200").inc()
    metrics.http_requests("GET", "/users/@me", "200").inc()
    metrics.http_seconds("GET", "/users/@me").observe(0.003)
    metrics.db_batch.observe(16)
    metrics.bus_published.inc(5)
    rendered_metrics = metrics.render().decode()
    assert 'hubbub_http_requests_total{method="GET",route="/users/@me",status="200"} 2.0' in rendered_metrics
    assert 'hubbub_http_request_seconds_bucket{le="0.005",method="GET",route="/users/@me"} 1.0' in rendered_metrics
    assert 'hubbub_db_batch_units_bucket{le="16.0"} 1.0' in rendered_metrics
    assert "hubbub_bus_published_total 5.0" in rendered_metrics


def test_no_two_metrics_have_the_same_name() -> None:
    names = re.findall(r"^# TYPE (\S+)", Metrics().render().decode(), re.MULTILINE)
    assert "hubbub_http_requests_total" in names
    assert len(names) == len(set(names))


def test_metrics_of_two_apps_are_independent() -> None:
    first_metrics, second_metrics = Metrics(), Metrics()
    first_metrics.dispatches("MESSAGE_CREATE").inc()
    assert b"MESSAGE_CREATE" in first_metrics.render()
    assert b"MESSAGE_CREATE" not in second_metrics.render()


def test_the_buckets_of_a_histogram_are_cumulative() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.002, 0.3, 99.0):
        metrics.http_seconds("GET", "/gateway").observe(seconds)
    rendered_metrics = metrics.render().decode()
    labels = 'method="GET",route="/gateway"'
    counts = dict(re.findall(r'_bucket{le="([^"]+)",method="GET",route="/gateway"} (\S+)', rendered_metrics))
    # A number equal to a bound belongs to its bucket.
    assert (counts["0.001"], counts["0.0025"], counts["0.25"], counts["0.5"]) == ("1.0", "2.0", "2.0", "3.0")
    assert (counts["10.0"], counts["+Inf"]) == ("3.0", "4.0")
    assert f"hubbub_http_request_seconds_count{{{labels}}} 4.0" in rendered_metrics
    assert f"hubbub_http_request_seconds_sum{{{labels}}} 99.303" in rendered_metrics


def test_increments_of_several_threads_are_not_lost() -> None:
    counter = Metrics().jobs("send_mail", "done")

    def count() -> None:
        for _ in range(20_000):
            counter.inc()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 80_000


def test_children_are_cached_by_label() -> None:
    metrics = Metrics()
    assert metrics.deliveries("READY") is metrics.deliveries("READY")
    assert metrics.deliveries("READY") is not metrics.deliveries("RESUMED")


def test_a_watched_gauge_is_evaluated_when_rendered() -> None:
    metrics = Metrics()
    sessions: list[int] = []
    metrics.watch(metrics.gateway_sessions, lambda: len(sessions))
    sessions += [1, 2, 3]
    assert "hubbub_gateway_sessions 3.0" in metrics.render().decode()


async def test_a_running_server_counts_database_work_and_events(world: World) -> None:
    guild = await world.guild()
    await guild.send_message(guild.owner)

    async with world.client.get(f"{world.url}/metrics") as response:
        metrics = dict(re.findall(r"^hubbub_(\S+) (\S+)$", await response.text(), re.MULTILINE))
    assert metrics['dispatches_total{event="MESSAGE_CREATE"}'] == "1.0"
    assert float(metrics["db_seconds_count"]) > 0
    if world.app.config.database_url is None:
        assert float(metrics["db_batch_units_count"]) > 0
