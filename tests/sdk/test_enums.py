"""The SDK's enumerations take the numbers on the wire from the protocol."""

import ast
import inspect
from enum import IntEnum
from types import ModuleType
from typing import get_args

from hubbub.protocol import enums as protocol_enums
from hubbub.protocol import shared_enums
from hubbub.protocol.resources.identities import ExternalAuthType
from hubbub.protocol.resources.presence import PLATFORMS
from hubbub.sdk import enums

SPECIFICATION_ONLY = {
    "ActivityGamePlatforms",
    "AdditionalContentType",
    "AudioModeType",
    "AudioSystem",
    "AuthenticationCodeChallengeMethod",
    "AuthenticationExternalAuthType",
    "AuthorizationTokenType",
    "AvatarType",
    "CallError",
    "CallStatus",
    "ClientError",
    "ClientStatus",
    "ClientThread",
    "ErrorType",
    "ExternalIdentityProviderType",
    "HttpStatusCode",
    "LoggingSeverity",
    "RelationshipGroupType",
    "StatusType",
}
"""Enumerations whose numbers are arguments and results of SDK functions and are not part of any payload."""
NOT_ON_THE_WIRE = {("ActivityActionTypes", "INVALID"), ("ChannelType", "GUILD_STORE")}
"""Members that only the specification has, in enumerations whose other members are on the wire."""


def numeric_members() -> set[tuple[str, str]]:
    """Return the names of the enumerations and members whose number is written in the SDK's source."""
    return {
        (node.name, target.id)
        for node in ast.parse(inspect.getsource(enums)).body
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def int_enums(module: ModuleType) -> list[type[IntEnum]]:
    """Return the enumerations of numbers that a module has."""
    return [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, IntEnum)]


def test_numbers_on_the_wire_are_declared_in_the_protocol() -> None:
    members = numeric_members()

    assert {(kind, name) for kind, name in members if kind not in SPECIFICATION_ONLY} == NOT_ON_THE_WIRE
    assert {kind for kind, _ in members} >= SPECIFICATION_ONLY


def test_no_enumeration_is_a_copy_of_the_protocol() -> None:
    protocol_enumerations = [kind for module in (protocol_enums, shared_enums) for kind in int_enums(module)]
    members = {frozenset(kind.__members__.items()): kind for kind in protocol_enumerations if len(kind) > 1}

    copies = {
        kind.__name__ for kind in int_enums(enums) if members.get(frozenset(kind.__members__.items()), kind) is not kind
    }
    assert copies == set()


def test_names_on_the_wire_are_those_of_the_protocol() -> None:
    assert {kind.wire for kind in enums.AuthenticationExternalAuthType} == set(get_args(ExternalAuthType))
    assert {str(platform.name).lower() for platform in enums.ActivityGamePlatforms} == set(PLATFORMS)
