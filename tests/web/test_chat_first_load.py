"""The first load of the chat client: bytes over the network, and the number of requests that wait for each other."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.web.chat import ChatPlatform, general_path

pytestmark = pytest.mark.full_browser

FIRST_LOAD_BYTES_MAX = 200_000
"""Limit of all files that a page with an open channel loads, with HTTP headers: page, scripts, style sheets, icons."""
ROUND_TRIPS_MAX = 3
"""Limit of requests that wait for each other: the page, its files, the token."""


@dataclass
class NetworkLog:
    """The requests of a page, from the events of Chromium's developer tools."""

    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    async def start(self, page: Any) -> None:
        devtools = await page.context.new_cdp_session(page)
        devtools.on("Network.requestWillBeSent", lambda event: self.requests.update({event["requestId"]: event}))
        devtools.on(
            "Network.loadingFinished",
            lambda event: self.sizes.update({event["requestId"]: event["encodedDataLength"]}),
        )
        await devtools.send("Network.enable")

    def files(self) -> dict[str, int]:
        """Return the size of each file, by URL. Data of the API is not a file."""
        urls = {request_id: event["request"]["url"] for request_id, event in self.requests.items()}
        return {
            url: self.sizes[request_id]
            for request_id, url in urls.items()
            if request_id in self.sizes and "/api/" not in url and not url.startswith("data:")
        }

    def depth(self, url: str) -> int:
        """Return the number of requests on the way to a URL, each of which names the next one."""
        event = next(event for event in self.requests.values() if event["request"]["url"] == url)
        initiator = event["initiator"]
        parent = initiator.get("url")
        if parent is None and "stack" in initiator:
            stack = initiator["stack"]
            while not stack["callFrames"]:
                stack = stack["parent"]
            parent = stack["callFrames"][0]["url"]
        requested_urls = {other["request"]["url"] for other in self.requests.values()}
        return 1 if parent is None or parent not in requested_urls or parent == url else 1 + self.depth(parent)


async def test_the_first_load_is_small_and_needs_few_round_trips(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await guild.send_message(nora, "hello there")
    log = NetworkLog()
    async with platform.open_page() as page:
        await log.start(page)
        await page.context.add_cookies([{"name": "hubbub_session", "value": nora.token, "url": platform.url}])
        await page.goto(platform.url + general_path(guild))
        await page.locator(".message[data-message-id]").filter(has_text="hello there").first.wait_for()
        await page.wait_for_load_state("networkidle")
    files = log.files()
    assert sum(files.values()) <= FIRST_LOAD_BYTES_MAX, files
    depths = {url: log.depth(url) for url in files}
    assert max(depths.values()) <= ROUND_TRIPS_MAX, depths
