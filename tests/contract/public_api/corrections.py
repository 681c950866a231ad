"""Corrections of the public OpenAPI description where the real API differs (spec/http.md#7 and the sections named below)."""

import json
from collections.abc import Callable
from typing import Any


def correct(document: dict[str, Any]) -> dict[str, Any]:
    """Apply all corrections to the public description and return it."""
    for correction in CORRECTIONS:
        correction(document["components"]["schemas"])
    _make_slack_responses_plain_text(document["paths"])
    _remove_placeholder_limits(document)
    return document


def _add_enum_values(schema: dict[str, Any], *values: int) -> None:
    """Add values to an enumeration, which is either a list or a union of constants."""
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], *values]
        # The reference to the full enumeration is redundant beside an explicit list.
        schema.pop("allOf", None)
    else:
        schema["oneOf"] = [*schema["oneOf"], *({"const": value} for value in values)]


def _make_inner_error_codes_strings(schemas: dict[str, Any]) -> None:
    """Follow spec/http.md#1.7: the code of a form error is a string constant."""
    schemas["InnerErrors"]["properties"]["_errors"]["items"] = {
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": "^[A-Z0-9_]+$"}, "message": {"type": "string"}},
        "required": ["code", "message"],
    }


def _allow_own_and_nested_errors(schemas: dict[str, Any]) -> None:
    """Follow spec/http.md#1.7: errors of the whole body are at the root; `oneOf` would also reject a field named `_errors`."""
    schemas["ErrorDetails"] = {
        "type": "object",
        "properties": {"_errors": schemas["InnerErrors"]["properties"]["_errors"]},
        "additionalProperties": {"$ref": "#/components/schemas/ErrorDetails"},
        "minProperties": 1,
    }


def _make_rate_limit_code_optional(schemas: dict[str, Any]) -> None:
    """Follow spec/http.md#1.14: `code` is optional in the body of a 429."""
    response_schema = schemas["RatelimitedResponse"]["allOf"][1]
    response_schema["properties"] |= {"code": {"type": "integer"}, "message": {"type": "string"}}
    response_schema["required"] = ["message", "retry_after", "global"]
    schemas["RatelimitedResponse"]["allOf"] = [response_schema]


def _add_media_channel_type(schemas: dict[str, Any]) -> None:
    """Follow spec/http.md#7: the enumeration of channel types lacks 16."""
    _add_enum_values(schemas["ChannelTypes"], 16)
    for name, schema in schemas.items():
        kind = schema.get("properties", {}).get("type", {})
        if name.endswith("Response") and 15 in kind.get("enum", ()) and "ChannelTypes" in json.dumps(kind):
            _add_enum_values(kind, 16)


def _add_forward_reference_type(schemas: dict[str, Any]) -> None:
    """Add the type 1 of message references, a forward (spec/http.md#3.4)."""
    _add_enum_values(schemas["MessageReferenceType"], 1)


def _remove_placeholder_limits(node: Any) -> None:
    """Remove maxLength 152133 and maxItems 1521, which stand for no explicit limit (spec/http.md#7)."""
    if isinstance(node, dict):
        for key, placeholder in (("maxLength", 152133), ("maxItems", 1521)):
            if node.get(key) == placeholder:
                del node[key]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            _remove_placeholder_limits(item)


def _allow_unlisted_features(schemas: dict[str, Any]) -> None:
    """Follow spec/http.md#7: the list of features is incomplete."""
    schemas["GuildFeatures"] = {"type": "string"}


def _allow_unlisted_scopes(schemas: dict[str, Any]) -> None:
    """Follow spec/sdk.md#7.5: the list of scopes lacks the social layer scopes."""
    schemas["OAuth2Scopes"] = {"type": "string"}


def _make_slack_responses_plain_text(paths: dict[str, Any]) -> None:
    """Follow spec/webhooks-and-interactions.md#6: the response is the text `ok`, not JSON; senders compare it."""
    response = paths["/webhooks/{webhook_id}/{webhook_token}/slack"]["post"]["responses"]["200"]
    response["content"] = {"text/plain": {"schema": {"const": "ok"}}}


def _add_entitlement_types(schemas: dict[str, Any]) -> None:
    """Follow spec/http.md#7: the enumeration of entitlement types has only 8 and 10."""
    _add_enum_values(schemas["EntitlementTypes"], *range(1, 8))


def _add_observed_audit_log_actions(schemas: dict[str, Any]) -> None:
    """Follow spec/http.md#3.11: the enumeration lacks the action types 210, 212 and 213."""
    _add_enum_values(schemas["AuditLogActionTypes"], 210, 212, 213)


def _make_dated_fields_optional(schemas: dict[str, Any]) -> None:
    """Follow spec/dated-changes.md#3: applications gain `flags_new`, roles `colors`, and the list of guilds `banner` on a date."""
    for name, schema in schemas.items():
        dated_fields = {"flags_new", "banner"} if name == "MyGuildResponse" else {"flags_new"}
        if "RoleResponse" in name:
            dated_fields.add("colors")
        if "required" in schema:
            schema["required"] = [item for item in schema["required"] if item not in dated_fields]


def _add_lobby_link_message_type(schemas: dict[str, Any]) -> None:
    """Follow spec/sdk.md#12.6: linking a channel to a lobby creates a message of type 49."""
    _add_enum_values(schemas["MessageType"], 49)


def _add_lobby_invite_target_type(schemas: dict[str, Any]) -> None:
    """Follow spec/sdk.md#12.6: an invite into the guild of a linked channel has target type 5."""
    _add_enum_values(schemas["InviteTargetTypes"], 5)


def _make_template_defaults_optional(schemas: dict[str, Any]) -> None:
    """Follow spec/http.md#7: a default that a channel of a template does not set is absent; hikari fails on null."""
    schema = schemas["GuildTemplateChannelResponse"]
    schema["required"] = [name for name in schema["required"] if not name.startswith("default_")]


def _allow_elliptic_signing_keys(schemas: dict[str, Any]) -> None:
    """Hubbub can sign with ES256 (`identity.id_token_algorithm`), and an elliptic curve key has no `n` and `e`."""
    fields = dict(schemas["OAuth2Key"]["properties"])
    rsa = {"type": "object", "properties": fields | {"kty": {"type": "string", "enum": ["RSA"]}}, "required": [*fields]}
    del fields["n"], fields["e"]
    fields |= {name: {"type": "string"} for name in ("crv", "x", "y")}
    elliptic = {
        "type": "object",
        "properties": fields | {"kty": {"type": "string", "enum": ["EC"]}},
        "required": [*fields],
    }
    schemas["OAuth2Key"] = {"oneOf": [rsa, elliptic]}


CORRECTIONS: tuple[Callable[[dict[str, Any]], None], ...] = (
    _make_inner_error_codes_strings,
    _allow_own_and_nested_errors,
    _make_rate_limit_code_optional,
    _add_media_channel_type,
    _add_forward_reference_type,
    _allow_unlisted_features,
    _add_observed_audit_log_actions,
    _allow_unlisted_scopes,
    _add_entitlement_types,
    _make_dated_fields_optional,
    _add_lobby_invite_target_type,
    _add_lobby_link_message_type,
    _make_template_defaults_optional,
    _allow_elliptic_signing_keys,
)
