"""A running server with a loaded world and its control API, for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from hubbub.server import worlds
from hubbub.server.app import App
from hubbub.server.control import ControlApi
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import MailConfig, VoiceConfig
from hubbub.server.worlds.schema import World as WorldFile
from tests.world import NOW_MS, Actor, ApiResponse, World, small_config

VOICE_ENDPOINT = "voice.test:443"
"""Voice endpoint that clients receive; people of the control API use the web listener instead."""


class Rehearsal(World):
    """A world with its control API."""

    def __init__(self, app: App, client: aiohttp.ClientSession, control: ControlApi) -> None:
        super().__init__(app, client)
        self.control = control

    async def control_request(self, method: str, path: str, *, token: str | None = None, **options: Any) -> ApiResponse:
        """Send a request to the control API, by default with its valid token."""
        headers = {"Authorization": f"Bearer {token or self.control.token}", **options.pop("headers", {})}
        return await self.request(method, f"{self.url}/control{path}", headers=headers, **options)

    async def act(self, name: str, action: str, **body: Any) -> ApiResponse:
        """Perform an action of a person through the control API."""
        return await self.control_request("POST", f"/people/{name}/{action}", json=body)

    def actor(self, name: str) -> Actor:
        """Return the user with this name, or the bot of the application with this name, in the loaded worlds."""
        built_world = self.control.built_world
        if name in built_world.users:
            return Actor(self, built_world.users[name].id, built_world.users[name].token, name)
        bot = built_world.applications[name].bot
        assert bot is not None
        return Actor(self, bot.id, bot.token, name, is_bot=True)


@asynccontextmanager
async def start_rehearsal(world_file: WorldFile | None = None, **settings: Any) -> AsyncIterator[Rehearsal]:
    """Run a server with a world, by default the demo world, and a frozen clock; yield it as a rehearsal."""
    defaults = {
        "rate_limits": "report",
        "mail": MailConfig(keep_in_memory=True),
        "voice": VoiceConfig(endpoint=VOICE_ENDPOINT),
    }
    config = small_config(**defaults | settings)
    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    control = ControlApi(app)
    await app.start()
    control.built_world = await worlds.load_initial(app, world_file or worlds.demo_world(), 0)
    async with aiohttp.ClientSession() as client:
        rehearsal = Rehearsal(app, client, control)
        yield rehearsal
        await rehearsal.close()
    await control.close()
    await app.stop()
