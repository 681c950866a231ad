"""The same small bot in each Python library: a command, a button, a modal, a reaction role and a voice channel.

`small_bot.py` tests the bot of the library that is installed."""

# mypy: ignore-errors

EMOJI = "🎲"


def create_discord_py_bot(token, guild_id, role_id, voice_channel_id):
    import discord
    from discord import app_commands

    guild = discord.Object(guild_id)

    class Form(discord.ui.Modal, title="Question"):
        answer = discord.ui.TextInput(label="Answer", custom_id="answer")

        async def on_submit(self, interaction):
            await interaction.response.send_message(f"answer: {self.answer.value}")

    class Panel(discord.ui.View):
        @discord.ui.button(label="Press", custom_id="press")
        async def press(self, interaction, button):
            await interaction.response.edit_message(content="pressed")

    class Bot(discord.Client):
        async def setup_hook(self):
            await tree.sync(guild=guild)

        async def on_raw_reaction_add(self, payload):
            if str(payload.emoji) == EMOJI:
                await payload.member.add_roles(discord.Object(role_id))

    bot = Bot(intents=discord.Intents.all())
    tree = app_commands.CommandTree(bot)

    @tree.command(description="Greets", guild=guild)
    async def greet(interaction, name: str):
        await interaction.response.send_message(f"hello {name}")

    @tree.command(description="Asks", guild=guild)
    async def ask(interaction):
        await interaction.response.send_modal(Form())

    @tree.command(description="Shows a button", guild=guild)
    async def panel(interaction):
        await interaction.response.send_message("panel", view=Panel())

    @tree.command(description="Joins the voice channel", guild=guild)
    async def join(interaction):
        await interaction.guild.change_voice_state(channel=interaction.guild.get_channel(voice_channel_id))
        await interaction.response.send_message("joined")

    return bot


def create_disnake_bot(token, guild_id, role_id, voice_channel_id):
    import disnake
    from disnake.ext import commands

    bot = commands.InteractionBot(intents=disnake.Intents.all(), test_guilds=[guild_id])

    class Form(disnake.ui.Modal):
        def __init__(self):
            text = disnake.ui.Label("Answer", disnake.ui.TextInput(custom_id="answer"))
            super().__init__(title="Question", custom_id="form", components=[text])

        async def callback(self, inter):
            await inter.response.send_message(f"answer: {inter.text_values['answer']}")

    class Panel(disnake.ui.View):
        @disnake.ui.button(label="Press", custom_id="press")
        async def press(self, button, inter):
            await inter.response.edit_message(content="pressed")

    @bot.slash_command(description="Greets")
    async def greet(inter, name: str):
        await inter.response.send_message(f"hello {name}")

    @bot.slash_command(description="Asks")
    async def ask(inter):
        await inter.response.send_modal(Form())

    @bot.slash_command(description="Shows a button")
    async def panel(inter):
        await inter.response.send_message("panel", view=Panel())

    @bot.slash_command(description="Joins the voice channel")
    async def join(inter):
        await inter.guild.change_voice_state(channel=inter.guild.get_channel(voice_channel_id))
        await inter.response.send_message("joined")

    @bot.event
    async def on_raw_reaction_add(payload):
        if str(payload.emoji) == EMOJI:
            await payload.member.add_roles(disnake.Object(role_id))

    return bot


def create_nextcord_bot(token, guild_id, role_id, voice_channel_id):
    import nextcord
    from nextcord.ext import commands

    bot = commands.Bot(intents=nextcord.Intents.all(), default_guild_ids=[guild_id])

    class Form(nextcord.ui.Modal):
        def __init__(self):
            super().__init__("Question", custom_id="form")
            self.answer = nextcord.ui.TextInput("Answer", custom_id="answer")
            self.add_item(self.answer)

        async def callback(self, interaction):
            await interaction.response.send_message(f"answer: {self.answer.value}")

    class Panel(nextcord.ui.View):
        @nextcord.ui.button(label="Press", custom_id="press")
        async def press(self, button, interaction):
            await interaction.response.edit_message(content="pressed")

    @bot.slash_command(description="Greets")
    async def greet(interaction: nextcord.Interaction, name: str):
        await interaction.response.send_message(f"hello {name}")

    @bot.slash_command(description="Asks")
    async def ask(interaction: nextcord.Interaction):
        await interaction.response.send_modal(Form())

    @bot.slash_command(description="Shows a button")
    async def panel(interaction: nextcord.Interaction):
        await interaction.response.send_message("panel", view=Panel())

    @bot.slash_command(description="Joins the voice channel")
    async def join(interaction: nextcord.Interaction):
        await interaction.guild.change_voice_state(channel=interaction.guild.get_channel(voice_channel_id))
        await interaction.response.send_message("joined")

    @bot.event
    async def on_raw_reaction_add(payload):
        if str(payload.emoji) == EMOJI:
            await payload.member.add_roles(nextcord.Object(role_id))

    return bot


def create_py_cord_bot(token, guild_id, role_id, voice_channel_id):
    import discord

    bot = discord.Bot(intents=discord.Intents.all(), debug_guilds=[guild_id])

    class Form(discord.ui.Modal):
        def __init__(self):
            text = discord.ui.InputText(label="Answer", custom_id="answer")
            super().__init__(text, title="Question", custom_id="form")

        async def callback(self, interaction):
            await interaction.response.send_message(f"answer: {self.children[0].value}")

    class Panel(discord.ui.View):
        @discord.ui.button(label="Press", custom_id="press")
        async def press(self, button, interaction):
            await interaction.response.edit_message(content="pressed")

    @bot.slash_command(description="Greets")
    async def greet(context, name: str):
        await context.respond(f"hello {name}")

    @bot.slash_command(description="Asks")
    async def ask(context):
        await context.send_modal(Form())

    @bot.slash_command(description="Shows a button")
    async def panel(context):
        await context.respond("panel", view=Panel())

    @bot.slash_command(description="Joins the voice channel")
    async def join(context):
        await context.guild.change_voice_state(channel=context.guild.get_channel(voice_channel_id))
        await context.respond("joined")

    @bot.event
    async def on_raw_reaction_add(payload):
        if str(payload.emoji) == EMOJI:
            await payload.member.add_roles(discord.Object(role_id))

    return bot


def create_interactions_py_bot(token, guild_id, role_id, voice_channel_id):
    import interactions

    bot = interactions.Client(
        intents=interactions.Intents.ALL, debug_scope=guild_id, sync_interactions=True, fetch_members=False
    )

    @interactions.slash_command("greet", description="Greets")
    @interactions.slash_option("name", "Name", interactions.OptionType.STRING, required=True)
    async def greet(context, name: str):
        await context.send(f"hello {name}")

    @interactions.slash_command("ask", description="Asks")
    async def ask(context):
        text = interactions.ShortText(label="Answer", custom_id="answer")
        await context.send_modal(interactions.Modal(text, title="Question", custom_id="form"))

    @interactions.modal_callback("form")
    async def form(context, answer: str):
        await context.send(f"answer: {answer}")

    @interactions.slash_command("panel", description="Shows a button")
    async def panel(context):
        button = interactions.Button(style=interactions.ButtonStyle.GRAY, label="Press", custom_id="press")
        await context.send("panel", components=button)

    @interactions.component_callback("press")
    async def press(context):
        await context.edit_origin(content="pressed")

    @interactions.slash_command("join", description="Joins the voice channel")
    async def join(context):
        await bot.ws.voice_state_update(guild_id, voice_channel_id)
        await context.send("joined")

    @interactions.listen(interactions.events.MessageReactionAdd)
    async def on_reaction(event):
        if event.emoji.name == EMOJI:
            await event.author.add_role(role_id)

    for command in (greet, ask, panel, join):
        bot.add_interaction(command)
    for callback in (form, press):
        bot.add_modal_callback(callback) if callback is form else bot.add_component_callback(callback)
    bot.add_listener(on_reaction)
    return bot


def create_hikari_bot(token, guild_id, role_id, voice_channel_id):
    import hikari

    bot = hikari.GatewayBot(token, intents=hikari.Intents.ALL, banner=None, suppress_optimization_warning=True)
    message = hikari.ResponseType.MESSAGE_CREATE

    async def greet(interaction):
        await interaction.create_initial_response(message, f"hello {interaction.options[0].value}")

    async def ask(interaction):
        row = bot.rest.build_modal_action_row().add_text_input("answer", "Answer")
        await interaction.create_modal_response("Question", "form", component=row)

    async def panel(interaction):
        row = bot.rest.build_message_action_row()
        row.add_interactive_button(hikari.ButtonStyle.SECONDARY, "press", label="Press")
        await interaction.create_initial_response(message, "panel", component=row)

    async def join(interaction):
        await bot.update_voice_state(guild_id, voice_channel_id)
        await interaction.create_initial_response(message, "joined")

    commands = {"greet": greet, "ask": ask, "panel": panel, "join": join}

    @bot.listen(hikari.InteractionCreateEvent)
    async def on_interaction(event):
        interaction = event.interaction
        if isinstance(interaction, hikari.CommandInteraction):
            await commands[interaction.command_name](interaction)
        elif isinstance(interaction, hikari.ModalInteraction):
            answer = interaction.components[0].components[0].value
            await interaction.create_initial_response(message, f"answer: {answer}")
        else:
            await interaction.create_initial_response(hikari.ResponseType.MESSAGE_UPDATE, "pressed")

    @bot.listen(hikari.GuildReactionAddEvent)
    async def on_reaction(event):
        if event.is_for_emoji(EMOJI):
            await event.member.add_role(role_id)

    @bot.listen(hikari.StartedEvent)
    async def on_started(_):
        application = await bot.rest.fetch_application()
        builders = [bot.rest.slash_command_builder(name, name) for name in commands]
        builders[0].add_option(
            hikari.CommandOption(type=hikari.OptionType.STRING, name="name", description="Name", is_required=True)
        )
        await bot.rest.set_application_commands(application, builders, guild_id)

    return bot


CREATE = {
    "discord_py": create_discord_py_bot,
    "disnake": create_disnake_bot,
    "hikari": create_hikari_bot,
    "interactions_py": create_interactions_py_bot,
    "nextcord": create_nextcord_bot,
    "py_cord": create_py_cord_bot,
}
"""Functions that create the bot, by the name of the library's fixture without the prefix `hubbub_`."""
