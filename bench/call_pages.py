"""Chat clients in Chromium that join the call of `bench.call_server`."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bench.call_server import CHANNEL, GUILD

TIMEOUT_SECONDS = 300.0

_INSPECT_CALL = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { call } = getCalls(document.querySelector("hubbub-sidebar").context);
  if (call?.state !== "connected" || !call.isEncrypted) return null;
  return (await call.statistics()).frames.failed;
}"""
"""A JavaScript function that returns the number of undecryptable frames, or null if the call is not connected."""


class PageSample(msgspec.Struct):
    """The state of a page."""

    heap_kib: int
    """Memory of JavaScript objects after a garbage collection."""
    node_count: int
    """Number of DOM nodes."""
    undecryptable_count: int
    """Number of frames that the page could not decrypt since it joined."""


class CallPage:
    """The chat client of a user who has joined the call."""

    def __init__(self, page: Any, session: Any, modules_url: str) -> None:
        self._page, self._session, self._modules_url = page, session, modules_url

    async def wait_connected(self) -> int:
        """Wait until the call is connected and encrypted; return the number of undecryptable frames."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while (count := await self._page.evaluate(_INSPECT_CALL, self._modules_url)) is None:
                await asyncio.sleep(0.5)
        return int(count)

    async def measure(self) -> PageSample:
        """Return the state of the page."""
        count = await self.wait_connected()
        await self._session.send("HeapProfiler.collectGarbage")
        metrics = (await self._session.send("Performance.getMetrics"))["metrics"]
        values = {metric["name"]: metric["value"] for metric in metrics}
        return PageSample(int(values["JSHeapUsedSize"]) // 1024, int(values["Nodes"]), count)


@asynccontextmanager
async def open_pages(ready: dict[str, Any], names: list[str]) -> AsyncIterator[list[CallPage]]:
    """Open the chat clients of users and join the call; `ready` is the ready document of the platform."""
    from playwright.async_api import async_playwright

    from hubbub.server.transports.web import static_files

    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    guild = ready["guilds"][GUILD]
    url = ready["web"]
    modules_url = static_files.ClientFiles()("main.js").rpartition("/")[0]
    async with async_playwright() as driver:
        arguments = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--disable-dev-shm-usage"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        browser = await driver.chromium.launch(executable_path=program, args=arguments, timeout=120_000)
        pages = []
        for name in names:
            context = await browser.new_context()
            context.set_default_timeout(1000 * TIMEOUT_SECONDS)
            await context.add_cookies([{"name": "hubbub_session", "value": ready["users"][name]["token"], "url": url}])
            page = await context.new_page()
            await page.goto(f"{url}/app/channels/{guild['id']}/{guild['channels'][CHANNEL]}")
            await page.get_by_role("button", name="Join", exact=True).click()
            session = await context.new_cdp_session(page)
            await session.send("Performance.enable")
            pages.append(CallPage(page, session, modules_url))
        yield pages
        await browser.close()
