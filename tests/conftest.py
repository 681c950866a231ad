"""Plugins and settings of the whole test suite."""

import gc
import signal

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "pytester",
    "tests.fixtures.chaos_tests",
    "tests.fixtures.costs",
    "tests.fixtures.postgres",
    "tests.fixtures.postgres_cases",
    "tests.fixtures.issuers",
    "tests.fixtures.receivers",
    "tests.fixtures.s3",
    "tests.fixtures.databases",
    "tests.fixtures.dated",
    "tests.fixtures.machines",
    "tests.fixtures.nats",
    "tests.fixtures.pages",
    "tests.fixtures.programs",
    "tests.fixtures.statements",
    "tests.fixtures.validator",
    "tests.fixtures.worlds",
]

# A deadline per example would fail on a busy machine; pytest-timeout limits the whole test. Examples are derandomized,
# so that a test never fails because of a new example. `--hypothesis-profile=explore` generates new examples in each run.
BASE_SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("hubbub", BASE_SETTINGS, derandomize=True)
settings.register_profile("explore", BASE_SETTINGS, print_blob=True)
settings.load_profile("hubbub")

# Modules and test items live as long as the process, so collecting garbage while they are imported only costs time.
gc.disable()

# A shell starts background jobs with SIGINT ignored, and child processes inherit that. Tests stop programs with SIGINT.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Enable garbage collection, and exclude the objects that exist already from it."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests with a timeout mark first, so that no worker is left with a slow test at the end."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)
