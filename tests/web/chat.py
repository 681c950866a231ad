"""Users of the chat client, each with their own browser, and a control API for fault injection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hubbub.server.control import ControlApi
from tests.web.conftest import DESK, Opener
from tests.web.polling import wait_until
from tests.world import Actor, Guild, World


@dataclass
class Window:
    """One user's chat client."""

    page: Any
    town: "ChatPlatform"
    person: Actor
    problems: list[str] = field(default_factory=list)
    """Errors and policy violations reported on the console."""
    expected: tuple[str, ...] = ()
    """Console errors that a test causes on purpose."""

    async def go(self, path: str) -> None:
        """Open a URL and wait until the client has its user."""
        await self.page.goto(self.town.url + path)
        await self.page.locator(".me-name").wait_for(state="attached")

    async def say(self, words: str) -> None:
        """Write a message and send it."""
        field_ = self.field
        await field_.fill(words)
        await field_.press("Enter")

    @property
    def field(self) -> Any:
        """The message field."""
        return self.page.locator("textarea.compose")

    def row(self, words: str) -> Any:
        """The message with this text, once the server has stored it."""
        return self.page.locator(".message[data-message-id]").filter(has_text=words)

    async def sees(self, words: str) -> Any:
        """Wait for a message."""
        row = self.row(words)
        await row.first.wait_for()
        return row.first

    async def until(self, script: str, argument: Any = None) -> None:
        """Wait until a script holds in the page."""
        await wait_until(self.page, script, argument)


@dataclass
class ChatPlatform:
    """A platform with its control API, and browsers."""

    world: World
    control: ControlApi
    chromium: Opener

    @property
    def url(self) -> str:
        """The base URL."""
        return self.world.url

    async def fault(self, **fault: Any) -> Any:
        """Inject a fault."""
        headers = {"Authorization": f"Bearer {self.control.token}"}
        return (await self.world.request("POST", f"{self.url}/control/faults", json=fault, headers=headers)).ok()

    async def clear_faults(self) -> None:
        """Clear all faults."""
        headers = {"Authorization": f"Bearer {self.control.token}"}
        await self.world.request("DELETE", f"{self.url}/control/faults", headers=headers)

    @asynccontextmanager
    async def window(
        self, person: Actor, path: str = "/app", *, width: int = DESK, scheme: str = "light"
    ) -> AsyncIterator[Window]:
        """Open a browser with a signed-in user; its console is checked when it closes."""
        async with self.chromium(width) as page:
            made = Window(page, self, person)
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.on("pageerror", lambda error: made.problems.append(str(error)))
            page.on("console", lambda line: line.type in ("error", "warning") and made.problems.append(line.text))
            await page.context.add_cookies([{"name": "hubbub_session", "value": person.token, "url": self.url}])
            await made.go(path)
            yield made
        unexpected = [line for line in made.problems if not any(words in line for words in made.expected)]
        assert unexpected == []


def general(guild: Guild, message: Any = None) -> str:
    """Return the path of a guild's first channel, or of a message in it."""
    path = f"/app/channels/{guild.id}/{guild.general}"
    return path if message is None else f"{path}/{message['id']}"
