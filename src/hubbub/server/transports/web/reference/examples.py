"""Requests that can be tried: for each operation that the demo world has all names for, one that succeeds there.

Ids and tokens stand as variables of the shell; VARIABLES says where the ready file has their values. A test sends every one
of them to a demo world, so what would not work has none.
"""

import json
from types import NoneType
from typing import Any, Final

import msgspec

from hubbub.protocol.operation import Auth, Operation
from hubbub.server.core.dispatch import Endpoint

VARIABLES: Final[dict[str, tuple[str, ...]]] = {
    "USER_TOKEN": ("users", "alice", "token"),
    "BOT_TOKEN": ("applications", "demo-bot", "bot", "token"),
    "GUILD_ID": ("guilds", "Town Square", "id"),
    "CHANNEL_ID": ("guilds", "Town Square", "channels", "general"),
    "VOICE_CHANNEL_ID": ("guilds", "Town Square", "channels", "Lounge"),
    "ROLE_ID": ("guilds", "Town Square", "roles", "players"),
    "USER_ID": ("users", "bob", "id"),
    "APPLICATION_ID": ("applications", "demo-bot", "id"),
}
"""Where the ready file of the demo world has the values."""

BODIES: Final[dict[str, dict[str, Any]]] = {
    "create_message": {"content": "Hello, all of you"},
    "create_dm": {"recipient_id": "$USER_ID"},
    "create_guild": {"name": "Harbour"},
    "create_guild_channel": {"name": "tides", "type": 0, "topic": "High and low"},
    "create_guild_role": {"name": "sailors", "permissions": "0", "hoist": True},
    "create_guild_template": {"name": "a square", "description": "For a town"},
    "create_thread": {"name": "boats", "type": 11},
    "create_webhook": {"name": "news"},
    "update_guild_role": {"name": "players of all games"},
    "update_channel": {"topic": "Whatever comes to mind"},
    "update_guild_member": {"nick": "Bob of the Square"},
    "update_my_guild_member": {"nick": "Alice of the Square"},
    "create_auto_moderation_rule": {
        "name": "no shouting",
        "event_type": 1,
        "trigger_type": 1,
        "trigger_metadata": {"keyword_filter": ["AAAH*"]},
        "actions": [{"type": 1}],
    },
    "create_application_command": {"name": "greet", "description": "Says hello"},
    "create_guild_application_command": {"name": "greet", "description": "Says hello"},
    "update_voice_channel_status": {"status": "Telling stories"},
}
"""What is said in those that need a body. Values with a `$` are variables, too."""

QUERIES: Final[dict[str, str]] = {
    "guild_search": "content=hello",
    "search_guild_members": "query=b",
}
"""The least query of those that need one."""

NOTHING_THERE: Final = frozenset(
    {
        "get_call",
        "get_guild_ban",
        "get_guild_join_requests",
        "get_guild_member_verification",
        "get_guild_vanity_url",
        "get_guild_widget",
        "get_guild_widget_png",
        "get_my_guild_join_request",
        "get_self_voice_state",
        "get_stage_instance",
        "get_thread_member",
        "get_user_dm",
        "get_voice_state",
        "list_thread_members",
        "open_activity_link",
    }
)
"""Operations without an example although all their parameters have a name: the demo world holds nothing that they could find."""

_HERE: Final = frozenset(name.lower() for name in VARIABLES)


def curl(endpoint: Endpoint, root: str) -> str | None:
    """A command that does an operation in the demo world; None where there is none that would work."""
    operation = endpoint.operation
    if not _can_be_shown(endpoint):
        return None
    address = (
        f"{root}/api/v10{operation.url(**{name: '$' + _variable(endpoint, name) for name in operation.parameters})}"
    )
    query = QUERIES.get(endpoint.name)
    words = ["curl" if operation.method == "GET" else f"curl -X {operation.method}"]
    header = _header(operation)
    if header:
        words.append(f'-H "Authorization: {header}"')
    if endpoint.name in BODIES:
        body = json.dumps(BODIES[endpoint.name], ensure_ascii=False)
        words.append("-H 'Content-Type: application/json'")
        # A body with a variable stands in double quotes, for the shell to fill it in.
        words.append("-d " + ('"' + body.replace('"', '\\"') + '"' if "$" in body else f"'{body}'"))
    words.append(f'"{address}{"?" + query if query else ""}"')
    return " \\\n  ".join(words)


def _can_be_shown(endpoint: Endpoint) -> bool:
    operation = endpoint.operation
    if endpoint.name in NOTHING_THERE or not set(operation.parameters) <= _HERE:
        return False
    if _header(operation) is None or (operation.uploads is not None and endpoint.name not in BODIES):
        return False
    if endpoint.name in BODIES:
        return True
    asks = operation.query is not NoneType and any(each.required for each in msgspec.structs.fields(operation.query))
    return operation.method == "GET" and (not asks or endpoint.name in QUERIES)


def _variable(endpoint: Endpoint, parameter: str) -> str:
    spoken = "voice" in endpoint.operation.path.rpartition("/")[2] and parameter == "channel_id"
    return "VOICE_CHANNEL_ID" if spoken else parameter.upper()


def _header(operation: Operation[Any, Any]) -> str | None:
    """Who does it: alice, who owns the guild, wherever people may; nobody ('') where nobody need be anybody."""
    if operation.auth is Auth.NONE or Auth.ANYONE in operation.auth:
        return ""
    if Auth.USER in operation.auth:
        return "$USER_TOKEN"
    return "Bot $BOT_TOKEN" if Auth.BOT in operation.auth else None
