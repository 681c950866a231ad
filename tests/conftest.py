"""What every test may ask for."""

import gc

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "pytester",
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

# A deadline per example would fail on a busy machine; pytest-timeout bounds the whole test. The examples follow from the tests
# alone, so that a change is not refused for a find that has nothing to do with it; `--hypothesis-profile=explore` looks for more.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("hubbub", PATIENT, derandomize=True)
settings.register_profile("explore", PATIENT, print_blob=True)
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
