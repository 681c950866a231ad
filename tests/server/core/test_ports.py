"""Ports: binding at the start of an App, and calls."""

from types import SimpleNamespace
from typing import Any

import pytest

from hubbub.server.app import App
from hubbub.server.composition import PORTS, SLICES
from hubbub.server.core.call import Call
from hubbub.server.core.ports import Binding, PortError, compose, declared_ports, multi_port, port
from hubbub.server.core.slices import Slice
from hubbub.server.identity import oauth2
from tests.world import small_config


@port
def double(call: Call, number: int) -> int:
    """Return twice the number."""


@multi_port
def describe(call: Call, number: int) -> str:
    """Describe the number."""


def bindings_without(removed_port: object) -> list[Binding]:
    """Return the bindings of the platform except those of one port."""
    return [binding for binding in PORTS if binding.port is not removed_port]


def slice_with(**members: object) -> Slice:
    """Return a slice with one module that has these members."""
    module: Any = type("module", (), members)
    return Slice(name="numbers", modules=(module,))


class FakeCall:
    """The part of a call that ports use."""

    def __init__(self, *bindings: Binding) -> None:
        self.ports = compose((), bindings)
        self.tx = SimpleNamespace(dispatches=[])


def test_an_app_does_not_start_with_an_unbound_port() -> None:
    with pytest.raises(PortError, match=r"oauth2\.is_banned.*slice oauth2"):
        App(small_config(), ports=bindings_without(oauth2.ports.is_banned))


def test_an_app_does_not_start_with_a_port_bound_twice() -> None:
    second_binding = oauth2.ports.is_banned.bind(lambda call, user_id: False)

    with pytest.raises(PortError, match=r"oauth2\.is_banned is bound more than once"):
        App(small_config(), ports=(*PORTS, second_binding))


@pytest.mark.parametrize("binding", PORTS, ids=lambda binding: binding.port.name)
def test_every_port_is_required(binding: Binding) -> None:
    with pytest.raises(PortError):
        App(small_config(), ports=bindings_without(binding.port))


def test_a_port_calls_its_implementation() -> None:
    call: Any = FakeCall(double.bind(lambda call, number: number * 2))

    assert double(call, 4) == 8
    assert double(call, number=5) == 10


def test_apps_bind_ports_independently() -> None:
    doubling_call: Any = FakeCall(double.bind(lambda call, number: number * 2))
    incrementing_call: Any = FakeCall(double.bind(lambda call, number: number + number + 1))

    assert (double(doubling_call, 4), double(incrementing_call, 4)) == (8, 9)


def test_a_call_of_an_unbound_port_raises() -> None:
    call: Any = FakeCall()

    with pytest.raises(PortError, match=r"test_ports\.double is not bound"):
        double(call, 4)
    with pytest.raises(PortError, match=r"test_ports\.describe is not bound"):
        describe(call, 4)


def test_a_multi_port_returns_the_results_in_the_order_of_its_binding() -> None:
    call: Any = FakeCall(describe.bind(lambda call, number: f"{number}", lambda call, number: f"<{number}>"))

    assert describe(call, 4) == ["4", "<4>"]


def test_a_multi_port_needs_an_implementation() -> None:
    with pytest.raises(PortError, match=r"describe is bound to no function"):
        compose((), [describe.bind()])


def test_an_exception_of_a_multi_port_prevents_later_calls() -> None:
    calls: list[int] = []

    def reject(call: Call, number: int) -> str:
        raise ValueError

    def record(call: Call, number: int) -> str:
        calls.append(number)
        return ""

    call: Any = FakeCall(describe.bind(reject, record))

    with pytest.raises(ValueError):
        describe(call, 4)
    assert calls == []


def test_bindings_of_slices_that_are_not_mounted_are_allowed() -> None:
    bound_ports = compose((), [double.bind(lambda call, number: number)])

    assert list(bound_ports) == [double]
    with pytest.raises(PortError, match=r"describe.*slice numbers"):
        compose((slice_with(describe=describe),), [double.bind(lambda call, number: number)])


def test_slices_of_the_app_declare_every_bound_port() -> None:
    declared_list = [declared_port for resource_slice in SLICES for declared_port in declared_ports(resource_slice)]

    assert [binding.port for binding in PORTS if binding.port not in declared_list] == []
