"""The generated OpenAPI document is valid, complete and agrees with the operation table."""

import json
import re
from collections.abc import Iterator
from types import NoneType
from typing import Any

import jsonschema_rs
import pytest
from jsonschema_rs import Draft202012Validator

from hubbub.protocol import codec
from hubbub.server.core.endpoints import Endpoint, EndpointTable
from hubbub.server.core.slices import Slice
from hubbub.server.places import standing
from hubbub.server.transports.http import openapi, openapi_texts
from tests.server.transports.http import sample_slice
from tests.server.transports.http.conftest import HttpHarness

# The parts of the OpenAPI 3.1 metaschema that a generator can get wrong.
METASCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["openapi", "info", "paths"],
    "properties": {
        "openapi": {"pattern": r"^3\.1\.\d+$"},
        "info": {"type": "object", "required": ["title", "version"]},
        "servers": {"type": "array", "items": {"type": "object", "required": ["url"]}},
        "tags": {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "object", "required": ["name"], "properties": {"description": {"$ref": "#/$defs/text"}}},
        },
        "paths": {
            "type": "object",
            "propertyNames": {"pattern": "^/"},
            "additionalProperties": {
                "type": "object",
                "propertyNames": {"enum": ["get", "put", "post", "delete", "patch"]},
                "additionalProperties": {"$ref": "#/$defs/operation"},
            },
        },
        "components": {
            "type": "object",
            "propertyNames": {"enum": ["schemas", "securitySchemes"]},
            "properties": {
                "schemas": {
                    "propertyNames": {"pattern": "^[a-zA-Z0-9._-]+$"},
                    "additionalProperties": {"type": "object"},
                },
                "securitySchemes": {
                    "additionalProperties": {
                        "required": ["type"],
                        "properties": {"type": {"enum": ["apiKey", "http", "oauth2"]}},
                    }
                },
            },
        },
    },
    "$defs": {
        "text": {"type": "string", "minLength": 1},
        "operation": {
            "type": "object",
            "required": ["operationId", "responses", "security"],
            "propertyNames": {
                "anyOf": [
                    {"pattern": "^x-"},
                    {"enum": ["operationId", "summary", "description", "deprecated", "tags"]},
                    {"enum": ["parameters", "requestBody", "responses", "security"]},
                ]
            },
            "properties": {
                "operationId": {"type": "string"},
                "summary": {"$ref": "#/$defs/text"},
                "description": {"$ref": "#/$defs/text"},
                "deprecated": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "parameters": {
                    "type": "array",
                    "uniqueItems": True,
                    "items": {
                        "required": ["name", "in", "schema"],
                        "properties": {
                            "in": {"enum": ["path", "query", "header"]},
                            "required": {"type": "boolean"},
                            "description": {"$ref": "#/$defs/text"},
                            "deprecated": {"type": "boolean"},
                        },
                        "if": {"properties": {"in": {"const": "path"}}},
                        "then": {"properties": {"required": {"const": True}}, "required": ["required"]},
                    },
                },
                "requestBody": {
                    "required": ["content"],
                    "properties": {"content": {"minProperties": 1, "additionalProperties": {"required": ["schema"]}}},
                },
                "responses": {
                    "minProperties": 1,
                    "propertyNames": {"pattern": "^([1-5][0-9][0-9]|[1-5]XX|default)$"},
                    "additionalProperties": {"required": ["description"]},
                },
                "security": {"type": "array", "items": {"type": "object"}},
            },
        },
    },
}


DOCUMENT_URI = "urn:openapi"

SAMPLE_TABLE = EndpointTable([standing.SLICE, Slice(name="toys", modules=(sample_slice,))])


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document of the sample slice."""
    decoded_document: dict[str, Any] = json.loads(openapi.encode_document(SAMPLE_TABLE))
    return decoded_document


@pytest.fixture(scope="module")
def full_document(full_table: EndpointTable) -> dict[str, Any]:
    """The document of all operations of the platform."""
    decoded_document: dict[str, Any] = json.loads(openapi.encode_document(full_table))
    return decoded_document


def operations_by_id(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the operations of a document by `operationId`."""
    return {
        operation["operationId"]: operation for methods in document["paths"].values() for operation in methods.values()
    }


def collect_references(node: Any) -> set[str]:
    """Return all `$ref` values below a node."""
    if isinstance(node, dict):
        own_reference = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own_reference.union(*(collect_references(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(collect_references(value) for value in node))
    return set()


@pytest.mark.parametrize("name", ["document", "full_document"])
def test_the_document_is_openapi_3_1(name: str, request: pytest.FixtureRequest) -> None:
    problems = [error.message for error in Draft202012Validator(METASCHEMA).iter_errors(request.getfixturevalue(name))]
    assert problems == []


def test_every_schema_is_a_json_schema(document: dict[str, Any]) -> None:
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)


@pytest.mark.parametrize("name", ["document", "full_document"])
def test_every_reference_resolves(name: str, request: pytest.FixtureRequest) -> None:
    document = request.getfixturevalue(name)
    targets = {f"#/components/schemas/{schema}" for schema in document["components"]["schemas"]}
    assert collect_references(document) <= targets


def test_operation_ids_are_unique_and_paths_name_their_parameters(document: dict[str, Any]) -> None:
    operation_ids: list[str] = []
    for path, methods in document["paths"].items():
        for operation in methods.values():
            operation_ids.append(operation["operationId"])
            names = [parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "path"]
            assert names == re.findall(r"{(\w+)}", path)
    assert len(operation_ids) == len(set(operation_ids))


def test_an_operation_is_documented_as_declared(document: dict[str, Any]) -> None:
    guarded_operation = document["paths"]["/guilds/{guild_id}/guarded"]["patch"]
    assert guarded_operation["x-permissions"] == ["MANAGE_GUILD"]
    assert guarded_operation["tags"] == ["toys"]
    assert guarded_operation["parameters"][0]["schema"]["format"] == "snowflake"
    assert next(iter(guarded_operation["responses"])) == "204"
    limited_operation = document["paths"]["/guilds/{guild_id}/limited"]["get"]
    assert (limited_operation["x-ratelimit"]["calls"], limited_operation["x-ratelimit"]["per"]) == (2, ["guild_id"])
    assert document["paths"]["/scoped"]["get"]["security"] == [
        {"BotToken": []},
        {"OAuth2": ["identify"]},
        {"OAuth2": ["email"]},
    ]
    assert document["paths"]["/token"]["post"]["security"] == [{}]
    upload = document["paths"]["/channels/{channel_id}/toys"]["post"]["requestBody"]["content"]
    assert set(upload["multipart/form-data"]["schema"]["properties"]) == {"payload_json", "files[0]", "files[1]"}
    roles = next(
        parameter
        for parameter in document["paths"]["/channels/{channel_id}/toys"]["get"]["parameters"]
        if parameter["name"] == "roles"
    )
    assert roles["explode"] is False


def collect_discriminators(node: Any) -> Iterator[dict[str, Any]]:
    """Yield all discriminators with a mapping below a node."""
    if isinstance(node, dict):
        if isinstance(node.get("discriminator"), dict) and "mapping" in node["discriminator"]:
            yield node["discriminator"]
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from collect_discriminators(child)


def test_no_discriminator_has_numeric_tags(full_document: dict[str, Any]) -> None:
    tags = [tag for discriminator in collect_discriminators(full_document) for tag in discriminator["mapping"]]
    assert [tag for tag in tags if tag.isdigit()] == []


def find_undocumented(document: dict[str, Any]) -> Iterator[str]:
    """Yield the parts of a document that lack a text, an example, or names of values."""
    for name, operation in operations_by_id(document).items():
        if not operation.get("summary"):
            yield f"{name}: summary"
        for parameter in operation.get("parameters", []):
            if not parameter.get("description"):
                yield f"{name}: parameter {parameter['name']}"
        contents = [operation["requestBody"]] if "requestBody" in operation else []
        for status, response in operation["responses"].items():
            if not response["description"]:
                yield f"{name}: response {status}"
            contents.append(response)
        for content in contents:
            for media_type, media in content.get("content", {}).items():
                if media_type == "multipart/form-data":
                    properties = media["schema"]["properties"].items()
                    yield from (f"{name}: part {key}" for key, part in properties if not part.get("description"))
                if not media.keys() & {"example", "examples"}:
                    yield f"{name}: example"
    for name, schema in document["components"]["schemas"].items():
        if not schema.get("description"):
            yield f"schema {name}"
        for key, part in schema.get("properties", {}).items():
            # A description of one word would only repeat the name of the field.
            if len(part.get("description", "").split()) < 2:
                yield f"schema {name}: {key}"
        if "enum" in schema and len(schema["x-enum-varnames"]) != len(schema["enum"]):
            yield f"schema {name}: names of values"
    yield from (f"tag {tag['name']}" for tag in document["tags"] if not tag.get("description"))
    for name, scheme in document["components"]["securitySchemes"].items():
        if not scheme.get("description"):
            yield f"security scheme {name}"
    scopes = document["components"]["securitySchemes"]["OAuth2"]["flows"]["authorizationCode"]["scopes"]
    yield from (f"scope {scope}" for scope, text in scopes.items() if not text)


def test_every_part_of_the_document_is_described(full_document: dict[str, Any]) -> None:
    assert list(find_undocumented(full_document)) == []


def collect_texts(node: Any) -> Iterator[str]:
    """Yield the descriptions and summaries below a node, except in examples."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("description", "summary") and isinstance(value, str):
                yield value
            elif key not in ("example", "properties"):
                yield from collect_texts(value)
        yield from (text for part in node.get("properties", {}).values() for text in collect_texts(part))
    elif isinstance(node, list):
        for value in node:
            yield from collect_texts(value)


def test_no_text_contains_a_citation(full_document: dict[str, Any]) -> None:
    assert [
        text for text in collect_texts(full_document) if "spec/" in text or "decisions/" in text or "changes." in text
    ] == []


def test_every_documented_path_parameter_and_header_exists(full_table: EndpointTable) -> None:
    parameters = {name for endpoint in full_table for name in endpoint.operation.parameters}
    assert {name.rpartition("{")[2].rstrip("}") for name in openapi_texts.PATH_PARAMETERS} == parameters
    headers = {name for endpoint in full_table for name in endpoint.operation.headers} - {"Authorization"}
    assert set(openapi_texts.HEADERS) - {openapi_texts.REASON_HEADER} == headers


def success_example(endpoint: Endpoint, described: dict[str, Any]) -> Any:
    return described["responses"][str(endpoint.operation.success)]["content"]["application/json"]["example"]


def test_every_example_decodes_as_its_type(full_document: dict[str, Any], full_table: EndpointTable) -> None:
    described_operations = operations_by_id(full_document)
    count = 0
    for endpoint in full_table:
        operation = endpoint.operation
        if operation.success != 204 and operation.media_type == "application/json":
            codec.decode(codec.encode(success_example(endpoint, described_operations[endpoint.name])), operation.result)
            count += 1
        if operation.body is not NoneType:
            media_type = "application/x-www-form-urlencoded" if operation.is_form else "application/json"
            media = described_operations[endpoint.name]["requestBody"]["content"][media_type]
            codec.decode(codec.encode(media["example"]), operation.body)
            count += 1
    assert count > 400


def with_absolute_references(node: Any) -> Any:
    """Return a copy of a schema whose references start with the URI of the registered document."""
    if isinstance(node, dict):
        return {
            key: DOCUMENT_URI + value if key == "$ref" else with_absolute_references(value)
            for key, value in node.items()
        }
    return [with_absolute_references(child) for child in node] if isinstance(node, list) else node


def test_every_example_matches_its_schema(full_document: dict[str, Any]) -> None:
    registry = jsonschema_rs.Registry([(DOCUMENT_URI, full_document)], draft=jsonschema_rs.Draft202012)
    for name, operation in operations_by_id(full_document).items():
        for part in (operation.get("requestBody", {}), *operation["responses"].values()):
            for media in part.get("content", {}).values():
                if "example" in media:
                    validator = Draft202012Validator(with_absolute_references(media["schema"]), registry=registry)
                    problems = [error.message for error in validator.iter_errors(media["example"])]
                    assert problems == [], name


def test_error_examples_have_the_first_declared_code(full_document: dict[str, Any]) -> None:
    for operation in operations_by_id(full_document).values():
        for response in operation["responses"].values():
            if "x-codes" in response:
                assert response["content"]["application/json"]["example"]["code"] == response["x-codes"][0]


def test_deprecated_operations_name_their_replacement(full_document: dict[str, Any]) -> None:
    described_operations = operations_by_id(full_document)
    deprecated_operations = {
        name: operation["description"]
        for name, operation in described_operations.items()
        if operation.get("deprecated")
    }
    assert set(deprecated_operations) == {
        "deprecated_list_pins",
        "deprecated_create_pin",
        "deprecated_delete_pin",
        "update_my_guild_member_nick",
        "list_activity_instances",
        "batch_set_guild_application_command_permissions",
    }
    for text in deprecated_operations.values():
        assert text.startswith("Deprecated: use ")
        assert set(re.findall("`([a-z_]+)`", text.partition("\n")[0])) <= set(described_operations)


def test_deprecated_fields_are_marked(full_document: dict[str, Any]) -> None:
    schemas = full_document["components"]["schemas"]
    for name, key in (
        ("Role", "color"),
        ("Message", "interaction"),
        ("CreateCommand", "dm_permission"),
        ("BanUser", "delete_message_days"),
        ("Guild", "region"),
    ):
        assert schemas[name]["properties"][key]["deprecated"] is True
    assert "deprecated" not in schemas["Role"]["properties"]["colors"]


def test_descriptions_state_requirements(full_document: dict[str, Any]) -> None:
    described_operations = operations_by_id(full_document)
    assert described_operations["create_guild_role"]["description"] == (
        "The new role is placed just above @everyone.\n\nRequires the permission `MANAGE_ROLES` in the guild."
    )
    assert (
        "An OAuth2 access token needs the scope `guilds.members.read`."
        in (described_operations["get_my_guild_member"]["description"])
    )
    assert "`around` takes precedence over `before`" in described_operations["list_messages"]["description"]
    reason = next(
        parameter
        for parameter in described_operations["create_guild_role"]["parameters"]
        if parameter["in"] == "header"
    )
    assert reason["name"] == "X-Audit-Log-Reason"
    assert described_operations["exchange_oauth2_token"]["security"] == [{"ClientCredentials": []}, {}]


async def test_the_server_serves_the_document(server: HttpHarness, document: dict[str, Any]) -> None:
    response = await server.request("GET", "/api/openapi.json", caller=None)
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.json == document


DEPRECATION_MENTIONS = {
    "StageInstance.privacy_level": "Only the value 1 is deprecated.",
    "CreateStageInstance.privacy_level": "Only the value 1 is deprecated.",
    "UpdateStageInstance.privacy_level": "Only the value 1 is deprecated.",
    "VoiceRegion.deprecated": "The field tells whether a region is deprecated.",
}
"""Schemas and fields whose description mentions a deprecation although they are current, with the reason."""


def test_everything_that_is_described_as_deprecated_is_marked(full_document: dict[str, Any]) -> None:
    described_entries = operations_by_id(full_document)
    for name, schema in full_document["components"]["schemas"].items():
        described_entries |= {name: schema} | {
            f"{name}.{key}": value for key, value in schema.get("properties", {}).items()
        }

    unmarked_names = {
        name
        for name, entry in described_entries.items()
        if "deprecated" in f"{entry.get('summary', '')} {entry.get('description', '')}".lower()
        and entry.get("deprecated") is not True
    }

    assert unmarked_names == set(DEPRECATION_MENTIONS)


def test_fields_that_the_specification_deprecates_are_marked(full_document: dict[str, Any]) -> None:
    schemas = full_document["components"]["schemas"]
    fields = [
        (name, key)
        for name, schema in schemas.items()
        for key in schema.get("properties", {})
        if (key in {"dm_permission", "default_permission"} and "type" in schema["properties"])
        or (key == "color" and "colors" in schema["properties"])
        or (key == "interaction" and "interaction_metadata" in schema["properties"])
    ]

    assert {name for name, _ in fields} >= {"Role", "Message", "ApplicationCommand", "CreateCommand"}
    assert [field for field in fields if schemas[field[0]]["properties"][field[1]].get("deprecated") is not True] == []
    assert schemas["PremiumCallback"]["deprecated"] is True
