"""Every operation that administers a guild has a screen in the chat client, or a reason why it has none."""

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from hubbub.server.transports.web.templating import PACKAGE_DIR
from tests.contract.tables import operations

APP = PACKAGE_DIR / "static" / "app"

ADMINISTRATION = re.compile(
    r"/guilds/\{guild_id\}"
    r"|/channels/\{channel_id\}/(?:permissions|invites|webhooks|followers)"
    r"|/(?:webhooks/\{webhook_id\}|stage-instances)(?!.*token)"
)
"""Paths of operations that administer a guild, without those that programs call with the token of a webhook."""

IN_STATE = "The gateway sends these to the client, which keeps them up to date."
LIST_IS_ENOUGH = "The screen reads the list, which contains it."
NEW_MEMBERS = "For new members, who are not in the settings."
OWN_MEMBERSHIP = "The user's own membership is not administration of the guild."
FOR_APPS = "Only apps call it."
EXTERNAL_ACCOUNTS = "The API rejects it: external accounts cannot be integrated (decisions/0035)."

WITHOUT_SCREEN = {
    "add_guild_member": FOR_APPS,
    "assign_guild_role_connection": "Members link a role themselves, which is not in the settings.",
    "bulk_ban_users_from_guild": "The members screen bans one member at a time; lists of users are for apps.",
    "count_guild_scheduled_event_users": LIST_IS_ENOUGH,
    "create_guild_integration": EXTERNAL_ACCOUNTS,
    "create_guild_join_request": NEW_MEMBERS,
    "create_guild_scheduled_event_exception_user": "Interest in one date of an event is not offered yet.",
    "create_guild_scheduled_event_user": "Interest in an event is not administration of the guild.",
    "delete_guild_scheduled_event_exception": "A canceled date is changed back with an update of the exception.",
    "delete_guild_scheduled_event_exception_user": "Interest in one date of an event is not offered yet.",
    "delete_guild_scheduled_event_user": "Interest in an event is not administration of the guild.",
    "follow_channel": "Following an announcement channel is not offered yet.",
    "delete_my_guild_join_request": NEW_MEMBERS,
    "get_active_guild_threads": IN_STATE,
    "get_guild_ban": LIST_IS_ENOUGH,
    "get_guild_emoji": LIST_IS_ENOUGH,
    "get_guild_onboarding_responses": NEW_MEMBERS,
    "get_guild_preview": "For users who are not members of the guild.",
    "get_guild_role": IN_STATE,
    "get_guild_role_connections_configuration": "Conditions of linked roles are not offered yet.",
    "get_guild_scheduled_event": LIST_IS_ENOUGH,
    "get_guild_soundboard_sound": LIST_IS_ENOUGH,
    "get_guild_sticker": LIST_IS_ENOUGH,
    "get_my_guild_join_request": NEW_MEMBERS,
    "get_self_voice_state": IN_STATE,
    "get_stage_instance": IN_STATE,
    "get_voice_state": IN_STATE,
    "get_webhook": LIST_IS_ENOUGH,
    "list_channel_invites": LIST_IS_ENOUGH,
    "list_guild_channels": IN_STATE,
    "list_channel_webhooks": LIST_IS_ENOUGH,
    "list_guild_roles": IN_STATE,
    "list_guild_scheduled_event_exception_users": "Interest in one date of an event is not offered yet.",
    "set_guild_onboarding_responses": NEW_MEMBERS,
    "sync_guild_integration": EXTERNAL_ACCOUNTS,
    "unassign_guild_role_connection": "Members unlink a role themselves, which is not in the settings.",
    "update_guild_integration": EXTERNAL_ACCOUNTS,
    "update_guild_role_connections_configuration": "Conditions of linked roles are not offered yet.",
    "update_my_guild_member_nick": OWN_MEMBERSHIP,
}
"""Operations without a screen, with the reason."""

_CALL_PATTERN = re.compile(
    r'\.request\(\s*(?P<method>[^,`]*?"[A-Z]+"[^,`]*?),\s*(?P<path>`[^`]*`|"[^"]*"|[\w.]+(?:\([^()]*\))?)'
)
_CONSTANT_PATTERN = re.compile(r"\b(?P<name>\w+)(?: =|:) (?:\([^()]*\) => )?(?P<path>`(?:/|\$\{)[^`]*`)")
_IMPORT = re.compile(r'from "(?P<path>\.[^"]+)";')
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
        for target in _IMPORT.findall(code):
            importers.setdefault((module.parent / target).resolve(), []).append(code)
    called = set()
    for module, code in sources.items():
        paths = Paths(_constants(importers.get(module.resolve(), [])) | _constants([code]))
        for match in _CALL_PATTERN.finditer(code):
            for method in re.findall(r'"([A-Z]+)"', match["method"]):
                called |= {(method, path) for path in paths.expand(match["path"])}
        called |= {("GET", path) for image in _IMAGE_PATTERN.findall(code) for path in paths.expand(f"`{image}`")}
    return called


def administration() -> dict[str, tuple[str, str]]:
    """Return the operations that administer a guild: name, method and path."""
    return {
        name: (operation.method, re.sub(r"\{\w+\}", "{}", operation.path))
        for name, operation in operations().items()
        if ADMINISTRATION.match(operation.path)
    }


def test_calls_of_the_client_are_found() -> None:
    called = called_operations()
    assert {
        ("GET", "/guilds/{}/bans"),
        ("PUT", "/guilds/{}/members/{}/roles/{}"),
        ("PATCH", "/guilds/{}/widget"),
    } <= called
    assert ("GET", "/guilds/{}/widget.png") in called


def test_every_administration_of_a_guild_has_a_screen() -> None:
    called = called_operations()
    missing_calls = {name for name, call in administration().items() if call not in called}
    assert sorted(missing_calls - WITHOUT_SCREEN.keys()) == [], "add a screen, or the reason why there is none"


def test_reasons_are_only_given_for_operations_without_a_screen() -> None:
    called = called_operations()
    assert [name for name in WITHOUT_SCREEN if administration().get(name) in called] == []
    assert WITHOUT_SCREEN.keys() - administration().keys() == set()
