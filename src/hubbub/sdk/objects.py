"""Base classes of all SDK objects: truth value, `nullobj`, copy and move (spec/sdk.md#1.1).

An object is true while it is valid. `nullobj` and moved-from objects are invalid: reading or writing them is a
programming error and raises `InvalidObjectError`, an AssertionError because the public SDK asserts as well. A
moved-from object may be assigned to. `nullobj` may not: each class has one instance, shared by the whole program.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

T = TypeVar("T")


class InvalidObjectError(AssertionError):
    """Raised when `nullobj` or a moved-from object is read or written."""


class NullObject:
    """Descriptor that gives each class its own `nullobj`, created on first access."""

    def __get__(self, instance: object, owner: type[T]) -> T:
        nullobj: T | None = owner.__dict__.get("_nullobj")
        if nullobj is None:
            nullobj = object.__new__(owner)
            type.__setattr__(owner, "_nullobj", nullobj)
        return nullobj


class Object:
    """Base class of all SDK objects; an object is true while it is valid."""

    _valid = False
    nullobj: ClassVar[NullObject] = NullObject()
    """The invalid instance of the class: it is false, and reading or writing it raises `InvalidObjectError`."""

    def __init__(self) -> None:
        self._valid = True

    def __bool__(self) -> bool:
        """Return whether the object is valid."""
        return self._valid

    if not TYPE_CHECKING:
        # Type checkers must not see these methods: they would accept every attribute name.

        def __getattr__(self, name: str) -> Any:
            # Python calls this method for missing attributes only. An invalid object has an empty __dict__, so every read of
            # a field calls the method.
            if self._valid or name.startswith("__"):
                raise AttributeError(f"{type(self).__name__} has no {name}")
            raise InvalidObjectError(f"Cannot read {name}: this {type(self).__name__} is null or was moved from")

        def __setattr__(self, name: str, value: Any) -> None:
            if not self._valid and name != "_valid":
                raise InvalidObjectError(f"Cannot set {name}: this {type(self).__name__} is null or was moved from")
            object.__setattr__(self, name, value)

    def move(self) -> Self:
        """Return a new object with the content of this object, which becomes invalid."""
        new_object = object.__new__(type(self))
        new_object.__dict__.update(self.__dict__)
        self.__dict__.clear()
        return new_object


class MoveOnly(Object):
    """An object that can be moved but not copied."""

    def __copy__(self) -> Self:
        raise TypeError(f"{type(self).__name__} can be moved, not copied")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        raise TypeError(f"{type(self).__name__} can be moved, not copied")


class Copyable(Object):
    """An object that can be copied."""

    def copy(self) -> Self:
        """Return a copy; nested objects are copied as well. A copy of an invalid object is invalid."""
        clone = object.__new__(type(self))
        clone.__dict__.update({name: _copy_value(value) for name, value in self.__dict__.items()})
        return clone

    def assign(self, other: Self) -> Self:
        """Replace the content with a copy of `other` (the specification's copy assignment), and return this object.

        Raise `InvalidObjectError` on `nullobj`."""
        if self is type(self).__dict__.get("_nullobj"):
            raise InvalidObjectError(f"Cannot assign to {type(self).__name__}.nullobj: it is shared and stays empty")
        content = other.copy().__dict__
        self.__dict__.clear()
        self.__dict__.update(content)
        return self

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()


def _copy_value(value: Any) -> Any:
    if isinstance(value, Copyable):
        return value.copy()
    if isinstance(value, list):
        return [_copy_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _copy_value(item) for key, item in value.items()}
    return value
