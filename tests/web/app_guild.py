"""Setup for tests of apps in the chat client: a guild with two users, a real discord.py bot, and browsers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import discord
from discord import app_commands

from hubbub.server.app import App as Platform
from hubbub.server.core.clock import ControlledClock
from tests.clients.test_discord_py import Bot, running
from tests.web.conftest import DESK, Opener
from tests.world import Actor, Guild, World, small_config

CITIES = ("Berlin", "Bern", "Paris")


@dataclass
class AppGuild:
    """Alice's guild with Bob in it, and a bot."""

    world: World
    alice: Actor
    bob: Actor
    guild: Guild
    bot: Actor
    chromium: Opener

    @asynccontextmanager
    async def visit(
        self, person: Actor, channel: str = "general", *, width: int = DESK, locale: str = "en-US"
    ) -> AsyncIterator["Window"]:
        """Open a channel in a browser as a user, and wait until it is connected."""
        async with self.chromium(width=width, locale=locale) as page:
            cookie = {"name": "hubbub_session", "value": person.token, "url": self.world.url}
            await page.context.add_cookies([cookie])
            window = Window(page, channel)
            page.on("console", window.record_console)
            page.on("pageerror", lambda error: window.problems.append(str(error)))
            await page.goto(f"{self.world.url}/app/channels/{self.guild.id}/{self.guild.channels[channel]}")
            await window.composer.wait_for()
            yield window
            assert not window.problems, window.problems


@asynccontextmanager
async def open_platform(chromium: Opener, clock: ControlledClock) -> AsyncIterator[AppGuild]:
    """Run a platform with two users and a bot."""
    app = Platform(small_config(private_targets=True), clock=clock)
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        alice, bob = await world.user("alice"), await world.user("bob")
        guild = await world.guild(alice, bob, name="Town Square")
        bot = await world.bot(guild, name="crier", permissions=1 << 3)
        yield AppGuild(world, alice, bob, guild, bot, chromium)
        await world.close()
    await app.stop()


@dataclass
class Window:
    """A page of the chat client and a user's actions in it."""

    page: Any
    channel: str = "general"
    problems: list[str] = field(default_factory=list)
    """Problems reported by the page; must be empty at the end of a test."""

    def record_console(self, message: Any) -> None:
        """Record a line of the page's console. Lines of a foreign frame are ignored."""
        refused = "the server responded with a status of 4" in message.text
        if message.type in ("error", "warning") and not refused and "/static/app/" in str(message.location):
            self.problems.append(message.text)
        if "Content Security Policy" in message.text and "/static/app/" in str(message.location):
            self.problems.append(message.text)

    @property
    def composer(self) -> Any:
        """The message field."""
        return self.page.get_by_label(f"Message #{self.channel}", exact=True)

    def message(self, words: str) -> Any:
        """The newest message with this text."""
        return self.page.locator("li.message", has_text=words).last

    async def sees(self, words: str) -> Any:
        """Wait for a message with this text."""
        found = self.message(words)
        await found.wait_for()
        return found

    async def open_command_form(self, command: str) -> Any:
        """Choose a command by typing it; return its options form."""
        await self.composer.focus()
        await self.page.keyboard.type(f"/{command}")
        await self.page.get_by_role("option", name=f"/{command}").first.wait_for()
        await self.page.keyboard.press("Enter")
        form = self.page.locator("form.command-form")
        await form.wait_for()
        return form

    async def run(self, command: str) -> None:
        """Run a command without options."""
        form = await self.open_command_form(command)
        await self.page.keyboard.press("Enter")
        await form.wait_for(state="detached")


class App(Bot):
    """A bot with commands."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = app_commands.CommandTree(self)


class Form(discord.ui.Modal, title="Tell us"):
    """A modal with most components."""

    intro: "discord.ui.TextDisplay[Any]" = discord.ui.TextDisplay("Welcome to **us**")
    name: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Name",
        description="As your friends call you",
        component=discord.ui.TextInput(custom_id="name", min_length=3, max_length=20),
    )
    colour: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Colour",
        component=discord.ui.RadioGroup(
            custom_id="colour",
            options=[
                discord.RadioGroupOption(label="Red", value="r"),
                discord.RadioGroupOption(label="Blue", value="b"),
            ],
        ),
    )
    friend: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Friend", component=discord.ui.UserSelect(custom_id="friend", required=False)
    )
    sure: "discord.ui.Label[Any]" = discord.ui.Label(text="Sure?", component=discord.ui.Checkbox(custom_id="sure"))

    async def on_submit(self, interaction: discord.Interaction) -> None:
        """Send the submitted values."""
        values: dict[str, Any] = {}
        for label in (self.name, self.colour, self.friend, self.sure):
            part: Any = label.component
            values[part.custom_id] = part.values[0].name if part.custom_id == "friend" else part.value
        await interaction.response.send_message(
            f"{values['name']} likes {values['colour']} and {values['friend']}: {values['sure']}"
        )


class Evidence(discord.ui.Modal, title="Evidence"):
    """A modal with the other components: file uploads, checkbox groups and string selects."""

    proof: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Proof", component=discord.ui.FileUpload(custom_id="proof", max_values=2)
    )
    sizes: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Sizes",
        component=discord.ui.CheckboxGroup(
            custom_id="sizes",
            max_values=2,
            options=[discord.CheckboxGroupOption(label=each.upper(), value=each) for each in ("s", "m", "l")],
        ),
    )
    fruit: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Fruit",
        component=discord.ui.Select(
            custom_id="fruit", options=[discord.SelectOption(label="Apple"), discord.SelectOption(label="Pear")]
        ),
    )

    async def on_submit(self, interaction: discord.Interaction) -> None:
        """Send the submitted values."""
        proof: Any = self.proof.component
        sizes: Any = self.sizes.component
        fruit: Any = self.fruit.component
        text = (await proof.values[0].read()).decode()
        summary = f"{proof.values[0].filename}: {text}, {'+'.join(sizes.values)}, {fruit.values[0]}"
        await interaction.response.send_message(summary)


class Panel(discord.ui.View):
    """A view with buttons and selects."""

    @discord.ui.button(label="Count", custom_id="count", style=discord.ButtonStyle.primary)
    async def count(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        """Edit the message."""
        button.label, button.disabled = "Counted", True
        await interaction.response.edit_message(content="pressed once", view=self)

    @discord.ui.button(label="Form", custom_id="form")
    async def form(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        """Show a modal."""
        await interaction.response.send_modal(Form())

    @discord.ui.button(label="Silent", custom_id="silent", style=discord.ButtonStyle.danger)
    async def silent(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        """Do not respond."""

    @discord.ui.select(
        cls=discord.ui.Select,
        custom_id="words",
        placeholder="Some words",
        max_values=2,
        options=[
            discord.SelectOption(label=each, description=f"the word {each}") for each in ("alpha", "beta", "gamma")
        ],
    )
    async def words(self, interaction: discord.Interaction, select: "discord.ui.Select[Panel]") -> None:
        """Send an ephemeral response."""
        await interaction.response.send_message(f"chose {' and '.join(sorted(select.values))}", ephemeral=True)

    @discord.ui.select(cls=discord.ui.UserSelect, custom_id="people", placeholder="Member")
    async def people(self, interaction: discord.Interaction, select: "discord.ui.UserSelect[Panel]") -> None:
        """Send the chosen users after a deferral."""
        await interaction.response.defer()
        await interaction.followup.send(f"it is {select.values[0].name}")


def declare(tree: app_commands.CommandTree[App], guild: discord.Object, go: asyncio.Event) -> None:
    """Add the app's commands. `think` waits for `go` before its deferred response."""

    @tree.command(guild=guild, description="Says hello to a member")
    @app_commands.describe(member="the member to greet", times="how often", city="where they are")
    @app_commands.choices(
        mood=[app_commands.Choice(name="Happy", value="happy"), app_commands.Choice(name="Sad", value="sad")]
    )
    async def greet(
        interaction: discord.Interaction,
        member: discord.Member,
        times: app_commands.Range[int, 1, 5],
        mood: app_commands.Choice[str],
        city: str = "nowhere",
        paper: discord.Attachment | None = None,
    ) -> None:
        read = "" if paper is None else f", {(await paper.read()).decode()}"
        await interaction.response.send_message(f"{member.name} x{times}, {mood.name}, {city}{read}")

    @greet.autocomplete("city")
    async def complete(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        found = (each for each in CITIES if each.lower().startswith(typed.lower()))
        return [app_commands.Choice(name=each, value=each.lower()) for each in found]

    group = app_commands.Group(name="slow", description="takes time", guild_ids=[guild.id])

    @group.command(description="Thinks, and answers you alone")
    async def think(interaction: discord.Interaction) -> None:
        await interaction.response.defer(thinking=True, ephemeral=True)
        await go.wait()
        await interaction.edit_original_response(content="thought it over")

    tree.add_command(group)

    @tree.context_menu(guild=guild, name="Poke")
    async def poke(interaction: discord.Interaction, member: discord.Member) -> None:
        await interaction.response.send_message(f"poked {member.name}")

    @tree.context_menu(guild=guild, name="Shout")
    async def shout(interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.send_message(message.content.upper())

    @tree.command(guild=guild, description="Shows things to press")
    async def panel(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("here is the panel", view=Panel(timeout=None))

    @tree.command(guild=guild, description="Asks for files")
    async def prove(interaction: discord.Interaction) -> None:
        await interaction.response.send_modal(Evidence())


@asynccontextmanager
async def run_bot(square: AppGuild) -> AsyncIterator[tuple[App, asyncio.Event]]:
    """Run the bot of the guild with its commands; yield it and the event that its slow response waits for."""
    go = asyncio.Event()
    async with running(App(), square.bot.token) as app:
        assert isinstance(app, App)
        guild = discord.Object(square.guild.id)
        declare(app.tree, guild, go)
        await app.tree.sync(guild=guild)
        yield app, go
