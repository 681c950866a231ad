"""A bot that responds to !ping: plain discord.py, connected to Hubbub by the ready file given as argument."""

import json
import sys
from pathlib import Path

import discord
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

ready_file = sys.argv[1] if len(sys.argv) == 2 else sys.exit("usage: bot.py READY_FILE, see examples/README.md")
world = json.loads(Path(ready_file).read_text())
Route.BASE = world["api"]
DiscordWebSocket.DEFAULT_GATEWAY = URL(world["gateway"])

client = discord.Client(intents=discord.Intents.all())


@client.event
async def on_ready() -> None:
    print(f"{client.user} is in {', '.join(guild.name for guild in client.guilds)}", flush=True)


@client.event
async def on_message(message: discord.Message) -> None:
    if message.content == "!ping":
        await message.reply("pong")


client.run(world["applications"]["demo-bot"]["bot"]["token"])
