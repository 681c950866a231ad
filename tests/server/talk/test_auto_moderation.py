"""Auto moderation: rules, matching of messages, threads and profiles, and actions."""

from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import (
    AuditLogAction,
    AutoModerationActionType,
    AutoModerationEventType,
    AutoModerationKeywordPresetType,
    AutoModerationTriggerType,
    ChannelType,
    ComponentType,
    InteractionCallbackType,
    MessageReferenceType,
    MessageType,
)
from hubbub.protocol.flags import MemberFlags, MessageFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.app import App
from hubbub.server.composition import SLICES
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import AutoModerationConfig
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.places import members
from tests.fixtures.validator import ResponseMonitor
from tests.server.play.interaction_setup import InteractionSetup
from tests.world import NOW_MS, Actor, Guild, World, small_config

PROFANITY = AutoModerationKeywordPresetType.PROFANITY
SLURS = AutoModerationKeywordPresetType.SLURS
BLOCK_ACTION: dict[str, Any] = {"type": AutoModerationActionType.BLOCK_MESSAGE}
QUARANTINE_ACTION: dict[str, Any] = {"type": AutoModerationActionType.BLOCK_MEMBER_INTERACTION}
NAME_QUARANTINED = MemberFlags.AUTOMOD_QUARANTINED_USERNAME
TAG_QUARANTINED = MemberFlags.AUTOMOD_QUARANTINED_GUILD_TAG


def alert_action(channel_id: int) -> dict[str, Any]:
    return {"type": AutoModerationActionType.SEND_ALERT_MESSAGE, "metadata": {"channel_id": str(channel_id)}}


def timeout_action(seconds: int = 60) -> dict[str, Any]:
    return {"type": AutoModerationActionType.TIMEOUT, "metadata": {"duration_seconds": seconds}}


def keyword_rule(*keywords: str, **body: Any) -> dict[str, Any]:
    return {
        "name": "words",
        "event_type": AutoModerationEventType.MESSAGE_SEND,
        "trigger_type": AutoModerationTriggerType.KEYWORD,
        "trigger_metadata": {"keyword_filter": list(keywords)},
        "actions": [BLOCK_ACTION],
        "enabled": True,
        **body,
    }


def profile_rule(*keywords: str, **body: Any) -> dict[str, Any]:
    return {
        **keyword_rule(*keywords),
        "event_type": AutoModerationEventType.MEMBER_UPDATE,
        "trigger_type": AutoModerationTriggerType.MEMBER_PROFILE,
        "actions": [QUARANTINE_ACTION],
        **body,
    }


async def create_rule(guild: Guild, body: dict[str, Any]) -> Any:
    """Create a rule as the owner and return it."""
    return (await guild.owner.post(f"/guilds/{guild.id}/auto-moderation/rules", json=body)).ok()


async def post_message(actor: Actor, guild: Guild, content: str, **body: Any) -> Any:
    """Send a message and return the response, which may be an error."""
    return await actor.post(f"/channels/{guild.general}/messages", json={"content": content, **body})


async def create_guild_with_member(world: World) -> tuple[Guild, Actor]:
    """Create a guild and a member without special permissions."""
    bob = await world.user()
    return await world.guild(None, bob), bob


async def fetch_member_flags(guild: Guild, actor: Actor) -> int:
    return int((await guild.owner.get(f"/guilds/{guild.id}/members/{actor.id}")).ok()["flags"])


# Rules


async def test_creating_a_rule_publishes_an_event_and_an_audit_entry(world: World) -> None:
    guild, _ = await create_guild_with_member(world)
    role_id, channel_id = await guild.role("trusted"), await guild.channel("alerts")
    manager = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    other_bot = await world.bot(guild)
    manager_session, other_session = await manager.connect(), await other_bot.connect()
    body = keyword_rule(
        "bad*",
        actions=[
            {"type": AutoModerationActionType.BLOCK_MESSAGE, "metadata": {"custom_message": "no"}},
            alert_action(channel_id),
            timeout_action(),
        ],
        exempt_roles=[str(role_id), "1"],
        exempt_channels=[str(channel_id), "1"],
    )
    body["trigger_metadata"] |= {"regex_patterns": ["b[4a]d"], "allow_list": ["badge"]}

    rule = await create_rule(guild, body)

    assert rule["trigger_metadata"] == body["trigger_metadata"]
    assert rule["actions"] == body["actions"]
    assert (rule["exempt_roles"], rule["exempt_channels"]) == ([str(role_id)], [str(channel_id)])
    assert (rule["creator_id"], rule["guild_id"], rule["enabled"]) == (str(guild.owner.id), str(guild.id), True)
    assert await manager_session.next("AUTO_MODERATION_RULE_CREATE") == rule
    await other_session.assert_not_received("AUTO_MODERATION_RULE_CREATE")
    path = f"/guilds/{guild.id}/auto-moderation/rules"
    assert (await guild.owner.get(path)).ok() == [rule]
    assert (await manager.get(f"{path}/{rule['id']}")).ok() == rule
    [audit_entry] = await guild.audit_entries(AuditLogAction.AUTO_MODERATION_RULE_CREATE)
    assert audit_entry["target_id"] == rule["id"]
    assert {"key": "name", "new_value": "words"} in audit_entry["changes"]
    page = (
        await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type={AuditLogAction.AUTO_MODERATION_RULE_CREATE}")
    ).ok()
    assert page["auto_moderation_rules"] == [rule]


async def test_a_rule_has_defaults(world: World) -> None:
    guild, _ = await create_guild_with_member(world)
    created_rules = [
        await create_rule(
            guild,
            {
                "name": "r",
                "event_type": AutoModerationEventType.MESSAGE_SEND,
                "trigger_type": AutoModerationTriggerType.KEYWORD,
            },
        ),
        await create_rule(
            guild,
            {
                "name": "r",
                "event_type": AutoModerationEventType.MESSAGE_SEND,
                "trigger_type": AutoModerationTriggerType.SPAM,
            },
        ),
        await create_rule(
            guild,
            {
                "name": "r",
                "event_type": AutoModerationEventType.MESSAGE_SEND,
                "trigger_type": AutoModerationTriggerType.KEYWORD_PRESET,
                "trigger_metadata": {"presets": [PROFANITY, SLURS]},
            },
        ),
        await create_rule(
            guild,
            {
                "name": "r",
                "event_type": AutoModerationEventType.MESSAGE_SEND,
                "trigger_type": AutoModerationTriggerType.MENTION_SPAM,
            },
        ),
        await create_rule(
            guild,
            {
                "name": "r",
                "event_type": AutoModerationEventType.MEMBER_UPDATE,
                "trigger_type": AutoModerationTriggerType.MEMBER_PROFILE,
                "trigger_metadata": {},
            },
        ),
    ]

    keyword_metadata = {"keyword_filter": [], "regex_patterns": [], "allow_list": []}
    assert [rule["trigger_metadata"] for rule in created_rules] == [
        keyword_metadata,
        {},
        {"presets": [PROFANITY, SLURS], "allow_list": []},
        {"mention_total_limit": 20, "mention_raid_protection_enabled": False},
        keyword_metadata,
    ]
    assert [rule["actions"][0]["type"] for rule in created_rules] == [
        *[AutoModerationActionType.BLOCK_MESSAGE] * 4,
        AutoModerationActionType.BLOCK_MEMBER_INTERACTION,
    ]
    assert not any(rule["enabled"] for rule in created_rules)


async def test_a_rule_is_updated_and_deleted(world: World) -> None:
    guild, _ = await create_guild_with_member(world)
    session = await (await world.bot(guild, permissions=Permissions.MANAGE_GUILD)).connect()
    rule = await create_rule(guild, keyword_rule("bad"))
    path = f"/guilds/{guild.id}/auto-moderation/rules/{rule['id']}"

    unchanged_rule = (await guild.owner.patch(path, json={"name": "words"})).ok()
    changed_rule = (
        await guild.owner.patch(
            path, json={"name": "new", "enabled": False, "trigger_metadata": {"keyword_filter": ["worse"]}}
        )
    ).ok()

    assert unchanged_rule == rule
    assert changed_rule == rule | {
        "name": "new",
        "enabled": False,
        "trigger_metadata": rule["trigger_metadata"] | {"keyword_filter": ["worse"]},
    }
    assert await session.next("AUTO_MODERATION_RULE_UPDATE") == changed_rule
    [audit_entry] = await guild.audit_entries(AuditLogAction.AUTO_MODERATION_RULE_UPDATE)
    assert {change["key"] for change in audit_entry["changes"]} == {"name", "enabled", "trigger_metadata"}

    assert (await guild.owner.delete(path)).status == 204

    assert await session.next("AUTO_MODERATION_RULE_DELETE") == changed_rule
    [audit_entry] = await guild.audit_entries(AuditLogAction.AUTO_MODERATION_RULE_DELETE)
    assert {"key": "name", "old_value": "new"} in audit_entry["changes"]
    for response in (
        await guild.owner.get(path),
        await guild.owner.patch(path, json={}),
        await guild.owner.delete(path),
    ):
        response.rejected(404, 0)


async def test_rules_require_manage_guild(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    stranger = await world.user()
    rule = await create_rule(guild, keyword_rule("bad"))
    path = f"/guilds/{guild.id}/auto-moderation/rules"
    for method, url, body in (
        ("GET", path, None),
        ("POST", path, keyword_rule("x")),
        ("GET", f"{path}/{rule['id']}", None),
        ("PATCH", f"{path}/{rule['id']}", {"name": "x"}),
        ("DELETE", f"{path}/{rule['id']}", None),
    ):
        (await bob.request(method, url, json=body)).rejected(403, 50013)
        (await stranger.request(method, url, json=body)).rejected(403, 50001)
    other_guild = await world.guild(guild.owner)
    other_guild_path = f"/guilds/{other_guild.id}/auto-moderation/rules/{rule['id']}"
    (await guild.owner.get(other_guild_path)).rejected(404, 0)


async def test_a_timeout_action_requires_moderate_members(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    await guild.allow_permissions(bob, Permissions.MANAGE_GUILD)
    path = f"/guilds/{guild.id}/auto-moderation/rules"
    (await bob.post(path, json=keyword_rule("x", actions=[timeout_action()]))).rejected(403, 50013)
    rule = (await bob.post(path, json=keyword_rule("x"))).ok()
    (await bob.patch(f"{path}/{rule['id']}", json={"actions": [timeout_action()]})).rejected(403, 50013)
    await guild.allow_permissions(bob, Permissions.MODERATE_MEMBERS)
    (await bob.patch(f"{path}/{rule['id']}", json={"actions": [timeout_action()]})).ok()


@pytest.mark.parametrize(
    "change",
    [
        {"trigger_metadata": {"keyword_filter": ["the"]}},
        {"exempt_roles": []},
        {"exempt_channels": []},
        {"enabled": True},
    ],
)
async def test_changing_a_rule_with_a_timeout_requires_moderate_members(world: World, change: dict[str, Any]) -> None:
    guild = await world.guild()
    bob = await guild.member(Permissions.MANAGE_GUILD)
    role_id = await guild.role("trusted")
    is_enabled = "enabled" not in change
    body = keyword_rule(
        "x",
        actions=[timeout_action()],
        enabled=is_enabled,
        exempt_roles=[str(role_id)],
        exempt_channels=[str(guild.general)],
    )
    path = f"/guilds/{guild.id}/auto-moderation/rules/{(await create_rule(guild, body))['id']}"
    (await bob.patch(path, json=change)).rejected(403, 50013)
    # These changes do not time out more members, so they do not require the permission.
    (await bob.patch(path, json={"name": "other"})).ok()
    (await bob.patch(path, json={"enabled": False})).ok()
    (await bob.patch(path, json={"actions": [BLOCK_ACTION]})).ok()
    (await bob.patch(path, json=change)).ok()


async def test_an_alert_channel_must_be_one_the_caller_can_write_to(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member(Permissions.MANAGE_GUILD)
    hidden_channel_id, silent_channel_id = await guild.channel("hidden"), await guild.channel("silent")
    await guild.overwrite(hidden_channel_id, bob.id, deny=Permissions.VIEW_CHANNEL)
    await guild.overwrite(silent_channel_id, bob.id, deny=Permissions.SEND_MESSAGES)
    path = f"/guilds/{guild.id}/auto-moderation/rules"
    for channel_id in (hidden_channel_id, silent_channel_id):
        response = await bob.post(path, json=keyword_rule("x", actions=[alert_action(channel_id)]))
        assert response.errors("actions.0.metadata.channel_id") == ["AUTO_MODERATION_INVALID_ALERT_CHANNEL"]
    rule = (await bob.post(path, json=keyword_rule("x", actions=[alert_action(guild.general)]))).ok()
    response = await bob.patch(f"{path}/{rule['id']}", json={"actions": [alert_action(hidden_channel_id)]})
    assert response.errors("actions.0.metadata.channel_id") == ["AUTO_MODERATION_INVALID_ALERT_CHANNEL"]
    # A request may repeat an alert channel that another member chose.
    (await guild.owner.patch(f"{path}/{rule['id']}", json={"actions": [alert_action(hidden_channel_id)]})).ok()
    (await bob.patch(f"{path}/{rule['id']}", json={"actions": [BLOCK_ACTION, alert_action(hidden_channel_id)]})).ok()


@pytest.mark.parametrize(
    ("trigger_type", "rules_max"),
    [
        (AutoModerationTriggerType.KEYWORD, 6),
        (AutoModerationTriggerType.SPAM, 1),
        (AutoModerationTriggerType.KEYWORD_PRESET, 1),
        (AutoModerationTriggerType.MENTION_SPAM, 1),
        (AutoModerationTriggerType.MEMBER_PROFILE, 1),
    ],
)
async def test_the_number_of_rules_per_trigger_type_is_limited(world: World, trigger_type: int, rules_max: int) -> None:
    guild, _ = await create_guild_with_member(world)
    is_profile = trigger_type == AutoModerationTriggerType.MEMBER_PROFILE
    event_type = AutoModerationEventType.MEMBER_UPDATE if is_profile else AutoModerationEventType.MESSAGE_SEND
    body = {"name": "r", "event_type": event_type, "trigger_type": trigger_type, "trigger_metadata": {}}
    for _ in range(rules_max):
        await create_rule(guild, body)
    response = await guild.owner.post(f"/guilds/{guild.id}/auto-moderation/rules", json=body)
    assert response.errors("trigger_type") == ["AUTO_MODERATION_MAX_RULES_OF_TYPE_EXCEEDED"]


async def test_an_invalid_rule_is_rejected_with_the_path_of_the_error(world: World) -> None:
    guild, _ = await create_guild_with_member(world)
    forum_id = await guild.channel("forum", type=ChannelType.GUILD_FORUM)
    other_guild_channel_id = (await world.guild()).general
    path = f"/guilds/{guild.id}/auto-moderation/rules"

    async def assert_rejected(
        error_path: str, code: str, body: dict[str, Any], method: str = "POST", subpath: str = ""
    ) -> None:
        response = await guild.owner.request(method, path + subpath, json=body)
        assert response.errors(error_path) == [code]

    def rule_with_metadata(**metadata: Any) -> dict[str, Any]:
        return keyword_rule(trigger_metadata=metadata)

    await assert_rejected(
        "name",
        "BASE_TYPE_REQUIRED",
        {"event_type": AutoModerationEventType.MESSAGE_SEND, "trigger_type": AutoModerationTriggerType.KEYWORD},
    )
    await assert_rejected("name", "BASE_TYPE_BAD_LENGTH", keyword_rule(name="x" * 101))
    await assert_rejected(
        "event_type", "BASE_TYPE_CHOICES", keyword_rule(event_type=AutoModerationEventType.MEMBER_UPDATE)
    )
    await assert_rejected(
        "event_type", "BASE_TYPE_CHOICES", profile_rule("x", event_type=AutoModerationEventType.MESSAGE_SEND)
    )
    await assert_rejected("trigger_metadata", "BASE_TYPE_REQUIRED", profile_rule(trigger_metadata=None))
    await assert_rejected(
        "trigger_metadata",
        "BASE_TYPE_REQUIRED",
        keyword_rule(trigger_type=AutoModerationTriggerType.KEYWORD_PRESET, trigger_metadata=None),
    )
    await assert_rejected("trigger_metadata.keyword_filter.1", "BASE_TYPE_BAD_LENGTH", keyword_rule("x", "**"))
    await assert_rejected("trigger_metadata.keyword_filter", "BASE_TYPE_BAD_LENGTH", keyword_rule(*["x"] * 1001))
    await assert_rejected("trigger_metadata.keyword_filter.0", "BASE_TYPE_BAD_LENGTH", keyword_rule("x" * 61))
    await assert_rejected(
        "trigger_metadata.allow_list", "BASE_TYPE_BAD_LENGTH", rule_with_metadata(allow_list=["x"] * 101)
    )
    await assert_rejected(
        "trigger_metadata.regex_patterns", "BASE_TYPE_BAD_LENGTH", rule_with_metadata(regex_patterns=["x"] * 11)
    )
    await assert_rejected(
        "trigger_metadata.regex_patterns.0", "BASE_TYPE_BAD_LENGTH", rule_with_metadata(regex_patterns=["x" * 261])
    )
    for pattern in ("(", r"(a)\1", "a(?=b)", r"\p{L}{1000}"):
        code = "AUTO_MODERATION_INVALID_REGEX"
        await assert_rejected(
            "trigger_metadata.regex_patterns.1", code, rule_with_metadata(regex_patterns=["fine", pattern])
        )
    preset = {
        "trigger_type": AutoModerationTriggerType.KEYWORD_PRESET,
        "trigger_metadata": {"presets": [PROFANITY, PROFANITY]},
    }
    await assert_rejected("trigger_metadata.presets.1", "SET_TYPE_ALREADY_CONTAINS_VALUE", keyword_rule(**preset))
    limit = {"trigger_type": AutoModerationTriggerType.MENTION_SPAM, "trigger_metadata": {"mention_total_limit": 51}}
    await assert_rejected("trigger_metadata.mention_total_limit", "NUMBER_TYPE_MAX", keyword_rule(**limit))
    await assert_rejected("actions.0.type", "BASE_TYPE_CHOICES", keyword_rule(actions=[QUARANTINE_ACTION]))
    for action in (BLOCK_ACTION, timeout_action()):
        await assert_rejected("actions.0.type", "BASE_TYPE_CHOICES", profile_rule(actions=[action]))
    for trigger_type in (AutoModerationTriggerType.SPAM, AutoModerationTriggerType.KEYWORD_PRESET):
        body = keyword_rule(trigger_type=trigger_type, actions=[timeout_action()])
        await assert_rejected("actions.0.type", "BASE_TYPE_CHOICES", body)
    await assert_rejected(
        "actions.1", "SET_TYPE_ALREADY_CONTAINS_VALUE", keyword_rule(actions=[BLOCK_ACTION, BLOCK_ACTION])
    )
    await assert_rejected(
        "actions.0.metadata.channel_id",
        "BASE_TYPE_REQUIRED",
        keyword_rule(actions=[{"type": AutoModerationActionType.SEND_ALERT_MESSAGE}]),
    )
    for channel in (forum_id, other_guild_channel_id, 1):
        code = "AUTO_MODERATION_INVALID_ALERT_CHANNEL"
        await assert_rejected("actions.0.metadata.channel_id", code, keyword_rule(actions=[alert_action(channel)]))
    await assert_rejected(
        "actions.0.metadata.duration_seconds",
        "BASE_TYPE_REQUIRED",
        keyword_rule(actions=[{"type": AutoModerationActionType.TIMEOUT}]),
    )
    await assert_rejected(
        "actions.0.metadata.duration_seconds", "NUMBER_TYPE_MAX", keyword_rule(actions=[timeout_action(2_419_201)])
    )
    long_message_action = [{"type": AutoModerationActionType.BLOCK_MESSAGE, "metadata": {"custom_message": "x" * 151}}]
    await assert_rejected(
        "actions.0.metadata.custom_message", "BASE_TYPE_MAX_LENGTH", keyword_rule(actions=long_message_action)
    )
    await assert_rejected("exempt_roles", "BASE_TYPE_BAD_LENGTH", keyword_rule(exempt_roles=["1"] * 21))
    await assert_rejected("exempt_roles.1", "SET_TYPE_ALREADY_CONTAINS_VALUE", keyword_rule(exempt_roles=["1", "1"]))
    await assert_rejected("exempt_channels", "BASE_TYPE_BAD_LENGTH", keyword_rule(exempt_channels=["1"] * 51))
    rule = await create_rule(guild, keyword_rule("x"))
    await assert_rejected(
        "trigger_type", "BASE_TYPE_CHOICES", {"trigger_type": AutoModerationTriggerType.SPAM}, "PATCH", f"/{rule['id']}"
    )


@pytest.mark.dated(changes.MEMBER_PROFILE_RULES)
async def test_profile_rules_exist_from_their_date(world: World) -> None:
    guild, _ = await create_guild_with_member(world)
    path = f"/guilds/{guild.id}/auto-moderation/rules"
    world.clock.set(changes.MEMBER_PROFILE_RULES.at_ms - 1)
    assert (await guild.owner.post(path, json=profile_rule("x"))).errors("trigger_type") == ["BASE_TYPE_CHOICES"]
    world.clock.set(changes.MEMBER_PROFILE_RULES.at_ms)
    (await guild.owner.post(path, json=profile_rule("x"))).ok()


async def test_deleting_a_guild_deletes_its_rules(world: World) -> None:
    guild, _ = await create_guild_with_member(world)
    await create_rule(guild, keyword_rule("bad"))

    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()

    def count_rules(call: Any) -> int:
        return int(call.tx.value("SELECT COUNT(*) FROM auto_moderation_rules"))

    assert await world.write(count_rules) == 0


# Messages


async def test_a_blocked_message_is_rejected_and_its_actions_are_executed(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    alerts_channel_id = await guild.channel("alerts")
    session = await (await world.bot(guild, permissions=Permissions.MANAGE_GUILD)).connect()
    actions = [
        {"type": AutoModerationActionType.BLOCK_MESSAGE, "metadata": {"custom_message": "Not here, please."}},
        alert_action(alerts_channel_id),
        timeout_action(60),
    ]
    rule = await create_rule(guild, keyword_rule("bad*", actions=actions))

    response = await post_message(bob, guild, "so BADLY said", nonce="1", enforce_nonce=True)

    assert response.rejected(400, 200000)["message"] == "Not here, please."
    common_event_fields = {
        "guild_id": str(guild.id),
        "rule_id": rule["id"],
        "rule_trigger_type": AutoModerationTriggerType.KEYWORD,
        "user_id": str(bob.id),
        "channel_id": str(guild.general),
        "content": "so BADLY said",
        "matched_keyword": "bad*",
        "matched_content": "BAD",
    }
    executions = {}
    for _ in range(3):
        execution_event = await session.next("AUTO_MODERATION_ACTION_EXECUTION")
        executions[execution_event["action"]["type"]] = execution_event
    assert executions[AutoModerationActionType.BLOCK_MESSAGE] == {**common_event_fields, "action": rule["actions"][0]}
    assert executions[AutoModerationActionType.TIMEOUT] == {**common_event_fields, "action": rule["actions"][2]}
    [message] = (await guild.owner.get(f"/channels/{alerts_channel_id}/messages")).ok()
    assert executions[AutoModerationActionType.SEND_ALERT_MESSAGE] == {
        **common_event_fields,
        "action": rule["actions"][1],
        "alert_system_message_id": message["id"],
    }
    assert (message["type"], message["author"]["id"], message["content"]) == (
        MessageType.AUTO_MODERATION_ACTION,
        str(bob.id),
        "",
    )
    [embed] = message["embeds"]
    assert (embed["type"], embed["description"]) == ("auto_moderation_message", "so BADLY said")
    fields = {field["name"]: field["value"] for field in embed["fields"]}
    assert fields["rule_name"] == "words"
    assert fields["keyword_matched_content"] == "BAD"
    assert fields["timeout_duration"] == "60"
    for action in (
        AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE,
        AuditLogAction.AUTO_MODERATION_FLAG_TO_CHANNEL,
        AuditLogAction.AUTO_MODERATION_USER_COMMUNICATION_DISABLED,
    ):
        [audit_entry] = await guild.audit_entries(action)
        assert (audit_entry["user_id"], audit_entry["target_id"]) == (str(bob.id), str(bob.id))
        assert audit_entry["options"] == {
            "auto_moderation_rule_name": "words",
            "auto_moderation_rule_trigger_type": "1",
            "channel_id": str(guild.general),
        }
    assert (await guild.owner.get(f"/channels/{guild.general}/messages")).ok() == []
    assert await guild.audit_entries(AuditLogAction.MEMBER_UPDATE) == []
    (await post_message(bob, guild, "sorry")).rejected(403, 50013)
    world.clock.advance(60_001)
    # Nothing of the blocked message was stored, not even its nonce.
    assert (await post_message(bob, guild, "sorry", nonce="1", enforce_nonce=True)).ok()["content"] == "sorry"


async def test_a_message_that_is_not_blocked_is_created_and_flagged(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    alerts_channel_id = await guild.channel("alerts")
    session = await (await world.bot(guild, permissions=Permissions.MANAGE_GUILD)).connect()
    await create_rule(guild, keyword_rule("bad", actions=[alert_action(alerts_channel_id)]))

    message = await guild.send_message(bob, "bad but said")

    execution_event = await session.next("AUTO_MODERATION_ACTION_EXECUTION")
    assert execution_event["message_id"] == message["id"]
    [alert_message] = (await guild.owner.get(f"/channels/{alerts_channel_id}/messages")).ok()
    fields = {field["name"]: field["value"] for field in alert_message["embeds"][0]["fields"]}
    assert fields["flagged_message_id"] == message["id"]
    assert [
        entry["options"]["channel_id"]
        for entry in await guild.audit_entries(AuditLogAction.AUTO_MODERATION_FLAG_TO_CHANNEL)
    ] == [str(guild.general)]


async def test_content_is_hidden_from_bots_without_the_intent(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    bot = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    session = await bot.connect(Intents.BOT_MASK & ~Intents.MESSAGE_CONTENT)
    await create_rule(guild, keyword_rule("bad"))

    (await post_message(bob, guild, "bad")).rejected(400, 200000)

    execution_event = await session.next("AUTO_MODERATION_ACTION_EXECUTION")
    assert (execution_event["content"], execution_event["matched_content"], execution_event["matched_keyword"]) == (
        "",
        None,
        "bad",
    )


async def test_execution_events_require_manage_guild_and_the_intent(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    session_without_permission = await (await world.bot(guild)).connect()
    manager = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    session_without_intent = await manager.connect(Intents.BOT_MASK & ~Intents.AUTO_MODERATION_EXECUTION)
    await create_rule(guild, keyword_rule("bad"))

    (await post_message(bob, guild, "bad")).rejected(400, 200000)

    await session_without_permission.assert_not_received("AUTO_MODERATION_ACTION_EXECUTION")
    await session_without_intent.assert_not_received("AUTO_MODERATION_ACTION_EXECUTION")


async def test_edits_are_checked_like_new_messages(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    await create_rule(guild, keyword_rule("bad"))
    message = await guild.send_message(bob, "fine")
    path = f"/channels/{guild.general}/messages/{message['id']}"

    (await bob.patch(path, json={"content": "bad"})).rejected(400, 200000)

    assert (await bob.get(path)).ok()["content"] == "fine"
    assert len(await guild.audit_entries(AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE)) == 1
    assert (await bob.patch(path, json={"content": "finer"})).ok()["content"] == "finer"


@pytest.mark.dated(changes.AUTO_MODERATION_OF_EDITS)
async def test_edits_are_blocked_from_the_date(world: World) -> None:
    world.clock.set(changes.AUTO_MODERATION_OF_EDITS.at_ms - 10_000)
    guild, bob = await create_guild_with_member(world)
    await guild.allow_permissions(bob, Permissions.SEND_MESSAGES)
    alerts_channel_id = await guild.channel("alerts")
    await create_rule(guild, keyword_rule("bad", actions=[BLOCK_ACTION, alert_action(alerts_channel_id)]))
    message = await guild.send_message(bob, "fine")
    path = f"/channels/{guild.general}/messages/{message['id']}"

    world.clock.set(changes.AUTO_MODERATION_OF_EDITS.at_ms - 1)
    assert (await bob.patch(path, json={"content": "bad"})).ok()["content"] == "bad"
    (await post_message(bob, guild, "bad")).rejected(400, 200000)
    assert len((await guild.owner.get(f"/channels/{alerts_channel_id}/messages")).ok()) == 2
    world.clock.set(changes.AUTO_MODERATION_OF_EDITS.at_ms)
    (await bob.patch(path, json={"content": "bad bad"})).rejected(400, 200000)


async def test_exempt_members_bots_and_channels_are_not_checked(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    carol, dave = await world.user(), await world.user()
    for user in (carol, dave):
        await world.write(lambda call, user=user: members.membership.add(call, guild.id, user.id), actor=guild.owner.id)
    trusted_role_id = await guild.role("trusted")
    category_id = await guild.channel("free", type=ChannelType.GUILD_CATEGORY)
    free_channel_id = await guild.channel("free-talk", parent_id=str(category_id))
    lounge_id = await guild.channel("lounge")
    await guild.add_role(carol, trusted_role_id)
    await guild.allow_permissions(dave, Permissions.MANAGE_GUILD)
    bot = await world.bot(guild)
    exempt = {"exempt_roles": [str(trusted_role_id)], "exempt_channels": [str(category_id), str(lounge_id)]}
    await create_rule(guild, keyword_rule("bad", **exempt))

    (await post_message(bob, guild, "bad")).rejected(400, 200000)
    for sender in (guild.owner, carol, dave, bot):
        await guild.send_message(sender, "bad")
    await guild.send_message(bob, "bad", channel_id=free_channel_id)
    await guild.send_message(bob, "bad", channel_id=lounge_id)
    thread = (
        await guild.owner.post(
            f"/channels/{free_channel_id}/threads", json={"name": "t", "type": ChannelType.PUBLIC_THREAD}
        )
    ).ok()
    await guild.send_message(bob, "bad", channel_id=int(thread["id"]))
    private_channel = (await bob.post("/users/@me/channels", json={"recipient_id": str(carol.id)})).ok()
    await guild.send_message(bob, "bad", channel_id=int(private_channel["id"]))


async def test_webhooks_and_interaction_responses_are_not_checked(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    interactions = InteractionSetup(world, guild, bob, await world.bot(guild))
    interactions.app_session = await interactions.bot.connect()
    await create_rule(guild, keyword_rule("bad"))
    (await post_message(bob, guild, "bad")).rejected(400, 200000)

    interaction, deferred_interaction = (
        await interactions.run_command(await interactions.create_command()),
        await interactions.run_command(await interactions.create_command("later")),
    )
    await interaction.respond_with_message(content="bad")
    (await deferred_interaction.respond(InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE)).ok()
    (await deferred_interaction.webhook_request("PATCH", "/messages/@original", json={"content": "bad"})).ok()
    (await interaction.webhook_request("PATCH", "/messages/@original", json={"content": "very bad"})).ok()
    (await interaction.webhook_request("POST", json={"content": "bad"})).ok()
    webhook = (await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "hook"})).ok()
    (await world.request("POST", f"/webhooks/{webhook['id']}/{webhook['token']}", json={"content": "bad"})).ok()


def test_operations_with_content_declare_the_blocked_error() -> None:
    """Auto moderation checks messages of users (spec/http.md#3.10), the link rules of the server all messages."""
    blocked_error = errors.AUTO_MODERATION_BLOCKED_MESSAGE
    declaring_paths = {
        endpoint.operation.path for endpoint in EndpointTable(SLICES) if blocked_error in endpoint.operation.raises
    }
    channel_path = "/channels/{channel_id}"
    webhook_path = "/webhooks/{webhook_id}/{webhook_token}"
    assert declaring_paths >= {
        f"{channel_path}/messages",
        f"{channel_path}/messages/{{message_id}}",
        f"{channel_path}/threads",
        webhook_path,
        f"{webhook_path}/messages/{{message_id}}",
        "/lobbies/{lobby_id}/messages",
        "/users/{user_id}/messages",
    }
    assert not any(word in path for path in declaring_paths for word in ("reactions", "pins", "members", "roles"))


async def test_a_rule_applies_while_it_is_enabled(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    rule = await create_rule(guild, keyword_rule("bad", enabled=False))
    path = f"/guilds/{guild.id}/auto-moderation/rules/{rule['id']}"
    await guild.send_message(bob, "bad")
    (await guild.owner.patch(path, json={"enabled": True})).ok()
    (await post_message(bob, guild, "bad")).rejected(400, 200000)
    (await guild.owner.patch(path, json={"trigger_metadata": {"keyword_filter": ["worse"]}})).ok()
    await guild.send_message(bob, "bad")
    (await post_message(bob, guild, "worse")).rejected(400, 200000)
    (await guild.owner.delete(path)).ok()
    await guild.send_message(bob, "worse")


async def test_all_visible_text_of_a_message_is_checked(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    await create_rule(guild, keyword_rule("bad"))
    other_guild = await world.guild(None, bob)
    message = await other_guild.send_message(bob, "bad")
    reference = {
        "type": MessageReferenceType.FORWARD,
        "message_id": message["id"],
        "channel_id": str(other_guild.general),
    }
    poll = {"question": {"text": "bad?"}, "answers": [{"poll_media": {"text": "yes"}}]}
    for body in (
        {"embeds": [{"title": "t", "fields": [{"name": "n", "value": "bad"}]}]},
        {"poll": poll},
        {"message_reference": reference},
        {
            "flags": MessageFlags.IS_COMPONENTS_V2,
            "components": [{"type": ComponentType.TEXT_DISPLAY, "content": "bad"}],
        },
    ):
        (await bob.post(f"/channels/{guild.general}/messages", json=body)).rejected(400, 200000)


async def test_every_matching_rule_executes_its_actions(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    alerts_channel_id = await guild.channel("alerts")
    await create_rule(guild, keyword_rule("bad", name="one", actions=[alert_action(alerts_channel_id)]))
    await create_rule(guild, keyword_rule("worse", name="two", actions=[BLOCK_ACTION, alert_action(alerts_channel_id)]))

    (await post_message(bob, guild, "bad and worse")).rejected(400, 200000)

    alerts_sent = (await guild.owner.get(f"/channels/{alerts_channel_id}/messages")).ok()
    assert {
        field["value"]
        for message in alerts_sent
        for field in message["embeds"][0]["fields"]
        if field["name"] == "rule_name"
    } == {
        "one",
        "two",
    }
    assert len(await guild.audit_entries(AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE)) == 1


async def test_a_rule_without_its_alert_channel_executes_its_other_actions(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    alerts_channel_id = await guild.channel("alerts")
    await create_rule(guild, keyword_rule("bad", actions=[BLOCK_ACTION, alert_action(alerts_channel_id)]))
    (await guild.owner.delete(f"/channels/{alerts_channel_id}")).ok()

    (await post_message(bob, guild, "bad")).rejected(400, 200000)

    assert len(await guild.audit_entries(AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE)) == 1
    assert await guild.audit_entries(AuditLogAction.AUTO_MODERATION_FLAG_TO_CHANNEL) == []


async def test_preset_lists_respect_the_allow_list(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    metadata = {"presets": [PROFANITY], "allow_list": ["damn good"]}
    await create_rule(
        guild, keyword_rule(trigger_type=AutoModerationTriggerType.KEYWORD_PRESET, trigger_metadata=metadata)
    )

    (await post_message(bob, guild, "Damn!")).rejected(400, 200000)
    await guild.send_message(bob, "damn good")
    await guild.send_message(bob, "porn is another list")


async def test_many_allowed_matches_hide_no_blocked_match(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    metadata = {"keyword_filter": ["*a*"] * 1000, "regex_patterns": [r"b\w+"], "allow_list": ["*a*", "best"]}
    rule = await create_rule(guild, keyword_rule(trigger_metadata=metadata))
    assert rule["trigger_metadata"] == metadata

    await guild.send_message(bob, "a" * 2000)
    await guild.send_message(bob, "best " * 399)
    (await post_message(bob, guild, "best " * 398 + "bid")).rejected(400, 200000)


async def test_the_operator_adds_keywords_to_presets(response_monitor: ResponseMonitor) -> None:
    config = AutoModerationConfig(slurs=("muggle*",))
    app = App(small_config(auto_moderation=config), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        guild, bob = await create_guild_with_member(World(app, client))
        await create_rule(
            guild,
            keyword_rule(trigger_type=AutoModerationTriggerType.KEYWORD_PRESET, trigger_metadata={"presets": [SLURS]}),
        )
        (await post_message(bob, guild, "you Muggles")).rejected(400, 200000)
        await guild.send_message(bob, "damn is another list")
    await app.stop()


async def test_messages_above_the_mention_limit_are_blocked(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    metadata = {"mention_total_limit": 2}
    await create_rule(
        guild,
        keyword_rule(
            trigger_type=AutoModerationTriggerType.MENTION_SPAM,
            trigger_metadata=metadata,
            actions=[BLOCK_ACTION, timeout_action()],
        ),
    )

    await guild.send_message(bob, "<@1> <@1> <@&2>")
    (await post_message(bob, guild, "<@1> <@2> <@&3>")).rejected(400, 200000)

    assert len(await guild.audit_entries(AuditLogAction.AUTO_MODERATION_USER_COMMUNICATION_DISABLED)) == 1


async def test_mentions_by_many_members_trigger_raid_protection(world: World) -> None:
    users = [await world.user() for _ in range(6)]
    guild = await world.guild(None, *users)
    metadata = {"mention_total_limit": 10, "mention_raid_protection_enabled": True}
    await create_rule(
        guild, keyword_rule(trigger_type=AutoModerationTriggerType.MENTION_SPAM, trigger_metadata=metadata)
    )
    mentions = "<@1> <@2> <@3> <@4> <@5>"
    for user in users[:4]:
        await guild.send_message(user, mentions)

    (await post_message(users[4], guild, mentions)).rejected(400, 200000)
    await guild.send_message(users[5], "no mention")
    (await post_message(users[5], guild, "<@1>")).rejected(400, 200000)
    world.clock.advance(31_000)
    await guild.send_message(users[5], mentions)


async def test_repeated_messages_and_many_links_are_spam(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    await create_rule(guild, keyword_rule(trigger_type=AutoModerationTriggerType.SPAM, trigger_metadata={}))
    for _ in range(3):
        await guild.send_message(bob, "buy now")
    (await post_message(bob, guild, "BUY now")).rejected(400, 200000)
    for number in range(4):
        await guild.send_message(bob, f"see https://example.test/{number}")
    (await post_message(bob, guild, "and discord.gg/abc")).rejected(400, 200000)
    await guild.send_message(bob, "no links")
    world.clock.advance(31_000)
    await guild.send_message(bob, "buy now")
    (await post_message(bob, guild, " ".join(f"https://example.test/{number}" for number in range(10)))).rejected(
        400, 200000
    )


# Thread titles


async def test_a_thread_with_a_blocked_title_is_not_created(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    forum_id = await guild.channel("forum", type=ChannelType.GUILD_FORUM)
    await create_rule(guild, keyword_rule("bad"))
    message = await guild.send_message(bob, "fine")
    session = await (await world.bot(guild)).connect()

    path = f"/channels/{guild.general}"
    (await bob.post(f"{path}/threads", json={"name": "bad", "type": ChannelType.PUBLIC_THREAD})).rejected(400, 200001)
    (await bob.post(f"{path}/messages/{message['id']}/threads", json={"name": "bad"})).rejected(400, 200001)
    post = {"name": "bad", "message": {"content": "fine"}}
    (await bob.post(f"/channels/{forum_id}/threads", json=post)).rejected(400, 200001)
    post = {"name": "fine", "message": {"content": "bad"}}
    (await bob.post(f"/channels/{forum_id}/threads", json=post)).rejected(400, 200000)

    await session.assert_not_received("THREAD_CREATE")
    assert (await guild.owner.get(f"/guilds/{guild.id}/threads/active")).ok()["threads"] == []
    assert len(await guild.audit_entries(AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE)) == 4
    assert await guild.audit_entries(AuditLogAction.THREAD_CREATE) == []


async def test_a_thread_keeps_its_name_when_the_new_one_is_blocked(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    await create_rule(guild, keyword_rule("bad"))
    thread = (
        await bob.post(f"/channels/{guild.general}/threads", json={"name": "fine", "type": ChannelType.PUBLIC_THREAD})
    ).ok()

    (await bob.patch(f"/channels/{thread['id']}", json={"name": "bad"})).rejected(400, 200001)

    assert (await bob.get(f"/channels/{thread['id']}")).ok()["name"] == "fine"
    (await guild.owner.patch(f"/channels/{thread['id']}", json={"name": "bad"})).ok()


# Profiles


async def test_a_member_who_joins_with_a_blocked_name_is_quarantined(world: World) -> None:
    guild, _ = await create_guild_with_member(world)
    alerts_channel_id = await guild.channel("alerts")
    session = await (await world.bot(guild, permissions=Permissions.MANAGE_GUILD)).connect()
    rule = await create_rule(
        guild, profile_rule("*villain*", actions=[QUARANTINE_ACTION, alert_action(alerts_channel_id)])
    )
    eve = await world.user("supervillain")
    invite = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()

    (await eve.post(f"/invites/{invite['code']}")).ok()

    member = await session.next("GUILD_MEMBER_UPDATE")
    assert (member["user"]["id"], member["flags"]) == (str(eve.id), NAME_QUARANTINED)
    execution_event = await session.next("AUTO_MODERATION_ACTION_EXECUTION")
    assert execution_event == {
        "guild_id": str(guild.id),
        "action": {"type": AutoModerationActionType.BLOCK_MEMBER_INTERACTION, "metadata": {}},
        "rule_id": rule["id"],
        "rule_trigger_type": AutoModerationTriggerType.MEMBER_PROFILE,
        "user_id": str(eve.id),
        "content": "supervillain",
        "matched_keyword": "*villain*",
        "matched_content": "villain",
    }
    [audit_entry] = await guild.audit_entries(AuditLogAction.AUTO_MODERATION_QUARANTINE_USER)
    assert audit_entry["options"] == {"auto_moderation_rule_name": "words", "auto_moderation_rule_trigger_type": "6"}
    assert len((await guild.owner.get(f"/channels/{alerts_channel_id}/messages")).ok()) == 1
    (await post_message(eve, guild, "hello")).rejected(403, 50013)

    (await eve.patch("/users/@me", json={"username": f"saint{eve.id}"})).ok()

    await session.next("GUILD_MEMBER_UPDATE", lambda event: event["user"]["id"] == str(eve.id) and event["flags"] == 0)
    await guild.send_message(eve, "hello")


async def test_a_blocked_nickname_quarantines_until_it_is_changed(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    await create_rule(guild, profile_rule("villain"))
    path = f"/guilds/{guild.id}/members/@me"

    assert (await bob.patch(path, json={"nick": "The Villain"})).ok()["flags"] == NAME_QUARANTINED

    (await post_message(bob, guild, "hello")).rejected(403, 50013)
    assert (await bob.patch(path, json={"nick": "villain again"})).ok()["flags"] == NAME_QUARANTINED
    assert len(await guild.audit_entries(AuditLogAction.AUTO_MODERATION_QUARANTINE_USER)) == 1
    assert (await bob.patch(path, json={"nick": "bob"})).ok()["flags"] == 0
    await guild.send_message(bob, "hello")


async def test_a_quarantined_moderator_receives_no_moderation_events(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    await guild.allow_permissions(bob, Permissions.BAN_MEMBERS)
    await create_rule(guild, profile_rule("villain"))
    session = await bob.connect()
    path = f"/guilds/{guild.id}/members/@me"

    (await bob.patch(path, json={"nick": "villain"})).ok()
    (await guild.owner.put(f"/guilds/{guild.id}/bans/{(await world.user()).id}")).ok()
    await session.assert_not_received("GUILD_BAN_ADD")

    (await bob.patch(path, json={"nick": "bob"})).ok()
    stranger = await world.user()
    (await guild.owner.put(f"/guilds/{guild.id}/bans/{stranger.id}")).ok()
    assert (await session.next("GUILD_BAN_ADD"))["user"]["id"] == str(stranger.id)


async def test_a_display_name_is_checked_in_every_guild_with_profile_rules(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    other_guild = await world.guild(None, bob)
    await create_rule(guild, profile_rule("villain"))

    (await bob.patch("/users/@me", json={"global_name": "Villain"})).ok()

    assert await fetch_member_flags(guild, bob) == NAME_QUARANTINED
    assert await fetch_member_flags(other_guild, bob) == 0


async def test_a_blocked_guild_tag_quarantines_until_it_changes(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    club = await world.guild(None, bob)
    features_sql = "UPDATE guilds SET features = ? WHERE id = ?"
    await world.write(lambda call: call.tx.run(features_sql, '["GUILD_TAGS"]', club.id))
    (await club.owner.patch(f"/guilds/{club.id}/profile", json={"tag": "EVIL"})).ok()
    rule = await create_rule(guild, profile_rule("evil", "villain"))
    session = await (await world.bot(guild, permissions=Permissions.MANAGE_GUILD)).connect()
    body, nick_path = {"identity_guild_id": str(club.id)}, f"/guilds/{guild.id}/members/@me"
    path = "/users/@me/clan"

    (await bob.put(path, json=body)).ok()

    event = await session.next("GUILD_MEMBER_UPDATE", lambda event: event["flags"] == TAG_QUARANTINED)
    assert event["user"]["id"] == str(bob.id)
    execution_event = await session.next("AUTO_MODERATION_ACTION_EXECUTION")
    assert (execution_event["content"], execution_event["matched_keyword"], execution_event["matched_content"]) == (
        "EVIL",
        "evil",
        "EVIL",
    )
    assert (execution_event["rule_id"], execution_event["user_id"]) == (rule["id"], str(bob.id))
    assert len(await guild.audit_entries(AuditLogAction.AUTO_MODERATION_QUARANTINE_USER)) == 1
    (await post_message(bob, guild, "hello")).rejected(403, 50013)
    await club.send_message(bob, "hello")

    # A blocked name is tracked separately from a blocked tag.
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{bob.id}", json={"nick": "villain"})).ok()
    assert await fetch_member_flags(guild, bob) == TAG_QUARANTINED | NAME_QUARANTINED
    (await bob.put(path, json={**body, "identity_enabled": False})).ok()
    assert await fetch_member_flags(guild, bob) == NAME_QUARANTINED
    (await bob.put(path, json=body)).ok()
    assert (await bob.patch(nick_path, json={"nick": "bob"})).ok()["flags"] == TAG_QUARANTINED

    # The guild changes its tag to an allowed one.
    assert world.app.worker is not None
    (await club.owner.patch(f"/guilds/{club.id}/profile", json={"tag": "GOOD"})).ok()
    await world.app.worker.run_due()
    assert await fetch_member_flags(guild, bob) == 0
    await guild.send_message(bob, "hello")

    # Deleting the rule ends the quarantine of members with a blocked tag.
    (await club.owner.patch(f"/guilds/{club.id}/profile", json={"tag": "EVIL"})).ok()
    await world.app.worker.run_due()
    assert await fetch_member_flags(guild, bob) == TAG_QUARANTINED
    (await guild.owner.delete(f"/guilds/{guild.id}/auto-moderation/rules/{rule['id']}")).ok()
    await world.app.worker.run_due()
    assert await fetch_member_flags(guild, bob) == 0


async def test_managers_and_exempt_roles_are_never_quarantined(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    trusted_role_id = await guild.role("trusted")
    await guild.add_role(bob, trusted_role_id)
    await create_rule(guild, profile_rule("villain", exempt_roles=[str(trusted_role_id)]))

    for user in (bob, guild.owner):
        changed_member = (await user.patch(f"/guilds/{guild.id}/members/@me", json={"nick": "villain"})).ok()
        assert changed_member["flags"] == 0


async def test_changing_or_deleting_a_rule_releases_quarantined_members(world: World) -> None:
    guild, bob = await create_guild_with_member(world)
    carol = await world.user()
    await world.write(lambda call: members.membership.add(call, guild.id, carol.id), actor=guild.owner.id)
    rule = await create_rule(guild, profile_rule("villain", "fiend"))
    for user, nick in ((bob, "villain"), (carol, "fiend")):
        (await user.patch(f"/guilds/{guild.id}/members/@me", json={"nick": nick})).ok()
    path = f"/guilds/{guild.id}/auto-moderation/rules/{rule['id']}"
    assert world.app.worker is not None

    (await guild.owner.patch(path, json={"trigger_metadata": {"keyword_filter": ["fiend"]}})).ok()
    await world.app.worker.run_due()
    assert [await fetch_member_flags(guild, user) for user in (bob, carol)] == [0, NAME_QUARANTINED]

    (await guild.owner.delete(path)).ok()
    await world.app.worker.run_due()
    assert await fetch_member_flags(guild, carol) == 0
