"""The protection against spam and raids: limits for new accounts, and a pause of invites after many joins."""

from typing import Any

import msgspec
import pytest

from hubbub.protocol.enums import AuditLogAction
from hubbub.server import cli
from hubbub.server.core import config
from hubbub.server.core.config import Config
from hubbub.server.core.config_sections import ProtectionConfig
from tests.server.places.invites import create_invite
from tests.server.talk.private_channels import open_dm
from tests.world import Actor, ApiResponse, Guild, World, befriend

MINUTE_MS = 60_000


@pytest.fixture
def world_config(store_config: Config) -> Config:
    """A configuration with limits for new accounts and for joins."""
    protection = ProtectionConfig(
        new_account_minutes=10, new_account_joins_max=2, raid_joins_max=3, raid_window_seconds=60, raid_pause_minutes=30
    )
    return msgspec.structs.replace(store_config, protection=protection)


async def join_with_invite(user: Actor, guild: Guild) -> ApiResponse:
    """Create an invite as the owner of the guild, and accept it."""
    return await user.post(f"/invites/{(await create_invite(guild.owner, guild.general))['code']}")


async def read_pause(guild: Guild) -> str | None:
    """Return the time until which the invites of a guild are paused, or None."""
    incidents: dict[str, Any] | None = (await guild.owner.get(f"/guilds/{guild.id}")).ok()["incidents_data"]
    return None if incidents is None else incidents["invites_disabled_until"]


async def test_a_new_account_cannot_send_links(world: World) -> None:
    guild = await world.guild()
    await guild.send_message(guild.owner, "no link")

    response = await guild.owner.post(f"/channels/{guild.general}/messages", json={"content": "see HTTPS://x.example"})

    assert response.rejected(400, 200000)["message"] == "A new account cannot send links. Try again in 10 minutes."
    message = await guild.send_message(guild.owner, "text")
    path = f"/channels/{guild.general}/messages/{message['id']}"
    (await guild.owner.patch(path, json={"content": "www.x.example"})).rejected(400, 200000)
    world.clock.advance(10 * MINUTE_MS)
    await guild.send_message(guild.owner, "see https://x.example")


async def test_bots_and_webhooks_may_send_links_immediately(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    await guild.send_message(bot, "https://x.example")
    webhook = (await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "w"})).ok()

    path = f"/webhooks/{webhook['id']}/{webhook['token']}?wait=true"

    assert (await world.request("POST", path, json={"content": "https://x.example"})).ok()


async def test_a_new_account_sends_direct_messages_only_to_friends_and_in_response(world: World) -> None:
    guild = await world.guild()
    alice, bob, carol = guild.owner, await guild.invited_member(), await guild.invited_member()
    path = f"/channels/{(await open_dm(bob, carol))['id']}/messages"

    error = (await bob.post(path, json={"content": "hello"})).rejected(403, 50007)
    assert "friends only" in error["message"]
    world.clock.advance(10 * MINUTE_MS)
    dave = await world.user()
    await befriend(dave, alice)
    (await dave.post(f"/channels/{(await open_dm(dave, alice))['id']}/messages", json={"content": "hi"})).ok()
    path = f"/channels/{(await open_dm(dave, carol))['id']}/messages"
    (await dave.post(path, json={"content": "hi"})).rejected(403, 50007)
    (await carol.post(path, json={"content": "hello"})).ok()
    (await dave.post(path, json={"content": "hi"})).ok()


async def test_a_new_account_joins_a_limited_number_of_guilds_per_hour(world: World) -> None:
    guilds = [await world.guild() for _ in range(4)]
    world.clock.advance(10 * MINUTE_MS)
    bob = await world.user()

    for guild in guilds[:2]:
        (await join_with_invite(bob, guild)).ok()

    error = (await join_with_invite(bob, guilds[2])).rejected(403, 0)
    assert error["message"].startswith("A new account can join at most 2 guilds per hour.")
    world.clock.advance(10 * MINUTE_MS)
    (await join_with_invite(bob, guilds[2])).ok()


async def test_many_joins_pause_the_invites_and_alert_the_moderators(world: World) -> None:
    guild = await world.guild()
    alerts_channel_id = await guild.channel("alerts")
    (await guild.owner.patch(f"/guilds/{guild.id}", json={"safety_alerts_channel_id": str(alerts_channel_id)})).ok()
    code = (await create_invite(guild.owner, guild.general))["code"]
    session = await guild.owner.connect()

    for _ in range(3):
        assert await read_pause(guild) is None
        (await (await world.user()).post(f"/invites/{code}")).ok()

    assert await read_pause(guild) is not None
    assert (await session.next("GUILD_UPDATE"))["incidents_data"]["invites_disabled_until"] is not None
    [alert_message] = (await guild.owner.get(f"/channels/{alerts_channel_id}/messages")).ok()
    assert alert_message["content"].startswith("3 users joined in 60 seconds. Invites are paused for 30 minutes.")
    assert alert_message["author"]["system"] is True
    audit_entry = await guild.last_audit_entry(AuditLogAction.GUILD_UPDATE)
    assert audit_entry["user_id"] == alert_message["author"]["id"]
    late_user = await world.user()
    (await late_user.post(f"/invites/{code}")).rejected(400, 40006)
    world.clock.advance(31 * MINUTE_MS)
    (await late_user.post(f"/invites/{code}")).ok()
    assert len((await guild.owner.get(f"/channels/{alerts_channel_id}/messages")).ok()) == 1


async def test_joins_over_a_long_time_pause_nothing(world: World) -> None:
    guild = await world.guild()
    code = (await create_invite(guild.owner, guild.general))["code"]

    for _ in range(5):
        (await (await world.user()).post(f"/invites/{code}")).ok()
        world.clock.advance(MINUTE_MS)

    assert await read_pause(guild) is None


def test_only_the_raid_protection_is_on_in_serve_and_it_is_off_in_rehearsals() -> None:
    serve_protection = config.load(defaults=cli.SERVE_DEFAULTS).protection
    dev_protection = config.load(defaults=cli.DEV_DEFAULTS).protection

    assert (serve_protection.new_account_minutes, serve_protection.raid_joins_max) == (0, 60)
    assert (dev_protection.new_account_minutes, dev_protection.raid_joins_max) == (0, 0)


async def send(user: Actor, guild: Guild, **body: Any) -> ApiResponse:
    """Send a message to the general channel of a guild."""
    return await user.post(f"/channels/{guild.general}/messages", json=body)


class TestLinkRules:
    """The rules of the server for links by host."""

    @pytest.fixture
    def world_config(self, store_config: Config) -> Config:
        protection = ProtectionConfig(denied_link_hosts=("evil.example", "xn--bse-sna.example"))
        return msgspec.structs.replace(store_config, protection=protection)

    async def test_links_to_a_denied_host_are_rejected_however_they_are_written(self, world: World) -> None:
        guild = await world.guild()

        response = await send(guild.owner, guild, content="see https://evil.example/offer")

        assert response.rejected(400, 200000)["message"] == (
            "Links to evil.example are not allowed on this server. Remove the link and send the message again."
        )
        for text in (
            "HTTPS://WWW.Evil.Example",
            "[offer](https://user:password@evil.example:8080/)",
            "<https://evil.example.>",
            "https://evil.example\\@good.example/",
            "https://evil%2Eexample",
            "https://evil。example",
            "**https://evil.example**",
            "https://böse.example",
            "www.evil.example",
        ):
            assert (await send(guild.owner, guild, content=text)).status == 400, text
        for text in (
            "https://good.example/evil.example",
            "https://notevil.example",
            "https://evil.example.org",
            "https://evil.example@good.example",
            "evil.example is a bad site",
            "https://[::1]/",
        ):
            assert (await send(guild.owner, guild, content=text)).status == 200, text

    async def test_the_rules_apply_to_edits_embeds_and_buttons(self, world: World) -> None:
        guild = await world.guild()
        bot = await world.bot(guild)
        message = await guild.send_message(guild.owner, "text")
        path = f"/channels/{guild.general}/messages/{message['id']}"
        button = {"type": 2, "style": 5, "label": "Offer", "url": "https://evil.example"}

        (await guild.owner.patch(path, json={"content": "https://evil.example"})).rejected(400, 200000)
        embed = {"title": "Offer", "url": "https://evil.example"}
        (await send(bot, guild, embeds=[embed])).rejected(400, 200000)
        (await send(bot, guild, content="x", components=[{"type": 1, "components": [button]}])).rejected(400, 200000)
        (await send(bot, guild, embeds=[embed | {"url": "https://good.example"}])).ok()

    async def test_the_rules_apply_to_webhooks(self, world: World) -> None:
        guild = await world.guild()
        webhook = (await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "w"})).ok()

        path = f"/webhooks/{webhook['id']}/{webhook['token']}"

        (await world.request("POST", path, json={"content": "https://evil.example"})).rejected(400, 200000)


class TestAllowedLinkHosts:
    """Rules that allow links to some hosts only."""

    @pytest.fixture
    def world_config(self, store_config: Config) -> Config:
        protection = ProtectionConfig(allowed_link_hosts=("example.org",), denied_link_hosts=("old.example.org",))
        return msgspec.structs.replace(store_config, protection=protection)

    async def test_links_to_other_hosts_are_rejected(self, world: World) -> None:
        guild = await world.guild()

        for text in ("https://example.org", "https://docs.example.org/x", f"{world.app.config.web_url}/app"):
            (await send(guild.owner, guild, content=text)).ok()
        for text in ("https://old.example.org", "https://192.0.2.7", "https://[2001:db8::1]"):
            (await send(guild.owner, guild, content=text)).rejected(400, 200000)
        error = (await send(guild.owner, guild, content="https://x.example")).rejected(400, 200000)
        assert error["message"] == (
            "Links to x.example are not allowed on this server. Remove the link, or link to example.org."
        )


class TestLinkRulesForNewAccounts:
    """Rules for links by host that apply to new accounts."""

    @pytest.fixture
    def world_config(self, store_config: Config) -> Config:
        protection = ProtectionConfig(
            new_account_minutes=10,
            allow_new_account_links=True,
            denied_link_hosts=("evil.example",),
            link_rules_for="new_accounts",
        )
        return msgspec.structs.replace(store_config, protection=protection)

    async def test_a_new_account_waits_until_the_rules_end(self, world: World) -> None:
        guild = await world.guild()
        bot = await world.bot(guild)

        error = (await send(guild.owner, guild, content="https://evil.example")).rejected(400, 200000)
        assert error["message"] == "A new account cannot send links to evil.example. Try again in 10 minutes."
        (await send(guild.owner, guild, content="https://x.example")).ok()
        (await send(bot, guild, content="https://evil.example")).ok()
        world.clock.advance(10 * MINUTE_MS)
        (await send(guild.owner, guild, content="https://evil.example")).ok()
