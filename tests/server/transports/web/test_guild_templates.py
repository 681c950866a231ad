"""The page of a guild template."""

import pytest

from tests.pages import Browser
from tests.server.identity.accounts import PASSWORD, register_user
from tests.server.places.templates import create_template
from tests.server.transports.web.test_invitations import fill_guild_list, sign_in_browser
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def test_a_template_shows_its_content_and_creates_a_guild(world: World) -> None:
    mary = await register_user(world)
    guild = await world.guild(await world.user("anna"))
    await guild.role("mods <b>")
    await guild.channel("ideas")
    template = await create_template(guild, name="A small club", description="For two & more.")
    path = f"/template/{template['code']}"
    browser = Browser(world)

    page = await browser.open(path)
    assert page.status == 200
    for text in ("A small club", "by anna", "For two & more.", "Used 0 times.", "#general", "#ideas", "mods <b>"):
        assert text in page.text, text
    assert "@everyone" not in page.text
    assert page.forms == []
    (login_url,) = [url for text, url in page.links if text == "Log in to use this template"]
    page = await browser.log_in("mary", PASSWORD, path=login_url)
    page = await browser.submit(page, "Create guild", name="")
    assert (page.status, 'id="error-name"' in page.body) == (400, True)
    page = await browser.submit(page, "Create guild", name="Ours")

    assert "Ours was created." in page.text
    assert "#ideas" in page.text
    (guild_of_mary,) = (await mary.get("/users/@me/guilds")).ok()
    assert (guild_of_mary["name"], guild_of_mary["owner"]) == ("Ours", True)
    assert browser.history[-1].url == f"/app/channels/{guild_of_mary['id']}"
    assert "Used once." in (await browser.open(path)).text


async def test_a_failed_template_shows_the_reason(world: World) -> None:
    bob = await world.user()
    guild = await world.guild()
    template = await create_template(guild)
    browser = sign_in_browser(bob)
    page = await browser.open(f"/template/{template['code']}")
    await fill_guild_list(guild, bob)

    page = await browser.submit(page, "Create guild", name="One more")
    assert (page.status, "You have reached the maximum number of guilds." in page.text) == (400, True)
    (await guild.owner.delete(f"/guilds/{guild.id}/templates/{template['code']}")).ok()
    page = await browser.open(f"/template/{template['code']}")

    assert (page.status, "This template does not exist" in page.text) == (404, True)
