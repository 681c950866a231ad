"""Commits whose events the bus has not confirmed, recorded in the store (decisions/0164, decisions/0170).

If a process is killed, its log tells the other nodes which events it may not have published. They compare it with the events
that they received, and only sessions that need a missing event have a gap. A transaction writes its entry itself, so an entry
exists if and only if its transaction was committed.
"""

import asyncio
import logging
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from hubbub.protocol import codec
from hubbub.server.core.bus import Bus, BusError
from hubbub.server.core.clock import Clock
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.store import Database, StoreUnavailable, Tx

log = logging.getLogger(__name__)

CONFIRMATION_SECONDS: Final = 1.0
"""Maximum time in seconds that a deletion waits for the bus to confirm the events."""
ENTRY_AGE_MS_MAX: Final = 24 * 3600 * 1000
"""Age in milliseconds after which a start deletes the entries of killed processes; other nodes detect the loss in minutes."""

DELETION_SECONDS: Final = 1.0
"""Interval in seconds between two deletions of the entries of confirmed events."""
RECEIPT_SECONDS: Final = 120.0
"""Minimum time in seconds for which a process remembers the events that it received; longer than the timeout of a lost node."""
RECEIPTS_MAX: Final = 4_000_000
"""Maximum number of events that are remembered per `RECEIPT_SECONDS`, 8 bytes each; further events count as not received."""

_PREFIX: Final = "unpublished."


class LoggedCommit(NamedTuple):
    """A commit whose events the bus had not confirmed."""

    stamp: int
    message_counts: dict[str, int]
    """Number of messages that the commit publishes, by subject."""


class MissedEvent(NamedTuple):
    """A subject of this process on which a message of a commit did not arrive."""

    subject: str
    stamp: int


class _Entry(msgspec.Struct):
    """The value of an entry, encoded as JSON."""

    created_ms: int
    message_counts: dict[str, int]


class PublicationLog:
    """The log of one process; `node` is its ID on the bus."""

    def __init__(self, database: Database, bus: Bus[Dispatch], clock: Clock, node: str) -> None:
        self._database = database
        self._bus = bus
        self._clock = clock
        self.node = node
        self._receipts = Receipts()
        self._committed_stamps: set[int] = set()
        """Stamps of committed transactions whose entries were not deleted yet."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Record every transaction with events from now on, and delete old entries of killed processes."""
        await self._database.write(self._delete_old)
        self._database.before_commit = self.record
        self._bus.on_received = self._receipts.record
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Delete the entries of confirmed events, and stop; the bus must still run."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        try:
            await self._delete_confirmed()
        except (BusError, StoreUnavailable, TimeoutError):
            log.warning("The log of unpublished events could not be cleared")

    def prune(self, now: float) -> None:
        """Drop old receipts when it is due; `now` is in seconds of the event loop's clock."""
        self._receipts.rotate(now)

    async def find_missed(self, lost_node: str) -> list[MissedEvent]:
        """Return the events that a lost node committed and that did not reach the subscriptions of this process."""
        commits = await self._database.read(lambda tx: list_commits(tx, lost_node))
        return self._receipts.find_missed(commits, self._bus.is_subscribed)

    def record(self, tx: Tx) -> None:
        """Write the entry of a transaction with events, before it is committed."""
        stamp = tx.stamp
        message_counts = Counter(subject for dispatch in tx.dispatches for subject in dispatch.subjects)
        entry = codec.encode(_Entry(self._clock.now_ms(), message_counts)).decode()
        # Sent together with the commit, so that it costs no round trip.
        tx.send("INSERT INTO meta (name, value) VALUES (?, ?)", f"{_PREFIX}{self.node}.{stamp}", entry)
        tx.after_commit.append(lambda: self._schedule_deletion(stamp))

    def _schedule_deletion(self, stamp: int) -> None:
        """Schedule the deletion of an entry, which takes place once the bus has confirmed its events.

        The events are published before the event loop runs another task, so `_run` finds them in the bus."""
        self._committed_stamps.add(stamp)
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._delete_confirmed()
            except (BusError, StoreUnavailable, TimeoutError):
                self._wake.set()
            await asyncio.sleep(DELETION_SECONDS)

    async def _delete_confirmed(self) -> None:
        """Wait for the bus, and delete the entries of everything published before. Raise BusError if the bus dropped events."""
        stamps = set(self._committed_stamps)
        if not stamps:
            return
        async with asyncio.timeout(CONFIRMATION_SECONDS):
            await self._bus.flush()
        if not self._bus.is_healthy:
            # Events were dropped, and the other processes do not know it yet.
            raise BusError("the bus is not healthy")
        names = [(f"{_PREFIX}{self.node}.{stamp}",) for stamp in sorted(stamps)]
        await self._database.write(lambda tx: tx.run_many("DELETE FROM meta WHERE name = ?", names))
        self._committed_stamps -= stamps

    def _delete_old(self, tx: Tx) -> None:
        oldest_ms = self._clock.now_ms() - ENTRY_AGE_MS_MAX
        rows = tx.all("SELECT name, value FROM meta WHERE name LIKE ?", f"{_PREFIX}%")
        old_names = [(name,) for name, value in rows if codec.decode(value, _Entry).created_ms < oldest_ms]
        tx.run_many("DELETE FROM meta WHERE name = ?", old_names)


class Receipts:
    """The events that this process received recently, as hashes of subject and stamp.

    An array of hashes needs a tenth of the memory of a set. It is searched only when a node is lost.
    """

    __slots__ = ("_current", "_previous", "_rotated_at")

    def __init__(self) -> None:
        self._current: array[int] = array("q")
        self._previous: array[int] = array("q")
        self._rotated_at = 0.0
        """Time at which `_current` began, in seconds of the event loop's clock."""

    def record(self, subject: str, dispatch: Dispatch) -> None:
        """Remember an event that arrived on a subject; an event without a stamp belongs to no commit."""
        if dispatch.stamp and len(self._current) < RECEIPTS_MAX:
            self._current.append(hash((subject, dispatch.stamp)))

    def rotate(self, now: float) -> None:
        """Drop old receipts when it is due; `now` is in seconds of the event loop's clock."""
        if now - self._rotated_at >= RECEIPT_SECONDS:
            self._current, self._previous, self._rotated_at = array("q"), self._current, now

    def find_missed(self, commits: Iterable[LoggedCommit], is_subscribed: Callable[[str], bool]) -> list[MissedEvent]:
        """Return the messages of commits that did not arrive on subjects to which this process subscribes."""
        expected_counts = {
            MissedEvent(subject, commit.stamp): count
            for commit in commits
            for subject, count in commit.message_counts.items()
            if is_subscribed(subject)
        }
        hashes = {hash(tuple(event)) for event in expected_counts}
        received_counts = Counter(
            receipt for receipts in (self._previous, self._current) for receipt in receipts if receipt in hashes
        )
        return [event for event, count in expected_counts.items() if received_counts[hash(tuple(event))] < count]


def list_commits(tx: Tx, node: str) -> list[LoggedCommit]:
    """Return the commits of a node whose events the bus did not confirm."""
    prefix = f"{_PREFIX}{node}."
    rows = tx.all("SELECT name, value FROM meta WHERE name LIKE ?", f"{prefix}%")
    return [
        LoggedCommit(int(name.removeprefix(prefix)), codec.decode(value, _Entry).message_counts) for name, value in rows
    ]
