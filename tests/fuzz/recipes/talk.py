"""Recipes for messages, private channels, calls and webhooks."""

from typing import Any

from hubbub.protocol.enums import GatewayOpcode
from tests.fuzz.platform import Platform
from tests.fuzz.recipes.administration import upload_file
from tests.fuzz.recipes.registry import ValidRequest, recipe
from tests.world import Actor, befriend


async def create_group(platform: Platform) -> tuple[Actor, Actor, str]:
    """Create a group channel; return its owner, another member and its ID."""
    owner, first_user, second_user = [await platform.world.user() for _ in range(3)]
    for friend in (first_user, second_user):
        await befriend(owner, friend)
    body = {"recipients": [str(first_user.id), str(second_user.id)]}
    return owner, first_user, (await owner.post("/users/@me/channels", json=body)).ok()["id"]


@recipe("get_call", "ring_call", "stop_ringing_call")
async def _call(platform: Platform) -> ValidRequest:
    owner, _, channel_id = await create_group(platform)
    session = await owner.connect()
    state = {"guild_id": None, "channel_id": channel_id, "self_mute": False, "self_deaf": False}
    await session.send(GatewayOpcode.VOICE_STATE_UPDATE, state)
    await session.wait_processed()
    return ValidRequest(owner, {"channel_id": channel_id}, {})


@recipe("channel_search")
async def _search(platform: Platform) -> ValidRequest:
    owner, _, channel_id = await create_group(platform)
    return ValidRequest(owner, {"channel_id": channel_id}, query={"content": "hello"})


@recipe("add_group_dm_user")
async def _new_recipient(platform: Platform) -> ValidRequest:
    owner, _, channel_id = await create_group(platform)
    user = await platform.world.user()
    await befriend(owner, user)
    return ValidRequest(owner, {"channel_id": channel_id, "user_id": user.id}, {})


@recipe("delete_group_dm_user")
async def _existing_recipient(platform: Platform) -> ValidRequest:
    owner, friend, channel_id = await create_group(platform)
    return ValidRequest(owner, {"channel_id": channel_id, "user_id": friend.id})


@recipe("create_dm")
async def _recipient(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.owner, body={"recipient_id": str(platform.bot.id)})


@recipe("create_dm_by_user")
async def _own_recipient(platform: Platform) -> ValidRequest:
    body = {"recipient_id": str(platform.bot.id)}
    return ValidRequest(platform.owner, {"user_id": platform.owner.id}, body)


@recipe("get_user_dm")
async def _private_channel(platform: Platform) -> ValidRequest:
    body = {"recipient_id": str(platform.bot.id)}
    (await platform.owner.post("/users/@me/channels", json=body)).ok()
    return ValidRequest(platform.owner, {"user_id": platform.bot.id})


@recipe("refresh_attachment_urls")
async def _attachment_urls(platform: Platform) -> ValidRequest:
    _, url = await upload_file(platform)
    return ValidRequest(platform.owner, body={"attachment_urls": [url]})


@recipe("ack_bulk")
async def _read_states(platform: Platform) -> ValidRequest:
    ids = platform.prepared_guild.object_ids
    state = {"channel_id": ids["channel_id"], "message_id": ids["message_id"], "read_state_type": 0}
    return ValidRequest(platform.owner, body={"read_states": [state]})


# Webhooks


async def _create_webhook(platform: Platform) -> dict[str, Any]:
    channel_id = await platform.guild.channel(platform.builder.unused_name())
    hook = (await platform.owner.post(f"/channels/{channel_id}/webhooks", json={"name": "hook"})).ok()
    return {"webhook_id": hook["id"], "webhook_token": hook["token"]}


@recipe("get_webhook_by_token", "update_webhook_by_token", "delete_webhook_by_token")
async def _webhook(platform: Platform) -> ValidRequest:
    return ValidRequest(None, await _create_webhook(platform), {"name": "news"})


@recipe("execute_webhook")
async def _webhook_message(platform: Platform) -> ValidRequest:
    return ValidRequest(None, body={"content": "hello"}, query={"wait": "true"})


@recipe("execute_slack_compatible_webhook")
async def _slack_message(platform: Platform) -> ValidRequest:
    return ValidRequest(None, body={"text": "hello"}, query={"wait": "true"})


@recipe("execute_github_compatible_webhook")
async def _github_event(platform: Platform) -> ValidRequest:
    sender = {
        "id": 1,
        "login": "octocat",
        "html_url": "https://example.org/octocat",
        "avatar_url": "https://example.org/a.png",
    }
    repository = {"id": 2, "html_url": "https://example.org/o/r", "name": "r", "full_name": "o/r"}
    body = {"sender": sender, "repository": repository, "action": "started"}
    return ValidRequest(None, body=body, headers={"X-GitHub-Event": "watch"})


@recipe("get_webhook_message", "update_webhook_message", "delete_webhook_message")
async def _existing_webhook_message(platform: Platform) -> ValidRequest:
    ids = platform.prepared_guild.object_ids
    path = f"/webhooks/{ids['webhook_id']}/{ids['webhook_token']}?wait=true"
    message = (await platform.world.request("POST", path, json={"content": "hello"})).ok()
    return ValidRequest(None, {"message_id": message["id"]}, {"content": "edited"})
