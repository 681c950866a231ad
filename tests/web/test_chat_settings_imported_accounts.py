"""Imported accounts in the guild settings, in a real browser."""

from pathlib import Path

from tests.server.identity.test_claims import import_guild
from tests.web.chat import ChatPlatform
from tests.web.settings import accessibility_problems, open_settings


async def test_administrators_see_the_claim_codes(platform: ChatPlatform, tmp_path: Path) -> None:
    owner, guild_id, codes = await import_guild(platform.world, tmp_path)
    name, code = next(iter(codes.items()))
    channels = (await owner.get(f"/guilds/{guild_id}/channels")).ok()
    [general] = [channel["id"] for channel in channels if channel["name"] == "general"]
    async with platform.open_window(owner, f"/app/channels/{guild_id}/{general}") as window:
        settings = await open_settings(window, "Imported accounts")
        await settings.get_by_text(code).wait_for()
        assert await settings.get_by_role("button", name=f"Copy link: {name}").count() == 1
        assert await accessibility_problems(window) == []
