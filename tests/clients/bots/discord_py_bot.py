"""A bot with discord.py, which `test_library_bots.py` runs."""

# mypy: ignore-errors

from datetime import timedelta

import discord
import yarl
from discord import app_commands
from runner import (
    CHANNEL_ID,
    EMOJI,
    EVENT_END,
    EVENT_START,
    GUILD_ID,
    ROLE_ID,
    SETTINGS,
    VOICE_CHANNEL_ID,
    Frames,
    image_file,
    play_frames,
    prepare,
    report,
    run_steps,
    wait_commands,
    wait_until,
)

discord.http.Route.BASE = SETTINGS["api"]
discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(SETTINGS["gateway"])
discord.asset.Asset.BASE = SETTINGS["cdn"]

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


def guild():
    return bot.get_guild(GUILD_ID)


def channel():
    return guild().get_channel(CHANNEL_ID)


async def files():
    message = await channel().send("a file", file=discord.File(image_file(), "pixel.png", description="one pixel"))
    attachment = message.attachments[0]
    return [attachment.filename, attachment.description, len(await attachment.read())]


async def threads():
    message = await channel().send("chapter one")
    thread = await message.create_thread(name="story", auto_archive_duration=60)
    await thread.join()
    await thread.send("once upon a time")
    return [thread.name, thread.parent_id == CHANNEL_ID]


async def forums():
    forum = await guild().create_forum("ideas", available_tags=[discord.ForumTag(name="new")])
    post, message = await forum.create_thread(name="first", content="text", applied_tags=forum.available_tags)
    tag_ids = [tag.id for tag in (await bot.fetch_channel(post.id)).applied_tags]
    return [post.name, message.content, [tag.name for tag in forum.available_tags if tag.id in tag_ids]]


async def polls():
    poll = discord.Poll("Lunch?", timedelta(hours=1)).add_answer(text="Soup").add_answer(text="Bread")
    message = await channel().send(poll=poll)
    ended_message = await message.end_poll()
    return [message.poll.question, [answer.text for answer in ended_message.poll.answers]]


async def stickers():
    sticker = await guild().create_sticker(
        name="wave", description="waves", emoji="wave", file=discord.File(image_file(), "wave.png")
    )
    message = await channel().send(stickers=[sticker])
    return [sticker.name, [item.name for item in message.stickers]]


async def catalog():
    packs = await bot.fetch_premium_sticker_packs()
    application = await bot.application_info()
    return [[pack.name for pack in packs], application.name != ""]


async def events():
    event = await guild().create_scheduled_event(
        name="Fair",
        entity_type=discord.EntityType.external,
        privacy_level=discord.PrivacyLevel.guild_only,
        start_time=EVENT_START,
        end_time=EVENT_END,
        location="Park",
    )
    return [event.name, event.location, len(await guild().fetch_scheduled_events(with_counts=True))]


async def auto_moderation():
    rule = await guild().create_automod_rule(
        name="No fish",
        event_type=discord.AutoModRuleEventType.message_send,
        trigger=discord.AutoModTrigger(keyword_filter=["fish"]),
        actions=[discord.AutoModRuleAction()],
        enabled=True,
    )
    return [rule.name, (await guild().fetch_automod_rules())[0].trigger.keyword_filter]


async def templates():
    template = await guild().create_template(name="Plan", description="a plan")
    return [template.name, [fetched_template.code for fetched_template in await guild().templates()] == [template.code]]


async def commands_registered():
    tree.copy_global_to(guild=guild())
    await tree.sync(guild=guild())

    async def fetch_names():
        return [command.name for command in await tree.fetch_commands(guild=guild())]

    return await wait_commands(fetch_names, "sing")


is_started = False


@bot.event
async def on_ready():
    """Run the steps once."""
    global is_started
    if not is_started:
        is_started = True
        await run_steps(
            [files, threads, forums, polls, stickers, catalog, events, auto_moderation, templates, commands_registered]
        )


prepare()
report(step="version", result=discord.__version__)
bot.run(SETTINGS["token"], log_handler=None)
