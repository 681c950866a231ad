"""The generated OpenAPI document is valid and agrees with the operation table."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.core.slices import Slice
from hubbub.server.places import standing
from hubbub.server.transports.http import openapi
from tests.server.transports.http import toys
from tests.server.transports.http.conftest import Doorway

# The parts of the OpenAPI 3.1 metaschema that a generator can get wrong.
METASCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["openapi", "info", "paths"],
    "properties": {
        "openapi": {"pattern": r"^3\.1\.\d+$"},
        "info": {"type": "object", "required": ["title", "version"]},
        "servers": {"type": "array", "items": {"type": "object", "required": ["url"]}},
        "tags": {"type": "array", "items": {"type": "object", "required": ["name"]}},
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
                        "properties": {"type": {"enum": ["apiKey", "oauth2"]}},
                    }
                },
            },
        },
    },
    "$defs": {
        "operation": {
            "type": "object",
            "required": ["operationId", "responses", "security"],
            "propertyNames": {
                "anyOf": [
                    {"pattern": "^x-"},
                    {"enum": ["operationId", "summary", "tags", "parameters", "requestBody", "responses", "security"]},
                ]
            },
            "properties": {
                "operationId": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "parameters": {
                    "type": "array",
                    "uniqueItems": True,
                    "items": {
                        "required": ["name", "in", "schema"],
                        "properties": {"in": {"enum": ["path", "query"]}, "required": {"type": "boolean"}},
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
        }
    },
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        openapi.document(EndpointTable([standing.SLICE, Slice(name="toys", modules=(toys,))]))
    )
    return found


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        found = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return found.union(*(references(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(references(value) for value in node))
    return set()


def test_the_document_is_openapi_3_1(document: dict[str, Any]) -> None:
    problems = [error.message for error in Draft202012Validator(METASCHEMA).iter_errors(document)]
    assert problems == []


def test_every_schema_is_a_json_schema(document: dict[str, Any]) -> None:
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_reference_resolves(document: dict[str, Any]) -> None:
    names = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= names


def test_operation_ids_are_unique_and_paths_name_their_parameters(document: dict[str, Any]) -> None:
    seen: list[str] = []
    for path, methods in document["paths"].items():
        for operation in methods.values():
            seen.append(operation["operationId"])
            names = [parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "path"]
            assert names == re.findall(r"{(\w+)}", path)
    assert len(seen) == len(set(seen))


def test_an_operation_is_documented_as_declared(document: dict[str, Any]) -> None:
    guarded = document["paths"]["/guilds/{guild_id}/guarded"]["patch"]
    assert guarded["x-permissions"] == ["MANAGE_GUILD"]
    assert guarded["tags"] == ["toys"]
    assert guarded["parameters"][0]["schema"]["format"] == "snowflake"
    assert next(iter(guarded["responses"])) == "204"
    limited = document["paths"]["/guilds/{guild_id}/limited"]["get"]
    assert (limited["x-ratelimit"]["calls"], limited["x-ratelimit"]["per"]) == (2, ["guild_id"])
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


async def test_the_server_serves_the_document(server: Doorway, document: dict[str, Any]) -> None:
    answer = await server.ask("GET", "/api/openapi.json", caller=None)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json == document
