"""Setup for tests of apps in the chat client: a guild with two users, a discord.py bot, and browser windows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import discord
from discord import app_commands

from hubbub.protocol.permissions import Permissions
from hubbub.server.app import App as Platform
from hubbub.server.core.clock import ControlledClock
from tests.clients.discord_py_bot import Bot, run_bot
from tests.web.conftest import DESKTOP_WIDTH, OpenPage
from tests.world import Actor, Guild, World, small_config

CITIES = ("Berlin", "Bern", "Paris")


@dataclass
class AppGuild:
    """Alice's guild with Bob as a member and an app's bot, and a browser."""

    world: World
    alice: Actor
    bob: Actor
    guild: Guild
    bot: Actor
    open_page: OpenPage

    @asynccontextmanager
    async def open_window(
        self, user: Actor, channel: str = "general", *, width: int = DESKTOP_WIDTH, locale: str = "en-US"
    ) -> AsyncIterator["ChannelWindow"]:
        """Open a channel as a user and wait for the composer; on exit, assert that the page reported no error."""
        async with self.open_page(width=width, locale=locale) as page:
            cookie = {"name": "hubbub_session", "value": user.token, "url": self.world.url}
            await page.context.add_cookies([cookie])
            window = ChannelWindow(page, channel)
            page.on("console", window.record_console)
            page.on("pageerror", lambda error: window.console_errors.append(str(error)))
            await page.goto(f"{self.world.url}/app/channels/{self.guild.id}/{self.guild.channels[channel]}")
            await window.composer.wait_for()
            yield window
            assert not window.console_errors, window.console_errors


@asynccontextmanager
async def open_platform(open_page: OpenPage, clock: ControlledClock) -> AsyncIterator[AppGuild]:
    """Run a platform with a guild, two users and a bot."""
    app = Platform(small_config(allow_private_targets=True), clock=clock)
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        alice, bob = await world.user("alice"), await world.user("bob")
        guild = await world.guild(alice, bob, name="Town Square")
        bot = await world.bot(guild, name="crier", permissions=Permissions.ADMINISTRATOR)
        yield AppGuild(world, alice, bob, guild, bot, open_page)
        await world.close()
    await app.stop()


@dataclass
class ChannelWindow:
    """The chat client of a user with one channel open."""

    page: Any
    channel: str = "general"
    console_errors: list[str] = field(default_factory=list)
    """Errors that the page reported; must be empty at the end of a test."""

    def record_console(self, message: Any) -> None:
        """Record an error or warning of the client's own modules. Requests that the API rejects are ignored."""
        is_rejection = "the server responded with a status of 4" in message.text
        if message.type in ("error", "warning") and not is_rejection and "/static/app/" in str(message.location):
            self.console_errors.append(message.text)
        if "Content Security Policy" in message.text and "/static/app/" in str(message.location):
            self.console_errors.append(message.text)

    @property
    def composer(self) -> Any:
        """The message field."""
        return self.page.get_by_label(f"Message #{self.channel}", exact=True)

    def message(self, text: str) -> Any:
        """Return the locator of the newest message that contains this text."""
        return self.page.locator("li.message", has_text=text).last

    async def wait_message(self, text: str) -> Any:
        """Wait for a message that contains this text, and return its locator."""
        message = self.message(text)
        await message.wait_for()
        return message

    async def open_command_form(self, command: str) -> Any:
        """Choose a command by typing it; return its options form."""
        await self.composer.focus()
        await self.page.keyboard.type(f"/{command}")
        await self.page.get_by_role("option", name=f"/{command}").first.wait_for()
        await self.page.keyboard.press("Enter")
        form = self.page.locator("form.command-form")
        await form.wait_for()
        return form

    async def run_command(self, command: str) -> None:
        """Run a command without options."""
        form = await self.open_command_form(command)
        await self.page.keyboard.press("Enter")
        await form.wait_for(state="detached")


class App(Bot):
    """A bot with a tree of application commands."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = app_commands.CommandTree(self)


class FeedbackModal(discord.ui.Modal, title="Feedback"):
    """A modal with a text display, a text input, a radio group, a user select and a checkbox."""

    intro: "discord.ui.TextDisplay[Any]" = discord.ui.TextDisplay("Welcome to **us**")
    name: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Name",
        description="As your friends call you",
        component=discord.ui.TextInput(custom_id="name", min_length=3, max_length=20),
    )
    color: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Color",
        component=discord.ui.RadioGroup(
            custom_id="color",
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
        for label in (self.name, self.color, self.friend, self.sure):
            component: Any = label.component
            is_select = component.custom_id == "friend"
            values[component.custom_id] = component.values[0].name if is_select else component.value
        await interaction.response.send_message(
            f"{values['name']} likes {values['color']} and {values['friend']}: {values['sure']}"
        )


class EvidenceModal(discord.ui.Modal, title="Evidence"):
    """A modal with a file upload, a checkbox group and a string select."""

    proof: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Proof", component=discord.ui.FileUpload(custom_id="proof", max_values=2)
    )
    sizes: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Sizes",
        component=discord.ui.CheckboxGroup(
            custom_id="sizes",
            max_values=2,
            options=[discord.CheckboxGroupOption(label=size.upper(), value=size) for size in ("s", "m", "l")],
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
        await interaction.response.send_modal(FeedbackModal())

    @discord.ui.button(label="Silent", custom_id="silent", style=discord.ButtonStyle.danger)
    async def silent(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        """Do not respond."""

    @discord.ui.select(
        cls=discord.ui.Select,
        custom_id="words",
        placeholder="Some words",
        max_values=2,
        options=[
            discord.SelectOption(label=word, description=f"the word {word}") for word in ("alpha", "beta", "gamma")
        ],
    )
    async def words(self, interaction: discord.Interaction, select: "discord.ui.Select[Panel]") -> None:
        """Send an ephemeral response."""
        await interaction.response.send_message(f"chose {' and '.join(sorted(select.values))}", ephemeral=True)

    @discord.ui.select(cls=discord.ui.UserSelect, custom_id="users", placeholder="Member")
    async def users(self, interaction: discord.Interaction, select: "discord.ui.UserSelect[Panel]") -> None:
        """Send the chosen user after a deferral."""
        await interaction.response.defer()
        await interaction.followup.send(f"it is {select.values[0].name}")


def add_commands(tree: app_commands.CommandTree[App], guild: discord.Object, respond_event: asyncio.Event) -> None:
    """Add the app's commands. `think` waits for `respond_event` before it sends its deferred response."""

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
        paper_text = "" if paper is None else f", {(await paper.read()).decode()}"
        await interaction.response.send_message(f"{member.name} x{times}, {mood.name}, {city}{paper_text}")

    @greet.autocomplete("city")
    async def complete(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        cities = (city for city in CITIES if city.lower().startswith(typed.lower()))
        return [app_commands.Choice(name=city, value=city.lower()) for city in cities]

    group = app_commands.Group(name="slow", description="takes time", guild_ids=[guild.id])

    @group.command(description="Thinks, and answers you alone")
    async def think(interaction: discord.Interaction) -> None:
        await interaction.response.defer(thinking=True, ephemeral=True)
        await respond_event.wait()
        await interaction.edit_original_response(content="thought it over")

    tree.add_command(group)

    @tree.context_menu(guild=guild, name="Poke")
    async def poke(interaction: discord.Interaction, member: discord.Member) -> None:
        await interaction.response.send_message(f"poked {member.name}")

    @tree.context_menu(guild=guild, name="Shout")
    async def shout(interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.send_message(message.content.upper())

    @tree.command(guild=guild, description="Shows buttons and selects")
    async def panel(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("here is the panel", view=Panel(timeout=None))

    @tree.command(guild=guild, description="Asks for files")
    async def prove(interaction: discord.Interaction) -> None:
        await interaction.response.send_modal(EvidenceModal())


@asynccontextmanager
async def run_app(app_guild: AppGuild) -> AsyncIterator[tuple[App, asyncio.Event]]:
    """Run the app of the guild with its commands; yield the bot and the event that its deferred response waits for."""
    respond_event = asyncio.Event()
    async with run_bot(App(), app_guild.bot.token) as app:
        assert isinstance(app, App)
        guild = discord.Object(app_guild.guild.id)
        add_commands(app.tree, guild, respond_event)
        await app.tree.sync(guild=guild)
        yield app, respond_event
