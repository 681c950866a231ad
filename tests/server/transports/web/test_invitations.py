"""The page of an invite, without JavaScript."""

from typing import Any

import pytest

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from tests.pages import Browser
from tests.server.identity.accounts import PASSWORD, register_user
from tests.server.places.invites import create_invite, create_targeted_invite, list_member_roles
from tests.server.places.scheduled_events import channel_event, create_event, external_event
from tests.server.talk.private_channels import create_group
from tests.world import Actor, Guild, World

pytestmark = pytest.mark.usefixtures("accented_pages")


def sign_in_browser(user: Actor) -> Browser:
    """Sign in as a user in a new browser, and return the browser."""
    browser = Browser(user.world)
    browser.sign_in_as(user)
    return browser


async def is_member(user: Actor, guild: Guild) -> bool:
    return str(guild.id) in [joined_guild["id"] for joined_guild in (await user.get("/users/@me/guilds")).ok()]


async def test_a_visitor_sees_the_invite_logs_in_and_joins(world: World) -> None:
    mary = await register_user(world)
    guild = await world.guild(await world.user("anna"), name="Town <i>Square</i>")
    role_id = await guild.role("greeters")
    invite = await create_invite(guild.owner, guild.general, role_ids=[str(role_id)])
    path = f"/invite/{invite['code']}"
    browser = Browser(world)

    page = await browser.open(path)

    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "anna invited you to Town <i>Square</i>" in page.text
    assert "Channel#general" in page.text
    assert "Members1, 0 online" in page.text
    assert "Rolesgreeters" in page.text
    assert "<i>Square" not in page.body
    assert "<script" not in page.body
    assert "style=" not in page.body
    assert page.forms == []
    (login_url,) = [url for text, url in page.links if text == "Log in to accept"]
    page = await browser.log_in("mary", PASSWORD, path=login_url)
    assert browser.history[-1].url == path
    page = await browser.submit(page, "Accept invite")

    assert browser.history[-1].url == f"/app/channels/{guild.id}/{guild.general}"
    assert "You joined Town <i>Square</i>." in page.text
    assert "#general" in page.text
    assert await list_member_roles(mary, guild) == [str(role_id)]
    page = await browser.open(path)
    assert "You are already a member" in page.text
    assert ("Open", f"/app/channels/{guild.id}/{guild.general}") in page.links


async def test_a_member_is_offered_the_roles_of_an_invite(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    invite_without_role = await create_invite(guild.owner, guild.general)
    role_id = await guild.role("readers")
    invite_with_role = await create_invite(guild.owner, guild.general, role_ids=[str(role_id)])
    browser = sign_in_browser(bob)

    page = await browser.open(f"/invite/{invite_without_role['code']}")
    assert [form for form in page.forms if form.action.startswith("/invite")] == []
    await browser.submit(await browser.open(f"/invite/{invite_with_role['code']}"), "Accept roles")

    assert await list_member_roles(bob, guild) == [str(role_id)]


async def ban(guild: Guild, user: Actor) -> None:
    (await guild.owner.put(f"/guilds/{guild.id}/bans/{user.id}", json={})).ok()


async def disable_invites(guild: Guild, user: Actor) -> None:
    (await guild.owner.patch(f"/guilds/{guild.id}", json={"features": ["INVITES_DISABLED"]})).ok()


async def fill_guild_list(guild: Guild, user: Actor) -> None:
    """Make a user a member of 100 guilds."""

    def write(call: Call) -> None:
        rows = [(number, user.id, 0) for number in range(1, 101)]
        call.tx.run_many("INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, ?)", rows)

    await guild.world.write(write)


async def fill_guild(guild: Guild, user: Actor) -> None:
    """Set the member count of the guild to its maximum."""
    many = 100_000_000
    await guild.world.write(lambda call: call.tx.run("UPDATE guilds SET member_count = ? WHERE id = ?", many, guild.id))


@pytest.mark.parametrize(
    ("change", "status", "text"),
    [
        (ban, 403, "You are banned from this guild. Only its moderators can lift the ban."),
        (disable_invites, 400, "This guild is not accepting new members right now."),
        (fill_guild_list, 400, "You have reached the maximum number of guilds."),
        (fill_guild, 400, "This guild is full."),
    ],
)
async def test_a_rejected_join_shows_the_reason(world: World, change: Any, status: int, text: str) -> None:
    bob = await world.user()
    guild = await world.guild()
    invite = await create_invite(guild.owner, guild.general)
    browser = sign_in_browser(bob)
    page = await browser.open(f"/invite/{invite['code']}")
    await change(guild, bob)

    page = await browser.submit(page, "Accept invite")

    assert page.status == status
    assert text in page.text
    assert "Guild" in page.text
    assert not await is_member(bob, guild)


async def test_an_invite_deleted_meanwhile_shows_an_error(world: World) -> None:
    bob = await world.user()
    guild = await world.guild()
    invite = await create_invite(guild.owner, guild.general)
    browser = sign_in_browser(bob)
    page = await browser.open(f"/invite/{invite['code']}")
    (await guild.owner.delete(f"/invites/{invite['code']}")).ok()

    page = await browser.submit(page, "Accept invite")

    assert (page.status, "This invite has expired" in page.text) == (404, True)
    assert not await is_member(bob, guild)
    for code in ("never-was", "%3Cb%3E", "a%2Fb"):
        page = await Browser(world).open(f"/invite/{code}")
        assert (page.status, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        assert "Invite not found" in page.text


async def test_a_targeted_invite_is_visible_only_to_its_users(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild()
    path = f"/invite/{await create_targeted_invite(guild.owner, guild, alice)}"

    page = await Browser(world).open(path)
    assert (page.status, "Guild" in page.text) == (404, False)
    assert f"/login?next={path}" in [url for _, url in page.links]
    assert (await sign_in_browser(bob).open(path)).status == 404
    # The creator of the invite sees it, and is already a member.
    assert "You are already a member" in (await sign_in_browser(guild.owner).open(path)).text
    browser = sign_in_browser(alice)
    await browser.submit(await browser.open(path), "Accept invite")

    assert await is_member(alice, guild)


async def test_a_group_invite_leads_to_the_group(world: World) -> None:
    alice, bob, carol, dave = [await world.user(name) for name in ("alice", "bob", "carol", "dave")]
    await world.guild(alice, bob, carol)
    group = await create_group(alice, bob, carol)
    code = (await alice.post(f"/channels/{group['id']}/invites", json={"max_age": 60})).ok()["code"]
    browser = sign_in_browser(dave)

    page = await browser.open(f"/invite/{code}")
    assert "alice invited you to alice, bob, carol" in page.text
    assert "Members3" in page.text
    page = await browser.submit(page, "Accept invite")

    assert browser.history[-1].url == f"/app/channels/@me/{group['id']}"
    assert "You joined the group." in page.text
    assert "dave joined the group." in page.text
    assert "You are already a member" in (await browser.open(f"/invite/{code}")).text


async def test_an_invite_shows_the_event_in_its_link(world: World) -> None:
    guild = await world.guild(name="Harbour")
    lounge_id, cellar_channel_id = (
        guild.channels["General"],
        await guild.channel("cellar", type=ChannelType.GUILD_VOICE),
    )
    night = await create_event(guild.owner, guild, external_event(name="Boat night"))
    inside = await create_event(guild.owner, guild, channel_event(lounge_id, name="Songs"))
    hidden_event = await create_event(guild.owner, guild, channel_event(cellar_channel_id, name="Secrets"))
    other_guild = await world.guild()
    other_event = await create_event(other_guild.owner, other_guild, external_event(name="Other"))
    code = (await create_invite(guild.owner, lounge_id))["code"]
    browser = Browser(world)

    assert "EventBoat night, " in (await browser.open(f"/invite/{code}?event={night['id']}")).text
    assert "EventSongs, " in (await browser.open(f"/invite/{code}?event={inside['id']}")).text
    for name in (hidden_event["id"], other_event["id"], "1", "x", "9" * 30, ""):
        page = await browser.open(f"/invite/{code}?event={name}")
        assert (page.status, "Event" in page.text) == (200, False), name
    (await guild.owner.delete(f"/guilds/{guild.id}/scheduled-events/{night['id']}")).ok()
    assert "Event" not in (await browser.open(f"/invite/{code}?event={night['id']}")).text


async def test_an_invite_to_a_hidden_channel_leads_to_the_guild(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(name="Harbour")
    staff_channel_id = await guild.channel("staff")
    await guild.overwrite(staff_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    invite = await create_invite(guild.owner, staff_channel_id)
    browser = sign_in_browser(bob)

    page = await browser.submit(await browser.open(f"/invite/{invite['code']}"), "Accept invite")

    assert browser.history[-1].url == f"/app/channels/{guild.id}"
    assert "#general" in page.text
    assert "#staff" not in page.text


async def test_a_forged_form_joins_no_guild(world: World) -> None:
    bob = await world.user()
    guild = await world.guild()
    invite = await create_invite(guild.owner, guild.general)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    browser = sign_in_browser(bob)

    for origin in ("https://evil.example", world.url):
        response = await browser.request(
            "POST", f"/invite/{invite['code']}", headers=headers | {"Origin": origin}, data=""
        )
        assert response.status == 403

    assert not await is_member(bob, guild)
