"""The pytest plugin in separate test runs, its platform process, and its documentation."""

import contextlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import psutil
import pytest

from hubbub.testing.platform import Faults
from hubbub.testing.users import User

PROJECT_FILES = Path(__file__).parent / "project_files"
"""Test files and world files that `ProjectRunner` copies into a separate project, and a package that hides a dependency."""
ROOT = Path(__file__).parents[2]

IS_PLUGIN_INSTALLED = any(point.name == "hubbub" for point in importlib.metadata.entry_points(group="pytest11"))
PLUGIN_ARGUMENTS = () if IS_PLUGIN_INSTALLED else ("-p", "hubbub.testing.plugin")
"""Arguments that load the plugin; empty if this checkout is installed, because pytest then finds it by its entry point."""

WITHOUT_SUITE_PLUGINS = ("-p", "no:schemathesis", "-p", "no:cacheprovider")
"""Arguments that disable plugins of this suite, which must not affect the result."""
WITHOUT_THIRD_PARTY_PLUGINS = tuple(
    f"-pno:{name}" for name in ("anyio", "asyncio", "hypothesispytest", "timeout", "xdist", "xdist.looponfail")
)
"""Arguments that disable third-party plugins, because they may import the modules that a test expects to be absent."""

LONG_TIMEOUT_INI = "hubbub_within = 30\n"
ASYNCIO_INI = "asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"


class ProjectRunner:
    """Runs pytest in a separate project that uses the plugin."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester

    def __call__(self, *names: str, ini: str = LONG_TIMEOUT_INI, arguments: tuple[str, ...] = ()) -> pytest.RunResult:
        """Run the tests of these files."""
        self._pytester.makeini(f"[pytest]\n{ini}")
        for name in names:
            target = f"test_{name}" if name.endswith(".py") else name
            shutil.copy(PROJECT_FILES / name, self._pytester.path / target)
        return self._pytester.runpytest_subprocess(*PLUGIN_ARGUMENTS, *WITHOUT_SUITE_PLUGINS, *arguments)


@pytest.fixture
def run_project(pytester: pytest.Pytester) -> ProjectRunner:
    """A function that runs test files in a separate project."""
    return ProjectRunner(pytester)


def test_users_act_in_a_synchronous_test(run_project: ProjectRunner) -> None:
    # With `-W error`, an open resource or a swallowed error fails the test.
    run_project("users.py", ini=LONG_TIMEOUT_INI + ASYNCIO_INI, arguments=("-W", "error")).assert_outcomes(passed=9)


def test_every_test_has_its_own_world(run_project: ProjectRunner) -> None:
    run_project("worlds.py", "village.toml").assert_outcomes(passed=10)


def test_the_server_starts_while_the_first_test_file_is_imported(run_project: ProjectRunner) -> None:
    run_project("early_start.py").assert_outcomes(passed=2)


def test_a_server_that_no_selected_test_uses_is_stopped(run_project: ProjectRunner) -> None:
    result = run_project("early_start.py", arguments=("-k", "without", "-s"))

    result.assert_outcomes(passed=1, deselected=1)
    line = next(line for line in result.outlines if line.startswith("servers during the import: "))
    assert not psutil.pid_exists(int(line.split()[-1]))


def test_the_server_of_tests_whose_fixtures_use_a_platform_starts_with_their_collection(
    run_project: ProjectRunner, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest("import pytest\n\n@pytest.fixture\ndef alice(hubbub):\n    return hubbub.users['alice']\n")
    pytester.makepyfile(
        test_1="def test_alice(alice):\n    assert alice.name == 'alice'\n",
        test_2="""
            import psutil

            COMMANDS = [child.cmdline() for child in psutil.Process().children()]

            def test_the_server_was_started_before_this_module():
                assert any("hubbub.server.cli" in command for command in COMMANDS)
        """,
    )

    run_project().assert_outcomes(passed=2)


def test_xdist_workers_have_separate_platforms(run_project: ProjectRunner) -> None:
    result = run_project("worlds.py", "users.py", "village.toml", arguments=("-n", "2", "--dist", "loadfile"))

    result.assert_outcomes(passed=19)


def test_xdist_workers_share_one_server(run_project: ProjectRunner) -> None:
    result = run_project("shared_server.py", arguments=("-n", "3", "--dist", "each", "-rP"))

    result.assert_outcomes(passed=6)
    urls = [line for line in result.outlines if line.startswith("control API of the server: ")]
    assert len(urls) == 6
    assert len(set(urls)) == 1
    pids = {int(line.removeprefix("process: ")) for line in result.outlines if line.startswith("process: ")}
    assert len(pids) == 1
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pids.pop()).wait(60)


def test_a_world_can_last_for_a_module(run_project: ProjectRunner) -> None:
    run_project("module_scope.py", ini=LONG_TIMEOUT_INI + "hubbub_scope = module\n").assert_outcomes(passed=2)


def test_a_run_that_does_not_use_the_plugin_imports_only_its_module(run_project: ProjectRunner) -> None:
    run_project("without_plugin.py", arguments=("--strict-markers", *WITHOUT_THIRD_PARTY_PLUGINS)).assert_outcomes(
        passed=2
    )


def test_invalid_options_are_reported(run_project: ProjectRunner) -> None:
    result = run_project("module_scope.py", ini="hubbub_scope = forever\n")
    assert "hubbub_scope must be one of function, class, module, package, session, not 'forever'" in str(
        result.stderr
    ) + str(result.stdout)


def test_a_failed_test_reports_its_platforms_log(run_project: ProjectRunner) -> None:
    result = run_project("failures.py", ini=LONG_TIMEOUT_INI + ASYNCIO_INI)

    result.assert_outcomes(passed=1, failed=2, errors=10)
    text = str(result.stdout)
    for line in (
        # The first test shows its error, then the platform's log.
        "E       hubbub.people.errors.RequestRejected: demo-bot: POST /channels/*/messages was rejected",
        "E         403 Missing Access (code 50001)",
        "* hubbub call *",
        "http://127.0.0.1:*, platform time *",
        "Rejected requests:",
        "  *:*:* demo-bot POST /channels/{channel_id}/messages: 403 Missing Access (code 50001)",
        "Events and their recipients:",
        "  *:*:* MESSAGE_CREATE in #staff: to alice; not to demo-bot (missing permission: VIEW_CHANNEL in the channel); *",
        "Gateway sessions: demo-bot, bob, alice",
        "Fault still active after 0 occurrences: status method=POST, route=/channels/{channel_id}/messages, *",
        # The second test shows nothing from the first.
        "E       ValueError: by itself",
        "No events were sent to gateway sessions.",
        "There are no gateway sessions.",
    ):
        result.stdout.fnmatch_lines([line])
    for problem in (
        "bob: send_message was never awaited: inside an event loop, await it",
        "world file 'nowhere.toml' not found; tried ",
        "the world of this test cannot be built",
        '  guilds.Home.owner: "ann" is not a user (WORLD_INVALID)',
        "world must be the path of a world file or a dict, not 7",
        "now must be a time such as '2026-12-01T00:00:00Z', not 'tomorrow'",
        "now: The time must be between 2015-01-01 and 2084-01-01.",
        "rate_limits must be one of off, real, report, not 'sometimes'",
        "seed must be an integer from 0, not 'seven'",
        "unknown argument 'wrold'; the arguments are world, now, rate_limits, seed",
        "takes only keyword arguments: world, now, rate_limits, seed",
    ):
        assert problem in text
    # The traceback shows the test, not the plugin's internals.
    assert "src/hubbub" not in text
    assert "During handling" not in text


def test_an_application_runs_its_web_server_in_the_event_loop_of_the_test(run_project: ProjectRunner) -> None:
    run_project("web_server_only.py", ini=LONG_TIMEOUT_INI + ASYNCIO_INI).assert_outcomes(passed=1)


@pytest.mark.clients
def test_hikari_runs_under_anyio_and_discord_py_in_a_thread(run_project: ProjectRunner) -> None:
    run_project("libraries.py").assert_outcomes(passed=5)


def test_the_wheel_registers_the_pytest_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"hubbub": "hubbub.testing.plugin"}
    assert not [name for name in project["dependencies"] if name.startswith("pytest")]


@pytest.mark.clients
def test_a_discord_py_bot_responds_to_its_users(run_project: ProjectRunner) -> None:
    run_project("apps.py", ini=LONG_TIMEOUT_INI + ASYNCIO_INI).assert_outcomes(passed=8)


@pytest.mark.clients
def test_the_platform_starts_bots(run_project: ProjectRunner) -> None:
    ini = LONG_TIMEOUT_INI + ASYNCIO_INI + "hubbub_world = two_bots.toml\n"
    run_project("bots.py", "two_bots.toml", ini=ini).assert_outcomes(passed=7)


PROGRAM_OF_LIBRARY = """
import os, sys
paths = sys.argv[1].split(os.pathsep)
# These paths come after the packages of the library, so that its own package named discord is imported.
sys.path += paths
os.environ["PYTHONPATH"] = sys.argv[1]  # The server process reads it.
import pytest
sys.exit(pytest.main(sys.argv[2:]))
"""


def run_in_environment(python: Path, library: str, folder: Path, *files: str, ini: str = "") -> None:
    """Run files of `PROJECT_FILES` with a library of another virtual environment, and assert that all tests pass."""
    (folder / "pytest.ini").write_text(f"[pytest]\n{LONG_TIMEOUT_INI}{ASYNCIO_INI}{ini}")
    shutil.copy(PROJECT_FILES / files[0], folder / f"test_{files[0]}")
    for name in files[1:]:
        shutil.copy(PROJECT_FILES / name, folder / name)
    packages = os.pathsep.join([str(ROOT / "src"), *(path for path in sys.path if path.endswith("site-packages"))])
    process = subprocess.run(
        [python, "-c", PROGRAM_OF_LIBRARY, packages, *PLUGIN_ARGUMENTS, *WITHOUT_SUITE_PLUGINS],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"BOT_LIBRARY": library},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr


OTHER_LIBRARIES = [
    pytest.param(fixture, name, marks=pytest.mark.program(str(ROOT / ".venvs" / name / "bin" / "python")), id=name)
    for fixture, name in (
        ("disnake", "disnake"),
        ("interactions_py", "discord.py-interactions"),
        ("nextcord", "nextcord"),
        ("py_cord", "py-cord"),
    )
]
"""The fixtures of libraries that have virtual environments of their own, and the names of the environments."""


@pytest.mark.clients
@pytest.mark.parametrize(("fixture", "distribution"), OTHER_LIBRARIES)
def test_the_platform_starts_bots_of_another_library(tmp_path: Path, fixture: str, distribution: str) -> None:
    run_in_environment(ROOT / ".venvs" / distribution / "bin" / "python", fixture, tmp_path, "library_bot.py")


SMALL_BOT_FILES = ("small_bot.py", "small_bots.py", "small_bot.toml")
SMALL_BOT_INI = "hubbub_world = small_bot.toml\n"


@pytest.mark.clients
@pytest.mark.parametrize(("fixture", "distribution"), OTHER_LIBRARIES)
def test_the_small_bot_of_another_library(tmp_path: Path, fixture: str, distribution: str) -> None:
    python = ROOT / ".venvs" / distribution / "bin" / "python"
    run_in_environment(python, fixture, tmp_path, *SMALL_BOT_FILES, ini=SMALL_BOT_INI)


@pytest.mark.clients
@pytest.mark.parametrize("fixture", ["discord_py", "hikari"])
def test_the_small_bot_of_an_installed_library(tmp_path: Path, fixture: str) -> None:
    run_in_environment(Path(sys.executable), fixture, tmp_path, *SMALL_BOT_FILES, ini=SMALL_BOT_INI)


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_the_report_of_a_run_sums_the_findings_of_all_tests(
    run_project: ProjectRunner, arguments: tuple[str, ...]
) -> None:
    result = run_project("findings_report.py", arguments=("--hubbub-report", *arguments))
    result.assert_outcomes(passed=2)
    expected = "deprecated_route: demo-bot: GET /channels/{channel_id}/pins is deprecated; use `list_pins`. (2 times)"
    assert expected in result.outlines
    # The bot requests GUILD_MESSAGES in both tests and receives a message in one of them.
    [unused_line] = [line for line in result.outlines if line.startswith("unused_intent: demo-bot: ")]
    assert "GUILD_MESSAGES" not in unused_line
    assert "GUILD_MODERATION" in unused_line


def test_actions_are_awaited_in_trio(run_project: ProjectRunner) -> None:
    pytest.importorskip("trio", reason="trio is not installed: make venv")
    run_project("trio_loop.py").assert_outcomes(passed=1)


def test_the_time_of_the_program_follows_the_clock(run_project: ProjectRunner) -> None:
    pytest.importorskip("time_machine", reason="time-machine is not installed: make venv")
    run_project("program_time.py", ini=LONG_TIMEOUT_INI + ASYNCIO_INI).assert_outcomes(passed=3)


@pytest.mark.clients
def test_the_example_runs(pytester: pytest.Pytester) -> None:
    pytester.makeini(f"[pytest]\n{LONG_TIMEOUT_INI}")
    shutil.copy(ROOT / "examples" / "test_bot.py", pytester.path)

    pytester.runpytest_subprocess(*PLUGIN_ARGUMENTS, *WITHOUT_SUITE_PLUGINS).assert_outcomes(passed=2)


def test_the_documented_tables_match_the_plugin() -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    _, _, user_section = page.partition("## Act as a user")
    rows = re.findall(r"^\| (`[a-z].*?) \|", user_section.partition("`hubbub.bots[name]`")[0], re.MULTILINE)
    documented_methods = {name for row in rows for name in re.findall(r"`(\w+)", row)}

    # The instance attributes id, name and token are not in the table.
    assert documented_methods == {name for name in dir(User) if not name.startswith("_")}
    documented_faults = set(
        re.findall(r"`(\w+)\(", user_section.partition("## Inject faults")[2].partition("## Configure")[0])
    )
    assert documented_faults == {name for name in dir(Faults) if not name.startswith("_")}


def test_every_row_of_the_table_of_libraries_names_an_existing_test() -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    table = page.partition("### Other client libraries")[2].partition("Hubbub's own tests run")[0]
    rows = [line for line in table.splitlines() if re.match(r"\| \w", line)][1:]
    assert len(rows) == 9
    for row in rows:
        [(path, name)] = re.findall(r"`(tests/[\w/]+\.py)::(\w+)` \|$", row)
        assert f"def {name}(" in (ROOT / path).read_text()


def test_a_platform_that_cannot_start_names_the_missing_package(
    run_project: ProjectRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server packages cannot be imported, as on a machine where only the SDK is installed.
    monkeypatch.setenv("PYTHONPATH", str(PROJECT_FILES / "without_server"), prepend=os.pathsep)

    result = run_project("module_scope.py")

    result.assert_outcomes(errors=2)
    problem = "hubbub: this command needs the server packages (argon2 is missing); run: pip install 'hubbub[server]'"
    assert problem in result.outlines


def test_the_platform_ends_with_a_test_run_that_is_killed(tmp_path: Path) -> None:
    script = (
        "from hubbub.testing.process import *; p = PlatformProcess(); print(p.server.process.pid, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Files of the killed process are removed with the test's directory.
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as killed_run:
        assert killed_run.stdout is not None
        platform = psutil.Process(int(killed_run.stdout.readline()))
        killed_run.kill()

    platform.wait(60)
