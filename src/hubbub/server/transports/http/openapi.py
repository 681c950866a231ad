"""The OpenAPI 3.1 document, generated from the operation table."""

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from types import NoneType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

import hubbub
from hubbub.protocol import codec, errors
from hubbub.protocol.ids import Snowflake, WideInt
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Operation, Uploads
from hubbub.protocol.scopes import SCOPES
from hubbub.protocol.sounds import SoundData
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.transports.http import openapi_texts as texts
from hubbub.server.transports.http.example_tables import TEXT_BODIES, TEXT_FILES
from hubbub.server.transports.http.example_values import example

REFERENCE_TEMPLATE: Final = "#/components/schemas/{name}"
SNOWFLAKE: Final = {"type": "string", "format": "snowflake", "pattern": "^(0|[1-9][0-9]{0,18})$"}
WIDE_INTEGER: Final = {"type": "string", "format": "int64", "pattern": "^(0|[1-9][0-9]{0,18})$"}
DATA_URI: Final = {"type": "string", "format": "data-uri", "contentEncoding": "base64"}

_SECURITY_SCHEMES: Final = (
    (Auth.BOT, "BotToken"),
    (Auth.USER, "UserToken"),
    (Auth.BEARER, "OAuth2"),
)


def encode_document(endpoints: Iterable[Endpoint]) -> bytes:
    """Return the document as JSON, with the operations in the order of the table."""
    return codec.encode(build_document(list(endpoints)))


def build_document(endpoints: list[Endpoint]) -> dict[str, Any]:
    """Return the document as builtin values."""
    schemas = _Schemas(endpoints)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        operation = endpoint.operation
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation_object(endpoint, schemas)
    scopes = sorted({scope for endpoint in endpoints for scope in endpoint.operation.scopes})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Hubbub HTTP API",
            "version": "10",
            "description": texts.INTRODUCTION.format(version=hubbub.__version__),
        },
        "servers": [{"url": "/api/v10"}],
        "paths": paths,
        "tags": _tag_objects(endpoints),
        "components": {
            "schemas": {**schemas.components, "Error": _ERROR_SCHEMA, "RateLimited": _RATE_LIMITED_SCHEMA},
            "securitySchemes": {
                "BotToken": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "Token of a bot: `Bot <token>`.",
                },
                "UserToken": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "A user's own token, without a prefix.",
                },
                "ClientCredentials": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "ID and client secret of an application; both may be in the body instead.",
                },
                "OAuth2": {
                    "type": "oauth2",
                    "description": "OAuth2 access token: `Bearer <token>`.",
                    "flows": {
                        "authorizationCode": {
                            "authorizationUrl": "/oauth2/authorize",
                            "tokenUrl": "/api/oauth2/token",
                            "refreshUrl": "/api/oauth2/token",
                            "scopes": {scope: SCOPES[scope].description if scope in SCOPES else "" for scope in scopes},
                        }
                    },
                },
            },
        },
    }


_ERROR_SCHEMA: Final = {
    "description": "The body of an error response.",
    "type": "object",
    "properties": {
        "code": {"type": "integer", "description": "Error code; 0 for a general error of the HTTP status."},
        "message": {"type": "string", "description": "Message for developers."},
        "errors": {
            "type": "object",
            "description": "Errors of an invalid body, nested like the body; leaves are `{_errors: [{code, message}]}`.",
        },
    },
    "required": ["code", "message"],
}
_RATE_LIMITED_SCHEMA: Final = {
    "description": "The body of a response with status 429.",
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "Message for developers."},
        "retry_after": {"type": "number", "description": "Seconds after which the request can be retried."},
        "global": {"type": "boolean", "description": "Whether the limit applies to all operations."},
        "code": {"type": "integer", "description": "Error code; absent for the generic rate limit."},
    },
    "required": ["message", "retry_after", "global"],
}
_INVALID_FORM_EXAMPLE: Final = {
    **errors.INVALID_FORM_BODY().body(),
    "errors": {"name": {"_errors": [{"code": "BASE_TYPE_REQUIRED", "message": "This field is required"}]}},
}


def _tag_objects(endpoints: list[Endpoint]) -> list[dict[str, str]]:
    names = dict.fromkeys(tag for endpoint in endpoints for tag in _operation_tags(endpoint))
    return [
        {"name": name, "description": text} if (text := texts.tag_description(name)) else {"name": name}
        for name in names
    ]


def _operation_tags(endpoint: Endpoint) -> tuple[str, ...]:
    return endpoint.operation.tags or ((endpoint.tag,) if endpoint.tag else ())


class _Schemas:
    """The schemas of all types in the table, generated together so that their names are unique."""

    def __init__(self, endpoints: list[Endpoint]) -> None:
        types: list[Any] = []
        for endpoint in endpoints:
            operation = endpoint.operation
            types += [operation.body, operation.result, operation.error_model]
            if operation.query is not NoneType:
                types += [_without_unset(field.type) for field in msgspec.structs.fields(operation.query)]
        types = [type_ for type_ in dict.fromkeys(types) if type_ not in (NoneType, None, Any, bytes)]
        classes = list(_named_classes(types))
        types = list(dict.fromkeys((*types, *classes)))
        schemas, self.components = msgspec.json.schema_components(
            types, schema_hook=_custom_type_schema, ref_template=REFERENCE_TEMPLATE
        )
        self._schemas = dict(zip(types, schemas, strict=True))
        for class_ in classes:
            _describe_component(self.components[self._schemas[class_]["$ref"].rpartition("/")[2]], class_)
        _remove_numbered_discriminators([self.components, *schemas])

    def schema_of(self, type_: Any) -> dict[str, Any]:
        """Return the schema of a type; for a named type, a reference."""
        schema: dict[str, Any] = self._schemas.get(type_, {})
        return schema


def _named_classes(types: Iterable[Any]) -> Iterator[type]:
    """Yield the models and enums that types mention, at any depth."""
    visited_classes: set[type] = set()
    pending_types = list(types)
    while pending_types:
        type_ = pending_types.pop()
        if isinstance(type_, type) and issubclass(type_, msgspec.Struct | Enum):
            if type_ not in visited_classes:
                visited_classes.add(type_)
                yield type_
                if issubclass(type_, msgspec.Struct):
                    pending_types += [field.type for field in msgspec.structs.fields(type_)]
        elif get_origin(type_) is Annotated:
            pending_types.append(get_args(type_)[0])
        elif get_origin(type_) is not Literal:
            pending_types += get_args(type_)


def _describe_component(schema: dict[str, Any], class_: type) -> None:
    """Add the docstrings of a model or enum to its schema."""
    schema["description"] = texts.class_description(class_) or schema.get("description", "")
    if texts.is_deprecated(schema["description"]):
        schema["deprecated"] = True
    if issubclass(class_, Enum):
        schema |= texts.enum_attributes(class_, schema["enum"])
    elif issubclass(class_, msgspec.Struct):
        config = class_.__struct_config__
        properties = schema["properties"]
        if config.tag is not None:
            properties[config.tag_field]["description"] = f"Always `{config.tag}`."
        for field in msgspec.structs.fields(class_):
            properties[field.encode_name] |= texts.field_attributes(class_, field.name)


def _custom_type_schema(class_: type) -> dict[str, Any]:
    """Return the schema of a type that msgspec does not know."""
    if issubclass(class_, Snowflake):
        return dict(SNOWFLAKE)
    if issubclass(class_, WideInt):
        return dict(WIDE_INTEGER)
    if issubclass(class_, ImageData | SoundData):
        return dict(DATA_URI)
    raise NotImplementedError(class_)


def _remove_numbered_discriminators(node: Any) -> None:
    """Remove discriminators with integer tags: OpenAPI compares them as strings, and the schemas differ anyway."""
    if isinstance(node, dict):
        discriminator = node.get("discriminator")
        if isinstance(discriminator, dict) and any(isinstance(tag, int) for tag in discriminator.get("mapping", ())):
            del node["discriminator"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            if isinstance(item, dict | list):
                _remove_numbered_discriminators(item)


def _operation_object(endpoint: Endpoint, schemas: _Schemas) -> dict[str, Any]:
    operation = endpoint.operation
    operation_object: dict[str, Any] = {"operationId": endpoint.name}
    if summary := texts.operation_summary(endpoint):
        operation_object["summary"] = summary
    if description := texts.operation_description(endpoint):
        operation_object["description"] = description
    if operation.replaced_by:
        operation_object["deprecated"] = True
    if tags := _operation_tags(endpoint):
        operation_object["tags"] = list(tags)
    parameters = _path_parameters(endpoint) + _query_parameters(operation, schemas) + _header_parameters(operation)
    if parameters:
        operation_object["parameters"] = parameters
    if operation.body is not NoneType or operation.uploads is not None:
        operation_object["requestBody"] = _request_body(operation, schemas)
    operation_object["responses"] = _response_objects(endpoint, schemas)
    operation_object["security"] = _security_requirements(operation)
    if operation.needs:
        operation_object["x-permissions"] = texts.permission_names(operation.needs)
    if operation.operator is not None:
        operation_object["x-operator-roles"] = texts.operator_roles(operation.operator)
    if endpoint.rule is not None and operation.limit is not None:
        operation_object["x-ratelimit"] = {
            "calls": endpoint.rule.calls,
            "seconds": operation.limit.seconds,
            "bucket": endpoint.rule.bucket,
            "per": [operation.parameters[position] for position in endpoint.rule.major_positions],
        }
    if operation.emits:
        operation_object["x-emits"] = [event.name for event in operation.emits]
    if operation.audits:
        operation_object["x-audit-log"] = [int(action) for action in operation.audits]
    return operation_object


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    hints = get_type_hints(endpoint.function)
    parameters = []
    for name in endpoint.operation.parameters:
        parameter = {"name": name, "in": "path", "required": True, "schema": _path_schema(hints.get(name, str))}
        if description := texts.path_parameter(endpoint.operation.path, name):
            parameter["description"] = description
        parameters.append(parameter)
    return parameters


@cache
def _path_schema(type_: Any) -> dict[str, Any]:
    """Return the schema of a path parameter."""
    schema, components = msgspec.json.schema_components(
        [type_], schema_hook=_custom_type_schema, ref_template=REFERENCE_TEMPLATE
    )
    # The schema of a path parameter is small enough to be inlined.
    reference = schema[0].get("$ref")
    return components[reference.rpartition("/")[2]] if reference else schema[0]


def _header_parameters(operation: Operation[Any, Any]) -> list[dict[str, Any]]:
    # OpenAPI ignores a parameter `Authorization`; `_security_requirements` describes it.
    names = [name for name in operation.headers if name != "Authorization"]
    if operation.audits:
        names.append(texts.REASON_HEADER)
    return [
        {"name": name, "in": "header", "required": False, "schema": {"type": "string"}}
        | ({"description": texts.HEADERS[name]} if name in texts.HEADERS else {})
        for name in names
    ]


def _query_parameters(operation: Operation[Any, Any], schemas: _Schemas) -> list[dict[str, Any]]:
    if operation.query is NoneType:
        return []
    parameters = []
    comma_separated = _comma_lists(operation.query)
    for field in msgspec.structs.fields(operation.query):
        schema = dict(schemas.schema_of(_without_unset(field.type)))
        if field.default is not msgspec.NODEFAULT and field.default is not msgspec.UNSET:
            schema["default"] = field.default
        parameter = {"name": field.encode_name, "in": "query", "required": field.required, "schema": schema}
        parameter |= texts.field_attributes(operation.query, field.name)
        if field.encode_name in comma_separated:
            parameter |= {"style": "form", "explode": False}
        parameters.append(parameter)
    return parameters


def _without_unset(type_: Any) -> Any:
    """Return the type of a field without `UnsetType`."""
    member_types = [member_type for member_type in get_args(type_) if member_type is not msgspec.UnsetType]
    return Union[tuple(member_types)] if msgspec.UnsetType in get_args(type_) else type_  # noqa: UP007


def _comma_lists(query: Any) -> set[str]:
    """Return the query parameters whose values are separated by commas."""
    query_info = msgspec.inspect.type_info(query)
    if not isinstance(query_info, msgspec.inspect.StructType):
        return set()
    return {
        field.encode_name
        for field in query_info.fields
        if isinstance(field.type, msgspec.inspect.Metadata) and (field.type.extra or {}).get("comma")
    }


def _request_body(operation: Operation[Any, Any], schemas: _Schemas) -> dict[str, Any]:
    schema = schemas.schema_of(operation.body)
    content: dict[str, Any] = {}
    if operation.body is not NoneType:
        media_type = "application/x-www-form-urlencoded" if operation.is_form else "application/json"
        content[media_type] = {"schema": schema, "example": example(operation.body, is_in_request=True)}
    if operation.uploads is not None:
        properties: dict[str, Any] = {}
        if operation.body is not NoneType:
            properties["payload_json"] = {**schema, "description": "The body as JSON."}
        file_schema = {
            "type": "string",
            "contentMediaType": "application/octet-stream",
            "description": "Content of a file.",
        }
        if operation.uploads.field == "files":
            properties |= {f"files[{number}]": file_schema for number in range(operation.uploads.files_max)}
        else:
            properties[operation.uploads.field] = file_schema
        content["multipart/form-data"] = {
            "schema": {"type": "object", "properties": properties},
            "example": _multipart_example(operation, operation.uploads),
        }
    return {"required": not operation.optional_body, "content": content}


def _multipart_example(operation: Operation[Any, Any], uploads: Uploads) -> dict[str, Any]:
    """Return the parts of an example request with one file."""
    form_parts = {} if operation.body is NoneType else {"payload_json": example(operation.body, is_in_request=True)}
    field = "files[0]" if uploads.field == "files" else uploads.field
    return {**form_parts, field: TEXT_FILES.get(field, "(content of picture.png)")}


def _response_objects(endpoint: Endpoint, schemas: _Schemas) -> dict[str, Any]:
    """Return the responses of an operation by status."""
    operation = endpoint.operation
    success_response = _success_response(operation, schemas)
    responses: dict[str, Any] = {str(operation.success): success_response}
    codes_by_status: dict[int, list[errors.ErrorCode]] = {}
    for error_code in operation.raises:
        codes_by_status.setdefault(error_code.status, []).append(error_code)
    error_schema: dict[str, Any] = {"$ref": REFERENCE_TEMPLATE.format(name="Error")}
    if operation.error_model is not NoneType:
        error_schema = {"anyOf": [schemas.schema_of(operation.error_model), error_schema]}
    for status, error_codes in sorted(codes_by_status.items()):
        is_form = error_codes[0] is errors.INVALID_FORM_BODY
        response: dict[str, Any] = {
            "description": texts.error_description(error_codes),
            "content": _json_content(error_schema, _INVALID_FORM_EXAMPLE if is_form else error_codes[0]().body()),
        }
        response["x-codes"] = [error_code.code for error_code in error_codes]
        responses.setdefault(str(status), response)
    for status in operation.other_statuses:
        content = {} if status == 204 or operation.success == 204 else {"content": success_response["content"]}
        responses.setdefault(str(status), {"description": success_response["description"], **content})
    if endpoint.rule is not None:
        responses["429"] = {
            "description": "The request exceeds a rate limit.",
            "content": _json_content(
                {"$ref": REFERENCE_TEMPLATE.format(name="RateLimited")}, _rate_limit_example(endpoint)
            ),
        }
    takes_input = operation.body is not NoneType or operation.query is not NoneType
    responses["4XX"] = {
        "description": "The request was rejected.",
        "content": _json_content(error_schema, _INVALID_FORM_EXAMPLE if takes_input else errors.UNAUTHORIZED().body()),
    }
    return responses


def _success_response(operation: Operation[Any, Any], schemas: _Schemas) -> dict[str, Any]:
    response: dict[str, Any] = {"description": texts.result_description(operation)}
    if operation.success != 204:
        response["content"] = {operation.media_type: _success_content(operation, schemas)}
    return response


def _success_content(operation: Operation[Any, Any], schemas: _Schemas) -> dict[str, Any]:
    """Return the schema and an example of a success response."""
    if operation.media_type == "application/json":
        return {"schema": schemas.schema_of(operation.result), "example": example(operation.result)}
    schema = {"type": "string", "contentMediaType": operation.media_type}
    if operation.media_type in TEXT_BODIES:
        return {"schema": schema, "example": TEXT_BODIES[operation.media_type]}
    # JSON cannot contain the bytes of an image, so the example is a URL.
    url = f"/api/v10{operation.url(**dict.fromkeys(operation.parameters, example(Snowflake)))}"
    return {"schema": schema, "examples": {"file": {"summary": "A file.", "externalValue": url}}}


def _json_content(schema: dict[str, Any], example_value: Any) -> dict[str, Any]:
    """Return the `content` of a JSON response with an example."""
    return {"application/json": {"schema": schema, "example": example_value}}


def _rate_limit_example(endpoint: Endpoint) -> dict[str, Any]:
    """Return an example of the body of a 429 response."""
    error_code = endpoint.operation.limit and endpoint.operation.limit.code
    return {**(error_code or errors.RATE_LIMITED)().body(), "retry_after": 0.65, "global": False}


def _security_requirements(operation: Operation[Any, Any]) -> list[dict[str, list[str]]]:
    security: list[dict[str, list[str]]] = []
    for auth, name in _SECURITY_SCHEMES:
        if auth in operation.auth:
            if name == "OAuth2" and operation.scopes:
                # Any one of the scopes suffices, so each is an alternative.
                security += [{name: [scope]} for scope in operation.scopes]
            else:
                security.append({name: []})
    if "Authorization" in operation.headers:
        security.append({"ClientCredentials": []})
    if operation.auth is Auth.NONE or Auth.ANONYMOUS in operation.auth:
        security.append({})
    return security
