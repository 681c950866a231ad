"""Two discord.py bots in one call, in a process of their own: which certificates aiohttp trusts is decided when it is imported.

Lines of JSON on standard input say what to do, lines on standard output what came of it."""

import asyncio
import json
import logging
import struct
import sys
from typing import Any

import davey
import discord
import nacl.bindings
import yarl

PATIENCE = 40.0
FRAMES = 20
FRAME_S = 0.02


class Bot(discord.Client):
    """A bot with one voice connection, which keeps every packet that it gets."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents.default(), guild_ready_timeout=0.1)
        self.voice: Any = None
        self.packets: list[bytes] = []

    async def join(self, channel_id: int) -> None:
        """As any bot does."""
        channel = self.get_channel(channel_id)
        assert isinstance(channel, discord.VoiceChannel)
        self.voice = await channel.connect(timeout=PATIENCE, reconnect=True)
        # The library has no way to listen; its reader has.
        self.voice._connection.add_socket_listener(self.packets.append)

    async def secured(self, channel_id: int, people: set[int]) -> None:
        """Wait until the call in this channel is end-to-end encrypted, with these people in it."""
        async with asyncio.timeout(PATIENCE):
            while not self._is_secured(channel_id, people):
                await asyncio.sleep(FRAME_S)

    def _is_secured(self, channel_id: int, people: set[int]) -> bool:
        session = self.voice._connection.dave_session
        if not self.voice.is_connected() or self.voice.channel.id != channel_id or session is None:
            return False
        members = {int(user_id) for user_id in session.get_user_ids() or ()}
        return bool(self.voice._connection.can_encrypt and members == people)

    def heard(self, other: "Bot") -> list[str]:
        """What another said, opened twice: as a packet of the server, and as a frame of theirs."""
        frames = []
        key = bytes(self.voice.secret_key)
        packets, self.packets[:] = list(self.packets), []
        for packet in packets:
            if (
                len(packet) < 16
                or 200 <= packet[1] <= 206
                or struct.unpack_from(">I", packet, 8)[0] != other.voice.ssrc
            ):
                continue
            frame = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(
                packet[12:-4], packet[:12], packet[-4:] + bytes(20), key
            )
            opened = self.voice._connection.dave_session.decrypt(other.application_id, davey.MediaType.audio, frame)
            frames.append(bytes(opened).decode())
        return frames


async def talk(bots: list[Bot]) -> dict[str, Any]:
    """Each says a number of frames, until each has heard the other's last one."""
    heard: list[list[str]] = [[], []]
    for bot in bots:
        bot.packets.clear()
        await bot.voice.ws.speak(discord.SpeakingState.voice)
    for number in range(FRAMES):
        for bot in bots:
            bot.voice.send_audio_packet(f"{bot.application_id} says {number}".encode(), encode=False)
        await asyncio.sleep(FRAME_S)
    async with asyncio.timeout(PATIENCE):
        while True:
            for index, bot in enumerate(bots):
                heard[index] += bot.heard(bots[1 - index])
            if all(len(frames) >= FRAMES for frames in heard):
                break
            await asyncio.sleep(FRAME_S)
    return {
        "heard": heard,
        "mode": [bot.voice.mode for bot in bots],
        "codes": [bot.voice._connection.dave_session.voice_privacy_code for bot in bots],
    }


async def main(api: str, gateway: str, tokens: list[str]) -> None:
    discord.http.Route.BASE = api
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    bots = [Bot() for _ in tokens]
    running = [asyncio.create_task(bot.start(token)) for bot, token in zip(bots, tokens, strict=True)]
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        answer: dict[str, Any] = {}
        if asked["do"] == "join":
            for bot in bots:
                await until_ready(bot, running)
                await bot.join(asked["channel"])
        elif asked["do"] == "talk":
            people = {bot.application_id or 0 for bot in bots}
            for bot in bots:
                await bot.secured(asked["channel"], people)
            answer = await talk(bots)
        elif asked["do"] == "leave":
            for bot in bots:
                await bot.voice.disconnect()
        print(json.dumps(answer), flush=True)
    for bot in bots:
        await bot.close()
    await asyncio.gather(*running, return_exceptions=True)


async def until_ready(bot: Bot, running: list["asyncio.Task[None]"]) -> None:
    """Wait for the bot, or for what it dies of."""
    async with asyncio.timeout(PATIENCE):
        while not bot.is_ready():
            for task in running:
                if task.done():
                    task.result()
            await asyncio.sleep(FRAME_S)


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG if "-v" in sys.argv else logging.WARNING, stream=sys.stderr)
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3].split(",")))
