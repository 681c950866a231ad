"""Who may do what, for every operation on a guild or one of its channels: a member without any permission, one with just those
that are asked for, the owner, an outsider, and the owner of another guild who names things of ours. Once with people and once with
bots, where an administrator stands for the owner; what only applications do has a table of its own, as groups have.

The callers and their answers come from the operation table: `needs` is what the door asks for. What handlers ask for besides is
`ALSO`, after the rows of http.md 4. A refusal is 403 with 50013 (no permission) or 50001 (no access); where a member may not even
see the channel, it is 50001."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth
from hubbub.protocol.permissions import Permissions as P
from hubbub.server.app import SLICES
from hubbub.server.core.dispatch import Endpoint, Table
from tests.contract.prepared import Prepared, prepare
from tests.contract.ready import MAKERS, Ready, Request
from tests.world import Actor, Answer, Guild, World

ALSO = {
    # What a row of http.md 4 asks for and no bit of the door's does; others' things, where own ones are easier.
    "create_message": P.SEND_MESSAGES,
    "trigger_typing_indicator": P.SEND_MESSAGES,
    "delete_message": P.MANAGE_MESSAGES,
    "crosspost_message": P.MANAGE_MESSAGES,
    "delete_all_message_reactions": P.MANAGE_MESSAGES,
    "delete_all_message_reactions_by_emoji": P.MANAGE_MESSAGES,
    "delete_user_message_reaction": P.MANAGE_MESSAGES,
    "add_my_message_reaction": P.ADD_REACTIONS,
    "create_pin": P.PIN_MESSAGES,
    "delete_pin": P.PIN_MESSAGES,
    "deprecated_create_pin": P.PIN_MESSAGES,
    "deprecated_delete_pin": P.PIN_MESSAGES,
    "create_thread": P.CREATE_PUBLIC_THREADS,
    "add_thread_member": P.SEND_MESSAGES_IN_THREADS,
    "delete_thread_member": P.MANAGE_THREADS,
    "follow_channel": P.MANAGE_WEBHOOKS,
    "update_channel": P.MANAGE_CHANNELS,
    "delete_channel": P.MANAGE_CHANNELS,
    "update_voice_channel_status": P.MANAGE_CHANNELS,
    "create_guild_emoji": P.CREATE_GUILD_EXPRESSIONS,
    "update_guild_emoji": P.MANAGE_GUILD_EXPRESSIONS,
    "delete_guild_emoji": P.MANAGE_GUILD_EXPRESSIONS,
    "create_guild_soundboard_sound": P.CREATE_GUILD_EXPRESSIONS,
    "update_guild_soundboard_sound": P.MANAGE_GUILD_EXPRESSIONS,
    "delete_guild_soundboard_sound": P.MANAGE_GUILD_EXPRESSIONS,
    "create_guild_sticker": P.CREATE_GUILD_EXPRESSIONS,
    "update_guild_sticker": P.MANAGE_GUILD_EXPRESSIONS,
    "delete_guild_sticker": P.MANAGE_GUILD_EXPRESSIONS,
    "create_guild_scheduled_event": P.CREATE_EVENTS,
    "update_guild_scheduled_event": P.MANAGE_EVENTS,
    "delete_guild_scheduled_event": P.MANAGE_EVENTS,
    "create_guild_scheduled_event_exception": P.MANAGE_EVENTS,
    "update_guild_scheduled_event_exception": P.MANAGE_EVENTS,
    "delete_guild_scheduled_event_exception": P.MANAGE_EVENTS,
    "list_guild_invites": P.MANAGE_GUILD,
    "set_guild_new_member_welcome": P.VIEW_CHANNEL,
    "preview_prune_guild": P.MANAGE_GUILD,
    "prune_guild": P.MANAGE_GUILD,
    "get_guild_join_requests": P.KICK_MEMBERS,
    "guild_search": P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    "update_guild_member": P.MANAGE_NICKNAMES,
    "update_my_guild_member": P.CHANGE_NICKNAME,
    "get_voice_state": P.VIEW_CHANNEL | P.CONNECT,
    "update_self_voice_state": P.VIEW_CHANNEL,
    "update_voice_state": P.VIEW_CHANNEL | P.CONNECT | P.MUTE_MEMBERS,
    "create_stage_instance": P.VIEW_CHANNEL | P.MANAGE_CHANNELS | P.MUTE_MEMBERS | P.MOVE_MEMBERS,
    "get_webhook": P.VIEW_CHANNEL | P.MANAGE_WEBHOOKS,
    "update_webhook": P.VIEW_CHANNEL | P.MANAGE_WEBHOOKS,
    "delete_webhook": P.VIEW_CHANNEL | P.MANAGE_WEBHOOKS,
    "invite_revoke": P.MANAGE_GUILD,
    "get_invite_target_users": P.VIEW_AUDIT_LOG,
    "get_invite_target_users_job_status": P.VIEW_AUDIT_LOG,
    "update_invite_target_users": P.MANAGE_GUILD,
    "authorize_oauth2_application": P.MANAGE_GUILD,
    "create_interaction": P.VIEW_CHANNEL | P.USE_APPLICATION_COMMANDS,
    "launch_activity": P.USE_EMBEDDED_ACTIVITIES,
}

OWNERS_ONLY = {"delete_guild", "set_guild_mfa_level"}
"""No permission suffices."""

OPEN = {
    # Public by design (http.md 4.4, 4.5): a preview, a widget, a screen for newcomers, a request to join, an event's guests.
    "get_guild_preview",
    "get_guild_widget",
    "get_guild_widget_png",
    "get_guild_welcome_screen",
    "get_guild_member_verification",
    "get_my_guild_join_request",
    "create_guild_join_request",
    "delete_my_guild_join_request",
}
"""Answers outsiders too, or hides that the guild exists."""

MEMBERS_HAVE_NONE = {
    "get_my_guild_join_request",
    "create_guild_join_request",
    "delete_my_guild_join_request",
}
"""Requests to come in: who is in a guild has none there (tests/server/resources/test_join_requests.py)."""

MARKS = {"ack_message"}
"""A message that is read up to is only a number: it may be gone, and nothing of it is told (decisions/0057)."""

HIDDEN = {"get_invite_target_users", "get_invite_target_users_job_status", "update_invite_target_users"}
"""An invite for some is unknown to the others (http.md 4.5), unless a permission lets them see it."""

OF_THE_CALLER = {"assign_guild_role_connection", "update_self_voice_state"}
"""No permission suffices: what counts is what is known of the caller, or where they are."""

GROUP = "a conversation has recipients and no permissions: its own table is below"
LOBBY = "a lobby is its application's, not a guild's: tests/server/resources/test_lobbies.py"
LINKED = "the way from a lobby to its channel: tests/server/resources/test_linked_channels.py"
LENT = "who asked lends what they may: tests/server/resources/test_interaction_answers.py"
BY_TOKEN = "whoever has the token in the path may: tests/server/resources/test_webhooks.py"
NONE_YET = "nothing but applications is integrated, so none succeeds: tests/server/resources/test_guild_pages.py"
CALL = "people call each other in conversations only: tests/server/voice/test_private_calls.py"
CONVERSATION = "between two people: tests/server/resources/test_user_messages.py"
BESIDES = {
    "add_group_dm_user": GROUP,
    "delete_group_dm_user": GROUP,
    "get_call": CALL,
    "ring_call": CALL,
    "stop_ringing_call": CALL,
    "batch_set_guild_application_command_permissions": "answers nobody (http.md 5)",
    "create_guild_integration": NONE_YET,
    "update_guild_integration": NONE_YET,
    "sync_guild_integration": NONE_YET,
    "create_dm_by_user": "opens channels for oneself alone: tests/server/resources/test_direct_messages.py",
    "execute_webhook": BY_TOKEN,
    "execute_slack_compatible_webhook": BY_TOKEN,
    "execute_github_compatible_webhook": BY_TOKEN,
    "update_webhook_message": LENT,
    "update_original_webhook_message": LENT,
    "create_interaction_response": "whoever has the token in the path may: tests/server/resources/test_interactions.py",
    "create_purchase": "buys for a guild one is in: tests/server/resources/test_entitlements.py",
    "create_lobby": LOBBY,
    "get_lobby": LOBBY,
    "edit_lobby": LOBBY,
    "delete_lobby": LOBBY,
    "add_lobby_member": LOBBY,
    "delete_lobby_member": LOBBY,
    "bulk_update_lobby_members": LOBBY,
    "leave_lobby": LOBBY,
    "create_lobby_message": LOBBY,
    "get_lobby_messages": LOBBY,
    "update_lobby_message_external_moderation_metadata": LOBBY,
    "create_linked_lobby_guild_invite_for_user": LINKED,
    "create_linked_lobby_guild_invite_for_self": LINKED,
    "edit_lobby_channel_link": LINKED,
    "delete_user_message": CONVERSATION,
    "update_user_message_external_moderation_metadata": CONVERSATION,
    "get_disclosures": CONVERSATION,
    "acknowledge_disclosures": CONVERSATION,
    "get_activity_join_secret": "asks for somebody's activity: tests/server/resources/test_user_messages.py",
}
"""What refuses with the same codes, and for reasons of its own."""

APPLICATIONS = "/applications/{application_id}/guilds/"
"""What an application does in a guild for itself; its own tokens decide, not the guild's permissions."""

REFUSED = ((403, 50013), (403, 50001))
ENOUGH = P.ALL & ~P.ADMINISTRATOR
OBJECTS = {"guild_id", "channel_id", "user_id", "emoji_name", "overwrite_id", "answer_id", "application_id"}
"""What names no thing that belongs to one guild alone, or is the place itself."""


@cache
def placed() -> list[Endpoint]:
    """Every operation on a guild or a channel that its path names."""
    return [each for each in Table(SLICES) if {"guild_id", "channel_id"} & set(each.operation.parameters)]


@cache
def guarded() -> list[Endpoint]:
    """These, and whatever else may say that access or a permission is missing. No operation can say so without declaring it:
    the `watch` fixture holds every answer of every test against its `raises`."""
    says = {errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS}
    others = [each for each in Table(SLICES) if each.operation.needs or says & set(each.operation.raises)]
    return [*placed(), *(each for each in others if each.name not in {every.name for every in placed()})]


def walked(kind: Auth) -> list[Endpoint]:
    """Those that such callers may ask for; at the very end they leave, and the guild goes."""
    found = [
        endpoint
        for endpoint in guarded()
        if kind in endpoint.operation.auth
        and endpoint.name not in BESIDES
        and not endpoint.operation.path.startswith(APPLICATIONS)
    ]
    return sorted(found, key=lambda each: (each.name == "delete_guild", each.name == "leave_guild"))


def granted() -> list[Endpoint]:
    """Those that OAuth2 tokens may ask for."""
    return [each for each in placed() if Auth.BEARER in each.operation.auth and each.name not in BESIDES]


def asked_for(endpoint: Endpoint) -> int:
    """The bits that a row asks for."""
    bits = endpoint.operation.needs | ALSO.get(endpoint.name, 0)
    if "channel_id" in endpoint.operation.parameters:
        bits |= P.VIEW_CHANNEL
    # http.md 2.2: in a voice channel, who cannot connect can do nothing.
    voices = ("/voice-status", "/stage-instances", "/send-soundboard-sound")
    if endpoint.operation.method == "GET":
        return bits
    return bits | P.CONNECT if any(word in endpoint.operation.path for word in voices) else bits


class Stage:
    """Everybody who asks, and what they ask about."""

    def __init__(self, prepared: Prepared, people: Iterable[Actor], role: int, other: tuple[int, int]) -> None:
        self.prepared = prepared
        self.ready = Ready(prepared)
        self.nobody, self.able, self.outsider, self.foreigner, self.owner = people
        self.role, self._bits = role, 0
        self.other_guild, self.other_channel = other

    async def enable(self, bits: int) -> None:
        """Give the one who may exactly these bits."""
        if bits == self._bits:
            return
        guild, self._bits = self.prepared.guild, bits
        (await guild.owner.patch(f"/guilds/{guild.id}/roles/{self.role}", json={"permissions": str(bits)})).ok()

    async def request(self, endpoint: Endpoint, caller: Actor) -> Request:
        """What a caller who may would come to a success with. To have said something they must have been let for a moment."""
        if caller is self.able and endpoint.name in MAKERS:
            await self.enable(ENOUGH)
        return await self.ready.request(endpoint, caller)

    def elsewhere(self, request: Request) -> Request:
        """The same things, looked for in the guild of another."""
        places = {"guild_id": str(self.other_guild), "channel_id": str(self.other_channel)}
        return replace(request, values={key: places.get(key, value) for key, value in request.values.items()})


@pytest.fixture(params=[Auth.USER, Auth.BOT], ids=["people", "bots"])
async def stage(request: pytest.FixtureRequest, small_world: World) -> Stage:
    world, bots = small_world, request.param is Auth.BOT
    people = [await world.bot() if bots else await world.user() for _ in range(4)]
    prepared = await prepare(world, *people[:2])
    guild = prepared.guild
    other = await world.guild(None if bots else people[3], *([people[3]] if bots else []))
    owner = guild.owner
    if bots:
        owner = await world.bot(guild)
        highest = await guild.role("highest", P.ADMINISTRATOR)
        await guild.give(owner, highest)
        (await guild.owner.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(highest), "position": 20}])).ok()
        await other.allow(people[3], P.ADMINISTRATOR)
    return await _staged(prepared, [*people, owner], other)


async def _staged(prepared: Prepared, people: list[Actor], other: Guild) -> Stage:
    guild = prepared.guild
    role = await guild.role("able")
    await guild.give(people[1], role)
    roles = f"/guilds/{guild.id}/roles"
    (await guild.owner.patch(roles, json=[{"id": str(role), "position": 9}])).ok()
    (await guild.owner.patch(f"{roles}/{guild.id}", json={"permissions": "0"})).ok()
    return Stage(prepared, people, role, (other.id, other.general))


def told(answer: Answer) -> tuple[int, int]:
    """The status and the code of an answer."""
    body = answer.json if answer.status >= 400 else None
    return answer.status, body.get("code", 0) if isinstance(body, dict) else 0


def bits_of(bits: int) -> list[int]:
    """Each bit by itself."""
    return [1 << place for place in range(bits.bit_length()) if bits >> place & 1]


@pytest.mark.timeout(600)
async def test_every_operation_asks_for_what_its_row_says(stage: Stage) -> None:
    wrong: list[str] = []

    def expect(endpoint: Endpoint, who: str, answer: Answer, good: bool) -> None:
        if not good or answer.status >= 500:
            wrong.append(f"{endpoint.name}, {who}: {answer.status} {answer.body[:200]!r}")

    kind = Auth.BOT if stage.nobody.bot else Auth.USER
    for endpoint in walked(kind):
        name, request, bits = endpoint.name, await stage.request(endpoint, stage.able), asked_for(endpoint)
        in_channel, is_placed = "channel_id" in request.values, endpoint in placed()

        answer = await request.send(endpoint, stage.outsider)
        if endpoint.operation.needs:
            expect(endpoint, "outsider", answer, told(answer) == (403, 50001))
        elif name not in OPEN:
            refusals = ((403, 50001), (404, 10004)) if is_placed else REFUSED
            expect(endpoint, "outsider", answer, told(answer) in (refusals if name not in HIDDEN else ((404, 10006),)))

        if name != "leave_guild":
            answer = await request.send(endpoint, stage.nobody)
            if in_channel:
                expect(endpoint, "nobody", answer, told(answer) == (403, 50001))
            elif endpoint.operation.needs or name in OWNERS_ONLY:
                expect(endpoint, "nobody", answer, told(answer) == (403, 50013))
            elif bits and name not in OF_THE_CALLER:
                expect(endpoint, "nobody", answer, told(answer) in (REFUSED if name not in HIDDEN else ((404, 10006),)))
            else:
                expect(endpoint, "nobody", answer, told(answer) not in REFUSED or name in OPEN | OF_THE_CALLER)

        if name not in MARKS and (set(request.values) - OBJECTS or not is_placed):
            answer = await stage.elsewhere(request).send(endpoint, stage.foreigner)
            # The place may be of another kind, or lack a feature: then that is said before the thing is looked for.
            refusals = ((403, 50001), (400, 50024)) if is_placed else REFUSED
            expect(endpoint, "wrong guild", answer, answer.status == 404 or told(answer) in refusals)

        needed = bits & ~P.VIEW_CHANNEL if is_placed else bits
        for bit in bits_of(needed):
            # Who lacks but one of them is told so: in a channel one sees, that a permission is missing.
            await stage.enable(bits & ~bit)
            answer = await request.send(endpoint, stage.able)
            refusals = ((403, 50013),) if in_channel and bit != P.CONNECT else REFUSED
            expect(endpoint, f"all but {bit:#x}", answer, told(answer) in refusals)

        await stage.enable(bits)
        answer = await request.send(endpoint, stage.able)
        if name in OWNERS_ONLY:
            # Before the end of the guild they have left it.
            expect(endpoint, "able", answer, told(answer) in REFUSED)
        elif name not in MEMBERS_HAVE_NONE:
            expect(endpoint, "able", answer, answer.status < 300)

        if stage.owner.bot and name in OWNERS_ONLY:
            continue
        request = await stage.request(endpoint, stage.owner)
        answer = await request.send(endpoint, stage.owner)
        if name == "leave_guild" and not stage.owner.bot:
            expect(endpoint, "owner", answer, told(answer) == (400, 50055))
        elif name not in MEMBERS_HAVE_NONE:
            expect(endpoint, "owner", answer, answer.status < 300)

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("stage", [Auth.USER], ids=["people"], indirect=True)
async def test_elevated_permissions_ask_for_a_second_factor_where_the_guild_does(stage: Stage) -> None:
    """http.md 2.1: with mfa_level 1 the acting person, or the owner of the acting bot, has two-factor (else 60003)."""
    wrong: list[str] = []
    await stage.ready.secure(stage.prepared.guild.owner)
    await stage.enable(ENOUGH)
    for endpoint in walked(Auth.BOT if stage.nobody.bot else Auth.USER):
        if endpoint.name in OWNERS_ONLY or endpoint.name == "leave_guild":
            continue
        request = await stage.ready.request(endpoint, stage.able)
        await stage.ready.ask_for_two_factors(1)
        answer = await request.send(endpoint, stage.able)
        await stage.ready.ask_for_two_factors(0)
        if (told(answer) == (401, 60003)) is not bool(asked_for(endpoint) & P.ELEVATED):
            wrong.append(f"{endpoint.name}: {answer.status} {answer.body[:200]!r}")

    assert not wrong, "\n".join(wrong)


async def test_what_only_sometimes_takes_an_elevated_permission_asks_for_the_second_factor_then(stage: Stage) -> None:
    ready, able = stage.ready, stage.able
    member, message, role = await ready.member(), await ready.message(), str(await ready.guild.role())
    await ready.secure(ready.owner)
    await stage.enable(ENOUGH)
    await ready.ask_for_two_factors(1)

    for path, body in (
        (f"{ready.place}/members/{member.id}", {"roles": [role]}),
        (f"{ready.general}/messages/{message}", {"flags": 4}),
        (f"/channels/{ready.prepared.thread}", {"locked": True}),
    ):
        assert told(await able.patch(path, json=body)) == (401, 60003), path
    assert told(await able.post(f"{ready.general}/invites", json={"role_ids": [role]})) == (401, 60003)
    assert (await able.patch(f"{ready.place}/members/{member.id}", json={"nick": "bob"})).status == 200


def test_the_tables_above_name_only_what_is_there() -> None:
    names = {endpoint.name for endpoint in Table(SLICES)}

    assert {*ALSO, *OWNERS_ONLY, *OPEN, *MEMBERS_HAVE_NONE, *HIDDEN, *OF_THE_CALLER, *BESIDES} - names == set()
    assert set(MAKERS) - names == set()


def test_no_operation_that_a_guild_or_a_channel_guards_is_left_out() -> None:
    seen = {each.name for each in (*walked(Auth.USER), *walked(Auth.BOT), *granted())}
    own = {each.name for each in placed() if each.operation.path.startswith(APPLICATIONS)}

    assert {each.name for each in guarded()} - seen - (own - set(BESIDES)) == set(BESIDES)
    assert {name for method, name in GROUP_ROWS} <= set(BESIDES)


# What applications do for themselves, and what they are granted


class Bearer(Actor):
    """An application acting for somebody."""

    @property
    def header(self) -> str:
        """The Authorization header."""
        return f"Bearer {self.token}"


async def bearer(world: World, person: Actor, application_id: int | None, *scopes: str) -> Bearer:
    """Somebody's token in the hands of an application."""
    token = await world.access_token(person, application_id, *scopes)
    return Bearer(world, person.id, token, person.name, application_id=application_id)


async def test_applications_act_for_themselves_where_they_are_let_in(small_world: World) -> None:
    world = small_world
    prepared = await prepare(world)
    stranger = await world.bot(prepared.guild, permissions=P.ADMINISTRATOR)
    command = {"name": "greet", "description": "says hello"}
    path = f"/applications/{prepared.bot.application_id}/guilds/{prepared.guild.id}/commands"
    wrong: list[str] = []
    # What takes away comes last: each finds the command there.
    own = sorted(
        (each for each in placed() if each.operation.path.startswith(APPLICATIONS) and each.name not in BESIDES),
        key=lambda each: each.operation.method == "DELETE",
    )
    assert own
    for endpoint in own:
        made = (await prepared.bot.post(path, json=command)).ok()
        values = prepared.values(endpoint)
        if "command_id" in values:
            values["command_id"] = made["id"]
        body = {"bulk_set_guild_application_commands": [command], "create_guild_application_command": command}.get(
            endpoint.name, {"permissions": []} if "permissions" in endpoint.name else {}
        )

        async def ask(
            caller: Actor, values: dict[str, str] = values, body: Any = body, endpoint: Any = endpoint
        ) -> Answer:
            options = {} if endpoint.operation.method in ("GET", "DELETE") else {"json": body}
            return await caller.request(endpoint.operation.method, endpoint.operation.url(**values), **options)

        scope = endpoint.operation.scopes[0]
        owner = prepared.guild.owner
        plain = await bearer(world, owner, prepared.bot.application_id, "identify")
        foreign = await bearer(world, owner, stranger.application_id, scope)
        answers = {"a bearer without the scope": (told(await ask(plain)), {(403, 50026)})}
        answers["another's bearer"] = (told(await ask(foreign)), {(403, 20012)})
        if Auth.BOT in endpoint.operation.auth:
            answers["another bot"] = (told(await ask(stranger)), {(403, 20012)})
            elsewhere = {**values, "guild_id": "1"}
            # Nothing of an application is in a guild that let it in nowhere.
            answers["elsewhere"] = (
                told(await ask(prepared.bot, elsewhere)),
                {(403, 50001), (404, 10004), (404, 10063)},
            )
        for who, (seen, expected) in answers.items():
            if seen not in expected:
                wrong.append(f"{endpoint.name}, {who}: {seen}")
        good = (
            await ask(prepared.bot)
            if Auth.BOT in endpoint.operation.auth
            else await ask(await bearer(world, owner, prepared.bot.application_id, scope))
        )
        if good.status >= 400 and told(good) != (404, 10066):
            wrong.append(f"{endpoint.name}, itself: {good.status} {good.body[:200]!r}")

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", sorted(each.name for each in granted() if APPLICATIONS not in each.operation.path))
async def test_what_is_granted_is_granted_for_ones_own_guilds(small_world: World, name: str) -> None:
    world = small_world
    prepared = await prepare(world)
    (endpoint,) = [each for each in granted() if each.name == name]
    url, application_id = endpoint.operation.url(**prepared.values(endpoint)), prepared.bot.application_id
    scope = endpoint.operation.scopes[0]

    async def answer(person: Actor, *scopes: str) -> tuple[int, int]:
        caller = await bearer(world, person, application_id, *scopes)
        return told(await caller.request(endpoint.operation.method, url))

    assert await answer(prepared.guild.owner, scope) == (200, 0)
    assert await answer(prepared.guild.owner, "identify") == (403, 50026)
    assert await answer(await world.user(), scope) in ((403, 50001), (404, 10004))


# Groups

GROUP_ROWS = {("PUT", "add_group_dm_user"), ("DELETE", "delete_group_dm_user")}


async def test_groups_are_changed_by_those_in_them(small_world: World) -> None:
    world = small_world
    owner, friend, newcomer, outsider = [await world.user() for _ in range(4)]
    await world.guild(owner, friend, newcomer, outsider)
    third = await world.user()
    await world.guild(owner, third)
    recipients = [str(friend.id), str(third.id)]
    group = (await owner.post("/users/@me/channels", json={"recipients": recipients})).ok()["id"]
    path = f"/channels/{group}/recipients"

    for method, target in (("PUT", newcomer), ("DELETE", third)):
        assert told(await outsider.request(method, f"{path}/{target.id}")) == (403, 50001)
    assert told(await friend.delete(f"{path}/{third.id}")) == (403, 50013)
    assert (await friend.put(f"{path}/{newcomer.id}")).status < 300
    assert (await owner.delete(f"{path}/{third.id}")).status == 204
    assert (await friend.delete(f"{path}/{friend.id}")).status == 204
    assert told(await owner.put(f"/channels/1/recipients/{third.id}")) == (404, 10003)
