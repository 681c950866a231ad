"""Documentation of one operation: callers, limits, parameters, examples, response, errors and events."""

import inspect
import sys
from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, get_type_hints

from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.operation import APPROVAL_WINDOW_SECONDS, Auth
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.transports.docstrings import Spans, TextSpan, parse_docstring, summary
from hubbub.server.transports.http import openapi_texts as texts
from hubbub.server.transports.http.example_tables import TEXT_BODIES
from hubbub.server.transports.web.reference import examples, try_it, types
from hubbub.server.transports.web.reference.catalogue import EVENTS_PATH, SCOPES_PATH, Catalogue, ErrorCodeEntry
from hubbub.server.transports.web.reference.snippets import Snippet, snippets
from hubbub.server.transports.web.reference.types import Field

_CALLERS: Final[tuple[tuple[Auth, str], ...]] = (
    (Auth.BOT, "a bot"),
    (Auth.USER, "a user"),
    (Auth.BEARER, "an OAuth2 token"),
    (Auth.ANONYMOUS, "anyone, without a token"),
)


class Operations:
    """Builds the documentation of operations."""

    def __init__(self, catalogue: Catalogue, root: str, *, with_forms: bool) -> None:
        """Create a builder; `root` is the URL of the server, and `with_forms` adds the forms that send requests."""
        self._catalogue = catalogue
        self._root = root
        self._with_forms = with_forms
        self._audit_actions = catalogue.enumeration(AuditLogAction)

    def describe(self, endpoint: Endpoint) -> Mapping[str, Any]:
        """Return the template context of an operation."""
        operation = endpoint.operation
        return {
            "name": endpoint.name,
            "operation": operation,
            "summary": summary(endpoint.function),
            "details": _handler_details(endpoint.function),
            "replacement": self._replacement_spans(operation.replaced_by),
            "callers": self._caller_text(endpoint),
            "scopes": [TextSpan(scope, f"{SCOPES_PATH}#{scope}") for scope in operation.scopes],
            "needs": self._permission_links(operation.needs),
            "needed_in": "channel" if endpoint.guarded_parameter == "channel_id" else "guild",
            "roles": [] if operation.operator is None else texts.operator_roles(operation.operator),
            "limit": self._limit_texts(endpoint),
            "bucket": "" if endpoint.rule is None else endpoint.rule.bucket,
            "path": self._path_fields(endpoint),
            "query": self._model_fields(operation.query),
            "headers": self._header_fields(endpoint),
            "body": self._model_fields(operation.body),
            "body_type": self._type_spans(operation.body),
            "body_summary": summary(operation.body) if _is_model(operation.body) else (),
            "response": self._type_spans(operation.result),
            "error_type": self._type_spans(operation.error_model),
            "errors": self._error_entries(endpoint),
            "emits": [TextSpan(event.name, f"{EVENTS_PATH}#{event.name}") for event in operation.emits],
            "audits": [
                value
                for value in self._audit_actions.values
                if value.value in {str(int(action)) for action in operation.audits}
            ],
            "examples": self._example_snippets(endpoint),
            "response_example": _response_example(endpoint),
            "try_it": try_it.describe(endpoint) if self._with_forms else None,
        }

    def _replacement_spans(self, replacement: str) -> Spans:
        """Return the replacement of a deprecated operation, with links to operations and events."""
        hrefs_by_event = {event.name: f"{EVENTS_PATH}#{event.name}" for event in self._catalogue.events}
        hrefs_by_operation = {
            name: self._catalogue.operation_href(endpoint) for name, endpoint in self._catalogue.by_name.items()
        }
        return tuple(
            TextSpan(span.text, (hrefs_by_operation | hrefs_by_event).get(span.text, ""), is_code=True)
            if span.is_code
            else span
            for span in parse_docstring(replacement)
        )

    def _example_snippets(self, endpoint: Endpoint) -> list[tuple[str, list[Snippet]]]:
        """Return the example requests with their titles."""
        titled_snippets = [("Example request", snippets(examples.request(endpoint), self._root))]
        upload = examples.upload_request(endpoint)
        if upload is not None:
            titled_snippets.append(("Example request with a file", snippets(upload, self._root)))
        return titled_snippets

    def _caller_text(self, endpoint: Endpoint) -> str:
        auth = endpoint.operation.auth
        if auth is Auth.NONE:
            return "anyone: credentials are in the path, the body or a special header"
        caller_labels = [label for caller, label in _CALLERS if caller & auth]
        return ", ".join(caller_labels[:-1]) + (" or " if len(caller_labels) > 1 else "") + caller_labels[-1]

    def _permission_links(self, bits: int) -> list[TextSpan]:
        permission_values = self._catalogue.enumeration(Permissions).values
        return [TextSpan(value.name, value.href) for value in permission_values if bits & int(value.value)]

    def _limit_texts(self, endpoint: Endpoint) -> list[str]:
        """Describe the rate limits of an operation."""
        operation, rule = endpoint.operation, endpoint.rule
        texts = []
        if rule is not None:
            parameter_names = [operation.parameters[index] for index in rule.major_positions]
            texts.append(
                f"{rule.calls:,} in {_duration_text(rule.window_ms / 1000)}"
                + (f" for each {' and '.join(parameter_names)}" if parameter_names else "")
            )
            if rule.name != endpoint.name:
                texts.append(f"shared by all operations of the bucket “{rule.name}”")
            if rule.age_buckets and operation.limit is not None:
                texts.append(
                    "depends on the age of the message: buckets at "
                    + ", ".join(map(_duration_text, operation.limit.age_thresholds_seconds))
                )
        if operation.unapproved_calls_max:
            texts.append(
                f"{operation.unapproved_calls_max:,} in {APPROVAL_WINDOW_SECONDS // 3600} h while the application is not approved"
            )
        return texts

    def _path_fields(self, endpoint: Endpoint) -> list[Field]:
        hints = get_type_hints(endpoint.function, include_extras=True)
        return [
            Field(
                name,
                types.describe(hints.get(name, str), self._catalogue.links),
                True,
                parse_docstring(texts.path_parameter(endpoint.operation.path, name)),
            )
            for name in endpoint.operation.parameters
        ]

    def _header_fields(self, endpoint: Endpoint) -> list[Field]:
        """Return the request headers that the handler or the audit log reads."""
        operation = endpoint.operation
        names = [*operation.headers, *([texts.REASON_HEADER] if operation.audits else [])]
        descriptions = texts.HEADERS | {"Authorization": texts.AUTHORIZATION_HEADER}
        return [Field(name, (TextSpan("string"),), False, parse_docstring(descriptions.get(name))) for name in names]

    def _model_fields(self, wire_type: Any) -> list[Field]:
        return types.fields(wire_type, self._catalogue.links) if _is_model(wire_type) else []

    def _type_spans(self, wire_type: Any) -> Spans:
        return () if wire_type is NoneType else types.describe(wire_type, self._catalogue.links)

    def _error_entries(self, endpoint: Endpoint) -> list[ErrorCodeEntry]:
        """Return the errors that the operation declares and those of the HTTP server."""
        operation = endpoint.operation
        error_codes = [*operation.raises]
        if not endpoint.allows_anonymous:
            error_codes += [errors.UNAUTHORIZED, *endpoint.rejections.values()]
            if operation.scopes:
                error_codes.append(errors.MISSING_OAUTH2_SCOPE)
        if operation.body is not NoneType or operation.query is not NoneType or any(endpoint.snowflake_parameters):
            error_codes.append(errors.INVALID_FORM_BODY)
        if endpoint.rule is not None:
            error_codes.append(errors.find(endpoint.rule.code, 429) or errors.RATE_LIMITED)
        entries = [
            self._catalogue.errors_by_code[error_code]
            for error_code in dict.fromkeys(error_codes)
            if error_code in self._catalogue.errors_by_code
        ]
        return sorted(entries, key=lambda entry: (entry.error_code.status, entry.error_code.code))


def _handler_details(function: Any) -> list[Spans]:
    """Return the paragraphs of a handler's docstring after the summary."""
    module = sys.modules[function.__module__]
    if not function.__doc__ or not module.__name__.startswith("hubbub."):
        return []
    paragraphs = inspect.cleandoc(function.__doc__).split("\n\n")[1:]
    return [parse_docstring(paragraph, vars(module)) for paragraph in paragraphs]


def _response_example(endpoint: Endpoint) -> str:
    """Return an example of the response body; empty if it has none."""
    operation = endpoint.operation
    if operation.result is NoneType:
        return ""
    if operation.media_type == "application/json":
        return examples.payload_text(operation.result)
    return TEXT_BODIES.get(operation.media_type, f"(content of the {operation.media_type} file)")


def _duration_text(seconds: float) -> str:
    for unit, unit_seconds in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * unit_seconds and seconds % unit_seconds == 0:
            return f"{seconds / unit_seconds:g} {unit}"
    return f"{seconds:g} seconds"


def _is_model(wire_type: Any) -> bool:
    return isinstance(wire_type, type) and issubclass(wire_type, Struct)
