"""Responses to a guild's onboarding, and the roles and channels that they grant."""

import asyncio
from typing import Any

import pytest

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.flags import MemberFlags
from hubbub.server.core.call import Call
from hubbub.server.places import members
from tests.world import Actor, Guild, World

DAY_MS = 86_400_000
STARTED_FLAGS, COMPLETED_FLAGS = (
    MemberFlags.STARTED_ONBOARDING,
    MemberFlags.STARTED_ONBOARDING | MemberFlags.COMPLETED_ONBOARDING,
)


class OnboardingGuild:
    """A guild with three prompts: a required single choice, a multiple choice, and a prompt outside onboarding."""

    def __init__(self, guild: Guild, channels: list[str], roles: dict[str, int]) -> None:
        self.guild, self.channels, self.roles = guild, channels, roles
        self.path = f"/guilds/{guild.id}/onboarding-responses"
        self.options: dict[str, str] = {}

    async def enable(self, **overrides: Any) -> None:
        """Enable onboarding with three prompts and store the IDs of their options."""
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
        body = {"prompts": prompts_body, "default_channel_ids": self.channels[:7], "enabled": True, **overrides}
        updated_onboarding = (await self.guild.owner.put(f"/guilds/{self.guild.id}/onboarding", json=body)).ok()
        self.options = {
            option["title"]: option["id"] for prompt in updated_onboarding["prompts"] for option in prompt["options"]
        }

    async def respond(self, member: Actor, *titles: str) -> Any:
        """Set the member's responses to the options with these titles; other texts are sent as option IDs."""
        return await member.post(
            self.path, json={"onboarding_responses": [self.options.get(title, title) for title in titles]}
        )

    def granted_roles(self, *titles: str) -> list[str]:
        """Return the role IDs that these responses grant, sorted as in a member."""
        return sorted((str(self.roles[title]) for title in titles), key=int)


@pytest.fixture
async def onboarding(world: World) -> OnboardingGuild:
    """A guild with enabled onboarding, nine channels, and a role for each option."""
    guild = await world.guild()
    channels = [str(await guild.channel(f"room-{number}")) for number in range(9)]
    roles = {title: await guild.role(title) for title in ("white", "black", "chess", "go", "more")}
    onboarding_guild = OnboardingGuild(guild, channels, roles)
    await onboarding_guild.enable()
    return onboarding_guild


async def get_flags(guild: Guild, member: Actor) -> int:
    flags: int = (await guild.owner.get(f"/guilds/{guild.id}/members/{member.id}")).ok()["flags"]
    return flags


async def test_a_new_member_starts_and_completes_onboarding_by_responding(
    world: World, onboarding: OnboardingGuild
) -> None:
    guild = onboarding.guild
    session = await (await world.bot(guild)).connect()
    bob = await guild.invited_member()
    assert (await session.next("GUILD_MEMBER_ADD"))["flags"] == STARTED_FLAGS
    empty_responses = {
        "guild_id": str(guild.id),
        "user_id": str(bob.id),
        "onboarding_responses": [],
        "channel_ids": onboarding.channels[:7],
        "completed": False,
    }
    assert (await bob.get(onboarding.path)).ok() == empty_responses

    responses = (await onboarding.respond(bob, "white", "chess")).ok()

    event = await session.next("GUILD_MEMBER_UPDATE")
    assert (event["flags"], sorted(event["roles"], key=int)) == (
        COMPLETED_FLAGS,
        onboarding.granted_roles("white", "chess"),
    )
    assert responses == empty_responses | {
        "onboarding_responses": [onboarding.options["white"], onboarding.options["chess"]],
        "channel_ids": onboarding.channels[:8],
        "completed": True,
    }
    assert (await bob.get(onboarding.path)).ok() == responses
    log = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs")).ok()["audit_log_entries"]
    assert not {audit_entry["action_type"] for audit_entry in log} & {
        AuditLogAction.MEMBER_UPDATE,
        AuditLogAction.MEMBER_ROLE_UPDATE,
    }


async def test_changing_responses_replaces_only_the_roles_of_earlier_responses(
    world: World, onboarding: OnboardingGuild
) -> None:
    bob = await onboarding.guild.invited_member()
    other_role_id = await onboarding.guild.role("other")
    await onboarding.guild.add_role(bob, other_role_id)
    (await onboarding.respond(bob, "white", "chess", "more")).ok()
    session = await bob.connect()

    responses = (await onboarding.respond(bob, "black", "go")).ok()

    event = await session.next("GUILD_MEMBER_UPDATE")
    assert sorted(event["roles"], key=int) == sorted(
        [*onboarding.granted_roles("black", "go"), str(other_role_id)], key=int
    )
    assert responses["channel_ids"] == [*onboarding.channels[:7], onboarding.channels[8]]
    (await onboarding.respond(bob, "black", "go")).ok()
    await session.assert_not_received("GUILD_MEMBER_UPDATE")


async def test_invalid_responses_are_rejected_with_their_index(world: World, onboarding: OnboardingGuild) -> None:
    bob = await onboarding.guild.invited_member()

    missing_required_response = await onboarding.respond(bob, "chess")
    assert missing_required_response.errors("onboarding_responses") == ["ONBOARDING_PROMPT_REQUIRED"]
    both_options_response = await onboarding.respond(bob, "white", "black")
    assert both_options_response.errors("onboarding_responses.1") == ["ONBOARDING_SINGLE_SELECT"]
    repeated_option_response = await onboarding.respond(bob, "white", "chess", "chess")
    assert repeated_option_response.errors("onboarding_responses.2") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    unknown_option_response = await onboarding.respond(bob, "white", "1")
    assert unknown_option_response.errors("onboarding_responses.1") == ["ONBOARDING_OPTION_UNKNOWN"]
    assert (await bob.post(onboarding.path, json={})).errors("onboarding_responses") == ["BASE_TYPE_REQUIRED"]
    assert await get_flags(onboarding.guild, bob) == STARTED_FLAGS
    assert (await bob.get(onboarding.path)).ok()["onboarding_responses"] == []


async def test_responding_requires_an_active_member_and_enabled_onboarding(
    world: World, onboarding: OnboardingGuild
) -> None:
    guild = onboarding.guild
    bot = await world.bot(guild)
    assert await get_flags(guild, bot) == 0
    (await bot.get(onboarding.path)).rejected(403, 20001)
    (await onboarding.respond(bot, "white")).rejected(403, 20001)
    stranger = await world.user()
    (await stranger.get(onboarding.path)).rejected(403, 50001)
    (await onboarding.respond(stranger, "white")).rejected(403, 50001)

    bob = await guild.invited_member()
    timeout_body = {"communication_disabled_until": codec.timestamp(world.clock.now_ms() + DAY_MS)}
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{bob.id}", json=timeout_body)).ok()
    (await onboarding.respond(bob, "white")).rejected(403, 50013)
    (await guild.owner.put(f"/guilds/{guild.id}/onboarding", json={"enabled": False})).ok()
    (await onboarding.respond(guild.owner, "white")).rejected(400, 40006)
    carol = await guild.invited_member()
    assert await get_flags(guild, carol) == 0


async def test_deleted_and_managed_roles_are_not_granted(world: World, onboarding: OnboardingGuild) -> None:
    guild = onboarding.guild
    bob = await guild.invited_member()
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{onboarding.roles['chess']}")).ok()
    (await guild.owner.delete(f"/channels/{onboarding.channels[7]}")).ok()

    def mark_role_managed(call: Call) -> None:
        call.tx.run("UPDATE roles SET managed = 1 WHERE id = ?", onboarding.roles["white"])

    await world.write(mark_role_managed)

    responses = (await onboarding.respond(bob, "white", "chess", "go")).ok()

    member = (await guild.owner.get(f"/guilds/{guild.id}/members/{bob.id}")).ok()
    assert member["roles"] == onboarding.granted_roles("go")
    assert responses["channel_ids"] == [*onboarding.channels[:7], onboarding.channels[8]]


async def test_earlier_members_can_respond_and_leaving_or_deleting_the_guild_deletes_responses(
    world: World, onboarding: OnboardingGuild
) -> None:
    guild = onboarding.guild
    carol = await world.user()
    await onboarding.enable(enabled=False)
    await world.write(lambda call: members.membership.add(call, guild.id, carol.id), actor=guild.owner.id)
    await onboarding.enable()
    assert await get_flags(guild, carol) == 0
    assert (await onboarding.respond(carol, "white")).ok()["completed"]
    assert await get_flags(guild, carol) == COMPLETED_FLAGS
    response_records = (await carol.get("/users/@me/harvest")).ok()["records"]["onboarding_responses"]
    assert response_records == [{"guild_id": str(guild.id), "responses": [onboarding.options["white"]]}]

    (await carol.delete(f"/users/@me/guilds/{guild.id}")).ok()
    remaining_rows = await world.app.database.read(lambda tx: tx.all("SELECT user_id FROM onboarding_answers"))
    assert remaining_rows == []

    # Deleting the guild deletes the responses of its members.
    dave = await guild.invited_member()
    (await onboarding.respond(dave, "black")).ok()
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    remaining_rows = await world.app.database.read(lambda tx: tx.all("SELECT user_id FROM onboarding_answers"))
    assert remaining_rows == []


async def test_concurrent_responses_store_exactly_one(world: World, onboarding: OnboardingGuild) -> None:
    bob = await onboarding.guild.invited_member()

    responses = await asyncio.gather(*(onboarding.respond(bob, side) for side in ("white", "black") * 3))

    for response in responses:
        response.ok()
    (option_id,) = (await bob.get(onboarding.path)).ok()["onboarding_responses"]
    (role,) = (await onboarding.guild.owner.get(f"/guilds/{onboarding.guild.id}/members/{bob.id}")).ok()["roles"]
    title = next(title for title, option in onboarding.options.items() if option == option_id)
    assert role == str(onboarding.roles[title])
