"""Requests that succeed for a caller with the required permissions.

`RequestBuilder.request` starts from the IDs of the prepared guild and the smallest valid body. If the operation needs more
(a member to ban, a message to pin, an unused name), a function registered with `prepares` creates it for each request.
Most of these objects belong to the owner, so that the caller acts on objects of another user."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from hubbub.protocol import codec
from hubbub.protocol.enums import (
    ChannelType,
    CommandType,
    EventEntityType,
    EventPrivacyLevel,
    InteractionType,
    OverwriteType,
    RecurrenceFrequency,
)
from hubbub.protocol.flags import ApplicationFlags, LobbyMemberFlags
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.endpoints import Endpoint
from tests.contract.prepared_guild import HOUR_MS, PreparedGuild
from tests.game import create_game
from tests.media import data_uri, mp3, png
from tests.world import NOW_MS, Actor, Session

DAY_MS = 24 * HOUR_MS
POLL = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}, {"poll_media": {"text": "no"}}]}


@dataclass
class Request:
    """The path parameters, body and query of one request."""

    values: dict[str, str]
    """Path parameters by name."""
    body: Any = None
    query: dict[str, str] = field(default_factory=dict)
    form: Callable[[], aiohttp.FormData] | None = None
    """A function that builds the multipart body, or None if the body is JSON or empty."""

    async def send(self, endpoint: Endpoint, caller: Actor, **options: Any) -> Any:
        """Send the request as `caller`."""
        if self.form is not None and endpoint.operation.method != "GET":
            options["data"] = self.form()
        elif self.body is not None:
            options["json"] = self.body
        path = endpoint.operation.url(**self.values)
        return await caller.request(endpoint.operation.method, path, params=self.query, **options)


Preparation = Callable[["RequestBuilder", Actor, Request], Awaitable[None]]
"""A function that creates the objects that a request of the caller needs, and completes the request."""

PREPARATIONS: dict[str, Preparation] = {}
"""Preparations by operation name."""


def prepares(*names: str) -> Callable[[Preparation], Preparation]:
    """Register the decorated function as the preparation of these operations."""

    def register(preparation: Preparation) -> Preparation:
        PREPARATIONS.update(dict.fromkeys(names, preparation))
        return preparation

    return register


class RequestBuilder:
    """Builds requests and creates the objects that they need."""

    def __init__(self, prepared_guild: PreparedGuild) -> None:
        self.prepared_guild = prepared_guild
        self.world, self.guild, self.owner = prepared_guild.world, prepared_guild.guild, prepared_guild.guild.owner
        self.guild_path = f"/guilds/{self.guild.id}"
        self.general_path = f"/channels/{self.guild.general}"
        self._numbers = itertools.count(1)
        self._sessions: dict[int, Session] = {}

    async def request(self, endpoint: Endpoint, caller: Actor) -> Request:
        """Build a request that succeeds if `caller` has the required permissions."""
        request = Request(self.prepared_guild.path_values(endpoint), self.prepared_guild.body(endpoint))
        prepare = PREPARATIONS.get(endpoint.name)
        if prepare is not None:
            await prepare(self, caller, request)
        return request

    def unused_name(self, prefix: str = "name") -> str:
        return f"{prefix}{next(self._numbers)}"

    async def create(self, path: str, key: str = "id", actor: Actor | None = None, **options: Any) -> str:
        """Create an object as `actor` (default: the owner) and return its ID."""
        return str((await (actor or self.owner).post(path, **options)).ok()[key])

    async def clear_list(self, path: str, key: str = "id") -> str:
        """Delete all entries of a guild list, so that its size limit is not reached; return its path."""
        listing = (await self.owner.get(f"{self.guild_path}/{path}")).ok()
        for entry in listing["items"] if isinstance(listing, dict) else listing:
            (await self.owner.delete(f"{self.guild_path}/{path}/{entry[key]}")).ok()
        return f"{self.guild_path}/{path}"

    async def create_message(self, actor: Actor | None = None, channel_id: int | str | None = None, **body: Any) -> str:
        """Create a message and return its ID."""
        path = f"/channels/{channel_id or self.guild.general}/messages"
        return await self.create(path, actor=actor, json=body or {"content": self.unused_name()})

    async def enable_mfa(self, actor: Actor) -> None:
        """Enable two-factor authentication for a user."""
        await self.world.write(lambda call: call.tx.run("UPDATE users SET mfa_enabled = 1 WHERE id = ?", actor.id))

    async def set_mfa_level(self, level: int) -> None:
        """Set the guild's MFA level directly in the store, without the checks of the operation."""
        sql = "UPDATE guilds SET mfa_level = ? WHERE id = ?"
        await self.world.write(lambda call: call.tx.run(sql, level, self.guild.id))

    async def session(self, actor: Actor) -> Session:
        """Return the user's gateway session; open it on first use."""
        if actor.id not in self._sessions:
            self._sessions[actor.id] = await actor.connect()
        return self._sessions[actor.id]

    async def join_voice(self, actor: Actor, channel_id: str | None) -> None:
        """Join a voice channel, or leave voice if `channel_id` is None."""
        session = await self.session(actor)
        await session.send_voice_state(self.guild, None if channel_id is None else int(channel_id))
        await session.wait_processed()

    async def create_event(self, **fields: Any) -> str:
        """Create a scheduled event that recurs daily and return its ID."""
        start = codec.timestamp(NOW_MS + HOUR_MS)
        body = {
            "name": self.unused_name(),
            "entity_type": EventEntityType.EXTERNAL,
            "privacy_level": EventPrivacyLevel.GUILD_ONLY,
            "scheduled_start_time": start,
            "scheduled_end_time": codec.timestamp(NOW_MS + 2 * HOUR_MS),
            "entity_metadata": {"location": "the park"},
            "recurrence_rule": {"start": start, "frequency": RecurrenceFrequency.DAILY, "interval": 1},
        }
        return await self.create(f"{self.guild_path}/scheduled-events", json=body | fields)


# The guild


@prepares("set_guild_mfa_level")
async def _enable_mfa(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await builder.enable_mfa(builder.owner)
    await builder.enable_mfa(caller)
    await builder.set_mfa_level(1)
    request.body = {"level": 0}


@prepares("update_guild", "create_guild_role", "update_guild_role")
async def _choose_name(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.body = {"name": builder.unused_name()}


@prepares("update_guild_profile")
async def _choose_tag(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.body = {"tag": builder.unused_name("T")[:4]}


@prepares("set_my_guild_tag")
async def _set_guild_tag(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    (await builder.owner.patch(f"{builder.guild_path}/profile", json={"tag": "TAG"})).ok()
    request.body = {"identity_guild_id": str(builder.guild.id), "identity_enabled": True}


@prepares("delete_guild_role")
async def _create_role(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["role_id"] = str(await builder.guild.role())


@prepares("bulk_update_guild_roles")
async def _create_roles_to_sort(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    low_role_id, high_role_id = await builder.guild.role(), await builder.guild.role()
    request.body = [{"id": str(low_role_id), "position": 2}, {"id": str(high_role_id), "position": 1}]


@prepares("update_guild_role_connections_configuration")
async def _configure_role_connections(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    application_id = str(builder.prepared_guild.bot.application_id)
    request.values["role_id"] = str(await builder.guild.role())
    request.body = [[{"application_id": application_id, "connection_metadata_field": None, "value": None}]]


@prepares("assign_guild_role_connection")
async def _connect_account(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    application_id = builder.prepared_guild.bot.application_id
    token = await builder.world.access_token(caller, application_id, "role_connections.write")
    headers = {"Authorization": f"Bearer {token}"}
    path = f"/users/@me/applications/{application_id}/role-connection"
    (await builder.world.request("PUT", path, json={}, headers=headers)).ok()
    configuration = Request({})
    await _configure_role_connections(builder, caller, configuration)
    request.values |= configuration.values
    connections_path = f"{builder.guild_path}/roles/{request.values['role_id']}/connections"
    (await builder.owner.put(f"{connections_path}/configuration", json=configuration.body)).ok()


@prepares("unassign_guild_role_connection")
async def _assign_role_connection(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await _connect_account(builder, caller, request)
    (await caller.post(f"{builder.guild_path}/roles/{request.values['role_id']}/connections/assign")).ok()


@prepares("create_guild_template")
async def _delete_templates(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await builder.clear_list("templates", "code")


@prepares("sync_guild_template", "update_guild_template", "delete_guild_template")
async def _create_template(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["code"] = await builder.create(
        await builder.clear_list("templates", "code"), "code", json={"name": "old"}
    )
    if request.body is not None:
        request.body = {"name": builder.unused_name()}


@prepares("get_guild_welcome_screen", "update_guild_welcome_screen")
async def _enable_welcome_screen(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    body = {"enabled": True, "description": builder.unused_name()}
    (await builder.owner.patch(f"{builder.guild_path}/welcome-screen", json=body)).ok()
    request.body = None if request.body is None else {"enabled": False}


@prepares("get_guild_widget", "get_guild_widget_png")
async def _enable_widget(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    body = {"enabled": True, "channel_id": str(builder.guild.general)}
    (await builder.owner.patch(f"{builder.guild_path}/widget", json=body)).ok()


@prepares("update_guild_widget_settings")
async def _toggle_widget(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    widget = (await builder.owner.get(f"{builder.guild_path}/widget")).ok()
    request.body = {"enabled": not widget["enabled"]}


@prepares("update_guild_incident_actions")
async def _choose_incident_end(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.body = {"dms_disabled_until": codec.timestamp(NOW_MS + HOUR_MS + next(builder._numbers) * 1000)}


@prepares("update_guild_vanity_url")
async def _choose_vanity_code(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.body = {"code": builder.unused_name("square")}


@prepares("put_guilds_onboarding")
async def _describe_onboarding(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    option = {"title": "yes", "channel_ids": [str(builder.guild.general)], "role_ids": []}
    prompt = {"title": builder.unused_name(), "options": [option], "single_select": False, "required": False}
    request.body = {"prompts": [prompt | {"id": "1", "type": 0, "in_onboarding": True}], "enabled": False}


@prepares("set_guild_onboarding_responses")
async def _enable_onboarding(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    names = [f"begin-{number}" for number in range(7)]
    # Onboarding requires channels in which @everyone may send messages.
    bits = Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES
    everyone_overwrites = [
        {"id": str(builder.guild.id), "type": OverwriteType.ROLE, "allow": str(int(bits)), "deny": "0"}
    ]
    channels = [
        builder.guild.channels.get(name) or await builder.guild.channel(name, permission_overwrites=everyone_overwrites)
        for name in names
    ]
    option = {"title": builder.unused_name(), "role_ids": [str(await builder.guild.role())]}
    prompts = [{"id": "0", "title": builder.unused_name(), "options": [option]}]
    body = {"prompts": prompts, "enabled": True, "default_channel_ids": [str(channel) for channel in channels]}
    onboarding = (await builder.owner.put(f"{builder.guild_path}/onboarding", json=body)).ok()
    request.body = {"onboarding_responses": [onboarding["prompts"][0]["options"][0]["id"]]}


@prepares("set_guild_new_member_welcome")
async def _describe_new_member_actions(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    channel_id = str(builder.guild.general)
    action = {"channel_id": channel_id, "action_type": 0, "title": builder.unused_name(), "description": ""}
    request.body = {"enabled": False, "new_member_actions": [action], "resource_channels": []}


@prepares("get_guild_member_verification", "update_guild_member_verification", "get_guild_join_requests")
async def _enable_member_verification(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    body = {"enabled": True, "description": builder.unused_name()}
    (await builder.owner.patch(f"{builder.guild_path}/member-verification", json=body)).ok()
    request.body = None if request.body is None else {"enabled": False, "description": builder.unused_name()}


@prepares("action_guild_join_request")
async def _create_join_request(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    form = (await builder.owner.patch(f"{builder.guild_path}/member-verification", json={"enabled": True})).ok()
    applicant = await builder.world.user()
    code = await builder.create(f"{builder.general_path}/invites", "code", json={"unique": True})
    (await applicant.post(f"/invites/{code}")).ok()
    body = {"version": form["version"], "form_fields": form["form_fields"]}
    join_request = (await applicant.put(f"{builder.guild_path}/requests/@me", json=body)).ok()
    request.values["request_id"] = join_request["id"]


@prepares("delete_guild_integration", "list_guild_integration_commands")
async def _create_integration(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    bot = await builder.world.bot(builder.guild)
    request.values["integration_id"] = str(bot.application_id)


# Members


@prepares("search_guild_members")
async def _choose_member_query(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.query = {"query": "a"}


@prepares("update_guild_member", "update_my_guild_member", "update_my_guild_member_nick")
async def _choose_nick(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    if "user_id" in request.values:
        request.values["user_id"] = str((await builder.guild.member()).id)
    request.body = {"nick": builder.unused_name()}


@prepares("add_guild_member")
async def _create_join_token(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    user = await builder.world.user()
    request.values["user_id"] = str(user.id)
    token = await builder.world.access_token(user, caller.application_id, "guilds.join")
    request.body = {"access_token": token}


@prepares("delete_guild_member", "ban_user_from_guild")
async def _create_member(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["user_id"] = str((await builder.guild.member()).id)


@prepares("add_guild_member_role")
async def _create_member_and_role(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    user, role_id = await builder.guild.member(), await builder.guild.role()
    request.values |= {"user_id": str(user.id), "role_id": str(role_id)}


@prepares("delete_guild_member_role")
async def _add_role_to_member(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await _create_member_and_role(builder, caller, request)
    (
        await builder.owner.put(
            f"{builder.guild_path}/members/{request.values['user_id']}/roles/{request.values['role_id']}"
        )
    ).ok()


@prepares("get_guild_ban", "unban_user_from_guild")
async def _ban_user(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["user_id"] = str((await builder.world.user()).id)
    (await builder.owner.put(f"{builder.guild_path}/bans/{request.values['user_id']}", json={})).ok()


@prepares("bulk_ban_users_from_guild")
async def _create_user_to_ban(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.body = {"user_ids": [str((await builder.world.user()).id)]}


# Expressions and events


def _build_sticker_form(builder: RequestBuilder) -> aiohttp.FormData:
    form = aiohttp.FormData({"name": builder.unused_name("sticker"), "tags": "hello", "description": "a sticker"})
    form.add_field("file", png(320, 320), filename="sticker.png", content_type="image/png")
    return form


@prepares("create_guild_sticker")
async def _delete_stickers(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await builder.clear_list("stickers")
    request.form = lambda: _build_sticker_form(builder)


@prepares("update_guild_sticker", "delete_guild_sticker")
async def _create_sticker(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["sticker_id"] = await builder.create(
        await builder.clear_list("stickers"), data=_build_sticker_form(builder)
    )
    if request.body is not None:
        request.body = {"name": builder.unused_name()}


@prepares("update_guild_emoji", "delete_guild_emoji")
async def _create_emoji(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    body = {"name": builder.unused_name(), "image": data_uri(png())}
    request.values["emoji_id"] = await builder.create(f"{builder.guild_path}/emojis", json=body)
    if request.body is not None:
        request.body = {"name": builder.unused_name()}


@prepares("update_guild_soundboard_sound", "delete_guild_soundboard_sound")
async def _create_sound(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    body = {"name": builder.unused_name(), "sound": data_uri(mp3(), "audio/mpeg")}
    request.values["sound_id"] = await builder.create(
        await builder.clear_list("soundboard-sounds", "sound_id"), "sound_id", json=body
    )
    if request.body is not None:
        request.body = {"name": builder.unused_name()}


@prepares("update_guild_scheduled_event", "delete_guild_scheduled_event")
async def _create_event(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["guild_scheduled_event_id"] = await builder.create_event()
    if request.body is not None:
        request.body = {"name": builder.unused_name()}


@prepares("create_guild_scheduled_event_exception")
async def _create_recurring_event(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["guild_scheduled_event_id"] = await builder.create_event()
    request.body = {"original_scheduled_start_time": codec.timestamp(NOW_MS + HOUR_MS + DAY_MS), "is_canceled": True}


@prepares(
    "update_guild_scheduled_event_exception",
    "delete_guild_scheduled_event_exception",
    "list_guild_scheduled_event_exception_users",
    "create_guild_scheduled_event_exception_user",
)
async def _create_event_exception(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    event = request.values["guild_scheduled_event_id"] = await builder.create_event()
    body = {"original_scheduled_start_time": codec.timestamp(NOW_MS + HOUR_MS + DAY_MS), "is_canceled": True}
    exception = await builder.create(
        f"{builder.guild_path}/scheduled-events/{event}/exceptions", "event_exception_id", json=body
    )
    for key in ("exception_id", "guild_scheduled_event_exception_id"):
        if key in request.values:
            request.values[key] = exception
    if request.body is not None:
        request.body = {"is_canceled": False}


@prepares("delete_guild_scheduled_event_user")
async def _subscribe_to_event(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    event = request.values["guild_scheduled_event_id"] = await builder.create_event()
    (await caller.put(f"{builder.guild_path}/scheduled-events/{event}/users/@me")).ok()


@prepares("delete_guild_scheduled_event_exception_user")
async def _subscribe_to_event_exception(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await _create_event_exception(builder, caller, request)
    event, exception = (
        request.values[key] for key in ("guild_scheduled_event_id", "guild_scheduled_event_exception_id")
    )
    (await caller.put(f"{builder.guild_path}/scheduled-events/{event}/{exception}/users/@me")).ok()


@prepares("create_auto_moderation_rule", "update_auto_moderation_rule", "delete_auto_moderation_rule")
async def _create_auto_moderation_rule(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    rules = await builder.clear_list("auto-moderation/rules")
    if "rule_id" in request.values:
        body = builder.prepared_guild.bodies["create_auto_moderation_rule"]
        request.values["rule_id"] = await builder.create(rules, json=body)
        request.body = None if request.body is None else {"name": builder.unused_name()}


# Channels


@prepares("update_channel", "delete_channel")
async def _create_channel(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["channel_id"] = str(await builder.guild.channel(builder.unused_name()))
    if request.body is not None:
        request.body = {"name": builder.unused_name()}


@prepares("bulk_update_guild_channels")
async def _create_channel_to_move(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    channel_id = await builder.guild.channel(builder.unused_name())
    request.body = [{"id": str(channel_id), "position": next(builder._numbers) + 100}]


@prepares("set_channel_permission_overwrite", "delete_channel_permission_overwrite")
async def _create_overwrite(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    user = await builder.guild.member()
    request.values["overwrite_id"] = str(user.id)
    if request.body is None:
        await builder.guild.overwrite(builder.guild.general, user.id)


@prepares("unlink_channel_lobby")
async def _create_linked_lobby(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    game = await create_game(builder.world, builder.unused_name())
    player = await game.add_player(builder.owner)
    members = [{"id": str(player.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}]
    lobby = await builder.create("/lobbies", actor=game.backend, json={"members": members})
    channel_id = request.values["channel_id"] = str(await builder.guild.channel(builder.unused_name()))
    (await player.patch(f"/lobbies/{lobby}/channel-linking", json={"channel_id": channel_id})).ok()


@prepares("launch_activity")
async def _create_activity(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    bot = await builder.world.bot(builder.guild, flags=ApplicationFlags.EMBEDDED)
    request.values["application_id"] = str(bot.application_id)
    request.body = {"session_id": (await builder.session(caller)).ready["session_id"]}


@prepares("create_stage_instance", "update_stage_instance", "delete_stage_instance")
async def _create_stage(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    channel_id = str(await builder.guild.channel(builder.unused_name(), type=ChannelType.GUILD_STAGE_VOICE))
    if not request.values:
        request.body = {"channel_id": channel_id, "topic": builder.unused_name()}
        return
    request.values["channel_id"] = channel_id
    await builder.create("/stage-instances", json={"channel_id": channel_id, "topic": builder.unused_name()})
    request.body = None if request.body is None else {"topic": builder.unused_name()}


# Voice


@prepares("get_self_voice_state", "send_soundboard_sound")
async def _join_voice(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await builder.join_voice(caller, builder.prepared_guild.voice_channel_id)
    # The default sound 1 is available in every guild.
    request.body = None if request.body is None else {"sound_id": "1"}


@prepares("update_self_voice_state")
async def _join_stage(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await builder.join_voice(caller, builder.prepared_guild.stage_channel_id)
    request.body = {"channel_id": builder.prepared_guild.stage_channel_id, "suppress": True}


@prepares("get_voice_state", "update_voice_state")
async def _join_stage_as_owner(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await builder.join_voice(builder.owner, builder.prepared_guild.stage_channel_id)
    request.values["user_id"] = str(builder.owner.id)
    if request.body is not None:
        unsuppressed_state = {"channel_id": builder.prepared_guild.stage_channel_id, "suppress": False}
        (await builder.owner.patch(f"{builder.guild_path}/voice-states/@me", json=unsuppressed_state)).ok()
        request.body = {"channel_id": builder.prepared_guild.stage_channel_id, "suppress": True}


@prepares("update_voice_channel_status")
async def _leave_voice(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await builder.join_voice(caller, None)
    request.body = {"status": builder.unused_name()}


# Messages and threads


@prepares("update_message")
async def _create_own_message(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["message_id"] = await builder.create_message(caller)
    request.body = {"content": "edited"}


@prepares("poll_expire")
async def _create_own_poll(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["message_id"] = await builder.create_message(caller, poll=POLL)


@prepares("delete_message", "create_thread_from_message", "create_pin", "deprecated_create_pin")
async def _create_message(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["message_id"] = await builder.create_message()


@prepares("delete_pin", "deprecated_delete_pin")
async def _pin_message(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await _create_message(builder, caller, request)
    (await builder.owner.put(f"{builder.general_path}/messages/pins/{request.values['message_id']}")).ok()


@prepares("bulk_delete_messages")
async def _create_messages(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.body = {"messages": [await builder.create_message() for _ in range(2)]}


@prepares("crosspost_message")
async def _create_announcement(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["message_id"] = await builder.create_message(
        channel_id=builder.prepared_guild.announcement_channel_id
    )


@prepares("delete_my_message_reaction", "delete_user_message_reaction", "delete_all_message_reactions_by_emoji")
async def _add_reaction(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await _create_message(builder, caller, request)
    reactor = builder.owner if "user_id" in request.values else caller
    request.values |= {"user_id": str(builder.owner.id)} if "user_id" in request.values else {}
    path = (
        f"{builder.general_path}/messages/{request.values['message_id']}/reactions/{request.values['emoji_name']}/@me"
    )
    (await reactor.put(path)).ok()


@prepares("add_thread_member")
async def _create_member_with_access(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    user = await builder.guild.member()
    request.values["user_id"] = str(user.id)
    # The added member must see the channel, and @everyone does not in this guild.
    await builder.guild.overwrite(builder.guild.general, user.id, allow=Permissions.VIEW_CHANNEL)


@prepares("get_thread_member", "delete_thread_member")
async def _add_thread_member(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    await _create_member_with_access(builder, caller, request)
    (
        await builder.owner.put(
            f"/channels/{builder.prepared_guild.thread_id}/thread-members/{request.values['user_id']}"
        )
    ).ok()


@prepares("get_webhook", "update_webhook", "delete_webhook")
async def _create_webhook(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    channel_id = await builder.guild.channel(builder.unused_name())
    request.values["webhook_id"] = await builder.create(f"/channels/{channel_id}/webhooks", json={"name": "hook"})
    if request.body is not None:
        request.body = {"name": builder.unused_name()}


@prepares("create_webhook", "follow_channel")
async def _create_webhook_channel(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    channel_id = str(await builder.guild.channel(builder.unused_name()))
    if request.body == builder.prepared_guild.bodies["follow_channel"]:
        request.body = {"webhook_channel_id": channel_id}
    else:
        request.values["channel_id"] = channel_id


# Invites


def _build_target_users_form(*users: Actor, creates_invite: bool = True) -> aiohttp.FormData:
    form = aiohttp.FormData()
    if creates_invite:
        form.add_field("payload_json", "{}", content_type="application/json")
    lines = "".join(f"{user.id}\n" for user in users)
    form.add_field("target_users_file", f"user_id\n{lines}", filename="users.csv", content_type="text/csv")
    return form


@prepares("invite_revoke")
async def _create_invite(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.values["code"] = await builder.create(f"{builder.general_path}/invites", "code", json={"unique": True})


@prepares("get_invite_target_users", "get_invite_target_users_job_status", "update_invite_target_users")
async def _create_targeted_invite(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    # The invite is visible only to its target users, so the caller is one of them.
    request.values["code"] = await builder.create(
        f"{builder.general_path}/invites", "code", data=_build_target_users_form(caller)
    )
    request.form = lambda: _build_target_users_form(caller, builder.owner, creates_invite=False)


# Operations whose objects are named in the body


@prepares("create_interaction")
async def _create_command(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    bot = builder.prepared_guild.bot
    path = f"/applications/{bot.application_id}/guilds/{builder.guild.id}/commands"
    command = await builder.create(path, actor=bot, json={"name": "greet", "description": "says hello"})
    request.body = {
        "type": InteractionType.APPLICATION_COMMAND,
        "application_id": str(bot.application_id),
        "guild_id": str(builder.guild.id),
        "channel_id": str(builder.guild.general),
        "data": {"id": command, "name": "greet", "type": CommandType.CHAT_INPUT},
    }


@prepares("authorize_oauth2_application")
async def _create_application(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    bot = await builder.world.bot()
    request.query = {"client_id": str(bot.application_id), "scope": "bot"}
    request.body = {"authorize": True, "guild_id": str(builder.guild.id), "permissions": "0"}


@prepares("update_user_guild_settings")
async def _choose_mute(builder: RequestBuilder, caller: Actor, request: Request) -> None:
    request.body = {"muted": True, "mute_config": {"selected_time_window": next(builder._numbers)}}
