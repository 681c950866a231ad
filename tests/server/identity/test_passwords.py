"""The cost and the verification of password hashes.

`tests/fixtures/costs.py` lowers the cost for all tests, so these tests load the password module again."""

import importlib.util
from types import ModuleType

import pytest
from argon2 import extract_parameters
from argon2.low_level import Type

from hubbub.server.identity.accounts import passwords


@pytest.fixture
def passwords_module() -> ModuleType:
    """The password module, loaded again with its production cost."""
    spec = importlib.util.find_spec(passwords.__name__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_password_hashes_use_the_recommended_cost(passwords_module: ModuleType) -> None:
    cost_parameters = extract_parameters(passwords_module.hash_password("correct horse"))

    # RFC 9106 4: the second recommended option.
    assert (cost_parameters.type, cost_parameters.memory_cost, cost_parameters.time_cost) == (Type.ID, 64 * 1024, 3)


def test_a_login_without_an_account_has_the_same_cost(passwords_module: ModuleType) -> None:
    assert extract_parameters(passwords_module._DUMMY_HASH) == extract_parameters(
        passwords_module.hash_password("correct horse")
    )
    assert not passwords_module.verify(None, "correct horse")


def test_verify_accepts_only_the_hashed_password(passwords_module: ModuleType) -> None:
    password_hash = passwords_module.hash_password("correct horse")

    assert passwords_module.verify(password_hash, "correct horse")
    assert not passwords_module.verify(password_hash, "battery staple")
    assert not passwords_module.verify("no hash", "correct horse")
