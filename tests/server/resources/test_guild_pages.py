"""What a guild shows newcomers and strangers: welcome screen, guide, onboarding, vanity URL, widget; and integrations, incident
actions and two-factor."""

import struct
import zlib
from typing import Any

import pytest

from hubbub.protocol import wire
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.config import Config
from hubbub.server.resources import members
from hubbub.server.resources.widgets import picture
from tests.world import NOW_MS, Guild, World, small_config

HOUR = 3_600_000


async def entries(guild: Guild, action: int) -> list[Any]:
    """The audit log's entries of a kind, the newest first."""
    log = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type={action}")).ok()
    return list(log["audit_log_entries"])


async def features(guild: Guild) -> list[str]:
    """The guild's features."""
    found: list[str] = (await guild.owner.get(f"/guilds/{guild.id}")).ok()["features"]
    return found


# The welcome screen


async def test_a_welcome_screen_is_for_managers_until_it_is_shown(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    url = f"/guilds/{guild.id}/welcome-screen"
    stranger, bob = await world.user(), await guild.member()
    assert (await guild.owner.get(url)).ok() == {"description": None, "welcome_channels": []}
    for actor in (stranger, bob):
        (await actor.get(url)).refused(404, 10069)
    emoji = {"emoji_id": None, "emoji_name": "👋"}
    body = {
        "enabled": True,
        "description": "hello",
        "welcome_channels": [{"channel_id": str(guild.general), "description": "talk", **emoji}],
    }
    shown = (await guild.owner.patch(url, json=body)).ok()
    assert shown == {key: body[key] for key in ("description", "welcome_channels")}
    assert "WELCOME_SCREEN_ENABLED" in (await session.next("GUILD_UPDATE"))["features"]
    (entry,) = await entries(guild, 1)
    assert {change["key"] for change in entry["changes"]} == {"description", "welcome_channels", "features"}
    for actor in (stranger, bob):
        assert (await actor.get(url)).ok() == shown
    (await guild.owner.patch(url, json={"description": None})).ok()
    await session.none_of("GUILD_UPDATE")
    assert [change["key"] for change in (await entries(guild, 1))[0]["changes"]] == ["description"]
    (await guild.owner.delete(f"/channels/{guild.general}")).ok()
    assert (await bob.get(url)).ok()["welcome_channels"] == []
    (await bob.patch(url, json={})).refused(403, 50013)
    (await stranger.patch(url, json={})).refused(403, 50001)
    (await stranger.get("/guilds/1/welcome-screen")).refused(404, 10004)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"description": "x" * 141}, "description"),
        ({"welcome_channels": [{"channel_id": "1", "description": "x"}]}, "welcome_channels.0.channel_id"),
        ({"welcome_channels": [{"channel_id": "1", "description": ""}]}, "welcome_channels.0.description"),
        ({"welcome_channels": [{"channel_id": "1", "description": "x"}] * 6}, "welcome_channels"),
        (
            {"welcome_channels": [{"channel_id": "1", "description": "x", "emoji_id": "5"}]},
            "welcome_channels.0.emoji_id",
        ),
    ],
)
async def test_a_bad_welcome_screen_is_named(world: World, body: Any, path: str) -> None:
    guild = await world.guild()
    assert (await guild.owner.patch(f"/guilds/{guild.id}/welcome-screen", json=body)).errors(path)


async def test_new_members_have_a_guide_when_somebody_wrote_one(world: World) -> None:
    guild = await world.guild()
    url = f"/guilds/{guild.id}/new-member-welcome"
    bob = await guild.member()
    empty = await bob.get(url)
    assert (empty.status, empty.body) == (204, b"")
    body = {
        "enabled": True,
        "welcome_message": {"author_ids": [str(guild.owner.id)], "message": "be kind"},
        "new_member_actions": [
            {"channel_id": str(guild.general), "action_type": 1, "title": "say hello", "description": ""}
        ],
        "resource_channels": [{"channel_id": str(guild.general), "title": "rules", "description": "read"}],
    }
    assert (await guild.owner.put(url, json=body)).ok() == {"guild_id": str(guild.id), **body}
    assert (await bob.get(url)).ok() == {"guild_id": str(guild.id), **body}
    assert len(await entries(guild, 190)) == 1
    (await guild.owner.put(url, json={**body, "enabled": False})).ok()
    assert (await entries(guild, 191))[0]["changes"] == [{"key": "enabled", "old_value": True, "new_value": False}]
    wrong = {"resource_channels": [{"channel_id": "1", "title": "x"}]}
    assert (await guild.owner.put(url, json=wrong)).errors("resource_channels.0.channel_id")
    (await bob.put(url, json=body)).refused(403, 50013)
    (await (await world.user()).get(url)).refused(403, 50001)


# Onboarding


async def many_channels(guild: Guild, count: int = 7) -> list[str]:
    """Enough channels to begin with."""
    return [str(await guild.channel(f"room-{number}")) for number in range(count)]


async def test_onboarding_asks_and_is_written_down(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    url = f"/guilds/{guild.id}/onboarding"
    bob = await guild.member()
    nothing = {"guild_id": str(guild.id), "prompts": [], "default_channel_ids": [], "enabled": False, "mode": 0}
    assert (await bob.get(url)).ok() == nothing
    role, rooms = await guild.role("chess"), await many_channels(guild)
    option = {"title": "chess", "description": "a game", "role_ids": [str(role)], "channel_ids": rooms[:1]}
    prompt = {"id": "0", "title": "What do you like?", "options": [{**option, "emoji_name": "♟"}], "required": True}
    body = {"prompts": [prompt], "default_channel_ids": rooms, "enabled": True, "mode": 0}

    made = (await guild.owner.put(url, json=body)).ok()

    assert (made["enabled"], made["default_channel_ids"]) == (True, rooms)
    (asked,) = made["prompts"]
    assert (asked["title"], asked["required"], asked["single_select"], asked["type"]) == (
        prompt["title"],
        True,
        False,
        0,
    )
    (offered,) = asked["options"]
    assert {key: offered[key] for key in option} == option
    assert offered["emoji"] == {"id": None, "name": "♟", "animated": False}
    assert (await bob.get(url)).ok() == made
    update = await session.next("GUILD_UPDATE")
    assert "GUILD_ONBOARDING" in update["features"]
    assert len(await entries(guild, 166)) == 1
    assert (await entries(guild, 163))[0]["target_id"] == asked["id"]

    again = {**asked, "title": "And now?", "options": [{"id": offered["id"], "title": "go"}]}
    changed = (await guild.owner.put(url, json={"prompts": [again]})).ok()
    assert changed["prompts"][0]["id"] == asked["id"]
    assert changed["prompts"][0]["options"][0]["id"] == offered["id"]
    assert (await entries(guild, 164))[0]["target_id"] == asked["id"]
    (await guild.owner.put(url, json={"prompts": None, "mode": 1})).ok()
    assert (await entries(guild, 165))[0]["target_id"] == asked["id"]
    assert (await entries(guild, 167))[0]["changes"] == [{"key": "mode", "old_value": 0, "new_value": 1}]
    (await guild.owner.put(url, json={"enabled": False})).ok()
    assert "GUILD_ONBOARDING" not in (await session.next("GUILD_UPDATE"))["features"]


async def test_onboarding_needs_seven_channels_and_five_to_write_in(world: World) -> None:
    guild = await world.guild()
    url = f"/guilds/{guild.id}/onboarding"
    rooms = await many_channels(guild)
    (await guild.owner.put(url, json={"enabled": True})).refused(400, 350000)
    (await guild.owner.put(url, json={"enabled": True, "default_channel_ids": rooms[:6]})).refused(400, 350000)
    for room in rooms[:3]:
        await guild.overwrite(int(room), guild.id, deny=Permissions.SEND_MESSAGES, kind=0)
    (await guild.owner.put(url, json={"enabled": True, "default_channel_ids": rooms})).refused(400, 350000)
    await guild.overwrite(int(rooms[0]), guild.id, kind=0)
    (await guild.owner.put(url, json={"enabled": True, "default_channel_ids": rooms})).ok()
    (await guild.owner.put(url, json={"default_channel_ids": rooms[:6]})).refused(400, 350001)
    prompt = {"id": "0", "title": "more", "options": [{"title": "all", "channel_ids": rooms[6:]}]}
    body = {"default_channel_ids": rooms[:6], "prompts": [prompt]}
    (await guild.owner.put(url, json=body)).refused(400, 350001)
    (await guild.owner.put(url, json={**body, "mode": 1})).ok()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"default_channel_ids": ["1"]}, "default_channel_ids.0"),
        ({"prompts": [{"id": "0", "title": "", "options": [{"title": "x"}]}]}, "prompts.0.title"),
        ({"prompts": [{"id": "0", "title": "x", "options": []}]}, "prompts.0.options"),
        ({"prompts": [{"id": "0", "title": "x", "options": [{"title": "x" * 51}]}]}, "prompts.0.options.0.title"),
        (
            {"prompts": [{"id": "0", "title": "x", "options": [{"title": "x", "role_ids": ["1"]}]}]},
            "prompts.0.options.0.role_ids.0",
        ),
        (
            {"prompts": [{"id": "0", "title": "x", "options": [{"title": "x", "channel_ids": ["1"]}]}]},
            "prompts.0.options.0.channel_ids.0",
        ),
        (
            {"prompts": [{"id": "0", "title": "x", "options": [{"title": "x", "emoji_id": "1"}]}]},
            "prompts.0.options.0.emoji_id",
        ),
        ({"prompts": [{"id": "0", "title": "x", "options": [{"title": "x"}]}] * 16}, "prompts"),
        ({"mode": 7}, "mode"),
    ],
)
async def test_bad_onboarding_is_named(world: World, body: Any, path: str) -> None:
    guild = await world.guild()
    assert (await guild.owner.put(f"/guilds/{guild.id}/onboarding", json=body)).errors(path)


async def test_onboarding_is_for_those_who_manage_guild_and_roles(world: World) -> None:
    guild = await world.guild()
    url = f"/guilds/{guild.id}/onboarding"
    stranger = await world.user()
    (await stranger.get(url)).refused(403, 50001)
    (await stranger.put(url, json={})).refused(403, 50001)
    for bits in (Permissions.MANAGE_GUILD, Permissions.MANAGE_ROLES):
        (await (await guild.member(bits)).put(url, json={})).refused(403, 50013)
    manager = await guild.member(Permissions.MANAGE_GUILD | Permissions.MANAGE_ROLES)
    (await manager.put(url, json={})).ok()
    above = await guild.role("above")
    (await guild.owner.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(above), "position": 9}])).ok()
    body = {"prompts": [{"id": "0", "title": "x", "options": [{"title": "x", "role_ids": [str(above)]}]}]}
    assert (await manager.put(url, json=body)).errors("prompts.0.options.0.role_ids.0")


# The vanity URL


async def test_a_vanity_url_lets_people_in_and_counts_them(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    url = f"/guilds/{guild.id}/vanity-url"
    (await guild.owner.get(url)).refused(403, 50101)
    (await guild.owner.patch(url, json={"code": "town"})).refused(403, 50101)
    await world.grant(guild, "VANITY_URL")
    assert (await session.next("GUILD_UPDATE"))["features"] == ["VANITY_URL"]
    assert (await guild.owner.get(url)).ok() == {"code": None, "uses": 0}
    assert (await guild.owner.patch(url, json={"code": "Town-Square"})).ok() == {"code": "town-square", "uses": 0}
    assert (await session.next("GUILD_UPDATE"))["vanity_url_code"] == "town-square"
    entry = (await entries(guild, 1))[0]
    assert {"key": "vanity_url_code", "new_value": "town-square"} in entry["changes"]
    bob = await world.user()
    invite = (await bob.get("/invites/TOWN-square")).ok()
    assert (invite["guild"]["id"], invite["channel"]["id"]) == (str(guild.id), str(guild.general))
    (await bob.post("/invites/town-square")).ok()
    assert (await guild.owner.get(url)).ok()["uses"] == 1
    (await guild.owner.delete("/invites/town-square")).refused(404, 10006)
    assert (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok() == []
    assert (await guild.owner.patch(url, json={"code": None})).ok() == {"code": None, "uses": 0}
    (await bob.get("/invites/town-square")).refused(404, 10006)


async def test_a_vanity_url_is_free_and_well_formed(world: World) -> None:
    guild, other = await world.guild(), await world.guild()
    for each in (guild, other):
        await world.grant(each, "VANITY_URL")
    (await other.owner.patch(f"/guilds/{other.id}/vanity-url", json={"code": "taken"})).ok()
    url = f"/guilds/{guild.id}/vanity-url"
    for code in ("taken", "x", "no spaces", "-dash", "ünïcode"):
        (await guild.owner.patch(url, json={"code": code})).refused(400, 50020)
    assert (await guild.owner.patch(url, json={"code": "x" * 33})).errors("code")
    (await other.owner.delete(f"/guilds/{other.id}")).ok()
    (await guild.owner.patch(url, json={"code": "taken"})).ok()
    bob, stranger = await guild.member(), await world.user()
    for actor, refusal in ((bob, 50013), (stranger, 50001)):
        (await actor.get(url)).refused(403, refusal)
        (await actor.patch(url, json={"code": None})).refused(403, refusal)


# The widget


async def test_a_widget_shows_who_is_online_without_who_they_are(world: World) -> None:
    guild = await world.guild()
    url = f"/guilds/{guild.id}/widget"
    assert (await guild.owner.get(url)).ok() == {"enabled": False, "channel_id": None}
    for page in (f"{url}.json", f"{url}.png"):
        (await world.request("GET", page)).refused(403, 50004)
    session = await guild.owner.connect(presence={"status": "idle", "activities": [{"name": "chess", "type": 0}]})
    (await guild.owner.patch(url, json={"enabled": True})).ok()
    assert (await session.next("GUILD_UPDATE"))["widget_enabled"] is True
    lounge = await guild.channel("Lounge", type=2)
    hidden = await guild.channel("Den", type=2)
    await guild.overwrite(hidden, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
    state = {"guild_id": str(guild.id), "channel_id": str(lounge), "self_mute": True, "self_deaf": False}
    await session.send(4, state)
    await session.next("VOICE_STATE_UPDATE")

    shown = (await world.request("GET", f"{url}.json")).ok()

    assert (shown["id"], shown["name"], shown["presence_count"]) == (str(guild.id), "Guild", 1)
    assert shown["instant_invite"] is None
    assert [channel["name"] for channel in shown["channels"]] == ["General", "Lounge"]
    (one,) = shown["members"]
    assert (one["id"], one["discriminator"], one["avatar"], one["status"]) == ("0", "0000", None, "idle")
    assert one["username"] == guild.owner.name
    assert one["activity"] == {"name": "chess"}
    assert (one["channel_id"], one["self_mute"], one["mute"]) == (str(lounge), True, False)
    avatar = await world.request("GET", one["avatar_url"])
    assert avatar.headers["Content-Type"] == "image/png"


async def test_a_widget_with_a_channel_has_an_invite(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    url = f"/guilds/{guild.id}/widget"
    (await guild.owner.patch(url, json={"enabled": True, "channel_id": str(guild.general)})).ok()
    (entry,) = await entries(guild, 1)
    assert {change["key"] for change in entry["changes"]} == {"widget_enabled", "widget_channel_id"}
    link = (await world.request("GET", f"{url}.json")).ok()["instant_invite"]
    code = link.rpartition("/")[2]
    assert (await session.next("INVITE_CREATE"))["code"] == code
    assert await entries(guild, 40) == []
    assert (await world.request("GET", f"{url}.json")).ok()["instant_invite"] == link
    (await (await world.user()).post(f"/invites/{code}")).ok()
    (await guild.owner.delete(f"/invites/{code}")).ok()
    assert (await world.request("GET", f"{url}.json")).ok()["instant_invite"] != link
    assert (await guild.owner.patch(url, json={"channel_id": None})).ok() == {"enabled": True, "channel_id": None}
    assert (await world.request("GET", f"{url}.json")).ok()["instant_invite"] is None


async def test_who_chooses_a_channel_for_all_must_see_it(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    await guild.allow(bob, Permissions.MANAGE_GUILD)
    hidden = await guild.channel("hidden")
    await guild.overwrite(hidden, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
    base = f"/guilds/{guild.id}"
    screen = {"welcome_channels": [{"channel_id": str(hidden), "description": "x"}]}
    home = {"resource_channels": [{"channel_id": str(hidden), "title": "x"}]}
    settings = [("/widget", {"enabled": True, "channel_id": str(hidden)}), ("", {"system_channel_id": str(hidden)})]

    for path, body in settings:
        (await bob.patch(base + path, json=body)).refused(403, 50001)
    refused = await bob.patch(f"{base}/welcome-screen", json=screen)
    assert refused.errors("welcome_channels.0.channel_id") == ["CHANNEL_UNKNOWN"]
    refused = await bob.put(f"{base}/new-member-welcome", json=home)
    assert refused.errors("resource_channels.0.channel_id") == ["CHANNEL_UNKNOWN"]

    # What somebody chose who sees it may be sent back as it is.
    for actor in (guild.owner, bob):
        for path, body in settings:
            (await actor.patch(base + path, json=body)).ok()
        (await actor.patch(f"{base}/welcome-screen", json=screen)).ok()
        (await actor.put(f"{base}/new-member-welcome", json=home)).ok()


async def test_widget_settings_are_for_those_who_manage_the_guild(world: World) -> None:
    guild, other = await world.guild(), await world.guild()
    url = f"/guilds/{guild.id}/widget"
    bob, stranger = await guild.member(), await world.user()
    for actor, code in ((bob, 50013), (stranger, 50001)):
        (await actor.get(url)).refused(403, code)
        (await actor.patch(url, json={})).refused(403, code)
    (await guild.owner.patch(url, json={"channel_id": str(other.general)})).refused(404, 10003)
    category = guild.channels["Text Channels"]
    (await guild.owner.patch(url, json={"channel_id": str(category)})).refused(400, 50024)
    assert (await guild.owner.patch(url, json={"enabled": 3})).errors("enabled")
    (await world.request("GET", "/guilds/1/widget.json")).refused(404, 10004)


class TestWhereLimitsCount:
    """With the rate limits of a real platform."""

    @pytest.fixture
    def store_config(self) -> Config:
        """A configuration whose limits count."""
        return small_config(rate_limits="real")

    async def test_widget_settings_change_once_in_ten_seconds(self, world: World) -> None:
        guild = await world.guild()
        path = f"/guilds/{guild.id}/widget"
        (await guild.owner.patch(path, json={"enabled": True})).ok()
        (await guild.owner.patch(path, json={"enabled": False})).refused(429, 30042)
        world.clock.advance(10_000)
        (await guild.owner.patch(path, json={"enabled": False})).ok()


@pytest.mark.parametrize("style", [None, "shield", "banner1", "banner2", "banner3", "banner4"])
async def test_a_widget_is_a_picture_too(world: World, style: str | None) -> None:
    guild = await world.guild(name="Häuser & Gärten of an exceedingly long name")
    (await guild.owner.patch(f"/guilds/{guild.id}/widget", json={"enabled": True})).ok()
    query = "" if style is None else f"?style={style}"
    answer = await world.request("GET", f"/guilds/{guild.id}/widget.png{query}")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/png")
    assert answer.body.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", answer.body[16:24])
    start = answer.body.index(b"IDAT")
    (size,) = struct.unpack(">I", answer.body[start - 4 : start])
    pixels = zlib.decompress(answer.body[start + 4 : start + 4 + size])
    assert len(pixels) == height * (width + 1)
    assert {0, 1, 2} == set(pixels)
    assert (await world.request("GET", f"/guilds/{guild.id}/widget.png?style=none")).errors("style")


def test_every_look_has_room_for_a_crowd() -> None:
    for style in picture._LOOKS:
        assert picture.draw("x" * 100, 500_000, style)


# Integrations


async def test_bots_are_integrations_and_deleting_one_removes_them(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    bot = await world.bot(name="helper")
    url = f"/guilds/{guild.id}/integrations"
    assert (await guild.owner.get(url)).ok() == []
    await world.write(lambda call: members.add(call, guild.id, bot.id, permissions=8), actor=guild.owner.id)
    made = await session.next("INTEGRATION_CREATE")
    assert await session.next("GUILD_INTEGRATIONS_UPDATE") == {"guild_id": str(guild.id)}
    (listed,) = (await guild.owner.get(url)).ok()
    assert made == listed | {"guild_id": str(guild.id)}
    assert (listed["name"], listed["type"], listed["account"]["name"]) == ("helper", "discord", "helper")
    assert listed["application"]["bot"]["id"] == str(bot.id)
    (await bot.patch("/users/@me", json={"username": "butler"})).ok()
    assert (await session.next("INTEGRATION_UPDATE"))["application"]["bot"]["username"] == "butler"

    watcher = await bot.connect()
    assert (await guild.owner.delete(f"{url}/{listed['id']}")).status == 204

    assert await session.next("INTEGRATION_DELETE") == {
        "id": listed["id"],
        "guild_id": str(guild.id),
        "application_id": str(bot.application_id),
    }
    await session.next("GUILD_INTEGRATIONS_UPDATE")
    assert (await session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(bot.id)
    await session.next("GUILD_ROLE_DELETE")
    assert (await watcher.next("GUILD_DELETE"))["id"] == str(guild.id)
    assert (await entries(guild, 82))[0]["target_id"] == listed["id"]
    log = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type=82")).ok()
    assert [each["id"] for each in log["integrations"]] == [listed["id"]]
    (kick,) = await entries(guild, 20)
    assert (kick["target_id"], kick["options"]) == (str(bot.id), {"integration_type": "discord"})
    assert (await guild.owner.get(url)).ok() == []
    (await guild.owner.delete(f"{url}/{listed['id']}")).refused(404, 10005)


async def test_integrations_are_for_those_who_manage_the_guild(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    url = f"/guilds/{guild.id}/integrations"
    for actor, code in ((bot, 50013), (await world.user(), 50001)):
        (await actor.get(url)).refused(403, code)
        (await actor.delete(f"{url}/{bot.application_id}")).refused(403, code)
    elsewhere = await world.bot()
    (await guild.owner.delete(f"{url}/{elsewhere.application_id}")).refused(404, 10005)


# Incident actions


async def test_invites_and_messages_are_switched_off_for_a_while(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    url = f"/guilds/{guild.id}/incident-actions"
    until = wire.timestamp(NOW_MS + HOUR)
    body = {"invites_disabled_until": until, "dms_disabled_until": None}
    assert (await guild.owner.put(url, json=body)).ok() == body
    assert (await session.next("GUILD_UPDATE"))["incidents_data"] == body
    assert (await entries(guild, 1))[0]["changes"][0]["key"] == "incidents_data"
    made = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()
    bob = await world.user()
    (await bob.post(f"/invites/{made['code']}")).refused(400, 40006)
    both = {"dms_disabled_until": until}
    assert (await guild.owner.put(url, json=both)).ok() == {**body, **both}
    world.clock.advance(HOUR)
    (await bob.post(f"/invites/{made['code']}")).ok()
    nothing = {"invites_disabled_until": None, "dms_disabled_until": None}
    assert (await guild.owner.put(url, json=nothing)).ok() == nothing
    assert (await guild.owner.get(f"/guilds/{guild.id}")).ok()["incidents_data"] is None


async def test_nothing_is_switched_off_for_more_than_a_day(world: World) -> None:
    guild = await world.guild()
    url = f"/guilds/{guild.id}/incident-actions"
    day = wire.timestamp(NOW_MS + 24 * HOUR)
    (await guild.owner.put(url, json={"invites_disabled_until": day})).ok()
    late = wire.timestamp(NOW_MS + 24 * HOUR + 1)
    assert (await guild.owner.put(url, json={"dms_disabled_until": late})).errors("dms_disabled_until")
    assert (await guild.owner.put(url, json={"invites_disabled_until": "soon"})).errors("invites_disabled_until")
    bob, stranger = await guild.member(), await world.user()
    (await bob.put(url, json={})).refused(403, 50013)
    (await stranger.put(url, json={})).refused(403, 50001)


# Two-factor


async def test_the_owner_asks_two_factor_of_moderators(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    url = f"/guilds/{guild.id}/mfa"
    (await guild.owner.post(url, json={"level": 1})).refused(401, 60003)
    await world.write(lambda call: call.tx.run("UPDATE users SET mfa_enabled = 1 WHERE id = ?", guild.owner.id))
    (await guild.owner.post(url, json={"level": 2})).refused(400, 50017)
    assert (await guild.owner.post(url, json={"level": 1})).ok() == {"level": 1}
    assert (await session.next("GUILD_UPDATE"))["mfa_level"] == 1
    assert {"key": "mfa_level", "old_value": 0, "new_value": 1} in (await entries(guild, 1))[0]["changes"]
    bob = await guild.member(Permissions.ADMINISTRATOR)
    (await bob.post(url, json={"level": 0})).refused(403, 50013)
    (await bob.patch(f"/guilds/{guild.id}", json={"name": "Other"})).refused(401, 60003)
    bot = await world.bot(guild)
    (await bot.post(url, json={"level": 0})).refused(403, 20001)
    (await (await world.user()).post(url, json={"level": 0})).refused(403, 50001)


async def test_accounts_elsewhere_are_no_integrations_here_and_bots_may_not_ask(world: World) -> None:
    guild = await world.guild(member := await world.user())
    bot = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    url = f"/guilds/{guild.id}/integrations"
    calls = (
        ("POST", url, {"type": "twitch", "id": "1"}),
        ("PATCH", f"{url}/{bot.application_id}", {"expire_behavior": 0}),
        ("POST", f"{url}/{bot.application_id}/sync", None),
    )

    for method, path, body in calls:
        (await bot.request(method, path, json=body)).refused(403, 20001)
        (await (await world.user()).request(method, path, json=body)).refused(403, 50001)
    (await member.post(url, json={"type": "twitch", "id": "1"})).refused(404, 10005)
    (await member.post(f"{url}/5/sync")).refused(404, 10005)
    for method, path, body in calls[1:]:
        answer = await member.request(method, path, json=body)
        answer.refused(400, 50035)
        assert list(answer.json["errors"]) == ["integration_id"]
