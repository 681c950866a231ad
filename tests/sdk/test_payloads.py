"""The fields of the SDK's payload models are fields of the protocol's models."""

import importlib
import pkgutil
from typing import Any, get_args, get_type_hints

import msgspec

from hubbub.protocol import resources
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import lobbies, oauth2, user_messages
from hubbub.sdk import events, payloads

RESPONSES: dict[type[msgspec.Struct], tuple[type[msgspec.Struct], ...]] = {
    payloads.MessagePayload: (user_messages.UserMessage, user_messages.DispatchedUserMessage),
    payloads.LobbyPayload: (lobbies.Lobby,),
    payloads.GrantPayload: (oauth2.CurrentAuthorization,),
}
"""Models of responses and of events with more fields for games, by the payload model that decodes them."""

UNDECLARED_FIELDS = {
    # Sent by other platforms.
    ("RelationshipPayload", "user_id"),
}
"""Fields that the SDK reads although no model of the protocol declares them."""


def test_payload_fields_are_declared_in_the_protocol() -> None:
    models = find_models()

    undeclared = {
        (payload.__name__, field.name)
        for payload, declared in models.items()
        for field in msgspec.structs.fields(payload)
        if not any(field.name in model.__struct_fields__ for model in declared)
    }
    assert undeclared == UNDECLARED_FIELDS
    assert payload_models() - models.keys() == {payloads.GatewayFrame}


def find_models() -> dict[type[msgspec.Struct], set[type[msgspec.Struct]]]:
    """Return the protocol's models that each payload model decodes, found through the handled events."""
    event_models = {event.name: event.payload for event in declared_events()}
    models: dict[type[msgspec.Struct], set[type[msgspec.Struct]]] = {}

    def add(payload: type[msgspec.Struct], declared: set[type[msgspec.Struct]]) -> None:
        added = declared - models.setdefault(payload, set())
        if not added:
            return
        models[payload] |= added
        for name, hint in get_type_hints(payload).items():
            for nested in struct_types(hint) & payload_models():
                add(nested, {found for model in added for found in struct_types(get_type_hints(model).get(name))})

    for event, (payload, _) in events._handlers.items():
        add(payload, struct_types(event_models[event]))
    for payload, declared in RESPONSES.items():
        add(payload, set(declared))
    return models


def declared_events() -> list[Event[Any]]:
    """Return every event of the protocol."""
    modules = [
        importlib.import_module(f"{resources.__name__}.{m.name}") for m in pkgutil.iter_modules(resources.__path__)
    ]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Event)]


def payload_models() -> set[type[msgspec.Struct]]:
    """Return the payload models of the SDK."""
    return {
        value
        for value in vars(payloads).values()
        if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == payloads.__name__
    }


def struct_types(hint: Any) -> set[type[msgspec.Struct]]:
    """Return the models in a type annotation."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return {hint}
    return {found for argument in get_args(hint) for found in struct_types(argument)}
