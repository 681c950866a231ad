"""A bot with nextcord, which `test_library_bots.py` runs.

nextcord has no polls and sends an invalid ID for new forum tags, so this bot has no polls step and creates its forum without
tags. It has no end-to-end encryption and no current encryption mode, so this bot joins a call without audio."""

# mypy: ignore-errors

import nextcord
from nextcord.ext import commands
from runner import (
    CHANNEL_ID,
    EMOJI,
    EVENT_END,
    EVENT_START,
    GUILD_ID,
    ROLE_ID,
    SETTINGS,
    VOICE_CHANNEL_ID,
    image_file,
    prepare,
    report,
    run_steps,
    wait_commands,
    wait_until,
)

nextcord.http.Route.BASE = SETTINGS["api"]
nextcord.asset.Asset.BASE = SETTINGS["cdn"]

bot = commands.Bot(intents=nextcord.Intents.all(), default_guild_ids=[GUILD_ID], guild_ready_timeout=0.1)


class Form(nextcord.ui.Modal):
    """A modal with a text input."""

    def __init__(self):
        super().__init__("Question", custom_id="form")
        self.answer = nextcord.ui.TextInput("Answer", custom_id="answer")
        self.add_item(self.answer)

    async def callback(self, interaction):
        """Respond with the text."""
        await interaction.response.send_message(f"answer: {self.answer.value}")


class Panel(nextcord.ui.View):
    """A button and a select."""

    @nextcord.ui.button(label="Press", custom_id="press")
    async def press(self, button, interaction):
        """Edit the message."""
        await interaction.response.edit_message(content="pressed")

    @nextcord.ui.string_select(
        custom_id="pick", options=[nextcord.SelectOption(label="a"), nextcord.SelectOption(label="b")]
    )
    async def pick(self, select, interaction):
        """Respond with the chosen value."""
        await interaction.response.send_message(f"picked {select.values[0]}", ephemeral=True)


@bot.slash_command(description="Greets")
async def greet(interaction: nextcord.Interaction, name: str):
    """Respond with a greeting."""
    await interaction.response.send_message(f"hello {name}")


@bot.slash_command(description="Asks")
async def ask(interaction: nextcord.Interaction):
    """Respond with a modal."""
    await interaction.response.send_modal(Form())


@bot.slash_command(description="Shows components")
async def panel(interaction: nextcord.Interaction):
    """Respond with components."""
    await interaction.response.send_message("panel", view=Panel())


@bot.slash_command(description="Joins the call")
async def join(interaction: nextcord.Interaction):
    """Join the voice channel without audio."""
    await guild().change_voice_state(channel=guild().get_channel(VOICE_CHANNEL_ID))
    await wait_until(lambda: guild().me.voice is not None)
    await interaction.response.send_message("joined")


@bot.slash_command(description="Leaves the call")
async def leave(interaction: nextcord.Interaction):
    """Leave the voice channel."""
    await guild().change_voice_state(channel=None)
    await wait_until(lambda: guild().me.voice is None)
    await interaction.response.send_message("left")


@bot.event
async def on_raw_reaction_add(payload):
    """Give the role to the user who reacts."""
    if str(payload.emoji) == EMOJI:
        await payload.member.add_roles(nextcord.Object(ROLE_ID))


def guild():
    return bot.get_guild(GUILD_ID)


def channel():
    return guild().get_channel(CHANNEL_ID)


async def files():
    message = await channel().send("a file", file=nextcord.File(image_file(), "pixel.png", description="one pixel"))
    attachment = message.attachments[0]
    return [attachment.filename, attachment.description, len(await attachment.read())]


async def threads():
    message = await channel().send("chapter one")
    thread = await message.create_thread(name="story", auto_archive_duration=60)
    await thread.join()
    await thread.send("once upon a time")
    return [thread.name, thread.parent_id == CHANNEL_ID]


async def forums():
    # Without an ID, the library sends the text "None" as the ID of a new tag.
    tags = [nextcord.ForumTag(id=0, name="new")]
    forum = await guild().create_forum_channel("ideas", topic="", available_tags=tags)
    post = await forum.create_thread(name="first", content="text", applied_tags=forum.available_tags)
    message = await post.fetch_message(post.id)
    return [post.name, message.content, [tag.name for tag in post.applied_tags]]


async def stickers():
    sticker = await guild().create_sticker(
        name="wave", description="waves", emoji="wave", file=nextcord.File(image_file(), "wave.png")
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
        entity_type=nextcord.ScheduledEventEntityType.external,
        start_time=EVENT_START,
        end_time=EVENT_END,
        metadata=nextcord.EntityMetadata(location="Park"),
    )
    listed_events = [entry async for entry in guild().fetch_scheduled_events(with_users=True)]
    return [event.name, event.metadata.location, len(listed_events)]


async def auto_moderation():
    rule = await guild().create_auto_moderation_rule(
        name="No fish",
        event_type=nextcord.AutoModerationEventType.message_send,
        trigger_type=nextcord.AutoModerationTriggerType.keyword,
        trigger_metadata=nextcord.AutoModerationTriggerMetadata(keyword_filter=["fish"]),
        actions=[nextcord.AutoModerationAction(type=nextcord.AutoModerationActionType.block_message)],
        enabled=True,
    )
    return [rule.name, (await guild().auto_moderation_rules())[0].trigger_metadata.keyword_filter]


async def templates():
    template = await guild().create_template(name="Plan", description="a plan")
    return [template.name, [fetched_template.code for fetched_template in await guild().templates()] == [template.code]]


async def commands_registered():
    async def fetch_names():
        registered_commands = await bot.http.get_guild_commands(bot.application_id, GUILD_ID)
        return [command["name"] for command in registered_commands]

    return await wait_commands(fetch_names)


is_started = False


@bot.event
async def on_ready():
    """Run the steps once."""
    global is_started
    if not is_started:
        is_started = True
        await run_steps(
            [files, threads, forums, stickers, catalog, events, auto_moderation, templates, commands_registered]
        )


prepare()
report(step="version", result=nextcord.__version__)
bot.run(SETTINGS["token"])
