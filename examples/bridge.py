"""A bot that connects a game's lobby with a channel: bridge.py READY_FILE PLAYER.

The player must have logged in to the game before. The game's server (demo-game) creates a lobby and allows the player
to link it to a channel; the platform then copies messages between both. The bot (demo-bot, plain discord.py) sees all
of them in the channel and responds to commands from both sides. The lobby is deleted when the bridge stops.
"""

import asyncio
import contextlib
import json
import random
import signal
import sys
from pathlib import Path

import discord
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import LobbyMemberFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import channels, lobbies
from hubbub.sdk import Api, ApiError

if len(sys.argv) != 3:
    sys.exit("usage: bridge.py READY_FILE PLAYER")
try:
    world = json.loads(Path(sys.argv[1]).read_text())
    user_ids = {name: int(user["id"]) for name, user in world["users"].items()}
    game_token, bot_token = (world["applications"][name]["bot"]["token"] for name in ("demo-game", "demo-bot"))
    game_id = int(world["applications"]["demo-game"]["id"])
    guild_id = world["guilds"]["Town Square"]["id"]
except (OSError, ValueError, LookupError, TypeError) as error:
    sys.exit(f"bridge: {sys.argv[1]} is not a ready file of the demo world ({error}); see examples/README.md")
if sys.argv[2] not in user_ids:
    sys.exit(f"bridge: unknown user {sys.argv[2]}; choose one of {', '.join(user_ids)}")

SYSTEM_MESSAGE_TEXTS = {
    MessageType.USER_JOIN: "joined the guild",
    MessageType.CHANNEL_LINKED_TO_LOBBY: "linked this channel to a lobby",
}

Route.BASE = world["api"]
DiscordWebSocket.DEFAULT_GATEWAY = URL(world["gateway"])


class Bridge(discord.Client):
    """The bot, which also calls the API as the game's server."""

    def __init__(self, player: str) -> None:
        super().__init__(intents=discord.Intents.all())
        self.player = player
        self.problem: str | None = None
        self.backend = Api(world["api"], game_token)
        self.lobby: lobbies.Lobby | None = None

    async def setup_hook(self) -> None:
        """Create a lobby with a member who may link it; lobbies created by players cannot be linked."""
        member = lobbies.LobbyMemberRequest(id=UserId(user_ids[self.player]), flags=LobbyMemberFlags.CAN_LINK_LOBBY)
        try:
            await self.delete_linked_lobbies()
            self.lobby = await self.backend.call(lobbies.CREATE_LOBBY, body=lobbies.CreateLobby(members=[member]))
        except ApiError as error:
            self.problem = f"bridge: {error.describe()}; has {self.player} logged in to the game before?"
            await self.close()

    async def delete_linked_lobbies(self) -> None:
        """Delete the lobby of a bridge that was killed; its channel could not be linked to another lobby."""
        async with Api(world["api"], bot_token) as bot_api:
            for channel in await bot_api.call(channels.LIST_GUILD_CHANNELS, guild_id=guild_id):
                linked_lobby = channel.linked_lobby
                if linked_lobby and linked_lobby.application_id == game_id:
                    await self.backend.call(lobbies.DELETE_LOBBY, lobby_id=linked_lobby.lobby_id)
                    print(f"Deleted the lobby that #{channel.name} was still linked to", flush=True)

    async def on_ready(self) -> None:
        """Print the next step."""
        print(f"{self.user} is in {', '.join(guild.name for guild in self.guilds)}", flush=True)
        if self.lobby:
            print(f"Lobby {self.lobby.id} is ready; {self.player} can now type /link general in the game", flush=True)
            print(f"(If {self.player} is in a party, leave it first.) Press Ctrl-C to stop.", flush=True)

    async def on_message(self, message: discord.Message) -> None:
        """Handle a message from the channel or from the linked lobby; for the bot they are the same."""
        if message.author == self.user or self.lobby is None:
            return
        if message.is_system():
            # System messages have no content, and discord.py does not know all of their types.
            text = SYSTEM_MESSAGE_TEXTS.get(message.type.value, "system message")
            print(f"#{message.channel} {message.author.display_name} {text}", flush=True)
            return
        print(f"#{message.channel} {message.author.display_name}: {message.content}", flush=True)
        command, _, argument = message.content.partition(" ")
        try:
            if command == "!roll":
                await message.reply(f"{message.author.display_name} rolls {random.randint(1, 6)}")
            elif command == "!who":
                members = (await self.backend.call(lobbies.GET_LOBBY, lobby_id=self.lobby.id)).members
                member_ids = {member.id for member in members}
                names = [name for name, user_id in user_ids.items() if user_id in member_ids]
                await message.reply(f"in the lobby: {', '.join(names)}")
            elif command == "!bring" and argument in user_ids:
                await self.backend.call(lobbies.ADD_LOBBY_MEMBER, lobby_id=self.lobby.id, user_id=user_ids[argument])
                await message.reply(f"{argument} is in the lobby")
        except ApiError as error:
            await message.reply(f"that did not work: {error.describe()}")

    async def close(self) -> None:
        """Delete the lobby, which only the game's server can do, and disconnect both clients."""
        lobby, self.lobby = self.lobby, None
        if lobby:
            try:
                await self.backend.call(lobbies.DELETE_LOBBY, lobby_id=lobby.id)
                print(f"Lobby {lobby.id} is deleted", flush=True)
            except (ApiError, OSError) as error:
                self.problem = (
                    f"bridge: could not delete lobby {lobby.id} ({error}); it ends after being empty for a while"
                )
        await self.backend.close()
        await super().close()


async def main() -> str | None:
    """Run until a signal arrives or a problem occurs. Return the text of the problem, or None."""
    async with Bridge(sys.argv[2]) as bridge:
        loop, close_tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            # Windows does not support signal handlers; there Ctrl-C ends the loop, which closes the bridge too.
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(signal_number, lambda: close_tasks.add(asyncio.create_task(bridge.close())))
        try:
            await bridge.start(bot_token)
        except (OSError, discord.DiscordException) as error:
            bridge.problem = (
                bridge.problem or f"bridge: the bot cannot connect to {world['api']} ({error}); is `make run` running?"
            )
        await asyncio.gather(*close_tasks)
        return bridge.problem


try:
    problem = asyncio.run(main())
except KeyboardInterrupt:
    problem = None
sys.exit(problem)
