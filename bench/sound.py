"""The time from the click on Join to the first sound of another participant, in Chromium on this machine."""

import asyncio
import os
import shutil
import statistics
from collections.abc import Callable
from typing import Any

import aiohttp

from bench.call_server import CHANNEL, GUILD, CallMember, run_platform
from bench.call_soak import FRAME_SECONDS, MeasuredClient

JOIN_COUNT, QUICK_JOIN_COUNT = 10, 3
SOUND_MS_MAX = 1000.0
"""Limit of the median in milliseconds."""
_MEASURE = """async () => {
  const statsOf = RTCPeerConnection.prototype.getStats;
  const connections = [];
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...options) {
      super(...options);
      connections.push(this);
    }
  };
  const join = [...document.querySelectorAll("button")].find(button => button.textContent === "Join");
  const started = performance.now();
  join.click();
  while (performance.now() - started < 30_000) {
    await new Promise(resolve => setTimeout(resolve, 10));
    for (const connection of connections)
      for (const report of (await statsOf.call(connection)).values())
        if (report.type === "inbound-rtp" && report.kind === "audio" && report.jitterBufferEmittedCount > 0)
          return performance.now() - started;
  }
  return null;
}"""
"""A JavaScript function that joins the call and returns the milliseconds until a decoded sample of another user is played."""


async def run_sound_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure joins of new pages in a call in which a native client speaks."""
    from playwright.async_api import async_playwright

    times: list[float] = []
    async with run_platform() as (_, ready), aiohttp.ClientSession() as http, async_playwright() as driver:
        speaker, listener, page_user = list(ready["users"])[:3]
        # Two native clients keep the encryption group, so that each page joins an existing one.
        members = [CallMember(http, ready, name) for name in (speaker, listener)]
        clients = [await member.join(MeasuredClient) for member in members]
        speech_task = asyncio.create_task(_speak(clients[0]))
        arguments = ["--disable-dev-shm-usage", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        executable = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = await driver.chromium.launch(executable_path=executable, args=arguments)
        guild = ready["guilds"][GUILD]
        for _ in range(QUICK_JOIN_COUNT if is_quick else JOIN_COUNT):
            times.append(await _measure_join(browser, ready, page_user, guild["id"], guild["channels"][CHANNEL]))
        await browser.close()
        speech_task.cancel()
        await asyncio.gather(speech_task, return_exceptions=True)
        for member, client in zip(members, clients, strict=True):
            await member.leave(client)
    detail = f"fastest {min(times):.0f}, slowest {max(times):.0f} ms; the files of the client are not cached"
    record_figure("sound, click to sound, median", statistics.median(times), SOUND_MS_MAX, "ms", detail)


async def _measure_join(browser: Any, ready: dict[str, Any], user: str, guild_id: str, channel_id: str) -> float:
    context = await browser.new_context()
    token = ready["users"][user]["token"]
    await context.add_cookies([{"name": "hubbub_session", "value": token, "url": ready["web"]}])
    page = await context.new_page()
    await page.goto(f"{ready['web']}/app/channels/{guild_id}/{channel_id}")
    await page.get_by_role("button", name="Join", exact=True).wait_for()
    milliseconds: float | None = await page.evaluate(_MEASURE)
    await context.close()
    if milliseconds is None:
        raise RuntimeError("the page played no sound within 30 seconds")
    return milliseconds


async def _speak(client: MeasuredClient) -> None:
    await client.start_speaking()
    while True:
        client.speak()
        await asyncio.sleep(FRAME_SECONDS)
