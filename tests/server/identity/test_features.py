"""Features that operators disable and enable."""

from typing import Any

import aiohttp
import pytest

from hubbub.protocol.operator_roles import OperatorRole
from tests.pages import Browser
from tests.server.admin_commands import run_admin_command
from tests.server.identity.operators import create_operator
from tests.server.transports.web.test_console import open_browser
from tests.world import Actor, ApiResponse, World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def switch_off(operator: Actor, feature: str, **body: Any) -> None:
    (await operator.request("PUT", f"/admin/features/{feature}", json={"enabled": False, **body})).ok()


async def switch_on(operator: Actor, feature: str) -> None:
    (await operator.request("PUT", f"/admin/features/{feature}", json={"enabled": True})).ok()


async def send_file_message(user: Actor, channel_id: int) -> ApiResponse:
    """Send a message with a file."""
    form = aiohttp.FormData()
    form.add_field("files[0]", b"hello", filename="a.txt", content_type="text/plain")
    return await user.post(f"/channels/{channel_id}/messages", data=form)


def assert_feature_disabled(response: ApiResponse, message: str) -> None:
    """Assert that a request was rejected because its feature is disabled."""
    assert response.rejected(400, 40006)["message"] == message


async def test_registration_is_switched_off_and_on(world: World) -> None:
    ann = await create_operator(world, "ann")
    body = {"username": "ben", "password": "correct horse battery"}

    await switch_off(ann, "registration", message="Come back on Monday.", reason="Spam")
    response = await world.request("POST", "/auth/register", json=body)
    assert_feature_disabled(response, "Registration is switched off on this server. Come back on Monday.")
    page = await Browser(world).open("/register")
    assert "Come back on Monday." in page.text

    await switch_on(ann, "registration")
    (await world.request("POST", "/auth/register", json=body)).ok()
    audit_entries = (await ann.get("/admin/audit-log")).ok()
    assert [
        (audit_entry["action"], audit_entry["target_name"], audit_entry["reason"]) for audit_entry in audit_entries[:2]
    ] == [
        ("feature.switch_on", "registration", None),
        ("feature.switch_off", "registration", "Spam"),
    ]


async def test_guilds_are_not_created_while_the_feature_is_off(world: World) -> None:
    ann = await create_operator(world, "ann")
    await switch_off(ann, "guild_creation")

    assert_feature_disabled(
        await ann.post("/guilds", json={"name": "Harbor"}), "Creating guilds is switched off on this server."
    )

    await switch_on(ann, "guild_creation")
    (await ann.post("/guilds", json={"name": "Harbor"})).ok()


async def test_files_are_rejected_while_uploads_are_off(world: World) -> None:
    ann = await create_operator(world, "ann")
    guild = await world.guild()
    await switch_off(ann, "uploads")

    assert_feature_disabled(
        await send_file_message(guild.owner, guild.general), "Uploading files is switched off on this server."
    )
    (await guild.owner.post(f"/channels/{guild.general}/messages", json={"content": "text"})).ok()

    await switch_on(ann, "uploads")
    (await send_file_message(guild.owner, guild.general)).ok()


async def test_calls_cannot_be_joined_while_voice_is_off(world: World) -> None:
    ann = await create_operator(world, "ann")
    guild = await world.guild()
    voice_channel_id = await guild.channel("voice", type=2)
    session = await guild.owner.connect()
    body = {"guild_id": str(guild.id), "channel_id": str(voice_channel_id), "self_mute": False, "self_deaf": False}
    await switch_off(ann, "voice")
    await session.send(4, body)
    (await guild.owner.get(f"/guilds/{guild.id}/voice-states/@me")).rejected(404, 10065)
    await switch_on(ann, "voice")

    await session.send(4, body)

    assert (await session.next("VOICE_STATE_UPDATE"))["channel_id"] == str(voice_channel_id)


async def test_applications_are_not_created_or_authorized_while_the_feature_is_off(world: World) -> None:
    ann = await create_operator(world, "ann")
    user, bot = await world.user(), await world.bot()
    await switch_off(ann, "applications")
    message = "Adding applications is switched off on this server."

    assert_feature_disabled(await user.post("/applications", json={"name": "Weather"}), message)
    path = f"/oauth2/authorize?client_id={bot.application_id}&scope=applications.commands&integration_type=1"
    assert_feature_disabled(await user.post(path, json={"authorize": True}), message)

    await switch_on(ann, "applications")
    (await user.post("/applications", json={"name": "Weather"})).ok()
    (await user.post(path, json={"authorize": True})).ok()


async def test_browsers_cannot_subscribe_while_push_is_off(world: World) -> None:
    ann = await create_operator(world, "ann")
    assert (await ann.get("/users/@me/push-subscriptions")).ok()["public_key"]
    await switch_off(ann, "push")

    assert (await ann.get("/users/@me/push-subscriptions")).ok()["public_key"] is None
    body = {"endpoint": "https://push.example.org/1", "keys": {"p256dh": "x", "auth": "x"}}
    response = await ann.post("/users/@me/push-subscriptions", json=body)
    assert_feature_disabled(response, "Push notifications are switched off on this server.")


async def test_features_are_public_and_only_owners_switch_them(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    listed_features = (await world.request("GET", "/features")).ok()

    assert {feature["name"] for feature in listed_features} == {
        "registration",
        "guild_creation",
        "uploads",
        "voice",
        "applications",
        "push",
        "link_previews",
    }
    assert all(feature["enabled"] for feature in listed_features)
    (await ann.get("/admin/features")).ok()
    (await ann.request("PUT", "/admin/features/uploads", json={"enabled": False})).rejected(403, 0)
    (await (await world.user()).get("/admin/features")).rejected(403, 0)
    owner = await create_operator(world, "owner")
    (await owner.request("PUT", "/admin/features/nothing", json={"enabled": False})).rejected(404, 0)


async def test_an_owner_switches_features_in_the_console(world: World) -> None:
    browser, _ = await open_browser(world)

    page = await browser.open("/admin/features")
    page = await browser.submit(page, "Switch off Uploads", message="The disk is full.")
    assert "Uploads: switched off." in page.text
    assert "Message: The disk is full." in page.text
    guild = await world.guild()
    message = "Uploading files is switched off on this server. The disk is full."
    assert_feature_disabled(await send_file_message(guild.owner, guild.general), message)
    page = await browser.submit(page, "Switch on Uploads")
    assert "Uploads: switched on." in page.text
    assert "switched off Uploads" in (await browser.open("/admin/audit-log")).text


async def test_auditors_see_features_without_switches(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.AUDITOR)

    page = await browser.open("/admin/features")

    assert "Registration" in page.text
    assert "Switch off" not in page.text


async def test_commands_switch_features(world: World) -> None:
    assert "uploads: on" in await run_admin_command(world, "list-features")
    assert (
        await run_admin_command(world, "switch-feature", "uploads", "off", "--message", "Full") == "uploads is now off."
    )
    assert "uploads: off (Full)" in await run_admin_command(world, "list-features")
    with pytest.raises(SystemExit):
        await run_admin_command(world, "switch-feature", "nothing", "off")
    await run_admin_command(world, "switch-feature", "uploads", "on")
    assert "uploads: on" in await run_admin_command(world, "list-features")
