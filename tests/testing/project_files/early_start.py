"""A module that lists the servers that run while it is imported; the tests of a file with the platform come first."""

import psutil
import pytest

from hubbub.testing import Platform

SERVERS_DURING_IMPORT = [child.pid for child in psutil.Process().children() if "hubbub.server.cli" in child.cmdline()]
print("servers during the import:", *SERVERS_DURING_IMPORT)


def test_without_a_platform() -> None:
    assert len(SERVERS_DURING_IMPORT) == 1


def test_with_a_platform(hubbub: Platform, request: pytest.FixtureRequest) -> None:
    process = request.getfixturevalue("_hubbub_process")
    assert [process.server.process.pid] == SERVERS_DURING_IMPORT
