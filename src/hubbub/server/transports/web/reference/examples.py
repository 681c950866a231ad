"""curl examples that succeed in the demo world.

Ids and tokens are shell variables; VARIABLES tells where the ready file has their values. A test sends every example to
a demo world, so an operation that would fail there has none.
"""

import json
from types import NoneType
from typing import Any, Final

import msgspec

from hubbub.protocol.operation import Auth, Operation
from hubbub.server.core.endpoints import Endpoint

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
"""Path of each variable's value in the ready file of the demo world."""

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
"""Request bodies. Values that start with `$` are shell variables."""

QUERIES: Final[dict[str, str]] = {
    "guild_search": "content=hello",
    "search_guild_members": "query=b",
}
"""Minimal query strings of the operations that need one."""

WITHOUT_EXAMPLE: Final = frozenset(
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
"""Operations without an example although all their parameters have a variable: the demo world has no such object."""

_KNOWN_PARAMETERS: Final = frozenset(name.lower() for name in VARIABLES)


def curl(endpoint: Endpoint, root: str) -> str | None:
    """Return a curl command that succeeds in the demo world, or None."""
    operation = endpoint.operation
    if not _has_example(endpoint):
        return None
    url = f"{root}/api/v10{operation.url(**{name: '$' + _variable(endpoint, name) for name in operation.parameters})}"
    query = QUERIES.get(endpoint.name)
    parts = ["curl" if operation.method == "GET" else f"curl -X {operation.method}"]
    header = _header(operation)
    if header:
        parts.append(f'-H "Authorization: {header}"')
    if endpoint.name in BODIES:
        body = json.dumps(BODIES[endpoint.name], ensure_ascii=False)
        parts.append("-H 'Content-Type: application/json'")
        # A body with a variable is double-quoted, so that the shell expands it.
        parts.append("-d " + ('"' + body.replace('"', '\\"') + '"' if "$" in body else f"'{body}'"))
    parts.append(f'"{url}{"?" + query if query else ""}"')
    return " \\\n  ".join(parts)


def _has_example(endpoint: Endpoint) -> bool:
    operation = endpoint.operation
    if endpoint.name in WITHOUT_EXAMPLE or not set(operation.parameters) <= _KNOWN_PARAMETERS:
        return False
    if _header(operation) is None or (operation.uploads is not None and endpoint.name not in BODIES):
        return False
    if endpoint.name in BODIES:
        return True
    has_required_query = operation.query is not NoneType and any(
        each.required for each in msgspec.structs.fields(operation.query)
    )
    return operation.method == "GET" and (not has_required_query or endpoint.name in QUERIES)


def _variable(endpoint: Endpoint, parameter: str) -> str:
    is_voice = "voice" in endpoint.operation.path.rpartition("/")[2] and parameter == "channel_id"
    return "VOICE_CHANNEL_ID" if is_voice else parameter.upper()


def _header(operation: Operation[Any, Any]) -> str | None:
    """Return the Authorization header: alice, who owns the guild, where users may call; '' where no token is needed."""
    if operation.auth is Auth.NONE or Auth.ANYONE in operation.auth:
        return ""
    if Auth.USER in operation.auth:
        return "$USER_TOKEN"
    return "Bot $BOT_TOKEN" if Auth.BOT in operation.auth else None
