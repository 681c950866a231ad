"""Queries that a unit of work is expected to run, so that they need no round trip of their own (decisions/0162)."""

from typing import Any, Final

FORECASTS_MAX: Final = 8192
"""Maximum number of remembered units; the oldest is removed when another is added."""

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
