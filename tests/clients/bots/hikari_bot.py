"""A bot with hikari, which `test_library_bots.py` runs.

The library has no voice connections, so this bot joins a call without audio."""

# mypy: ignore-errors

import hikari
from runner import (
    EMOJI,
    GUILD_ID,
    ROLE_ID,
    SETTINGS,
    VOICE_CHANNEL_ID,
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
    await run_steps([commands_registered])


prepare()
report(step="version", result=hikari.__version__)
bot.run(check_for_updates=False)
