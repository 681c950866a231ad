"""What every test may ask for."""

from hypothesis import settings

pytest_plugins = [
    "tests.fixtures.costs",
    "tests.fixtures.postgres",
    "tests.fixtures.issuers",
    "tests.fixtures.receivers",
    "tests.fixtures.databases",
    "tests.fixtures.dated",
    "tests.fixtures.nats",
    "tests.fixtures.validator",
    "tests.fixtures.worlds",
]

# A deadline per example would fail on a busy machine; pytest-timeout bounds the whole test.
settings.register_profile("hubbub", deadline=None)
settings.load_profile("hubbub")
