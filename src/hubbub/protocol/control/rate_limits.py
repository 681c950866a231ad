"""The requests that exceeded a rate limit."""

from typing import Final

import msgspec

from hubbub.protocol.control.declaration import control_operation


class RateLimitHit(msgspec.Struct, kw_only=True):
    """Requests of one caller over the limit of one bucket."""

    name: str
    """The name of the limit, such as the route of the requests."""
    bucket: str
    caller: str
    major: list[str]
    """The values of the path parameters that separate buckets; the token of a webhook or interaction is masked."""
    scope: str
    """`user`, `global`, `approval`, `gateway` or `invalid`."""
    times: int
    """The number of requests over the limit."""
    first_ms: int
    """Time of the first of these requests in Unix milliseconds."""
    last_ms: int
    """Time of the last of these requests in Unix milliseconds."""
    refused: bool
    """Whether the requests were rejected; false in report mode."""


class RateLimitReport(msgspec.Struct, kw_only=True):
    """Requests that exceeded a rate limit."""

    mode: str
    """Enforcement of rate limits: `off`, `real` or `report`."""
    refusals: list[RateLimitHit]
    """The requests over a limit, one entry per caller and bucket; in report mode they were not rejected."""


GET_RATE_LIMITS: Final = control_operation("GET", "/rate-limits", result=RateLimitReport)
CLEAR_RATE_LIMITS: Final = control_operation("DELETE", "/rate-limits")
