"""Rehearsals in pytest: a platform for each test, people to act as, a clock and faults (docs/testing.md).

The plugin is found by pytest itself. What is offered here is for annotations and `pytest.raises`, and is imported when it is
asked for, so that a test run in which nobody rehearses pays nothing.
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

_ROOMS: Final = {
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
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
