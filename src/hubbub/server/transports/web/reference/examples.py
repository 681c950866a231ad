"""Example requests of operations. `snippets.py` writes them in curl, Python and JavaScript.

IDs and tokens are variables, whose values are in the ready file at the paths in VARIABLES. A test sends every verified example
to a demo world. The other examples contain IDs that the demo world does not have, and bodies built from their types.
"""

import json
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, Final

import msgspec

from hubbub.protocol.operation import Auth, Operation, Uploads
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.transports.http.example_values import example

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
    "create_guild": {"name": "Harbor"},
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
"""Request bodies by operation. Values that start with `$` are variables."""

QUERIES: Final[dict[str, dict[str, str]]] = {
    "guild_search": {"content": "hello"},
    "search_guild_members": {"query": "b"},
}
"""Minimal queries of the operations that need one."""

UNVERIFIED: Final = frozenset(
    {
        "channel_search",
        "get_administered_application",
        "get_administered_guild",
        "get_administered_user",
        "get_call",
        "get_guild_ban",
        "get_guild_storage",
        "get_guild_join_requests",
        "get_guild_member_verification",
        "get_guild_vanity_url",
        "get_guild_widget",
        "get_guild_widget_png",
        "get_my_guild_join_request",
        "get_my_operator",
        "get_self_voice_state",
        "get_stage_instance",
        "get_storage",
        "get_thread_member",
        "get_user_dm",
        "get_user_storage",
        "get_voice_state",
        "list_administered_features",
        "list_announcements",
        "list_decisions",
        "list_exported_messages",
        "list_files",
        "list_job_queues",
        "list_jobs",
        "list_operator_actions",
        "list_operators",
        "list_registration_invites",
        "list_registrations",
        "list_report_cases",
        "list_sessions",
        "list_thread_members",
        "open_activity_link",
        "search_applications",
        "search_guilds",
        "search_users",
    }
)
"""Operations whose example fails although all its variables are known, usually because the demo world lacks the object."""

REJECTS_BOTS: Final = frozenset({"create_guild"})
"""Operations that accept bots only until a dated change; their examples use no bot library."""

HEADERS: Final[dict[str, dict[str, str]]] = {
    "execute_github_compatible_webhook": {"X-GitHub-Event": "push"},
}
"""Request headers of the operations that need one."""

_UPLOADED_FILES: Final[dict[str, tuple[str, str]]] = {"target_users_file": ("users.csv", "text/csv")}
"""Name and media type of the uploaded file by field, where it is not a picture."""

_KNOWN_PARAMETERS: Final = frozenset(name.lower() for name in VARIABLES)


@dataclass(frozen=True, slots=True)
class ExampleFile:
    """A file that an example request uploads."""

    field: str
    """Name of the form field."""
    name: str
    media_type: str


@dataclass(frozen=True, slots=True)
class ExampleRequest:
    """An example request of an operation."""

    operation: Operation[Any, Any]
    parameters: dict[str, str]
    """Variable of each path parameter."""
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    """JSON body, or None. Strings that start with `$` are variables."""
    file: ExampleFile | None = None
    """Uploaded file; the request is multipart if there is one."""
    is_for_bots: bool = False
    """Whether the request is written with a bot library: bots may call the operation, and it needs a token."""


def request(endpoint: Endpoint) -> ExampleRequest:
    """Return the example request of an operation."""
    operation = endpoint.operation
    uploads = operation.uploads
    has_file = uploads is not None and (uploads.is_required or operation.body is NoneType)
    return ExampleRequest(
        operation,
        {name: _parameter_variable(endpoint, name) for name in operation.parameters},
        QUERIES.get(endpoint.name) or _required_query(operation),
        HEADERS.get(endpoint.name, {}),
        _example_body(endpoint),
        _example_file(uploads) if uploads is not None and has_file else None,
        Auth.BOT in operation.auth and Auth.ANONYMOUS not in operation.auth and endpoint.name not in REJECTS_BOTS,
    )


def upload_request(endpoint: Endpoint) -> ExampleRequest | None:
    """Return an example request with a file, or None if the operation takes none or `request` already has one."""
    plain_request = request(endpoint)
    uploads = endpoint.operation.uploads
    if uploads is None or plain_request.file is not None:
        return None
    return replace(plain_request, file=_example_file(uploads))


def is_verified(endpoint: Endpoint) -> bool:
    """Return whether the example request succeeds in the demo world."""
    operation = endpoint.operation
    if endpoint.name in UNVERIFIED or not set(operation.parameters) <= _KNOWN_PARAMETERS:
        return False
    if authorization(operation) == _BEARER_AUTHORIZATION or (
        operation.uploads is not None and endpoint.name not in BODIES
    ):
        return False
    if endpoint.name in BODIES:
        return True
    return operation.method == "GET" and (not _required_query(operation) or endpoint.name in QUERIES)


_BEARER_AUTHORIZATION: Final = "Bearer $ACCESS_TOKEN"


def authorization(operation: Operation[Any, Any]) -> str:
    """Return the Authorization header of the example; empty if the operation needs no token.

    If users may call the operation, it has the token of alice, who owns the guild.
    """
    if operation.auth is Auth.NONE or Auth.ANONYMOUS in operation.auth:
        return ""
    if Auth.USER in operation.auth:
        return "$USER_TOKEN"
    return "Bot $BOT_TOKEN" if Auth.BOT in operation.auth else _BEARER_AUTHORIZATION


def _parameter_variable(endpoint: Endpoint, parameter: str) -> str:
    """Return the variable of a path parameter."""
    is_voice = "voice" in endpoint.operation.path.rpartition("/")[2] and parameter == "channel_id"
    return "VOICE_CHANNEL_ID" if is_voice else parameter.upper()


def _example_body(endpoint: Endpoint) -> Any:
    operation = endpoint.operation
    if endpoint.name in BODIES:
        return BODIES[endpoint.name]
    return None if operation.body is NoneType else example(operation.body, is_in_request=True)


def _required_query(operation: Operation[Any, Any]) -> dict[str, str]:
    """Return example values of the required query parameters."""
    if operation.query is NoneType:
        return {}
    required_names = {
        query_field.encode_name for query_field in msgspec.structs.fields(operation.query) if query_field.required
    }
    example_query = example(operation.query, is_in_request=True) if required_names else {}
    return {name: str(value) for name, value in example_query.items() if name in required_names}


def _example_file(uploads: Uploads) -> ExampleFile:
    name, media_type = _UPLOADED_FILES.get(uploads.field, ("picture.png", "image/png"))
    return ExampleFile("files[0]" if uploads.field == "files" else uploads.field, name, media_type)


def payload_text(type_: Any) -> str:
    """Return an example of a JSON body or of the payload of an event, indented."""
    return json.dumps(example(type_), indent=2, ensure_ascii=False)
