"""Audit log entries of every operation that changes a guild.

Each operation is called once with a reason. It must publish at least one of its declared events and write exactly the
entries that it declares in `audits` (spec/http.md#4). A second test produces the remaining kinds of entries."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import pytest

from hubbub.protocol.enums import (
    AuditLogAction,
    AutoModerationActionType,
    AutoModerationEventType,
    AutoModerationTriggerType,
    ChannelType,
    CommandPermissionType,
    OverwriteType,
)
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.operation import Auth
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.places import channels
from tests.contract.prepared_guild import prepare_guild
from tests.contract.request_builder import DAY_MS, RequestBuilder
from tests.contract.tables import operations
from tests.contract.test_permission_matrix import JOIN_REQUEST_OPERATIONS, OWNER_OPERATIONS, endpoints_for
from tests.world import Actor, World

PARTIAL_WRITES: dict[str, set[int]] = {
    "update_guild_member": {AuditLogAction.MEMBER_UPDATE},
    "delete_guild_member": {AuditLogAction.MEMBER_KICK},
    "update_channel": {AuditLogAction.CHANNEL_UPDATE},
    "bulk_update_guild_channels": {AuditLogAction.CHANNEL_UPDATE},
    "delete_channel": {AuditLogAction.CHANNEL_DELETE},
    "set_channel_permission_overwrite": {AuditLogAction.CHANNEL_OVERWRITE_CREATE},
    "update_voice_channel_status": {AuditLogAction.VOICE_CHANNEL_STATUS_UPDATE},
    "update_guild_scheduled_event": {AuditLogAction.GUILD_SCHEDULED_EVENT_UPDATE},
    "delete_guild_scheduled_event": {AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE},
    "create_guild_scheduled_event_exception": {AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE},
    "set_guild_new_member_welcome": {AuditLogAction.HOME_SETTINGS_CREATE},
    "put_guilds_onboarding": {AuditLogAction.ONBOARDING_CREATE, AuditLogAction.ONBOARDING_PROMPT_CREATE},
    "delete_guild_integration": {AuditLogAction.INTEGRATION_DELETE, AuditLogAction.MEMBER_KICK},
}
"""Audit log actions by operation name, for requests that write only some of the operation's declared `audits`."""

NEVER_WRITTEN = {
    AuditLogAction.INTEGRATION_UPDATE: "an integration changes with its application, outside the guild",
    AuditLogAction.CREATOR_MONETIZATION_REQUEST_CREATED: "guilds cannot sell anything",
    AuditLogAction.CREATOR_MONETIZATION_TERMS_ACCEPTED: "guilds cannot sell anything",
    AuditLogAction.GUILD_HOME_FEATURE_ITEM: "no operation features an item on the guild home",
    AuditLogAction.GUILD_HOME_REMOVE_ITEM: "no operation features an item on the guild home",
    AuditLogAction.HARMFUL_LINKS_BLOCKED_MESSAGE: "the server has no list of harmful links",
}
"""Audit log actions that the server never writes, with the reason."""


EVENTS_NOT_PUBLISHED = {
    "put_guilds_onboarding": "GUILD_UPDATE is published when onboarding is enabled, see test_guild_onboarding_and_widgets.py",
}
"""Operations that publish their events only under conditions that this test does not create."""


class AuditLog:
    """Incremental reader of a guild's audit log."""

    def __init__(self, builder: RequestBuilder) -> None:
        self.builder = builder
        self.ids: set[str] = set()
        self._last_entry_id = "0"

    async def new_entries(self) -> list[Any]:
        """Return the entries written since the last call."""
        entries: list[Any] = []
        while True:
            query = {"limit": "100", "after": self._last_entry_id}
            page = (await self.builder.owner.get(f"{self.builder.guild_path}/audit-logs", params=query)).ok()
            if not page["audit_log_entries"]:
                break
            entries += page["audit_log_entries"]
            self._last_entry_id = max((entry["id"] for entry in page["audit_log_entries"]), key=int)
        self.ids |= {entry["id"] for entry in entries}
        return entries


@pytest.fixture
async def builder(small_world: World) -> RequestBuilder:
    return RequestBuilder(await prepare_guild(small_world))


async def create_administrator(builder: RequestBuilder, is_bot: bool) -> Actor:
    """Create an administrator with the highest role, who owns none of the guild's objects."""
    actor = await builder.world.bot(builder.guild) if is_bot else await builder.guild.member()
    role_id = await builder.guild.role("highest", Permissions.ADMINISTRATOR)
    await builder.guild.add_role(actor, role_id)
    (await builder.owner.patch(f"{builder.guild_path}/roles", json=[{"id": str(role_id), "position": 20}])).ok()
    return actor


@pytest.mark.timeout(600)
async def test_every_mutation_publishes_its_events_and_writes_its_audit_entries(builder: RequestBuilder) -> None:
    user, bot = await create_administrator(builder, is_bot=False), await create_administrator(builder, is_bot=True)
    session = await builder.session(builder.owner)
    audit_log, problems, published_names = AuditLog(builder), list[str](), set[str]()
    publish = builder.world.app.database.on_commit

    def record(dispatches: Iterable[Dispatch]) -> None:
        batch = list(dispatches)
        published_names.update(dispatch.event for dispatch in batch)
        publish(batch)

    builder.world.app.database.on_commit = record
    await audit_log.new_entries()
    audit_log.ids.clear()
    for endpoint in mutating_endpoints():
        caller = user if Auth.USER in endpoint.operation.auth else bot
        caller = builder.owner if endpoint.name in OWNER_OPERATIONS else caller
        request = await builder.request(endpoint, caller)
        if endpoint.name == "prune_guild":
            await builder.guild.member()
            builder.world.clock.advance(31 * DAY_MS)
            request.body = {"days": 30}
        await audit_log.new_entries()
        published_names.clear()
        reason = f"because of {endpoint.name} ☂"
        (await request.send(endpoint, caller, headers={"X-Audit-Log-Reason": quote(reason)})).ok()
        declared_names = {event.name for event in endpoint.operation.emits}
        is_published = not declared_names or bool(declared_names & published_names)
        if is_published is (endpoint.name in EVENTS_NOT_PUBLISHED):
            problems.append(f"{endpoint.name}: published {sorted(published_names)}, declared {sorted(declared_names)}")
        entries = await audit_log.new_entries()
        kinds = {entry["action_type"] for entry in entries}
        if kinds != expected_entries(endpoint):
            problems.append(f"{endpoint.name}: {sorted(kinds)}, not {sorted(expected_entries(endpoint))}")
        for entry in entries:
            if (entry["user_id"], entry.get("reason")) != (str(caller.id), reason):
                problems.append(f"{endpoint.name}: {entry}")

    assert not problems, "\n".join(problems)
    await session.wait_delivered()
    received_ids = {frame["d"]["id"] for frame in session.dispatches if frame["t"] == "GUILD_AUDIT_LOG_ENTRY_CREATE"}
    assert audit_log.ids - received_ids == set()


def mutating_endpoints() -> list[Endpoint]:
    """Return every operation that changes a guild. Pruning is last, because it advances the clock."""
    endpoints = {endpoint.name: endpoint for endpoint in (*endpoints_for(Auth.USER), *endpoints_for(Auth.BOT))}
    excluded_names = {"leave_guild", "delete_guild", *JOIN_REQUEST_OPERATIONS}
    mutations = [
        endpoint
        for endpoint in endpoints.values()
        if endpoint.operation.method != "GET" and endpoint.name not in excluded_names
    ]
    return sorted(mutations, key=lambda endpoint: endpoint.name == "prune_guild")


def expected_entries(endpoint: Endpoint) -> set[int]:
    """Return the audit log actions that the built request of an operation writes."""
    return PARTIAL_WRITES.get(endpoint.name, set(endpoint.operation.audits))


def test_partial_writes_lists_only_mutations_that_declare_more_audit_actions() -> None:
    declared_actions = {endpoint.name: set(endpoint.operation.audits) for endpoint in mutating_endpoints()}

    assert set(PARTIAL_WRITES) - declared_actions.keys() == set()
    assert {name for name, kinds in PARTIAL_WRITES.items() if not kinds < declared_actions[name]} == set()
    # The test above does not call operations that a webhook token or an OAuth2 token authorizes, operations of a lobby
    # that is linked to a channel, and the acceptance of an invite that grants roles.
    untested_operations = {
        name for name, operation in operations().items() if operation.audits
    } - declared_actions.keys()
    assert untested_operations == {
        "update_webhook_by_token",
        "delete_webhook_by_token",
        "set_guild_application_command_permissions",
        "edit_lobby",
        "edit_lobby_channel_link",
        "create_linked_lobby_guild_invite_for_user",
        "create_linked_lobby_guild_invite_for_self",
        "accept_invite",
    }


def test_every_audit_action_is_declared_by_an_operation() -> None:
    declared_actions = {action for operation in operations().values() for action in operation.audits}
    # Auto moderation reacts to other operations, and the operator's actions are not operations.
    consequences = {
        action for action in AuditLogAction if action.name.startswith(("AUTO_MODERATION_", "GUILD_MIGRATE_"))
    }

    assert set(AuditLogAction) - declared_actions - consequences == set(NEVER_WRITTEN)


async def test_every_audit_action_is_written_by_the_server(builder: RequestBuilder) -> None:
    guild, owner, world, audit_log = builder.guild, builder.owner, builder.world, AuditLog(builder)
    guild_path, general_path, prepared_guild = builder.guild_path, builder.general_path, builder.prepared_guild
    user = await builder.guild.member()
    member_path = f"{guild_path}/members/{user.id}"
    (await owner.patch(member_path, json={"flags": MemberFlags.BYPASSES_VERIFICATION})).ok()
    written_actions = set[int]().union(*map(expected_entries, mutating_endpoints()))

    async def expect(*kinds: int, response: Any) -> None:
        assert response.status < 300 or kinds[0] >= AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE, response.body
        entries = await audit_log.new_entries()
        assert {entry["action_type"] for entry in entries} == set(kinds), response.body
        written_actions.update(kinds)

    # A member in a voice channel is moved, then disconnected.
    await guild.allow_permissions(
        user,
        Permissions.VIEW_CHANNEL | Permissions.CONNECT | Permissions.SEND_MESSAGES | Permissions.CHANGE_NICKNAME,
    )
    await builder.join_voice(user, prepared_guild.voice_channel_id)
    other_channel_id = str(await guild.channel("other", type=ChannelType.GUILD_VOICE))
    await audit_log.new_entries()
    await expect(
        AuditLogAction.MEMBER_MOVE, response=await owner.patch(member_path, json={"channel_id": other_channel_id})
    )
    await expect(AuditLogAction.MEMBER_DISCONNECT, response=await owner.patch(member_path, json={"channel_id": None}))
    status_path = f"/channels/{prepared_guild.voice_channel_id}/voice-status"
    await expect(
        AuditLogAction.VOICE_CHANNEL_STATUS_UPDATE, response=await owner.put(status_path, json={"status": "chatting"})
    )
    await expect(AuditLogAction.VOICE_CHANNEL_STATUS_DELETE, response=await owner.put(status_path, json={"status": ""}))

    # Existing objects are updated and deleted.
    overwrite_path = f"{general_path}/permissions/{guild.id}"
    for kind, bits in ((AuditLogAction.CHANNEL_OVERWRITE_CREATE, "1"), (AuditLogAction.CHANNEL_OVERWRITE_UPDATE, "2")):
        body = {"type": OverwriteType.ROLE, "allow": "0", "deny": bits}
        await expect(kind, response=await owner.put(overwrite_path, json=body))
    thread_path = f"/channels/{prepared_guild.thread_id}"
    await expect(AuditLogAction.THREAD_UPDATE, response=await owner.patch(thread_path, json={"name": "renamed"}))
    await expect(AuditLogAction.THREAD_DELETE, response=await owner.delete(thread_path))
    endpoints = {endpoint.name: endpoint for endpoint in mutating_endpoints()}
    for name, kinds_when_repeated in (
        ("put_guilds_onboarding", {AuditLogAction.ONBOARDING_PROMPT_CREATE, AuditLogAction.ONBOARDING_PROMPT_DELETE}),
        ("set_guild_new_member_welcome", {AuditLogAction.HOME_SETTINGS_UPDATE}),
    ):
        for kinds in (PARTIAL_WRITES[name], kinds_when_repeated):
            request = await builder.request(endpoints[name], owner)
            await expect(*kinds, response=await request.send(endpoints[name], owner))
    (prompt,) = (await owner.get(f"{guild_path}/onboarding")).ok()["prompts"]
    body = {"prompts": [prompt | {"title": "renamed"}], "enabled": False, "mode": 1}
    kinds = (AuditLogAction.ONBOARDING_UPDATE, AuditLogAction.ONBOARDING_PROMPT_UPDATE)
    await expect(*kinds, response=await owner.put(f"{guild_path}/onboarding", json=body))

    # A webhook is updated and deleted with its token, without a user.
    webhook_path = f"/webhooks/{prepared_guild.object_ids['webhook_id']}/{prepared_guild.object_ids['webhook_token']}"
    await expect(
        AuditLogAction.WEBHOOK_UPDATE, response=await world.request("PATCH", webhook_path, json={"name": "renamed"})
    )
    await expect(AuditLogAction.WEBHOOK_DELETE, response=await world.request("DELETE", webhook_path))

    # The permissions of an application command are changed.
    bot = prepared_guild.bot
    commands_path = f"/applications/{bot.application_id}/guilds/{guild.id}/commands"
    command = await builder.create(commands_path, actor=bot, json={"name": "greet", "description": "says hello"})
    body = {"permissions": [{"id": str(guild.id), "type": CommandPermissionType.ROLE, "permission": False}]}
    token = await world.access_token(owner, bot.application_id, "applications.commands.permissions.update")
    headers = {"Authorization": f"Bearer {token}"}
    response = await world.request("PUT", f"{commands_path}/{command}/permissions", json=body, headers=headers)
    await expect(AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE, response=response)

    # Auto moderation rules are triggered.
    rules = await builder.clear_list("auto-moderation/rules")
    alert = {"type": AutoModerationActionType.SEND_ALERT_MESSAGE, "metadata": {"channel_id": str(guild.general)}}
    keywords = {"enabled": True, "trigger_metadata": {"keyword_filter": ["forbidden"]}}
    await builder.create(
        rules,
        json={
            "name": "messages",
            "event_type": AutoModerationEventType.MESSAGE_SEND,
            "trigger_type": AutoModerationTriggerType.KEYWORD,
            "actions": [
                {"type": AutoModerationActionType.BLOCK_MESSAGE},
                alert,
                {"type": AutoModerationActionType.TIMEOUT, "metadata": {"duration_seconds": 60}},
            ],
            **keywords,
        },
    )
    await builder.create(
        rules,
        json={
            "name": "names",
            "event_type": AutoModerationEventType.MEMBER_UPDATE,
            "trigger_type": AutoModerationTriggerType.MEMBER_PROFILE,
            "actions": [{"type": AutoModerationActionType.BLOCK_MEMBER_INTERACTION}],
            **keywords,
        },
    )
    await audit_log.new_entries()
    response = await user.post(f"{general_path}/messages", json={"content": "forbidden"})
    kinds = (
        AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE,
        AuditLogAction.AUTO_MODERATION_FLAG_TO_CHANNEL,
        AuditLogAction.AUTO_MODERATION_USER_COMMUNICATION_DISABLED,
    )
    await expect(*kinds, response=response)
    response = await owner.patch(member_path, json={"nick": "forbidden"})
    await expect(AuditLogAction.AUTO_MODERATION_QUARANTINE_USER, AuditLogAction.MEMBER_UPDATE, response=response)

    # The operator migrates split permissions to the roles with the old ones.
    await guild.role("old", Permissions.MANAGE_MESSAGES)
    await audit_log.new_entries()
    assert await world.write(lambda call: channels.overwrites.split_permissions(call, guild.id))
    written_actions |= {entry["action_type"] for entry in await audit_log.new_entries()}

    assert set(AuditLogAction) - written_actions == set(NEVER_WRITTEN)
