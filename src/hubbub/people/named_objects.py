"""Objects of the world by the names that they have in the world file."""

import difflib
from typing import Any, TypeVar

T = TypeVar("T")


def suggest(name: str, available: Any) -> str:
    """Return `; did you mean 'X'?` for the most similar available name, or an empty string."""
    matches = difflib.get_close_matches(name, sorted(available), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


class UnknownNameError(KeyError):
    """Raised for a name that the world does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class NamedObjects(dict[str, T]):
    """Objects by name. The error for an unknown name lists the names that exist."""

    def __init__(self, object_type: str, objects: dict[str, T]) -> None:
        super().__init__(objects)
        self._object_type = object_type

    def __missing__(self, name: str) -> T:
        __tracebackhide__ = True
        available_names = ", ".join(self) or "none"
        raise UnknownNameError(
            f"this world has no {self._object_type} {name!r}; it has: {available_names}{suggest(name, self)}"
        )
