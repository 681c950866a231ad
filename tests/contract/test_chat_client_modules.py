"""The chat client's enums, permissions and limits are those of the protocol."""

import re

import pytest

from tests.contract.chat_client_modules import FOLDER, LIMITS, MODULES

CLIENT = FOLDER.parent


@pytest.mark.parametrize("name", MODULES)
def test_generated_module_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == MODULES[name](), "run `make generate`"


def test_only_generated_modules_are_in_the_folder() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(MODULES)


def test_other_modules_declare_no_flags_of_the_protocol() -> None:
    found = {
        f"{path.relative_to(CLIENT)}: {match[0]}"
        for path in CLIENT.rglob("*.js")
        if path.parent != FOLDER
        for match in re.finditer(
            r"^(?:export )?const \w+ = 1n? << \d+n?;", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }

    assert found == set()


def test_other_modules_declare_no_limits_of_the_protocol() -> None:
    names = {place.rpartition(".")[2] for place in LIMITS}
    found = {
        f"{path.relative_to(CLIENT)}: {match[1]}"
        for path in CLIENT.rglob("*.js")
        if path.parent != FOLDER
        for match in re.finditer(r"^(?:export )?const (\w+) = ", path.read_text(encoding="utf-8"), re.MULTILINE)
        if match[1] in names
    }

    assert found == set()
