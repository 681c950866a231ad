"""Fixtures for tests in a real browser: the system's Chromium driven by Playwright, against the real App."""

import inspect
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from hubbub.server.app import App
from hubbub.server.commands import certificates
from hubbub.server.control import ControlApi
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, VoiceConfig
from tests.chromium import CHROMIUM, HEADLESS_CHROMIUM
from tests.third_party_files import HAS_CALL_FILES, MISSING_REASON
from tests.world import NOW_MS, World, small_config

if TYPE_CHECKING:
    from tests.server.activities.upstream import Upstream
    from tests.web.app_guild import AppGuild
    from tests.web.calls import OpenCall
    from tests.web.chat import ChatPlatform
    from tests.web.shared_calls import SharedCall


PHONE_WIDTH, DESKTOP_WIDTH = 360, 1280
"""Widths of the viewport in pixels."""

FOLDER = Path(__file__).parent

OpenPage = Callable[..., AbstractAsyncContextManager[Any]]
"""Function that opens a page: `async with open_page(width=360, has_script=False) as page`. Its context is closed on exit."""


# pytest-xdist reads the groups in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of this folder on the event loop of the session, which the shared browser is bound to.

    Tests of a module run on the same worker, so that each worker starts few browsers and modules run at the same time."""
    for item in items:
        if item.path.parent != FOLDER:
            continue
        if inspect.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest_asyncio.fixture(loop_scope="session")
async def web_world() -> AsyncIterator[World]:
    """A running platform on the embedded store; other tests cover pages on PostgreSQL without a browser."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        yield World(app, client)
    await app.stop()


@asynccontextmanager
async def running_chromium(program: str | None) -> AsyncIterator[Any]:
    """Run a Chromium program; skip the test if it is not installed."""
    if program is None:
        pytest.skip("Chromium is not installed: make browser")
    playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    # The default of 5 seconds is too short for a machine that runs several browsers.
    playwright.expect.set_options(timeout=60_000)
    async with playwright.async_playwright() as driver:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        arguments.append("--disable-dev-shm-usage")
        # Use a fake camera and microphone, and grant media permissions without a prompt.
        arguments += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
        # Chromium 152 and later support Connection-Allowlist; versions 148 to 151 need these features.
        arguments.append("--enable-features=ConnectionAllowlists,OverrideConnectionAllowlistOriginTrial")
        # Like a browser of a user, block windows that no click opened.
        browser = await driver.chromium.launch(
            executable_path=program,
            args=arguments,
            ignore_default_args=["--disable-popup-blocking"],
            timeout=120_000,
        )
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def headless_browser() -> AsyncIterator[Any]:
    """Chromium without a user interface, started once for all tests of a process."""
    async with running_chromium(HEADLESS_CHROMIUM) as browser:
        yield browser


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def full_browser() -> AsyncIterator[Any]:
    """Chromium with all features, started once for all tests of a process with the mark `full_browser`."""
    async with running_chromium(CHROMIUM) as browser:
        yield browser


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Any:
    """The browser of the test."""
    needs_all_features = request.node.get_closest_marker("full_browser") is not None
    return request.getfixturevalue("full_browser" if needs_all_features else "headless_browser")


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Any) -> AsyncIterator[OpenPage]:
    """A function that opens a page in a new browser context."""
    yield open_pages_in(browser)


def open_pages_in(browser: Any, **context_options: Any) -> OpenPage:
    """Return a function that opens a page in a new context of a browser, with further options of Playwright."""

    @asynccontextmanager
    async def open_in_new_context(
        width: int = DESKTOP_WIDTH, has_script: bool = True, locale: str = "en-US"
    ) -> AsyncIterator[Any]:
        context = await browser.new_context(
            viewport={"width": width, "height": 800},
            java_script_enabled=has_script,
            accept_downloads=True,
            locale=locale,
            **context_options,
        )
        context.set_default_timeout(60_000)
        try:
            yield await context.new_page()
        finally:
            await context.close()

    return open_in_new_context


@asynccontextmanager
async def run_platform(open_page: OpenPage, config: Config) -> "AsyncIterator[ChatPlatform]":
    """Run a platform with its control API, whose chat clients `open_page` opens."""
    from tests.web.chat import ChatPlatform

    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    control = ControlApi(app)
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield ChatPlatform(world, control, open_page)
        await world.close()
    await control.close()
    await app.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def platform(open_page: OpenPage) -> "AsyncIterator[ChatPlatform]":
    """A platform with a control API, and a browser."""
    async with run_platform(open_page, small_config()) as platform:
        yield platform


@pytest_asyncio.fixture(loop_scope="session")
async def call_platform(browser: Any) -> "AsyncIterator[ChatPlatform]":
    """A platform with a control API and a voice server, and a browser that can join calls."""
    from tests.web.shared_calls import run_call_platform

    async with run_call_platform(browser) as platform:
        yield platform


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared_call(headless_browser: Any) -> "AsyncIterator[SharedCall[OpenCall]]":
    """The call that the tests of a module share."""
    from tests.web.shared_calls import SharedCall, open_pair

    shared_call = SharedCall(lambda: open_pair(headless_browser))
    yield shared_call
    await shared_call.close()


@pytest_asyncio.fixture(loop_scope="session")
async def call(shared_call: "SharedCall[OpenCall]", request: pytest.FixtureRequest) -> "AsyncIterator[OpenCall]":
    """A call of the pages of nora and tom; the test leaves both connected, without video, and unmuted."""
    async with shared_call.use(request.session) as call:
        yield call


@pytest_asyncio.fixture(loop_scope="session")
async def certified_call_platform(open_page: OpenPage, tmp_path: Path) -> "AsyncIterator[ChatPlatform]":
    """A platform whose voice server has a certificate that games and bots verify, and a browser that can join calls."""
    if not HAS_CALL_FILES:
        pytest.skip(MISSING_REASON)
    certificate_files = certificates.issue(tmp_path / "voice", [])
    voice = VoiceConfig(
        certificate_file=str(certificate_files.certificate_path),
        key_file=str(certificate_files.key_path),
        ca_file=str(certificate_files.authority_path),
    )
    async with run_platform(open_page, small_config(voice=voice)) as platform:
        yield platform


@pytest_asyncio.fixture(loop_scope="session")
async def app_guild(open_page: OpenPage) -> "AsyncIterator[AppGuild]":
    """A guild on a stopped clock, with a bot whose requests the test itself sends."""
    from tests.web.app_guild import open_platform

    async with open_platform(open_page, ControlledClock(NOW_MS, running=False)) as guild:
        yield guild


@pytest_asyncio.fixture(loop_scope="session")
async def other_site() -> "AsyncIterator[Upstream]":
    """The web server of a hostile site."""
    from tests.server.activities.upstream import Upstream

    async with Upstream() as site:
        yield site
