"""Limits on mail per recipient address, account and IP address, counted in the database.

Addresses without an account are counted like others, so a rejection does not reveal which accounts exist.
"""

import hashlib
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.server.core.call import Call
from hubbub.server.core.rate_limits import address_key
from hubbub.server.identity.account_emails import store

WINDOW_MS: Final = 3_600_000
"""Time after its first use at which a counter expires, in milliseconds."""
ADDRESS_MAILS_MAX: Final = 5
"""Maximum number of requested mails per recipient address in one window."""
ACCOUNT_MAILS_MAX: Final = 5
"""Maximum number of mails that one account may request in one window."""
IP_MAILS_MAX: Final = 20
"""Maximum number of mails that clients of one IP address may request in one window."""
NOTICES_MAX: Final = 20
"""Maximum number of notices to one account in one window. Notices above the maximum are not sent."""


class MailCounter(NamedTuple):
    """A counter of mails and its limit."""

    key: str
    """Kind and hash of the counted address, account or IP address."""
    mails_max: int


def address_counter(email: str) -> MailCounter:
    """Return the counter of requested mails to one address."""
    return MailCounter(_counter_key("address", email), ADDRESS_MAILS_MAX)


def account_counter(user_id: int) -> MailCounter:
    """Return the counter of mails that an account requested."""
    return MailCounter(_counter_key("account", str(int(user_id))), ACCOUNT_MAILS_MAX)


def ip_counter(ip: str) -> MailCounter:
    """Return the counter of mails that clients of one IP address requested."""
    return MailCounter(_counter_key("ip", address_key(ip)), IP_MAILS_MAX)


def notice_counter(user_id: int) -> MailCounter:
    """Return the counter of notices to one account."""
    return MailCounter(_counter_key("notices", str(int(user_id))), NOTICES_MAX)


def consume(call: Call, *counters: MailCounter) -> None:
    """Count one mail in each counter. Raise RATE_LIMITED if a counter has reached its limit."""
    for counter in counters:
        uses, ends_ms = store.find_uses(call.tx, counter.key, call.now_ms)
        if uses >= counter.mails_max:
            raise errors.RATE_LIMITED(retry_after=(ends_ms - call.now_ms) / 1000, **{"global": False})
    for counter in sorted(counters, key=lambda counter: counter.key):
        store.increment_uses(call.tx, counter.key, call.now_ms, call.now_ms + WINDOW_MS)


def try_consume(call: Call, *counters: MailCounter) -> bool:
    """Count one mail in each counter. Return False without counting if a counter has reached its limit."""
    try:
        consume(call, *counters)
    except errors.ApiError:
        return False
    return True


def _counter_key(kind: str, identifier: str) -> str:
    return f"{kind}:{hashlib.sha256(identifier.encode('utf-8', 'surrogatepass')).hexdigest()}"
