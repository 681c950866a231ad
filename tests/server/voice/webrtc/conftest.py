"""A fixture that creates browsers for voice calls."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from tests.server.voice.conftest import MakeCaller
from tests.server.voice.webrtc.browser import Browser

MakeBrowser = Callable[..., Coroutine[Any, Any, Browser]]
"""Function that creates a browser of a new bot; it accepts the arguments of `Browser`."""


@pytest.fixture
async def make_browser(make_caller: MakeCaller) -> AsyncIterator[MakeBrowser]:
    """A function that creates a browser of a new bot. The fixture closes all its browsers."""
    browsers: list[Browser] = []

    async def create(**options: Any) -> Browser:
        browser = Browser(await make_caller(), **options)
        browsers.append(browser)
        return browser

    yield create
    for browser in browsers:
        await browser.close()
