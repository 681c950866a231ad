"""What every test may ask for."""

import gc

import pytest
from hypothesis import settings

pytest_plugins = [
    "tests.fixtures.costs",
    "tests.fixtures.postgres",
    "tests.fixtures.issuers",
    "tests.fixtures.receivers",
    "tests.fixtures.databases",
    "tests.fixtures.dated",
    "tests.fixtures.machines",
    "tests.fixtures.nats",
    "tests.fixtures.validator",
    "tests.fixtures.worlds",
]

# A deadline per example would fail on a busy machine; pytest-timeout bounds the whole test.
settings.register_profile("hubbub", deadline=None)
settings.load_profile("hubbub")

# Modules and tests live as long as the process: while they come there is nothing to collect, and later they need not be looked at.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """From here on there is garbage."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks for more time than others begins first, or one worker would have it before it when all others are done."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)
