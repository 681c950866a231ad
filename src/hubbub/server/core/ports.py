"""Ports: functions that a slice declares and calls, and that a slice of a higher tier implements.

A slice declares its ports in `ports.py`. `composition.py` binds each port to its implementation, separately for each App; an
App with an unbound port does not start. Signals (`Call.notify`) are for facts, which need no result.
"""

import functools
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar

from hubbub.server.core.call import Call, Ports
from hubbub.server.core.slices import Slice

P = ParamSpec("P")
R = TypeVar("R")


class PortError(Exception):
    """A port that is not bound, is bound more than once, or is bound to no function."""


class Binding(NamedTuple):
    """A port with its implementations; a `Port` has exactly one."""

    port: "Port[..., Any] | MultiPort[..., Any]"
    functions: tuple[Callable[..., Any], ...]


class Port(Generic[P, R]):
    """A function with one implementation. Calling the port calls the implementation that `call`'s App bound to it."""

    def __init__(self, declaration: Callable[Concatenate[Call, P], R]) -> None:
        self.name = _port_name(declaration)
        self.__doc__ = declaration.__doc__

    def __call__(self, call: Call, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the implementation that the App of `call` bound. Raise PortError if there is none."""
        try:
            (function,) = call.ports[self]
        except KeyError:
            raise _unbound_error(self.name) from None
        result: R = function(call, *args, **kwargs)
        return result

    def bind(self, function: Callable[Concatenate[Call, P], R]) -> Binding:
        """Return the binding of this port to its implementation."""
        return Binding(self, (function,))


class MultiPort(Generic[P, R]):
    """A function that several slices implement. Calling the port returns all results in the order of the binding."""

    def __init__(self, declaration: Callable[Concatenate[Call, P], R]) -> None:
        self.name = _port_name(declaration)
        self.__doc__ = declaration.__doc__

    def __call__(self, call: Call, *args: P.args, **kwargs: P.kwargs) -> list[R]:
        """Call every implementation. An exception of one prevents the calls of those after it."""
        try:
            functions = call.ports[self]
        except KeyError:
            raise _unbound_error(self.name) from None
        results: list[R] = []
        # A loop is faster than a comprehension, which would need a closure.
        for function in functions:
            results.append(function(call, *args, **kwargs))
        return results

    def bind(self, *functions: Callable[Concatenate[Call, P], R]) -> Binding:
        """Return the binding of this port to all its implementations."""
        return Binding(self, functions)


def port(declaration: Callable[Concatenate[Call, P], R]) -> Port[P, R]:
    """Declare a port by the signature and docstring of a function, whose body stays empty."""
    return Port(declaration)


def multi_port(declaration: Callable[Concatenate[Call, P], R]) -> MultiPort[P, R]:
    """Declare a port with several implementations by the signature and docstring of a function, whose body stays empty."""
    return MultiPort(declaration)


def compose(slices: Iterable[Slice], bindings: Iterable[Binding]) -> Ports:
    """Return the implementations of all ports.

    Raise PortError if a port of a slice is unbound, or a port is bound twice or to no function."""
    functions_by_port: dict[object, tuple[Callable[..., Any], ...]] = {}
    for port, functions in bindings:
        if port in functions_by_port:
            raise PortError(f"The port {port.name} is bound more than once.")
        if not functions:
            # Without an implementation a check would reject nothing.
            raise PortError(f"The port {port.name} is bound to no function.")
        functions_by_port[port] = functions
    for resource_slice in slices:
        for declared_port in declared_ports(resource_slice):
            if declared_port not in functions_by_port:
                raise PortError(
                    f"The port {declared_port.name}, which the slice {resource_slice.name} calls, is not bound."
                )
    return functions_by_port


def declared_ports(resource_slice: Slice) -> list[Port[..., Any] | MultiPort[..., Any]]:
    """Return the ports that the modules of a slice define or import."""
    return [declared_port for module in resource_slice.modules for declared_port in _find_ports(module)]


@functools.cache
def _find_ports(module: ModuleType) -> tuple[Port[..., Any] | MultiPort[..., Any], ...]:
    """Return the ports that a module defines or imports; cached, because each App reads the same modules."""
    return tuple(member for member in vars(module).values() if isinstance(member, (Port, MultiPort)))


def _port_name(declaration: Callable[..., Any]) -> str:
    """Return `slice.function` for a function in the slice's `ports.py`."""
    return f"{declaration.__module__.removesuffix('.ports').rpartition('.')[2]}.{declaration.__name__}"


def _unbound_error(name: str) -> PortError:
    return PortError(f"The port {name} is not bound.")
