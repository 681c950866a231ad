"""Unmodified discord.py as an app: commands, menus, buttons, selects and modals, which a user uses over HTTP."""

from typing import Any

import discord
import pytest
from discord import app_commands

from hubbub.protocol.enums import (
    CommandOptionType,
    CommandPermissionType,
    ComponentType,
    InteractionContextType,
    InteractionType,
)
from hubbub.protocol.flags import MessageFlags
from tests.clients.app_user import AppUser, create_sku
from tests.clients.client_setup import ClientSetup
from tests.clients.discord_py_bot import Bot, run_bot
from tests.world import Session

pytestmark = pytest.mark.usefixtures("discord_py_urls")


class App(Bot):
    """A bot with a tree of application commands."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = app_commands.CommandTree(self)


class FeedbackModal(discord.ui.Modal, title="Feedback"):
    """A modal with a text display, a text input, a radio group, a user select and a checkbox."""

    intro: "discord.ui.TextDisplay[Any]" = discord.ui.TextDisplay("Welcome")
    name: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Name", component=discord.ui.TextInput(custom_id="name", max_length=20)
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
        assert isinstance(self.name.component, discord.ui.TextInput)
        assert isinstance(self.color.component, discord.ui.RadioGroup)
        assert isinstance(self.friend.component, discord.ui.UserSelect)
        assert isinstance(self.sure.component, discord.ui.Checkbox)
        name, color, sure = self.name.component.value, self.color.component.value, self.sure.component.value
        friend = self.friend.component.values[0]
        await interaction.response.send_message(f"{name} likes {color} and {friend.name}: {sure}")


class EvidenceModal(discord.ui.Modal, title="Evidence"):
    """A modal with a file upload and a checkbox group."""

    proof: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Proof", component=discord.ui.FileUpload(custom_id="proof", max_values=2)
    )
    sizes: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Sizes",
        component=discord.ui.CheckboxGroup(
            custom_id="sizes",
            max_values=2,
            options=[discord.CheckboxGroupOption(label=size, value=size) for size in ("s", "m", "l")],
        ),
    )

    async def on_submit(self, interaction: discord.Interaction) -> None:
        """Send the submitted values."""
        assert isinstance(self.proof.component, discord.ui.FileUpload)
        assert isinstance(self.sizes.component, discord.ui.CheckboxGroup)
        file = self.proof.component.values[0]
        text = (await file.read()).decode()
        await interaction.response.send_message(f"{file.filename}: {text}, {'+'.join(self.sizes.component.values)}")


class Panel(discord.ui.View):
    """A view with buttons and selects."""

    @discord.ui.button(label="Count", custom_id="count", style=discord.ButtonStyle.primary)
    async def count(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        """Edit the message."""
        button.label = "Counted"
        await interaction.response.edit_message(content="pressed", view=self)

    @discord.ui.button(label="Form", custom_id="form")
    async def form(self, interaction: discord.Interaction, button: "discord.ui.Button[Panel]") -> None:
        """Show a modal."""
        await interaction.response.send_modal(FeedbackModal())

    @discord.ui.select(
        cls=discord.ui.Select,
        custom_id="words",
        max_values=2,
        options=[discord.SelectOption(label="a"), discord.SelectOption(label="b")],
    )
    async def words(self, interaction: discord.Interaction, select: "discord.ui.Select[Panel]") -> None:
        """Send an ephemeral response."""
        await interaction.response.send_message(" and ".join(select.values), ephemeral=True)

    @discord.ui.select(cls=discord.ui.UserSelect, custom_id="users")
    async def users(self, interaction: discord.Interaction, select: "discord.ui.UserSelect[Panel]") -> None:
        """Send the chosen user after a deferral."""
        await interaction.response.defer()
        user = select.values[0]
        await interaction.followup.send(f"{user.display_name} of {getattr(user, 'guild', None)}")


def add_commands(tree: app_commands.CommandTree[App], guild: discord.Object, sku_id: int) -> None:
    """Add the app's commands."""

    @tree.command(guild=guild, description="greets")
    @app_commands.describe(member="who", times="how often", place="where")
    @app_commands.choices(mood=[app_commands.Choice(name="Happy", value="happy")])
    async def greet(
        interaction: discord.Interaction,
        member: discord.Member,
        times: app_commands.Range[int, 1, 5],
        place: discord.TextChannel,
        mood: app_commands.Choice[str],
        city: str = "nowhere",
    ) -> None:
        can_send = interaction.app_permissions.send_messages
        text = f"{member.name} x{times} in {place.name}, {mood.name}, {city}, {can_send}"
        await interaction.response.send_message(text)
        sent_message = await interaction.original_response()
        await sent_message.edit(content=text + "!")

    @greet.autocomplete("city")
    async def complete(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        cities = ("Berlin", "Bern", "Paris")
        return [app_commands.Choice(name=city, value=city.lower()) for city in cities if city.startswith(typed)]

    group = app_commands.Group(name="slow", description="takes time", guild_ids=[guild.id])

    @group.command(description="thinks")
    async def think(interaction: discord.Interaction) -> None:
        await interaction.response.defer(thinking=True, ephemeral=True)
        await interaction.edit_original_response(content="thought")
        follow_up = await interaction.followup.send("and more", wait=True)
        await follow_up.edit(content="and much more")
        await follow_up.delete()

    tree.add_command(group)

    @tree.context_menu(guild=guild, name="Poke")
    async def poke(interaction: discord.Interaction, member: discord.Member) -> None:
        await interaction.response.send_message(f"poked {member.name}")

    @tree.context_menu(guild=guild, name="Shout")
    async def shout(interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.send_message(message.content.upper())

    @tree.command(guild=guild, description="shows a panel")
    async def panel(interaction: discord.Interaction) -> None:
        view = Panel(timeout=None)
        view.add_item(discord.ui.Button(sku_id=sku_id))
        await interaction.response.send_message("here", view=view)

    @tree.command(guild=guild, description="asks for files")
    async def prove(interaction: discord.Interaction) -> None:
        entitlement_count = len(interaction.entitlements)
        await interaction.response.send_modal(EvidenceModal(title=f"Evidence of {entitlement_count}"))


@pytest.fixture
async def bob_session(setup: ClientSetup) -> Session:
    """A gateway session of Bob."""
    return await setup.bob.connect()


async def test_a_user_uses_every_feature_of_an_app(setup: ClientSetup, bob_session: Session) -> None:
    bob = AppUser(setup, bob_session)
    async with run_bot(App(), setup.bot.token) as app:
        assert isinstance(app, App)
        guild = discord.Object(setup.guild.id)
        sku_id = int(await create_sku(setup))
        add_commands(app.tree, guild, sku_id)

        synced_commands = await app.tree.sync(guild=guild)
        fetched_commands = await app.tree.fetch_commands(guild=guild)

        assert {command.name for command in synced_commands} == {"greet", "slow", "Poke", "Shout", "panel", "prove"}
        assert [command.id for command in fetched_commands] == [command.id for command in synced_commands]
        bob.commands = {
            command.name: {"id": str(command.id), "type": command.type.value} for command in synced_commands
        }

        # Autocomplete an option, then run the command.
        await bob.run(
            "greet",
            InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE,
            options=[{"type": CommandOptionType.STRING, "name": "city", "value": "Be", "focused": True}],
        )
        autocompletion = await bob_session.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
        assert [choice["value"] for choice in autocompletion["choices"]] == ["berlin", "bern"]
        options = [
            {"type": CommandOptionType.USER, "name": "member", "value": str(setup.alice.id)},
            {"type": CommandOptionType.INTEGER, "name": "times", "value": 3},
            {"type": CommandOptionType.CHANNEL, "name": "place", "value": str(setup.guild.general)},
            {"type": CommandOptionType.STRING, "name": "mood", "value": "happy"},
            {"type": CommandOptionType.STRING, "name": "city", "value": "bern"},
        ]
        await bob.run("greet", options=options)
        sent_message = await bob.next_message()
        assert sent_message["content"] == "alice x3 in general, Happy, bern, True"
        assert sent_message["interaction_metadata"]["user"]["id"] == str(setup.bob.id)
        assert (await bob.next_update())["content"].endswith("!")
        incoming = await app.wait_event("message", lambda message: message.id == int(sent_message["id"]))
        assert incoming.author == app.user
        assert incoming.interaction_metadata.user.id == setup.bob.id
        # The bot can fetch, edit and delete its response like any other message, without the interaction token.
        fetched_message = await incoming.channel.fetch_message(incoming.id)
        assert (await fetched_message.edit(content="changed later")).content == "changed later"
        assert (await bob.next_update())["content"] == "changed later"
        await fetched_message.delete()
        assert (await bob_session.next("MESSAGE_DELETE"))["id"] == sent_message["id"]

        # A deferred ephemeral response, its edit, and a follow-up.
        await bob.run("slow", options=[{"type": CommandOptionType.SUB_COMMAND, "name": "think"}])
        loading_message = await bob.next_message()
        assert loading_message["flags"] == MessageFlags.EPHEMERAL | MessageFlags.LOADING
        assert (await bob.next_update())["content"] == "thought"
        assert (await bob.next_message())["content"] == "and more"
        assert (await bob.next_update())["content"] == "and much more"
        await bob_session.next("MESSAGE_DELETE")

        # Context menu commands.
        await bob.run("Poke", target_id=str(setup.alice.id))
        assert (await bob.next_message())["content"] == "poked alice"
        target = await setup.guild.send_message(setup.bob, "hello")
        await bob.next_message()
        await bob.run("Shout", target_id=target["id"])
        assert (await bob.next_message())["content"] == "HELLO"

        # A panel: buttons, one of them premium, two selects and a modal.
        await bob.run("panel")
        panel = await bob.next_message()
        assert panel["components"][0]["components"][2]["sku_id"] == str(sku_id)
        await bob.use_component(panel, "count")
        changed_message = await bob.next_update()
        assert (changed_message["content"], changed_message["components"][0]["components"][0]["label"]) == (
            "pressed",
            "Counted",
        )
        await bob.use_component(panel, "words", ComponentType.STRING_SELECT, values=["b", "a"])
        assert (await bob.next_message())["content"] in ("a and b", "b and a")
        await bob.use_component(panel, "users", ComponentType.USER_SELECT, values=[str(setup.alice.id)])
        assert (await bob.next_message())["content"] == "alice of Town Square"
        await bob.use_component(panel, "form")
        modal = await bob_session.next("INTERACTION_MODAL_CREATE")
        assert [component["type"] for component in modal["components"]] == [
            ComponentType.TEXT_DISPLAY,
            *[ComponentType.LABEL] * 4,
        ]
        await bob.submit(
            modal,
            {"type": ComponentType.TEXT_INPUT, "custom_id": "name", "value": "Bob"},
            {"type": ComponentType.RADIO_GROUP, "custom_id": "color", "value": "b"},
            {"type": ComponentType.USER_SELECT, "custom_id": "friend", "values": [str(setup.alice.id)]},
            {"type": ComponentType.CHECKBOX, "custom_id": "sure", "value": True},
        )
        assert (await bob.next_message())["content"] == "Bob likes b and alice: True"

        # The interaction carries Bob's entitlements, and files are downloaded.
        (await setup.bob.post("/users/@me/purchases", json={"sku_id": str(sku_id)})).ok()
        entitlement = await app.wait_event("entitlement_create")
        assert (entitlement.sku_id, entitlement.user_id) == (sku_id, setup.bob.id)
        await bob.run("prove")
        modal = await bob_session.next("INTERACTION_MODAL_CREATE")
        assert modal["title"] == "Evidence of 1"
        await bob.submit(
            modal,
            {"type": ComponentType.FILE_UPLOAD, "custom_id": "proof", "values": ["0"]},
            {"type": ComponentType.CHECKBOX_GROUP, "custom_id": "sizes", "values": ["s", "l"]},
            file=b"I am",
        )
        assert (await bob.next_message())["content"] == "proof.txt: I am, s+l"


async def test_global_commands_are_synced_and_their_permissions_read(setup: ClientSetup) -> None:
    async with run_bot(App(), setup.bot.token) as app:
        assert isinstance(app, App)

        @app.tree.command(name="everywhere", description="anywhere")
        @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=False)
        @app_commands.default_permissions(ban_members=True)
        async def everywhere(interaction: discord.Interaction) -> None:
            await interaction.response.send_message("hi")

        (command,) = await app.tree.sync()
        assert command.default_member_permissions == discord.Permissions(ban_members=True)
        # The library decodes contexts as if they started at 1, so the test reads them over HTTP.
        (stored_command,) = (await setup.bot.get(f"/applications/{setup.bot.application_id}/commands")).ok()
        assert stored_command["contexts"] == [InteractionContextType.GUILD, InteractionContextType.BOT_DM]
        path = f"/applications/{setup.bot.application_id}/guilds/{setup.guild.id}/commands/{command.id}/permissions"
        entries = [{"id": str(setup.bob.id), "type": CommandPermissionType.USER, "permission": True}]
        (await setup.alice.put(path, json={"permissions": entries})).ok()
        updated_permissions = await app.wait_event("raw_app_command_permissions_update")
        assert [entry.target.id for entry in updated_permissions.permissions] == [setup.bob.id]
        fetched_permissions = await command.fetch_permissions(discord.Object(setup.guild.id))
        assert [entry.permission for entry in fetched_permissions.permissions] == [True]
        await command.edit(description="changed")
        assert (await app.tree.fetch_command(command.id)).description == "changed"
        await command.delete()
        with pytest.raises(discord.NotFound):
            await app.tree.fetch_command(command.id)
