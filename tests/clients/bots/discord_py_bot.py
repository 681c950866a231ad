"""A bot with discord.py, which `test_library_bots.py` runs."""

# mypy: ignore-errors

import discord
import yarl
from discord import app_commands
from runner import (
    EMOJI,
    GUILD_ID,
    ROLE_ID,
    SETTINGS,
    VOICE_CHANNEL_ID,
    Frames,
    play_frames,
    prepare,
    report,
    run_steps,
    wait_commands,
    wait_until,
)

discord.http.Route.BASE = SETTINGS["api"]
discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(SETTINGS["gateway"])

bot = discord.Client(intents=discord.Intents.all(), guild_ready_timeout=0.1)
tree = app_commands.CommandTree(bot)


class Form(discord.ui.Modal):
    """A modal with a text input."""

    answer = discord.ui.TextInput(label="Answer", custom_id="answer")

    def __init__(self):
        super().__init__(title="Question", custom_id="form")

    async def on_submit(self, interaction):
        """Respond with the text."""
        await interaction.response.send_message(f"answer: {self.answer.value}")


class Panel(discord.ui.View):
    """A button and a select."""

    @discord.ui.button(label="Press", custom_id="press")
    async def press(self, interaction, button):
        """Edit the message."""
        await interaction.response.edit_message(content="pressed")

    @discord.ui.select(custom_id="pick", options=[discord.SelectOption(label="a"), discord.SelectOption(label="b")])
    async def pick(self, interaction, select):
        """Respond with the chosen value."""
        await interaction.response.send_message(f"picked {select.values[0]}", ephemeral=True)


class Song(Frames, discord.AudioSource):
    """The audio that the bot plays."""


@tree.command(description="Greets")
async def greet(interaction, name: str):
    """Respond with a greeting."""
    await interaction.response.send_message(f"hello {name}")


@tree.command(description="Asks")
async def ask(interaction):
    """Respond with a modal."""
    await interaction.response.send_modal(Form())


@tree.command(description="Shows components")
async def panel(interaction):
    """Respond with components."""
    await interaction.response.send_message("panel", view=Panel())


@tree.command(description="Joins the call")
async def join(interaction):
    """Join the voice channel."""
    await bot.get_channel(VOICE_CHANNEL_ID).connect()
    await interaction.response.send_message("joined")


@tree.command(description="Plays audio")
async def sing(interaction):
    """Play audio once the call is end-to-end encrypted."""
    voice = interaction.guild.voice_client
    await wait_until(lambda: voice._connection.can_encrypt)
    await play_frames(voice, Song(bot.user.id))
    await interaction.response.send_message("sang")


@tree.command(description="Leaves the call")
async def leave(interaction):
    """Leave the voice channel."""
    await interaction.guild.voice_client.disconnect()
    await interaction.response.send_message("left")


@bot.event
async def on_raw_reaction_add(payload):
    """Give the role to the user who reacts."""
    if str(payload.emoji) == EMOJI:
        await payload.member.add_roles(discord.Object(ROLE_ID))


async def commands_registered():
    guild = discord.Object(GUILD_ID)
    tree.copy_global_to(guild=guild)
    await tree.sync(guild=guild)

    async def fetch_names():
        return [command.name for command in await tree.fetch_commands(guild=guild)]

    return await wait_commands(fetch_names, "sing")


is_started = False


@bot.event
async def on_ready():
    """Run the steps once."""
    global is_started
    if not is_started:
        is_started = True
        await run_steps([commands_registered])


prepare()
report(step="version", result=discord.__version__)
bot.run(SETTINGS["token"], log_handler=None)
