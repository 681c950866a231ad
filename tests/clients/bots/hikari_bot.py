"""A bot with hikari, which `test_library_bots.py` runs.

The library has no voice connections, so this bot joins a call without audio."""

# mypy: ignore-errors

from datetime import timedelta

import hikari
from hikari.impl.special_endpoints import (
    AutoModBlockMessageActionBuilder,
    AutoModKeywordTriggerBuilder,
    PollBuilder,
)
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

bot = hikari.GatewayBot(
    SETTINGS["token"],
    rest_url=SETTINGS["api"],
    intents=hikari.Intents.ALL,
    banner=None,
    logs=None,
    suppress_optimization_warning=True,
)
MESSAGE = hikari.ResponseType.MESSAGE_CREATE


async def show_panel(interaction):
    """Respond with a button and a select."""
    buttons, selects = bot.rest.build_message_action_row(), bot.rest.build_message_action_row()
    buttons.add_interactive_button(hikari.ButtonStyle.SECONDARY, "press", label="Press")
    selects.add_text_menu("pick").add_option("a", "a").add_option("b", "b")
    await interaction.create_initial_response(MESSAGE, "panel", components=[buttons, selects])


async def ask(interaction):
    """Respond with a modal."""
    row = bot.rest.build_modal_action_row().add_text_input("answer", "Answer")
    await interaction.create_modal_response("Question", "form", component=row)


async def join(interaction):
    """Join the voice channel without audio."""
    await bot.update_voice_state(GUILD_ID, VOICE_CHANNEL_ID)
    await wait_until(lambda: bot.cache.get_voice_state(GUILD_ID, bot.get_me()) is not None)
    await interaction.create_initial_response(MESSAGE, "joined")


async def leave(interaction):
    """Leave the voice channel."""
    await bot.update_voice_state(GUILD_ID, None)
    await wait_until(lambda: bot.cache.get_voice_state(GUILD_ID, bot.get_me()) is None)
    await interaction.create_initial_response(MESSAGE, "left")


COMMANDS = {"panel": show_panel, "ask": ask, "join": join, "leave": leave}


@bot.listen(hikari.InteractionCreateEvent)
async def on_interaction(event):
    """Respond to a command, a component or a modal."""
    interaction = event.interaction
    if isinstance(interaction, hikari.CommandInteraction):
        if interaction.command_name == "greet":
            await interaction.create_initial_response(MESSAGE, f"hello {interaction.options[0].value}")
        else:
            await COMMANDS[interaction.command_name](interaction)
    elif isinstance(interaction, hikari.ModalInteraction):
        await interaction.create_initial_response(MESSAGE, f"answer: {interaction.components[0].components[0].value}")
    elif interaction.custom_id == "press":
        await interaction.create_initial_response(hikari.ResponseType.MESSAGE_UPDATE, "pressed")
    else:
        text = f"picked {interaction.values[0]}"
        await interaction.create_initial_response(MESSAGE, text, flags=hikari.MessageFlag.EPHEMERAL)


@bot.listen(hikari.GuildReactionAddEvent)
async def on_reaction(event):
    """Give the role to the user who reacts."""
    if event.is_for_emoji(EMOJI):
        await event.member.add_role(ROLE_ID)


async def files():
    # The library cannot send the description of a file.
    message = await bot.rest.create_message(CHANNEL_ID, "a file", attachment=hikari.Bytes(image_file(), "pixel.png"))
    attachment = message.attachments[0]
    return [attachment.filename, len(await attachment.read())]


async def threads():
    message = await bot.rest.create_message(CHANNEL_ID, "chapter one")
    duration = timedelta(minutes=60)
    thread = await bot.rest.create_message_thread(CHANNEL_ID, message, "story", auto_archive_duration=duration)
    await bot.rest.create_message(thread, "once upon a time")
    return [thread.name, thread.parent_id == CHANNEL_ID]


async def forums():
    tags = [hikari.ForumTag(name="new")]
    forum = await bot.rest.create_guild_forum_channel(GUILD_ID, "ideas", available_tags=tags)
    post = await bot.rest.create_forum_post(forum, "first", "text", tags=forum.available_tags)
    message = await bot.rest.fetch_message(post, post.id)
    return [post.name, message.content, [tag.name for tag in forum.available_tags if tag.id in post.applied_tag_ids]]


async def polls():
    poll = PollBuilder(question_text="Lunch?", allow_multiselect=False)
    for text in ("Soup", "Bread"):
        poll.add_answer(text=text)
    message = await bot.rest.create_message(CHANNEL_ID, poll=poll)
    ended_message = await bot.rest.end_poll(CHANNEL_ID, message)
    return [message.poll.question.text, [answer.poll_media.text for answer in ended_message.poll.answers]]


async def stickers():
    image = hikari.Bytes(image_file(), "wave.png")
    sticker = await bot.rest.create_sticker(GUILD_ID, "wave", "wave", image, description="waves")
    message = await bot.rest.create_message(CHANNEL_ID, sticker=sticker)
    return [sticker.name, [item.name for item in message.stickers]]


async def catalog():
    packs = await bot.rest.fetch_available_sticker_packs()
    application = await bot.rest.fetch_application()
    return [[pack.name for pack in packs], application.name != ""]


async def events():
    event = await bot.rest.create_external_event(GUILD_ID, "Fair", "Park", EVENT_START, EVENT_END)
    return [event.name, event.location, len(await bot.rest.fetch_scheduled_events(GUILD_ID))]


async def auto_moderation():
    rule = await bot.rest.create_auto_mod_rule(
        GUILD_ID,
        name="No fish",
        event_type=hikari.AutoModEventType.MESSAGE_SEND,
        trigger=AutoModKeywordTriggerBuilder(keyword_filter=["fish"]),
        actions=[AutoModBlockMessageActionBuilder()],
    )
    return [rule.name, (await bot.rest.fetch_auto_mod_rules(GUILD_ID))[0].trigger.keyword_filter]


async def templates():
    template = await bot.rest.create_template(GUILD_ID, "Plan", description="a plan")
    return [template.name, [found.code for found in await bot.rest.fetch_guild_templates(GUILD_ID)] == [template.code]]


async def commands_registered():
    application = await bot.rest.fetch_application()
    builders = [bot.rest.slash_command_builder(name, name) for name in COMMANDS]
    name = hikari.CommandOption(type=hikari.OptionType.STRING, name="name", description="Name", is_required=True)
    builders.append(bot.rest.slash_command_builder("greet", "Greets").add_option(name))
    await bot.rest.set_application_commands(application, builders, GUILD_ID)

    async def fetch_names():
        return [command.name for command in await bot.rest.fetch_application_commands(application, GUILD_ID)]

    return await wait_commands(fetch_names)


@bot.listen(hikari.StartedEvent)
async def on_started(_):
    """Run the steps."""
    await run_steps(
        [files, threads, forums, polls, stickers, catalog, events, auto_moderation, templates, commands_registered]
    )


prepare()
report(step="version", result=hikari.__version__)
bot.run(check_for_updates=False)
