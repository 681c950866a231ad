"""The pytest plugin, seen from outside: test runs of their own, as a project that uses it has them."""

import importlib.metadata
import shutil
import tomllib
from pathlib import Path

import pytest

INNER = Path(__file__).parent / "inner"
ROOT = Path(__file__).parents[2]

INSTALLED = any(point.name == "hubbub" for point in importlib.metadata.entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "hubbub.testing.plugin")
"""pytest finds the plugin by itself where this checkout is what is installed."""

PATIENCE = "hubbub_within = 30\n"


class Run:
    """A project with tests in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester

    def __call__(self, *names: str, ini: str = PATIENCE, arguments: tuple[str, ...] = ()) -> pytest.RunResult:
        """Run the tests of these files."""
        self._pytester.makeini(f"[pytest]\n{ini}")
        for name in names:
            target = f"test_{name}" if name.endswith(".py") else name
            shutil.copy(INNER / name, self._pytester.path / target)
        # Nothing but what the test asks for: the plugins of this suite are not the plugin's business.
        return self._pytester.runpytest_subprocess(
            *PLUGIN, "-p", "no:schemathesis", "-p", "no:cacheprovider", *arguments
        )


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Runs tests that use the plugin."""
    return Run(pytester)


def test_people_in_a_plain_test(run: Run) -> None:
    run("people.py").assert_outcomes(passed=7)


def test_every_test_has_a_world_of_its_own(run: Run) -> None:
    run("worlds.py", "village.toml").assert_outcomes(passed=10)


def test_the_wheel_offers_the_plugin_to_pytest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"hubbub": "hubbub.testing.plugin"}
    assert not [name for name in project["dependencies"] if name.startswith("pytest")]
