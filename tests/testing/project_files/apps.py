"""Tests of a discord.py bot that runs in their event loop. `test_plugin.py` runs this file in a separate project."""

import asyncio
from collections.abc import AsyncIterator

import discord
import pytest
from discord import app_commands

from hubbub.protocol.enums import MessageType
from hubbub.testing import EventNotReceived, InteractionFailed, Platform, RequestRejected


class Form(discord.ui.Modal, title="Survey"):
    """A modal whose response is a new message."""

    name: "discord.ui.TextInput[Form]" = discord.ui.TextInput(label="Name", custom_id="name")
    color: "discord.ui.Label[Form]" = discord.ui.Label(
        text="Color",
        component=discord.ui.Select(custom_id="color", options=[discord.SelectOption(label="Red", value="r")]),
    )

    async def on_submit(self, interaction: discord.Interaction) -> None:
        assert isinstance(self.color.component, discord.ui.Select)
        await interaction.response.send_message(f"{self.name.value} likes {self.color.component.values[0]}")


class Panel(discord.ui.View):
    """Buttons and a select that respond in different ways."""

    @discord.ui.button(label="Count", custom_id="count")
    async def count(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        await interaction.response.edit_message(content="counted")

    @discord.ui.button(label="Promote me", custom_id="promote")
    async def promote(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        # The request for the role delays the response.
        assert isinstance(interaction.user, discord.Member)
        await interaction.user.add_roles(discord.Object(PLAYER_ROLE_IDS[0]))
        await interaction.response.send_message("you are a player", ephemeral=True)

    @discord.ui.button(label="Later", custom_id="later")
    async def later(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        await interaction.response.defer()
        await interaction.edit_original_response(content="later")

    @discord.ui.button(label="Form", custom_id="form")
    async def form(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        await interaction.response.send_modal(Form())

    @discord.ui.button(label="Rename", custom_id="rename")
    async def rename(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        await interaction.response.send_modal(Rename())

    @discord.ui.select(cls=discord.ui.UserSelect, custom_id="member", placeholder="Member?")
    async def member(self, interaction: discord.Interaction, select: "discord.ui.UserSelect[Panel]") -> None:
        await interaction.response.send_message(f"chose {select.values[0].name}")


class Rename(discord.ui.Modal, title="Rename"):
    """A modal with a file, whose response edits the message of the button."""

    name: "discord.ui.TextInput[Rename]" = discord.ui.TextInput(label="Name", custom_id="name")

    proof: "discord.ui.Label[Rename]" = discord.ui.Label(
        text="Proof", component=discord.ui.FileUpload(custom_id="proof")
    )

    async def on_submit(self, interaction: discord.Interaction) -> None:
        assert isinstance(self.proof.component, discord.ui.FileUpload)
        proof = self.proof.component.values[0].filename
        await interaction.response.edit_message(content=f"renamed to {self.name.value} by {proof}")


PLAYER_ROLE_IDS: list[int] = []
"""The ID of the role that the bot assigns; the fixture `demo_bot` sets it."""

GUILD_WORLD = {
    "users": {"alice": {}, "bob": {}, "carol": {}},
    "applications": {"demo-bot": {"intents": ["GUILD_PRESENCES", "GUILD_MEMBERS", "MESSAGE_CONTENT"]}},
    "guilds": {
        "Town Square": {
            "owner": "alice",
            "members": {"bob": {}, "carol": {}},
            "bots": {"demo-bot": {"roles": ["chief"]}},
            "roles": {"chief": {"permissions": ["MANAGE_ROLES"]}, "players": {}},
            "channels": {"general": {}},
        }
    },
}
"""A world whose bot may assign the role `players`."""


class DemoBot(discord.Client):
    """A bot with commands, components and modals."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents.all(), guild_ready_timeout=0.5)
        self.tree = app_commands.CommandTree(self)
        self.interactions: list[discord.Interaction] = []
        self.ignored = asyncio.Event()
        self.deferred = asyncio.Event()
        self.register_commands()

    def register_commands(self) -> None:
        tree = self.tree

        @tree.command(description="greets")
        async def greet(
            interaction: discord.Interaction, member: discord.Member, place: discord.TextChannel, city: str = "nowhere"
        ) -> None:
            await interaction.response.send_message(f"hello {member.name} in {place.name}, {city}")

        @greet.autocomplete("city")
        async def complete(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
            cities = ("Berlin", "Bern", "Paris")
            return [app_commands.Choice(name=city, value=city.lower()) for city in cities if city.startswith(typed)]

        group = app_commands.Group(name="panel", description="shows buttons")

        @group.command(description="shows it")
        async def show(interaction: discord.Interaction) -> None:
            await interaction.response.send_message("a panel", view=Panel(timeout=None))

        tree.add_command(group)

        @tree.command(description="thinks")
        async def think(interaction: discord.Interaction) -> None:
            await interaction.response.defer(ephemeral=True)
            self.interactions.append(interaction)
            self.deferred.set()

        @tree.command(description="does not respond")
        async def ignore(interaction: discord.Interaction) -> None:
            self.interactions.append(interaction)
            self.ignored.set()

        @tree.command(description="looks at a file")
        async def look(interaction: discord.Interaction, file: discord.Attachment) -> None:
            await interaction.response.send_message(f"{file.filename}: {(await file.read()).decode()}")

        @tree.context_menu(name="Poke member")
        async def poke(interaction: discord.Interaction, member: discord.Member) -> None:
            await interaction.response.send_message(f"poked {member.name}")

    async def setup_hook(self) -> None:
        await self.tree.sync()


@pytest.fixture
async def demo_bot(hubbub_discord_py: Platform) -> AsyncIterator[DemoBot]:
    """A running bot, on a platform whose clock is frozen."""
    hubbub, bot = hubbub_discord_py, DemoBot()
    PLAYER_ROLE_IDS[:] = [int(hubbub.guilds["Town Square"].roles["players"])]
    application = hubbub.applications["demo-bot"]
    assert application.bot is not None
    # An app has three seconds to respond by this clock; a busy machine may need longer.
    await hubbub.clock.freeze()
    async with bot:
        task = asyncio.create_task(bot.start(application.bot.token))
        ready_task = asyncio.create_task(bot.wait_until_ready())
        await asyncio.wait([task, ready_task], return_when=asyncio.FIRST_COMPLETED)
        yield bot
        await bot.close()
        await task


async def test_commands_are_completed_and_run(hubbub: Platform, demo_bot: DemoBot) -> None:
    alice, bob = hubbub.users["alice"], hubbub.users["bob"]

    choices = await alice.complete("general", "greet", "city", "Be", {"member": bob, "place": "general"})
    assert [choice["value"] for choice in choices] == ["berlin", "bern"]
    reply = await alice.run("general", "greet", {"member": bob, "place": "general", "city": "bern"})
    assert reply["content"] == "hello bob in general, bern"
    assert (await alice.run("general", "Poke member", target=bob))["content"] == "poked bob"
    reply = await alice.run("general", "look", {"file": ("note.txt", b"a word")})
    assert reply["content"] == "note.txt: a word"
    with pytest.raises(AssertionError, match="greet has no option 'town'; it has: member, place, city"):
        await alice.run("general", "greet", {"town": "bern"})
    with pytest.raises(AssertionError, match="/panel has no sub-command 'hide'; it has: show"):
        await alice.run("general", "panel hide")
    with pytest.raises(RequestRejected, match="required"):
        await alice.run("general", "greet", {"member": bob})


async def test_components_and_modals_are_used(hubbub: Platform, demo_bot: DemoBot) -> None:
    alice = hubbub.users["alice"]
    panel = await alice.run("general", "panel show", application="demo-bot")
    assert panel.model.type == MessageType.CHAT_INPUT_COMMAND

    assert (await alice.click(panel, "Count"))["content"] == "counted"
    assert (await alice.choose(panel, "Member?", hubbub.users["bob"]))["content"] == "chose bob"
    modal = await alice.click(panel, "form")
    assert modal["title"] == "Survey"
    assert (await alice.submit(modal, {"Name": "Ann", "Color": "r"}))["content"] == "Ann likes r"
    rename_click = await alice.click(panel, "Rename")
    assert (await alice.submit(rename_click, {"Name": "Bo", "Proof": ("id.txt", b"I am")}))[
        "content"
    ] == "renamed to Bo by id.txt"
    with pytest.raises(AssertionError, match="the modal has no field 'Shoe size'; it has: Name, Color"):
        await alice.submit(modal, {"Shoe size": "44"})
    with pytest.raises(AssertionError, match=r"no such component 'Cuont'; it has: count \(.*\), promote"):
        await alice.click(panel, "Cuont")
    # The click is acknowledged first; the message follows.
    await alice.click(panel, "Later")
    assert (await alice.expect("MESSAGE_UPDATE", id=panel["id"]))["content"] == "later"


@pytest.mark.hubbub(world=GUILD_WORLD)
async def test_a_response_that_waits_for_a_request_is_returned_to_its_user_only(
    hubbub: Platform, demo_bot: DemoBot
) -> None:
    general_channel_id, role_id = (
        hubbub.guilds["Town Square"].channels["general"],
        hubbub.guilds["Town Square"].roles["players"],
    )
    alice, bob = hubbub.users["alice"], hubbub.users["bob"]
    panel = await bob.run(general_channel_id, "panel show")
    for _ in range(5):
        assert (await bob.click(panel, "Promote me"))["content"] == "you are a player"
        await alice.request("DELETE", f"/guilds/{hubbub.guilds['Town Square'].id}/members/{bob.id}/roles/{role_id}")
    await hubbub.users["carol"].connect()
    await hubbub.users["carol"].expect_none("MESSAGE_CREATE")


async def test_the_answer_to_a_deferred_response_is_returned(hubbub: Platform, demo_bot: DemoBot) -> None:
    alice = hubbub.users["alice"]
    pending_answer = alice.run("general", "think")
    await demo_bot.deferred.wait()
    await demo_bot.interactions[0].followup.send("a thought")
    assert (await pending_answer)["content"] == "a thought"
    await alice.expect_none("MESSAGE_UPDATE")


async def test_an_interaction_ends_after_fifteen_minutes(hubbub: Platform, demo_bot: DemoBot) -> None:
    alice = hubbub.users["alice"]
    deferred_reply = await alice.run("general", "think", wait_for_answer=False)
    await hubbub.clock.advance(minutes=14)
    await demo_bot.interactions[0].followup.send("a thought")
    assert (await alice.expect("MESSAGE_UPDATE", id=deferred_reply["id"]))["content"] == "a thought"
    await hubbub.clock.advance(minutes=2)
    with pytest.raises(discord.HTTPException) as error:
        await demo_bot.interactions[0].followup.send("another")
    assert (error.value.status, error.value.code) == (404, 10015)


async def test_a_command_without_a_response_fails(hubbub: Platform, demo_bot: DemoBot) -> None:
    alice = hubbub.users["alice"]
    pending_reply = alice.run("general", "ignore")
    await demo_bot.ignored.wait()
    await hubbub.clock.advance(seconds=4)
    with pytest.raises(InteractionFailed, match="demo-bot did not respond in time: alice received INTERACTION_FAILURE"):
        await pending_reply


async def test_a_bot_recovers_from_a_failed_callback_and_a_closed_session(hubbub: Platform, demo_bot: DemoBot) -> None:
    alice = hubbub.users["alice"]
    callback_path = "/interactions/{interaction_id}/{interaction_token}/callback"
    await hubbub.faults.fail("POST", callback_path, 503, times=1)
    await hubbub.faults.close_session(hubbub.applications["demo-bot"], code=4000)
    reply = await alice.run("general", "greet", {"member": alice, "place": "general"})
    assert reply["content"] == "hello alice in general, nowhere"
    [rejected_request] = (await hubbub.trace())["refused"]
    assert (rejected_request["route"], rejected_request["status"]) == (callback_path, 503)


async def test_waiting_does_not_stop_the_loop(hubbub: Platform) -> None:
    alice, bob = hubbub.users["alice"], hubbub.users["bob"]
    await bob.connect()
    expectation = bob.expect("MESSAGE_CREATE", content="hello")
    with pytest.raises(TypeError, match="bob: expect MESSAGE_CREATE is still running: inside an event loop, await it"):
        expectation["id"]
    message = await alice.send_message("general", "hello")
    assert (await expectation)["id"] == message["id"]
    with pytest.raises(EventNotReceived):
        await bob.expect("MESSAGE_CREATE", within=0.1)
