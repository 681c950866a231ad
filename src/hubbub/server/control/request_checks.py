"""Decoding of control requests, and checks for unknown keys and paths, which would otherwise have no effect.

The public API ignores unknown keys, because clients of other versions send them. A control request is written for a test, in
which a misspelled key would go unnoticed.
"""

import difflib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from hubbub.people.named_objects import suggest
from hubbub.protocol import codec, errors
from hubbub.protocol.control.faults import HttpFault
from hubbub.protocol.control.worlds import World
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.operation import Operation
from hubbub.server import worlds
from hubbub.server.transports.http import decoding, responses

TOML_TYPES: Final = frozenset({"application/toml", "text/plain", "text/x-toml"})
LISTED_KEYS_MAX: Final = 12
"""Maximum number of keys that the error for an unknown key lists."""


def decode_body(data: bytes, model: Any) -> Any:
    """Decode a JSON body, for which an empty one counts as `{}`. Raise INVALID_FORM_BODY for keys that the model does not have."""
    # A union of models rejects unknown keys itself.
    if isinstance(model, type):
        # A misspelled key is reported rather than the required key that is missing because of it.
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            body = codec.decode_any(data or b"{}")
            if isinstance(body, dict):
                _require_known_keys(body, model)
    return decoding.decode(data or b"{}", model)


def decode_query(text: str, model: Any) -> Any:
    """Decode a query string. Raise INVALID_FORM_BODY for parameters that the model does not have."""
    _require_known_keys(decoding.split_fields(text), model)
    return decoding.convert_query(text, model)


def decode_world(content_type: str, data: bytes) -> World:
    """Decode a world file, as TOML or JSON."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == responses.JSON:
        return worlds.read_mapping(decoding.decode(data, dict[str, Any]))
    if media_type in TOML_TYPES:
        return worlds.read_text(data.decode("utf-8", "replace"))
    media_types = ", ".join([responses.JSON, *sorted(TOML_TYPES)])
    raise errors.INVALID_FORM_BODY(message=f'Expected "Content-Type" header to be one of {{{media_types}}}.')


def require_operation(fault: HttpFault, operations: list[Operation[Any, Any]]) -> None:
    """Reject a fault that no request can match: a test that relies on it would test nothing."""
    if fault.route is not None:
        paths = {operation.path for operation in operations}
        if fault.route not in paths:
            suggestion = suggest(fault.route, paths) or "; write it like /channels/{channel_id}/messages."
            raise errors.invalid("route", "ROUTE_UNKNOWN", f"No operation has this path{suggestion}")
        operations = [operation for operation in operations if operation.path == fault.route]
    if fault.method is not None and fault.method.upper() not in {operation.method for operation in operations}:
        raise errors.invalid("method", "METHOD_UNKNOWN", "No operation with this path has this method.")


def _require_known_keys(keys: Iterable[str], model: Any) -> None:
    known_keys = [field.encode_name for field in msgspec.structs.fields(model)]
    form = FormErrors()
    for key in keys:
        if key not in known_keys:
            form.add((key,), "KEY_UNKNOWN", f"This operation has no key {key!r}{_suggest_key(key, known_keys)}")
    form.raise_if_any()


def _suggest_key(key: str, known_keys: Sequence[str]) -> str:
    suggestion = suggest(key, known_keys)
    if suggestion or not 0 < len(known_keys) <= LISTED_KEYS_MAX:
        return suggestion or "."
    return f"; it has: {', '.join(known_keys)}."


def describe_unknown_operation(method: str, path: str, operations: Iterable[Operation[Any, Any]]) -> str:
    """Return the message for a request that no operation of the control API handles."""
    segments = path.strip("/").split("/")
    paths_by_text: dict[str, str] = {}
    methods = set()
    for operation in operations:
        operation_segments = operation.path.strip("/").split("/")
        if len(operation_segments) != len(segments):
            continue
        # Parameters have any value.
        pairs = list(zip(operation_segments, segments, strict=True))
        text = "/".join(segment if template.startswith("{") else template for template, segment in pairs)
        paths_by_text[text] = operation.path
        if text == "/".join(segments):
            methods.add(operation.method)
    if methods:
        return f"/control{path} accepts {' and '.join(sorted(methods))}, not {method}."
    matches = difflib.get_close_matches("/".join(segments), paths_by_text, n=1, cutoff=0.75)
    suggestion = f"; did you mean /control{paths_by_text[matches[0]]}?" if matches else "."
    return f"The control API has no operation {method} /control{path}{suggestion} GET /control/openapi.json lists all operations."
