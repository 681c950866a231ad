"""What every object of the SDK has: a truth value, `nullobj`, copies and moves (the specification's rules for all types).

An object is true exactly while it is valid. `nullobj` and what was moved from are not, and to read or write them is a programming
error: it raises `InvalidObjectError`, which is an AssertionError, as the public wrapper asserts. What was moved from may be
assigned to; `nullobj` may not, it is one for the whole program.
"""

from copy import copy
from typing import Any, ClassVar, Self


class InvalidObjectError(AssertionError):
    """Somebody used `nullobj` or an object that was moved from."""


class NullObject:
    """Gives each class its own `nullobj`, made when it is first asked for."""

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        found = owner.__dict__.get("_nullobj")
        if found is None:
            found = object.__new__(owner)
            owner._nullobj = found
        return found


class Object:
    """Something with a truth value."""

    _valid = False
    nullobj: ClassVar[Any] = NullObject()
    """An instance that holds nothing."""

    def __init__(self) -> None:
        self._valid = True

    def __bool__(self) -> bool:
        """Whether the object holds something."""
        return self._valid

    def __getattr__(self, name: str) -> Any:
        # Only asked for what is not there: an invalid object has no content, and all that could be read stands on content.
        if self._valid or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        raise InvalidObjectError(f"{type(self).__name__} is null or was moved from, and has no {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not self._valid and name != "_valid":
            raise InvalidObjectError(f"{type(self).__name__} is null or was moved from, and takes no {name}")
        object.__setattr__(self, name, value)

    def move(self) -> Self:
        """What this object holds, as a new one; this one is invalid from here on."""
        moved = object.__new__(type(self))
        moved.__dict__.update(self.__dict__)
        self.__dict__.clear()
        return moved


class MoveOnly(Object):
    """An object of which there is one."""

    def __copy__(self) -> Self:
        raise TypeError(f"{type(self).__name__} can be moved, not copied")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        raise TypeError(f"{type(self).__name__} can be moved, not copied")


class Copyable(Object):
    """An object of which there may be several."""

    def copy(self) -> Self:
        """Another one with the same content; a copy of nothing is nothing."""
        made = object.__new__(type(self))
        made.__dict__.update({name: _copied(value) for name, value in self.__dict__.items()})
        return made

    def assign(self, other: Self) -> Self:
        """Become a copy of another (the specification's copy assignment)."""
        if self is type(self).__dict__.get("_nullobj"):
            raise InvalidObjectError(f"{type(self).__name__}.nullobj belongs to everybody, and stays empty")
        content = other.copy().__dict__
        self.__dict__.clear()
        self.__dict__.update(content)
        return self

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()


def _copied(value: Any) -> Any:
    if isinstance(value, Copyable):
        return value.copy()
    return copy(value) if isinstance(value, (list, dict)) else value
