"""The public API table (`tests/contract/public_api`): its notation, its content, and the command that compares it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract import public_api
from tests.contract.public_api import __main__ as command
from tests.contract.public_api import notation

SCHEMAS: dict[str, dict[str, Any]] = {
    "string ..5": {"type": "string", "maxLength": 5},
    'string 1..7 matching "^#"': {"type": "string", "minLength": 1, "maxLength": 7, "pattern": "^#"},
    "integer -1..": {"type": "integer", "minimum": -1},
    "double 0..0.5": {"type": "number", "format": "double", "minimum": 0, "maximum": 0.5},
    "int32 | null": {"type": ["integer", "null"], "format": "int32"},
    "int32 of 0 2": {"type": "integer", "format": "int32", "enum": [0, 2]},
    'string of "a" "b" | null': {"type": ["string", "null"], "enum": ["a", "b", None]},
    "[snowflake] unique 1..2": {
        "type": "array",
        "items": {"$ref": "#/components/schemas/SnowflakeType"},
        "uniqueItems": True,
        "minItems": 1,
        "maxItems": 2,
    },
    "{Other} ..10": {
        "type": "object",
        "additionalProperties": {"$ref": "#/components/schemas/Other"},
        "maxProperties": 10,
    },
    "{ a: any  b-c[0]?: uri }": {
        "type": "object",
        "properties": {"a": {}, "b-c[0]": {"type": "string", "format": "uri"}},
        "required": ["a"],
    },
    "{ a?: boolean *: nothing }": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}},
        "additionalProperties": False,
    },
    "A & B | timestamp": {
        "oneOf": [
            {"allOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]},
            {"type": "string", "format": "date-time"},
        ]
    },
}


@pytest.mark.parametrize("text", SCHEMAS)
def test_a_type_of_the_notation_is_a_schema(text: str) -> None:
    assert notation.parse(f"X: {text}")["components"]["schemas"]["X"] == SCHEMAS[text]


def test_an_operation_has_a_query_a_body_and_responses() -> None:
    text = 'PUT /a/{b} put_a: { query: { c: integer } body: A 200: A 202: empty 203: media "text/csv" }'

    operation = notation.parse(text)["paths"]["/a/{b}"]["put"]

    content = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}
    assert operation["operationId"] == "put_a"
    assert operation["parameters"] == [{"in": "query", "name": "c", "required": True, "schema": {"type": "integer"}}]
    assert operation["requestBody"] == content
    assert {status: operation["responses"][status] for status in ("200", "202", "203")} == {
        "200": content,
        "202": {},
        "203": {"content": {"text/csv": {"schema": {}}}},
    }
    assert {"429", "4XX"} <= operation["responses"].keys()


def test_the_table_is_in_the_form_that_the_command_writes() -> None:
    assert notation.render(public_api.document()) == public_api.FACTS.read_text()


def test_the_table_refers_only_to_models_that_it_contains() -> None:
    document = public_api.document()
    models = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

    def references(node: Any) -> set[str]:
        if isinstance(node, dict):
            own_references = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            return own_references.union(*map(references, node.values()))
        return set().union(*map(references, node)) if isinstance(node, list) else set()

    assert len(document["paths"]) > 100
    assert references(document) <= models


def test_the_command_compares_and_writes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    openapi, facts = tmp_path / "openapi.json", tmp_path / "facts.txt"
    document = {"paths": {}, "components": {"schemas": {"A": {"description": "prose", "type": "string"}}}}
    openapi.write_text(json.dumps(document))
    facts.write_text("A: integer\n")
    monkeypatch.setattr(command, "FACTS", facts)
    monkeypatch.setattr(command, "correct", lambda document: document)

    assert command.main([str(openapi)]) == 1
    assert {"-A: integer", "+A: string"} <= set(capsys.readouterr().out.splitlines())
    assert command.main([str(openapi), "--write"]) == 0
    assert facts.read_text() == "A: string\n"
    assert command.main([str(openapi)]) == 0
