"""Limit password and code guessing: failures are counted per username, user and IP address in the database.

An attempt is counted before it is checked and refunded if it was right, so parallel attempts cannot bypass the limit.
Unknown usernames are counted like existing ones, so a rejection does not reveal which accounts exist.
"""

import hashlib
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.server.core.call import Call
from hubbub.server.resources.accounts import store

WINDOW_MS: Final = 15 * 60_000
NAME_MOST: Final = 10
"""Failures per username or user in one window."""
ADDRESS_MOST: Final = 100
"""Failures per IP address in one window. Many users may share an address."""


class Counter(NamedTuple):
    """A failure counter and its limit."""

    key: str
    most: int


def of_name(login: str) -> Counter:
    """Return the counter of failed logins with one username, from any client."""
    return Counter(_key("name", login), NAME_MOST)


def of_person(user_id: int) -> Counter:
    """Return the counter of wrong passwords sent by a signed-in user."""
    return Counter(_key("person", str(int(user_id))), NAME_MOST)


def of_codes(user_id: int) -> Counter:
    """Return the counter of a user's wrong MFA codes. A right password does not reset it."""
    return Counter(_key("codes", str(int(user_id))), NAME_MOST)


def of_address(ip: str) -> Counter:
    """Return the counter of failures from one IP address."""
    return Counter(_key("address", ip), ADDRESS_MOST)


def take(call: Call, *counters: Counter) -> None:
    """Count an attempt. Raises RATE_LIMITED if a counter has reached its limit."""
    for counter in counters:
        failures, ends_ms = store.find_failures(call.tx, counter.key, call.now)
        if failures >= counter.most:
            raise errors.RATE_LIMITED(retry_after=(ends_ms - call.now) / 1000, **{"global": False})
    for counter in counters:
        store.count_failure(call.tx, counter.key, call.now, call.now + WINDOW_MS)


def forgive(call: Call, *counters: Counter) -> None:
    """After a successful attempt, reset username and user counters and refund one attempt to the IP address."""
    for counter in counters:
        if counter.most == ADDRESS_MOST:
            store.forgive_failure(call.tx, counter.key)
        else:
            store.forget_failures(call.tx, counter.key)


def _key(kind: str, value: str) -> str:
    return f"{kind}:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"
