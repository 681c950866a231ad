"""A browser that submits the consent form, and a device authorization without waits."""

import asyncio
from urllib.parse import parse_qsl, urlsplit

import aiohttp

from hubbub.sdk import Client
from hubbub.sdk.tokens import Tokens
from tests.world import Actor, World


class ConsentBrowser:
    """A user's browser: opens a page, submits the consent form and follows the redirect."""

    def __init__(
        self, user: Actor, *, grants: bool = True, redirect_replacements: dict[str, str] | None = None
    ) -> None:
        self._user = user
        self._grants = grants
        self._redirect_replacements = redirect_replacements or {}
        self._loop = asyncio.get_running_loop()
        self.opened_urls: list[str] = []
        self.redirect_url = ""
        self.pages: list[str] = []

    def __call__(self, url: str) -> bool:
        self.opened_urls.append(url)
        asyncio.run_coroutine_threadsafe(self._submit_consent(url), self._loop)
        return True

    @property
    def query(self) -> dict[str, str]:
        """The query parameters of the last opened URL."""
        return dict(parse_qsl(urlsplit(self.opened_urls[-1]).query))

    async def _submit_consent(self, url: str) -> None:
        path = "/oauth2/authorize?" + urlsplit(url).query
        response = await self._user.post(path, json={"authorize": self._grants})
        if response.status != 200:
            self.redirect_url = (
                f"{self.query['redirect_uri']}?error={response.json['error']}&state={self.query['state']}"
            )
        else:
            self.redirect_url = response.json["url"]
        for old_text, new_text in self._redirect_replacements.items():
            self.redirect_url = self.redirect_url.replace(old_text, new_text)
        if self.redirect_url.startswith("http"):
            async with aiohttp.ClientSession() as session, session.get(self.redirect_url) as page:
                self.pages.append(await page.text())


def skip_device_waits(world: World, client: Client) -> list[float]:
    """Replace the device flow's waits with advances of the world's clock; return the list that collects their seconds."""
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        world.clock.advance(int(seconds * 1000))

    client._parts[Tokens].sleep = wait
    return waits
