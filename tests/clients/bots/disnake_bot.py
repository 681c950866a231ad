"""A bot with disnake, which `test_library_bots.py` runs."""

# mypy: ignore-errors

import disnake
from disnake.ext import commands
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

disnake.http.Route.BASE = SETTINGS["api"]
disnake.asset.Asset.BASE = SETTINGS["cdn"]

bot = commands.InteractionBot(intents=disnake.Intents.all(), test_guilds=[GUILD_ID], guild_ready_timeout=0.1)


class Form(disnake.ui.Modal):
    """A modal with a text input."""

    def __init__(self):
        text = disnake.ui.Label("Answer", disnake.ui.TextInput(custom_id="answer"))
        super().__init__(title="Question", custom_id="form", components=[text])

    async def callback(self, inter):
        """Respond with the text."""
        await inter.response.send_message(f"answer: {inter.text_values['answer']}")


class Panel(disnake.ui.View):
    """A button and a select."""

    @disnake.ui.button(label="Press", custom_id="press")
    async def press(self, button, inter):
        """Edit the message."""
        await inter.response.edit_message(content="pressed")

    @disnake.ui.string_select(custom_id="pick", options=["a", "b"])
    async def pick(self, select, inter):
        """Respond with the chosen value."""
        await inter.response.send_message(f"picked {select.values[0]}", ephemeral=True)


@bot.slash_command(description="Greets")
async def greet(inter, name: str):
    """Respond with a greeting."""
    await inter.response.send_message(f"hello {name}")


@bot.slash_command(description="Asks")
async def ask(inter):
    """Respond with a modal."""
    await inter.response.send_modal(Form())


@bot.slash_command(description="Shows components")
async def panel(inter):
    """Respond with components."""
    await inter.response.send_message("panel", view=Panel())


class Song(Frames, disnake.AudioSource):
    """The audio that the bot plays."""


@bot.slash_command(description="Joins the call")
async def join(inter):
    """Join the voice channel."""
    await bot.get_channel(VOICE_CHANNEL_ID).connect()
    await inter.response.send_message("joined")


@bot.slash_command(description="Plays audio")
async def sing(inter):
    """Play audio once the call is end-to-end encrypted."""
    voice = guild().voice_client
    await wait_until(voice.dave.can_encrypt)
    await play_frames(voice, Song(bot.user.id))
    await inter.response.send_message("sang")


@bot.slash_command(description="Leaves the call")
async def leave(inter):
    """Leave the voice channel."""
    await guild().voice_client.disconnect()
    await inter.response.send_message("left")


@bot.event
async def on_raw_reaction_add(payload):
    """Give the role to the user who reacts."""
    if str(payload.emoji) == EMOJI:
        await payload.member.add_roles(disnake.Object(ROLE_ID))


def guild():
    return bot.get_guild(GUILD_ID)


def channel():
    return guild().get_channel(CHANNEL_ID)


async def files():
    message = await channel().send("a file", file=disnake.File(image_file(), "pixel.png", description="one pixel"))
    attachment = message.attachments[0]
    return [attachment.filename, attachment.description, len(await attachment.read())]


async def threads():
    message = await channel().send("chapter one")
    thread = await message.create_thread(name="story", auto_archive_duration=60)
    await thread.join()
    await thread.send("once upon a time")
    return [thread.name, thread.parent_id == CHANNEL_ID]


async def forums():
    forum = await guild().create_forum_channel("ideas", available_tags=[disnake.ForumTag(name="new")])
    post, message = await forum.create_thread(name="first", content="text", applied_tags=forum.available_tags)
    return [post.name, message.content, [tag.name for tag in post.applied_tags]]


async def polls():
    message = await channel().send(poll=disnake.Poll("Lunch?", answers=["Soup", "Bread"]))
    ended_poll = await message.poll.expire()
    return [message.poll.question.text, [answer.media.text for answer in ended_poll.poll.answers]]


async def stickers():
    sticker = await guild().create_sticker(
        name="wave", description="waves", emoji="wave", file=disnake.File(image_file(), "wave.png")
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
        entity_type=disnake.GuildScheduledEventEntityType.external,
        scheduled_start_time=EVENT_START,
        scheduled_end_time=EVENT_END,
        entity_metadata=disnake.GuildScheduledEventMetadata(location="Park"),
    )
    listed_events = await guild().fetch_scheduled_events(with_user_count=True)
    return [event.name, event.entity_metadata.location, len(listed_events)]


async def auto_moderation():
    rule = await guild().create_automod_rule(
        name="No fish",
        event_type=disnake.AutoModEventType.message_send,
        trigger_type=disnake.AutoModTriggerType.keyword,
        trigger_metadata=disnake.AutoModTriggerMetadata(keyword_filter=["fish"]),
        actions=[disnake.AutoModBlockMessageAction()],
        enabled=True,
    )
    return [rule.name, list((await guild().fetch_automod_rules())[0].trigger_metadata.keyword_filter)]


async def templates():
    template = await guild().create_template(name="Plan", description="a plan")
    return [template.name, [fetched_template.code for fetched_template in await guild().templates()] == [template.code]]


async def commands_registered():
    async def fetch_names():
        return [command.name for command in await bot.fetch_guild_commands(GUILD_ID)]

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
report(step="version", result=disnake.__version__)
bot.run(SETTINGS["token"])
