"""Unmodified discord.js as an app: js/app.mjs implements it, and a user uses it over HTTP."""

import pytest

from tests.clients.app_user import create_sku, use_every_feature
from tests.clients.scene import ClientScene
from tests.clients.test_discord_js import Bot as JsBot
from tests.clients.test_discord_js import bot, pytestmark

__all__ = ["bot", "pytestmark"]


@pytest.mark.usefixtures("bot")
async def test_a_user_uses_every_feature_of_an_app(bot: JsBot, town: ClientScene) -> None:
    sku = await create_sku(town)
    offered = await bot.do("serve", guild=str(town.guild.id), sku=sku)
    assert sorted(offered) == ["Poke", "Shout", "greet", "panel", "think"]

    await use_every_feature(town, await town.bob.connect(), sku)
