"""Webhooks: management, execution in three formats, threads, messages, rate limits, and announcement followers."""

import base64
import json
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import (
    AuditLogAction,
    ButtonStyle,
    ChannelType,
    ComponentType,
    MessageReferenceType,
    MessageType,
    WebhookType,
)
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.github import GITHUB_EVENTS
from hubbub.server.core import rate_limits
from hubbub.server.core.config import Config
from hubbub.server.talk.webhooks import store, tokens
from hubbub.server.talk.webhooks.execution import github, slack
from hubbub.server.talk.webhooks.followers import copies
from hubbub.server.talk.webhooks.store import WebhookRow
from hubbub.server.transports.cdn import default_avatar
from tests.world import Actor, ApiResponse, Guild, World, small_config

PNG_DATA_URL = "data:image/png;base64," + base64.b64encode(default_avatar(0)).decode()
COMPONENTS_V2 = MessageFlags.IS_COMPONENTS_V2
MANAGE_WEBHOOKS = Permissions.MANAGE_WEBHOOKS
INTENTS_WITHOUT_CONTENT = Intents.GUILDS | Intents.GUILD_MESSAGES
LINK_ROW: dict[str, Any] = {
    "type": ComponentType.ACTION_ROW,
    "components": [
        {"type": ComponentType.BUTTON, "style": ButtonStyle.LINK, "label": "go", "url": "https://example.com"}
    ],
}
BUTTON_ROW: dict[str, Any] = {
    "type": ComponentType.ACTION_ROW,
    "components": [{"type": ComponentType.BUTTON, "style": ButtonStyle.PRIMARY, "label": "press", "custom_id": "a"}],
}


class Webhook:
    """A webhook and its token."""

    def __init__(self, world: World, view: dict[str, Any]) -> None:
        self.world = world
        self.view = view
        self.id = int(view["id"])
        self.path = f"/webhooks/{view['id']}/{view.get('token')}"

    async def execute(self, content: str | None = None, query: str = "wait=true", **body: Any) -> ApiResponse:
        if content is not None:
            body["content"] = content
        return await self.world.request("POST", f"{self.path}?{query}", json=body)

    async def send_message(self, content: str | None = None, query: str = "wait=true", **body: Any) -> Any:
        """Execute the webhook, assert that the request succeeds, and return the message."""
        return (await self.execute(content, query, **body)).ok()


async def create_webhook(world: World, actor: Actor, channel_id: int, name: str = "hook", **body: Any) -> Webhook:
    return Webhook(world, (await actor.post(f"/channels/{channel_id}/webhooks", json={"name": name, **body})).ok())


# Management


async def test_a_new_webhook_is_published_and_audited(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()

    response = await guild.owner.post(
        f"/channels/{guild.general}/webhooks",
        json={"name": "  News   desk ", "avatar": PNG_DATA_URL},
        headers={"X-Audit-Log-Reason": "why%20not"},
    )

    webhook = response.ok()
    assert (webhook["type"], webhook["name"]) == (WebhookType.INCOMING, "News desk")
    assert (webhook["channel_id"], webhook["guild_id"]) == (str(guild.general), str(guild.id))
    assert webhook["application_id"] is None
    assert webhook["user"]["id"] == str(guild.owner.id)
    assert len(webhook["avatar"]) == 32
    assert len(webhook["token"]) == 68
    assert webhook["url"] == f"{world.url}/api/webhooks/{webhook['id']}/{webhook['token']}"
    event = await session.next("WEBHOOKS_UPDATE")
    assert event == {"guild_id": str(guild.id), "channel_id": str(guild.general)}
    (audit_entry,) = await guild.audit_entries(AuditLogAction.WEBHOOK_CREATE)
    assert (audit_entry["target_id"], audit_entry["user_id"], audit_entry["reason"]) == (
        webhook["id"],
        str(guild.owner.id),
        "why not",
    )
    changed_values = {change["key"]: change["new_value"] for change in audit_entry["changes"]}
    assert changed_values == {
        "type": WebhookType.INCOMING,
        "name": "News desk",
        "channel_id": str(guild.general),
        "avatar_hash": webhook["avatar"],
    }
    page = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs")).ok()
    assert [listed_webhook["id"] for listed_webhook in page["webhooks"]] == [webhook["id"]]
    assert "token" not in page["webhooks"][0]
    async with world.client.get(f"{world.url}/cdn/avatars/{webhook['id']}/{webhook['avatar']}.png") as image:
        assert image.status == 200


async def test_webhooks_are_listed_by_channel_and_by_guild(world: World) -> None:
    guild = await world.guild()
    other_channel_id = await guild.channel("other")
    first_webhook, second_webhook = (
        await create_webhook(world, guild.owner, guild.general),
        await create_webhook(world, guild.owner, other_channel_id),
    )

    listed_webhooks = (await guild.owner.get(f"/channels/{guild.general}/webhooks")).ok()
    assert [webhook_view["id"] for webhook_view in listed_webhooks] == [str(first_webhook.id)]
    assert listed_webhooks[0] == first_webhook.view
    assert {webhook["id"] for webhook in (await guild.owner.get(f"/guilds/{guild.id}/webhooks")).ok()} == {
        str(first_webhook.id),
        str(second_webhook.id),
    }
    assert (await guild.owner.get(f"/webhooks/{first_webhook.id}")).ok() == first_webhook.view


async def test_webhooks_of_hidden_channels_are_not_listed(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    await guild.allow_permissions(bob, MANAGE_WEBHOOKS)
    secret_channel_id = await guild.channel("secret")
    webhook = await create_webhook(world, guild.owner, secret_channel_id)
    await guild.overwrite(secret_channel_id, bob.id, deny=Permissions.VIEW_CHANNEL)

    assert (await bob.get(f"/guilds/{guild.id}/webhooks")).ok() == []
    (await bob.get(f"/webhooks/{webhook.id}")).rejected(403, 50001)
    (await bob.get(f"/channels/{secret_channel_id}/webhooks")).rejected(403, 50001)


@pytest.mark.parametrize("membership", ["outsider", "member", "manager"])
async def test_managing_webhooks_requires_manage_webhooks(world: World, membership: str) -> None:
    bob = await world.user()
    guild = await world.guild(None, *([] if membership == "outsider" else [bob]))
    webhook = await create_webhook(world, guild.owner, guild.general)
    if membership == "manager":
        await guild.allow_permissions(bob, MANAGE_WEBHOOKS)

    responses = [
        await bob.get(f"/channels/{guild.general}/webhooks"),
        await bob.get(f"/guilds/{guild.id}/webhooks"),
        await bob.post(f"/channels/{guild.general}/webhooks", json={"name": "a"}),
        await bob.get(f"/webhooks/{webhook.id}"),
        await bob.patch(f"/webhooks/{webhook.id}", json={"name": "b"}),
        await bob.delete(f"/webhooks/{webhook.id}"),
    ]

    for response in responses:
        if membership == "manager":
            response.ok()
        else:
            response.rejected(403, 50001 if membership == "outsider" else 50013)


async def test_unknown_webhooks_tokens_and_channels_are_rejected(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    for method in ("GET", "PATCH", "DELETE"):
        (await guild.owner.request(method, "/webhooks/1", json={})).rejected(404, 10015)
        (await world.request(method, "/webhooks/1/token", json={})).rejected(404, 10015)
        (await world.request(method, f"/webhooks/{webhook.id}/{'x' * 68}", json={})).rejected(401, 50027)
    (await world.request("POST", f"/webhooks/{webhook.id}/x", json={"content": "a"})).rejected(401, 50027)
    (await world.request("POST", "/webhooks/1/x", json={"content": "a"})).rejected(404, 10015)
    (await guild.owner.post("/channels/1/webhooks", json={"name": "a"})).rejected(404, 10003)
    (await guild.owner.get("/guilds/1/webhooks")).rejected(404, 10004)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "BASE_TYPE_BAD_LENGTH"),
        ("   ", "BASE_TYPE_BAD_LENGTH"),
        ("a" * 81, "BASE_TYPE_BAD_LENGTH"),
        ("Mr Clyde", "USERNAME_INVALID_CONTAINS"),
        ("the HUBBUB team", "USERNAME_INVALID_CONTAINS"),
    ],
)
async def test_invalid_webhook_names_are_rejected(world: World, name: str, code: str) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    response = await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": name})
    assert response.errors("name") == [code]
    assert (await guild.owner.patch(f"/webhooks/{webhook.id}", json={"name": name})).errors("name") == [code]
    assert (await world.request("PATCH", webhook.path, json={"name": name})).errors("name") == [code]
    if name:
        assert (await webhook.execute("hi", username=name)).errors("username") == [code]


async def test_a_webhook_requires_a_name_and_a_valid_avatar(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}/webhooks"

    assert (await guild.owner.post(path, json={})).errors("name") == ["BASE_TYPE_REQUIRED"]
    (await guild.owner.post(path, json={"name": "a", "avatar": "data:image/png;base64,AAAA"})).rejected(400, 50035)


async def test_categories_and_threads_have_no_webhooks(world: World) -> None:
    guild = await world.guild()
    category_id = await guild.channel("boxes", type=ChannelType.GUILD_CATEGORY)
    thread_id = (
        await guild.owner.post(
            f"/channels/{guild.general}/threads", json={"name": "t", "type": ChannelType.PUBLIC_THREAD}
        )
    ).ok()["id"]

    for channel_id in (category_id, thread_id):
        (await guild.owner.post(f"/channels/{channel_id}/webhooks", json={"name": "a"})).rejected(400, 50024)


async def test_a_channel_has_at_most_15_webhooks_and_a_guild_1000(world: World) -> None:
    guild = await world.guild()
    other_channel_id = await guild.channel("other")
    for _ in range(wire.WEBHOOKS_PER_CHANNEL_MAX):
        await create_webhook(world, guild.owner, guild.general)
    other_webhook = await create_webhook(world, guild.owner, other_channel_id)

    (await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "a"})).rejected(400, 30007)
    move_body = {"channel_id": str(guild.general)}
    (await guild.owner.patch(f"/webhooks/{other_webhook.id}", json=move_body)).rejected(400, 30007)

    def insert_webhooks(call: Any) -> None:
        # The guild has WEBHOOKS_PER_CHANNEL_MAX + 1 webhooks already.
        for number in range(1, wire.WEBHOOKS_PER_GUILD_MAX - wire.WEBHOOKS_PER_CHANNEL_MAX):
            store.insert(call.tx, WebhookRow(number, WebhookType.INCOMING, guild.id, 1, None, "a"))

    await world.write(insert_webhooks)
    (await guild.owner.post(f"/channels/{other_channel_id}/webhooks", json={"name": "a"})).rejected(400, 30058)


async def test_a_webhook_is_renamed_and_moved(world: World) -> None:
    guild = await world.guild()
    other_channel_id = await guild.channel("other")
    webhook = await create_webhook(world, guild.owner, guild.general, avatar=PNG_DATA_URL)
    session = await guild.owner.connect()

    body = {"name": "new", "avatar": None, "channel_id": str(other_channel_id)}
    changed_webhook = (await guild.owner.patch(f"/webhooks/{webhook.id}", json=body)).ok()

    assert (changed_webhook["name"], changed_webhook["avatar"], changed_webhook["channel_id"]) == (
        "new",
        None,
        str(other_channel_id),
    )
    assert changed_webhook["token"] == webhook.view["token"]
    updated_channels = [(await session.next("WEBHOOKS_UPDATE"))["channel_id"] for _ in range(2)]
    assert updated_channels == [str(guild.general), str(other_channel_id)]
    (audit_entry,) = await guild.audit_entries(AuditLogAction.WEBHOOK_UPDATE)
    changed_values = {
        change["key"]: (change.get("old_value"), change.get("new_value")) for change in audit_entry["changes"]
    }
    assert changed_values == {
        "name": ("hook", "new"),
        "avatar_hash": (webhook.view["avatar"], None),
        "channel_id": (str(guild.general), str(other_channel_id)),
    }
    assert (await webhook.send_message("hi"))["channel_id"] == str(other_channel_id)
    assert (await guild.owner.patch(f"/webhooks/{webhook.id}", json={"channel_id": None})).ok() == changed_webhook
    assert len(await guild.audit_entries(AuditLogAction.WEBHOOK_UPDATE)) == 1


async def test_moving_a_webhook_requires_manage_webhooks_in_the_target(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other_channel_id = await guild.channel("other")
    foreign_guild = await world.guild(bob)
    webhook = await create_webhook(world, guild.owner, guild.general)
    await guild.overwrite(guild.general, bob.id, allow=MANAGE_WEBHOOKS)

    (await bob.patch(f"/webhooks/{webhook.id}", json={"channel_id": str(other_channel_id)})).rejected(403, 50013)
    (await bob.patch(f"/webhooks/{webhook.id}", json={"channel_id": str(foreign_guild.general)})).rejected(404, 10003)
    (await bob.patch(f"/webhooks/{webhook.id}", json={"channel_id": "1"})).rejected(404, 10003)


async def test_a_deleted_webhook_can_no_longer_be_executed(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)
    session = await guild.owner.connect()
    message = await webhook.send_message("hi")

    assert (await guild.owner.delete(f"/webhooks/{webhook.id}")).status == 204

    await session.next("WEBHOOKS_UPDATE")
    (audit_entry,) = await guild.audit_entries(AuditLogAction.WEBHOOK_DELETE)
    assert {change["key"]: change["old_value"] for change in audit_entry["changes"]}["name"] == "hook"
    (await webhook.execute("again")).rejected(404, 10015)
    stored_message = (await guild.owner.get(f"/channels/{guild.general}/messages/{message['id']}")).ok()
    assert stored_message["author"] == message["author"]


async def test_a_token_alone_reads_renames_and_deletes(world: World) -> None:
    guild = await world.guild()
    other_channel_id = await guild.channel("other")
    webhook = await create_webhook(world, guild.owner, guild.general)
    session = await guild.owner.connect()

    view = (await world.request("GET", webhook.path)).ok()
    assert view == {key: value for key, value in webhook.view.items() if key != "user"}
    header = {"Authorization": "Bot nonsense"}
    changed_response = await world.request(
        "PATCH",
        webhook.path,
        json={"name": "new", "avatar": PNG_DATA_URL, "channel_id": str(other_channel_id)},
        headers=header,
    )
    assert (changed_response.ok()["name"], changed_response.ok()["channel_id"]) == ("new", str(guild.general))
    assert "user" not in changed_response.ok()
    await session.next("WEBHOOKS_UPDATE")
    (audit_entry,) = await guild.audit_entries(AuditLogAction.WEBHOOK_UPDATE)
    assert audit_entry["user_id"] is None
    assert (await world.request("DELETE", webhook.path)).status == 204
    await session.next("WEBHOOKS_UPDATE")
    assert len(await guild.audit_entries(AuditLogAction.WEBHOOK_DELETE)) == 1
    (await world.request("GET", webhook.path)).rejected(404, 10015)


async def test_a_webhook_created_by_a_bot_belongs_to_its_application(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=MANAGE_WEBHOOKS)
    webhook = await create_webhook(world, bot, guild.general)

    assert webhook.view["application_id"] == str(bot.application_id)
    assert webhook.view["user"]["bot"]
    # Other managers of webhooks can read the webhook without its token.
    view = (await guild.owner.get(f"/webhooks/{webhook.id}")).ok()
    assert "token" not in view
    assert "url" not in view
    # The application that owns the webhook can read it even without the permission.
    await guild.overwrite(guild.general, bot.id, deny=MANAGE_WEBHOOKS)
    assert (await bot.get(f"/webhooks/{webhook.id}")).ok()["token"] == webhook.view["token"]
    (await bot.delete(f"/webhooks/{webhook.id}")).rejected(403, 50013)


async def test_webhooks_are_deleted_with_their_channel(world: World) -> None:
    guild = await world.guild()
    other_channel_id = await guild.channel("other")
    webhook = await create_webhook(world, guild.owner, other_channel_id)

    (await guild.owner.delete(f"/channels/{other_channel_id}")).ok()

    (await world.request("GET", webhook.path)).rejected(404, 10015)
    assert (await guild.owner.get(f"/guilds/{guild.id}/webhooks")).ok() == []


async def test_webhooks_are_deleted_with_their_guild(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    assert (await guild.owner.delete(f"/guilds/{guild.id}")).status == 204

    (await webhook.execute("hi")).rejected(404, 10015)


async def test_webhook_tokens_are_not_stored(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    row = await world.write(lambda call: store.find(call.tx, webhook.id))

    assert webhook.view["token"] not in map(str, row)
    key = await world.write(lambda call: store.find_token_key(call.tx))
    assert tokens.derive_token(key, row) == webhook.view["token"]
    assert tokens.derive_token(key, row._replace(salt=tokens.new_salt())) != webhook.view["token"]
    assert not tokens.is_valid_token(None, row, webhook.view["token"])
    assert not tokens.is_valid_token(key, row._replace(salt=None), webhook.view["token"])


# Execution


async def test_a_webhook_message_has_the_webhook_as_author(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()
    webhook = await create_webhook(world, guild.owner, guild.general, "News", avatar=PNG_DATA_URL)

    message = await webhook.send_message("hello")

    assert message["author"] == {
        **message["author"],
        "id": str(webhook.id),
        "username": "News",
        "discriminator": "0000",
        "avatar": webhook.view["avatar"],
        "bot": True,
        "global_name": None,
    }
    assert message["webhook_id"] == str(webhook.id)
    assert "application_id" not in message
    event = await session.next("MESSAGE_CREATE")
    assert "member" not in event
    assert {key: event[key] for key in message} == message
    assert (await guild.owner.get(f"/channels/{guild.general}/messages")).ok() == [message]


async def test_without_wait_the_response_is_empty_and_the_message_is_created(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    response = await webhook.execute("quiet", "")

    assert (response.status, response.body) == (204, b"")
    (message,) = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    assert message["content"] == "quiet"


async def test_name_and_avatar_can_be_overridden_per_message(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general, "News", avatar=PNG_DATA_URL)

    overridden_message = await webhook.send_message(
        "a", username=" Some  body ", avatar_url="https://example.com/cat.png"
    )
    default_name = await webhook.send_message("b", avatar_url="https://example.com/cat.png")
    local_avatar = await webhook.send_message(
        "c", avatar_url=f"{world.url}/cdn/avatars/{webhook.id}/{webhook.view['avatar']}.png?size=64"
    )

    assert overridden_message["author"]["username"] == "Some body"
    assert overridden_message["author"]["avatar"] not in (None, webhook.view["avatar"])
    assert (default_name["author"]["username"], default_name["author"]["avatar"]) == (
        "News",
        overridden_message["author"]["avatar"],
    )
    assert local_avatar["author"]["avatar"] == webhook.view["avatar"]
    assert (await webhook.execute("d", avatar_url="cat.png")).errors("avatar_url") == ["URL_TYPE_INVALID_URL"]
    assert (await webhook.execute("d", avatar_url="ftp://a/b")).errors("avatar_url") == ["URL_TYPE_INVALID_SCHEME"]
    # Renaming the webhook does not change earlier messages.
    await world.request("PATCH", webhook.path, json={"name": "Renamed"})
    listed_messages = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    assert {message["author"]["username"] for message in listed_messages} == {"News", "Some body"}


async def test_empty_and_oversized_webhook_messages_are_rejected(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    (await webhook.execute()).rejected(400, 50006)
    (await webhook.execute("  ")).rejected(400, 50006)
    assert (await webhook.execute("a" * 2001)).errors("content") == ["BASE_TYPE_MAX_LENGTH"]
    assert (await webhook.execute(embeds=[{}])).errors("embeds.0.description") == ["BASE_TYPE_REQUIRED"]


async def test_a_webhook_mentions_only_users_by_default(world: World) -> None:
    guild = await world.guild()
    role_id = await guild.role("herd", mentionable=True)
    webhook = await create_webhook(world, guild.owner, guild.general)
    content = f"<@{guild.owner.id}> <@&{role_id}> @everyone"

    default = await webhook.send_message(content)
    explicit_message = await webhook.send_message(content, allowed_mentions={"parse": ["roles", "everyone"]})

    assert [user["id"] for user in default["mentions"]] == [str(guild.owner.id)]
    assert (default["mention_roles"], default["mention_everyone"]) == ([], False)
    assert explicit_message["mentions"] == []
    assert (explicit_message["mention_roles"], explicit_message["mention_everyone"]) == ([str(role_id)], True)


@pytest.mark.parametrize("creator", ["user", "bot"])
async def test_everyone_mentions_and_tts_depend_on_the_bot_or_the_everyone_role(world: World, creator: str) -> None:
    guild = await world.guild()
    bot = await world.bot(
        guild, permissions=MANAGE_WEBHOOKS | Permissions.MENTION_EVERYONE | Permissions.SEND_TTS_MESSAGES
    )
    tested_permissions = Permissions.MENTION_EVERYONE | Permissions.SEND_TTS_MESSAGES
    everyone = (await guild.owner.get(f"/guilds/{guild.id}/roles")).ok()[0]
    reduced_permissions = str(int(everyone["permissions"]) & ~tested_permissions)
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": reduced_permissions})).ok()
    webhook = await create_webhook(world, guild.owner if creator == "user" else bot, guild.general)

    message = await webhook.send_message("@everyone", allowed_mentions={"parse": ["everyone"]}, tts=True)

    assert message["mention_everyone"] is (creator == "bot")
    assert message["tts"] is (creator == "bot")


async def test_a_webhook_can_set_only_some_flags(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    message = await webhook.send_message(
        "a", flags=MessageFlags.SUPPRESS_NOTIFICATIONS | MessageFlags.CROSSPOSTED | MessageFlags.IS_VOICE_MESSAGE
    )

    assert message["flags"] == MessageFlags.SUPPRESS_NOTIFICATIONS


async def test_a_webhook_creates_a_poll(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)
    poll = {"question": {"text": "tea?"}, "answers": [{"poll_media": {"text": "yes"}}]}

    message = await webhook.send_message(poll=poll)

    assert message["poll"]["question"]["text"] == "tea?"
    change = await world.request("PATCH", f"{webhook.path}/messages/{message['id']}", json={"content": "a"})
    change.rejected(400, 520003)


async def test_webhooks_without_an_application_send_only_non_interactive_components(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)
    text = {"type": ComponentType.TEXT_DISPLAY, "content": "hello"}

    message_without_query = await webhook.send_message("a", components=[LINK_ROW])
    message_with_query = await webhook.send_message("a", "wait=true&with_components=true", components=[LINK_ROW])
    v2_message = await webhook.send_message(
        None, "wait=true&with_components=true", components=[text], flags=COMPONENTS_V2
    )

    assert message_without_query["components"] == []
    assert message_with_query["components"][0]["components"][0]["url"] == "https://example.com"
    assert v2_message["components"][0]["content"] == "hello"
    rejected_response = await webhook.execute("a", "with_components=true", components=[BUTTON_ROW])
    assert rejected_response.errors("components.0.components.0.type") == ["COMPONENT_TYPE_INVALID"]
    section = {"type": ComponentType.SECTION, "components": [text], "accessory": BUTTON_ROW["components"][0]}
    rejected_response = await webhook.execute(None, "with_components=true", components=[section], flags=COMPONENTS_V2)
    assert rejected_response.errors("components.0.accessory.type") == ["COMPONENT_TYPE_INVALID"]
    message = await webhook.send_message("a")
    for component_type in ([], {}, [2], {"a": 1}, "3", 3.5):
        response = await webhook.execute("a", "with_components=true", components=[{"type": component_type}])
        assert response.errors("components.0.type") == ["NUMBER_TYPE_COERCE"], component_type
        path = f"{webhook.path}/messages/{message['id']}?with_components=true"
        response = await world.request(
            "PATCH",
            path,
            json={"components": [{"type": ComponentType.ACTION_ROW, "components": [{"type": component_type}]}]},
        )
        assert response.errors("components.0.components.0.type") == ["NUMBER_TYPE_COERCE"], component_type
    (await webhook.execute(None, "", components=[text], flags=COMPONENTS_V2)).rejected(400, 50006)


async def test_an_applications_webhook_sends_any_component(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=MANAGE_WEBHOOKS)
    webhook = await create_webhook(world, bot, guild.general)

    message = await webhook.send_message("press", components=[BUTTON_ROW])

    assert message["components"][0]["components"][0]["custom_id"] == "a"
    assert message["application_id"] == str(bot.application_id)


async def test_a_bot_without_the_content_intent_reads_its_own_webhook_messages(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=MANAGE_WEBHOOKS, flags=0)
    session = await bot.connect(INTENTS_WITHOUT_CONTENT)
    own_webhook, other_webhook = (
        await create_webhook(world, bot, guild.general),
        await create_webhook(world, guild.owner, guild.general),
    )

    message = await own_webhook.send_message("own message")
    assert (await session.next("MESSAGE_CREATE"))["content"] == "own message"
    await world.request(
        "PATCH", f"{own_webhook.path}/messages/{message['id']}", json={"content": "own message, edited"}
    )
    assert (await session.next("MESSAGE_UPDATE"))["content"] == "own message, edited"
    await other_webhook.send_message("other message")
    assert (await session.next("MESSAGE_CREATE"))["content"] == ""
    contents = [message["content"] for message in (await bot.get(f"/channels/{guild.general}/messages")).ok()]
    assert contents == ["", "own message, edited"]


async def send_file(world: World, path: str, size: int, method: str = "POST", name: str = "files[0]") -> ApiResponse:
    """Send a message with a file of `size` bytes."""
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", json.dumps({"content": "look"}), content_type="application/json")
    form.add_field(name, bytes(size), filename="a.bin", content_type="application/octet-stream")
    return await world.request(method, path, data=form)


async def test_a_webhook_sends_files(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    message = (await send_file(world, f"{webhook.path}?wait=true", 3, name="file")).ok()

    assert [attachment["filename"] for attachment in message["attachments"]] == ["a.bin"]
    second_message = (await send_file(world, f"{webhook.path}/messages/{message['id']}", 4, "PATCH")).ok()
    assert [attachment["size"] for attachment in second_message["attachments"]] == [3, 4]


@pytest.mark.dated(changes.WEBHOOK_UPLOAD_10MIB)
async def test_the_file_size_limit_of_webhooks_changes_by_date(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    for offset_ms, limit_mib in ((-1, 25), (0, 10)):
        world.clock.set(changes.WEBHOOK_UPLOAD_10MIB.at_ms + offset_ms)
        (await send_file(world, f"{webhook.path}?wait=true", limit_mib << 20)).ok()
        (await send_file(world, f"{webhook.path}?wait=true", (limit_mib << 20) + 1)).rejected(413, 50045)


# Threads


async def test_a_webhook_sends_messages_to_threads_of_its_channel_and_unarchives_them(world: World) -> None:
    guild = await world.guild()
    other_channel_id = await guild.channel("other")
    webhook, other_webhook = (
        await create_webhook(world, guild.owner, guild.general),
        await create_webhook(world, guild.owner, other_channel_id),
    )
    thread_id = await guild.owner.create_thread(guild.general)
    (await guild.owner.patch(f"/channels/{thread_id}", json={"archived": True})).ok()
    session = await guild.owner.connect()

    message = await webhook.send_message("hi", f"wait=true&thread_id={thread_id}")

    assert message["channel_id"] == str(thread_id)
    assert message["position"] == 0
    assert (await session.next("THREAD_UPDATE"))["thread_metadata"]["archived"] is False
    assert (await session.next("MESSAGE_CREATE"))["id"] == message["id"]
    members = (await guild.owner.get(f"/channels/{thread_id}/thread-members")).ok()
    assert [member["user_id"] for member in members] == [str(guild.owner.id)]
    (await other_webhook.execute("hi", f"thread_id={thread_id}")).rejected(404, 10003)
    (await webhook.execute("hi", f"thread_id={other_channel_id}")).rejected(404, 10003)
    (await webhook.execute("hi", "thread_id=1")).rejected(404, 10003)
    (await webhook.execute("hi", thread_name="post")).rejected(400, 220003)
    (await guild.owner.patch(f"/channels/{thread_id}", json={"locked": True})).ok()
    (await webhook.execute("hi", f"thread_id={thread_id}")).rejected(400, 160005)


async def test_a_webhook_creates_a_forum_post(world: World) -> None:
    guild = await world.guild()
    forum_id = await guild.channel(
        "ideas", type=ChannelType.GUILD_FORUM, available_tags=[{"name": "a"}, {"name": "b", "moderated": True}]
    )
    tags = [tag["id"] for tag in (await guild.owner.get(f"/channels/{forum_id}")).ok()["available_tags"]]
    webhook = await create_webhook(world, guild.owner, forum_id)
    session = await guild.owner.connect()

    message = await webhook.send_message("first", thread_name=" Title ", applied_tags=tags[:1])

    thread = await session.next("THREAD_CREATE")
    assert message["id"] == message["channel_id"] == thread["id"]
    assert (thread["name"], thread["owner_id"], thread["newly_created"]) == ("Title", str(webhook.id), True)
    assert thread["applied_tags"] == tags[:1]
    assert (await session.next("MESSAGE_CREATE"))["id"] == message["id"]
    second_message = await webhook.send_message("second", f"wait=true&thread_id={message['channel_id']}")
    assert second_message["channel_id"] == message["channel_id"]
    assert [
        thread["id"] for thread in (await guild.owner.get(f"/guilds/{guild.id}/threads/active")).ok()["threads"]
    ] == [message["id"]]
    (await webhook.execute("a")).rejected(400, 220001)
    (await webhook.execute("a", f"thread_id={message['channel_id']}", thread_name="b")).rejected(400, 220002)
    (await webhook.execute("a", thread_name="b", applied_tags=["1"])).rejected(404, 10087)
    (await webhook.execute("a", thread_name="b", applied_tags=tags[1:])).rejected(403, 50013)
    assert (await webhook.execute("a", thread_name="  ")).errors("thread_name") == ["BASE_TYPE_BAD_LENGTH"]
    # A forum post is not created when its first message is rejected.
    (await webhook.execute(" ", thread_name="empty")).rejected(400, 50006)
    assert len((await guild.owner.get(f"/guilds/{guild.id}/threads/active")).ok()["threads"]) == 1


# Messages of a webhook


async def test_a_webhook_reads_edits_and_deletes_its_messages(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)
    message = await webhook.send_message(f"<@{guild.owner.id}>", embeds=[{"title": "t"}])
    session = await guild.owner.connect()
    path = f"{webhook.path}/messages/{message['id']}"

    assert (await world.request("GET", path)).ok() == message
    edited_message = (await world.request("PATCH", path, json={"content": "@everyone", "embeds": None})).ok()
    assert (edited_message["content"], edited_message["embeds"], edited_message["mention_everyone"]) == (
        "@everyone",
        [],
        False,
    )
    assert edited_message["edited_timestamp"] is not None
    assert edited_message["author"] == message["author"]
    event = await session.next("MESSAGE_UPDATE")
    assert (event["content"], event["webhook_id"]) == ("@everyone", str(webhook.id))
    assert "member" not in event
    (await world.request("PATCH", path, json={"content": None})).rejected(400, 50006)
    assert (await world.request("PATCH", path, json={"content": "a" * 2001})).errors("content")
    assert (await world.request("DELETE", path)).status == 204
    assert (await session.next("MESSAGE_DELETE"))["id"] == message["id"]
    for method in ("GET", "PATCH", "DELETE"):
        (await world.request(method, path, json={"content": "a"})).rejected(404, 10008)
    assert await guild.audit_entries(AuditLogAction.MESSAGE_DELETE) == []


async def test_a_webhook_cannot_access_messages_of_others(world: World) -> None:
    guild = await world.guild()
    first_webhook, second_webhook = (
        await create_webhook(world, guild.owner, guild.general),
        await create_webhook(world, guild.owner, guild.general),
    )
    webhook_message, user_message = await first_webhook.send_message("hi"), await guild.send_message(guild.owner)

    for message_id in (webhook_message["id"], user_message["id"]):
        for method in ("GET", "PATCH", "DELETE"):
            response = await world.request(
                method, f"{second_webhook.path}/messages/{message_id}", json={"content": "a"}
            )
            response.rejected(404, 10008)
    (await world.request("GET", f"/webhooks/{first_webhook.id}/x/messages/{webhook_message['id']}")).rejected(
        401, 50027
    )
    # The creator of a webhook cannot edit its messages either.
    path = f"/channels/{guild.general}/messages/{webhook_message['id']}"
    (await guild.owner.patch(path, json={"content": "a"})).rejected(403, 50005)
    assert (await guild.owner.delete(path)).status == 204
    (audit_entry,) = await guild.audit_entries(AuditLogAction.MESSAGE_DELETE)
    assert audit_entry["target_id"] == str(first_webhook.id)


async def test_messages_in_threads_require_the_thread_id(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)
    thread_id = await guild.owner.create_thread(guild.general)
    message = await webhook.send_message("hi", f"wait=true&thread_id={thread_id}")
    path = f"{webhook.path}/messages/{message['id']}"

    (await world.request("GET", path)).rejected(404, 10008)
    assert (await world.request("GET", f"{path}?thread_id={thread_id}")).ok()["id"] == message["id"]
    (await world.request("PATCH", f"{path}?thread_id={thread_id}", json={"content": "b"})).ok()
    (await world.request("GET", f"{path}?thread_id=1")).rejected(404, 10003)
    (await guild.owner.patch(f"/channels/{thread_id}", json={"archived": True})).ok()
    (await world.request("PATCH", f"{path}?thread_id={thread_id}", json={"content": "c"})).rejected(400, 50083)
    (await world.request("DELETE", f"{path}?thread_id={thread_id}")).rejected(400, 50083)


async def test_components_of_an_edit_require_with_components(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)
    message = await webhook.send_message("hi")
    path = f"{webhook.path}/messages/{message['id']}"

    assert (await world.request("PATCH", path, json={"components": [LINK_ROW]})).ok()["components"] == []
    view = (await world.request("PATCH", f"{path}?with_components=true", json={"components": [LINK_ROW]})).ok()
    assert len(view["components"]) == 1
    body: dict[str, Any] = {
        "content": None,
        "components": [{"type": ComponentType.TEXT_DISPLAY, "content": "new"}],
        "flags": COMPONENTS_V2,
    }
    assert (await world.request("PATCH", f"{path}?with_components=true", json=body)).ok()["flags"] & COMPONENTS_V2


async def test_users_reply_and_react_to_webhook_messages(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general, "News")
    message = await webhook.send_message("hello")
    session = await guild.owner.connect()

    reply = await guild.send_message(guild.owner, "yes", message_reference={"message_id": message["id"]})
    (await guild.owner.put(f"/channels/{guild.general}/messages/{message['id']}/reactions/%F0%9F%91%8D/@me")).ok()

    assert reply["referenced_message"]["author"]["username"] == "News"
    assert reply["mentions"] == []
    assert "message_author_id" not in await session.next("MESSAGE_REACTION_ADD")


# Limits


class TestLimits:
    """Rate limits of webhooks, with enforcement enabled."""

    @pytest.fixture
    def store_config(self) -> Config:
        """A configuration with enforced rate limits; the store does not matter."""
        return small_config(rate_limits="real")

    async def test_a_webhook_sends_5_messages_per_2_seconds_across_all_formats(self, world: World) -> None:
        guild = await world.guild()
        webhook, second_webhook = (
            await create_webhook(world, guild.owner, guild.general),
            await create_webhook(world, guild.owner, guild.general),
        )

        for _ in range(4):
            await webhook.send_message("a")
        assert (await world.request("POST", f"{webhook.path}/slack", json={"text": "a"})).status == 200
        rejected_response = await webhook.execute("a")
        assert rejected_response.status == 429
        assert rejected_response.json["retry_after"] == 2.0
        await second_webhook.send_message("b")
        world.clock.advance(2000)
        await webhook.send_message("c")

    async def test_guessing_webhook_tokens_and_codes_is_limited_by_ip_address(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rate_limits, "FAILED_LOOKUPS_MAX", 3)
        guild = await world.guild()
        webhook = await create_webhook(world, guild.owner, guild.general)
        path_without_token = webhook.path.rpartition("/")[0]
        for method, path, status in (
            ("GET", f"{path_without_token}/guess", 401),
            ("POST", "/interactions/1/guess/callback", 404),
            ("GET", "/invites/guess", 404),
        ):
            assert (await world.request(method, path, json={"type": 1})).status == status

        assert (await world.request("GET", f"{path_without_token}/other")).status == 429
        assert (await webhook.execute("a")).status == 429
        (await guild.owner.get(f"/channels/{guild.general}/webhooks")).ok()
        world.clock.advance(60_000)
        await webhook.send_message("b")

    async def test_a_channel_accepts_30_webhook_messages_per_minute(self, world: World) -> None:
        guild = await world.guild()
        webhooks = [await create_webhook(world, guild.owner, guild.general) for _ in range(4)]
        for number in range(30):
            if number == 20:
                world.clock.advance(2000)
            await webhooks[number % 4].send_message("a")

        world.clock.advance(2000)
        rejected_response = await webhooks[0].execute("a")
        assert rejected_response.status == 429
        assert rejected_response.json["retry_after"] == 56.0
        world.clock.advance(56_000)
        await webhooks[0].send_message("b")


# Slack


async def test_a_slack_message_is_converted_and_acknowledged(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)
    body = {
        "text": "deployed",
        "username": "CI",
        "icon_url": "https://example.com/ci.png",
        "channel": "#ignored",
        "attachments": [
            {
                "title": "Build 7",
                "title_link": "https://example.com/7",
                "pretext": "All of it:",
                "text": "green",
                "color": "#36a64f",
                "ts": 1_700_000_000,
                "author_name": "bob",
                "author_link": "https://example.com/bob",
                "footer": "by CI",
                "image_url": "https://example.com/a.png",
                "thumb_url": "https://example.com/b.png",
                "fields": [{"title": "time", "value": "3 s", "short": True}],
            }
        ],
    }

    response = await world.request("POST", f"{webhook.path}/slack", json=body)

    assert (response.status, response.body) == (200, b"ok")
    (message,) = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    assert (message["content"], message["author"]["username"]) == ("deployed", "CI")
    (embed,) = message["embeds"]
    assert (embed["title"], embed["url"], embed["color"]) == ("Build 7", "https://example.com/7", 0x36A64F)
    assert embed["description"] == "All of it:\ngreen"
    assert embed["timestamp"] == "2023-11-14T22:13:20.000000+00:00"
    assert embed["author"]["name"] == "bob"
    assert embed["footer"]["text"] == "by CI"
    assert embed["fields"] == [{"name": "time", "value": "3 s", "inline": True}]
    assert (embed["image"]["url"], embed["thumbnail"]["url"]) == (
        "https://example.com/a.png",
        "https://example.com/b.png",
    )


async def test_slack_messages_are_accepted_as_form_fields(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)
    path = f"{webhook.path}/slack"

    response = await world.request("POST", path, data={"payload": json.dumps({"text": "old style"})})
    assert response.body == b"ok"
    assert (await world.request("POST", path, data={"text": "flat"})).body == b"ok"
    listed_messages = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    assert [message["content"] for message in listed_messages] == ["flat", "old style"]
    for payload in ("{", '{"text": ' + "[" * 5000 + "]" * 5000 + "}", '{"more": ' + "[" * 5000 + "]" * 5000 + "}"):
        response = await world.request("POST", path, data={"payload": payload})
        assert response.errors("payload") == ["MODEL_TYPE_CONVERT"]


async def test_invalid_slack_messages_are_rejected(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)
    path = f"{webhook.path}/slack"

    (await world.request("POST", path, json={})).rejected(400, 50006)
    (await world.request("POST", f"/webhooks/{webhook.id}/x/slack", json={"text": "a"})).rejected(401, 50027)
    response = await world.request("POST", path, json={"attachments": [{"text": "a"}] * 11})
    assert response.errors("attachments") == ["BASE_TYPE_BAD_LENGTH"]
    response = await world.request("POST", path, json={"attachments": [{"text": "a", "color": "#zz"}]})
    assert response.errors("attachments.0.color") == ["STRING_TYPE_REGEX"]
    response = await world.request("POST", path, json={"attachments": [{"text": "a", "ts": "soon"}]})
    assert response.errors("attachments.0.ts")
    assert (await world.request("POST", path, json={"text": "a" * 2001})).errors("text") == ["BASE_TYPE_MAX_LENGTH"]


def test_slack_colors_are_converted_and_long_texts_truncated() -> None:
    body = wire.SlackWebhook(
        username="u" * 100,
        attachments=[
            wire.SlackAttachment(text="t" * 5000, color="good"),
            wire.SlackAttachment(title="T" * 300, color="#abc"),
        ],
    )

    request = slack.convert(body)

    assert isinstance(request.username, str)
    assert len(request.username) == 80
    assert request.embeds
    first_embed, second_embed = request.embeds
    assert first_embed.description == "t" * 4093 + "..."
    assert (first_embed.color, second_embed.color) == (0x2EB886, 0xAABBCC)
    assert second_embed.title == "T" * 253 + "..."


# GitHub

GITHUB_USER = {
    "id": 1,
    "login": "octocat",
    "html_url": "https://github.com/octocat",
    "avatar_url": "https://avatars.example/1",
}
GITHUB_REPOSITORY = {"id": 2, "html_url": "https://github.com/o/r", "name": "r", "full_name": "o/r"}
GITHUB_ISSUE = {
    "id": 3,
    "number": 5,
    "html_url": "https://github.com/o/r/issues/5",
    "user": GITHUB_USER,
    "title": "It hurts",
    "body": "here",
}
GITHUB_COMMENT = {
    "id": 4,
    "html_url": "https://github.com/o/r/c/4",
    "user": GITHUB_USER,
    "body": "I see",
    "commit_id": "0123456789abcdef",
}
GITHUB_COMMIT = {
    "id": "0123456789abcdef",
    "url": "https://github.com/o/r/commit/0",
    "message": "Fix it\n\nreally",
    "author": {"name": "Octo", "username": "octocat"},
}
GITHUB_CHECK_SUITE = {"head_sha": "0123456789", "head_branch": "main", "conclusion": "failure", "app": {"name": "CI"}}
GITHUB_DISCUSSION = {
    "title": "Why",
    "number": 9,
    "html_url": "https://github.com/o/r/d/9",
    "user": GITHUB_USER,
    "body": "so",
}

GITHUB_EVENT_CASES: list[tuple[str, dict[str, Any], str]] = [
    (
        "push",
        {"ref": "refs/heads/main", "commits": [GITHUB_COMMIT], "compare": "https://github.com/c"},
        "[r:main] 1 new commit",
    ),
    ("push", {"ref": "refs/heads/main", "commits": [GITHUB_COMMIT, GITHUB_COMMIT]}, "[r:main] 2 new commits"),
    (
        "push",
        {"ref": "refs/heads/main", "commits": [], "forced": True, "head_commit": GITHUB_COMMIT},
        "[r] Branch main was force-pushed to `0123456`",
    ),
    ("commit_comment", {"comment": GITHUB_COMMENT}, "[o/r] New comment on commit `0123456`"),
    ("create", {"ref": "dev", "ref_type": "branch"}, "[o/r] New branch created: dev"),
    ("delete", {"ref": "v1", "ref_type": "tag"}, "[o/r] Tag deleted: v1"),
    ("fork", {"forkee": {**GITHUB_REPOSITORY, "full_name": "x/r"}}, "[o/r] Fork created: x/r"),
    ("issues", {"action": "opened", "issue": GITHUB_ISSUE}, "[o/r] Issue opened: #5 It hurts"),
    ("issues", {"action": "closed", "issue": GITHUB_ISSUE}, "[o/r] Issue closed: #5 It hurts"),
    (
        "issue_comment",
        {"action": "created", "issue": GITHUB_ISSUE, "comment": GITHUB_COMMENT},
        "[o/r] New comment on issue #5: It hurts",
    ),
    (
        "issue_comment",
        {"action": "created", "issue": {**GITHUB_ISSUE, "pull_request": {}}, "comment": GITHUB_COMMENT},
        "[o/r] New comment on pull request #5: It hurts",
    ),
    ("member", {"action": "added", "member": GITHUB_USER}, "[o/r] New collaborator added: octocat"),
    ("public", {}, "[o/r] Now open sourced!"),
    ("pull_request", {"action": "reopened", "pull_request": GITHUB_ISSUE}, "[o/r] Pull request reopened: #5 It hurts"),
    (
        "pull_request_review",
        {
            "action": "submitted",
            "pull_request": GITHUB_ISSUE,
            "review": {"user": GITHUB_USER, "html_url": "https://github.com/r", "state": "approved", "body": None},
        },
        "[o/r] Pull request approved: #5 It hurts",
    ),
    (
        "pull_request_review_comment",
        {"action": "created", "pull_request": GITHUB_ISSUE, "comment": GITHUB_COMMENT},
        "[o/r] New review comment on pull request #5: It hurts",
    ),
    (
        "release",
        {
            "action": "published",
            "release": {"id": 1, "tag_name": "v2", "html_url": "https://github.com/v2", "author": GITHUB_USER},
        },
        "[o/r] New release published: v2",
    ),
    ("watch", {"action": "started"}, "[o/r] New star added"),
    (
        "check_run",
        {
            "action": "completed",
            "check_run": {
                "name": "lint",
                "html_url": "https://github.com/l",
                "conclusion": "success",
                "check_suite": GITHUB_CHECK_SUITE,
            },
        },
        "[o/r] lint success on main",
    ),
    ("check_suite", {"action": "completed", "check_suite": GITHUB_CHECK_SUITE}, "[o/r] CI checks failure on main"),
    ("discussion", {"action": "created", "discussion": GITHUB_DISCUSSION}, "[o/r] New discussion #9: Why"),
    (
        "discussion",
        {"action": "answered", "discussion": GITHUB_DISCUSSION, "answer": GITHUB_COMMENT},
        "[o/r] Answer marked for discussion #9: Why",
    ),
    (
        "discussion_comment",
        {"action": "created", "discussion": GITHUB_DISCUSSION, "comment": GITHUB_COMMENT},
        "[o/r] New comment on discussion #9: Why",
    ),
]


async def send_github_event(world: World, webhook: Webhook, event: str | None, **body: Any) -> ApiResponse:
    """Send an event to the webhook's GitHub endpoint."""
    headers = {} if event is None else {"X-GitHub-Event": event}
    payload = {"sender": GITHUB_USER, "repository": GITHUB_REPOSITORY, **body}
    return await world.request("POST", f"{webhook.path}/github", json=payload, headers=headers)


async def test_github_events_are_posted_as_embeds(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    for event, body, title in GITHUB_EVENT_CASES:
        assert (await send_github_event(world, webhook, event, **body)).status == 204
        message = (await guild.owner.get(f"/channels/{guild.general}/messages?limit=1")).ok()[0]
        (embed,) = message["embeds"]
        assert embed["title"] == title
        assert embed["author"]["name"] == "octocat"
        assert message["webhook_id"] == str(webhook.id)
    assert {event for event, _, _ in GITHUB_EVENT_CASES} == set(github.EMBED_BUILDERS) == GITHUB_EVENTS


async def test_a_push_lists_its_commits(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    await send_github_event(
        world, webhook, "push", ref="refs/heads/main", commits=[GITHUB_COMMIT], compare="https://github.com/c"
    )

    (message,) = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    commit_line = "[`0123456`](https://github.com/o/r/commit/0) Fix it - octocat"
    assert message["embeds"][0]["description"] == commit_line


async def test_unsupported_github_events_are_ignored_and_invalid_ones_rejected(world: World) -> None:
    guild = await world.guild()
    webhook = await create_webhook(world, guild.owner, guild.general)

    ignored_events: list[tuple[str | None, dict[str, Any]]] = [
        ("ping", {}),
        (None, {}),
        ("issues", {"action": "labeled", "issue": GITHUB_ISSUE}),
        ("push", {"ref": "refs/heads/main", "commits": []}),
        ("check_run", {"action": "created"}),
        *(
            (event, {"action": "whatever"})
            for event in github.EMBED_BUILDERS
            if event not in ("create", "delete", "public", "watch")
        ),
    ]
    for event, body in ignored_events:
        assert (await send_github_event(world, webhook, event, **body)).status == 204
    # spec/http.md#4.11: the body of an unsupported event is not validated.
    unsupported_headers = {"X-GitHub-Event": "security_advisory"}
    for body_variant in ({"action": "published"}, {"sender": GITHUB_USER, "release": "v1", "member": []}, []):
        assert (
            await world.request("POST", f"{webhook.path}/github", json=body_variant, headers=unsupported_headers)
        ).status == 204
    (await world.request("POST", f"/webhooks/{webhook.id}/x/github", json=[], headers=unsupported_headers)).rejected(
        401, 50027
    )
    push = await world.request(
        "POST", f"{webhook.path}/github", json={"commits": 5}, headers={"X-GitHub-Event": "push"}
    )
    assert push.errors("sender") == ["BASE_TYPE_REQUIRED"]
    assert (await guild.owner.get(f"/channels/{guild.general}/messages")).ok() == []
    (await world.request("POST", f"/webhooks/{webhook.id}/x/github", json={"sender": GITHUB_USER})).rejected(401, 50027)
    assert (await world.request("POST", f"{webhook.path}/github", json={})).errors("sender") == ["BASE_TYPE_REQUIRED"]


# Following


async def create_announcement_guild(world: World) -> tuple[Guild, int]:
    """Create a guild with an announcement channel; return the guild and the channel ID."""
    guild = await world.guild(name="Paper")
    channel_id = await guild.channel("news")
    await world.write(
        lambda call: call.tx.run(
            "UPDATE channels SET type = ? WHERE id = ?", int(ChannelType.GUILD_ANNOUNCEMENT), channel_id
        )
    )
    return guild, channel_id


async def follow(
    world: World, source: Guild, channel_id: int, target: Guild, target_channel_id: int | None = None
) -> int:
    """Follow an announcement channel as the owner of the target guild, who joins the source guild; return the webhook ID."""
    from hubbub.server.places import members

    if source.owner.id != target.owner.id:
        await world.write(lambda call: members.membership.add(call, source.id, target.owner.id), actor=source.owner.id)
    body = {"webhook_channel_id": str(target_channel_id or target.general)}
    return int((await target.owner.post(f"/channels/{channel_id}/followers", json=body)).ok()["webhook_id"])


async def test_a_channel_follows_announcements(world: World) -> None:
    source, channel = await create_announcement_guild(world)
    target = await world.guild()
    session = await target.owner.connect()

    webhook_id = await follow(world, source, channel, target)

    event = await session.next("WEBHOOKS_UPDATE")
    assert event == {"guild_id": str(target.id), "channel_id": str(target.general)}
    system_message = await session.next("MESSAGE_CREATE")
    assert (system_message["type"], system_message["content"]) == (MessageType.CHANNEL_FOLLOW_ADD, "Paper #news")
    assert system_message["author"]["id"] == str(target.owner.id)
    assert system_message["message_reference"] == {
        "type": MessageReferenceType.DEFAULT,
        "channel_id": str(channel),
        "guild_id": str(source.id),
    }
    (webhook,) = (await target.owner.get(f"/channels/{target.general}/webhooks")).ok()
    assert (webhook["id"], webhook["type"], webhook["name"]) == (
        str(webhook_id),
        WebhookType.CHANNEL_FOLLOWER,
        "Paper #news",
    )
    assert webhook["source_channel"] == {"id": str(channel), "name": "news"}
    assert webhook["source_guild"] == {"id": str(source.id), "icon": None, "name": "Paper"}
    assert "token" not in webhook
    (audit_entry,) = await target.audit_entries(AuditLogAction.WEBHOOK_CREATE)
    assert audit_entry["target_id"] == str(webhook_id)
    # Following twice returns the same webhook.
    assert await follow(world, source, channel, target) == webhook_id
    (await world.request("GET", f"/webhooks/{webhook_id}/None")).rejected(401, 50027)


async def test_following_requires_permissions_and_matching_channels(world: World) -> None:
    source, channel = await create_announcement_guild(world)
    bob = await world.user()
    target = await world.guild(None, bob)
    path = f"/channels/{channel}/followers"

    (await target.owner.post(path, json={"webhook_channel_id": str(target.general)})).rejected(403, 50001)
    (await source.owner.post(path, json={"webhook_channel_id": str(target.general)})).rejected(403, 50001)
    (await source.owner.post(path, json={"webhook_channel_id": "1"})).rejected(404, 10003)
    assert (await source.owner.post(path, json={})).errors("webhook_channel_id") == ["BASE_TYPE_REQUIRED"]
    body = {"webhook_channel_id": str(channel)}
    (await source.owner.post(path, json=body)).rejected(400, 50024)
    (await source.owner.post(f"/channels/{source.general}/followers", json=body)).rejected(400, 50024)
    voice_channel_id = await source.channel("voice", type=ChannelType.GUILD_VOICE)
    (await source.owner.post(path, json={"webhook_channel_id": str(voice_channel_id)})).rejected(400, 50024)
    from hubbub.server.places import members

    await world.write(lambda call: members.membership.add(call, source.id, bob.id), actor=source.owner.id)
    (await bob.post(path, json={"webhook_channel_id": str(target.general)})).rejected(403, 50013)
    for _ in range(15):
        await create_webhook(world, source.owner, source.general)
    (await source.owner.post(path, json={"webhook_channel_id": str(source.general)})).rejected(400, 30007)


async def test_a_crosspost_is_copied_updated_and_marked_as_deleted(world: World) -> None:
    source, channel = await create_announcement_guild(world)
    target = await world.guild()
    webhook_id = await follow(world, source, channel, target)
    session = await target.owner.connect()
    message = await source.send_message(
        source.owner, f"extra! <@{source.owner.id}> @everyone", channel, embeds=[{"title": "t"}]
    )
    path = f"/channels/{channel}/messages/{message['id']}"

    published_message = (await source.owner.post(f"{path}/crosspost")).ok()
    await world.run_due_jobs()

    assert published_message["flags"] == MessageFlags.CROSSPOSTED
    copy = await session.next("MESSAGE_CREATE", lambda event: event["channel_id"] == str(target.general))
    assert copy["content"] == message["content"]
    assert copy["embeds"] == message["embeds"]
    assert (copy["flags"], copy["webhook_id"], copy["type"]) == (
        MessageFlags.IS_CROSSPOST,
        str(webhook_id),
        MessageType.DEFAULT,
    )
    assert copy["author"]["username"] == "Paper #news"
    assert copy["message_reference"] == {
        "type": MessageReferenceType.DEFAULT,
        "channel_id": str(channel),
        "message_id": message["id"],
        "guild_id": str(source.id),
    }
    assert "referenced_message" not in copy
    assert copy["mention_everyone"] is False

    (await source.owner.patch(path, json={"content": "corrected", "embeds": []})).ok()
    await world.run_due_jobs()
    changed_event = await session.next("MESSAGE_UPDATE", lambda event: event["id"] == copy["id"])
    assert (changed_event["content"], changed_event["embeds"]) == ("corrected", [])
    assert changed_event["edited_timestamp"] is not None

    (await source.owner.delete(path)).ok()
    await world.run_due_jobs()
    deleted_event = await session.next("MESSAGE_UPDATE", lambda event: event["id"] == copy["id"])
    assert deleted_event["content"] == copies.DELETED_CONTENT
    assert deleted_event["flags"] == MessageFlags.IS_CROSSPOST | MessageFlags.SOURCE_MESSAGE_DELETED
    remaining_crossposts = await world.write(
        lambda call: store.list_crossposts(call.tx, channel, int(message["id"]), 0, 10)
    )
    assert remaining_crossposts == []


async def test_crossposts_are_delivered_in_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "BATCH_SIZE", 2)
    source, channel = await create_announcement_guild(world)
    target_channel_ids = [await source.channel(f"target{number}") for number in range(5)]
    for target in target_channel_ids:
        await follow(world, source, channel, source, target)
    message = await source.send_message(source.owner, "first", channel)
    path = f"/channels/{channel}/messages/{message['id']}"

    # An edit made before the copies exist is included in them or applied afterwards.
    (await source.owner.post(f"{path}/crosspost")).ok()
    (await source.owner.patch(path, json={"content": "second"})).ok()
    await world.run_due_jobs()

    async def fetch_contents() -> set[str]:
        pages = [(await source.owner.get(f"/channels/{target}/messages?limit=1")).ok() for target in target_channel_ids]
        return {page[0]["content"] for page in pages}

    assert await fetch_contents() == {"second"}
    first_copy = (await source.owner.get(f"/channels/{target_channel_ids[0]}/messages?limit=1")).ok()[0]
    (await source.owner.delete(f"/channels/{target_channel_ids[0]}/messages/{first_copy['id']}")).ok()
    (await source.owner.delete(path)).ok()
    await world.run_due_jobs()
    assert {
        (await source.owner.get(f"/channels/{target}/messages?limit=1")).ok()[0]["content"]
        for target in target_channel_ids[1:]
    } == {copies.DELETED_CONTENT}


async def test_a_poll_is_not_crossposted(world: World) -> None:
    source, channel = await create_announcement_guild(world)
    await follow(world, source, channel, source)
    poll = {"question": {"text": "tea?"}, "answers": [{"poll_media": {"text": "yes"}}]}
    message = await source.send_message(source.owner, "vote", channel, poll=poll)

    (await source.owner.post(f"/channels/{channel}/messages/{message['id']}/crosspost")).ok()
    await world.run_due_jobs()

    assert [message["type"] for message in (await source.owner.get(f"/channels/{source.general}/messages")).ok()] == [
        MessageType.CHANNEL_FOLLOW_ADD
    ]


async def test_a_channel_that_stops_following_receives_no_crossposts(world: World) -> None:
    source, channel = await create_announcement_guild(world)
    target = await world.guild()
    webhook_id = await follow(world, source, channel, target)
    (await target.owner.delete(f"/webhooks/{webhook_id}")).ok()
    message = await source.send_message(source.owner, "extra!", channel)

    (await source.owner.post(f"/channels/{channel}/messages/{message['id']}/crosspost")).ok()
    await world.run_due_jobs()

    assert [message["type"] for message in (await target.owner.get(f"/channels/{target.general}/messages")).ok()] == [
        MessageType.CHANNEL_FOLLOW_ADD
    ]


async def test_a_follower_webhook_remains_after_its_source_channel_is_deleted(world: World) -> None:
    source, channel = await create_announcement_guild(world)
    target = await world.guild()
    webhook_id = await follow(world, source, channel, target)

    (await source.owner.delete(f"/channels/{channel}")).ok()

    webhook = (await target.owner.get(f"/webhooks/{webhook_id}")).ok()
    assert "source_channel" not in webhook
    assert (await target.owner.patch(f"/webhooks/{webhook_id}", json={"name": "old news"})).ok()["name"] == "old news"
