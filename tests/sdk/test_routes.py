"""Every route that the SDK requests is an operation of the protocol."""

import ast
import importlib
import pkgutil
import re

from hubbub.protocol import resources
from hubbub.protocol.operation import Operation
from hubbub.sdk.messages import DISCLOSURES_ROUTE
from tests.contract.tables import SOURCE


def requested() -> set[str]:
    """Return the routes in the SDK's source: the arguments of `request`, and constants."""
    found = {
        f"{method} {route}{rest}"
        for route in ("/users/@me/relationships", "/users/@me/game-relationships")
        for method, rest in (("POST", ""), ("PUT", "/{}"), ("DELETE", "/{}"))
    } | {f"{method} {plain(DISCLOSURES_ROUTE)}" for method in ("GET", "POST")}
    for path in (SOURCE / "sdk").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            words = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if node.func.attr == "request" and len(words) == 2:
                found.add(f"{words[0]} {plain(words[1])}")
            elif node.func.attr == "_post" and words:
                found.add(f"POST {plain(words[0])}")
    return found


def plain(path: object) -> str:
    """Return a path without the names of its parameters."""
    return re.sub(r"\{\w+\}", "{}", str(path))


def declared() -> set[str]:
    """Return the operations of the protocol."""
    found = set()
    for module in pkgutil.iter_modules(resources.__path__):
        for value in vars(importlib.import_module(f"{resources.__name__}.{module.name}")).values():
            if isinstance(value, Operation):
                found.add(f"{value.method} {plain(value.path)}")
    return found


def test_every_route_is_an_operation() -> None:
    routes = requested()

    assert len(routes) > 25
    assert routes - declared() == set()
