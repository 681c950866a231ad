"""The people of the control API with a discord.py bot: commands, components and modals, over HTTP."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import discord
import pytest
from discord import app_commands

from tests.clients.discord_py_bot import Bot, run_bot, use_server_urls
from tests.rehearsal import Rehearsal
from tests.server.test_recordings import record_rehearsal, run_replay

pytestmark = pytest.mark.clients


class Form(discord.ui.Modal, title="Survey"):
    """A modal whose response is a new message."""

    name: "discord.ui.TextInput[Form]" = discord.ui.TextInput(label="Name", custom_id="name")

    async def on_submit(self, interaction: discord.Interaction) -> None:
        await interaction.response.send_message(f"thanks, {self.name.value}")


class Panel(discord.ui.View):
    """Buttons and a select that respond in different ways."""

    @discord.ui.button(label="Count", custom_id="count")
    async def count(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        await interaction.response.edit_message(content="counted")

    @discord.ui.button(label="Form", custom_id="form")
    async def form(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        await interaction.response.send_modal(Form())

    @discord.ui.select(cls=discord.ui.UserSelect, custom_id="member", placeholder="Member?")
    async def member(self, interaction: discord.Interaction, select: "discord.ui.UserSelect[Panel]") -> None:
        await interaction.response.send_message(f"chose {select.values[0].name}", ephemeral=True)


class CommandBot(Bot):
    """A bot with commands; `think` answers after `thought` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = app_commands.CommandTree(self)
        self.thought = asyncio.Event()
        self.tree.command(name="greet", description="greets")(greet)
        self.tree.command(name="panel", description="shows buttons")(show_panel)
        self.tree.command(name="look", description="looks at a file")(look)
        self.tree.command(name="promote", description="gives a role")(promote)
        self.tree.context_menu(name="Poke member")(poke)

        @self.tree.command(description="thinks")
        async def think(interaction: discord.Interaction, secretly: bool = False, fails: bool = False) -> None:
            await interaction.response.defer(ephemeral=secretly)
            await self.thought.wait()
            if fails:
                await interaction.delete_original_response()
            else:
                await interaction.followup.send("a thought")

    async def setup_hook(self) -> None:
        await self.tree.sync()


async def complete_city(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
    """Return the cities that begin with the typed text."""
    cities = ("Berlin", "Bern", "Paris")
    return [app_commands.Choice(name=city, value=city.lower()) for city in cities if city.startswith(typed)]


@app_commands.autocomplete(city=complete_city)
async def greet(
    interaction: discord.Interaction, member: discord.Member, place: discord.TextChannel, city: str = "nowhere"
) -> None:
    await interaction.response.send_message(f"hello {member.name} in {place.name}, {city}")


async def show_panel(interaction: discord.Interaction) -> None:
    await interaction.response.send_message("a panel", view=Panel(timeout=None))


async def look(interaction: discord.Interaction, file: discord.Attachment) -> None:
    await interaction.response.send_message(f"{file.filename}: {(await file.read()).decode()}")


async def promote(interaction: discord.Interaction, member: discord.Member, role: discord.Role) -> None:
    try:
        await member.add_roles(role)
        await interaction.response.send_message("done")
    except discord.Forbidden as error:
        await interaction.response.send_message(error.text)


async def poke(interaction: discord.Interaction, member: discord.Member) -> None:
    await interaction.response.send_message(f"poked {member.name}")


@pytest.fixture
async def bot(rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CommandBot]:
    """The running bot of the demo world."""
    use_server_urls(monkeypatch, rehearsal)
    async with run_bot(CommandBot(), rehearsal.actor("demo-bot").token) as running_bot:
        assert isinstance(running_bot, CommandBot)
        yield running_bot


async def test_commands_are_completed_and_run(rehearsal: Rehearsal, bot: CommandBot) -> None:
    options = {"member": "bob", "place": "general"}
    greeting = {"channel": "general", "command": "greet"}
    choices = (await rehearsal.act("alice", "complete", option="city", typed="Be", options=options, **greeting)).ok()
    assert [choice["value"] for choice in choices] == ["berlin", "bern"]
    interaction_result = (await rehearsal.act("alice", "run", options=options | {"city": "bern"}, **greeting)).ok()
    assert interaction_result["message"]["content"] == "hello bob in general, bern"
    interaction_result = (
        await rehearsal.act("alice", "run", channel="general", command="Poke member", target="bob")
    ).ok()
    assert interaction_result["message"]["content"] == "poked bob"
    file = {"filename": "note.txt", "data": base64.b64encode(b"a word").decode()}
    interaction_result = (
        await rehearsal.act("alice", "run", channel="general", command="look", options={"file": file})
    ).ok()
    assert interaction_result["message"]["content"] == "note.txt: a word"


async def test_invalid_commands_and_options_are_reported_with_their_path(rehearsal: Rehearsal, bot: CommandBot) -> None:
    response = await rehearsal.act("alice", "run", channel="general", command="geet")
    [error] = response.json["errors"]["command"]["_errors"]
    assert error["message"].endswith(
        "available: Poke member, greet, look, panel, promote, think; did you mean 'greet'?"
    )
    response = await rehearsal.act("alice", "run", channel="general", command="greet", options={"town": "Bern"})
    [error] = response.json["errors"]["options"]["town"]["_errors"]
    assert error["message"] == "greet has no option 'town'; it has: member, place, city"
    response = await rehearsal.act("alice", "run", channel="general", command="greet", options={"member": "zoe"})
    [error] = response.json["errors"]["options"]["member"]["_errors"]
    assert error["message"] == "this world has no user 'zoe'; it has: alice, bob, carol, demo-bot, demo-game"


async def test_a_deferred_answer_is_awaited(rehearsal: Rehearsal, bot: CommandBot) -> None:
    command = {"channel": "general", "command": "think"}
    deferred_result = (await rehearsal.act("alice", "run", wait_for_answer=False, **command)).ok()
    assert (deferred_result["deferred"], deferred_result["message"]["content"]) == (True, "")
    response = await rehearsal.act("alice", "run", timeout_ms=100, **command)
    assert response.status == 409
    assert response.json["message"] == "demo-bot deferred its response to alice and did not answer in time"

    waiting_task = asyncio.create_task(rehearsal.act("bob", "run", options={"secretly": True}, **command))
    failing_task = asyncio.create_task(rehearsal.act("carol", "run", options={"fails": True}, **command))
    for _ in range(4):
        await bot.wait_event("interaction")
    bot.thought.set()
    answer = (await waiting_task).ok()
    assert (answer["deferred"], answer["message"]["content"]) == (False, "a thought")
    assert (await failing_task).json["message"] == "demo-bot deferred its response to carol and deleted it"


async def test_a_role_above_the_bot_is_named_as_the_cause(rehearsal: Rehearsal, bot: CommandBot) -> None:
    role = {"permissions": str(discord.Permissions(manage_roles=True).value), "name": "helpers"}
    guild_id = rehearsal.control.built_world.guilds["Town Square"].id
    alice = rehearsal.actor("alice")
    created_role = (await alice.post(f"/guilds/{guild_id}/roles", json=role)).ok()
    bot_id = rehearsal.actor("demo-bot").id
    assert (await alice.put(f"/guilds/{guild_id}/members/{bot_id}/roles/{created_role['id']}")).status == 204

    options = {"member": "bob", "role": "mods"}
    interaction_result = (
        await rehearsal.act("alice", "run", channel="general", command="promote", options=options)
    ).ok()

    assert interaction_result["message"]["content"] == "Missing Permissions"
    [rejected_requests] = (await rehearsal.control_request("GET", "/trace")).ok()["refused"]
    assert "is not above the role mods, which demo-bot tried to give to bob." in rejected_requests["cause"]


async def test_components_and_modals_are_used(rehearsal: Rehearsal, bot: CommandBot) -> None:
    panel = (await rehearsal.act("alice", "run", channel="general", command="panel")).ok()["message"]
    message = {"message": panel["id"]}
    assert (await rehearsal.act("alice", "click", button="Count", **message)).ok()["message"]["content"] == "counted"
    # Bob was not connected when the message was sent.
    interaction_result = (
        await rehearsal.act("bob", "choose", select="Member?", values=["carol"], channel="general", **message)
    ).ok()
    assert interaction_result["message"]["content"] == "chose carol"
    response = await rehearsal.act("alice", "submit")
    assert response.json["errors"]["modal"]["_errors"][0]["message"] == "alice has not received a modal"
    response = await rehearsal.act("alice", "click", button="Cuont")
    [error] = response.json["errors"]["button"]["_errors"]
    assert error["message"].startswith("alice has received no message with the component 'Cuont'; received: ")
    # Without an ID, the latest message with the button and the latest modal are used.
    modal = (await rehearsal.act("alice", "click", button="form")).ok()["modal"]
    assert modal["title"] == "Survey"
    response = await rehearsal.act("alice", "submit", modal=modal["id"], fields={"Shoe size": "44"})
    [error] = response.json["errors"]["fields"]["Shoe size"]["_errors"]
    assert error["message"] == "the modal has no field 'Shoe size'; it has: Name"
    interaction_result = (await rehearsal.act("alice", "submit", fields={"Name": "Ann"})).ok()
    assert interaction_result["message"]["content"] == "thanks, Ann"
    response = await rehearsal.act("bob", "submit", modal=modal["id"])
    [error] = response.json["errors"]["modal"]["_errors"]
    assert error["message"] == f"bob has not received the modal {modal['id']}"


async def test_recorded_interactions_become_calls_and_expectations_of_a_test(
    rehearsal: Rehearsal, bot: CommandBot, tmp_path: Path
) -> None:
    path, test_file = tmp_path / "session.jsonl", tmp_path / "test_session.py"
    async with record_rehearsal(rehearsal, path):
        panel = (await rehearsal.act("alice", "run", channel="general", command="panel")).ok()["message"]
        (await rehearsal.act("alice", "click", button="Count")).ok()
        (await rehearsal.act("alice", "choose", select="member", values=["bob"], message=panel["id"])).ok()
        (await rehearsal.act("alice", "click", button="Form")).ok()
        (await rehearsal.act("alice", "submit", fields={"Name": "Alice"})).ok()
        (await rehearsal.act("alice", "run", channel="general", command="Poke member", target="bob")).ok()

    assert await run_replay(path, "--as-test", str(test_file)) == 0

    test_source = test_file.read_text()
    compile(test_source, str(test_file), "exec")
    for line in (
        'result_1 = alice.run("general", "panel", {})',
        'assert result_1["content"] == "a panel"',
        'result_2 = alice.click(result_1, "Count")',
        'assert result_2["content"] == "counted"',
        'result_3 = alice.choose(result_2, "member", "bob")',
        'assert result_3["content"] == "chose bob"',
        'result_4 = alice.click(result_2, "Form")',
        'assert result_4["title"] == "Survey"',
        "result_5 = alice.submit(result_4, {'Name': 'Alice'})",
        'assert result_5["content"] == "thanks, Alice"',
        'result_6 = alice.run("general", "Poke member", {}, target=hubbub.users["bob"])',
    ):
        assert f"    {line}\n" in test_source, test_source
