"""A bot between a game's lobby and a channel: bridge.py READY_FILE PLAYER, where PLAYER has signed in to the game before.

The game's server (demo-game) makes a lobby and lets the player link it to a channel; what is said on one side then appears on
the other by itself. The bot (demo-bot, plain discord.py) hears it in the channel and answers commands from both sides. The lobby
goes when the bridge does.
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

from hubbub.protocol.flags import LobbyMemberFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import channels, lobbies
from hubbub.sdk import Api, ApiError

if len(sys.argv) != 3:
    sys.exit("usage: bridge.py READY_FILE PLAYER")
try:
    world = json.loads(Path(sys.argv[1]).read_text())
    people = {name: int(user["id"]) for name, user in world["users"].items()}
    game, bot = (world["applications"][name]["bot"]["token"] for name in ("demo-game", "demo-bot"))
    game_id = int(world["applications"]["demo-game"]["id"])
    square = world["guilds"]["Town Square"]["id"]
except (OSError, ValueError, LookupError, TypeError) as error:
    sys.exit(f"bridge: {sys.argv[1]} is no ready file of the demo world ({error}); see examples/README.md")
if sys.argv[2] not in people:
    sys.exit(f"bridge: there is no {sys.argv[2]}; there are {', '.join(people)}")

NOTICES = {7: "has come to the guild", 49: "linked this channel to a lobby"}

Route.BASE = world["api"]
DiscordWebSocket.DEFAULT_GATEWAY = URL(world["gateway"])


class Bridge(discord.Client):
    """The bot, and the game's server in the same program."""

    def __init__(self, player: str) -> None:
        super().__init__(intents=discord.Intents.all())
        self.player = player
        self.problem: str | None = None
        self.backend = Api(world["api"], game)
        self.lobby: lobbies.Lobby | None = None

    async def setup_hook(self) -> None:
        """Make the lobby, with somebody in it who may link it: lobbies that players make themselves cannot be linked."""
        may_link = lobbies.LobbyMemberRequest(id=UserId(people[self.player]), flags=LobbyMemberFlags.CAN_LINK_LOBBY)
        try:
            await self.clear_away()
            self.lobby = await self.backend.call(lobbies.CREATE_LOBBY, body=lobbies.CreateLobby(members=[may_link]))
        except ApiError as refusal:
            self.problem = f"bridge: {refusal.in_words()}; has {self.player} signed in to the game before?"
            await self.close()

    async def clear_away(self) -> None:
        """End the lobby of a bridge that was killed before it could: its channel could be linked to no other."""
        async with Api(world["api"], bot) as member:
            for channel in await member.call(channels.LIST_GUILD_CHANNELS, guild_id=square):
                linked = channel.linked_lobby
                if linked and linked.application_id == game_id:
                    await self.backend.call(lobbies.DELETE_LOBBY, lobby_id=linked.lobby_id)
                    print(
                        f"#{channel.name} was still linked to a lobby that somebody left behind; that is over",
                        flush=True,
                    )

    async def on_ready(self) -> None:
        """Say what to do next."""
        print(f"{self.user} is in {', '.join(guild.name for guild in self.guilds)}", flush=True)
        if self.lobby:
            print(f"Lobby {self.lobby.id} is made; {self.player} types /link general in the game", flush=True)
            print(f"(If {self.player} is in a party already, that one must end first.) Ctrl-C ends this.", flush=True)

    async def on_message(self, message: discord.Message) -> None:
        """Somebody spoke, in the channel or in the lobby that is linked to it: the bot sees no difference."""
        if message.author == self.user or self.lobby is None:
            return
        if message.is_system():
            # Notices, such as that the channel was linked, have no words of their own, and discord.py need not know each kind.
            print(
                f"#{message.channel} {message.author.display_name} {NOTICES.get(message.type.value, 'did something')}",
                flush=True,
            )
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
            await message.reply(f"that did not work: {refusal.in_words()}")

    async def close(self) -> None:
        """End the lobby, which nobody else can, and let both sides go."""
        lobby, self.lobby = self.lobby, None
        if lobby:
            try:
                await self.backend.call(lobbies.DELETE_LOBBY, lobby_id=lobby.id)
                print(f"Lobby {lobby.id} is over", flush=True)
            except (ApiError, OSError) as error:
                self.problem = (
                    f"bridge: lobby {lobby.id} is left behind ({error}); it ends when nobody was in it for a while"
                )
        await self.backend.close()
        await super().close()


async def main() -> str | None:
    """Run until a signal, and say what went wrong."""
    async with Bridge(sys.argv[2]) as bridge:
        loop, closing = asyncio.get_running_loop(), set[asyncio.Task[None]]()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(
                NotImplementedError
            ):  # Windows: there Ctrl-C ends the loop, which closes the bridge too.
                loop.add_signal_handler(number, lambda: closing.add(asyncio.create_task(bridge.close())))
        try:
            await bridge.start(bot)
        except (OSError, discord.DiscordException) as error:
            bridge.problem = (
                bridge.problem or f"bridge: {world['api']} does not let the bot in ({error}); is `make run` running?"
            )
        await asyncio.gather(*closing)
        return bridge.problem


try:
    problem = asyncio.run(main())
except KeyboardInterrupt:
    problem = None
sys.exit(problem)
