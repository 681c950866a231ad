"""Batches of quick writes on PostgreSQL: several units of work share one transaction (decisions/0180).

Each unit of a batch runs in its own greenlet. A unit that needs a result is suspended; when all units of the batch are suspended
or have ended, their statements are sent together, so that a batch takes as many round trips as its longest unit.

The statements of the units interleave, so the batch checks that its units can be ordered: each unit must see all writes of
the units before it and none of those after it. A statement that makes this impossible, or that might wait for a lock, makes
its unit leave the batch. A unit that leaves after it has written, or fails after it has written, fails the whole batch. The
store repeats these units alone.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from greenlet import getcurrent, greenlet
from psycopg.pq.abc import PGresult

from hubbub.server.core.commit_delivery import FinishedUnit
from hubbub.server.core.postgres_connection import SELECT_TRANSACTION_ID, PostgresConnection, Reply
from hubbub.server.core.postgres_forecasts import Forecasts
from hubbub.server.core.postgres_loop import Unit
from hubbub.server.core.postgres_statements import Statement
from hubbub.server.core.postgres_tx import PostgresTx

BATCH_UNITS_MAX: Final = 32
"""Maximum number of units of a batch."""
BATCH_ROUND_TRIPS_MAX: Final = 4
"""Number of round trips of a batch after which units that have not written leave it."""
LONE_KEY_LEAVES_MIN: Final = 2
"""Number of consecutive units with the same key that left their batches, after which units with this key run alone."""
LONE_KEY_UNITS: Final = 64
"""Number of units with the same key that run alone before one is run in a batch again."""
LONE_KEYS_MAX: Final = 8192
"""Maximum number of remembered keys; the oldest is removed when another is added."""


class BatchFailed(Exception):
    """A batch cannot be committed because of one of its units; its transaction must be rolled back."""


class _UnitEnded(BaseException):
    """Ends a unit inside of its greenlet. It does not inherit from `Exception`, so that the unit does not handle it."""


class LoneKeys:
    """Keys whose units run alone because earlier units with the key left their batches.

    An example is the ID of a thread channel: each message in it updates the row of the thread."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        """The number of consecutive units that left, plus the number of those that ran alone after them, by key."""

    def consume_lone_run(self, key: int) -> bool:
        """Return whether the next unit with this key must run alone, and count its run."""
        count = self._counts.get(key, 0)
        if count < LONE_KEY_LEAVES_MIN:
            return False
        if count >= LONE_KEY_LEAVES_MIN + LONE_KEY_UNITS:
            self._counts[key] = LONE_KEY_LEAVES_MIN - 1
            return False
        self._counts[key] = count + 1
        return True

    def record(self, key: int, *, has_left: bool) -> None:
        """Record whether a unit with this key left its batch."""
        counts = self._counts
        if not has_left:
            counts.pop(key, None)
        elif key:
            if key not in counts and len(counts) >= LONE_KEYS_MAX:
                del counts[next(iter(counts))]
            counts[key] = counts.get(key, 0) + 1


class _BatchOrder:
    """The order of the units of a batch, derived from the tables that they read and write.

    A set of units is an integer with a bit per unit."""

    def __init__(self, unit_count: int) -> None:
        self._predecessors = [0] * unit_count
        """For each unit, the units that come before it, directly or not."""
        self._readers: dict[Statement, int] = {}
        """The units that executed a statement that reads."""
        self._writers: dict[str, int] = {}
        """The units that wrote a table."""

    def add(self, index: int, statement: Statement) -> bool:
        """Record a statement of a unit. Return False without recording it if no order of the units allows it."""
        table, unit = statement.insert_table, 1 << index
        earlier_units = 0
        if table is None:
            for written_table, writers in self._writers.items():
                if written_table in statement.words:
                    earlier_units |= writers
        else:
            for read_statement, readers in self._readers.items():
                if table in read_statement.words:
                    earlier_units |= readers
            if statement.may_wait:
                # ON CONFLICT reads the rows of earlier inserts.
                earlier_units |= self._writers.get(table, 0)
        if earlier_units & ~unit and not self._move_after(index, earlier_units & ~unit):
            return False
        if table is None:
            self._readers[statement] = self._readers.get(statement, 0) | unit
        else:
            self._writers[table] = self._writers.get(table, 0) | unit
        return True

    def compute_position(self, index: int) -> int:
        """Return a number that is higher for a unit than for each unit before it."""
        return self._predecessors[index].bit_count()

    def _move_after(self, index: int, earlier_units: int) -> bool:
        predecessors = self._predecessors
        all_earlier = earlier_units
        for other, its_predecessors in enumerate(predecessors):
            if earlier_units >> other & 1:
                all_earlier |= its_predecessors
        if all_earlier >> index & 1:
            return False
        all_earlier |= predecessors[index]
        predecessors[index] = all_earlier
        for other, its_predecessors in enumerate(predecessors):
            if its_predecessors >> index & 1:
                predecessors[other] = its_predecessors | all_earlier
        return True


class _BatchUnit:
    """A unit of a batch. It takes the place of the connection in the transaction of the unit."""

    __slots__ = ("_batch", "_index", "error", "greenlet", "has_left", "has_written", "result", "tx", "unit")

    def __init__(self, batch: "WriteBatch", index: int, unit: Unit, forecasts: Forecasts) -> None:
        self._batch = batch
        self._index = index
        self.unit = unit
        self.tx = PostgresTx(self, writes=True, forecasts=forecasts, is_in_batch=True)
        self.result: Any = None
        self.error: BaseException | None = None
        self.greenlet: greenlet | None = None
        """The greenlet in which the unit is suspended or runs; None when it has ended."""
        self.has_written = False
        self.has_left = False
        """Whether the unit must run alone instead."""

    def run(self) -> None:
        """Run the unit until it ends; its greenlet calls this."""
        try:
            self.result = self.unit.work(self.tx)
        except BaseException as error:
            self.error = error
        finally:
            self.tx.end()
            self.greenlet = None

    def send(self, statement: Statement, parameters: Sequence[Any] = ()) -> Reply:
        """Send a statement with the next round trip of the batch and return its reply."""
        return self._batch.send(self, self._index, statement, parameters)

    def exchange(self, *, is_last: bool = False) -> None:
        """Suspend the unit until the replies of the batch have arrived."""
        self._batch.coordinator.switch()

    def rows(self, result: PGresult) -> list[tuple[Any, ...]]:
        """Return the rows of a result."""
        return self._batch.rows(result)


class WriteBatch:
    """Quick writes that share a transaction of a connection, and one attempt at it."""

    def __init__(
        self,
        connection: PostgresConnection,
        units: Sequence[Unit],
        forecasts: Forecasts,
        idle_greenlets: list[greenlet],
        lone_keys: LoneKeys,
        run_alone: Callable[[Unit], None],
    ) -> None:
        """Create a batch; `idle_greenlets` are used again by later batches. `run_alone` receives units that leave."""
        self._connection = connection
        self.coordinator = getcurrent()
        """The greenlet that waits for the connection."""
        self._units = [_BatchUnit(self, index, unit, forecasts) for index, unit in enumerate(units)]
        self._idle_greenlets = idle_greenlets
        self._lone_keys = lone_keys
        self._run_alone = run_alone
        self._order = _BatchOrder(len(units))
        self._replies: dict[Statement, dict[tuple[Any, ...], Reply]] = {}
        """Replies of queries whose tables were not written since, by statement and parameters."""
        self._transaction_id_reply: Reply | None = None
        self._rows_by_result: dict[int, tuple[PGresult, list[tuple[Any, ...]]]] = {}

    def run(self) -> None:
        """Run all units until each has ended or left. Raise BatchFailed or an error of the connection."""
        running_units = self._units
        try:
            for round_trip_count in range(1 << 30):
                for unit in running_units:
                    self._resume(unit)
                    if unit.greenlet is not None and not unit.has_written and round_trip_count >= BATCH_ROUND_TRIPS_MAX:
                        unit.has_left = True
                        self._stop(unit)
                    if unit.has_left:
                        self._lone_keys.record(unit.unit.key, has_left=True)
                    if unit.has_written and (unit.has_left or unit.error is not None):
                        unit.has_left = False
                        raise BatchFailed
                    if unit.has_left:
                        self._run_alone(unit.unit)
                running_units = [unit for unit in running_units if unit.greenlet is not None]
                if not running_units:
                    return
                self._connection.exchange()
        finally:
            for unit in running_units:
                self._stop(unit)

    def send(self, unit: _BatchUnit, index: int, statement: Statement, parameters: Sequence[Any]) -> Reply:
        """Send a statement of a unit, or return the reply of an equal query."""
        if statement is SELECT_TRANSACTION_ID:
            if self._transaction_id_reply is None:
                self._transaction_id_reply = self._connection.send(statement)
            return self._transaction_id_reply
        table = statement.insert_table
        if unit.has_left or (statement.is_write and table is None) or not self._order.add(index, statement):
            unit.has_left = True
            raise _UnitEnded
        if table is not None:
            unit.has_written = True
            for query, replies in self._replies.items():
                if table in query.words:
                    replies.clear()
            return self._connection.send(statement, parameters)
        replies = self._replies.setdefault(statement, {})
        key = tuple(parameters)
        reply = replies.get(key)
        if reply is None:
            reply = replies[key] = self._connection.send(statement, parameters)
        return reply

    def rows(self, result: PGresult) -> list[tuple[Any, ...]]:
        """Return a new list of the rows of a result."""
        entry = self._rows_by_result.get(id(result))
        if entry is None:
            entry = self._rows_by_result[id(result)] = (result, self._connection.rows(result))
        return entry[1].copy()

    @property
    def remaining_units(self) -> list[Unit]:
        """The units that have not left."""
        return [unit.unit for unit in self._units if not unit.has_left]

    def merge_transactions(self) -> PostgresTx:
        """Return a transaction with the events and callbacks of the units, in the order of the units."""
        tx = PostgresTx(self._connection, writes=True, transaction_id_reply=self._transaction_id_reply)
        for _, unit in sorted(enumerate(self._units), key=lambda entry: self._order.compute_position(entry[0])):
            if unit.error is None:
                tx.dispatches += unit.tx.dispatches
                tx.after_commit += unit.tx.after_commit
                tx.wakes_worker = tx.wakes_worker or unit.tx.wakes_worker
        return tx

    def list_finished(self, tx: PostgresTx) -> list[FinishedUnit]:
        """Return the results of the units that have not left; the first entry has the merged transaction."""
        finished_units: list[FinishedUnit] = []
        for unit in self._units:
            if not unit.has_left:
                finished_units.append((unit.unit.future, unit.result, unit.error, None if finished_units else tx))
        return finished_units

    @property
    def has_successful_unit(self) -> bool:
        """Whether at least one unit returned a result."""
        return any(unit.error is None for unit in self._units)

    def record_commit(self) -> None:
        """Clear the counts of the keys of the committed units, and record which queries these units ran."""
        for unit in self._units:
            if unit.error is None:
                self._lone_keys.record(unit.unit.key, has_left=False)
                unit.tx.record_forecast()

    def _resume(self, unit: _BatchUnit) -> None:
        """Run a unit until it waits or ends."""
        if unit.greenlet is not None:
            unit.greenlet.switch()
            return
        # The greenlets are children of the event loop's greenlet, because coordinators of later batches use them too.
        unit_greenlet = (
            self._idle_greenlets.pop() if self._idle_greenlets else greenlet(_run_units, self.coordinator.parent)
        )
        unit_greenlet.gr_context = None
        unit.greenlet = unit_greenlet
        unit_greenlet.switch(self, unit)

    def _stop(self, unit: _BatchUnit) -> None:
        """End a suspended unit."""
        if unit.greenlet is not None:
            unit.tx.end()
            unit.greenlet.throw(_UnitEnded)

    def release(self, unit_greenlet: greenlet) -> None:
        """Add the greenlet of a unit that ended to the idle ones."""
        self._idle_greenlets.append(unit_greenlet)


def _run_units(batch: WriteBatch, unit: _BatchUnit) -> None:
    """Run units one after the other, until None is passed; a greenlet runs this."""
    unit_greenlet = getcurrent()
    next_unit: tuple[WriteBatch, _BatchUnit] | None = batch, unit
    del batch, unit
    while next_unit is not None:
        batch, unit = next_unit
        next_unit = None
        unit.run()
        coordinator = batch.coordinator
        batch.release(unit_greenlet)
        del batch, unit
        next_unit = coordinator.switch()
        del coordinator
