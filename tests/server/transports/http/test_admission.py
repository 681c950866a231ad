"""Overload of the HTTP server: the number of requests that wait for the store is limited, and so is the time of the wait."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from hubbub.server.core.loop_monitor import INTERVAL_SECONDS, LoopMonitor
from hubbub.server.core.metrics import Metrics
from hubbub.server.transports.http import admission
from tests.server.transports.http.conftest import HttpHarness

TOYS_PATH = "/channels/1/toys"
BODY = b'{"content": "ball"}'


@contextlib.asynccontextmanager
async def blocked_store(server: HttpHarness) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Block the store until the yielded function is called or the block ends."""
    # The caller's token is cached before the store is blocked.
    assert (await server.request("GET", "/users/@me")).status == 200
    blocked_event, continue_event = threading.Event(), threading.Event()

    def block(_: object) -> None:
        blocked_event.set()
        continue_event.wait()

    blocking_task = asyncio.create_task(server.db.write(block))
    await asyncio.to_thread(blocked_event.wait)

    async def release() -> None:
        continue_event.set()
        await blocking_task

    try:
        yield release
    finally:
        await release()


async def wait_for_pending(server: HttpHarness, count: int) -> None:
    """Wait until this number of requests waits for the store."""
    async with asyncio.timeout(30):
        while server.metrics.registry.get_sample_value("hubbub_http_requests_pending") != count:
            await asyncio.sleep(0.01)


def count_rejected(metrics: Metrics, cause: str) -> float:
    """Return the number of requests that were rejected for this cause."""
    return metrics.registry.get_sample_value("hubbub_http_overload_total", {"cause": cause}) or 0


async def test_requests_above_the_limit_are_rejected_until_others_finish(
    make_server: Callable[..., Awaitable[HttpHarness]], caplog: pytest.LogCaptureFixture
) -> None:
    server = await make_server(pending_requests_max=2)
    async with blocked_store(server) as release:
        waiting_requests = [asyncio.create_task(server.post_json(TOYS_PATH, BODY)) for _ in range(2)]
        await wait_for_pending(server, 2)

        with caplog.at_level(logging.WARNING, logger=admission.__name__):
            rejected_responses = [await server.post_json(TOYS_PATH, BODY) for _ in range(3)]
        assert [response.status for response in rejected_responses] == [503] * 3
        assert {response.headers["Retry-After"] for response in rejected_responses} == {"1"}
        assert rejected_responses[0].json["retry_after"] == 1
        assert count_rejected(server.metrics, "pending") == 3
        assert len(caplog.records) == 1
        assert "http.pending_requests_max" in caplog.text
        async with server.session.get(f"{server.base}/healthz") as response:
            assert response.status == 200

        await release()
        assert {(await task).status for task in waiting_requests} == {200}
        assert (await server.post_json(TOYS_PATH, BODY)).status == 200


async def test_a_request_that_waits_too_long_is_rejected_and_never_runs(
    make_server: Callable[..., Awaitable[HttpHarness]],
) -> None:
    server = await make_server(pending_timeout_ms=50)
    async with blocked_store(server) as release:
        response = await server.request("GET", "/writing")
        assert (response.status, response.headers["Retry-After"]) == (503, "1")
        assert count_rejected(server.metrics, "wait") == 1
        await wait_for_pending(server, 0)
        await release()
    assert (await server.request("GET", "/writing")).status == 200
    assert await server.db.read(lambda tx: tx.value("SELECT count(*) FROM toys")) == 1


async def test_an_operation_that_has_started_is_not_interrupted() -> None:
    async def handle() -> str:
        with limits.enter() as pending:
            pending.start()
            await asyncio.sleep(3 * admission.WATCH_SECONDS)
            pending.start()
        return "finished"

    limits = admission.Admission(Metrics(), None, HttpHarness(pending_timeout_ms=1).config.http)
    assert await handle() == "finished"
    assert not limits.pending


async def test_a_cancelled_request_stays_cancelled() -> None:
    async def handle() -> None:
        with limits.enter():
            await asyncio.Event().wait()

    limits = admission.Admission(Metrics(), None, HttpHarness().config.http)
    task = asyncio.create_task(handle())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not limits.pending


async def test_a_loop_that_stays_late_rejects_requests_and_a_single_pause_does_not() -> None:
    monitor = LoopMonitor(Metrics().loop_lag)
    monitor.start()
    limits = admission.Admission(metrics := Metrics(), monitor, HttpHarness().config.http)
    loop = asyncio.get_running_loop()

    def pause() -> None:
        until = loop.time() + INTERVAL_SECONDS + admission.LAG_SECONDS_MAX + 0.1
        while loop.time() < until:
            pass

    pause()
    limits.require_capacity()
    # The timer of the monitor runs after tasks that are ready in the same cycle of the loop.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    pause()
    with pytest.raises(admission.ApiError):
        limits.require_capacity()
    assert count_rejected(metrics, "lag") == 1
    await asyncio.sleep(2 * INTERVAL_SECONDS)
    limits.require_capacity()
    monitor.stop()
