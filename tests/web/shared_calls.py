"""Calls that successive tests of a module use: a page that joins a call costs several seconds of CPU time."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Generic, TypeVar

import pytest

from hubbub.server.core.config import VoiceConfig
from tests.third_party_files import HAS_CALL_FILES, MISSING_REASON
from tests.web.calls import OpenCall, open_call
from tests.web.conftest import open_pages_in, run_platform
from tests.world import small_config

CallT = TypeVar("CallT")

KEEP_SOCKETS_SCRIPT = """
window.voiceSockets = [];
window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(url);
    if (new URL(url).pathname === "/voice") window.voiceSockets.push(this);
  }
};
"""
"""A script that stores the sockets of the page to the voice server, so that a test can count and close them."""


class SharedCall(Generic[CallT]):
    """A call that is opened for the first test that uses it, and again after a test that failed."""

    def __init__(self, open_new: Callable[[], AbstractAsyncContextManager[CallT]]) -> None:
        self._open_new = open_new
        self._stack = AsyncExitStack()
        self._call: CallT | None = None

    async def open(self) -> CallT:
        """Return the open call, or a new one if there is none."""
        if self._call is None:
            self._call = await self._stack.enter_async_context(self._open_new())
        return self._call

    async def close(self) -> None:
        """Close the call if it is open."""
        self._call = None
        await self._stack.aclose()

    @asynccontextmanager
    async def use(self, session: pytest.Session) -> AsyncIterator[CallT]:
        """Yield the call to a test, which restores what it changes; close the call if the test fails."""
        failed_count = session.testsfailed
        yield await self.open()
        if session.testsfailed > failed_count:
            await self.close()


@asynccontextmanager
async def run_call_platform(browser: Any) -> AsyncIterator[Any]:
    """Run a platform with a control API and a voice server, whose pages a browser that can join calls opens."""
    if not HAS_CALL_FILES:
        pytest.skip(MISSING_REASON)
    config = small_config(voice=VoiceConfig(endpoint="voice.test:443"))
    async with run_platform(open_pages_in(browser), config) as platform:
        yield platform


@asynccontextmanager
async def open_pair(browser: Any) -> AsyncIterator[OpenCall]:
    """Run a platform, and open a call of the pages of nora and tom, which store their sockets to the voice server."""
    names = "sam", "kim"
    async with (
        run_call_platform(browser) as platform,
        open_call(platform, "nora", "tom", later=names, init_script=KEEP_SOCKETS_SCRIPT) as call,
    ):
        yield call
