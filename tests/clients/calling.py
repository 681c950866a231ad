"""discord.py bots in a call, in a separate process, because aiohttp fixes its trusted certificates when it is imported.

Lines of JSON on standard input are commands; lines on standard output are their results.
"""

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
FRAME_S = 0.02


class Bot(discord.Client):
    """A bot with one voice connection that stores every received packet."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents.default(), guild_ready_timeout=0.1)
        self.voice: Any = None
        self.packets: list[bytes] = []
        self.socket: Any = None
        """The voice socket of the channel that the bot last connected to."""

    async def do_join(self, channel: int) -> None:
        """Join a voice channel."""
        async with asyncio.timeout(PATIENCE):
            while not self.is_ready():
                await asyncio.sleep(FRAME_S)
        found = self.get_channel(channel)
        assert isinstance(found, discord.VoiceChannel)
        self.voice = await found.connect(timeout=PATIENCE, reconnect=True)
        # The library has no API for receiving audio, so the bot uses its socket reader.
        self.voice._connection.add_socket_listener(self.packets.append)
        self.socket = self.voice._connection.ws

    async def do_arrive(self) -> None:
        """Wait until the bot is connected to the channel that it was moved to."""
        async with asyncio.timeout(PATIENCE):
            while self.voice._connection.ws is self.socket or not self.voice.is_connected():
                await asyncio.sleep(FRAME_S)
        self.socket = self.voice._connection.ws

    async def do_wait(self, channel: int, people: list[int]) -> str:
        """Wait until the call is end-to-end encrypted with these users in it; return the verification code."""
        async with asyncio.timeout(PATIENCE):
            while not self._is_secured(channel, set(people)):
                await asyncio.sleep(FRAME_S)
        return str(self.voice._connection.dave_session.voice_privacy_code)

    def _is_secured(self, channel: int, people: set[int]) -> bool:
        session = self.voice._connection.dave_session
        if not self.voice.is_connected() or self.voice.channel.id != channel or session is None:
            return False
        members = {int(user_id) for user_id in session.get_user_ids() or ()}
        return bool(self.voice._connection.can_encrypt and members == people)

    async def do_say(self, count: int) -> str:
        """Send this many frames; return the encryption mode."""
        assert self.user is not None
        await self.voice.ws.speak(discord.SpeakingState.voice)
        for number in range(count):
            self.voice.send_audio_packet(f"{self.user.id} says {number}".encode(), encode=False)
            await asyncio.sleep(FRAME_S)
        return str(self.voice.mode)

    async def do_heard(self, user: int, count: int) -> list[str]:
        """Return this many frames of the other user, decrypted twice: as a server packet and as an end-to-end frame."""
        frames: list[str] = []
        async with asyncio.timeout(PATIENCE):
            while len(frames) < count:
                while self.packets:
                    if (frame := self._open(self.packets.pop(0), user)) is not None:
                        frames.append(frame)
                await asyncio.sleep(FRAME_S)
        return frames

    def _open(self, packet: bytes, user: int) -> str | None:
        if len(packet) < 16 or packet[1] != 0x78 or struct.unpack_from(">I", packet, 8)[0] == self.voice.ssrc:
            return None
        frame = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(
            packet[12:-4], packet[:12], packet[-4:] + bytes(20), bytes(self.voice.secret_key)
        )
        opened = self.voice._connection.dave_session.decrypt(user, davey.MediaType.audio, frame)
        return bytes(opened).decode()

    async def do_leave(self) -> None:
        """Leave the call."""
        await self.voice.disconnect()


async def main(api: str, gateway: str, tokens: list[str]) -> None:
    discord.http.Route.BASE = api
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    bots = [Bot() for _ in tokens]
    running = [asyncio.create_task(bot.start(token)) for bot, token in zip(bots, tokens, strict=True)]
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        result = await getattr(bots[asked["bot"]], f"do_{asked['step']}")(**asked["args"])
        print(json.dumps(result), flush=True)
    for bot in bots:
        await bot.close()
    await asyncio.gather(*running, return_exceptions=True)


if __name__ == "__main__":
    # Printed when a test fails.
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(asctime)s %(name)s %(message).300s")
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3].split(",")))
