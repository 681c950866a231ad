"""A program with discord.py bots in a voice call.

It is a separate process, because aiohttp loads the trusted certificates when it is imported. Each line on standard
input is a JSON object with the keys `bot_index`, `step` and `args`; its result is a line on standard output.
"""

import asyncio
import base64
import itertools
import json
import logging
import struct
import sys
from typing import Any

import davey
import discord
import nacl.bindings
import yarl

TIMEOUT_SECONDS = 40.0
FRAME_SECONDS = 0.02
"""Duration of an audio frame, and interval of checks, in seconds."""
OPUS_PAYLOAD_TYPE = 0x78
"""The second byte of RTP packets with audio."""
SILENCE = b"\xf8\xff\xfe"
"""A frame of silence in Opus."""


class FrameSource(discord.AudioSource):
    """A source that plays Opus frames over and over."""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = itertools.cycle(frames)

    def is_opus(self) -> bool:
        """Return True, because the library need not encode the frames."""
        return True

    def read(self) -> bytes:
        """Return the next frame of 20 ms."""
        return next(self._frames)


class Bot(discord.Client):
    """A bot with one voice connection that stores every received packet."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents.default(), guild_ready_timeout=0.1)
        self.voice: Any = None
        self.packets: list[bytes] = []
        self.websocket: Any = None
        """The voice WebSocket of the channel that the bot last connected to."""

    async def do_join(self, channel_id: int) -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not self.is_ready():
                await asyncio.sleep(FRAME_SECONDS)
        voice_channel = self.get_channel(channel_id)
        assert isinstance(voice_channel, discord.VoiceChannel)
        self.voice = await voice_channel.connect(timeout=TIMEOUT_SECONDS, reconnect=True)
        # The library has no API for receiving audio, so the bot uses its socket reader.
        self.voice._connection.add_socket_listener(self.packets.append)
        self.websocket = self.voice._connection.ws

    async def do_wait_moved(self) -> None:
        """Wait until the bot is connected to the channel that it was moved to."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while self.voice._connection.ws is self.websocket or not self.voice.is_connected():
                await asyncio.sleep(FRAME_SECONDS)
        self.websocket = self.voice._connection.ws

    async def do_wait_encrypted(self, channel_id: int, user_ids: list[int]) -> str:
        """Wait until the call is end-to-end encrypted with these users in it; return the verification code."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not self._is_encrypted(channel_id, set(user_ids)):
                await asyncio.sleep(FRAME_SECONDS)
        return str(self.voice._connection.dave_session.voice_privacy_code)

    def _is_encrypted(self, channel_id: int, user_ids: set[int]) -> bool:
        session = self.voice._connection.dave_session
        if not self.voice.is_connected() or self.voice.channel.id != channel_id or session is None:
            return False
        member_ids = {int(user_id) for user_id in session.get_user_ids() or ()}
        return bool(self.voice._connection.can_encrypt and member_ids == user_ids)

    async def do_send_frames(self, count: int) -> str:
        """Send this many frames; return the encryption mode."""
        assert self.user is not None
        await self.voice.ws.speak(discord.SpeakingState.voice)
        for number in range(count):
            self.voice.send_audio_packet(f"{self.user.id} frame {number}".encode(), encode=False)
            await asyncio.sleep(FRAME_SECONDS)
        return str(self.voice.mode)

    async def do_receive_frames(self, user_id: int, count: int) -> list[str]:
        """Wait for this many frames of the other user; return them after removing both layers of encryption."""
        frames: list[str] = []
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while len(frames) < count:
                while self.packets:
                    if (frame := self._decrypt(self.packets.pop(0), user_id)) is not None:
                        frames.append(frame.decode())
                await asyncio.sleep(FRAME_SECONDS)
        return frames

    async def do_play(self, frames: list[str]) -> None:
        """Play Opus frames, encoded with base64, over and over until the bot leaves."""
        self.voice.play(FrameSource([base64.b64decode(frame) for frame in frames]))

    async def do_receive_audio(self, user_id: int, ssrc: int, count: int) -> list[str]:
        """Wait for this many new Opus frames of a user; return them, encoded with base64."""
        self.packets.clear()
        frames: list[str] = []
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while len(frames) < count:
                while self.packets:
                    packet = self.packets.pop(0)
                    if (frame := self._decrypt(packet, user_id, ssrc)) is not None:
                        frames.append(base64.b64encode(frame).decode())
                await asyncio.sleep(FRAME_SECONDS)
        return frames

    def _decrypt(self, packet: bytes, user_id: int, ssrc: int | None = None) -> bytes | None:
        """Decrypt an audio packet of another user, who sends with `ssrc` if it is given; return None for any other packet."""
        if len(packet) < 16 or packet[1] != OPUS_PAYLOAD_TYPE:
            return None
        packet_ssrc = struct.unpack_from(">I", packet, 8)[0]
        if packet_ssrc == self.voice.ssrc or ssrc not in (None, packet_ssrc):
            return None
        frame = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(
            packet[12:-4], packet[:12], packet[-4:] + bytes(20), bytes(self.voice.secret_key)
        )
        audio = bytes(self.voice._connection.dave_session.decrypt(user_id, davey.MediaType.audio, frame))
        # Libraries send frames of silence at the end of a source.
        return None if audio == SILENCE else audio

    async def do_leave(self) -> None:
        await self.voice.disconnect()


async def run_bots(api: str, gateway: str, tokens: list[str]) -> None:
    """Log in one bot per token and execute the steps from standard input until its end."""
    discord.http.Route.BASE = api
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    bots = [Bot() for _ in tokens]
    tasks = [asyncio.create_task(bot.start(token)) for bot, token in zip(bots, tokens, strict=True)]
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        request = json.loads(line)
        result = await getattr(bots[request["bot_index"]], f"do_{request['step']}")(**request["args"])
        print(json.dumps(result), flush=True)
    for bot in bots:
        await bot.close()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    # pytest prints the log when a test fails.
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(asctime)s %(name)s %(message).300s")
    asyncio.run(run_bots(sys.argv[1], sys.argv[2], sys.argv[3].split(",")))
