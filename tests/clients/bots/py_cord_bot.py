"""A bot with py-cord, which `test_library_bots.py` runs. The package of py-cord is named discord."""

# mypy: ignore-errors

import discord
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

discord.http.Route.API_BASE_URL = SETTINGS["api"]
discord.asset.Asset.BASE = SETTINGS["cdn"]

bot = discord.Bot(intents=discord.Intents.all(), debug_guilds=[GUILD_ID], guild_ready_timeout=0.1)


class Form(discord.ui.Modal):
    """A modal with a text input."""

    def __init__(self):
        super().__init__(discord.ui.InputText(label="Answer", custom_id="answer"), title="Question", custom_id="form")

    async def callback(self, interaction):
        """Respond with the text."""
        await interaction.response.send_message(f"answer: {self.children[0].value}")


class Panel(discord.ui.View):
    """A button and a select."""

    @discord.ui.button(label="Press", custom_id="press")
    async def press(self, button, interaction):
        """Edit the message."""
        await interaction.response.edit_message(content="pressed")

    @discord.ui.string_select(
        custom_id="pick", options=[discord.SelectOption(label="a"), discord.SelectOption(label="b")]
    )
    async def pick(self, select, interaction):
        """Respond with the chosen value."""
        await interaction.response.send_message(f"picked {select.values[0]}", ephemeral=True)


@bot.slash_command(description="Greets")
async def greet(context, name: str):
    """Respond with a greeting."""
    await context.respond(f"hello {name}")


@bot.slash_command(description="Asks")
async def ask(context):
    """Respond with a modal."""
    await context.send_modal(Form())


@bot.slash_command(description="Shows components")
async def panel(context):
    """Respond with components."""
    await context.respond("panel", view=Panel())


class Song(Frames, discord.AudioSource):
    """The audio that the bot plays."""


@bot.slash_command(description="Joins the call")
async def join(context):
    """Join the voice channel."""
    await bot.get_channel(VOICE_CHANNEL_ID).connect()
    await context.respond("joined")


@bot.slash_command(description="Plays audio")
async def sing(context):
    """Play audio once the call is end-to-end encrypted."""
    voice = guild().voice_client
    await wait_until(lambda: voice._connection.dave_session is not None and voice._connection.dave_session.ready)
    await play_frames(voice, Song(bot.user.id))
    await context.respond("sang")


@bot.slash_command(description="Leaves the call")
async def leave(context):
    """Leave the voice channel."""
    await guild().voice_client.disconnect()
    await context.respond("left")


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
    # The library sends tags only when it edits a channel.
    forum = await guild().create_forum_channel("ideas")
    forum = await forum.edit(available_tags=[discord.ForumTag(name="new", emoji=None)])
    post = await forum.create_thread("first", "text", applied_tags=forum.available_tags)
    message = await post.fetch_message(post.id)
    return [post.name, message.content, [tag.name for tag in post.applied_tags]]


async def polls():
    answers = [discord.PollAnswer("Soup"), discord.PollAnswer("Bread")]
    message = await channel().send(poll=discord.Poll("Lunch?", answers=answers))
    ended_poll = await message.end_poll()
    return [message.poll.question.text, [answer.text for answer in ended_poll.poll.answers]]


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


async def stages():
    # The library sends the boolean send_start_notification as a number.
    stage = await guild().create_stage_channel("Stage", topic="")
    instance = await stage.create_instance(topic="Talk")
    return [instance.topic, (await stage.fetch_instance()).id == instance.id]


async def events():
    event = await guild().create_scheduled_event(
        name="Fair", start_time=EVENT_START, end_time=EVENT_END, location="Park"
    )
    listed_events = await guild().fetch_scheduled_events(with_user_count=True)
    return [event.name, event.location.value, len(listed_events)]


async def auto_moderation():
    rule = await guild().create_auto_moderation_rule(
        name="No fish",
        event_type=discord.AutoModEventType.message_send,
        trigger_type=discord.AutoModTriggerType.keyword,
        trigger_metadata=discord.AutoModTriggerMetadata(keyword_filter=["fish"]),
        actions=[discord.AutoModAction(discord.AutoModActionType.block_message, discord.AutoModActionMetadata())],
        enabled=True,
    )
    return [rule.name, (await guild().fetch_auto_moderation_rules())[0].trigger_metadata.keyword_filter]


async def templates():
    template = await guild().create_template(name="Plan", description="a plan")
    return [template.name, [fetched_template.code for fetched_template in await guild().templates()] == [template.code]]


async def commands_registered():
    async def fetch_names():
        registered_commands = await bot.http.get_guild_commands(bot.application_id, GUILD_ID)
        return [command["name"] for command in registered_commands]

    return await wait_commands(fetch_names, "sing")


is_started = False


@bot.event
async def on_ready():
    """Run the steps once."""
    global is_started
    if not is_started:
        is_started = True
        await run_steps(
            [
                files,
                threads,
                forums,
                polls,
                stickers,
                catalog,
                stages,
                events,
                auto_moderation,
                templates,
                commands_registered,
            ]
        )


prepare()
report(step="version", result=discord.__version__)
bot.run(SETTINGS["token"])
