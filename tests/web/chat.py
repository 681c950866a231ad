"""Chat clients of several users, each in a separate browser context, and fault injection through the control API."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hubbub.server.control import ControlApi
from tests.web.accessibility import watch_windows
from tests.web.conftest import DESKTOP_WIDTH, OpenPage
from tests.web.polling import wait_until
from tests.world import Actor, Guild, World


@dataclass
class ChatWindow:
    """The chat client of one user in a browser."""

    page: Any
    platform: "ChatPlatform"
    user: Actor
    console_errors: list[str] = field(default_factory=list)
    """Uncaught errors of the page, and errors and warnings that it wrote to the console."""
    expected_errors: tuple[str, ...] = ()
    """Parts of console errors that the test causes on purpose."""

    async def open(self, path: str) -> None:
        """Open a path and wait until the client shows its user."""
        await self.page.goto(self.platform.url + path)
        await self.page.locator(".account-name").wait_for(state="attached")

    async def send(self, text: str) -> None:
        """Type a message and send it."""
        await self.composer.fill(text)
        await self.composer.press("Enter")

    @property
    def composer(self) -> Any:
        """The message field."""
        return self.page.locator("textarea.compose")

    def message(self, text: str) -> Any:
        """Return the locator of messages that contain this text and are stored on the server."""
        return self.page.locator(".message[data-message-id]").filter(has_text=text)

    async def wait_message(self, text: str) -> Any:
        """Wait until a stored message contains this text, and return its locator."""
        message = self.message(text).first
        await message.wait_for()
        return message

    async def wait_until(self, script: str, argument: Any = None) -> None:
        """Wait until a script in the page returns true."""
        await wait_until(self.page, script, argument)


@dataclass
class ChatPlatform:
    """A running platform and a browser."""

    world: World
    control: ControlApi | None
    """The control API; None if the platform is not a rehearsal."""
    open_page: OpenPage

    @property
    def url(self) -> str:
        """The base URL."""
        return self.world.url

    async def inject_fault(self, **fault: Any) -> Any:
        """Inject a fault; the arguments are the fields of the control API."""
        return (
            await self.world.request("POST", f"{self.url}/control/faults", json=fault, headers=self._control_headers)
        ).ok()

    async def clear_faults(self) -> None:
        await self.world.request("DELETE", f"{self.url}/control/faults", headers=self._control_headers)

    @property
    def _control_headers(self) -> dict[str, str]:
        assert self.control is not None
        return {"Authorization": f"Bearer {self.control.token}"}

    @asynccontextmanager
    async def open_window(
        self,
        user: Actor,
        path: str = "/app",
        *,
        width: int = DESKTOP_WIDTH,
        scheme: str = "light",
        locale: str = "en-US",
        init_script: str | None = None,
    ) -> AsyncIterator[ChatWindow]:
        """Open the chat client as a user; on exit, assert that the console has no unexpected error.

        `init_script` runs before the scripts of the page. With the environment variable HUBBUB_TEST_AXE, axe-core checks
        every dialog and menu that opens, which takes too long for each run.
        """
        async with self.open_page(width, locale=locale) as page:
            window = ChatWindow(page, self, user)
            if init_script is not None:
                await page.add_init_script(init_script)
            if "HUBBUB_TEST_AXE" in os.environ:
                await watch_windows(page)
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.on("pageerror", lambda error: window.console_errors.append(str(error)))
            page.on(
                "console", lambda entry: entry.type in ("error", "warning") and window.console_errors.append(entry.text)
            )
            await page.context.add_cookies([{"name": "hubbub_session", "value": user.token, "url": self.url}])
            await window.open(path)
            yield window
        unexpected_messages = [
            error for error in window.console_errors if not any(part in error for part in window.expected_errors)
        ]
        assert unexpected_messages == [], f"the console of {user.name} has errors: {unexpected_messages}"


def general_path(guild: Guild, message: Any = None) -> str:
    """Return the path of #general of a guild in the chat client, or of a message in #general."""
    path = f"/app/channels/{guild.id}/{guild.general}"
    return path if message is None else f"{path}/{message['id']}"
