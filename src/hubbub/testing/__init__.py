"""Pytest plugin: a platform for each test, whose users, bots, clock and faults the test controls (docs/testing.md).

pytest discovers the plugin itself. The names exported here are for annotations and `pytest.raises`, and `start_platform` starts
a platform in other programs. They are imported lazily, so that the plugin costs nothing in a test run that does not use it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hubbub.people.errors import EventNotReceived, InteractionFailed, RequestRejected, UnexpectedEvent
    from hubbub.people.results import Result, ResultList
    from hubbub.testing.actors import Actor, Bot
    from hubbub.testing.platform import Platform
    from hubbub.testing.standalone import start_platform
    from hubbub.testing.users import User

__all__ = [
    "Actor",
    "Result",
    "ResultList",
    "Bot",
    "EventNotReceived",
    "UnexpectedEvent",
    "User",
    "Platform",
    "RequestRejected",
    "InteractionFailed",
    "start_platform",
]

_MODULES: Final = {
    "Actor": "testing.actors",
    "Result": "people.results",
    "ResultList": "people.results",
    "Bot": "testing.actors",
    "EventNotReceived": "people.errors",
    "UnexpectedEvent": "people.errors",
    "User": "testing.users",
    "Platform": "testing.platform",
    "RequestRejected": "people.errors",
    "InteractionFailed": "people.errors",
    "start_platform": "testing.standalone",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"hubbub.{_MODULES[name]}"), name)
