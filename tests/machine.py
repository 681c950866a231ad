"""A player's machine for tests: the real agent over the real platform, on sockets in a directory of its own."""

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from hubbub.agent import addresses
from hubbub.agent.account import Account
from hubbub.agent.agent import Agent
from hubbub.agent.consent import Answer, Question
from tests.world import PATIENCE, Actor, World

NewMachine = Callable[..., Awaitable["Machine"]]

HEADER = struct.Struct("<II")
HANDSHAKE, FRAME, CLOSE, PING, PONG = range(5)


class Person:
    """Who is asked for consent, and says what a test decided."""

    def __init__(self) -> None:
        self.agrees = True
        self.asked: list[Question] = []
        self.thinking: asyncio.Event | None = None
        """While there is one that is not set, no answer comes."""

    async def ask(self, question: Question) -> Answer:
        """What they say."""
        self.asked.append(question)
        if self.thinking is not None:
            await self.thinking.wait()
        return Answer(self.agrees)


class Machine:
    """One person's machine."""

    def __init__(self, world: World, owner: Actor, directory: Path) -> None:
        self.world = world
        self.owner = owner
        self.directory = directory
        self.person = Person()
        self.opened: list[str] = []
        """Addresses that the browser was shown."""
        self.settings: dict[str, Any] = {}
        self.presence_s: float | None = None
        self._agent: Agent | None = None
        self._programs: list[Program] = []

    @property
    def agent(self) -> Agent:
        """The agent that runs."""
        assert self._agent is not None
        return self._agent

    async def start(self, index: int | None = None) -> "Machine":
        """Sign in and listen."""
        account = Account(self.world.url, self.owner.token, presence_s=self.presence_s)
        self._agent = Agent(
            account,
            self.person,
            self.opened.append,
            addresses=addresses.claim([self.directory], index),
            clock=self.world.clock.now_ms,
            **self.settings,
        )
        await self._agent.start()
        return self

    async def stop(self) -> None:
        """End it, as somebody does who closes it."""
        for program in self._programs:
            program.close()
        self._programs.clear()
        if self._agent is not None:
            agent, self._agent = self._agent, None
            await agent.stop()

    async def program(self, client_id: int, **handshake: Any) -> "Program":
        """A program of an application that shook hands; READY is read."""
        program = await self.connect()
        await program.shake(client_id, **handshake)
        return program

    async def trusted(self, application_id: int, scopes: str) -> "Program":
        """A program that brought a token of its person with these scopes."""
        program = await self.program(application_id)
        token = (await self.world.player(self.owner, application_id, f"identify {scopes}")).token
        await program.ask("AUTHENTICATE", {"access_token": token})
        return program

    async def connect(self) -> "Program":
        """A program that has said nothing yet."""
        reader, writer = await asyncio.open_unix_connection(str(self.directory / "discord-ipc-0"))
        program = Program(reader, writer)
        self._programs.append(program)
        return program


class Program:
    """A program at the agent's socket that speaks the frames itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._number = 0
        self.ready: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []

    def write(self, opcode: int, payload: Any) -> None:
        """Send a frame, of an object or of bytes as they are."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self._writer.write(HEADER.pack(opcode, len(body)) + body)

    async def read(self) -> tuple[int, Any]:
        """The next frame."""
        async with asyncio.timeout(PATIENCE):
            opcode, length = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            return opcode, json.loads(await self._reader.readexactly(length))

    async def ended(self) -> bool:
        """Whether the agent closed the connection, with nothing left to read."""
        async with asyncio.timeout(PATIENCE):
            return await self._reader.read(1) == b""

    async def shake(self, client_id: Any, **handshake: Any) -> None:
        """Shake hands."""
        self.write(HANDSHAKE, {"v": 1, "client_id": str(client_id), **handshake})
        opcode, payload = await self.read()
        assert (opcode, payload.get("evt")) == (FRAME, "READY"), payload
        self.ready = payload["data"]

    async def send(self, cmd: str, args: Any = None, **more: Any) -> dict[str, Any]:
        """A command, and its reply; events that come before it are kept."""
        self._number += 1
        nonce = f"n{self._number}"
        self.write(FRAME, {"cmd": cmd, "nonce": nonce, **({} if args is None else {"args": args}), **more})
        while True:
            opcode, payload = await self.read()
            assert opcode == FRAME, payload
            if payload["cmd"] == "DISPATCH":
                self.events.append(payload)
                continue
            assert payload["nonce"] == nonce, payload
            return dict(payload)

    async def ask(self, cmd: str, args: Any = None, **more: Any) -> Any:
        """What a command answers; fails loudly for a refusal."""
        reply = await self.send(cmd, args, **more)
        assert reply["evt"] is None, reply
        assert set(reply) == {"cmd", "data", "evt", "nonce"}
        return reply["data"]

    async def refused(self, cmd: str, args: Any = None, **more: Any) -> tuple[int, str]:
        """Why a command is refused."""
        reply = await self.send(cmd, args, **more)
        assert reply["evt"] == "ERROR", reply
        return reply["data"]["code"], reply["data"]["message"]

    async def subscribe(self, event: str, **args: Any) -> None:
        """Hear of an event."""
        told = await self.ask("SUBSCRIBE", {name: str(value) for name, value in args.items()} or None, evt=event)
        assert told == {"evt": event}

    async def next(self, event: str, matches: Any = lambda data: True) -> Any:
        """The next event of a name, and of a shape; skips others."""
        while True:
            for position, payload in enumerate(self.events):
                if payload["evt"] == event and matches(payload["data"]):
                    del self.events[: position + 1]
                    return payload["data"]
            opcode, payload = await self.read()
            assert opcode == FRAME, payload
            assert payload["cmd"] == "DISPATCH", payload
            assert payload["nonce"] is None
            self.events.append(payload)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()
