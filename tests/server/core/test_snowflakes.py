"""Ids: their time is the clock's, and none comes twice."""

import threading

import pytest

from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.server.core.clock import Clock, ControlledClock, Timer
from hubbub.server.core.snowflakes import COUNTERS, SnowflakeFactory

NOON = 1_780_000_000_000


class CorrectedClock(Clock):
    """A wall clock whose owner did not ask for the corrections it gets."""

    def __init__(self, now: int) -> None:
        super().__init__()
        self.now = now

    def now_ms(self) -> int:
        return self.now

    def call_at(self, ms: int, callback: object) -> Timer:
        raise NotImplementedError


def test_an_id_has_the_kind_asked_for_and_the_time_of_the_clock() -> None:
    ids = SnowflakeFactory(ControlledClock(NOON, running=False), worker=3, process=5)
    made = ids.new(MessageId)
    assert type(made) is MessageId
    assert made.created_ms == NOON
    assert (made >> 17 & 31, made >> 12 & 31, made & 4095) == (3, 5, 0)
    assert type(ids.new(ChannelId)) is ChannelId


def test_ids_of_one_millisecond_grow_and_borrow_the_next_when_it_is_full() -> None:
    ids = SnowflakeFactory(ControlledClock(NOON, running=False))
    made = [ids.new(MessageId) for _ in range(3 * COUNTERS + 1)]
    assert made == sorted(set(made))
    assert made[COUNTERS - 1].created_ms == NOON
    assert made[COUNTERS].created_ms == NOON + 1
    assert made[-1].created_ms == NOON + 3


def test_ids_stay_in_order_when_the_clock_enters_a_borrowed_millisecond() -> None:
    clock = ControlledClock(NOON, running=False)
    ids = SnowflakeFactory(clock)
    made = [ids.new(MessageId) for _ in range(COUNTERS + 10)]
    clock.advance(1)
    made += [ids.new(MessageId) for _ in range(10)]
    clock.advance(1)
    made.append(ids.new(MessageId))
    assert made == sorted(set(made))
    assert made[-1].created_ms == NOON + 2


def test_after_a_deliberate_set_back_ids_follow_the_new_time_and_never_repeat() -> None:
    clock = ControlledClock(NOON, running=False)
    ids = SnowflakeFactory(clock)
    made = []
    for _ in range(3):
        clock.set(NOON)
        for _ in range(5):
            for _ in range(4):
                made.append(ids.new(MessageId))
                assert made[-1].created_ms == clock.now_ms()
            clock.advance(1)
    assert len(set(made)) == len(made)


def test_a_correction_of_the_wall_clock_does_not_make_ids_go_back() -> None:
    clock = CorrectedClock(NOON)
    ids = SnowflakeFactory(clock)
    made = [ids.new(MessageId)]
    clock.now = NOON - 5000
    made += [ids.new(MessageId) for _ in range(COUNTERS + 1)]
    clock.now = NOON + 5000
    made.append(ids.new(MessageId))
    assert made == sorted(set(made))
    assert made[-1].created_ms == NOON + 5000


def test_ids_never_repeat_even_where_the_memory_has_faded() -> None:
    clock = ControlledClock(NOON, running=False)
    ids = SnowflakeFactory(clock, remembered=8)
    made = []
    for _ in range(20):
        clock.set(NOON)
        for step in range(50):
            made += [ids.new(MessageId) for _ in range(1 + step % 3)]
            clock.advance(1)
    assert len(set(made)) == len(made)
    assert len(ids._used) <= 8


def test_a_full_and_faded_span_is_left_in_one_step() -> None:
    clock = ControlledClock(NOON, running=False)
    ids = SnowflakeFactory(clock, remembered=2)
    made = [ids.new(MessageId) for _ in range(COUNTERS)]
    clock.advance(10**12)
    for _ in range(10):
        made.append(ids.new(MessageId))
        clock.advance(1)
    clock.set(NOON + 5)
    made.append(ids.new(MessageId))
    assert len(set(made)) == len(made)


def test_threads_never_share_an_id() -> None:
    ids = SnowflakeFactory(ControlledClock(NOON))
    made: list[list[MessageId]] = [[] for _ in range(4)]

    def make(into: list[MessageId]) -> None:
        for _ in range(5000):
            into.append(ids.new(MessageId))

    threads = [threading.Thread(target=make, args=(into,)) for into in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one for some in made for one in some}) == 20_000


def test_worker_and_process_numbers_must_fit() -> None:
    with pytest.raises(ValueError):
        SnowflakeFactory(ControlledClock(NOON), worker=32)
