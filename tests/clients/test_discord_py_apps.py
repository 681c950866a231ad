"""Unmodified discord.py as an app: commands, menus, buttons, selects and modals, used by a user over HTTP."""

from typing import Any

import discord
import pytest
from discord import app_commands

from tests.clients.app_user import AppUser, create_sku
from tests.clients.scene import ClientScene
from tests.clients.test_discord_py import Bot, point_at_us, running
from tests.world import Session

__all__ = ["point_at_us"]


class App(Bot):
    """A bot with commands."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = app_commands.CommandTree(self)


class Form(discord.ui.Modal, title="Tell us"):
    """A modal with most components that the library supports."""

    intro: "discord.ui.TextDisplay[Any]" = discord.ui.TextDisplay("Welcome")
    name: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Name", component=discord.ui.TextInput(custom_id="name", max_length=20)
    )
    colour: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Colour",
        component=discord.ui.RadioGroup(
            custom_id="colour",
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
        assert isinstance(self.colour.component, discord.ui.RadioGroup)
        assert isinstance(self.friend.component, discord.ui.UserSelect)
        assert isinstance(self.sure.component, discord.ui.Checkbox)
        name, colour, sure = self.name.component.value, self.colour.component.value, self.sure.component.value
        friend = self.friend.component.values[0]
        await interaction.response.send_message(f"{name} likes {colour} and {friend.name}: {sure}")


class Evidence(discord.ui.Modal, title="Evidence"):
    """A modal with the other components: file uploads and checkbox groups."""

    proof: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Proof", component=discord.ui.FileUpload(custom_id="proof", max_values=2)
    )
    sizes: "discord.ui.Label[Any]" = discord.ui.Label(
        text="Sizes",
        component=discord.ui.CheckboxGroup(
            custom_id="sizes",
            max_values=2,
            options=[discord.CheckboxGroupOption(label=each, value=each) for each in ("s", "m", "l")],
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
        await interaction.response.send_modal(Form())

    @discord.ui.select(
        cls=discord.ui.Select,
        custom_id="words",
        max_values=2,
        options=[discord.SelectOption(label="a"), discord.SelectOption(label="b")],
    )
    async def words(self, interaction: discord.Interaction, select: "discord.ui.Select[Panel]") -> None:
        """Send an ephemeral response."""
        await interaction.response.send_message(" and ".join(select.values), ephemeral=True)

    @discord.ui.select(cls=discord.ui.UserSelect, custom_id="people")
    async def people(self, interaction: discord.Interaction, select: "discord.ui.UserSelect[Panel]") -> None:
        """Send the chosen users after a deferral."""
        await interaction.response.defer()
        chosen = select.values[0]
        await interaction.followup.send(f"{chosen.display_name} of {getattr(chosen, 'guild', None)}")


def declare(tree: app_commands.CommandTree[App], guild: discord.Object, sku: int) -> None:
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
        perms = interaction.app_permissions.send_messages
        text = f"{member.name} x{times} in {place.name}, {mood.name}, {city}, {perms}"
        await interaction.response.send_message(text)
        sent = await interaction.original_response()
        await sent.edit(content=text + "!")

    @greet.autocomplete("city")
    async def complete(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        known = ("Berlin", "Bern", "Paris")
        return [app_commands.Choice(name=each, value=each.lower()) for each in known if each.startswith(typed)]

    group = app_commands.Group(name="slow", description="takes time", guild_ids=[guild.id])

    @group.command(description="thinks")
    async def think(interaction: discord.Interaction) -> None:
        await interaction.response.defer(thinking=True, ephemeral=True)
        await interaction.edit_original_response(content="thought")
        more = await interaction.followup.send("and more", wait=True)
        await more.edit(content="and much more")
        await more.delete()

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
        view.add_item(discord.ui.Button(sku_id=sku))
        await interaction.response.send_message("here", view=view)

    @tree.command(guild=guild, description="asks for files")
    async def prove(interaction: discord.Interaction) -> None:
        owned = [each.sku_id for each in interaction.entitlements]
        await interaction.response.send_modal(Evidence(title=f"Evidence of {len(owned)}"))


@pytest.fixture
async def bob_session(town: ClientScene) -> Session:
    """A gateway session of Bob."""
    return await town.bob.connect()


async def test_a_user_uses_every_feature_of_an_app(town: ClientScene, bob_session: Session) -> None:
    bob = AppUser(town, bob_session)
    async with running(App(), town.bot.token) as app:
        assert isinstance(app, App)
        guild = discord.Object(town.guild.id)
        sku = int(await create_sku(town))
        declare(app.tree, guild, sku)

        synced = await app.tree.sync(guild=guild)
        fetched = await app.tree.fetch_commands(guild=guild)

        assert {command.name for command in synced} == {"greet", "slow", "Poke", "Shout", "panel", "prove"}
        assert [command.id for command in fetched] == [command.id for command in synced]
        bob.commands = {command.name: {"id": str(command.id), "type": command.type.value} for command in synced}

        # Autocomplete an option, then run the command.
        await bob.run("greet", 4, options=[{"type": 3, "name": "city", "value": "Be", "focused": True}])
        offered = await bob_session.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
        assert [each["value"] for each in offered["choices"]] == ["berlin", "bern"]
        options = [
            {"type": 6, "name": "member", "value": str(town.alice.id)},
            {"type": 4, "name": "times", "value": 3},
            {"type": 7, "name": "place", "value": str(town.guild.general)},
            {"type": 3, "name": "mood", "value": "happy"},
            {"type": 3, "name": "city", "value": "bern"},
        ]
        await bob.run("greet", options=options)
        sent_message = await bob.next_message()
        assert sent_message["content"] == "alice x3 in general, Happy, bern, True"
        assert sent_message["interaction_metadata"]["user"]["id"] == str(town.bob.id)
        assert (await bob.next_update())["content"].endswith("!")
        incoming = await app.received("message", lambda message: message.id == int(sent_message["id"]))
        assert incoming.author == app.user
        assert incoming.interaction_metadata.user.id == town.bob.id
        # A message of its own, without the interaction.
        fetched = await incoming.channel.fetch_message(incoming.id)
        assert (await fetched.edit(content="changed later")).content == "changed later"
        assert (await bob.next_update())["content"] == "changed later"
        await fetched.delete()
        assert (await bob_session.next("MESSAGE_DELETE"))["id"] == sent_message["id"]

        # A deferred ephemeral response, its edit, and a follow-up.
        await bob.run("slow", options=[{"type": 1, "name": "think"}])
        loading = await bob.next_message()
        assert loading["flags"] == 64 | 128
        assert (await bob.next_update())["content"] == "thought"
        assert (await bob.next_message())["content"] == "and more"
        assert (await bob.next_update())["content"] == "and much more"
        await bob_session.next("MESSAGE_DELETE")

        # Context menu commands.
        await bob.run("Poke", target_id=str(town.alice.id))
        assert (await bob.next_message())["content"] == "poked alice"
        target = await town.guild.send_message(town.bob, "hello")
        await bob.next_message()
        await bob.run("Shout", target_id=target["id"])
        assert (await bob.next_message())["content"] == "HELLO"

        # A panel: a button, two selects and a modal.
        await bob.run("panel")
        panel = await bob.next_message()
        assert panel["components"][0]["components"][2]["sku_id"] == str(sku)
        await bob.press(panel, "count")
        changed = await bob.next_update()
        assert (changed["content"], changed["components"][0]["components"][0]["label"]) == ("pressed", "Counted")
        await bob.press(panel, "words", 3, values=["b", "a"])
        assert (await bob.next_message())["content"] in ("a and b", "b and a")
        await bob.press(panel, "people", 5, values=[str(town.alice.id)])
        assert (await bob.next_message())["content"] == "alice of Town Square"
        await bob.press(panel, "form")
        modal = await bob_session.next("INTERACTION_MODAL_CREATE")
        assert [each["type"] for each in modal["components"]] == [10, 18, 18, 18, 18]
        filled = [
            {"type": 18, "component": {"type": 4, "custom_id": "name", "value": "Bob"}},
            {"type": 18, "component": {"type": 21, "custom_id": "colour", "value": "b"}},
            {"type": 18, "component": {"type": 5, "custom_id": "friend", "values": [str(town.alice.id)]}},
            {"type": 18, "component": {"type": 23, "custom_id": "sure", "value": True}},
        ]
        await bob.interact(5, {"id": modal["id"], "custom_id": modal["custom_id"], "components": filled})
        assert (await bob.next_message())["content"] == "Bob likes b and alice: True"

        # The interaction carries Bob's entitlements, and files are downloaded.
        (await town.bob.post("/users/@me/purchases", json={"sku_id": str(sku)})).ok()
        bought = await app.received("entitlement_create")
        assert (bought.sku_id, bought.user_id) == (sku, town.bob.id)
        await bob.run("prove")
        modal = await bob_session.next("INTERACTION_MODAL_CREATE")
        assert modal["title"] == "Evidence of 1"
        filled = [
            {"type": 18, "component": {"type": 19, "custom_id": "proof", "values": ["0"]}},
            {"type": 18, "component": {"type": 22, "custom_id": "sizes", "values": ["s", "l"]}},
        ]
        data = {"id": modal["id"], "custom_id": modal["custom_id"], "components": filled}
        await bob.interact(5, data, file=b"I am")
        assert (await bob.next_message())["content"] == "proof.txt: I am, s+l"


async def test_global_commands_are_synced_and_their_permissions_read(town: ClientScene) -> None:
    async with running(App(), town.bot.token) as app:
        assert isinstance(app, App)

        @app.tree.command(name="everywhere", description="anywhere")
        @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=False)
        @app_commands.default_permissions(ban_members=True)
        async def everywhere(interaction: discord.Interaction) -> None:
            await interaction.response.send_message("hi")

        (made,) = await app.tree.sync()
        assert made.default_member_permissions == discord.Permissions(ban_members=True)
        # The library decodes contexts as if they started at 1, so the test reads them over HTTP.
        (shown,) = (await town.bot.get(f"/applications/{town.bot.application_id}/commands")).ok()
        assert shown["contexts"] == [0, 1]
        path = f"/applications/{town.bot.application_id}/guilds/{town.guild.id}/commands/{made.id}/permissions"
        entries = [{"id": str(town.bob.id), "type": 2, "permission": True}]
        (await town.alice.put(path, json={"permissions": entries})).ok()
        updated = await app.received("raw_app_command_permissions_update")
        assert [each.target.id for each in updated.permissions] == [town.bob.id]
        read = await made.fetch_permissions(discord.Object(town.guild.id))
        assert [each.permission for each in read.permissions] == [True]
        await made.edit(description="changed")
        assert (await app.tree.fetch_command(made.id)).description == "changed"
        await made.delete()
        with pytest.raises(discord.NotFound):
            await app.tree.fetch_command(made.id)
