"""Answers to a guild's onboarding, and the roles and channels they grant."""

import asyncio
from typing import Any

import pytest

from hubbub.protocol.flags import MemberFlags
from hubbub.server.core.call import Call
from hubbub.server.places import members
from tests.world import Actor, Guild, World

STARTED_FLAGS, COMPLETED_FLAGS = (
    MemberFlags.STARTED_ONBOARDING,
    MemberFlags.STARTED_ONBOARDING | MemberFlags.COMPLETED_ONBOARDING,
)


class OnboardingGuild:
    """A guild with three prompts: a required single choice, a multiple choice, and one outside onboarding."""

    def __init__(self, guild: Guild, channels: list[str], roles: dict[str, int]) -> None:
        self.guild, self.channels, self.roles = guild, channels, roles
        self.path = f"/guilds/{guild.id}/onboarding-responses"
        self.options: dict[str, str] = {}

    async def enable(self, **more: Any) -> None:
        """Enable onboarding with three prompts and remember the ids of their options."""
        prompts = [
            {"title": "Side", "required": True, "single_select": True, "options": [("white", []), ("black", [])]},
            {"title": "Games", "options": [("chess", self.channels[7:8]), ("go", self.channels[8:9])]},
            {"title": "Later", "required": True, "in_onboarding": False, "options": [("more", [])]},
        ]
        prompts_body = [
            {
                "id": str(index),
                "in_onboarding": True,
                **prompt,
                "options": [
                    {"title": title, "channel_ids": channels, "role_ids": [str(self.roles[title])]}
                    for title, channels in prompt["options"]
                ],
            }
            for index, prompt in enumerate(prompts)
        ]
        body = {"prompts": prompts_body, "default_channel_ids": self.channels[:7], "enabled": True, **more}
        updated = (await self.guild.owner.put(f"/guilds/{self.guild.id}/onboarding", json=body)).ok()
        self.options = {option["title"]: option["id"] for prompt in updated["prompts"] for option in prompt["options"]}

    async def answer(self, member: Actor, *titles: str) -> Any:
        """Answer with the options of these titles."""
        return await member.post(
            self.path, json={"onboarding_responses": [self.options.get(each, each) for each in titles]}
        )

    def granted_roles(self, *titles: str) -> list[str]:
        """Return the role ids that these answers grant, sorted as in a member."""
        return sorted((str(self.roles[title]) for title in titles), key=int)


@pytest.fixture
async def onboarding(world: World) -> OnboardingGuild:
    """Create a guild with onboarding enabled."""
    guild = await world.guild()
    channels = [str(await guild.channel(f"room-{number}")) for number in range(9)]
    roles = {title: await guild.role(title) for title in ("white", "black", "chess", "go", "more")}
    found = OnboardingGuild(guild, channels, roles)
    await found.enable()
    return found


async def join_by_invite(world: World, guild: Guild) -> Actor:
    """Create a user who joins the guild with an invite."""
    invite = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()
    user = await world.user()
    (await user.post(f"/invites/{invite['code']}")).ok()
    return user


async def flags(guild: Guild, member: Actor) -> int:
    """Return the flags of a member."""
    found: int = (await guild.owner.get(f"/guilds/{guild.id}/members/{member.id}")).ok()["flags"]
    return found


async def test_a_new_member_starts_and_completes_onboarding_by_answering(
    world: World, onboarding: OnboardingGuild
) -> None:
    guild = onboarding.guild
    session = await (await world.bot(guild)).connect()
    bob = await join_by_invite(world, guild)
    assert (await session.next("GUILD_MEMBER_ADD"))["flags"] == STARTED_FLAGS
    nothing = {
        "guild_id": str(guild.id),
        "user_id": str(bob.id),
        "onboarding_responses": [],
        "channel_ids": onboarding.channels[:7],
        "completed": False,
    }
    assert (await bob.get(onboarding.path)).ok() == nothing

    responses = (await onboarding.answer(bob, "white", "chess")).ok()

    event = await session.next("GUILD_MEMBER_UPDATE")
    assert (event["flags"], sorted(event["roles"], key=int)) == (
        COMPLETED_FLAGS,
        onboarding.granted_roles("white", "chess"),
    )
    assert responses == nothing | {
        "onboarding_responses": [onboarding.options["white"], onboarding.options["chess"]],
        "channel_ids": onboarding.channels[:8],
        "completed": True,
    }
    assert (await bob.get(onboarding.path)).ok() == responses
    log = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs")).ok()["audit_log_entries"]
    assert not {entry["action_type"] for entry in log} & {24, 25}


async def test_changing_answers_replaces_only_the_roles_of_earlier_answers(
    world: World, onboarding: OnboardingGuild
) -> None:
    bob = await join_by_invite(world, onboarding.guild)
    other = await onboarding.guild.role("other")
    await onboarding.guild.add_role(bob, other)
    (await onboarding.answer(bob, "white", "chess", "more")).ok()
    session = await bob.connect()

    responses = (await onboarding.answer(bob, "black", "go")).ok()

    event = await session.next("GUILD_MEMBER_UPDATE")
    assert sorted(event["roles"], key=int) == sorted([*onboarding.granted_roles("black", "go"), str(other)], key=int)
    assert responses["channel_ids"] == [*onboarding.channels[:7], onboarding.channels[8]]
    (await onboarding.answer(bob, "black", "go")).ok()
    await session.none_of("GUILD_MEMBER_UPDATE")


async def test_invalid_answers_are_rejected_with_their_index(world: World, onboarding: OnboardingGuild) -> None:
    bob = await join_by_invite(world, onboarding.guild)

    required = await onboarding.answer(bob, "chess")
    assert required.errors("onboarding_responses") == ["ONBOARDING_PROMPT_REQUIRED"]
    both = await onboarding.answer(bob, "white", "black")
    assert both.errors("onboarding_responses.1") == ["ONBOARDING_SINGLE_SELECT"]
    twice = await onboarding.answer(bob, "white", "chess", "chess")
    assert twice.errors("onboarding_responses.2") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    unknown = await onboarding.answer(bob, "white", "1")
    assert unknown.errors("onboarding_responses.1") == ["ONBOARDING_OPTION_UNKNOWN"]
    assert (await bob.post(onboarding.path, json={})).errors("onboarding_responses") == ["BASE_TYPE_REQUIRED"]
    assert await flags(onboarding.guild, bob) == STARTED_FLAGS
    assert (await bob.get(onboarding.path)).ok()["onboarding_responses"] == []


async def test_answering_requires_an_active_member_and_enabled_onboarding(
    world: World, onboarding: OnboardingGuild
) -> None:
    guild = onboarding.guild
    bot = await world.bot(guild)
    assert await flags(guild, bot) == 0
    (await bot.get(onboarding.path)).rejected(403, 20001)
    (await onboarding.answer(bot, "white")).rejected(403, 20001)
    stranger = await world.user()
    (await stranger.get(onboarding.path)).rejected(403, 50001)
    (await onboarding.answer(stranger, "white")).rejected(403, 50001)

    bob = await join_by_invite(world, guild)
    timeout = {"communication_disabled_until": "2026-11-20T00:00:00Z"}
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{bob.id}", json=timeout)).ok()
    (await onboarding.answer(bob, "white")).rejected(403, 50013)
    (await guild.owner.put(f"/guilds/{guild.id}/onboarding", json={"enabled": False})).ok()
    (await onboarding.answer(guild.owner, "white")).rejected(400, 40006)
    carol = await join_by_invite(world, guild)
    assert await flags(guild, carol) == 0


async def test_deleted_and_managed_roles_are_not_granted(world: World, onboarding: OnboardingGuild) -> None:
    guild = onboarding.guild
    bob = await join_by_invite(world, guild)
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{onboarding.roles['chess']}")).ok()
    (await guild.owner.delete(f"/channels/{onboarding.channels[7]}")).ok()

    def manage(call: Call) -> None:
        call.tx.run("UPDATE roles SET managed = 1 WHERE id = ?", onboarding.roles["white"])

    await world.write(manage)

    responses = (await onboarding.answer(bob, "white", "chess", "go")).ok()

    member = (await guild.owner.get(f"/guilds/{guild.id}/members/{bob.id}")).ok()
    assert member["roles"] == onboarding.granted_roles("go")
    assert responses["channel_ids"] == [*onboarding.channels[:7], onboarding.channels[8]]


async def test_earlier_members_can_answer_and_leaving_deletes_answers(
    world: World, onboarding: OnboardingGuild
) -> None:
    guild = onboarding.guild
    carol = await world.user()
    await onboarding.enable(enabled=False)
    await world.write(lambda call: members.add(call, guild.id, carol.id), actor=guild.owner.id)
    await onboarding.enable()
    assert await flags(guild, carol) == 0
    assert (await onboarding.answer(carol, "white")).ok()["completed"]
    assert await flags(guild, carol) == COMPLETED_FLAGS
    records = (await carol.get("/users/@me/harvest")).ok()["records"]["onboarding_responses"]
    assert records == [{"guild_id": str(guild.id), "responses": [onboarding.options["white"]]}]

    (await carol.delete(f"/users/@me/guilds/{guild.id}")).ok()
    remaining = await world.app.database.read(lambda tx: tx.all("SELECT user_id FROM onboarding_answers"))
    assert remaining == []
    rejoined = await join_by_invite(world, guild)
    (await onboarding.answer(rejoined, "black")).ok()
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    remaining = await world.app.database.read(lambda tx: tx.all("SELECT user_id FROM onboarding_answers"))
    assert remaining == []


async def test_concurrent_answers_leave_exactly_one(world: World, onboarding: OnboardingGuild) -> None:
    bob = await join_by_invite(world, onboarding.guild)

    answers = await asyncio.gather(*(onboarding.answer(bob, side) for side in ("white", "black") * 3))

    for answer in answers:
        answer.ok()
    (side,) = (await bob.get(onboarding.path)).ok()["onboarding_responses"]
    (role,) = (await onboarding.guild.owner.get(f"/guilds/{onboarding.guild.id}/members/{bob.id}")).ok()["roles"]
    title = next(title for title, option in onboarding.options.items() if option == side)
    assert role == str(onboarding.roles[title])
