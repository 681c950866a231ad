"""Commits on PostgreSQL whose connection was lost, so that their outcome is looked up.

The events of such a commit must be published if it was stored, even if the caller already got an error. While the server cannot
be reached, or still runs the transaction, a thread asks again.
"""

import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

import psycopg

from hubbub.server.core.commit_delivery import FinishedUnit

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_SECONDS: Final = 5
RETRY_SECONDS: Final = 0.2
"""Interval in seconds between two lookups of a commit whose outcome is unknown."""


class CommitOutcomeUnknown(Exception):
    """The connection was lost during the commit, so the outcome is unknown."""

    def __init__(self, transaction_id: int | None, finished_units: list[FinishedUnit]) -> None:
        super().__init__("the connection was lost during the commit")
        self.transaction_id = transaction_id
        self.finished_units = finished_units


class LostCommits:
    """Looks up the outcome of commits in its own thread until it is known, because callers do not wait for them."""

    def __init__(self, url: str, deliver: Callable[[list[FinishedUnit]], object]) -> None:
        """Create a lookup; it calls `deliver` in its thread with the units of a commit that was stored."""
        self._url = url
        self._deliver = deliver
        self._new_commits: SimpleQueue[CommitOutcomeUnknown | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="hubbub-store-outcomes", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait for the end of a running lookup."""
        self._new_commits.put(None)
        self._thread.join()

    def add(self, commit: CommitOutcomeUnknown) -> None:
        """Look up the outcome of a commit, and deliver its units if it was stored."""
        self._new_commits.put(commit)

    def _run(self) -> None:
        commits: list[CommitOutcomeUnknown] = []
        while True:
            try:
                commit = self._new_commits.get(timeout=RETRY_SECONDS if commits else None)
            except Empty:
                commits = self._resolve(commits)
            else:
                if commit is None:
                    break
                commits.append(commit)
        if commits:
            log.error("The outcome of %d transactions is unknown; their events are not published", len(commits))

    def _resolve(self, commits: list[CommitOutcomeUnknown]) -> list[CommitOutcomeUnknown]:
        """Look up commits, and return those whose outcome is still unknown."""
        remaining_commits = list(commits)
        try:
            with connect(self._url) as connection:
                for commit in commits:
                    assert commit.transaction_id is not None
                    status = find_status(connection, commit.transaction_id)
                    if status == "in progress":
                        continue
                    remaining_commits.remove(commit)
                    if status == "committed":
                        self._deliver(commit.finished_units)
                    elif status is None:
                        log.error("PostgreSQL does not know transaction %d any more", commit.transaction_id)
        except psycopg.Error as error:
            log.info("The outcome of commits cannot be looked up yet: %s", error)
        return remaining_commits


def connect(url: str) -> psycopg.Connection:
    """Open a connection for lookups: those of the store may be broken, too."""
    return psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_SECONDS)


def find_status(connection: psycopg.Connection, transaction_id: int) -> str | None:
    """Return the status of a transaction: committed, aborted or in progress; None if it ended long ago."""
    row = connection.execute("SELECT pg_xact_status(%s::text::xid8)", (str(transaction_id),)).fetchone()
    return None if row is None else row[0]
