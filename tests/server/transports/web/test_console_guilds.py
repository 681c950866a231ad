"""The guild pages of the operator console, without JavaScript."""

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from tests.server.transports.web.test_console import open_browser
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def test_guilds_are_searched_in_pages(world: World) -> None:
    browser, _ = await open_browser(world)
    owner = await world.user("owner")
    for number in range(26):
        await world.guild(owner, name=f"guild {number:02}")

    page = await browser.open("/admin/guilds")
    assert "guild 24" in page.text
    assert "guild 25" not in page.text
    [next_path] = [path for label, path in page.links if label == "More guilds"]
    assert "guild 25" in (await browser.open(next_path)).text
    page = await browser.submit(page, "Search", query="GUILD 07")
    assert "guild 07" in page.text
    assert "guild 08" not in page.text
    page = await browser.submit(page, "Search", query="no such guild")
    assert "No guilds match this search." in page.text


async def test_a_moderator_suspends_a_guild_and_lifts_the_suspension(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.MODERATOR)
    guild = await world.guild(name="Harbor")

    page = await browser.open(f"/admin/guilds/{guild.id}")
    assert guild.owner.name in page.text
    page = await browser.submit(page, "Suspend guild", reason="Spam")
    assert "Guild suspended." in page.text
    (await guild.owner.get(f"/guilds/{guild.id}")).rejected(403, 50001)
    page = await browser.submit(page, "Lift suspension", audit_reason="Resolved")

    assert "ann lifted the suspension of Harbor Resolved" in page.text
    (await guild.owner.get(f"/guilds/{guild.id}")).ok()
    assert "Harbor" in (await browser.open("/admin/audit-log")).text


async def test_a_guild_is_deleted_after_a_confirmation_and_restored(world: World) -> None:
    browser, _ = await open_browser(world)
    guild = await world.guild(name="Harbor")

    page = await browser.open(f"/admin/guilds/{guild.id}")
    page = await browser.submit(page, "Delete guild", deletion_reason="Spam", grace_days="7", confirm="harbor")
    assert "Type the name of the guild exactly as shown." in page.text
    page = await browser.submit(page, "Delete guild", deletion_reason="", grace_days="7", confirm="Harbor")
    assert page.status == 400
    page = await browser.submit(page, "Delete guild", deletion_reason="Spam", grace_days="7", confirm="Harbor")
    assert "The guild is being deleted." in page.text
    page = await browser.submit(page, "Restore guild")
    assert "Guild restored." in page.text


async def test_the_ownership_of_a_guild_is_transferred(world: World) -> None:
    browser, _ = await open_browser(world)
    guild = await world.guild()
    bob, stranger = await guild.member(), await world.user()

    page = await browser.open(f"/admin/guilds/{guild.id}")
    page = await browser.submit(page, "Transfer ownership", owner="no-such-user")
    assert "There is no user with this name." in page.text
    page = await browser.submit(page, "Transfer ownership", owner=stranger.name)
    assert "This user is not a member of the guild." in page.text
    page = await browser.submit(page, "Transfer ownership", owner=bob.name)

    assert "Ownership transferred." in page.text
    assert (await bob.get(f"/guilds/{guild.id}")).ok()["owner_id"] == str(bob.id)


async def test_auditors_see_no_actions_on_guilds(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.AUDITOR)
    guild = await world.guild(name="Harbor")

    page = await browser.open(f"/admin/guilds/{guild.id}")

    assert "Suspend guild" not in page.text
    assert "Delete guild" not in page.text
