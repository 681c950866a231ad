"""Unmodified discord.js as an app: `js/app.mjs` implements the app, and a user uses it over HTTP."""

from tests.clients.app_user import create_sku, use_every_feature
from tests.clients.client_setup import ClientSetup
from tests.clients.discord_js_bot import REQUIRES_DISCORD_JS, run_js_bot

pytestmark = REQUIRES_DISCORD_JS


async def test_a_user_uses_every_feature_of_an_app(setup: ClientSetup) -> None:
    async with run_js_bot(setup) as bot:
        await bot.wait_event("clientReady")
        sku_id = await create_sku(setup)
        command_names = await bot.run_step("serveApp", guild=str(setup.guild.id), sku=sku_id)
        assert sorted(command_names) == ["Poke", "Shout", "greet", "panel", "think"]

        await use_every_feature(setup, await setup.bob.connect(), sku_id)
