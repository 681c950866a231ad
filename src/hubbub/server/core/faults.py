"""Fault injection: failures that a rehearsal requests from the HTTP and gateway servers to test a client's recovery.

Each App has one `Faults`. Without active faults, the transports only check whether a list is empty. Delays are
in real time, like those of a network, and do not depend on the platform's clock.
"""

import itertools
from collections.abc import Iterator
from typing import Final

from hubbub.protocol.control.faults import ActiveFault, Fault, GatewayFault, HttpFault

ACTIVE_FAULTS_MAX: Final = 1000
"""Maximum number of faults that can be active at a time."""


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
        active_fault = ActiveFault(id=str(next(self._fault_numbers)), fault=fault, remaining_occurrences=fault.times)
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
        """Return the oldest fault that matches this request and count its occurrence, or return None."""
        for active_fault in self.http:
            if isinstance(active_fault.fault, HttpFault) and _matches_request(
                active_fault.fault, method, route, user_id
            ):
                self._count(active_fault)
                return active_fault.fault
        return None

    def take_gateway(self, user_id: int, session_id: str | None) -> GatewayFault | None:
        """Return the oldest fault that matches this Identify or Resume and count its occurrence, or return None."""
        for active_fault in self.gateway:
            if isinstance(active_fault.fault, GatewayFault) and matches_session(
                active_fault.fault, user_id, session_id
            ):
                self._count(active_fault)
                return active_fault.fault
        return None

    def _count(self, active_fault: ActiveFault) -> None:
        active_fault.occurrences += 1
        if active_fault.remaining_occurrences is not None:
            active_fault.remaining_occurrences -= 1
            if not active_fault.remaining_occurrences:
                self._drop(active_fault)

    def _drop(self, active_fault: ActiveFault) -> None:
        (self.http if active_fault in self.http else self.gateway).remove(active_fault)


def _matches_request(fault: HttpFault, method: str, route: str, user_id: int | None) -> bool:
    return (
        (fault.method is None or fault.method.upper() == method)
        and (fault.route is None or fault.route == route)
        and (fault.user_id is None or fault.user_id == user_id)
    )


def matches_session(fault: GatewayFault, user_id: int, session_id: str | None) -> bool:
    """Return whether a fault applies to a session."""
    return (fault.user_id is None or fault.user_id == user_id) and (
        fault.session_id is None or fault.session_id == session_id
    )
