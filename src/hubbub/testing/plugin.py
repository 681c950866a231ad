"""The pytest plugin: fixtures, the marker, options, and what a failed test's report says.

pytest imports this in every test run on a machine that has Hubbub installed. So nothing else of ours is imported until a test
asks for a platform.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

if TYPE_CHECKING:
    from hubbub.testing.platform import Platform
    from hubbub.testing.process import Choice, Process

OPTIONS: Final = ("world", "now", "rate_limits", "seed")
"""What the marker takes; each is an ini option `hubbub_...` too."""
MODES: Final = ("off", "real", "report")
SCOPES: Final = ("function", "class", "module", "package", "session")
WITHIN_S: Final = 10.0

MARKER: Final = (
    "hubbub(world=None, now=None, rate_limits='report', seed=0): the platform of this test: a world file (or a dict of the same "
    "shape), the time it begins with, what is done about rate limits (off, real, report), and the number that ids follow from"
)

_OPEN: Final = pytest.StashKey[list["Platform"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The ini options."""
    parser.addini("hubbub_world", "a world file for tests that name no other; relative to the rootdir", default="")
    parser.addini("hubbub_now", "the time that worlds begin with, such as 2026-12-01T00:00:00Z", default="")
    parser.addini("hubbub_rate_limits", "off, real, or report: count but refuse nothing", default="report")
    parser.addini("hubbub_seed", "the number that ids and tokens of a world follow from", default="0")
    parser.addini("hubbub_scope", f"how long a world lasts: {', '.join(SCOPES)}", default="function")
    parser.addini("hubbub_within", "seconds that expect and interactions wait", default=str(WITHIN_S))


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", MARKER)
    config.stash[_OPEN] = []


def _scope(fixture_name: str, config: pytest.Config) -> Any:
    scope = config.getini("hubbub_scope")
    if scope not in SCOPES:
        raise pytest.UsageError(f"hubbub_scope is one of {', '.join(SCOPES)}, not {scope!r}")
    return scope


@pytest.fixture(scope="session")
def _hubbub_process() -> "Iterator[Process]":
    """The process that all platforms of this run live in; started when the first test wants one."""
    from hubbub.testing.errors import BrokenPlatform
    from hubbub.testing.process import Process

    process, problem = None, ""
    try:
        process = Process()
    except BrokenPlatform as error:
        problem = str(error)
    if process is None:
        pytest.fail(problem, pytrace=False)
    yield process
    process.close()


@pytest.fixture(scope=_scope)
def hubbub(request: pytest.FixtureRequest, _hubbub_process: "Process") -> "Iterator[Platform]":
    """A platform of one's own: `users`, `bots`, `applications`, `guilds`, `clock`, `faults`, and the addresses."""
    from hubbub.testing.errors import Refused
    from hubbub.testing.platform import Platform

    config = request.config
    wanted = _wishes(request)
    choice = _choice(request, wanted)
    problem = None
    try:
        ready = _hubbub_process.fork(choice, wanted["rate_limits"])
    except Refused as error:
        problem = f"the world {_named(wanted['world'])} cannot be built\n{error}"
    if problem is not None:
        # Out here, so that nothing is shown above it.
        pytest.fail(problem, pytrace=False)
    platform = Platform(_hubbub_process, ready, _within(config))
    config.stash[_OPEN].append(platform)
    yield platform
    config.stash[_OPEN].remove(platform)
    forgotten = platform.close()
    if forgotten:
        pytest.fail("\n".join(forgotten), pytrace=False)


@pytest.fixture
def hubbub_discord_py(hubbub: "Platform") -> "Iterator[Platform]":
    """discord.py pointed at the test's platform."""
    from hubbub.testing import libraries

    with libraries.discord_py(hubbub):
        yield hubbub


@pytest.fixture
def hubbub_hikari(hubbub: "Platform") -> "Iterator[Platform]":
    """hikari pointed at the test's platform."""
    from hubbub.testing import libraries

    with libraries.hikari(hubbub):
        yield hubbub


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Let a failed test say what its platform saw."""
    report: pytest.TestReport = yield
    platforms = item.config.stash.get(_OPEN, [])
    if report.failed and platforms:
        from hubbub.testing.report import section

        for platform in platforms:
            platform.test_failed = True
        report.sections += [(f"hubbub {report.when}", section(platform)) for platform in platforms]
    return report


# What a test asks for


def _wishes(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The marker's arguments, and the ini options where it says nothing."""
    wanted: dict[str, Any] = {name: request.config.getini(f"hubbub_{name}") or None for name in OPTIONS}
    # The closest one is first, and wins.
    for mark in reversed(list(request.node.iter_markers("hubbub"))):
        unknown = [name for name in mark.kwargs if name not in OPTIONS]
        if mark.args or unknown:
            what = repr(unknown[0]) if unknown else "nothing without a name"
            _refuse(f"takes {', '.join(OPTIONS)}, " + (f"not {what}" if unknown else f"and {what}"))
        wanted |= mark.kwargs
    if wanted["rate_limits"] not in MODES:
        _refuse(f"rate_limits is one of {', '.join(MODES)}, not {wanted['rate_limits']!r}")
    return wanted


def _choice(request: pytest.FixtureRequest, wanted: dict[str, Any]) -> "Choice":
    from hubbub.testing.process import Choice

    text, media_type = _world(request, wanted["world"])
    return Choice(text, media_type, _seed(wanted["seed"]), _now(wanted["now"]))


def _world(request: pytest.FixtureRequest, world: Any) -> tuple[bytes, str]:
    if isinstance(world, dict):
        import msgspec

        return msgspec.json.encode(world), "application/json"
    if world is None:
        import hubbub as package

        return (Path(package.__file__).parent / "server" / "worlds" / "demo.toml").read_bytes(), "application/toml"
    if not isinstance(world, (str, Path)):
        _refuse(f"world is the path of a world file or a dict, not {world!r}")
    # Beside the test, as files that belong to it are; or where the project begins.
    places = [request.path.parent / world, request.config.rootpath / world]
    for path in places:
        if path.is_file():
            return path.read_bytes(), "application/toml"
    _refuse(f"there is no world file {str(world)!r}, neither as {places[0]} nor as {places[1]}")


def _seed(seed: Any) -> int:
    try:
        number = int(seed or 0)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < 1 << 63:
        _refuse(f"seed is a number from 0 on, not {seed!r}")
    return number


def _now(now: Any) -> str | None:
    from hubbub.testing.platform import moment

    if now is None:
        return None
    if isinstance(now, (str, datetime)):
        with suppress(ValueError):
            return moment(now)
    _refuse(f"now is a time such as '2026-12-01T00:00:00Z', not {now!r}")


def _within(config: pytest.Config) -> float:
    text = config.getini("hubbub_within")
    try:
        return float(text)
    except ValueError:
        raise pytest.UsageError(f"hubbub_within is a number of seconds, not {text!r}") from None


def _named(world: Any) -> str:
    return "of this test" if isinstance(world, dict) else repr(str(world or "demo"))


def _refuse(problem: str) -> NoReturn:
    pytest.fail(f"@pytest.mark.hubbub: {problem}", pytrace=False)
