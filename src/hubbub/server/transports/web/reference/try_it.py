"""The form that sends a request of an operation from its documentation, on `hubbub dev` only.

The page contains no token. Its script requests the demo users' tokens and IDs from `local_requests.CALLERS_PATH`, which the
control package serves to browsers on the machine of the server (decisions/0061).
"""

import json
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final

import msgspec

from hubbub.protocol.operation import Auth, Operation
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.transports.web.reference import examples

_CALLER_KINDS: Final = ((Auth.USER, "user"), (Auth.BOT, "bot"), (Auth.BEARER, "bearer"))
_DESTRUCTIVE_WORDS: Final = frozenset(
    {"ban", "delete", "disable", "expire", "leave", "logout", "prune", "reset", "revoke", "unmerge"}
)
"""Words in the names of operations that remove or replace data."""


@dataclass(frozen=True, slots=True)
class FormInput:
    """One input of the form."""

    name: str
    value: str = ""
    variable: str = ""
    """Variable that contains the initial value, or an empty string."""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class TryItForm:
    """The form of one operation."""

    callers: str
    """Kinds of callers that the operation accepts, separated by spaces; empty if it ignores tokens."""
    is_anonymous: bool
    is_destructive: bool
    path: list[FormInput]
    query: list[FormInput]
    headers: list[FormInput]
    body: str
    """Initial JSON body, or an empty string if the operation has none."""
    has_body: bool
    file: str
    """Name of the field for a file, or an empty string."""
    creates: str
    """Variable that receives the ID of the response: MESSAGE_ID after a message was created."""


def describe(endpoint: Endpoint) -> TryItForm:
    """Return the form of an operation, filled in with its example."""
    operation = endpoint.operation
    request = examples.request(endpoint)
    uploads = operation.uploads
    return TryItForm(
        callers=" ".join(name for caller_kind, name in _CALLER_KINDS if caller_kind & operation.auth),
        is_anonymous=endpoint.allows_anonymous,
        is_destructive=_is_destructive(endpoint),
        path=[FormInput(name, variable=variable, is_required=True) for name, variable in request.parameters.items()],
        query=_query_inputs(operation, request.query),
        headers=[FormInput(name, request.headers.get(name, "")) for name in operation.headers if name != "User-Agent"],
        body="" if request.body is None else json.dumps(request.body, indent=2, ensure_ascii=False),
        has_body=operation.body is not NoneType,
        file="" if uploads is None else "files[0]" if uploads.field == "files" else uploads.field,
        creates=_created_variable(operation),
    )


def _query_inputs(operation: Operation[Any, Any], example_query: dict[str, str]) -> list[FormInput]:
    if operation.query is NoneType:
        return []
    return [
        FormInput(
            query_field.encode_name, example_query.get(query_field.encode_name, ""), is_required=query_field.required
        )
        for query_field in msgspec.structs.fields(operation.query)
    ]


def _is_destructive(endpoint: Endpoint) -> bool:
    words = endpoint.name.split("_")
    replaces_all = "bulk" in words and endpoint.operation.method == "PUT"
    return endpoint.operation.method == "DELETE" or replaces_all or not _DESTRUCTIVE_WORDS.isdisjoint(words)


def _created_variable(operation: Operation[Any, Any]) -> str:
    """Return the variable for the ID in the response of a POST to a collection, or an empty string."""
    segment = operation.path.rstrip("/").rpartition("/")[2]
    if operation.method != "POST" or not segment.endswith("s") or "{" in segment:
        return ""
    return f"{segment.removesuffix('s').replace('-', '_').upper()}_ID"
