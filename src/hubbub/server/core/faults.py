"""Fault injection: failures that a rehearsal requests from the HTTP and gateway servers to test a client's recovery.

Each App has one `Faults`. Without active faults, the transports only check whether a list is empty. Delays are
in real time, like those of a network, and do not depend on the platform's clock.
"""

import itertools
from collections.abc import Iterator
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from hubbub.protocol.ids import UserId

ACTIVE_FAULTS_MAX: Final = 1000
"""Maximum number of faults that can be active at a time."""

Times = Annotated[int, Meta(ge=1, le=1_000_000)]
Milliseconds = Annotated[int, Meta(ge=1, le=600_000)]


class HttpFault(msgspec.Struct, kw_only=True, tag_field="transport", tag="http", forbid_unknown_fields=True):
    """A fault of HTTP requests."""

    effect: Literal["status", "delay", "drop"]
    """`status`: respond with an error; `delay`: respond late; `drop`: close the connection without a response."""
    method: str | None = None
    """The method: GET, POST, ...; null matches any."""
    route: str | None = None
    """The path template after /api/v10, such as `/channels/{channel_id}/messages`; null matches any."""
    user_id: UserId | None = None
    """The user or bot that sends the request; null matches any."""
    times: Times | None = 1
    """Number of times that the fault occurs; null: until it is removed."""
    moment: Literal["before", "after"] = "before"
    """Whether the fault occurs before or after the operation is performed."""
    status: Annotated[int, Meta(ge=400, le=599)] = 500
    """The status for effect `status`."""
    retry_after: Annotated[float, Meta(ge=0, le=3600)] = 1.0
    """The value of Retry-After, in seconds, for status 429."""
    scope: Literal["user", "global", "shared"] = "user"
    """The scope of the rate limit for status 429."""
    delay_ms: Milliseconds = 1000
    """The delay in milliseconds for effect `delay`."""

    def matches(self, method: str, route: str, user_id: int | None) -> bool:
        """Return whether the fault applies to a request."""
        return (
            (self.method is None or self.method.upper() == method)
            and (self.route is None or self.route == route)
            and (self.user_id is None or self.user_id == user_id)
        )


class GatewayFault(msgspec.Struct, kw_only=True, tag_field="transport", tag="gateway", forbid_unknown_fields=True):
    """A fault of gateway sessions."""

    effect: Literal["close", "invalid_session", "drop", "delay"]
    """`close`: close with a code; `invalid_session`: end the session; `drop`: disconnect; `delay`: send events late."""
    user_id: UserId | None = None
    """The user or bot of the session; null matches any."""
    session_id: str | None = None
    """The ID of the session; null matches any."""
    moment: Literal["now", "identify"] = "now"
    """`now`: existing sessions; `identify`: the next session that identifies or resumes."""
    times: Times | None = 1
    """Number of times that a fault at `identify` occurs; null: until it is removed."""
    code: Annotated[int, Meta(ge=1000, le=4999)] = 4000
    """The close code for effect `close`."""
    resumable: bool = False
    """Whether the client may resume after effect `invalid_session`."""
    delay_ms: Milliseconds = 1000
    """For effect `delay`: the delay in milliseconds of every later message of the connection."""

    def matches(self, user_id: int, session_id: str | None) -> bool:
        """Return whether the fault applies to a session."""
        return (self.user_id is None or self.user_id == user_id) and (
            self.session_id is None or self.session_id == session_id
        )


Fault = HttpFault | GatewayFault


class ActiveFault(msgspec.Struct, kw_only=True):
    """A requested fault and how often it has occurred."""

    id: str
    fault: Fault
    happened: int = 0
    """Number of times that the fault has occurred."""
    left: int | None
    """Number of times that the fault will still occur; null: until it is removed."""


class Faults:
    """The requested faults of one App."""

    def __init__(self) -> None:
        self.http: list[ActiveFault] = []
        """Faults of the HTTP server; almost always empty."""
        self.gateway: list[ActiveFault] = []
        """Faults of the gateway at `identify`; almost always empty."""
        self._fault_numbers = itertools.count(1)

    def __iter__(self) -> Iterator[ActiveFault]:
        return itertools.chain(self.http, self.gateway)

    def __len__(self) -> int:
        return len(self.http) + len(self.gateway)

    def add(self, fault: Fault) -> ActiveFault:
        """Activate a fault and return it with its ID."""
        active_fault = ActiveFault(id=str(next(self._fault_numbers)), fault=fault, left=fault.times)
        (self.http if isinstance(fault, HttpFault) else self.gateway).append(active_fault)
        return active_fault

    def remove(self, fault_id: str) -> bool:
        """Remove a fault. Return False if there is none with this ID."""
        for active_fault in list(self):
            if active_fault.id == fault_id:
                self._drop(active_fault)
                return True
        return False

    def clear(self) -> None:
        self.http.clear()
        self.gateway.clear()

    def take_http(self, method: str, route: str, user_id: int | None) -> HttpFault | None:
        """Return the oldest fault that matches this request and count it, or return None."""
        for active_fault in self.http:
            if isinstance(active_fault.fault, HttpFault) and active_fault.fault.matches(method, route, user_id):
                self._count(active_fault)
                return active_fault.fault
        return None

    def take_gateway(self, user_id: int, session_id: str | None) -> GatewayFault | None:
        """Return the oldest fault that matches this Identify or Resume and count it, or return None."""
        for active_fault in self.gateway:
            if isinstance(active_fault.fault, GatewayFault) and active_fault.fault.matches(user_id, session_id):
                self._count(active_fault)
                return active_fault.fault
        return None

    def _count(self, active_fault: ActiveFault) -> None:
        active_fault.happened += 1
        if active_fault.left is not None:
            active_fault.left -= 1
            if not active_fault.left:
                self._drop(active_fault)

    def _drop(self, active_fault: ActiveFault) -> None:
        (self.http if active_fault in self.http else self.gateway).remove(active_fault)
