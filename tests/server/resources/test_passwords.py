"""What it costs to guess a password. Other tests hash lightly (`tests/fixtures/costs.py`), so the module is loaded anew here."""

import importlib.util
from types import ModuleType

import pytest
from argon2 import extract_parameters
from argon2.low_level import Type

from hubbub.server.resources.accounts import passwords


@pytest.fixture
def shipped() -> ModuleType:
    """The module as a server has it."""
    spec = importlib.util.find_spec(passwords.__name__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_guess_costs_memory_and_time(shipped: ModuleType) -> None:
    cost = extract_parameters(shipped.hash_password("correct horse"))

    # RFC 9106 4: the second recommended option.
    assert (cost.type, cost.memory_cost, cost.time_cost) == (Type.ID, 64 * 1024, 3)


def test_a_login_without_an_account_costs_the_same(shipped: ModuleType) -> None:
    assert extract_parameters(shipped._DUMMY_HASH) == extract_parameters(shipped.hash_password("correct horse"))
    assert not shipped.verify(None, "correct horse")


def test_only_the_right_password_is_the_right_one(shipped: ModuleType) -> None:
    kept = shipped.hash_password("correct horse")

    assert shipped.verify(kept, "correct horse")
    assert not shipped.verify(kept, "battery staple")
    assert not shipped.verify("no hash", "correct horse")
