"""Clocks: the time they return, and when timers fire."""

import asyncio
import threading

from hubbub.server.core.clock import ControlledClock, RealClock
from tests.world import WAIT_TIMEOUT_SECONDS

START_MS = 1_780_000_000_000


def test_a_frozen_clock_returns_its_start_until_it_is_moved() -> None:
    clock = ControlledClock(START_MS, running=False)
    assert clock.now_ms() == START_MS
    clock.advance(1500)
    assert clock.now_ms() == START_MS + 1500
    clock.set(START_MS - 10)
    assert clock.now_ms() == START_MS - 10


def test_only_a_move_to_an_earlier_time_counts_as_set_back() -> None:
    clock = ControlledClock(START_MS, running=False)
    clock.advance(5)
    clock.set(START_MS + 5)
    assert clock.backward_set_count == 0
    clock.set(START_MS)
    assert clock.backward_set_count == 1


def test_advancing_fires_due_timers_in_order_at_their_own_time() -> None:
    clock = ControlledClock(START_MS, running=False)
    fired_timers: list[tuple[str, int]] = []
    clock.call_at(START_MS + 30, lambda: fired_timers.append(("late", clock.now_ms())))
    clock.call_at(START_MS + 10, lambda: fired_timers.append(("early", clock.now_ms())))
    clock.call_at(START_MS + 10, lambda: fired_timers.append(("second", clock.now_ms())))
    clock.call_at(START_MS + 99, lambda: fired_timers.append(("never", clock.now_ms())))

    clock.advance(50)

    assert fired_timers == [("early", START_MS + 10), ("second", START_MS + 10), ("late", START_MS + 30)]
    assert clock.now_ms() == START_MS + 50


def test_a_timer_started_by_a_callback_fires_in_the_same_advance() -> None:
    clock = ControlledClock(START_MS, running=False)
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(clock.now_ms() - START_MS)
        clock.call_later(10, tick)

    clock.call_later(10, tick)
    clock.advance(35)
    assert ticks == [10, 20, 30]
    clock.advance(5)
    assert ticks == [10, 20, 30, 40]


def test_a_canceled_timer_never_fires() -> None:
    clock = ControlledClock(START_MS, running=False)
    fired_timers: list[int] = []
    timer = clock.call_later(10, lambda: fired_timers.append(1))
    timer.cancel()
    timer.cancel()
    clock.advance(100)
    assert fired_timers == []
    assert not timer.is_pending


def test_canceled_timers_do_not_accumulate() -> None:
    clock = ControlledClock(START_MS, running=False)
    clock.call_later(1, lambda: None)
    for _ in range(10_000):
        clock.call_later(1_000_000, lambda: None).cancel()
    assert len(clock._timers) < 3000


def test_a_failing_callback_stops_neither_the_clock_nor_the_other_timers() -> None:
    clock = ControlledClock(START_MS, running=False)
    fired_timers: list[int] = []
    clock.call_later(1, lambda: 1 / 0)
    clock.call_later(2, lambda: fired_timers.append(clock.now_ms()))
    clock.advance(10)
    assert fired_timers == [START_MS + 2]
    assert clock.now_ms() == START_MS + 10


def test_setting_the_clock_back_keeps_timers_pending() -> None:
    clock = ControlledClock(START_MS, running=False)
    fired_timers: list[int] = []
    clock.call_at(START_MS + 10, lambda: fired_timers.append(clock.now_ms()))
    clock.set(START_MS - 1000)
    assert fired_timers == []
    clock.set(START_MS + 10)
    assert fired_timers == [START_MS + 10]


async def test_settle_waits_for_work_started_by_timers() -> None:
    clock = ControlledClock(START_MS, running=False)
    expired_names: list[str] = []

    async def expire() -> None:
        await asyncio.to_thread(expired_names.append, "timer")

    clock.call_later(10, expire)
    clock.advance(10)
    assert expired_names == []
    await clock.settle()
    assert expired_names == ["timer"]


async def test_run_for_wakes_a_sleeping_loop_every_time() -> None:
    clock = ControlledClock(START_MS, running=False)
    wakeups: list[int] = []

    async def loop() -> None:
        while True:
            await clock.sleep(1000)
            with clock.working():
                await asyncio.to_thread(wakeups.append, clock.now_ms() - START_MS)

    task = asyncio.create_task(loop())
    await asyncio.sleep(0)
    await clock.run_for(3500)
    assert wakeups == [1000, 2000, 3000]
    assert clock.now_ms() == START_MS + 3500
    task.cancel()


async def test_a_sleep_until_a_past_time_returns_immediately() -> None:
    clock = ControlledClock(START_MS, running=False)
    await asyncio.wait_for(clock.sleep_until(START_MS - 1), 5)
    assert clock.now_ms() == START_MS


async def test_a_canceled_sleep_leaves_no_timer() -> None:
    clock = ControlledClock(START_MS, running=False)
    task = asyncio.create_task(clock.sleep(1000))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert clock._next_due() is None


async def test_a_running_controlled_clock_fires_timers_in_real_time() -> None:
    clock = ControlledClock(START_MS)
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await clock.sleep(5)
    assert clock.now_ms() >= START_MS + 5


async def test_freezing_stops_timers_and_resuming_starts_them_again() -> None:
    clock = ControlledClock(START_MS)
    fire_event = asyncio.Event()
    clock.call_later(1, fire_event.set)
    clock.freeze()
    frozen_ms = clock.now_ms()
    # A timer of a running clock that starts later and is due later fires, so time has passed.
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await ControlledClock(START_MS).sleep(5)
    assert not fire_event.is_set()
    assert clock.now_ms() == frozen_ms
    clock.resume()
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await fire_event.wait()
    assert clock.is_running


async def test_the_real_clock_fires_no_earlier_than_due_and_can_be_canceled() -> None:
    clock = RealClock()
    due_ms = clock.now_ms() + 5
    canceled_timer = clock.call_at(due_ms, lambda: 1 / 0)
    canceled_timer.cancel()
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await clock.sleep_until(due_ms)
    assert clock.now_ms() >= due_ms


def test_any_thread_can_read_the_time_while_it_is_moved() -> None:
    clock = ControlledClock(START_MS)
    stop_event = threading.Event()
    out_of_range: list[int] = []

    def read() -> None:
        while not stop_event.is_set():
            now_ms = clock.now_ms()
            if not START_MS <= now_ms < START_MS + 10_000_000:
                out_of_range.append(now_ms)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        clock.advance(100)
        clock.freeze()
        clock.resume()
    stop_event.set()
    for thread in threads:
        thread.join()
    assert out_of_range == []
