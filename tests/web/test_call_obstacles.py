"""Notices of the chat client where calls do not work: an insecure context, and a server without the files of calls."""

import pytest

from hubbub.protocol.enums import ChannelType
from hubbub.server.transports.web import static_files
from tests.web.chat import ChatPlatform
from tests.world import Guild

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(300)]

INSECURE_HOST = "0.0.0.0"
"""A host that connects to this machine, and that browsers do not trust without TLS, unlike 127.0.0.1."""


async def create_lounge(platform: ChatPlatform) -> tuple[Guild, str]:
    """Create a guild with a voice channel; return the guild and the path of the channel in the chat client."""
    guild = await platform.world.guild(await platform.world.user("nora"))
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    return guild, f"/app/channels/{guild.id}/{lounge_id}"


async def test_a_server_without_the_files_of_calls_says_so(
    platform: ChatPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_files, "CALL_FILES", static_files.CALL_FILES | {"third_party/missing.wasm"})
    guild, path = await create_lounge(platform)
    async with platform.open_window(guild.owner, path) as window:
        await window.page.get_by_text("This server was installed without the files that calls need.").wait_for()
        assert await window.page.get_by_role("button", name="Join", exact=True).is_disabled()


async def test_a_page_without_a_secure_connection_says_so(platform: ChatPlatform) -> None:
    guild, path = await create_lounge(platform)
    url = platform.url.replace("127.0.0.1", INSECURE_HOST)
    async with platform.open_page(locale="en-US") as page:
        await page.context.add_cookies([{"name": "hubbub_session", "value": guild.owner.token, "url": url}])
        await page.goto(f"{url}{path}")
        assert not await page.evaluate("() => window.isSecureContext")
        await page.get_by_text("Calls need a secure connection.").wait_for()
        assert await page.get_by_role("button", name="Join", exact=True).is_disabled()
