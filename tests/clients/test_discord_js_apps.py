"""Unmodified discord.js as an app: js/app.mjs implements it, and a user uses it over HTTP."""

import pytest

from tests.clients.person import sell, use_everything
from tests.clients.test_discord_js import Bot as JsBot
from tests.clients.test_discord_js import bot, pytestmark
from tests.clients.town import Town

__all__ = ["bot", "pytestmark"]


@pytest.mark.usefixtures("bot")
async def test_a_user_uses_every_feature_of_an_app(bot: JsBot, town: Town) -> None:
    sku = await sell(town)
    offered = await bot.do("serve", guild=str(town.guild.id), sku=sku)
    assert sorted(offered) == ["Poke", "Shout", "greet", "panel", "think"]

    await use_everything(town, await town.bob.connect(), sku)
