"""Who may do what, for every operation on a guild or one of its channels: a member without any permission, one with just those
that are asked for, the owner, an outsider, and the owner of another guild who names things of ours.

The callers and their answers come from the operation table: `needs` is what the door asks for. What handlers ask for besides is
`ALSO`, after the rows of http.md 4. A refusal is 403 with 50013 (no permission) or 50001 (no access); where a member may not even
see the channel, it is 50001."""

from collections.abc import AsyncIterator, Iterable
from typing import Any

import aiohttp
import pytest

from hubbub.protocol.operation import Auth
from hubbub.protocol.permissions import Permissions as P
from hubbub.server.app import SLICES, App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.dispatch import Endpoint, Table
from tests.contract.prepared import Prepared, prepare
from tests.fixtures.validator import Watch
from tests.world import NOW_MS, Actor, Answer, World, small_config

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
    "update_guild_sticker": P.MANAGE_GUILD_EXPRESSIONS,
    "delete_guild_sticker": P.MANAGE_GUILD_EXPRESSIONS,
    "create_guild_scheduled_event": P.CREATE_EVENTS,
    "update_guild_scheduled_event": P.MANAGE_EVENTS,
    "delete_guild_scheduled_event": P.MANAGE_EVENTS,
    "create_guild_scheduled_event_exception": P.MANAGE_EVENTS,
    "update_guild_scheduled_event_exception": P.MANAGE_EVENTS,
    "delete_guild_scheduled_event_exception": P.MANAGE_EVENTS,
    "list_guild_invites": P.MANAGE_GUILD,
    "preview_prune_guild": P.MANAGE_GUILD,
    "prune_guild": P.MANAGE_GUILD,
    "get_guild_join_requests": P.KICK_MEMBERS,
    "guild_search": P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
}

QUERIES = {"search_guild_members": {"query": "a"}}
"""What an operation cannot do without."""

OWNERS_ONLY = {"delete_guild", "set_guild_mfa_level"}
"""No permission suffices."""

AUTHORS_ONLY = {"poll_expire", "update_message"}
"""Others are refused with words of their own, whatever they may do."""

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

ELSEWHERE = {
    # Switched off for everybody (http.md 5).
    "batch_set_guild_application_command_permissions",
    # Conversations, which have recipients and no permissions (tests/server/resources/test_direct_messages.py).
    "add_group_dm_user",
    "delete_group_dm_user",
    # Takes multipart bodies (tests/server/resources/test_stickers.py).
    "create_guild_sticker",
}
"""Not of this table."""

REFUSED = ((403, 50013), (403, 50001))
OBJECTS = {"guild_id", "channel_id", "user_id", "emoji_name", "overwrite_id", "answer_id"}
"""What names no thing that belongs to one guild alone, or is the place itself."""


def walked() -> list[Endpoint]:
    """Every operation on a guild or a channel that people may ask for; what takes away comes last, the largest at the very end."""
    found = [
        endpoint
        for endpoint in Table(SLICES)
        if {"guild_id", "channel_id"} & set(endpoint.operation.parameters)
        and Auth.USER in endpoint.operation.auth
        and endpoint.name not in ELSEWHERE
    ]
    return sorted(found, key=_order)


def _order(endpoint: Endpoint) -> tuple[int, int]:
    path, leaves = endpoint.operation.path, endpoint.operation.method == "DELETE"
    if endpoint.name in ("leave_guild", "delete_guild"):
        return (3 if endpoint.name == "leave_guild" else 4), 0
    return (2, -path.count("/")) if leaves else (1, 0)


def asked_for(endpoint: Endpoint) -> int:
    """The bits that a row asks for."""
    bits = endpoint.operation.needs | ALSO.get(endpoint.name, 0)
    if "channel_id" in endpoint.operation.parameters:
        bits |= P.VIEW_CHANNEL
    # http.md 2.2: in a voice channel, who cannot connect can do nothing.
    voices = ("voice-status", "/stage-instances", "/send-soundboard-sound")
    return bits | P.CONNECT if any(word in endpoint.operation.path for word in voices) else bits


class Stage:
    """Everybody who asks, and what they ask about."""

    def __init__(self, prepared: Prepared, people: Iterable[Actor], role: int, other: tuple[int, int]) -> None:
        self.prepared = prepared
        self.nobody, self.able, self.outsider, self.foreigner = people
        self.role = role
        self.other_guild, self.other_channel = other

    async def ask(self, endpoint: Endpoint, caller: Actor, values: dict[str, str]) -> Answer:
        """One caller's request."""
        body = self.prepared.body(endpoint)
        options: dict[str, Any] = {} if body is None else {"json": body}
        options["params"] = QUERIES.get(endpoint.name, {})
        return await caller.request(endpoint.operation.method, endpoint.operation.url(**values), **options)

    async def enable(self, bits: int) -> None:
        """Give the one who may exactly these bits."""
        guild = self.prepared.guild
        (await guild.owner.patch(f"/guilds/{guild.id}/roles/{self.role}", json={"permissions": str(bits)})).ok()


@pytest.fixture
async def stage(watch: Watch) -> AsyncIterator[Stage]:
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        people = [await world.user() for _ in range(4)]
        prepared = await prepare(world, *people[:2])
        guild = prepared.guild
        other = await world.guild(people[3])
        role = await guild.role("able")
        await guild.give(people[1], role)
        roles = f"/guilds/{guild.id}/roles"
        (await guild.owner.patch(roles, json=[{"id": str(role), "position": 9}])).ok()
        (await guild.owner.patch(f"{roles}/{guild.id}", json={"permissions": "0"})).ok()
        yield Stage(prepared, people, role, (other.id, other.general))
        await world.close()
    await app.stop()


def told(answer: Answer) -> tuple[int, int]:
    """The status and the code of an answer."""
    body = answer.json if answer.status >= 400 else None
    return answer.status, body.get("code", 0) if isinstance(body, dict) else 0


@pytest.mark.timeout(300)
async def test_every_operation_asks_for_what_its_row_says(stage: Stage) -> None:
    wrong: list[str] = []

    def expect(endpoint: Endpoint, who: str, answer: Answer, good: bool) -> None:
        if not good or answer.status >= 500:
            wrong.append(f"{endpoint.name}, {who}: {answer.status} {answer.body[:200]!r}")

    for endpoint in walked():
        values = stage.prepared.values(endpoint)
        bits = asked_for(endpoint)
        in_channel = "channel_id" in values

        answer = await stage.ask(endpoint, stage.outsider, values)
        expect(endpoint, "outsider", answer, endpoint.name in OPEN or told(answer) in ((403, 50001), (404, 10004)))
        if endpoint.operation.needs:
            expect(endpoint, "outsider", answer, told(answer) == (403, 50001))

        if endpoint.name != "leave_guild":
            answer = await stage.ask(endpoint, stage.nobody, values)
            if in_channel:
                expect(endpoint, "nobody", answer, told(answer) == (403, 50001))
            elif endpoint.operation.needs or endpoint.name in OWNERS_ONLY:
                expect(endpoint, "nobody", answer, told(answer) == (403, 50013))
            elif bits:
                expect(endpoint, "nobody", answer, told(answer) in REFUSED)
            else:
                expect(endpoint, "nobody", answer, told(answer) not in REFUSED or endpoint.name in OPEN)

        theirs = values | {
            key: str(value)
            for key, value in (("guild_id", stage.other_guild), ("channel_id", stage.other_channel))
            if key in values
        }
        if set(values) - OBJECTS:
            answer = await stage.ask(endpoint, stage.foreigner, theirs)
            # The place may be of another kind, or lack a feature: then that is said before the thing is looked for.
            expect(
                endpoint, "wrong guild", answer, answer.status == 404 or told(answer) in ((403, 50001), (400, 50024))
            )

        await stage.enable(bits)
        answer = await stage.ask(endpoint, stage.able, values)
        if endpoint.name in OWNERS_ONLY:
            # Before the end of the guild they have left it.
            expect(endpoint, "able", answer, told(answer) in REFUSED)
        elif endpoint.name not in AUTHORS_ONLY:
            expect(endpoint, "able", answer, told(answer) not in REFUSED)
        more = (endpoint.operation.needs | ALSO.get(endpoint.name, 0)) & ~P.VIEW_CHANNEL
        if more and in_channel and endpoint.operation.method != "DELETE":
            # Who only sees the channel is told what they lack.
            await stage.enable(bits & ~more)
            answer = await stage.ask(endpoint, stage.able, values)
            expect(endpoint, "who only sees", answer, told(answer) == (403, 50013))

        answer = await stage.ask(endpoint, stage.prepared.guild.owner, values)
        expect(endpoint, "owner", answer, told(answer) not in REFUSED)

    assert not wrong, "\n".join(wrong)


def test_the_table_above_names_only_what_is_there() -> None:
    names = {endpoint.name for endpoint in Table(SLICES)}

    assert {*ALSO, *OWNERS_ONLY, *AUTHORS_ONLY, *OPEN, *ELSEWHERE} - names == set()
