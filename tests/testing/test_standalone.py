"""`start_platform`, which starts a platform without pytest."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hubbub.testing import RequestRejected, start_platform

PROGRAM = """
import sys
from hubbub.testing import start_platform

with start_platform(world={"users": {"ann": {}}}, now="2031-05-01T12:00:00Z", seed=7) as platform:
    assert list(platform.users) == ["ann"]
    assert platform.clock.get()["now"].startswith("2031-05-01T12:00")
    print(platform._process.server.process.pid)
assert "pytest" not in sys.modules
"""


def test_a_program_without_pytest_has_a_platform() -> None:
    process = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=240, check=False)

    assert process.returncode == 0, process.stderr
    assert not psutil.pid_exists(int(process.stdout))


def test_a_platform_has_the_world_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "world.toml"
    file.write_text('[users.ann]\n[guilds.Home]\nowner = "ann"\n[guilds.Home.channels.hall]\n')

    with start_platform(world=file) as platform:
        assert platform.users["ann"].send_message("hall", "hi")["content"] == "hi"


def test_an_invalid_world_and_an_error_in_the_block_are_raised() -> None:
    with (
        pytest.raises(RequestRejected, match=r"guilds\.Home\.owner"),
        start_platform(world={"guilds": {"Home": {"owner": "ann"}}}),
    ):
        pass
    with pytest.raises(ValueError, match="by itself"), start_platform(world={}):
        raise ValueError("by itself")
