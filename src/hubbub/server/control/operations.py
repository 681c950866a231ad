"""The operations of the control API with their handlers' groups, in the order of the OpenAPI document."""

from collections.abc import Iterator
from typing import Any, Final

from hubbub.protocol.control import (
    clock,
    faults,
    identities,
    mail,
    people,
    rate_limits,
    ready,
    report,
    snapshots,
    trace,
    traffic,
    users,
    worlds,
)
from hubbub.protocol.operation import Operation, operations_of

CONTROL_TAG: Final = "control"
"""Tag of the operations that `ControlApi` handles itself."""
PEOPLE_TAG: Final = "people"
"""Tag of the operations that `People` handles; they are cancelled when the caller disconnects."""
TRAFFIC_TAG: Final = "traffic"
"""Tag of the operations that `TrafficApi` handles."""

_MODULES: Final = (
    *(
        (module, CONTROL_TAG)
        for module in (
            ready,
            clock,
            worlds,
            users,
            identities,
            snapshots,
            faults,
            trace,
            report,
            mail,
            rate_limits,
        )
    ),
    (people, PEOPLE_TAG),
    (traffic, TRAFFIC_TAG),
)


def list_operations() -> Iterator[tuple[str, str, Operation[Any, Any]]]:
    """Yield the tag, name and declaration of every operation."""
    for module, tag in _MODULES:
        for name, operation in operations_of(module):
            yield tag, name, operation
