"""Limit password and code guessing: failures are counted per username, user and IP address in the database.

An attempt is counted before it is checked and refunded if it was right, so parallel attempts cannot bypass the limit.
Unknown usernames are counted like existing usernames, so a rejection does not reveal which accounts exist.
"""

import hashlib
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.server.core.call import Call
from hubbub.server.core.rate_limits import address_key
from hubbub.server.identity.accounts import store

WINDOW_MS: Final = 15 * 60_000
"""Time after its first failure at which a counter expires, in milliseconds."""
USER_FAILURES_MAX: Final = 10
"""Maximum number of failures per username or user in one window."""
IP_FAILURES_MAX: Final = 100
"""Maximum number of failures per IP address in one window. Many users may share an address."""


class FailureCounter(NamedTuple):
    """A failure counter and its limit."""

    key: str
    """Kind and hash of the counted username, user ID or IP address."""
    failures_max: int
    """Maximum number of failures in one window. Attempts above the maximum are rejected."""
    is_shared: bool = False
    """Whether several users share the counter, so that the success of one user must not reset it."""


# The kinds in the keys ("name", "person", …) are stored, so they do not change.


def login_counter(login: str, user_id: int | None) -> FailureCounter:
    """Return the counter of failed logins of one account, from any client.

    The username and the email address of an account share it. `user_id` is None if no account has this login."""
    return FailureCounter(_counter_key("name", login if user_id is None else f"id {int(user_id)}"), USER_FAILURES_MAX)


def password_counter(user_id: int) -> FailureCounter:
    """Return the counter of wrong passwords sent by a signed-in user."""
    return FailureCounter(_counter_key("person", str(int(user_id))), USER_FAILURES_MAX)


def mfa_counter(user_id: int) -> FailureCounter:
    """Return the counter of a user's wrong MFA codes. A right password does not reset it."""
    return FailureCounter(_counter_key("codes", str(int(user_id))), USER_FAILURES_MAX)


def ip_counter(ip: str) -> FailureCounter:
    """Return the counter of failures from one IP address."""
    return FailureCounter(_counter_key("address", address_key(ip)), IP_FAILURES_MAX, is_shared=True)


def record_attempt(call: Call, *counters: FailureCounter) -> None:
    """Count an attempt as a failure in each counter. Raise RATE_LIMITED if a counter has reached its limit."""
    for counter in counters:
        failures, ends_ms = store.find_failures(call.tx, counter.key, call.now_ms)
        if failures >= counter.failures_max:
            raise errors.RATE_LIMITED(retry_after=(ends_ms - call.now_ms) / 1000, **{"global": False})
    for counter in sorted(counters, key=lambda counter: counter.key):
        store.increment_failures(call.tx, counter.key, call.now_ms, call.now_ms + WINDOW_MS)


def record_success(call: Call, *counters: FailureCounter) -> None:
    """After a successful attempt, reset username and user counters and refund one attempt to the IP address."""
    for counter in counters:
        if counter.is_shared:
            store.decrement_failures(call.tx, counter.key)
        else:
            store.delete_failures(call.tx, counter.key)


def _counter_key(kind: str, identifier: str) -> str:
    return f"{kind}:{hashlib.sha256(identifier.encode('utf-8', 'surrogatepass')).hexdigest()}"
