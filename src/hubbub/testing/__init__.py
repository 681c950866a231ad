"""Pytest plugin: a platform for each test, with users to act as, a clock and faults (docs/testing.md).

pytest discovers the plugin itself. The names exported here are for annotations and `pytest.raises`. They are imported
lazily, so that the plugin costs nothing in a test run that does not use it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hubbub.testing.actors import Actor, Bot
    from hubbub.testing.answers import Answer, Answers
    from hubbub.testing.errors import NotHeard, Refused, Unanswered
    from hubbub.testing.people import Person
    from hubbub.testing.platform import Platform

__all__ = ["Actor", "Answer", "Answers", "Bot", "NotHeard", "Person", "Platform", "Refused", "Unanswered"]

_MODULES: Final = {
    "Actor": "actors",
    "Answer": "answers",
    "Answers": "answers",
    "Bot": "actors",
    "NotHeard": "errors",
    "Person": "people",
    "Platform": "platform",
    "Refused": "errors",
    "Unanswered": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
