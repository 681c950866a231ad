"""A guild with objects of most kinds, so that tests over the operation table can fill in path parameters."""

import json
from typing import Any

import aiohttp

from hubbub.protocol import codec
from hubbub.protocol.enums import (
    AutoModerationActionType,
    AutoModerationEventType,
    AutoModerationTriggerType,
    ChannelType,
    EventEntityType,
    EventPrivacyLevel,
    OverwriteType,
    RecurrenceFrequency,
)
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.endpoints import Endpoint
from tests.media import data_uri, mp3, png
from tests.world import NOW_MS, Actor, Guild, World

HOUR_MS = 3_600_000
FEATURES = [
    "GUILD_TAGS",
    "MEMBER_VERIFICATION_GATE_ENABLED",
    "MEMBER_VERIFICATION_MANUAL_APPROVAL",
    "NEWS",
    "VANITY_URL",
]


class PreparedGuild:
    """A guild and the IDs of its objects, keyed by path parameter name."""

    def __init__(self, world: World, guild: Guild, bot: Actor, values: dict[str, str]) -> None:
        self.world = world
        self.guild = guild
        self.bot = bot
        self.object_ids = values
        self.thread_id = values.pop("thread_id")
        self.voice_channel_id = values.pop("voice_channel_id")
        self.stage_channel_id = values.pop("stage_channel_id")
        self.announcement_channel_id = values.pop("announcement_channel_id")
        self.announcement_id = values.pop("announcement_id")
        self.poll_id = values.pop("poll_id")
        self.template_code = values.pop("template_code")
        self.application_emoji_id = values.pop("application_emoji_id")
        self.exception_id = values["exception_id"]

    def path_values(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the path parameters of an operation."""
        path = endpoint.operation.path
        # A parameter without a sample object gets an unknown ID.
        values = {name: self.object_ids.get(name, "1") for name in endpoint.operation.parameters}
        if "/thread-members" in path:
            values["channel_id"] = self.thread_id
        elif "voice-status" in path or ("soundboard-sound" in path and "channel_id" in values):
            values["channel_id"] = self.voice_channel_id
        elif path.startswith("/stage-instances/"):
            values["channel_id"] = self.stage_channel_id
        elif path.endswith(("/crosspost", "/followers")):
            values["channel_id"] = self.announcement_channel_id
            if "message_id" in values:
                values["message_id"] = self.announcement_id
        elif "/polls/" in path:
            values["message_id"] = self.poll_id
        elif "/templates" in path and "code" in values:
            values["code"] = self.template_code
        elif path.startswith("/applications/") and "emoji_id" in values:
            values["emoji_id"] = self.application_emoji_id
        return values

    def body(self, endpoint: Endpoint) -> Any:
        """Return the smallest valid body of an operation, or None if it has no body."""
        if endpoint.name in self.bodies:
            return self.bodies[endpoint.name]
        return None if endpoint.operation.body is type(None) else {}

    @property
    def bodies(self) -> dict[str, Any]:
        """Bodies of operations that do not take an empty object."""
        later = codec.timestamp(NOW_MS + HOUR_MS)
        return {
            "set_guild_mfa_level": {"level": 0},
            "create_guild_integration": {"type": "twitch", "id": "1"},
            "launch_activity": {"session_id": "none"},
            "leave_activity": {"session_id": "none"},
            "update_proxy_config": {"url_map": []},
            "bulk_update_guild_roles": [],
            "bulk_update_guild_channels": [],
            "add_guild_member": {"access_token": "none"},
            "update_guild_role_connections_configuration": [],
            "bulk_ban_users_from_guild": {"user_ids": ["1"]},
            "create_guild_channel": {"name": "one-more"},
            "create_guild_scheduled_event": {
                "name": "picnic",
                "entity_type": EventEntityType.EXTERNAL,
                "privacy_level": EventPrivacyLevel.GUILD_ONLY,
                "scheduled_start_time": later,
                "scheduled_end_time": codec.timestamp(NOW_MS + 2 * HOUR_MS),
                "entity_metadata": {"location": "the park"},
            },
            "create_guild_scheduled_event_exception": {"original_scheduled_start_time": later},
            "create_guild_template": {"name": "another"},
            "update_guild_vanity_url": {"code": "townsquare"},
            "create_guild_join_request": {"version": None, "form_fields": []},
            "create_guild_emoji": {"name": "second", "image": data_uri(png())},
            "create_guild_soundboard_sound": {"name": "second", "sound": data_uri(mp3(), "audio/mpeg")},
            "send_soundboard_sound": {"sound_id": self.object_ids["sound_id"]},
            "create_message": {"content": "hello"},
            "bulk_delete_messages": {"messages": ["1", "2"]},
            "create_thread_from_message": {"name": "talk"},
            "create_thread": {"name": "talk", "type": ChannelType.PUBLIC_THREAD},
            "create_auto_moderation_rule": {
                "name": "no links",
                "event_type": AutoModerationEventType.MESSAGE_SEND,
                "trigger_type": AutoModerationTriggerType.KEYWORD,
                "trigger_metadata": {"keyword_filter": ["http"]},
                "actions": [{"type": AutoModerationActionType.BLOCK_MESSAGE}],
            },
            "vote_in_poll": {"answer_ids": ["1"]},
            "create_webhook": {"name": "news"},
            "follow_channel": {"webhook_channel_id": self.object_ids["channel_id"]},
            "set_channel_permission_overwrite": {"type": OverwriteType.MEMBER, "allow": "0", "deny": "0"},
            "action_guild_join_request": {"action": "APPROVED"},
        }


async def prepare_guild(
    world: World, *members: Actor, bot_permissions: int = Permissions.ADMINISTRATOR
) -> PreparedGuild:
    """Create a guild with objects of most kinds and these members."""
    other_member = await world.user()
    guild = await world.guild(None, other_member, *members)
    owner = guild.owner
    text = json.dumps(FEATURES)
    await world.write(lambda call: call.tx.run("UPDATE guilds SET features = ? WHERE id = ?", text, guild.id))
    bot = await world.bot(guild, permissions=bot_permissions)
    guild_path = f"/guilds/{guild.id}"
    values: dict[str, str] = {
        "guild_id": str(guild.id),
        "channel_id": str(guild.general),
        "user_id": str(other_member.id),
        "overwrite_id": str(other_member.id),
        "application_id": str(bot.application_id),
        "emoji_name": "🔥",
        "answer_id": "1",
        "instance_id": "i-1-gc-1-1",
        "integration_id": "1",
        "request_id": "1",
        "pack_id": "1",
        "connection_type": "steam",
        "connection_id": "7",
        "voice_channel_id": str(await guild.channel("voice", type=ChannelType.GUILD_VOICE)),
        "stage_channel_id": str(await guild.channel("stage", type=ChannelType.GUILD_STAGE_VOICE)),
        "announcement_channel_id": str(await guild.channel("news", type=ChannelType.GUILD_ANNOUNCEMENT)),
    }

    async def create(path: str, key: str = "id", actor: Actor = owner, **options: Any) -> str:
        return str((await actor.post(path, **options)).ok()[key])

    values["role_id"] = str(await guild.role("plain"))
    general_path = f"/channels/{guild.general}"
    values["message_id"] = await create(f"{general_path}/messages", json={"content": "hello"})
    values["announcement_id"] = await create(
        f"/channels/{values['announcement_channel_id']}/messages", json={"content": "news"}
    )
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}, {"poll_media": {"text": "no"}}]}
    values["poll_id"] = await create(f"{general_path}/messages", json={"poll": poll})
    values["thread_id"] = await create(
        f"{general_path}/threads", json={"name": "thread", "type": ChannelType.PUBLIC_THREAD}
    )
    await create("/stage-instances", json={"channel_id": values["stage_channel_id"], "topic": "talk"})
    image = {"name": "first", "image": data_uri(png())}
    values["emoji_id"] = await create(f"{guild_path}/emojis", json=image)
    values["application_emoji_id"] = await create(f"/applications/{bot.application_id}/emojis", actor=bot, json=image)
    form = aiohttp.FormData({"name": "first", "tags": "hello", "description": "a sticker"})
    form.add_field("file", png(320, 320), filename="sticker.png", content_type="image/png")
    values["sticker_id"] = await create(f"{guild_path}/stickers", data=form)
    values["sound_id"] = await create(
        f"{guild_path}/soundboard-sounds", "sound_id", json={"name": "first", "sound": data_uri(mp3(), "audio/mpeg")}
    )
    hook = (await owner.post(f"{general_path}/webhooks", json={"name": "hook"})).ok()
    values["webhook_id"], values["webhook_token"] = hook["id"], hook["token"]
    values["code"] = await create(f"{general_path}/invites", "code", json={})
    values["template_code"] = await create(f"{guild_path}/templates", "code", json={"name": "template"})
    rule = {
        "name": "rule",
        "event_type": AutoModerationEventType.MESSAGE_SEND,
        "trigger_type": AutoModerationTriggerType.KEYWORD,
        "trigger_metadata": {"keyword_filter": ["forbidden"]},
        "actions": [{"type": AutoModerationActionType.BLOCK_MESSAGE}],
    }
    values["rule_id"] = await create(f"{guild_path}/auto-moderation/rules", json=rule)
    start = codec.timestamp(NOW_MS + HOUR_MS)
    event = {
        "name": "weekly",
        "entity_type": EventEntityType.EXTERNAL,
        "privacy_level": EventPrivacyLevel.GUILD_ONLY,
        "scheduled_start_time": start,
        "scheduled_end_time": codec.timestamp(NOW_MS + 2 * HOUR_MS),
        "entity_metadata": {"location": "the park"},
        "recurrence_rule": {"start": start, "frequency": RecurrenceFrequency.DAILY, "interval": 1},
    }
    values["guild_scheduled_event_id"] = await create(f"{guild_path}/scheduled-events", json=event)
    exception = await owner.post(
        f"{guild_path}/scheduled-events/{values['guild_scheduled_event_id']}/exceptions",
        json={"original_scheduled_start_time": start, "is_canceled": True},
    )
    values["exception_id"] = values["guild_scheduled_event_exception_id"] = exception.ok()["event_exception_id"]
    return PreparedGuild(world, guild, bot, values)
