"""A real browser, Debian's chromium driven by playwright, against the real App."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from tests.world import NOW_MS, World, small_config

if TYPE_CHECKING:
    from tests.web.app_guild import AppGuild

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

PHONE, DESK = 360, 1280

Opener = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture
async def town() -> AsyncIterator[World]:
    """A running platform on the embedded store; other tests cover pages on PostgreSQL without a browser."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        yield World(app, client)
    await app.stop()


@pytest.fixture
async def chromium() -> AsyncIterator[Opener]:
    """Opens pages: `async with chromium(width=360, script=False) as page`."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (make browser installs it)")
    playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    async with playwright.async_playwright() as driver:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        options.append("--disable-dev-shm-usage")
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=options, timeout=120_000)

        @asynccontextmanager
        async def open_page(width: int = DESK, script: bool = True, locale: str = "en-US") -> AsyncIterator[Any]:
            context = await browser.new_context(
                viewport={"width": width, "height": 800},
                java_script_enabled=script,
                accept_downloads=True,
                locale=locale,
            )
            context.set_default_timeout(60_000)
            try:
                yield await context.new_page()
            finally:
                await context.close()

        yield open_page
        await browser.close()


@pytest.fixture
async def still(chromium: Opener) -> "AsyncIterator[AppGuild]":
    """A guild on a stopped clock, with a bot that the test itself acts for."""
    from tests.web.app_guild import open_platform

    async with open_platform(chromium, ControlledClock(NOW_MS, running=False)) as made:
        yield made
