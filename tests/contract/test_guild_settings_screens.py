"""Every operation with which users administer a guild has a screen in the chat client, or a reason why it has none.

The declaration of an operation decides whether it needs a screen, so a new operation needs no entry here unless users
administer a guild with it and the chat client does not offer it.
"""

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

from hubbub.protocol.operation import Auth, Operation
from hubbub.server.transports.web.templating import PACKAGE_DIR
from tests.contract.tables import operations

APP = PACKAGE_DIR / "static" / "app"

ADMINISTRATION_PATTERN = re.compile(
    r"/guilds/\{guild_id\}"
    r"|/channels/\{channel_id\}/(?:permissions|invites|webhooks|followers)"
    r"|/(?:webhooks/\{webhook_id\}|stage-instances)(?!.*token)"
)
"""Paths of operations that administer a guild, without those that programs call with the token of a webhook."""

LIST_IS_ENOUGH = "The screen reads the list, which contains it."
EXTERNAL_ACCOUNTS = "The API rejects it: external accounts cannot be integrated (decisions/0035)."

WITHOUT_SCREEN = {
    "bulk_ban_users_from_guild": "The members screen bans one member at a time; lists of users are for apps.",
    "create_guild_integration": EXTERNAL_ACCOUNTS,
    "delete_guild_scheduled_event_exception": "A canceled date is changed back with an update of the exception.",
    "get_guild_ban": LIST_IS_ENOUGH,
    "list_channel_invites": LIST_IS_ENOUGH,
    "list_channel_webhooks": LIST_IS_ENOUGH,
    "sync_guild_integration": EXTERNAL_ACCOUNTS,
    "update_guild_integration": EXTERNAL_ACCOUNTS,
    "update_my_guild_member_nick": "The user's own membership is not administration of the guild.",
}
"""Operations that need a screen after `needs_screen` and have none, with the reason."""

_CALL_PATTERN = re.compile(
    r'\.request\(\s*(?P<method>[^,`]*?"[A-Z]+"[^,`]*?),\s*(?P<path>`[^`]*`|"[^"]*"|[\w.]+(?:\([^()]*\))?)'
)
_CONSTANT_PATTERN = re.compile(r"\b(?P<name>\w+)(?: =|:) (?:\([^()]*\) => )?(?P<path>`(?:/|\$\{)[^`]*`)")
_IMPORT_PATTERN = re.compile(r'from "(?P<path>\.[^"]+)";')
_IMAGE_PATTERN = re.compile(r"`/api/v10(/[^`]*)`")
_NAME_PATTERN = re.compile(r"(?:\w+\.)*(\w+)")


class Paths:
    """The paths that the expressions of one module can have, with `{}` for each parameter."""

    def __init__(self, constants: dict[str, list[str]]) -> None:
        self.constants = constants
        """Template literals by the name of the constant or property that holds them."""

    def expand(self, expression: str) -> set[str]:
        """Return the paths of a literal, or of all constants with the name of an expression like `kind.path(view)`."""
        if not expression.startswith(("`", '"')):
            return self._expand_name(expression)
        template_parts = re.split(r"\$\{([^}]*)\}", expression[1:-1])
        choices = [
            (template_parts[0] == "" and index == 1 and self._expand_name(part)) or {"{}"} if index % 2 else {part}
            for index, part in enumerate(template_parts)
        ]
        paths = {"".join(choice).partition("?")[0] for choice in product(*choices)}
        return {path for path in paths if path.startswith("/")}

    def _expand_name(self, expression: str) -> set[str]:
        match = _NAME_PATTERN.match(expression)
        literals = self.constants.get(match[1], []) if match else []
        return {path for literal in literals for path in self.expand(literal)}


def _constants(modules: Iterable[str]) -> dict[str, list[str]]:
    constants: dict[str, list[str]] = {}
    for code in modules:
        for match in _CONSTANT_PATTERN.finditer(code):
            constants.setdefault(match["name"], []).append(match["path"])
    return constants


def called_operations() -> set[tuple[str, str]]:
    """Return the methods and paths that the chat client requests, with `{}` for each parameter of the path.

    A name that a module does not define is an argument, which a module that imports the module passes."""
    sources = {module: module.read_text(encoding="utf-8") for module in APP.rglob("*.js")}
    importers: dict[Path, list[str]] = {}
    for module, code in sources.items():
        for target in _IMPORT_PATTERN.findall(code):
            importers.setdefault((module.parent / target).resolve(), []).append(code)
    called_routes = set()
    for module, code in sources.items():
        paths = Paths(_constants(importers.get(module.resolve(), [])) | _constants([code]))
        for match in _CALL_PATTERN.finditer(code):
            for method in re.findall(r'"([A-Z]+)"', match["method"]):
                called_routes |= {(method, path) for path in paths.expand(match["path"])}
        called_routes |= {
            ("GET", path) for image in _IMAGE_PATTERN.findall(code) for path in paths.expand(f"`{image}`")
        }
    return called_routes


def needs_screen(operation: Operation[Any, Any]) -> bool:
    """Return whether users administer a guild with an operation.

    Apps call an operation that does not accept users. A read that requires no permission returns what the gateway sends to
    every member. A write only for users that requires no permission and is not in the audit log changes the user's own
    membership.
    """
    is_privileged = bool(operation.needs or operation.audits)
    if not ADMINISTRATION_PATTERN.match(operation.path) or Auth.USER not in operation.auth:
        return False
    return is_privileged or (operation.method != "GET" and operation.auth != Auth.USER)


def administration() -> dict[str, tuple[str, str]]:
    """Return the operations with which users administer a guild: name, method and path."""
    return {
        name: (operation.method, re.sub(r"\{\w+\}", "{}", operation.path))
        for name, operation in operations().items()
        if needs_screen(operation)
    }


def test_calls_of_the_client_are_found() -> None:
    called_routes = called_operations()
    assert {
        ("GET", "/guilds/{}/bans"),
        ("PUT", "/guilds/{}/members/{}/roles/{}"),
        ("PATCH", "/guilds/{}/widget"),
    } <= called_routes
    assert ("GET", "/guilds/{}/widget.png") in called_routes


def test_every_administration_of_a_guild_has_a_screen() -> None:
    called_routes = called_operations()
    missing_calls = {name for name, call in administration().items() if call not in called_routes}
    assert sorted(missing_calls - WITHOUT_SCREEN.keys()) == [], "add a screen, or the reason why there is none"


def test_reasons_are_only_given_for_operations_without_a_screen() -> None:
    called_routes = called_operations()
    assert [name for name in WITHOUT_SCREEN if administration().get(name) in called_routes] == []
    assert WITHOUT_SCREEN.keys() - administration().keys() == set()
