"""A user who runs commands of an app, and the interactions that the app receives, for tests of interactions."""

from typing import Any

from hubbub.protocol.enums import CommandType, ComponentType, InteractionCallbackType, InteractionType
from tests.world import Actor, ApiResponse, Guild, Session, World

BUTTON_ROW = {
    "type": ComponentType.ACTION_ROW,
    "components": [{"type": ComponentType.BUTTON, "style": 1, "label": "press", "custom_id": "go"}],
}


class InteractionSetup:
    """A user and an application in a guild, both connected to the gateway; `bot` is the bot user of the application."""

    def __init__(self, world: World, guild: Guild, user: Actor, bot: Actor) -> None:
        self.world, self.guild, self.user, self.bot = world, guild, user, bot
        self.app_session: Session
        self.user_session: Session
        self.channel_id = guild.general
        """ID of the channel in which the user creates interactions."""

    @property
    def application_path(self) -> str:
        return f"/applications/{self.bot.application_id}"

    @property
    def application_id(self) -> int:
        assert self.bot.application_id is not None
        return self.bot.application_id

    async def create_command(self, name: str = "greet", **body: Any) -> Any:
        """Create a command for the guild and return it."""
        command = {"name": name, "description": "says hello", **body}
        if command.get("type", CommandType.CHAT_INPUT) != CommandType.CHAT_INPUT:
            del command["description"]
        return (await self.bot.post(f"{self.application_path}/guilds/{self.guild.id}/commands", json=command)).ok()

    async def create_interaction(
        self, interaction_type: int, data: dict[str, Any], *, actor: Actor | None = None, **body: Any
    ) -> ApiResponse:
        interaction = {
            "type": interaction_type,
            "application_id": str(self.bot.application_id),
            "channel_id": str(self.channel_id),
            "nonce": "n1",
            "data": data,
            **body,
        }
        return await (actor or self.user).post("/interactions", json=interaction)

    async def run_command(
        self, command: dict[str, Any], interaction_type: int = InteractionType.APPLICATION_COMMAND, **data: Any
    ) -> "ReceivedInteraction":
        """Run a command and return the interaction that the app receives."""
        response = await self.create_interaction(
            interaction_type, {"id": command["id"], "name": command["name"], **data}
        )
        assert response.status == 204, response.body
        return ReceivedInteraction(self, await self.app_session.next("INTERACTION_CREATE"))

    async def use_component(
        self, message_id: str, custom_id: str = "go", component_type: int = ComponentType.BUTTON, **data: Any
    ) -> "ReceivedInteraction":
        """Use a component and return the interaction that the app receives."""
        submitted_data = {"component_type": component_type, "custom_id": custom_id, **data}
        response = await self.create_interaction(
            InteractionType.MESSAGE_COMPONENT, submitted_data, message_id=message_id
        )
        assert response.status == 204, response.body
        return ReceivedInteraction(self, await self.app_session.next("INTERACTION_CREATE"))


class ReceivedInteraction:
    """An interaction that the app received, with the app's responses to it."""

    def __init__(self, setup: InteractionSetup, payload: dict[str, Any]) -> None:
        self.setup, self.payload = setup, payload
        self.webhook_path = f"/webhooks/{setup.bot.application_id}/{payload['token']}"

    async def respond(self, callback_type: int, data: Any = None, query: str = "?with_response=true") -> ApiResponse:
        """Send the initial response."""
        body = {"type": callback_type} if data is None else {"type": callback_type, "data": data}
        path = f"/interactions/{self.payload['id']}/{self.payload['token']}/callback{query}"
        return await self.setup.world.request("POST", path, json=body)

    async def respond_with_message(self, **data: Any) -> Any:
        """Send the initial response with a message and return that message."""
        return (await self.respond(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, data)).ok()["resource"][
            "message"
        ]

    async def webhook_request(self, method: str, path: str = "", **options: Any) -> ApiResponse:
        """Send a request with the interaction's webhook token."""
        return await self.setup.world.request(method, self.webhook_path + path, **options)


async def install_for_user(setup: InteractionSetup) -> None:
    """Install the app for the user."""
    path = f"/oauth2/authorize?client_id={setup.application_id}&scope=applications.commands&integration_type=1"
    (await setup.user.post(path, json={"authorize": True})).ok()


async def select_guild_without_app(setup: InteractionSetup) -> Guild:
    """Install the app for the user and select a channel in a new guild without the app; return the guild."""
    guild = await setup.world.guild(None, setup.user)
    await install_for_user(setup)
    setup.channel_id = guild.general
    return guild


async def create_global_command(setup: InteractionSetup) -> dict[str, Any]:
    command: dict[str, Any] = (
        await setup.bot.post(f"{setup.application_path}/commands", json={"name": "hi", "description": "x"})
    ).ok()
    return command


async def create_interaction_setup(world: World, **bot_options: Any) -> InteractionSetup:
    """Create a user and an app in a guild, and connect both to the gateway."""
    user = await world.user("invoker")
    guild = await world.guild(None, user)
    bot = await world.bot(guild, **{"name": "responder", **bot_options})
    setup = InteractionSetup(world, guild, user, bot)
    setup.app_session = await bot.connect()
    setup.user_session = await user.connect()
    return setup
