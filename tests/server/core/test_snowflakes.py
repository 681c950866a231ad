"""Snowflakes: IDs follow the clock and never repeat."""

import threading

import pytest

from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.server.core.clock import Clock, ControlledClock, Timer
from hubbub.server.core.snowflakes import IDS_PER_MS_MAX, SnowflakeFactory

START_MS = 1_780_000_000_000


class CorrectedClock(Clock):
    """A wall clock that is corrected from outside, without a deliberate set-back."""

    def __init__(self, now: int) -> None:
        super().__init__()
        self.now = now

    def now_ms(self) -> int:
        return self.now

    def call_at(self, ms: int, callback: object) -> Timer:
        raise NotImplementedError


def test_an_id_has_the_requested_type_and_the_time_of_the_clock() -> None:
    ids = SnowflakeFactory(ControlledClock(START_MS, running=False), worker=3, process=5)
    created_id = ids.new(MessageId)
    assert type(created_id) is MessageId
    assert created_id.created_ms == START_MS
    # The lower bits are the worker, the process and the sequence number.
    assert (created_id >> 17 & 31, created_id >> 12 & 31, created_id & 4095) == (3, 5, 0)
    assert type(ids.new(ChannelId)) is ChannelId


def test_ids_of_a_full_millisecond_continue_in_the_next_one() -> None:
    ids = SnowflakeFactory(ControlledClock(START_MS, running=False))
    created_ids = [ids.new(MessageId) for _ in range(3 * IDS_PER_MS_MAX + 1)]
    assert created_ids == sorted(set(created_ids))
    assert created_ids[IDS_PER_MS_MAX - 1].created_ms == START_MS
    assert created_ids[IDS_PER_MS_MAX].created_ms == START_MS + 1
    assert created_ids[-1].created_ms == START_MS + 3


def test_ids_stay_ordered_when_the_clock_reaches_a_used_millisecond() -> None:
    clock = ControlledClock(START_MS, running=False)
    ids = SnowflakeFactory(clock)
    created_ids = [ids.new(MessageId) for _ in range(IDS_PER_MS_MAX + 10)]
    clock.advance(1)
    created_ids += [ids.new(MessageId) for _ in range(10)]
    clock.advance(1)
    created_ids.append(ids.new(MessageId))
    assert created_ids == sorted(set(created_ids))
    assert created_ids[-1].created_ms == START_MS + 2


def test_ids_do_not_follow_a_clock_that_jumps_beyond_a_limit() -> None:
    clock = CorrectedClock(START_MS)
    ids = SnowflakeFactory(clock)
    ids.limit_to(START_MS + 5)
    created_ids = [ids.new(MessageId)]
    jump_ms = 24 * 3_600_000
    clock.now += jump_ms
    created_ids += [ids.new(MessageId) for _ in range(10)]
    assert START_MS + 5 <= created_ids[-1].created_ms < START_MS + jump_ms
    ids.limit_to(clock.now + 5_000)
    created_ids.append(ids.new(MessageId))
    assert created_ids == sorted(set(created_ids))
    assert created_ids[-1].created_ms == clock.now


def test_after_a_deliberate_set_back_ids_follow_the_clock_and_never_repeat() -> None:
    clock = ControlledClock(START_MS, running=False)
    ids = SnowflakeFactory(clock)
    created_ids = []
    for _ in range(3):
        clock.set(START_MS)
        for _ in range(5):
            for _ in range(4):
                created_ids.append(ids.new(MessageId))
                assert created_ids[-1].created_ms == clock.now_ms()
            clock.advance(1)
    assert len(set(created_ids)) == len(created_ids)


def test_a_wall_clock_correction_does_not_reorder_ids() -> None:
    clock = CorrectedClock(START_MS)
    ids = SnowflakeFactory(clock)
    created_ids = [ids.new(MessageId)]
    clock.now = START_MS - 5000
    created_ids += [ids.new(MessageId) for _ in range(IDS_PER_MS_MAX + 1)]
    clock.now = START_MS + 5000
    created_ids.append(ids.new(MessageId))
    assert created_ids == sorted(set(created_ids))
    assert created_ids[-1].created_ms == START_MS + 5000


def test_ids_never_repeat_even_when_history_was_discarded() -> None:
    clock = ControlledClock(START_MS, running=False)
    ids = SnowflakeFactory(clock, counters_max=8)
    created_ids = []
    for _ in range(20):
        clock.set(START_MS)
        for step in range(50):
            created_ids += [ids.new(MessageId) for _ in range(1 + step % 3)]
            clock.advance(1)
    assert len(set(created_ids)) == len(created_ids)
    assert len(ids._counters) <= 8


def test_a_discarded_span_is_skipped_in_one_step() -> None:
    clock = ControlledClock(START_MS, running=False)
    ids = SnowflakeFactory(clock, counters_max=2)
    created_ids = [ids.new(MessageId) for _ in range(IDS_PER_MS_MAX)]
    clock.advance(10**12)
    for _ in range(10):
        created_ids.append(ids.new(MessageId))
        clock.advance(1)
    clock.set(START_MS + 5)
    created_ids.append(ids.new(MessageId))
    assert len(set(created_ids)) == len(created_ids)


def test_threads_never_share_an_id() -> None:
    ids = SnowflakeFactory(ControlledClock(START_MS))
    created_ids: list[list[MessageId]] = [[] for _ in range(4)]

    def create_ids(created_by_thread: list[MessageId]) -> None:
        for _ in range(5000):
            created_by_thread.append(ids.new(MessageId))

    threads = [threading.Thread(target=create_ids, args=(created_by_thread,)) for created_by_thread in created_ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({message_id for created_by_thread in created_ids for message_id in created_by_thread}) == 20_000


def test_worker_and_process_numbers_are_validated() -> None:
    with pytest.raises(ValueError):
        SnowflakeFactory(ControlledClock(START_MS), worker=32)
