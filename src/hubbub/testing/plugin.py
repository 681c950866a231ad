"""The pytest plugin: fixtures, marker, options, a report section for failed tests, and the findings of a test run.

pytest imports this module in every test run of an environment in which Hubbub is installed. Other Hubbub modules are
therefore imported only when a test needs a platform.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

if TYPE_CHECKING:
    from hubbub.testing.platform import Platform
    from hubbub.testing.process import PlatformProcess, WorldChoice
    from hubbub.testing.run_findings import RunFindings
    from hubbub.testing.server_process import ServerProcess, SharedDirectory

MARKER_ARGUMENTS: Final = ("world", "now", "rate_limits", "seed")
"""Arguments of the marker; the ini options have the same names with the prefix `hubbub_`."""
RATE_LIMIT_MODES: Final = ("off", "real", "report")
SCOPES: Final = ("function", "class", "module", "package", "session")
DEFAULT_WITHIN_SECONDS: Final = 10.0

MARKER: Final = (
    "hubbub(world=None, now=None, rate_limits='report', seed=0): configure the platform of this test: a world file (or a dict "
    "of the same shape), its start time, the rate limit mode (off, real, report), and the seed of its IDs"
)

FINDINGS_KEY: Final = "hubbub_findings"
"""Key of the findings in the output of an xdist worker."""

SHARED_PATH_KEY: Final = "hubbub_shared_path"
"""Key of the folder of the shared server in the input of an xdist worker."""

_FINDINGS: Final[pytest.StashKey["RunFindings"]] = pytest.StashKey()
_OPEN_PLATFORMS: Final = pytest.StashKey[list["Platform"]]()
_SHARED_DIRECTORY: Final[pytest.StashKey["SharedDirectory"]] = pytest.StashKey()
_EARLY_SERVER: Final[pytest.StashKey["ServerProcess"]] = pytest.StashKey()
"""The server that was started during the collection, until the first test uses it."""

_FIXTURE_PARAMETER_PATTERN: Final = re.compile(rb"def\s+\w+\s*\([^)]*\bhubbub")
"""Start of a function with a fixture of this plugin as a parameter, in the source of a test file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    parser.getgroup("hubbub").addoption(
        "--hubbub-report",
        action="store_true",
        help="print what the platforms of all tests found about the applications: rate limits, unused intents and others",
    )
    parser.addini("hubbub_world", "default world file, relative to the rootdir", default="")
    parser.addini("hubbub_now", "start time of platforms, such as 2026-12-01T00:00:00Z", default="")
    parser.addini("hubbub_rate_limits", "off, real, or report (count without rejecting)", default="report")
    parser.addini("hubbub_seed", "seed of the IDs and tokens of a world", default="0")
    parser.addini("hubbub_scope", f"scope of a platform: {', '.join(SCOPES)}", default="function")
    parser.addini("hubbub_within", "seconds that expect and interactions wait", default=str(DEFAULT_WITHIN_SECONDS))


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and prepare the list of open platforms and, for a report, the findings of the run."""
    config.addinivalue_line("markers", MARKER)
    config.stash[_OPEN_PLATFORMS] = []
    if config.getoption("--hubbub-report"):
        from hubbub.testing import run_findings

        config.stash[_FINDINGS] = run_findings.RunFindings()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the folder of the server that all xdist workers share to a worker."""
    from hubbub.testing import server_process

    if server_process.SharedDirectory.is_supported():
        stash = node.config.stash
        if _SHARED_DIRECTORY not in stash:
            stash[_SHARED_DIRECTORY] = server_process.SharedDirectory()
        node.workerinput[SHARED_PATH_KEY] = str(stash[_SHARED_DIRECTORY].path)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server that xdist workers shared, and a server that no test used."""
    if _EARLY_SERVER in config.stash:
        config.stash[_EARLY_SERVER].kill()
    if _SHARED_DIRECTORY in config.stash:
        config.stash[_SHARED_DIRECTORY].close()


# The server starts while pytest imports the test files, which takes most of its time.


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> None:
    """Start the server if a test file uses a platform; the file, and with it the library of a bot, is imported next."""
    if _can_start_early(parent.config) and file_path.suffix == ".py":
        with suppress(OSError):
            if _FIXTURE_PARAMETER_PATTERN.search(file_path.read_bytes()):
                _start_early(parent.config)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Start the server if a test uses a platform, for example by a fixture of a conftest.py."""
    if _can_start_early(item.config) and "_hubbub_process" in getattr(item, "fixturenames", ()):
        _start_early(item.config)


def _can_start_early(config: pytest.Config) -> bool:
    """Return whether a test of this process may run soon and the server is not started yet.

    Servers that xdist workers share start with the first test: other workers would wait for one that no test uses."""
    return (
        _EARLY_SERVER not in config.stash
        and not hasattr(config, "workerinput")
        and not config.getoption("collectonly", default=False)
    )


def _start_early(config: pytest.Config) -> None:
    from hubbub.testing.server_process import ServerProcess

    config.stash[_EARLY_SERVER] = ServerProcess()


def _platform_scope(fixture_name: str, config: pytest.Config) -> Any:
    scope = config.getini("hubbub_scope")
    if scope not in SCOPES:
        raise pytest.UsageError(f"hubbub_scope must be one of {', '.join(SCOPES)}, not {scope!r}")
    return scope


@pytest.fixture(scope="session")
def _hubbub_process(pytestconfig: pytest.Config) -> "Iterator[PlatformProcess]":
    """The process of all platforms of this test run, started for the first test that needs one."""
    from hubbub.testing.server_process import ServerProcess

    server = pytestconfig.stash.get(_EARLY_SERVER, None)
    if server is None:
        shared_path = getattr(pytestconfig, "workerinput", {}).get(SHARED_PATH_KEY)
        server = ServerProcess(None if shared_path is None else Path(shared_path))
    else:
        del pytestconfig.stash[_EARLY_SERVER]
    # The server starts while these modules are imported.
    from hubbub.people.errors import PlatformUnavailable
    from hubbub.testing.process import PlatformProcess

    process, error_message = None, ""
    try:
        process = PlatformProcess(server)
    except PlatformUnavailable as error:
        error_message = str(error)
    if process is None:
        pytest.fail(error_message, pytrace=False)
    yield process
    process.close()


@pytest.fixture(scope=_platform_scope)
def hubbub(request: pytest.FixtureRequest, _hubbub_process: "PlatformProcess") -> "Iterator[Platform]":
    """A platform for this test: `users`, `bots`, `applications`, `guilds`, `clock`, `faults`, and its URLs."""
    from hubbub.people.errors import RequestRejected
    from hubbub.testing.platform import Platform

    config = request.config
    settings = _read_settings(request)
    world_choice = _choose_world(request, settings)
    error_message = None
    try:
        ready = _hubbub_process.fork(world_choice, settings["rate_limits"])
    except RequestRejected as error:
        error_message = f"the world {_world_name(settings['world'])} cannot be built\n{error}"
    if error_message is not None:
        # Fail outside of the except block, so that pytest does not show the original exception.
        pytest.fail(error_message, pytrace=False)
    platform = Platform(_hubbub_process, ready, _parse_within(config))
    config.stash[_OPEN_PLATFORMS].append(platform)
    yield platform
    config.stash[_OPEN_PLATFORMS].remove(platform)
    if config.getoption("--hubbub-report"):
        platform.add_findings(config.stash[_FINDINGS])
    errors = platform.close()
    if errors:
        pytest.fail("\n".join(errors), pytrace=False)


@pytest.fixture
def hubbub_discord_py(hubbub: "Platform") -> "Iterator[Platform]":
    """A platform for this test, with discord.py pointed at it."""
    from hubbub.testing import libraries

    with libraries.pointed_at("discord_py", hubbub.ready):
        yield hubbub


@pytest.fixture
def hubbub_disnake(hubbub: "Platform") -> "Iterator[Platform]":
    """A platform for this test, with disnake pointed at it."""
    from hubbub.testing import libraries

    with libraries.pointed_at("disnake", hubbub.ready):
        yield hubbub


@pytest.fixture
def hubbub_hikari(hubbub: "Platform") -> "Iterator[Platform]":
    """A platform for this test, with hikari pointed at it."""
    from hubbub.testing import libraries

    with libraries.pointed_at("hikari", hubbub.ready):
        yield hubbub


@pytest.fixture
def hubbub_interactions_py(hubbub: "Platform") -> "Iterator[Platform]":
    """A platform for this test, with interactions.py pointed at it."""
    from hubbub.testing import libraries

    with libraries.pointed_at("interactions_py", hubbub.ready):
        yield hubbub


@pytest.fixture
def hubbub_nextcord(hubbub: "Platform") -> "Iterator[Platform]":
    """A platform for this test, with nextcord pointed at it."""
    from hubbub.testing import libraries

    with libraries.pointed_at("nextcord", hubbub.ready):
        yield hubbub


@pytest.fixture
def hubbub_py_cord(hubbub: "Platform") -> "Iterator[Platform]":
    """A platform for this test, with py-cord pointed at it."""
    from hubbub.testing import libraries

    with libraries.pointed_at("py_cord", hubbub.ready):
        yield hubbub


@pytest.fixture
def hubbub_program_time(hubbub: "Platform") -> "Iterator[None]":
    """The time of the test process, which follows the clock of the test's platform (needs `hubbub[time]`)."""
    from importlib.util import find_spec

    if find_spec("time_machine") is None:
        pytest.fail("hubbub_program_time needs time-machine; run: pip install 'hubbub[time]'", pytrace=False)
    from hubbub.testing import program_time

    with program_time.follow_platform(hubbub):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Add a section about the platform to the report of a failed test."""
    report: pytest.TestReport = yield
    platforms = item.config.stash.get(_OPEN_PLATFORMS, [])
    if report.failed and platforms:
        from hubbub.testing.report import format_report

        for platform in platforms:
            platform.has_failed_test = True
        report.sections += [(f"hubbub {report.when}", format_report(platform)) for platform in platforms]
    return report


# The report of a test run


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the findings of an xdist worker to the process that prints them."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None and _FINDINGS in session.config.stash:
        output[FINDINGS_KEY] = session.config.stash[_FINDINGS].encode()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive the findings of an xdist worker."""
    output = getattr(node, "workeroutput", None) or {}
    if FINDINGS_KEY in output:
        node.config.stash[_FINDINGS].merge(output[FINDINGS_KEY])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the findings of all platforms, if the option `--hubbub-report` is set."""
    if config.getoption("--hubbub-report"):
        terminalreporter.section("hubbub report")
        for line in list(config.stash[_FINDINGS].format_lines()) or ["No problems were found."]:
            terminalreporter.write_line(line)


# Settings of a test


def _read_settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the marker's arguments, with the ini options as defaults."""
    settings: dict[str, Any] = {name: request.config.getini(f"hubbub_{name}") or None for name in MARKER_ARGUMENTS}
    # iter_markers returns the closest marker first; it must be applied last.
    for mark in reversed(list(request.node.iter_markers("hubbub"))):
        unknown = [name for name in mark.kwargs if name not in MARKER_ARGUMENTS]
        if unknown:
            _fail_for_marker(f"unknown argument {unknown[0]!r}; the arguments are {', '.join(MARKER_ARGUMENTS)}")
        if mark.args:
            _fail_for_marker(f"takes only keyword arguments: {', '.join(MARKER_ARGUMENTS)}")
        settings |= mark.kwargs
    if settings["rate_limits"] not in RATE_LIMIT_MODES:
        _fail_for_marker(f"rate_limits must be one of {', '.join(RATE_LIMIT_MODES)}, not {settings['rate_limits']!r}")
    return settings


def _choose_world(request: pytest.FixtureRequest, settings: dict[str, Any]) -> "WorldChoice":
    from hubbub.testing.process import WorldChoice

    text, media_type = _read_world(request, settings["world"])
    return WorldChoice(text, media_type, _parse_seed(settings["seed"]), _parse_now(settings["now"]))


def _read_world(request: pytest.FixtureRequest, world: Any) -> tuple[bytes, str]:
    from hubbub.testing import standalone

    if world is None or isinstance(world, dict):
        return standalone.read_world(world)
    if not isinstance(world, (str, Path)):
        _fail_for_marker(f"world must be the path of a world file or a dict, not {world!r}")
    # Relative to the test file, or else to the root of the project.
    paths = list(dict.fromkeys([request.path.parent / world, request.config.rootpath / world]))
    for path in paths:
        if path.is_file():
            return standalone.read_world(path)
    _fail_for_marker(f"world file {str(world)!r} not found; tried {' and '.join(map(str, paths))}")


def _parse_seed(seed: Any) -> int:
    try:
        number = int(seed or 0)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < 1 << 63:
        _fail_for_marker(f"seed must be an integer from 0, not {seed!r}")
    return number


def _parse_now(now: Any) -> datetime | None:
    from hubbub.testing.platform import to_utc

    if now is None:
        return None
    if isinstance(now, (str, datetime)):
        with suppress(ValueError):
            return to_utc(now)
    _fail_for_marker(f"now must be a time such as '2026-12-01T00:00:00Z', not {now!r}")


def _parse_within(config: pytest.Config) -> float:
    text = config.getini("hubbub_within")
    try:
        return float(text)
    except ValueError:
        raise pytest.UsageError(f"hubbub_within must be a number of seconds, not {text!r}") from None


def _world_name(world: Any) -> str:
    return "of this test" if isinstance(world, dict) else repr(str(world or "demo"))


def _fail_for_marker(problem: str) -> NoReturn:
    pytest.fail(f"@pytest.mark.hubbub: {problem}", pytrace=False)
