"""A bot between a game's lobby and a channel: bridge.py READY_FILE PLAYER, where PLAYER has signed in to the game before.

The game's server (demo-game) makes a lobby and lets the player link it to a channel; what is said on one side then appears on
the other by itself. The bot (demo-bot, plain discord.py) hears it in the channel and answers commands from both sides.
"""

import json
import random
import sys
from pathlib import Path

import discord
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

from hubbub.protocol.flags import LobbyMemberFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import lobbies
from hubbub.sdk import Api, ApiError

if len(sys.argv) != 3:
    sys.exit("usage: bridge.py READY_FILE PLAYER")
try:
    world = json.loads(Path(sys.argv[1]).read_text())
    people = {name: int(user["id"]) for name, user in world["users"].items()}
    game, bot = (world["applications"][name]["bot"]["token"] for name in ("demo-game", "demo-bot"))
except (OSError, ValueError, LookupError, TypeError) as error:
    sys.exit(f"bridge: {sys.argv[1]} is no ready file of the demo world ({error}); see examples/README.md")
if sys.argv[2] not in people:
    sys.exit(f"bridge: there is no {sys.argv[2]}; there are {', '.join(people)}")

Route.BASE = world["api"]
DiscordWebSocket.DEFAULT_GATEWAY = URL(world["gateway"])


class Bridge(discord.Client):
    """The bot, and the game's server in the same program."""

    def __init__(self, player: str) -> None:
        super().__init__(intents=discord.Intents.all())
        self.player = player
        self.problem: str | None = None

    async def setup_hook(self) -> None:
        """Make the lobby, with somebody in it who may link it: lobbies that players make themselves cannot be linked."""
        self.backend = Api(world["api"], game)
        may_link = lobbies.LobbyMemberRequest(id=UserId(people[self.player]), flags=LobbyMemberFlags.CAN_LINK_LOBBY)
        try:
            self.lobby = await self.backend.call(lobbies.CREATE_LOBBY, body=lobbies.CreateLobby(members=[may_link]))
        except ApiError as refusal:
            self.problem = f"bridge: {refusal}; has {self.player} signed in to the game before?"
            await self.close()

    async def on_ready(self) -> None:
        """Say what to do next."""
        print(f"{self.user} is in {', '.join(guild.name for guild in self.guilds)}", flush=True)
        print(f"Lobby {self.lobby.id} is made; {self.player} types /link general in the game", flush=True)

    async def on_message(self, message: discord.Message) -> None:
        """Somebody spoke, in the channel or in the lobby that is linked to it: the bot sees no difference."""
        if message.author == self.user:
            return
        print(f"#{message.channel} {message.author.display_name}: {message.content}", flush=True)
        word, _, rest = message.content.partition(" ")
        try:
            if word == "!roll":
                await message.reply(f"{message.author.display_name} rolls {random.randint(1, 6)}")
            elif word == "!who":
                members = (await self.backend.call(lobbies.GET_LOBBY, lobby_id=self.lobby.id)).members
                names = [name for name, id in people.items() if id in {member.id for member in members}]
                await message.reply(f"in the lobby: {', '.join(names)}")
            elif word == "!bring" and rest in people:
                await self.backend.call(lobbies.ADD_LOBBY_MEMBER, lobby_id=self.lobby.id, user_id=people[rest])
                await message.reply(f"{rest} is in the lobby")
        except ApiError as refusal:
            await message.reply(f"that did not work: {refusal}")

    async def close(self) -> None:
        """Let both sides go."""
        await self.backend.close()
        await super().close()


bridge = Bridge(sys.argv[2])
bridge.run(bot, log_handler=None)
sys.exit(bridge.problem)
