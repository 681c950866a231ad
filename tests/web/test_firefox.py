"""The main journeys of users in Firefox: login, messages, settings, lost connections, invites and phones.

Puppeteer drives the Firefox of the system (decision 0155). All other browser tests run in Chromium.
"""

import asyncio
import itertools
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from tests.clients.discord_js_bot import JS_FOLDER, NODE
from tests.pages import PASSWORD
from tests.server.identity.accounts import create_user_with_password
from tests.server.places.invites import create_invite
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH, run_platform
from tests.world import Actor, small_config

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")

pytestmark = [
    pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed: make browser"),
    pytest.mark.skipif(NODE is None, reason="Node.js is not installed"),
    pytest.mark.skipif(
        not (JS_FOLDER / "node_modules" / "puppeteer-core").is_dir(),
        reason="Puppeteer is not installed: make client-deps",
    ),
]

COMPOSER = "textarea.compose"


def by_role(role: str, name: str) -> str:
    """Return the selector of elements with this role and this accessible name."""
    return f"::-p-aria([name={json.dumps(name)}][role={json.dumps(role)}])"


def by_text(parent: str, text: str) -> str:
    """Return the selector of elements within `parent` that contain this text."""
    return f"{parent} ::-p-text({text})"


class StepError(Exception):
    """Failure of a step in Firefox."""


class Firefox:
    """Firefox, in a process that runs `firefox.mjs`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = itertools.count()
        self._results: dict[int, asyncio.Future[Any]] = {}
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            response = json.loads(line)
            result = self._results.pop(response["id"])
            if "error" in response:
                result.set_exception(StepError(response["error"]))
            else:
                result.set_result(response["result"])
        for result in self._results.values():
            result.set_exception(StepError("Firefox ended"))

    async def run_step(self, step: str, **args: Any) -> Any:
        """Run a step of `firefox.mjs` and return its result."""
        assert self._process.stdin is not None
        number = next(self._numbers)
        self._results[number] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({"id": number, "step": step, "args": args}).encode() + b"\n")
        return await self._results[number]

    @asynccontextmanager
    async def open_window(
        self, url: str, user: Actor | None = None, *, width: int = DESKTOP_WIDTH, expected_errors: tuple[str, ...] = ()
    ) -> "AsyncIterator[FirefoxWindow]":
        """Open a window with its own cookies; on exit, assert that its console has no unexpected error.

        `expected_errors` are parts of errors that the test causes on purpose.
        """
        number = next(self._numbers)
        cookies = [] if user is None else [{"name": "hubbub_session", "value": user.token, "domain": "127.0.0.1"}]
        await self.run_step("openWindow", window=number, width=width, height=800, cookies=cookies)
        try:
            window = FirefoxWindow(self, number, url)
            yield window
        finally:
            errors = await self.run_step("closeWindow", window=number)
        assert [error for error in errors if not any(part in error for part in expected_errors)] == []

    async def close(self) -> None:
        """Close the browser and end the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reader


class FirefoxWindow:
    """A window of Firefox. Selectors are those of Puppeteer; every step waits for its element."""

    def __init__(self, firefox: Firefox, number: int, url: str) -> None:
        self._firefox, self._number, self._url = firefox, number, url

    async def _run(self, step: str, **args: Any) -> Any:
        return await self._firefox.run_step(step, window=self._number, **args)

    async def open(self, path: str) -> None:
        await self._run("open", url=self._url + path)

    async def click(self, selector: str) -> None:
        await self._run("click", selector=selector)

    async def hover(self, selector: str) -> None:
        await self._run("hover", selector=selector)

    async def fill(self, selector: str, value: str) -> None:
        await self._run("fill", selector=selector, value=value)

    async def choose(self, selector: str, option: str) -> None:
        """Choose the option with this label in a selection."""
        await self._run("choose", selector=selector, option=option)

    async def press(self, key: str) -> None:
        """Press a key in the focused element."""
        await self._run("press", key=key)

    async def send(self, text: str) -> None:
        """Type a message and send it."""
        await self.fill(COMPOSER, text)
        await self.press("Enter")

    async def wait_shown(self, selector: str) -> None:
        await self._run("waitShown", selector=selector)

    async def wait_hidden(self, selector: str) -> None:
        await self._run("waitHidden", selector=selector)

    async def evaluate(self, script: str) -> Any:
        return await self._run("evaluate", script=script)


async def start_firefox(preferences: dict[str, Any] | None = None) -> Firefox:
    """Start Firefox with these preferences in addition to those of `firefox.mjs`."""
    assert FIREFOX is not None
    process = await asyncio.create_subprocess_exec(
        "node",
        "firefox.mjs",
        FIREFOX,
        json.dumps(preferences or {}),
        cwd=JS_FOLDER,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    return Firefox(process)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def firefox() -> AsyncIterator[Firefox]:
    """Firefox, started once for all tests of a process."""
    firefox = await start_firefox()
    yield firefox
    await firefox.close()


@pytest_asyncio.fixture(loop_scope="session")
async def firefox_platform(firefox: Firefox) -> AsyncIterator[ChatPlatform]:
    """A platform with a control API, for windows of Firefox."""
    async with run_platform(firefox.open_window, small_config()) as platform:
        yield platform


async def test_a_user_logs_in_and_joins_a_guild_by_invite(firefox: Firefox, firefox_platform: ChatPlatform) -> None:
    world = firefox_platform.world
    nora, tom = await world.user("nora"), await create_user_with_password(world, "tom")
    guild = await world.guild(nora, name="Harbor")
    await guild.send_message(nora, "welcome aboard")
    code = (await create_invite(nora, guild.general))["code"]
    async with firefox.open_window(world.url) as window:
        await window.open(f"/invite/{code}")
        await window.click(by_role("link", "Log in to accept"))
        await window.fill("#field-login", "tom")
        await window.fill("#field-password", PASSWORD)
        await window.click(by_role("button", "Log in"))
        await window.click(by_role("button", "Accept invite"))
        await window.wait_shown(by_text(".message", "welcome aboard"))
        await window.send("thank you")
        await window.wait_shown(by_text(".message[data-message-id]", "thank you"))
    assert str(tom.id) in [
        member["user"]["id"] for member in (await nora.get(f"/guilds/{guild.id}/members?limit=10")).ok()
    ]


async def test_two_users_write_reply_edit_and_react(firefox: Firefox, firefox_platform: ChatPlatform) -> None:
    world = firefox_platform.world
    nora, tom = await world.user("nora"), await world.user("tom")
    guild = await world.guild(nora, tom)
    async with firefox.open_window(world.url, nora) as nora_window, firefox.open_window(world.url, tom) as tom_window:
        await nora_window.open(general_path(guild))
        await tom_window.open(general_path(guild))
        await tom_window.send("Good morning **Nora**")
        await nora_window.wait_shown(by_text(".message[data-message-id] strong", "Nora"))

        await nora_window.hover(by_text(".message", "Good morning"))
        await nora_window.click(by_role("button", "Reply"))
        await nora_window.send("And to you")
        await tom_window.wait_shown(".message.mentions-user .reply-line")

        await tom_window.hover(by_text(".message", "And to you"))
        await tom_window.click(by_role("button", "React"))
        await tom_window.fill(by_role("searchbox", "Search emoji"), "tada")
        await tom_window.click(by_role("option", "tada"))
        await nora_window.wait_shown(by_text(".reaction", "🎉"))

        await tom_window.click(COMPOSER)
        await tom_window.press("ArrowUp")
        await tom_window.fill(by_role("textbox", "Edit message"), "Good evening")
        await tom_window.press("Enter")
        await nora_window.wait_shown(by_text(".message", "(edited)"))
    messages = (await nora.get(f"/channels/{guild.general}/messages")).ok()
    assert [message["content"] for message in messages] == ["And to you", "Good evening"]
    assert messages[0]["message_reference"]["message_id"] == messages[1]["id"]
    assert [reaction["emoji"]["name"] for reaction in messages[0]["reactions"]] == ["🎉"]


async def test_settings_of_the_user_and_the_guild_are_changed(firefox: Firefox, firefox_platform: ChatPlatform) -> None:
    world = firefox_platform.world
    nora = await world.user("nora")
    guild = await world.guild(nora)
    async with firefox.open_window(world.url, nora) as window:
        await window.open(general_path(guild))
        await window.click(by_role("button", "User settings"))
        await window.click(by_role("button", "Appearance"))
        await window.choose(by_role("combobox", "Theme"), "Dark")
        await window.wait_shown("html[data-theme=dark]")
        await window.click(by_role("button", "Profile"))
        await window.fill(by_role("textbox", "Display name"), "Captain Nora")
        await window.click(by_role("button", "Save changes"))
        await window.wait_hidden(by_role("button", "Save changes"))
        await window.press("Escape")
        await window.wait_shown(by_text(".account-name", "Captain Nora"))

        await window.click(by_role("button", "Menu of Guild"))
        await window.click(by_role("menuitem", "Guild settings"))
        await window.fill(by_role("textbox", "Name"), "Lighthouse")
        await window.click(by_role("button", "Save changes"))
        await window.wait_hidden(by_role("button", "Save changes"))
    assert (await nora.get("/users/@me")).ok()["global_name"] == "Captain Nora"
    assert (await nora.get(f"/guilds/{guild.id}")).ok()["name"] == "Lighthouse"


async def test_a_lost_connection_is_resumed_without_missed_messages(
    firefox: Firefox, firefox_platform: ChatPlatform
) -> None:
    world = firefox_platform.world
    nora, tom = await world.user("nora"), await world.user("tom")
    guild = await world.guild(nora, tom)
    await guild.send_message(tom, "before")
    async with firefox.open_window(
        world.url, nora, expected_errors=("can’t establish a connection", "interrupted")
    ) as window:
        await window.open(general_path(guild))
        await window.wait_shown(by_text(".message", "before"))
        await firefox_platform.inject_fault(transport="gateway", effect="close", code=4000, moment="identify", times=2)
        await firefox_platform.inject_fault(transport="gateway", effect="drop", user_id=str(nora.id))
        await window.wait_shown("::-p-text(Connection lost.)")
        await guild.send_message(tom, "meanwhile")
        await window.wait_shown(by_text(".message", "meanwhile"))
        await window.wait_hidden("::-p-text(Connection lost.)")
        await window.send("still here")
        await window.wait_shown(by_text(".message[data-message-id]", "still here"))
        texts = await window.evaluate(
            "[...document.querySelectorAll('.message .content')].map(node => node.textContent)"
        )
    assert texts == ["before", "meanwhile", "still here"]


async def test_on_a_phone_every_panel_is_reachable(firefox: Firefox, firefox_platform: ChatPlatform) -> None:
    world = firefox_platform.world
    nora, tom = await world.user("nora"), await world.user("tom")
    guild = await world.guild(nora, tom, name="Harbor")
    other_channel_id = await guild.channel("a-rather-long-name-for-a-channel-on-a-phone")
    await guild.send_message(tom, "unbroken" * 40)
    async with firefox.open_window(world.url, nora, width=PHONE_WIDTH) as window:
        await window.open(general_path(guild))
        await window.wait_shown(by_text(".message", "unbroken"))
        await window.send("from a phone")
        await window.wait_shown(by_text(".message[data-message-id]", "from a phone"))
        await window.click(by_role("button", "Members"))
        await window.wait_shown(by_text(".members-area", "tom"))
        await window.press("Escape")
        await window.click(by_role("button", "Channels and conversations"))
        await window.click(f"a[href$='{other_channel_id}']")
        await window.wait_shown(".beginning")
        assert await window.evaluate("document.documentElement.scrollWidth") == PHONE_WIDTH


def test_firefox_and_a_native_client_exchange_encrypted_audio() -> None:
    from tests.third_party_files import HAS_CALL_FILES, MISSING_REASON
    from tests.web.firefox_call import run_in_network

    if not HAS_CALL_FILES:
        pytest.skip(MISSING_REASON)
    run_in_network()
