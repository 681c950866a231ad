"""What an operation needs to come to a success, made anew before each request: somebody to ban, a message to pin, a free name.

`Ready.request` begins with what the prepared guild holds and the least body; where that is not enough, a function marked with
`before` adds the rest. What it makes is the owner's, so that those who ask stand before others' things."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from hubbub.protocol import wire
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.permissions import Permissions
from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.core.dispatch import Endpoint
from hubbub.server.resources import members
from tests.contract.prepared import HOUR, Prepared
from tests.game import game
from tests.media import mp3, png, uri
from tests.world import NOW_MS, Actor, Session

DAY = 24 * HOUR
POLL = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}, {"poll_media": {"text": "no"}}]}


@dataclass
class Request:
    """What to ask with."""

    values: dict[str, str]
    body: Any = None
    query: dict[str, str] = field(default_factory=dict)
    form: Callable[[], aiohttp.FormData] | None = None
    """Makes the parts of a multipart body."""

    async def send(self, endpoint: Endpoint, caller: Actor, **options: Any) -> Any:
        """Ask."""
        if self.form is not None and endpoint.operation.method != "GET":
            options["data"] = self.form()
        elif self.body is not None:
            options["json"] = self.body
        path = endpoint.operation.url(**self.values)
        return await caller.request(endpoint.operation.method, path, params=self.query, **options)


Maker = Callable[["Ready", Actor, Request], Awaitable[None]]
MAKERS: dict[str, Maker] = {}


def before(*names: str) -> Callable[[Maker], Maker]:
    """Marks what makes things ready for these operations."""

    def mark(maker: Maker) -> Maker:
        MAKERS.update(dict.fromkeys(names, maker))
        return maker

    return mark


class Ready:
    """Makes what requests need."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.world, self.guild, self.owner = prepared.world, prepared.guild, prepared.guild.owner
        self.place = f"/guilds/{self.guild.id}"
        self.general = f"/channels/{self.guild.general}"
        self._numbers = itertools.count(1)
        self._sessions: dict[int, Session] = {}

    async def request(self, endpoint: Endpoint, caller: Actor) -> Request:
        """The next request of an operation that a caller who may comes to a success with."""
        request = Request(self.prepared.values(endpoint), self.prepared.body(endpoint))
        maker = MAKERS.get(endpoint.name)
        if maker is not None:
            await maker(self, caller, request)
        return request

    def name(self, word: str = "name") -> str:
        """One that is not taken."""
        return f"{word}{next(self._numbers)}"

    async def made(self, path: str, key: str = "id", actor: Actor | None = None, **options: Any) -> str:
        """Something new, by the owner unless somebody else is named."""
        return str((await (actor or self.owner).post(path, **options)).ok()[key])

    async def emptied(self, path: str, key: str = "id") -> str:
        """A list of the guild's with nothing in it, for some take but a few."""
        found = (await self.owner.get(f"{self.place}/{path}")).ok()
        for each in found["items"] if isinstance(found, dict) else found:
            (await self.owner.delete(f"{self.place}/{path}/{each[key]}")).ok()
        return f"{self.place}/{path}"

    async def message(self, actor: Actor | None = None, channel: int | str | None = None, **body: Any) -> str:
        """Something that was said."""
        path = f"/channels/{channel or self.guild.general}/messages"
        return await self.made(path, actor=actor, json=body or {"content": self.name()})

    async def member(self) -> Actor:
        """Somebody who came."""
        person = await self.world.user()
        await self.world.write(lambda call: members.add(call, self.guild.id, person.id), actor=self.owner.id)
        return person

    async def secure(self, actor: Actor) -> None:
        """Somebody logs in with two factors from now on."""
        await self.world.write(lambda call: call.tx.run("UPDATE users SET mfa_enabled = 1 WHERE id = ?", actor.id))

    async def ask_for_two_factors(self, level: int) -> None:
        """Say whether the guild asks for them, past what that itself asks for."""
        sql = "UPDATE guilds SET mfa_level = ? WHERE id = ?"
        await self.world.write(lambda call: call.tx.run(sql, level, self.guild.id))

    async def session(self, actor: Actor) -> Session:
        """Somebody's connection to the gateway."""
        if actor.id not in self._sessions:
            self._sessions[actor.id] = await actor.connect()
        return self._sessions[actor.id]

    async def join(self, actor: Actor, channel: str | None) -> None:
        """Go into a voice channel, or out of it."""
        session = await self.session(actor)
        state = {"guild_id": str(self.guild.id), "channel_id": channel, "self_mute": False, "self_deaf": False}
        await session.send(4, state)
        await session.obeyed()

    async def bearer(self, person: Actor, application_id: int | None, *scopes: str) -> str:
        """A token that somebody gave to an application."""

        def issue(call: Call) -> str:
            return auth.issue(
                call.tx,
                kind="bearer",
                user_id=person.id,
                application_id=application_id,
                scopes=scopes,
                now=call.now,
                ids=call.ids,
            )

        token: str = await self.world.write(issue)
        return token

    async def event(self, **more: Any) -> str:
        """A scheduled event that returns every day."""
        start = wire.timestamp(NOW_MS + HOUR)
        body = {
            "name": self.name(),
            "entity_type": 3,
            "privacy_level": 2,
            "scheduled_start_time": start,
            "scheduled_end_time": wire.timestamp(NOW_MS + 2 * HOUR),
            "entity_metadata": {"location": "the park"},
            "recurrence_rule": {"start": start, "frequency": 3, "interval": 1},
        }
        return await self.made(f"{self.place}/scheduled-events", json=body | more)


# The guild


@before("set_guild_mfa_level")
async def _two_factors(ready: Ready, caller: Actor, request: Request) -> None:
    await ready.secure(ready.owner)
    await ready.secure(caller)
    await ready.ask_for_two_factors(1)
    request.body = {"level": 0}


@before("update_guild", "create_guild_role", "update_guild_role")
async def _renamed(ready: Ready, caller: Actor, request: Request) -> None:
    request.body = {"name": ready.name()}


@before("update_guild_profile")
async def _tag(ready: Ready, caller: Actor, request: Request) -> None:
    request.body = {"tag": ready.name("T")[:4]}


@before("wear_guild_tag")
async def _tagged(ready: Ready, caller: Actor, request: Request) -> None:
    (await ready.owner.patch(f"{ready.place}/profile", json={"tag": "TAG"})).ok()
    request.body = {"identity_guild_id": str(ready.guild.id), "identity_enabled": True}


@before("delete_guild_role")
async def _role(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["role_id"] = str(await ready.guild.role())


@before("bulk_update_guild_roles")
async def _order(ready: Ready, caller: Actor, request: Request) -> None:
    low, high = await ready.guild.role(), await ready.guild.role()
    request.body = [{"id": str(low), "position": 2}, {"id": str(high), "position": 1}]


@before("update_guild_role_connections_configuration")
async def _linkable(ready: Ready, caller: Actor, request: Request) -> None:
    application = str(ready.prepared.bot.application_id)
    request.values["role_id"] = str(await ready.guild.role())
    request.body = [[{"application_id": application, "connection_metadata_field": None, "value": None}]]


@before("assign_guild_role_connection")
async def _linked(ready: Ready, caller: Actor, request: Request) -> None:
    application = ready.prepared.bot.application_id
    headers = {"Authorization": f"Bearer {await ready.bearer(caller, application, 'role_connections.write')}"}
    path = f"/users/@me/applications/{application}/role-connection"
    (await ready.world.request("PUT", path, json={}, headers=headers)).ok()
    linking = Request({})
    await _linkable(ready, caller, linking)
    request.values |= linking.values
    role = f"{ready.place}/roles/{request.values['role_id']}/connections"
    (await ready.owner.put(f"{role}/configuration", json=linking.body)).ok()


@before("unassign_guild_role_connection")
async def _wearing(ready: Ready, caller: Actor, request: Request) -> None:
    await _linked(ready, caller, request)
    (await caller.post(f"{ready.place}/roles/{request.values['role_id']}/connections/assign")).ok()


@before("create_guild_template")
async def _no_template(ready: Ready, caller: Actor, request: Request) -> None:
    await ready.emptied("templates", "code")


@before("sync_guild_template", "update_guild_template", "delete_guild_template")
async def _template(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["code"] = await ready.made(await ready.emptied("templates", "code"), "code", json={"name": "old"})
    if request.body is not None:
        request.body = {"name": ready.name()}


@before("get_guild_welcome_screen", "update_guild_welcome_screen")
async def _welcome(ready: Ready, caller: Actor, request: Request) -> None:
    body = {"enabled": True, "description": ready.name()}
    (await ready.owner.patch(f"{ready.place}/welcome-screen", json=body)).ok()
    request.body = None if request.body is None else {"enabled": False}


@before("get_guild_widget", "get_guild_widget_png")
async def _widget(ready: Ready, caller: Actor, request: Request) -> None:
    body = {"enabled": True, "channel_id": str(ready.guild.general)}
    (await ready.owner.patch(f"{ready.place}/widget", json=body)).ok()


@before("update_guild_widget_settings")
async def _widget_switch(ready: Ready, caller: Actor, request: Request) -> None:
    shown = (await ready.owner.get(f"{ready.place}/widget")).ok()
    request.body = {"enabled": not shown["enabled"]}


@before("update_guild_incident_actions")
async def _incident(ready: Ready, caller: Actor, request: Request) -> None:
    request.body = {"dms_disabled_until": wire.timestamp(NOW_MS + HOUR + next(ready._numbers) * 1000)}


@before("update_guild_vanity_url")
async def _vanity(ready: Ready, caller: Actor, request: Request) -> None:
    request.body = {"code": ready.name("square")}


@before("put_guilds_onboarding")
async def _onboarding(ready: Ready, caller: Actor, request: Request) -> None:
    option = {"title": "yes", "channel_ids": [str(ready.guild.general)], "role_ids": []}
    prompt = {"title": ready.name(), "options": [option], "single_select": False, "required": False}
    request.body = {"prompts": [prompt | {"id": "1", "type": 0, "in_onboarding": True}], "enabled": False}


@before("set_guild_onboarding_responses")
async def _answers(ready: Ready, caller: Actor, request: Request) -> None:
    names = [f"begin-{number}" for number in range(7)]
    # Onboarding needs channels that everybody writes in, whatever @everyone may do elsewhere.
    bits = Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES
    open_to_all = [{"id": str(ready.guild.id), "type": 0, "allow": str(int(bits)), "deny": "0"}]
    rooms = [
        ready.guild.channels.get(name) or await ready.guild.channel(name, permission_overwrites=open_to_all)
        for name in names
    ]
    option = {"title": ready.name(), "role_ids": [str(await ready.guild.role())]}
    prompts = [{"id": "0", "title": ready.name(), "options": [option]}]
    body = {"prompts": prompts, "enabled": True, "default_channel_ids": [str(room) for room in rooms]}
    asked = (await ready.owner.put(f"{ready.place}/onboarding", json=body)).ok()
    request.body = {"onboarding_responses": [asked["prompts"][0]["options"][0]["id"]]}


@before("set_guild_new_member_welcome")
async def _guide(ready: Ready, caller: Actor, request: Request) -> None:
    channel = str(ready.guild.general)
    action = {"channel_id": channel, "action_type": 0, "title": ready.name(), "description": ""}
    request.body = {"enabled": False, "new_member_actions": [action], "resource_channels": []}


@before("get_guild_member_verification", "update_guild_member_verification", "get_guild_join_requests")
async def _form(ready: Ready, caller: Actor, request: Request) -> None:
    body = {"enabled": True, "description": ready.name()}
    (await ready.owner.patch(f"{ready.place}/member-verification", json=body)).ok()
    request.body = None if request.body is None else {"enabled": False, "description": ready.name()}


@before("action_guild_join_request")
async def _asked_to_join(ready: Ready, caller: Actor, request: Request) -> None:
    form = (await ready.owner.patch(f"{ready.place}/member-verification", json={"enabled": True})).ok()
    person = await ready.world.user()
    code = await ready.made(f"{ready.general}/invites", "code", json={"unique": True})
    (await person.post(f"/invites/{code}")).ok()
    body = {"version": form["version"], "form_fields": form["form_fields"]}
    asked = (await person.put(f"{ready.place}/requests/@me", json=body)).ok()
    request.values["request_id"] = asked["id"]


@before("delete_guild_integration")
async def _integration(ready: Ready, caller: Actor, request: Request) -> None:
    bot = await ready.world.bot(ready.guild)
    request.values["integration_id"] = str(bot.application_id)


# Members


@before("search_guild_members")
async def _sought(ready: Ready, caller: Actor, request: Request) -> None:
    request.query = {"query": "a"}


@before("update_guild_member", "update_my_guild_member", "update_my_guild_member_nick")
async def _nick(ready: Ready, caller: Actor, request: Request) -> None:
    if "user_id" in request.values:
        request.values["user_id"] = str((await ready.member()).id)
    request.body = {"nick": ready.name()}


@before("add_guild_member")
async def _consenting(ready: Ready, caller: Actor, request: Request) -> None:
    person = await ready.world.user()
    request.values["user_id"] = str(person.id)
    request.body = {"access_token": await ready.bearer(person, caller.application_id, "guilds.join")}


@before("delete_guild_member", "ban_user_from_guild")
async def _member(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["user_id"] = str((await ready.member()).id)


@before("add_guild_member_role")
async def _worn(ready: Ready, caller: Actor, request: Request) -> None:
    person, role = await ready.member(), await ready.guild.role()
    request.values |= {"user_id": str(person.id), "role_id": str(role)}


@before("delete_guild_member_role")
async def _worn_already(ready: Ready, caller: Actor, request: Request) -> None:
    await _worn(ready, caller, request)
    (await ready.owner.put(f"{ready.place}/members/{request.values['user_id']}/roles/{request.values['role_id']}")).ok()


@before("get_guild_ban", "unban_user_from_guild")
async def _banned(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["user_id"] = str((await ready.world.user()).id)
    (await ready.owner.put(f"{ready.place}/bans/{request.values['user_id']}", json={})).ok()


@before("bulk_ban_users_from_guild")
async def _to_ban(ready: Ready, caller: Actor, request: Request) -> None:
    request.body = {"user_ids": [str((await ready.world.user()).id)]}


# Expressions and events


def _named_sticker(ready: Ready) -> aiohttp.FormData:
    form = aiohttp.FormData({"name": ready.name("sticker"), "tags": "hello", "description": "words"})
    form.add_field("file", png(320, 320), filename="sticker.png", content_type="image/png")
    return form


@before("create_guild_sticker")
async def _sticker_form(ready: Ready, caller: Actor, request: Request) -> None:
    await ready.emptied("stickers")
    request.form = lambda: _named_sticker(ready)


@before("update_guild_sticker", "delete_guild_sticker")
async def _sticker(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["sticker_id"] = await ready.made(await ready.emptied("stickers"), data=_named_sticker(ready))
    if request.body is not None:
        request.body = {"name": ready.name()}


@before("update_guild_emoji", "delete_guild_emoji")
async def _emoji(ready: Ready, caller: Actor, request: Request) -> None:
    body = {"name": ready.name(), "image": uri(png())}
    request.values["emoji_id"] = await ready.made(f"{ready.place}/emojis", json=body)
    if request.body is not None:
        request.body = {"name": ready.name()}


@before("update_guild_soundboard_sound", "delete_guild_soundboard_sound")
async def _sound(ready: Ready, caller: Actor, request: Request) -> None:
    body = {"name": ready.name(), "sound": uri(mp3(), "audio/mpeg")}
    request.values["sound_id"] = await ready.made(
        await ready.emptied("soundboard-sounds", "sound_id"), "sound_id", json=body
    )
    if request.body is not None:
        request.body = {"name": ready.name()}


@before("update_guild_scheduled_event", "delete_guild_scheduled_event")
async def _event(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["guild_scheduled_event_id"] = await ready.event()
    if request.body is not None:
        request.body = {"name": ready.name()}


@before("create_guild_scheduled_event_exception")
async def _occurrence(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["guild_scheduled_event_id"] = await ready.event()
    request.body = {"original_scheduled_start_time": wire.timestamp(NOW_MS + HOUR + DAY), "is_canceled": True}


@before(
    "update_guild_scheduled_event_exception",
    "delete_guild_scheduled_event_exception",
    "list_guild_scheduled_event_exception_users",
    "create_guild_scheduled_event_exception_user",
)
async def _exception(ready: Ready, caller: Actor, request: Request) -> None:
    event = request.values["guild_scheduled_event_id"] = await ready.event()
    body = {"original_scheduled_start_time": wire.timestamp(NOW_MS + HOUR + DAY), "is_canceled": True}
    made = await ready.made(f"{ready.place}/scheduled-events/{event}/exceptions", "event_exception_id", json=body)
    for key in ("exception_id", "guild_scheduled_event_exception_id"):
        if key in request.values:
            request.values[key] = made
    if request.body is not None:
        request.body = {"is_canceled": False}


@before("delete_guild_scheduled_event_user")
async def _guest(ready: Ready, caller: Actor, request: Request) -> None:
    event = request.values["guild_scheduled_event_id"] = await ready.event()
    (await caller.put(f"{ready.place}/scheduled-events/{event}/users/@me")).ok()


@before("delete_guild_scheduled_event_exception_user")
async def _guest_once(ready: Ready, caller: Actor, request: Request) -> None:
    await _exception(ready, caller, request)
    event, once = (request.values[key] for key in ("guild_scheduled_event_id", "guild_scheduled_event_exception_id"))
    (await caller.put(f"{ready.place}/scheduled-events/{event}/{once}/users/@me")).ok()


@before("create_auto_moderation_rule", "update_auto_moderation_rule", "delete_auto_moderation_rule")
async def _rule(ready: Ready, caller: Actor, request: Request) -> None:
    rules = await ready.emptied("auto-moderation/rules")
    if "rule_id" in request.values:
        body = ready.prepared.bodies["create_auto_moderation_rule"]
        request.values["rule_id"] = await ready.made(rules, json=body)
        request.body = None if request.body is None else {"name": ready.name()}


# Channels


@before("update_channel", "delete_channel")
async def _channel(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["channel_id"] = str(await ready.guild.channel(ready.name()))
    if request.body is not None:
        request.body = {"name": ready.name()}


@before("bulk_update_guild_channels")
async def _places(ready: Ready, caller: Actor, request: Request) -> None:
    made = await ready.guild.channel(ready.name())
    request.body = [{"id": str(made), "position": next(ready._numbers) + 100}]


@before("set_channel_permission_overwrite", "delete_channel_permission_overwrite")
async def _overwrite(ready: Ready, caller: Actor, request: Request) -> None:
    person = await ready.member()
    request.values["overwrite_id"] = str(person.id)
    if request.body is None:
        await ready.guild.overwrite(ready.guild.general, person.id)


@before("unlink_channel_lobby")
async def _lobby(ready: Ready, caller: Actor, request: Request) -> None:
    played = await game(ready.world, ready.name())
    player = await played.player(ready.owner)
    lobby = await ready.made("/lobbies", actor=played.backend, json={"members": [{"id": str(player.id), "flags": 1}]})
    channel = request.values["channel_id"] = str(await ready.guild.channel(ready.name()))
    (await player.patch(f"/lobbies/{lobby}/channel-linking", json={"channel_id": channel})).ok()


@before("launch_activity")
async def _activity(ready: Ready, caller: Actor, request: Request) -> None:
    bot = await ready.world.bot(ready.guild, flags=ApplicationFlags.EMBEDDED)
    request.values["application_id"] = str(bot.application_id)
    request.body = {"session_id": (await ready.session(caller)).ready["session_id"]}


@before("create_stage_instance", "update_stage_instance", "delete_stage_instance")
async def _stage(ready: Ready, caller: Actor, request: Request) -> None:
    channel = str(await ready.guild.channel(ready.name(), type=13))
    if not request.values:
        request.body = {"channel_id": channel, "topic": ready.name()}
        return
    request.values["channel_id"] = channel
    await ready.made("/stage-instances", json={"channel_id": channel, "topic": ready.name()})
    request.body = None if request.body is None else {"topic": ready.name()}


# Voice


@before("get_self_voice_state", "send_soundboard_sound")
async def _speaking(ready: Ready, caller: Actor, request: Request) -> None:
    await ready.join(caller, ready.prepared.voice)
    # One that every guild has.
    request.body = None if request.body is None else {"sound_id": "1"}


@before("update_self_voice_state")
async def _on_stage(ready: Ready, caller: Actor, request: Request) -> None:
    await ready.join(caller, ready.prepared.stage)
    request.body = {"channel_id": ready.prepared.stage, "suppress": True}


@before("get_voice_state", "update_voice_state")
async def _others(ready: Ready, caller: Actor, request: Request) -> None:
    await ready.join(ready.owner, ready.prepared.stage)
    request.values["user_id"] = str(ready.owner.id)
    if request.body is not None:
        speaks = {"channel_id": ready.prepared.stage, "suppress": False}
        (await ready.owner.patch(f"{ready.place}/voice-states/@me", json=speaks)).ok()
        request.body = {"channel_id": ready.prepared.stage, "suppress": True}


@before("update_voice_channel_status")
async def _away(ready: Ready, caller: Actor, request: Request) -> None:
    await ready.join(caller, None)
    request.body = {"status": ready.name()}


# Talk


@before("update_message")
async def _said(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["message_id"] = await ready.message(caller)
    request.body = {"content": "anew"}


@before("poll_expire")
async def _polled(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["message_id"] = await ready.message(caller, poll=POLL)


@before("delete_message", "create_thread_from_message", "create_pin", "deprecated_create_pin")
async def _message(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["message_id"] = await ready.message()


@before("delete_pin", "deprecated_delete_pin")
async def _pinned(ready: Ready, caller: Actor, request: Request) -> None:
    await _message(ready, caller, request)
    (await ready.owner.put(f"{ready.general}/messages/pins/{request.values['message_id']}")).ok()


@before("bulk_delete_messages")
async def _several(ready: Ready, caller: Actor, request: Request) -> None:
    request.body = {"messages": [await ready.message() for _ in range(2)]}


@before("crosspost_message")
async def _article(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["message_id"] = await ready.message(channel=ready.prepared.news)


@before("delete_my_message_reaction", "delete_user_message_reaction", "delete_all_message_reactions_by_emoji")
async def _reacted(ready: Ready, caller: Actor, request: Request) -> None:
    await _message(ready, caller, request)
    who = ready.owner if "user_id" in request.values else caller
    request.values |= {"user_id": str(ready.owner.id)} if "user_id" in request.values else {}
    path = f"{ready.general}/messages/{request.values['message_id']}/reactions/{request.values['emoji_name']}/@me"
    (await who.put(path)).ok()


@before("add_thread_member")
async def _beside_thread(ready: Ready, caller: Actor, request: Request) -> None:
    person = await ready.member()
    request.values["user_id"] = str(person.id)
    # Whoever is put there must see the channel; nobody does in this guild without being named.
    await ready.guild.overwrite(ready.guild.general, person.id, allow=Permissions.VIEW_CHANNEL)


@before("get_thread_member", "delete_thread_member")
async def _in_thread(ready: Ready, caller: Actor, request: Request) -> None:
    await _beside_thread(ready, caller, request)
    (await ready.owner.put(f"/channels/{ready.prepared.thread}/thread-members/{request.values['user_id']}")).ok()


@before("get_webhook", "update_webhook", "delete_webhook")
async def _webhook(ready: Ready, caller: Actor, request: Request) -> None:
    channel = await ready.guild.channel(ready.name())
    request.values["webhook_id"] = await ready.made(f"/channels/{channel}/webhooks", json={"name": "hook"})
    if request.body is not None:
        request.body = {"name": ready.name()}


@before("create_webhook", "follow_channel")
async def _few_webhooks(ready: Ready, caller: Actor, request: Request) -> None:
    channel = str(await ready.guild.channel(ready.name()))
    if request.body == ready.prepared.bodies["follow_channel"]:
        request.body = {"webhook_channel_id": channel}
    else:
        request.values["channel_id"] = channel


# Invites


def _targets(*people: Actor, invite: bool = True) -> aiohttp.FormData:
    form = aiohttp.FormData()
    if invite:
        form.add_field("payload_json", "{}", content_type="application/json")
    lines = "".join(f"{each.id}\n" for each in people)
    form.add_field("target_users_file", f"user_id\n{lines}", filename="users.csv", content_type="text/csv")
    return form


@before("invite_revoke")
async def _invite(ready: Ready, caller: Actor, request: Request) -> None:
    request.values["code"] = await ready.made(f"{ready.general}/invites", "code", json={"unique": True})


@before("get_invite_target_users", "get_invite_target_users_job_status", "update_invite_target_users")
async def _targeted(ready: Ready, caller: Actor, request: Request) -> None:
    # The caller sees the invite, being one of those it is for.
    request.values["code"] = await ready.made(f"{ready.general}/invites", "code", data=_targets(caller))
    request.form = lambda: _targets(caller, ready.owner, invite=False)


# What people do by a body alone


@before("create_interaction")
async def _command(ready: Ready, caller: Actor, request: Request) -> None:
    bot = ready.prepared.bot
    path = f"/applications/{bot.application_id}/guilds/{ready.guild.id}/commands"
    command = await ready.made(path, actor=bot, json={"name": "greet", "description": "says hello"})
    request.body = {
        "type": 2,
        "application_id": str(bot.application_id),
        "guild_id": str(ready.guild.id),
        "channel_id": str(ready.guild.general),
        "data": {"id": command, "name": "greet", "type": 1},
    }


@before("authorize_oauth2_application")
async def _install(ready: Ready, caller: Actor, request: Request) -> None:
    bot = await ready.world.bot()
    request.query = {"client_id": str(bot.application_id), "scope": "bot"}
    request.body = {"authorize": True, "guild_id": str(ready.guild.id), "permissions": "0"}
