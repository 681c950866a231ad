"""The monitor of a PostgreSQL server: detects that it does not respond, and that it responds again.

A server that is gone closes its connections. A server that is paused or behind a broken network is silent, and units of
work would wait for it for minutes. The monitor has its own connection and thread, so that nothing else delays it.

A process can also be silent for the server: it is paused, or its network is broken, in the middle of a transaction. The rows that
the transaction changed stay locked as long as its connection is open, so the monitors of the other processes end it.
"""

import logging
import select
import threading
import time
from collections.abc import Callable
from typing import Final

import psycopg

from hubbub.server.core.migrations import CONNECTION_NAME_PATTERN
from hubbub.server.core.postgres_connection import RoundTrips

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 1.0
"""Interval in seconds between checks while the server responds."""
RETRY_SECONDS: Final = 0.2
"""Interval in seconds between checks while the server does not respond."""
RESPONSE_SECONDS_MAX: Final = 2.5
"""Time in seconds within which the server must respond to a check."""
OUTAGE_SECONDS_MAX: Final = 3.0
"""Time in seconds for which connections may fail, as during a restart, before units of work fail instead of waiting."""
SILENT_TRANSACTION_SECONDS_MAX: Final = 5.0
"""Time in seconds for which a transaction that has written may wait for the next statement of its process.

It is less than the time for which a contended unit is repeated, so that a unit that needs the locked rows succeeds."""
_CONNECT_SECONDS_MAX: Final = 2
"""Timeout of a new connection in seconds while the server counts as reachable."""
_RECONNECT_SECONDS_MAX: Final = 4
_END_SILENT_TRANSACTIONS: Final = f"""
SELECT application_name, COALESCE(host(client_addr), 'this machine'), pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND application_name LIKE '{CONNECTION_NAME_PATTERN}'
AND backend_xid IS NOT NULL AND wait_event IN ('ClientRead', 'ClientWrite')
AND state_change < clock_timestamp() - INTERVAL '{SILENT_TRANSACTION_SECONDS_MAX} seconds'
""".encode()
"""Query that ends transactions whose process is silent, and returns the name and the host of each.

The connection of such a transaction is closed, because PostgreSQL cannot end the transaction alone. A transaction without an ID
has locked no rows, so a long read is not affected."""


class ConnectionMonitor:
    """Checks a server in the background."""

    def __init__(
        self,
        url: str,
        round_trips: RoundTrips,
        on_unreachable: Callable[[], object],
        on_reachable: Callable[[], object],
    ) -> None:
        """Create a monitor; it calls the functions in its own thread when the state changes.

        On a busy machine a check may take long, so replies on other connections also count as responses of the server."""
        self._url = url
        self._round_trips = round_trips
        self._on_unreachable = on_unreachable
        self._on_reachable = on_reachable
        self._stop_event = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hubbub-store-monitor", daemon=True)

    def start(self) -> None:
        """Start the checks; the server must be reachable at this time."""
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait for the end of a running check."""
        self._stop_event.set()
        self._thread.join()

    def _run(self) -> None:
        connection: psycopg.Connection | None = None
        responded_at = time.monotonic()
        is_reachable = True
        while not self._stop_event.wait(CHECK_SECONDS if is_reachable and connection is not None else RETRY_SECONDS):
            try:
                if connection is None:
                    if is_reachable and time.monotonic() - responded_at < CHECK_SECONDS:
                        continue
                    timeout_seconds = _CONNECT_SECONDS_MAX if is_reachable else _RECONNECT_SECONDS_MAX
                    connection = psycopg.connect(self._url, autocommit=True, connect_timeout=timeout_seconds)
                for name, host in _check(connection):
                    log.warning(
                        "Ended a transaction whose process did not respond, and which kept rows locked",
                        extra={"connection": name, "host": host},
                    )
            except psycopg.Error as error:
                if connection is not None:
                    connection.close()
                    connection = None
                responded_at = max(responded_at, self._round_trips.last_reply_at)
                if is_reachable and time.monotonic() - responded_at >= OUTAGE_SECONDS_MAX:
                    log.error("The database does not respond: %s", str(error).strip())
                    is_reachable = False
                    self._on_unreachable()
            else:
                responded_at = time.monotonic()
                if not is_reachable:
                    log.info("The database responds again")
                    is_reachable = True
                    self._on_reachable()
        if connection is not None:
            connection.close()


def _check(connection: psycopg.Connection) -> list[tuple[str, str]]:
    """End silent transactions, and return the name and the host of their connections.

    Raise OperationalError if the result of the query does not arrive in time."""
    pgconn = connection.pgconn
    deadline = time.monotonic() + RESPONSE_SECONDS_MAX
    pgconn.send_query(_END_SILENT_TRANSACTIONS)
    pgconn.flush()
    ended: list[tuple[str, str]] = []
    while True:
        while not pgconn.is_busy():
            if (result := pgconn.get_result()) is None:
                return ended
            ended += [
                ((result.get_value(row, 0) or b"").decode(), (result.get_value(row, 1) or b"").decode())
                for row in range(result.ntuples)
            ]
        remaining_seconds = deadline - time.monotonic()
        if remaining_seconds <= 0 or not select.select([pgconn.socket], [], [], remaining_seconds)[0]:
            raise psycopg.OperationalError(f"no response within {RESPONSE_SECONDS_MAX} s")
        pgconn.consume_input()
