"""Against guessing: wrong passwords and codes are counted for each name and each address, durably and by the platform's clock.

An attempt is counted before it is checked and forgiven if it was right, so that many at once are no way round. Names that nobody
has are counted like others, so that a refusal tells nothing about them.
"""

import hashlib
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.server.core.call import Call
from hubbub.server.resources.accounts import store

WINDOW_MS: Final = 15 * 60_000
NAME_MOST: Final = 10
"""Failures for one name (or person) in a window,"""
ADDRESS_MOST: Final = 100
"""and from one address, behind which there may be many people."""


class Counter(NamedTuple):
    """What is counted, and how much of it is too much."""

    key: str
    most: int


def of_name(login: str) -> Counter:
    """Failures with one name, whoever sends them."""
    return Counter(_key("name", login), NAME_MOST)


def of_person(user_id: int) -> Counter:
    """Wrong passwords of somebody who is signed in already."""
    return Counter(_key("person", str(int(user_id))), NAME_MOST)


def of_codes(user_id: int) -> Counter:
    """Wrong codes of a person's authenticator; the right password does not make up for them."""
    return Counter(_key("codes", str(int(user_id))), NAME_MOST)


def of_address(ip: str) -> Counter:
    """Failures from one address."""
    return Counter(_key("address", ip), ADDRESS_MOST)


def take(call: Call, *counters: Counter) -> None:
    """Count an attempt; raises RATE_LIMITED where there were too many failures."""
    for counter in counters:
        failures, ends_ms = store.find_failures(call.tx, counter.key, call.now)
        if failures >= counter.most:
            raise errors.RATE_LIMITED(retry_after=(ends_ms - call.now) / 1000, **{"global": False})
    for counter in counters:
        store.count_failure(call.tx, counter.key, call.now, call.now + WINDOW_MS)


def forgive(call: Call, *counters: Counter) -> None:
    """The attempt was right: a name begins anew, an address gets the one back."""
    for counter in counters:
        if counter.most == ADDRESS_MOST:
            store.forgive_failure(call.tx, counter.key)
        else:
            store.forget_failures(call.tx, counter.key)


def _key(kind: str, value: str) -> str:
    return f"{kind}:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"
