"""Recipes for applications.

They cover settings, webhook events, signing keys, teams, testers, pictures, commands, interactions, activities, links
and products.
"""

from typing import Any

import aiohttp

from hubbub.protocol.enums import (
    CommandPermissionType,
    CommandType,
    EntitlementOwnerType,
    InteractionCallbackType,
    InteractionType,
    SkuType,
)
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import Snowflake
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.places import activity_instances
from hubbub.server.play import deliveries, webhook_events
from tests.fuzz.platform import Platform
from tests.fuzz.recipes.registry import ValidRequest, recipe
from tests.media import data_uri, png
from tests.oauth import Client, create_application
from tests.server.play.purchases import buy, create_test_entitlement, publish_sku
from tests.world import Actor

COMMAND = {"name": "greet", "description": "says hello"}
LINK = {"title": "Join", "description": "Eight teams", "image": data_uri(png())}


async def create_owned_application(platform: Platform) -> tuple[Client, dict[str, Any]]:
    """Create an application; return it and the path parameters with its ID."""
    client = await create_application(platform.world)
    return client, {"application_id": client.id}


def _bot(client: Client) -> Actor:
    assert client.bot is not None
    return client.bot


@recipe("create_application")
async def _name(platform: Platform) -> ValidRequest:
    return ValidRequest(await platform.world.user(), body={"name": "Game"})


@recipe(
    "get_application_approvals",
    "list_external_identity_provider_configurations",
    "list_application_testers",
    "list_registered_commands",
    "list_deliveries",
    "get_key_rollover",
    "prepare_key_rollover",
    "list_application_oauth2_authorizations",
)
async def _owned_application(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    return ValidRequest(client.owner, values)


@recipe("delete_application", "reset_bot_token", "reset_client_secret")
async def _application_with_confirmation(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    return ValidRequest(client.owner, values, {})


@recipe("create_application_bot")
async def _application_without_bot(platform: Platform) -> ValidRequest:
    client = await create_application(platform.world, has_bot=False)
    return ValidRequest(client.owner, {"application_id": client.id})


@recipe("request_application_approval")
async def _approval(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    body = {"kind": "scope", "name": "rpc", "reason": "The game shows who speaks."}
    return ValidRequest(client.owner, values, body)


@recipe("retry_failed_webhook_event")
async def _failed_event(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)

    def create(call: Call) -> int:
        key = f"{webhook_events.actions.delivery_key_prefix(client.id)}1"
        job_id = call.tx.enqueue(webhook_events.actions.DELIVER_JOB, {}, due_ms=call.now_ms + 1000, key=key)
        call.tx.run("UPDATE jobs SET state = 'failed' WHERE id = ?", job_id)
        return job_id

    return ValidRequest(client.owner, values | {"event_id": await platform.world.write(create)})


@recipe("get_delivery", "resend_delivery")
async def _logged_event(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)

    def create(call: Call) -> int:
        delivery_id = call.new_id(Snowflake)
        job = Job(1, webhook_events.actions.DELIVER_JOB, f"log/{client.id}/1", 0, "{}", 0, None)
        attempt = deliveries.Attempt(
            delivery_id=delivery_id,
            application_id=client.id,
            kind="event",
            name="APPLICATION_AUTHORIZED",
            job=job,
            url="https://game.example/events",
            headers={},
            body="{}",
            started_ms=call.now_ms,
        )
        deliveries.log_attempt(call, attempt, "delivered", None)
        return delivery_id

    return ValidRequest(client.owner, values | {"delivery_id": await platform.world.write(create)})


async def _prepare_key(platform: Platform) -> tuple[Actor, dict[str, Any]]:
    client, values = await create_owned_application(platform)
    (await client.owner.post(f"/applications/{client.id}/key-rollover")).ok()
    return client.owner, values


@recipe("delete_key_rollover")
async def _prepared_key(platform: Platform) -> ValidRequest:
    return ValidRequest(*await _prepare_key(platform))


@recipe("switch_signing_key")
async def _next_key(platform: Platform) -> ValidRequest:
    return ValidRequest(*await _prepare_key(platform), {})


@recipe("restore_signing_key")
async def _previous_key(platform: Platform) -> ValidRequest:
    owner, values = await _prepare_key(platform)
    (await owner.post(f"/applications/{values['application_id']}/key-rollover/switch", json={})).ok()
    return ValidRequest(owner, values)


async def _create_team(platform: Platform) -> tuple[Actor, dict[str, Any]]:
    owner = await platform.world.user()
    return owner, {"team_id": (await owner.post("/teams", json={"name": "Sailors"})).ok()["id"]}


@recipe("list_teams")
async def _teams(platform: Platform) -> ValidRequest:
    return ValidRequest((await _create_team(platform))[0])


@recipe("create_team")
async def _team_name(platform: Platform) -> ValidRequest:
    return ValidRequest(await platform.world.user(), body={"name": "Sailors"})


@recipe("get_team", "list_team_applications", "delete_team")
async def _team(platform: Platform) -> ValidRequest:
    return ValidRequest(*await _create_team(platform))


@recipe("update_team")
async def _renamed_team(platform: Platform) -> ValidRequest:
    return ValidRequest(*await _create_team(platform), {"name": "Rowers"})


@recipe("add_team_member")
async def _team_invitation(platform: Platform) -> ValidRequest:
    user = await platform.world.user()
    return ValidRequest(*await _create_team(platform), {"username": user.name, "role": "read_only"})


async def _create_team_member(platform: Platform, *, has_accepted: bool = True) -> tuple[Actor, dict[str, Any], Actor]:
    owner, values = await _create_team(platform)
    member = await platform.world.user()
    (await owner.post(f"/teams/{values['team_id']}/members", json={"username": member.name})).ok()
    if has_accepted:
        (await member.put(f"/users/@me/teams/{values['team_id']}")).ok()
    return owner, values, member


@recipe("update_team_member")
async def _member_role(platform: Platform) -> ValidRequest:
    owner, values, member = await _create_team_member(platform)
    return ValidRequest(owner, values | {"user_id": member.id}, {"role": "admin"})


@recipe("delete_team_member")
async def _existing_member(platform: Platform) -> ValidRequest:
    owner, values, member = await _create_team_member(platform)
    return ValidRequest(owner, values | {"user_id": member.id})


@recipe("accept_team_invitation")
async def _accepted_team(platform: Platform) -> ValidRequest:
    _, values, member = await _create_team_member(platform, has_accepted=False)
    return ValidRequest(member, values)


@recipe("transfer_team")
async def _new_team_owner(platform: Platform) -> ValidRequest:
    owner, values, member = await _create_team_member(platform)
    return ValidRequest(owner, values, {"user_id": str(member.id)})


@recipe("transfer_application")
async def _transferred_application(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    team = (await client.owner.post("/teams", json={"name": "Sailors"})).ok()
    return ValidRequest(client.owner, values, {"team_id": team["id"]})


@recipe("upload_application_attachment")
async def _attachment(platform: Platform) -> ValidRequest:
    form = aiohttp.FormData()
    form.add_field("file", png(), filename="a.png", content_type="image/png")
    return ValidRequest(platform.bot, multipart=form)


@recipe("open_activity_link")
async def _activity_link(platform: Platform) -> ValidRequest:
    bot = await platform.world.bot(flags=ApplicationFlags.EMBEDDED)
    return ValidRequest(platform.owner, {"application_id": bot.application_id})


@recipe("set_external_identity_provider_configuration")
async def _provider(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    return ValidRequest(client.owner, values | {"type": "STEAM"}, {"clients": [{"id": "480"}]})


@recipe("delete_external_identity_provider_configuration")
async def _existing_provider(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    path = f"/applications/{client.id}/external-identity-provider-configurations/STEAM"
    (await client.owner.put(path, json={"clients": [{"id": "480"}]})).ok()
    return ValidRequest(client.owner, values | {"type": "STEAM"})


@recipe("update_application_role_connections_metadata")
async def _role_connections(platform: Platform) -> ValidRequest:
    field = {"type": 1, "key": "level", "name": "Level", "description": "Level of the player"}
    return ValidRequest(platform.bot, body=[field])


@recipe("create_test_user")
async def _test_user(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    return ValidRequest(client.owner, values, {"username": platform.builder.unused_name("tester")})


async def _invite_tester(platform: Platform) -> tuple[Client, Actor]:
    client, _ = await create_owned_application(platform)
    tester = await platform.world.user()
    (await client.owner.post(f"/applications/{client.id}/testers", json={"username": tester.name})).ok()
    return client, tester


@recipe("invite_application_tester")
async def _tester(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    return ValidRequest(client.owner, values, {"username": (await platform.world.user()).name})


@recipe("delete_application_tester")
async def _existing_tester(platform: Platform) -> ValidRequest:
    client, tester = await _invite_tester(platform)
    return ValidRequest(client.owner, {"application_id": client.id, "user_id": tester.id})


@recipe("accept_tester_invitation", "delete_tester_invitation")
async def _tester_invitation(platform: Platform) -> ValidRequest:
    client, tester = await _invite_tester(platform)
    return ValidRequest(tester, {"application_id": client.id})


@recipe("create_application_asset")
async def _asset(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    return ValidRequest(client.owner, values, {"name": "cover", "image": data_uri(png(512, 512))})


@recipe("delete_application_asset")
async def _existing_asset(platform: Platform) -> ValidRequest:
    request = await _asset(platform)
    assert request.caller is not None
    path = f"/oauth2/applications/{request.values['application_id']}/assets"
    asset = (await request.caller.post(path, json=request.body)).ok()
    return ValidRequest(request.caller, request.values | {"asset_id": asset["id"]})


@recipe("create_application_emoji")
async def _emoji(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    return ValidRequest(_bot(client), values, {"name": "wave", "image": data_uri(png())})


@recipe("update_application_emoji", "delete_application_emoji")
async def _existing_emoji(platform: Platform) -> ValidRequest:
    request = await _emoji(platform)
    assert request.caller is not None
    path = f"/applications/{request.values['application_id']}/emojis"
    emoji = (await request.caller.post(path, json=request.body)).ok()
    return ValidRequest(request.caller, request.values | {"emoji_id": emoji["id"]}, {"name": "greet"})


# Commands


@recipe("create_application_command", "create_guild_application_command")
async def _command(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.bot, body=COMMAND | {"name": platform.builder.unused_name("c")})


@recipe("bulk_set_application_commands", "bulk_set_guild_application_commands")
async def _commands(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.bot, body=[COMMAND])


@recipe("get_application_command", "update_application_command", "delete_application_command")
async def _global_command(platform: Platform) -> ValidRequest:
    return await _create_command(platform, f"/applications/{platform.bot.application_id}/commands")


@recipe("get_guild_application_command", "update_guild_application_command", "delete_guild_application_command")
async def _guild_command(platform: Platform) -> ValidRequest:
    path = f"/applications/{platform.bot.application_id}/guilds/{platform.guild.id}/commands"
    return await _create_command(platform, path)


async def _create_command(platform: Platform, path: str) -> ValidRequest:
    (await platform.bot.put(path, json=[])).ok()
    body = COMMAND | {"name": platform.builder.unused_name("c")}
    command = (await platform.bot.post(path, json=body)).ok()
    return ValidRequest(platform.bot, {"command_id": command["id"]}, {"description": "edited"})


@recipe("set_guild_application_command_permissions", "get_guild_application_command_permissions")
async def _command_permissions(platform: Platform) -> ValidRequest:
    request = await _guild_command(platform)
    permission = {"id": str(platform.guild.id), "type": CommandPermissionType.ROLE, "permission": True}
    body = {"permissions": [permission]}
    path = f"/applications/{platform.bot.application_id}/guilds/{platform.guild.id}/commands"
    caller = platform.callers["bearer"]
    assert caller is not None
    (await caller.put(f"{path}/{request.values['command_id']}/permissions", json=body)).ok()
    return ValidRequest(caller, request.values, body)


async def create_interaction(platform: Platform, *, responds: bool) -> dict[str, Any]:
    """Run a command and return its interaction, with an initial response if `responds`."""
    request = await _guild_command(platform)
    bot, guild = platform.bot, platform.guild
    session = await platform.builder.session(bot)
    path = f"/applications/{bot.application_id}/guilds/{guild.id}/commands/{request.values['command_id']}"
    command = (await bot.get(path)).ok()
    nonce = platform.builder.unused_name("nonce")
    body = {
        "type": InteractionType.APPLICATION_COMMAND,
        "application_id": str(bot.application_id),
        "guild_id": str(guild.id),
        "channel_id": str(guild.general),
        "nonce": nonce,
        "data": {"id": command["id"], "name": command["name"], "type": CommandType.CHAT_INPUT},
    }
    (await platform.owner.post("/interactions", json=body)).ok()
    interaction: dict[str, Any] = await session.next(
        "INTERACTION_CREATE", lambda data: data["data"].get("id") == command["id"]
    )
    if responds:
        callback = {"type": InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, "data": {"content": "hello"}}
        path = f"/interactions/{interaction['id']}/{interaction['token']}/callback"
        (await platform.world.request("POST", path, json=callback)).ok()
    return interaction


@recipe("create_interaction_response")
async def _interaction(platform: Platform) -> ValidRequest:
    interaction = await create_interaction(platform, responds=False)
    values = {"interaction_id": interaction["id"], "interaction_token": interaction["token"]}
    body = {"type": InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, "data": {"content": "hello"}}
    return ValidRequest(None, values, body)


@recipe("get_original_webhook_message", "update_original_webhook_message", "delete_original_webhook_message")
async def _original_response(platform: Platform) -> ValidRequest:
    interaction = await create_interaction(platform, responds=True)
    values = {"webhook_id": platform.bot.application_id, "webhook_token": interaction["token"]}
    return ValidRequest(None, values, {"content": "edited"})


# Activities


async def _launch(platform: Platform) -> tuple[Actor, str]:
    bot = await platform.world.bot(platform.guild, flags=ApplicationFlags.EMBEDDED)
    guild, owner = platform.guild, platform.owner
    instance = await platform.world.write(
        lambda call: activity_instances.launch(call, bot.application_id, owner.id, guild.general, guild.id)
    )
    return bot, instance.composite_id


@recipe("applications_get_activity_instance")
async def _instance(platform: Platform) -> ValidRequest:
    bot, instance_id = await _launch(platform)
    return ValidRequest(bot, {"application_id": bot.application_id, "instance_id": instance_id})


@recipe("create_proxy_ticket")
async def _proxy_ticket(platform: Platform) -> ValidRequest:
    bot, instance_id = await _launch(platform)
    return ValidRequest(platform.owner, {"application_id": bot.application_id}, {"instance_id": instance_id})


@recipe("leave_activity")
async def _joined_activity(platform: Platform) -> ValidRequest:
    bot = await platform.world.bot(platform.guild, flags=ApplicationFlags.EMBEDDED)
    session = await platform.builder.session(platform.owner)
    body = {"session_id": session.ready["session_id"]}
    path = f"/activities/{platform.guild.general}/{bot.application_id}"
    (await platform.owner.post(path, json=body)).ok()
    application_id = str(bot.application_id)
    event = await session.next("EMBEDDED_ACTIVITY_UPDATE_V2", lambda data: data["application_id"] == application_id)
    values = {
        "application_id": application_id,
        "location_id": event["location"]["id"],
        "instance_id": event["instance_id"],
    }
    return ValidRequest(platform.owner, values, body)


@recipe("create_managed_link", "create_quick_link")
async def _link(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    return ValidRequest(_bot(client), values, LINK)


@recipe("get_managed_link", "update_managed_link", "delete_managed_link")
async def _managed_link(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    link = (await _bot(client).post(f"/applications/{client.id}/managed-links/", json=LINK)).ok()
    return ValidRequest(_bot(client), values | {"link_id": link["link_id"]}, {"title": "Play"})


@recipe("get_quick_link")
async def _quick_link(platform: Platform) -> ValidRequest:
    client, values = await create_owned_application(platform)
    link = (await _bot(client).post(f"/applications/{client.id}/quick-links/", json=LINK)).ok()
    return ValidRequest(None, values | {"link_id": link["link_id"]})


# Products


async def _create_sku(platform: Platform, **fields: Any) -> tuple[Actor, int, dict[str, Any]]:
    bot = await platform.world.bot()
    sku_id = await publish_sku(bot, **fields)
    return bot, sku_id, {"application_id": bot.application_id, "sku_id": sku_id}


@recipe("create_sku")
async def _sku(platform: Platform) -> ValidRequest:
    bot = await platform.world.bot()
    body = {"type": SkuType.DURABLE, "name": "Hat", "price": 499, "published": True}
    return ValidRequest(bot, {"application_id": bot.application_id}, body)


@recipe("update_sku", "delete_sku", "get_store_sku", "get_sku_subscriptions")
async def _existing_sku(platform: Platform) -> ValidRequest:
    bot, _, values = await _create_sku(platform, listed=True)
    return ValidRequest(bot, values, {"name": "Gold"}, {"user_id": str(platform.owner.id)})


@recipe("create_entitlement")
async def _entitlement(platform: Platform) -> ValidRequest:
    bot, sku_id, values = await _create_sku(platform)
    owner = {"owner_id": str(platform.owner.id), "owner_type": EntitlementOwnerType.USER}
    return ValidRequest(bot, values, {"sku_id": str(sku_id)} | owner)


@recipe("get_entitlement", "delete_entitlement")
async def _existing_entitlement(platform: Platform) -> ValidRequest:
    bot, sku_id, values = await _create_sku(platform)
    entitlement = await create_test_entitlement(bot, sku_id, platform.owner.id)
    return ValidRequest(bot, values | {"entitlement_id": entitlement["id"]})


@recipe("consume_entitlement")
async def _consumable(platform: Platform) -> ValidRequest:
    bot, sku_id, values = await _create_sku(platform, sku_type=SkuType.CONSUMABLE)
    purchase = await buy(platform.owner, sku_id)
    return ValidRequest(bot, values | {"entitlement_id": purchase["entitlement"]["id"]})


@recipe("refund_entitlement")
async def _refundable(platform: Platform) -> ValidRequest:
    client, _ = await create_owned_application(platform)
    sku_id = await publish_sku(_bot(client), sku_type=SkuType.DURABLE)
    purchase = await buy(await platform.world.user(), sku_id)
    values = {"application_id": client.id, "entitlement_id": purchase["entitlement"]["id"]}
    return ValidRequest(client.owner, values)


@recipe("create_purchase")
async def _purchase(platform: Platform) -> ValidRequest:
    _, sku_id, _ = await _create_sku(platform)
    return ValidRequest(await platform.world.user(), body={"sku_id": str(sku_id)})


async def _subscribe(platform: Platform) -> tuple[Actor, Actor, dict[str, Any]]:
    bot, sku_id, _ = await _create_sku(platform)
    user = await platform.world.user()
    subscription = (await buy(user, sku_id))["subscription"]
    return bot, user, {"subscription_id": subscription["id"], "sku_id": sku_id}


@recipe("get_sku_subscription")
async def _subscription(platform: Platform) -> ValidRequest:
    bot, user, values = await _subscribe(platform)
    return ValidRequest(bot, values, query={"user_id": str(user.id)})


@recipe("cancel_my_subscription")
async def _own_subscription(platform: Platform) -> ValidRequest:
    _, user, values = await _subscribe(platform)
    return ValidRequest(user, values)


@recipe("resume_my_subscription")
async def _canceled_subscription(platform: Platform) -> ValidRequest:
    _, user, values = await _subscribe(platform)
    (await user.post(f"/users/@me/subscriptions/{values['subscription_id']}/cancel")).ok()
    return ValidRequest(user, values)


@recipe("change_my_subscription")
async def _changed_subscription(platform: Platform) -> ValidRequest:
    bot, user, values = await _subscribe(platform)
    return ValidRequest(user, values, {"sku_id": str(await publish_sku(bot, name="Silver", price=299))})
