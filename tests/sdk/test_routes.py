"""Every route that the SDK requests is an operation of the protocol."""

import ast
import importlib
import pkgutil
import re

from hubbub.protocol import resources
from hubbub.protocol.operation import Operation
from hubbub.sdk.messages import DISCLOSURES_ROUTE
from tests.contract.tables import SOURCE


def sdk_routes() -> set[str]:
    """Return the routes in the SDK's source: the arguments of `request`, and constants."""
    routes = {
        f"{method} {route}{rest}"
        for route in ("/users/@me/relationships", "/users/@me/game-relationships")
        for method, rest in (("POST", ""), ("PUT", "/{}"), ("DELETE", "/{}"))
    } | {f"{method} {without_parameter_names(DISCLOSURES_ROUTE)}" for method in ("GET", "POST")}
    for path in (SOURCE / "sdk").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            constants = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            if node.func.attr == "request" and len(constants) == 2:
                routes.add(f"{constants[0]} {without_parameter_names(constants[1])}")
            elif node.func.attr == "_post" and constants:
                routes.add(f"POST {without_parameter_names(constants[0])}")
    return routes


def without_parameter_names(path: object) -> str:
    """Return a path without the names of its parameters."""
    return re.sub(r"\{\w+\}", "{}", str(path))


def operation_routes() -> set[str]:
    """Return the operations of the protocol."""
    routes = set()
    for module in pkgutil.iter_modules(resources.__path__):
        for value in vars(importlib.import_module(f"{resources.__name__}.{module.name}")).values():
            if isinstance(value, Operation):
                routes.add(f"{value.method} {without_parameter_names(value.path)}")
    return routes


def test_every_route_is_an_operation() -> None:
    routes = sdk_routes()

    assert len(routes) > 25
    assert routes - operation_routes() == set()
