"""What people answer to a guild's onboarding, and what they get for it."""

import asyncio
from typing import Any

import pytest

from hubbub.protocol.flags import MemberFlags
from hubbub.server.core.call import Call
from hubbub.server.resources import members
from tests.world import Actor, Guild, World

STARTED, BOTH = MemberFlags.STARTED_ONBOARDING, MemberFlags.STARTED_ONBOARDING | MemberFlags.COMPLETED_ONBOARDING


class Asked:
    """A guild with onboarding: which side (one, required), which games (several), and a later question (not asked at once)."""

    def __init__(self, guild: Guild, rooms: list[str], roles: dict[str, int]) -> None:
        self.guild, self.rooms, self.roles = guild, rooms, roles
        self.path = f"/guilds/{guild.id}/onboarding-responses"
        self.options: dict[str, str] = {}

    async def switch_on(self, **more: Any) -> None:
        """Ask."""
        prompts = [
            {"title": "Side", "required": True, "single_select": True, "options": [("white", []), ("black", [])]},
            {"title": "Games", "options": [("chess", self.rooms[7:8]), ("go", self.rooms[8:9])]},
            {"title": "Later", "required": True, "in_onboarding": False, "options": [("more", [])]},
        ]
        body = [
            {
                "id": str(index),
                "in_onboarding": True,
                **prompt,
                "options": [
                    {"title": title, "channel_ids": rooms, "role_ids": [str(self.roles[title])]}
                    for title, rooms in prompt["options"]
                ],
            }
            for index, prompt in enumerate(prompts)
        ]
        asked = {"prompts": body, "default_channel_ids": self.rooms[:7], "enabled": True, **more}
        shown = (await self.guild.owner.put(f"/guilds/{self.guild.id}/onboarding", json=asked)).ok()
        self.options = {option["title"]: option["id"] for prompt in shown["prompts"] for option in prompt["options"]}

    async def answer(self, who: Actor, *titles: str) -> Any:
        """Choose answers."""
        return await who.post(
            self.path, json={"onboarding_responses": [self.options.get(each, each) for each in titles]}
        )

    def worn(self, *titles: str) -> list[str]:
        """The roles that these answers give, as a member shows them."""
        return sorted((str(self.roles[title]) for title in titles), key=int)


@pytest.fixture
async def asked(world: World) -> Asked:
    """A guild that asks."""
    guild = await world.guild()
    rooms = [str(await guild.channel(f"room-{number}")) for number in range(9)]
    roles = {title: await guild.role(title) for title in ("white", "black", "chess", "go", "more")}
    found = Asked(guild, rooms, roles)
    await found.switch_on()
    return found


async def newcomer(world: World, guild: Guild) -> Actor:
    """Somebody who comes by an invite."""
    invite = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()
    person = await world.user()
    (await person.post(f"/invites/{invite['code']}")).ok()
    return person


async def flags(guild: Guild, who: Actor) -> int:
    """A member's flags."""
    found: int = (await guild.owner.get(f"/guilds/{guild.id}/members/{who.id}")).ok()["flags"]
    return found


async def test_who_comes_starts_and_completes_by_answering(world: World, asked: Asked) -> None:
    guild = asked.guild
    session = await (await world.bot(guild)).connect()
    bob = await newcomer(world, guild)
    assert (await session.next("GUILD_MEMBER_ADD"))["flags"] == STARTED
    nothing = {
        "guild_id": str(guild.id),
        "user_id": str(bob.id),
        "onboarding_responses": [],
        "channel_ids": asked.rooms[:7],
        "completed": False,
    }
    assert (await bob.get(asked.path)).ok() == nothing

    shown = (await asked.answer(bob, "white", "chess")).ok()

    told = await session.next("GUILD_MEMBER_UPDATE")
    assert (told["flags"], sorted(told["roles"], key=int)) == (BOTH, asked.worn("white", "chess"))
    assert shown == nothing | {
        "onboarding_responses": [asked.options["white"], asked.options["chess"]],
        "channel_ids": asked.rooms[:8],
        "completed": True,
    }
    assert (await bob.get(asked.path)).ok() == shown
    log = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs")).ok()["audit_log_entries"]
    assert not {entry["action_type"] for entry in log} & {24, 25}


async def test_other_answers_take_the_roles_of_earlier_ones_and_no_others(world: World, asked: Asked) -> None:
    bob = await newcomer(world, asked.guild)
    other = await asked.guild.role("other")
    await asked.guild.give(bob, other)
    (await asked.answer(bob, "white", "chess", "more")).ok()
    session = await bob.connect()

    shown = (await asked.answer(bob, "black", "go")).ok()

    told = await session.next("GUILD_MEMBER_UPDATE")
    assert sorted(told["roles"], key=int) == sorted([*asked.worn("black", "go"), str(other)], key=int)
    assert shown["channel_ids"] == [*asked.rooms[:7], asked.rooms[8]]
    (await asked.answer(bob, "black", "go")).ok()
    await session.none_of("GUILD_MEMBER_UPDATE")


async def test_answers_that_do_not_fit_are_named(world: World, asked: Asked) -> None:
    bob = await newcomer(world, asked.guild)

    required = await asked.answer(bob, "chess")
    assert required.errors("onboarding_responses") == ["ONBOARDING_PROMPT_REQUIRED"]
    both = await asked.answer(bob, "white", "black")
    assert both.errors("onboarding_responses.1") == ["ONBOARDING_SINGLE_SELECT"]
    twice = await asked.answer(bob, "white", "chess", "chess")
    assert twice.errors("onboarding_responses.2") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    unknown = await asked.answer(bob, "white", "1")
    assert unknown.errors("onboarding_responses.1") == ["ONBOARDING_OPTION_UNKNOWN"]
    assert (await bob.post(asked.path, json={})).errors("onboarding_responses") == ["BASE_TYPE_REQUIRED"]
    assert await flags(asked.guild, bob) == STARTED
    assert (await bob.get(asked.path)).ok()["onboarding_responses"] == []


async def test_only_people_who_may_act_answer_and_only_where_something_is_asked(world: World, asked: Asked) -> None:
    guild = asked.guild
    bot = await world.bot(guild)
    assert await flags(guild, bot) == 0
    (await bot.get(asked.path)).refused(403, 20001)
    (await asked.answer(bot, "white")).refused(403, 20001)
    stranger = await world.user()
    (await stranger.get(asked.path)).refused(403, 50001)
    (await asked.answer(stranger, "white")).refused(403, 50001)

    bob = await newcomer(world, guild)
    silence = {"communication_disabled_until": "2026-11-20T00:00:00Z"}
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{bob.id}", json=silence)).ok()
    (await asked.answer(bob, "white")).refused(403, 50013)
    (await guild.owner.put(f"/guilds/{guild.id}/onboarding", json={"enabled": False})).ok()
    (await asked.answer(guild.owner, "white")).refused(400, 40006)
    carol = await newcomer(world, guild)
    assert await flags(guild, carol) == 0


async def test_what_is_gone_or_managed_is_not_given(world: World, asked: Asked) -> None:
    guild = asked.guild
    bob = await newcomer(world, guild)
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{asked.roles['chess']}")).ok()
    (await guild.owner.delete(f"/channels/{asked.rooms[7]}")).ok()

    def manage(call: Call) -> None:
        call.tx.run("UPDATE roles SET managed = 1 WHERE id = ?", asked.roles["white"])

    await world.write(manage)

    shown = (await asked.answer(bob, "white", "chess", "go")).ok()

    member = (await guild.owner.get(f"/guilds/{guild.id}/members/{bob.id}")).ok()
    assert member["roles"] == asked.worn("go")
    assert shown["channel_ids"] == [*asked.rooms[:7], asked.rooms[8]]


async def test_members_from_before_may_answer_and_who_leaves_is_forgotten(world: World, asked: Asked) -> None:
    guild = asked.guild
    carol = await world.user()
    await asked.switch_on(enabled=False)
    await world.write(lambda call: members.add(call, guild.id, carol.id), actor=guild.owner.id)
    await asked.switch_on()
    assert await flags(guild, carol) == 0
    assert (await asked.answer(carol, "white")).ok()["completed"]
    assert await flags(guild, carol) == BOTH
    kept = (await carol.get("/users/@me/harvest")).ok()["records"]["onboarding_responses"]
    assert kept == [{"guild_id": str(guild.id), "responses": [asked.options["white"]]}]

    (await carol.delete(f"/users/@me/guilds/{guild.id}")).ok()
    left = await world.app.database.read(lambda tx: tx.all("SELECT user_id FROM onboarding_answers"))
    assert left == []
    again = await newcomer(world, guild)
    (await asked.answer(again, "black")).ok()
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    left = await world.app.database.read(lambda tx: tx.all("SELECT user_id FROM onboarding_answers"))
    assert left == []


async def test_answers_at_once_leave_one_of_them(world: World, asked: Asked) -> None:
    bob = await newcomer(world, asked.guild)

    answers = await asyncio.gather(*(asked.answer(bob, side) for side in ("white", "black") * 3))

    for answer in answers:
        answer.ok()
    (side,) = (await bob.get(asked.path)).ok()["onboarding_responses"]
    (role,) = (await asked.guild.owner.get(f"/guilds/{asked.guild.id}/members/{bob.id}")).ok()["roles"]
    title = next(title for title, option in asked.options.items() if option == side)
    assert role == str(asked.roles[title])
