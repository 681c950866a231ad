"""discord.py bots in a call, in a process of their own: which certificates aiohttp trusts is decided when it is imported.

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
FRAME_S = 0.02


class Bot(discord.Client):
    """A bot with one voice connection, which keeps every packet that it gets."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents.default(), guild_ready_timeout=0.1)
        self.voice: Any = None
        self.packets: list[bytes] = []
        self.socket: Any = None
        """The voice socket of where it last arrived."""

    async def do_join(self, channel: int) -> None:
        """As any bot does."""
        async with asyncio.timeout(PATIENCE):
            while not self.is_ready():
                await asyncio.sleep(FRAME_S)
        found = self.get_channel(channel)
        assert isinstance(found, discord.VoiceChannel)
        self.voice = await found.connect(timeout=PATIENCE, reconnect=True)
        # The library has no way to listen; its reader has.
        self.voice._connection.add_socket_listener(self.packets.append)
        self.socket = self.voice._connection.ws

    async def do_arrive(self) -> None:
        """Wait until it is connected where it was moved to."""
        async with asyncio.timeout(PATIENCE):
            while self.voice._connection.ws is self.socket or not self.voice.is_connected():
                await asyncio.sleep(FRAME_S)
        self.socket = self.voice._connection.ws

    async def do_wait(self, channel: int, people: list[int]) -> str:
        """Wait until the call in this channel is end-to-end encrypted, with these people in it; the code that they compare."""
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
        """So many frames; the mode that they went by."""
        assert self.user is not None
        await self.voice.ws.speak(discord.SpeakingState.voice)
        for number in range(count):
            self.voice.send_audio_packet(f"{self.user.id} says {number}".encode(), encode=False)
            await asyncio.sleep(FRAME_S)
        return str(self.voice.mode)

    async def do_heard(self, user: int, count: int) -> list[str]:
        """So many frames of the other in the call, opened twice: as a packet of the server, and as a frame of theirs."""
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
        """Hang up."""
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
    # Shown when a test fails.
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(asctime)s %(name)s %(message).300s")
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3].split(",")))
