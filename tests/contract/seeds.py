"""Hand-written requests for operations that generated requests rarely complete.

These operations need existing objects in a certain state; `create_seeds` adds them to the prepared guild."""

from dataclasses import dataclass, field
from typing import Any

import aiohttp

from hubbub.protocol import codec
from hubbub.protocol.enums import (
    ChannelType,
    CommandPermissionType,
    CommandType,
    EventEntityType,
    EventPrivacyLevel,
    GatewayOpcode,
    InteractionType,
)
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.places import activity_instances, members
from tests.contract.prepared_guild import HOUR_MS, PreparedGuild
from tests.media import data_uri, mp3, png
from tests.world import NOW_MS, Actor, Bearer, Session


@dataclass
class Seed:
    """A request that succeeds: caller, path parameters, body and query."""

    caller: Actor | None = None
    """Caller; None tries the prepared bot and then the guild owner."""
    path_values: dict[str, str] = field(default_factory=dict)
    """Path parameters that replace the default ones of the operation."""
    body: Any = None
    """JSON body; None for the default body of the operation."""
    query: dict[str, Any] = field(default_factory=dict)


class Seeds:
    """Seed requests by operation name."""

    def __init__(self, prepared_guild: PreparedGuild, by_name: dict[str, Seed], sessions: list[Session]) -> None:
        self._prepared_guild = prepared_guild
        self._by_name = by_name
        self.sessions = sessions
        """Gateway sessions that keep voice states, and must stay open until the requests are sent."""

    def build(self, endpoint: Endpoint) -> Seed:
        """Return the operation's seed, completed with the default path parameters and the default body."""
        seed = self._by_name.get(endpoint.name, Seed())
        body = self._prepared_guild.body(endpoint) if seed.body is None else seed.body
        return Seed(seed.caller, self._prepared_guild.path_values(endpoint) | seed.path_values, body, seed.query)


async def create_seeds(prepared_guild: PreparedGuild) -> Seeds:
    """Create the objects that the seed requests name, and return the requests."""
    world, guild, bot, owner = (
        prepared_guild.world,
        prepared_guild.guild,
        prepared_guild.bot,
        prepared_guild.guild.owner,
    )
    guild_path, application_path = f"/guilds/{guild.id}", f"/applications/{bot.application_id}"
    object_ids = prepared_guild.object_ids

    async def create(path: str, body: Any, *, actor: Actor = owner, key: str = "id") -> str:
        return str((await actor.post(path, json=body)).ok()[key])

    async def bearer(scopes: str) -> Bearer:
        return await world.bearer(owner, bot.application_id, scopes)

    # Requests act on `extra_user`, `banned_user` is banned, and `friend` joins threads and groups.
    extra_user, banned_user, friend = [await world.user() for _ in range(3)]
    for user in (extra_user, banned_user, friend):
        await world.write(lambda call, user=user: members.membership.add(call, guild.id, user.id), actor=owner.id)
    (await owner.put(f"{guild_path}/bans/{banned_user.id}", json={})).ok()
    (await owner.put(f"/channels/{prepared_guild.thread_id}/thread-members/{friend.id}")).ok()
    assigned_role_id = str(await guild.role("assigned"))
    await guild.add_role(friend, int(assigned_role_id))
    command = {"name": "greet", "description": "says hello"}
    commands = {
        "global": await create(f"{application_path}/commands", command, actor=bot),
        "guild": await create(f"{application_path}{guild_path}/commands", command, actor=bot),
    }
    general_path = f"/channels/{guild.general}"
    bot_message = await create(f"{general_path}/messages", {"content": "by the bot"}, actor=bot)
    pinned_message = await create(f"{general_path}/messages", {"content": "pinned"})
    (await owner.put(f"{general_path}/messages/pins/{pinned_message}")).ok()
    deletable_messages = [await create(f"{general_path}/messages", {"content": "to delete"}) for _ in range(2)]
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}, {"poll_media": {"text": "no"}}]}
    bot_poll = await create(f"{general_path}/messages", {"poll": poll}, actor=bot)
    webhook_path = f"/webhooks/{object_ids['webhook_id']}/{object_ids['webhook_token']}"
    webhook_message_id = str(
        (await world.request("POST", f"{webhook_path}?wait=true", json={"content": "by a webhook"})).ok()["id"]
    )
    (await owner.patch(f"{guild_path}/widget", json={"enabled": True, "channel_id": str(guild.general)})).ok()
    group = await create("/users/@me/channels", {"recipients": [str(friend.id), str(extra_user.id)]})
    bot_session = await bot.connect()
    owner_session = await owner.connect()
    for session, channel in (
        (bot_session, prepared_guild.voice_channel_id),
        (owner_session, prepared_guild.stage_channel_id),
    ):
        await session.send_voice_state(guild, int(channel))
        await session.wait_processed()
    call_session = await extra_user.connect()
    await call_session.send(
        GatewayOpcode.VOICE_STATE_UPDATE,
        {"guild_id": None, "channel_id": group, "self_mute": False, "self_deaf": False},
    )
    await call_session.wait_processed()
    instance = await world.write(
        lambda call: activity_instances.launch(call, bot.application_id, owner.id, guild.general, guild.id)
    )
    spare_channel_id = str(await guild.channel("spare"))
    guild_to_delete = await world.guild(owner)
    invite_form = aiohttp.FormData()
    invite_form.add_field("payload_json", "{}", content_type="application/json")
    invite_form.add_field("target_users_file", f"user_id\n{friend.id}\n", filename="users.csv", content_type="text/csv")
    targeted_invite = str((await owner.post(f"{general_path}/invites", data=invite_form)).ok()["code"])
    other_stage_channel_id = str(await guild.channel("second stage", type=ChannelType.GUILD_STAGE_VOICE))
    later = codec.timestamp(NOW_MS + HOUR_MS)
    event = {"guild_scheduled_event_id": object_ids["guild_scheduled_event_id"]}
    webhook_message_seed = Seed(path_values={"message_id": webhook_message_id})
    seeds = {
        "delete_channel": Seed(bot, {"channel_id": spare_channel_id}),
        "delete_guild": Seed(owner, {"guild_id": str(guild_to_delete.id)}),
        "delete_stage_instance": Seed(bot, {"channel_id": other_stage_channel_id}),
        "create_guild_template": Seed(owner, {"guild_id": str((await world.guild(owner)).id)}, {"name": "more"}),
        "get_invite_target_users": Seed(bot, {"code": targeted_invite}),
        "get_invite_target_users_job_status": Seed(bot, {"code": targeted_invite}),
        "get_guild_member_verification": Seed(owner),
        "update_message": Seed(bot, {"message_id": bot_message}, {"content": "edited"}),
        "poll_expire": Seed(bot, {"message_id": bot_poll}),
        "bulk_delete_messages": Seed(bot, {}, {"messages": deletable_messages}),
        "deprecated_delete_pin": Seed(bot, {"message_id": pinned_message}),
        "get_guild_ban": Seed(bot, {"user_id": str(banned_user.id)}),
        "unban_user_from_guild": Seed(bot, {"user_id": str(banned_user.id)}),
        "bulk_ban_users_from_guild": Seed(bot, {}, {"user_ids": [str((await world.user()).id)]}),
        "delete_guild_member": Seed(bot, {"user_id": str(extra_user.id)}),
        "add_guild_member_role": Seed(owner, {"user_id": str(friend.id)}),
        "delete_guild_member_role": Seed(owner, {"user_id": str(friend.id), "role_id": assigned_role_id}),
        "add_thread_member": Seed(bot, {"user_id": str(extra_user.id)}),
        "get_thread_member": Seed(bot, {"user_id": str(friend.id)}),
        "delete_thread_member": Seed(bot, {"user_id": str(friend.id)}),
        "add_group_dm_user": Seed(owner, {"channel_id": group, "user_id": object_ids["user_id"]}, {}),
        "delete_group_dm_user": Seed(owner, {"channel_id": group, "user_id": str(friend.id)}),
        "get_call": Seed(extra_user, {"channel_id": group}),
        "ring_call": Seed(extra_user, {"channel_id": group}, {}),
        "stop_ringing_call": Seed(extra_user, {"channel_id": group}, {}),
        "create_dm": Seed(bot, {}, {"recipient_id": str(friend.id)}),
        "create_guild": Seed(owner, {}, {"name": "Another"}),
        "create_guild_from_template": Seed(owner, {}, {"name": "Copy"}),
        "create_guild_emoji": Seed(bot, {}, {"name": "third", "image": data_uri(png())}),
        "create_guild_soundboard_sound": Seed(bot, {}, {"name": "third", "sound": data_uri(mp3(), "audio/mpeg")}),
        "create_stage_instance": Seed(bot, {}, {"channel_id": other_stage_channel_id, "topic": "more"}),
        "send_soundboard_sound": Seed(bot, {"channel_id": prepared_guild.voice_channel_id}),
        "get_self_voice_state": Seed(bot),
        "get_voice_state": Seed(bot, {"user_id": str(owner.id)}),
        "update_self_voice_state": Seed(owner, {}, {"channel_id": prepared_guild.stage_channel_id, "suppress": True}),
        "update_voice_state": Seed(
            bot, {"user_id": str(owner.id)}, {"channel_id": prepared_guild.stage_channel_id, "suppress": True}
        ),
        "follow_channel": Seed(
            bot, {"channel_id": prepared_guild.announcement_channel_id}, {"webhook_channel_id": str(guild.general)}
        ),
        "execute_webhook": Seed(None, {}, {"content": "hello"}),
        "execute_slack_compatible_webhook": Seed(None, {}, {"text": "hello"}),
        "get_webhook_message": webhook_message_seed,
        "update_webhook_message": Seed(None, {"message_id": webhook_message_id}, {"content": "edited"}),
        "delete_webhook_message": webhook_message_seed,
        "get_application_command": Seed(bot, {"command_id": commands["global"]}),
        "update_application_command": Seed(bot, {"command_id": commands["global"]}, {"description": "edited"}),
        "delete_application_command": Seed(bot, {"command_id": commands["global"]}),
        "create_application_command": Seed(bot, {}, {"name": "more", "description": "x"}),
        "create_guild_application_command": Seed(bot, {}, {"name": "more", "description": "x"}),
        "get_guild_application_command": Seed(bot, {"command_id": commands["guild"]}),
        "update_guild_application_command": Seed(bot, {"command_id": commands["guild"]}, {"description": "edited"}),
        "delete_guild_application_command": Seed(bot, {"command_id": commands["guild"]}),
        "set_guild_application_command_permissions": Seed(
            await bearer("applications.commands.permissions.update"),
            {"command_id": commands["guild"]},
            {"permissions": [{"id": str(guild.id), "type": CommandPermissionType.ROLE, "permission": True}]},
        ),
        "get_guild_application_command_permissions": Seed(bot, {"command_id": commands["guild"]}),
        "get_my_guild_member": Seed(await bearer("guilds.members.read")),
        "get_my_oauth2_authorization": Seed(await bearer("identify")),
        "get_openid_connect_userinfo": Seed(await bearer("openid identify")),
        "get_application_user_role_connection": Seed(await bearer("role_connections.write")),
        "update_application_user_role_connection": Seed(await bearer("role_connections.write"), {}, {"metadata": {}}),
        "delete_application_user_role_connection": Seed(await bearer("role_connections.write")),
        "applications_get_activity_instance": Seed(bot, {"instance_id": instance.composite_id}),
        "create_proxy_ticket": Seed(owner, {}, {"instance_id": instance.composite_id}),
        "list_guild_integration_commands": Seed(owner, {"integration_id": str(bot.application_id)}),
        "delete_guild_integration": Seed(owner, {"integration_id": str(bot.application_id)}),
        "create_guild_scheduled_event_exception": Seed(
            bot, event, {"original_scheduled_start_time": codec.timestamp(NOW_MS + HOUR_MS + 7 * 24 * HOUR_MS)}
        ),
        "create_guild_scheduled_event": Seed(
            bot,
            {},
            {
                "name": "picnic",
                "entity_type": EventEntityType.EXTERNAL,
                "privacy_level": EventPrivacyLevel.GUILD_ONLY,
                "scheduled_start_time": later,
                "scheduled_end_time": codec.timestamp(NOW_MS + 2 * HOUR_MS),
                "entity_metadata": {"location": "the park"},
            },
        ),
        "invite_revoke": Seed(bot, {"code": await create(f"{general_path}/invites", {"unique": True}, key="code")}),
        "delete_webhook": Seed(bot, {"webhook_id": await create(f"{general_path}/webhooks", {"name": "more"})}),
        "create_interaction": Seed(
            friend,
            {},
            {
                "type": InteractionType.APPLICATION_COMMAND,
                "application_id": str(bot.application_id),
                "guild_id": str(guild.id),
                "channel_id": str(guild.general),
                "data": {"id": commands["guild"], "name": "greet", "type": CommandType.CHAT_INPUT},
            },
        ),
        "set_guild_mfa_level": Seed(owner, {}, {"level": 0}),
    }
    return Seeds(prepared_guild, seeds, [bot_session, owner_session, call_session])
