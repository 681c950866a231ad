"""Fuzzing of the local agent: handshakes, commands and raw frames on its socket."""

import asyncio
import base64
import json
import random
import struct
import tempfile
from pathlib import Path
from typing import Any

from hubbub.agent.commands.registry import HANDLERS
from hubbub.protocol.rpc_scopes import COMMAND_SCOPES
from tests.fuzz.mutations import encode_json, mutate_bytes, mutate_value
from tests.fuzz.platform import Platform
from tests.fuzz.report import Report
from tests.fuzz.target import FuzzTarget
from tests.fuzz.values import TEXTS, random_hostile
from tests.machine import FRAME, HANDSHAKE, HEADER, PING, PONG, Machine, Program

SCOPES = "rpc rpc.voice.read rpc.voice.write rpc.activities.write relationships.read messages.read"

EVENTS = (
    "GUILD_STATUS",
    "GUILD_CREATE",
    "CHANNEL_CREATE",
    "VOICE_CHANNEL_SELECT",
    "VOICE_STATE_UPDATE",
    "VOICE_SETTINGS_UPDATE",
    "SPEAKING_START",
    "MESSAGE_CREATE",
    "NOTIFICATION_CREATE",
    "ACTIVITY_JOIN",
    "RELATIONSHIP_UPDATE",
    "ENTITLEMENT_CREATE",
    "FOO",
)


class IpcTarget(FuzzTarget):
    """Sends frames to the agent as a program of the machine."""

    name = "ipc"

    def __init__(self, platform: Platform, rng: random.Random, report: Report) -> None:
        super().__init__(platform, rng, report)
        self._folder = tempfile.TemporaryDirectory()
        self._machine = Machine(platform.world, platform.owner, Path(self._folder.name))
        self._program: Program | None = None
        self._frames: list[str] = []

    async def start(self) -> None:
        """Start the agent."""
        await self._machine.start()

    async def _connect(self) -> Program:
        if self._program is None:
            self._frames = []
            application_id = self.platform.bot.application_id
            assert application_id is not None
            choice = self.random.random()
            if choice < 0.1:
                self._program = await self._machine.open_connection()
            elif choice < 0.3:
                self._program = await self._machine.connect_program(application_id)
            else:
                self._program = await self._machine.connect_authenticated(application_id, SCOPES)
        return self._program

    async def step(self) -> None:
        """Send one frame and wait for its outcome."""
        program = await self._connect()
        await self._send(program, self._build_frame())

    def _build_frame(self) -> bytes:
        choice = self.random.random()
        if choice < 0.7:
            command = self.random.choice(sorted(HANDLERS))
            ids = self.platform.prepared_guild.object_ids
            arguments: Any = {
                "channel_id": self.platform.prepared_guild.voice_channel_id,
                "guild_id": ids["guild_id"],
                "user_id": ids["user_id"],
                "pid": 1,
                "activity": {
                    "state": "a",
                    "details": "b",
                    "timestamps": {"start": 1},
                    "party": {"id": "p", "size": [1, 2]},
                },
                "client_id": ids["application_id"],
                "scopes": ["identify"],
                "code": "x",
                "volume": 50,
                "timeout": 1,
                "force": True,
            }
            if self.random.random() < 0.8:
                arguments = mutate_value(arguments, self.random)
            payload: Any = {"cmd": command, "nonce": "n", "args": arguments, "evt": self.random.choice(EVENTS)}
            if self.random.random() < 0.15:
                payload = mutate_value(payload, self.random)
            return _frame(FRAME, encode_json(payload, self.random))
        if choice < 0.75:
            handshake = mutate_value({"v": 1, "client_id": "1"}, self.random)
            return _frame(HANDSHAKE, encode_json(handshake, self.random))
        if choice < 0.8:
            command = self.random.choice(sorted(COMMAND_SCOPES))
            return _frame(FRAME, encode_json({"cmd": command, "nonce": random_hostile(self.random)}, self.random))
        if choice < 0.9:
            opcode = self.random.choice((0, 1, 2, 3, 4, 5, 99, 2**32 - 1))
            return _frame(opcode, self.random.choice(TEXTS).encode("utf-8", "surrogatepass"))
        if choice < 0.95:
            return mutate_bytes(_frame(FRAME, b'{"cmd":"GET_GUILDS","nonce":"n"}'), self.random)
        return HEADER.pack(FRAME, self.random.choice((0, 65536, 2**31, 2**32 - 1)))

    async def _send(self, program: Program, data: bytes) -> None:
        self._frames = [*self._frames[-8:], base64.b64encode(data).decode()]
        self.last_input = {"frames": self._frames}
        try:
            program._writer.write(data)
            program.write(PING, {})
            await program._writer.drain()
            outcome = await self._wait_outcome(program)
        except (ConnectionError, asyncio.IncompleteReadError):
            outcome = "closed"
        self.report.count(self.name, outcome)
        if outcome != "answered":
            program.close()
            self._program = None

    async def _wait_outcome(self, program: Program) -> str:
        """Read until the agent answers the ping or closes the connection, at most one second, and return the outcome.

        After a frame with a broken header, the agent waits for more bytes and does not answer."""
        try:
            async with asyncio.timeout(1.0):
                while True:
                    opcode, length = HEADER.unpack(await program._reader.readexactly(HEADER.size))
                    payload = await program._reader.readexactly(length)
                    if opcode == PONG:
                        return "answered"
                    json.loads(payload)
                    if opcode == 2:
                        return "closed"
        except TimeoutError:
            return "waiting"

    async def replay(self, stored_input: Any) -> None:
        """Send stored frames."""
        await self.start()
        application_id = self.platform.bot.application_id
        assert application_id is not None
        program = await self._machine.connect_authenticated(application_id, SCOPES)
        for frame in stored_input["frames"]:
            await self._send(program, base64.b64decode(frame))
            if self._program is None and program._writer.is_closing():
                program = await self._machine.connect_authenticated(application_id, SCOPES)

    async def close(self) -> None:
        """Stop the agent."""
        await self._machine.stop()
        self._folder.cleanup()


def _frame(opcode: int, payload: bytes) -> bytes:
    return struct.pack("<II", opcode, len(payload)) + payload
