"""Faults on demand: what a rehearsal asks the doors to do wrong, so that a client's recovery can be tested.

The doors hold one `Faults` each App and look at it by the truth of a list, so a platform without faults pays nothing. Delays
are real time, as those of a network are; the platform's clock has no part in them.
"""

import itertools
from collections.abc import Iterator
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from hubbub.protocol.ids import UserId

MOST: Final = 1000
"""Faults that can wait at a time."""

Times = Annotated[int, Meta(ge=1, le=1_000_000)]
Milliseconds = Annotated[int, Meta(ge=1, le=600_000)]


class HttpFault(msgspec.Struct, kw_only=True, tag_field="door", tag="http", forbid_unknown_fields=True):
    """Something that goes wrong with requests."""

    effect: Literal["status", "delay", "drop"]
    """Answer with a status, answer late, or cut the connection instead of answering."""
    method: str | None = None
    """GET, POST, ...; null: any."""
    route: str | None = None
    """The path as the reference writes it, after /api/v10: `/channels/{channel_id}/messages`; null: any."""
    user_id: UserId | None = None
    """Only calls of this person or bot."""
    times: Times | None = 1
    """How often; null: until it is removed."""
    moment: Literal["before", "after"] = "before"
    """Whether the operation has been done when it goes wrong."""
    status: Annotated[int, Meta(ge=400, le=599)] = 500
    """For `status`."""
    retry_after: Annotated[float, Meta(ge=0, le=3600)] = 1.0
    """For status 429: seconds."""
    scope: Literal["user", "global", "shared"] = "user"
    """For status 429: whose limit it is."""
    delay_ms: Milliseconds = 1000
    """For `delay`."""

    def matches(self, method: str, route: str, user_id: int | None) -> bool:
        """Whether a call is one of those meant."""
        return (
            (self.method is None or self.method.upper() == method)
            and (self.route is None or self.route == route)
            and (self.user_id is None or self.user_id == user_id)
        )


class GatewayFault(msgspec.Struct, kw_only=True, tag_field="door", tag="gateway", forbid_unknown_fields=True):
    """Something that goes wrong with gateway sessions."""

    effect: Literal["close", "invalid_session", "drop", "delay"]
    """Close with a code, end the session with Invalid Session, cut the connection without a word, or send late."""
    user_id: UserId | None = None
    session_id: str | None = None
    """Whose session; with neither, everybody's."""
    moment: Literal["now", "identify"] = "now"
    """To the sessions there are, or when the next one identifies or resumes."""
    times: Times | None = 1
    """At `identify`: how often; null: until it is removed."""
    code: Annotated[int, Meta(ge=1000, le=4999)] = 4000
    """For `close`."""
    resumable: bool = False
    """For `invalid_session`: whether the client may try to resume."""
    delay_ms: Milliseconds = 1000
    """For `delay`: how late every event is from then on, while the connection lasts."""

    def matches(self, user_id: int, session_id: str | None) -> bool:
        """Whether a session is one of those meant."""
        return (self.user_id is None or self.user_id == user_id) and (
            self.session_id is None or self.session_id == session_id
        )


Fault = HttpFault | GatewayFault


class Waiting(msgspec.Struct, kw_only=True):
    """A fault that has been asked for, and how often it has happened."""

    id: str
    fault: Fault
    happened: int = 0
    left: int | None
    """How often it will still happen; null: until it is removed."""


class Faults:
    """The faults that wait in one App."""

    def __init__(self) -> None:
        self.http: list[Waiting] = []
        """Those of the HTTP door; empty almost always, which is all that the door asks."""
        self.gateway: list[Waiting] = []
        self._numbers = itertools.count(1)

    def __iter__(self) -> Iterator[Waiting]:
        return itertools.chain(self.http, self.gateway)

    def __len__(self) -> int:
        return len(self.http) + len(self.gateway)

    def add(self, fault: Fault) -> Waiting:
        """Let it happen from now on."""
        waiting = Waiting(id=str(next(self._numbers)), fault=fault, left=fault.times)
        (self.http if isinstance(fault, HttpFault) else self.gateway).append(waiting)
        return waiting

    def remove(self, fault_id: str) -> bool:
        """Let it happen no more; False when there is none of this id."""
        for waiting in list(self):
            if waiting.id == fault_id:
                self._drop(waiting)
                return True
        return False

    def clear(self) -> None:
        """Let nothing go wrong any more."""
        self.http.clear()
        self.gateway.clear()

    def take_http(self, method: str, route: str, user_id: int | None) -> HttpFault | None:
        """What happens to this call: the oldest fault that means it."""
        for waiting in self.http:
            if isinstance(waiting.fault, HttpFault) and waiting.fault.matches(method, route, user_id):
                self._count(waiting)
                return waiting.fault
        return None

    def take_gateway(self, user_id: int, session_id: str | None) -> GatewayFault | None:
        """What happens to this Identify or Resume."""
        for waiting in self.gateway:
            if isinstance(waiting.fault, GatewayFault) and waiting.fault.matches(user_id, session_id):
                self._count(waiting)
                return waiting.fault
        return None

    def _count(self, waiting: Waiting) -> None:
        waiting.happened += 1
        if waiting.left is not None:
            waiting.left -= 1
            if not waiting.left:
                self._drop(waiting)

    def _drop(self, waiting: Waiting) -> None:
        (self.http if waiting in self.http else self.gateway).remove(waiting)
