"""The chat client's enums, permissions, limits, codes and scopes are those of the protocol."""

import importlib
import math
import pkgutil
import re
from collections.abc import Iterator

import pytest

from hubbub import protocol
from hubbub.protocol import errors, rpc_scopes
from hubbub.protocol.enums import Scope
from hubbub.protocol.rpc_scopes import PseudoScope
from tests.contract.chat_client_modules import FOLDER, MODULES

CLIENT = FOLDER.parent


@pytest.mark.parametrize("name", MODULES)
def test_generated_module_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == MODULES[name](), "run `make generate`"


def test_only_generated_modules_are_in_the_folder() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(MODULES)


def other_modules() -> Iterator[tuple[str, str]]:
    """Yield the path and the code of every module that is not generated, without comments."""
    for path in sorted(CLIENT.rglob("*.js")):
        if path.parent != FOLDER:
            code = re.sub(
                r"/\*.*?\*/|^\s*//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
            )
            yield path.relative_to(CLIENT).as_posix(), code


def protocol_numbers() -> set[tuple[str, int]]:
    """Return the names and values of all numbers that the modules of the protocol declare."""
    return {
        (name, value)
        for module in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}.")
        for name, value in vars(importlib.import_module(module.name)).items()
        if re.fullmatch(r"[A-Z]\w*_\w+", name) and isinstance(value, int)
    }


def test_other_modules_declare_no_flags_of_the_protocol() -> None:
    declarations = {
        f"{path}: {match[0]}"
        for path, code in other_modules()
        for match in re.finditer(r"^(?:export )?const \w+ = 1n? << \d+n?;", code, re.MULTILINE)
    }

    assert declarations == set()


def test_other_modules_declare_no_enums() -> None:
    enum_entry = r"\s*[A-Z][A-Z0-9_]*: (?:-?[\d_]+|0x[\da-f]+|1n? << \d+n?)\s*"
    tables = re.compile(rf"\b(\w+) = (?:Object\.freeze\()?\{{(?:{enum_entry},)*{enum_entry},?\s*\}}\)?;")
    declarations = {f"{path}: {match[1]}" for path, code in other_modules() for match in tables.finditer(code)}

    assert declarations == set()


def test_other_modules_declare_no_limits_of_the_protocol() -> None:
    numbers = protocol_numbers()
    declarations = {
        f"{path}: {match[1]}"
        for path, code in other_modules()
        for match in re.finditer(
            r"^(?:export )?(?:const| ) *(\w+) = (\d[\d_]*(?: \* \d[\d_]*)*)n?[;,]$", code, re.MULTILINE
        )
        if (match[1], math.prod(int(factor) for factor in match[2].split("*"))) in numbers
    }

    assert len(numbers) > 200
    assert declarations == set()


def test_other_modules_contain_no_error_codes() -> None:
    codes = {str(value.code) for value in vars(errors).values() if isinstance(value, errors.ErrorCode)}
    code_uses = {
        f"{path}: {match[0]}"
        for path, code in other_modules()
        for match in re.finditer(r"(?<![\w.#])[1-9]\d{4,6}\b", code)
        if match[0] in codes
    }

    assert len(codes) > 200
    assert code_uses == set()


def test_other_modules_contain_no_scopes() -> None:
    scopes = {scope.value for scope in (*Scope, *PseudoScope) if "." in scope.value}
    scope_uses = {
        f"{path}: {match[1]}"
        for path, code in other_modules()
        for match in re.finditer(r'"([\w.]+)"', code)
        if match[1] in scopes
    }

    assert scope_uses == set()


def test_activities_have_the_declared_commands_and_events() -> None:
    commands, events = (
        re.search(rf"const {table} = Object\.freeze\(\{{\n(.*?)^\}}\);", source, re.DOTALL | re.MULTILINE)
        for table, source in (
            ("RPC_COMMANDS", (CLIENT / "activities/rpc/commands.js").read_text(encoding="utf-8")),
            ("EVENTS", (CLIENT / "activities/rpc/events.js").read_text(encoding="utf-8")),
        )
    )

    assert commands is not None
    assert events is not None
    key = re.compile(r"^  ([A-Z_]+):", re.MULTILINE)
    assert set(key.findall(commands[1])) == rpc_scopes.ACTIVITY_COMMAND_SCOPES.keys()
    assert set(key.findall(events[1])) == rpc_scopes.ACTIVITY_EVENT_SCOPES.keys()
