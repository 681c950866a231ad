"""The SDK under the specification's exact names: `Client.GetToken`, `AuthorizationArgs.SetScopes`, `nullobj`.

    from hubbub.sdk import compat as sdk

    client = sdk.Client()
    args = sdk.AuthorizationArgs()
    args.SetScopes(sdk.Client.GetDefaultCommunicationScopes())
    client.Authorize(args, lambda result, code, redirect_uri: ...)

Every class except the enumerations is derived from its PEP 8 original when this module is imported. A method keeps its
arguments and gets a Pascal-case name. A field `x_y` becomes `XY()` and, on value records, `SetXY(value)`. An enumeration
becomes a namespace whose members have the specification's names, except `None_`, because `None` is a Python keyword. A
client of this module returns objects of these classes.
"""

from collections.abc import Callable
from inspect import signature
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import Any, Final

import hubbub.sdk as sdk
from hubbub.protocol.spec_names import to_pascal_case
from hubbub.sdk.arguments import check_argument
from hubbub.sdk.enums import Enumeration
from hubbub.sdk.objects import InvalidObjectError, Object
from hubbub.sdk.records import Fields, Record

READ_ONLY: Final = frozenset({"UserMessageSummary", "VADThresholdSettings"})
"""Records without setters (spec/sdk.md#1.1)."""
WITHOUT_COPY: Final = frozenset({"Client", "VADThresholdSettings"})
"""Classes without a copy constructor, because their objects can only be moved."""


def _getter(name: str) -> Callable[[Any], Any]:
    """Create the method that returns a field or property."""

    def get(self: Any) -> Any:
        value = getattr(_require_valid(self), name)
        # Return a copy, because only setters change a record.
        return value.copy() if isinstance(value, Record) else value

    return get


def _setter(name: str, annotation: Any) -> Callable[[Any, Any], None]:
    """Create the method that sets a field; it raises TypeError or ValueError for a wrong value."""

    def set(self: Any, value: Any) -> None:
        checked_value = check_argument(to_pascal_case(name), value, annotation)
        # Store a copy, so that later changes by the caller have no effect.
        setattr(
            _require_valid(self), name, checked_value.copy() if isinstance(checked_value, Record) else checked_value
        )

    return set


def _require_valid(instance: Any) -> Any:
    """Return the object; raise `InvalidObjectError` if it is `nullobj` or was moved from."""
    if not instance._valid:
        raise InvalidObjectError(f"{type(instance).__name__} is null or was moved from")
    return instance


def _checked_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that it raises `InvalidObjectError` for an invalid object."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(_require_valid(self), *args, **kwargs)

    call.__doc__ = function.__doc__
    return call


def _initializer(original: type[Any]) -> Callable[..., None]:
    """Create an `__init__` that also copies an object of the class, if it is the only argument."""

    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) == 1 and isinstance(args[0], original):
            if original.__name__ in WITHOUT_COPY:
                raise TypeError(f"{original.__name__} can be moved, not copied; use move()")
            # The specification's copy constructor.
            self.__dict__.update(args[0].copy().__dict__)
        else:
            original.__init__(self, *args, **kwargs)

    return initialize


def _with_spec_names(original: type[Any]) -> type[Any]:
    """Create a subclass with the specification's names."""
    members: dict[str, Any] = {"__doc__": original.__doc__, "__module__": __name__}
    for base in reversed(original.__mro__):
        for name, member in vars(base).items():
            if name.startswith("_") or base is object:
                continue
            if isinstance(member, staticmethod):
                members[to_pascal_case(name)] = member
            elif isinstance(member, property):
                members[to_pascal_case(name)] = _getter(name)
            elif isinstance(member, FunctionType) and name not in ("copy", "move", "assign"):
                members[to_pascal_case(name)] = _checked_method(member)
    if issubclass(original, Fields):
        members["_argument_name"] = staticmethod(to_pascal_case)
        for name, field in original.fields.items():
            if field.compat:
                members[to_pascal_case(name)] = _getter(name)
                if original.__name__ not in READ_ONLY:
                    members[f"Set{to_pascal_case(name)}"] = _setter(name, field.annotation)
    elif original is sdk.ClientResult:
        for name, parameter in signature(original.__init__).parameters.items():
            if name != "self":
                members[to_pascal_case(name)] = _getter(name)
                members[f"Set{to_pascal_case(name)}"] = _setter(name, parameter.annotation)
    members["__init__"] = _initializer(original)
    return type(original.__name__, (original,), members)


def _enumeration_namespace(original: Any) -> Any:
    """Create a namespace with the members of an enumeration under the specification's names."""
    namespace = SimpleNamespace(**{to_pascal_case(name): member for name, member in original.__members__.items()})
    if hasattr(namespace, "None"):
        # None is a keyword: `ErrorType.None` is a syntax error.
        namespace.None_ = getattr(namespace, "None")
    namespace.ToString = lambda value: sdk.to_string(original, value)
    return namespace


def _module_names() -> dict[str, Any]:
    """Return everything that this module offers, by name."""
    names: dict[str, Any] = {}
    variants: dict[type, type] = {}
    for name in sdk.__all__:
        original = getattr(sdk, name)
        if isinstance(original, type) and issubclass(original, Enumeration | sdk.ActivityGamePlatforms):
            names[name] = _enumeration_namespace(original)
        elif isinstance(original, type) and issubclass(original, Object):
            # Two names of the same class must give the same subclass.
            names[name] = variants[original] = variants.get(original) or _with_spec_names(original)
    names["Client"]._class_variants = MappingProxyType(variants)
    for owner, nested_names in (
        ("Client", ("Status", "Error", "Thread")),
        ("Call", ("Status", "Error")),
    ):
        for name in nested_names:
            setattr(names[owner], name, names.pop(f"{owner}{name}"))
    names["UserHandle"].AvatarType = names.pop("AvatarType")
    names["RunCallbacks"] = sdk.run_callbacks
    names["SetFreeThreaded"] = sdk.set_free_threaded
    names["ResetCallbacks"] = sdk.reset_callbacks
    return names


globals().update(_module_names())


def __getattr__(name: str) -> Any:
    # This function makes type checkers accept the names that are created at import.
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
