"""What a unit of work is expected to do: the queries of a write (decisions/0162) and the end of a read (decisions/0175)."""

from typing import Any, Final

FORECASTS_MAX: Final = 8192
"""Maximum number of remembered units; the oldest is removed when another is added."""
SAME_READS_MIN: Final = 16
"""Number of consecutive reads with the same number of round trips after which the next one is expected to have it too."""

QueryKey = tuple[Any, ...]
"""A statement and its parameters."""


class Forecasts:
    """The queries that units of work ran after their first round trip, by the first statement of the unit.

    A unit that starts with the same statement and parameters, such as the next message of a user in a channel, most likely
    runs the same queries. They are sent with its first round trip. A wrong forecast costs an unused query, never a wrong
    result: the queries run in the same transaction, and a result that a write may change is not used."""

    def __init__(self, forecasts_max: int = FORECASTS_MAX) -> None:
        self._forecasts_max = forecasts_max
        self._queries_by_first_key: dict[QueryKey, tuple[QueryKey, ...]] = {}

    def find(self, first_key: QueryKey) -> tuple[QueryKey, ...] | None:
        """Return the queries of the last committed unit with this first statement, or None if there was none."""
        return self._queries_by_first_key.get(first_key)

    def record(self, first_key: QueryKey, query_keys: tuple[QueryKey, ...]) -> None:
        """Record the queries that a committed unit ran after its first round trip."""
        forecasts = self._queries_by_first_key
        if first_key not in forecasts and len(forecasts) >= self._forecasts_max:
            del forecasts[next(iter(forecasts))]
        forecasts[first_key] = query_keys


class ReadForecasts:
    """The number of round trips of reads, by the SQL text of the first statement of the read.

    The last round trip that is expected also ends the transaction, which saves a message to the server. A read that needs
    more of them is repeated without a forecast, because the snapshot is gone."""

    def __init__(self, forecasts_max: int = FORECASTS_MAX) -> None:
        self._forecasts_max = forecasts_max
        self._counts_by_sql: dict[str, tuple[int, int]] = {}
        """The number of round trips of the last read, and the number of consecutive reads that had it."""

    def compute_expected_count(self, first_sql: str) -> int:
        """Return the expected number of round trips, or 0 if it is unknown."""
        round_trip_count, read_count = self._counts_by_sql.get(first_sql, (0, 0))
        return round_trip_count if read_count >= SAME_READS_MIN else 0

    def record(self, first_sql: str, round_trip_count: int) -> None:
        """Record the number of round trips of a read that succeeded."""
        counts = self._counts_by_sql
        last_count, read_count = counts.get(first_sql, (0, 0))
        if last_count != round_trip_count:
            if not last_count and len(counts) >= self._forecasts_max:
                del counts[next(iter(counts))]
            counts[first_sql] = round_trip_count, 1
        elif read_count < SAME_READS_MIN:
            counts[first_sql] = round_trip_count, read_count + 1

    def remove(self, first_sql: str) -> None:
        """Remove the forecast for reads that start with this statement, because it was wrong."""
        self._counts_by_sql.pop(first_sql, None)
