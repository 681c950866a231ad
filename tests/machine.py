"""A user's machine for tests: the real agent, a consent prompt that the test controls, and programs on its sockets."""

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from hubbub.agent import addresses
from hubbub.agent.account import Account
from hubbub.agent.agent import Agent
from hubbub.agent.consent import ConsentRequest, ConsentResponse
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, World

NewMachine = Callable[..., Awaitable["Machine"]]

HEADER = struct.Struct("<II")
"""Header of a frame: opcode and length of the payload."""
HANDSHAKE, FRAME, CLOSE, PING, PONG = range(5)


class ConsentPrompt:
    """A consent prompt that records requests and returns the decision of the test."""

    def __init__(self) -> None:
        self.grants_consent = True
        self.requests: list[ConsentRequest] = []
        self.release: asyncio.Event | None = None
        """If not None, the prompt returns only after this event is set."""

    async def ask(self, request: ConsentRequest) -> ConsentResponse:
        """Record the request and return the decision."""
        self.requests.append(request)
        if self.release is not None:
            await self.release.wait()
        return ConsentResponse(self.grants_consent)


class Machine:
    """A user's machine with an agent, whose sockets are in a separate directory."""

    def __init__(self, world: World, owner: Actor, directory: Path) -> None:
        self.world = world
        self.owner = owner
        self.directory = directory
        self.consent = ConsentPrompt()
        self.opened_urls: list[str] = []
        """URLs that the agent opened in the browser."""
        self.agent_options: dict[str, Any] = {}
        """Keyword arguments that `start` adds to its own ones for Agent."""
        self.presence_window_seconds: float | None = None
        self._agent: Agent | None = None
        self._programs: list[Program] = []

    @property
    def agent(self) -> Agent:
        """The running agent."""
        assert self._agent is not None
        return self._agent

    async def start(self, index: int | None = None) -> "Machine":
        """Start the agent: sign in and listen for programs at socket `index`, by default the lowest free index."""
        account = Account(self.world.url, self.owner.token, presence_window_seconds=self.presence_window_seconds)
        self._agent = Agent(
            account,
            self.consent,
            self.opened_urls.append,
            listening_sockets=addresses.open_sockets([self.directory], index),
            clock=self.world.clock.now_ms,
            **self.agent_options,
        )
        await self._agent.start()
        return self

    async def stop(self) -> None:
        """Close the connection of every program and stop the agent."""
        for program in self._programs:
            program.close()
        self._programs.clear()
        if self._agent is not None:
            agent, self._agent = self._agent, None
            await agent.stop()

    async def connect_program(self, client_id: int, **handshake: Any) -> "Program":
        """Connect a program of an application and complete the handshake; READY has been received on return."""
        program = await self.open_connection()
        await program.handshake(client_id, **handshake)
        return program

    async def connect_authenticated(self, application_id: int, scopes: str) -> "Program":
        """Connect a program and authenticate it with a token of the owner, with `identify` and these scopes."""
        program = await self.connect_program(application_id)
        token = (await self.world.bearer(self.owner, application_id, f"identify {scopes}")).token
        await program.call("AUTHENTICATE", {"access_token": token})
        return program

    async def open_connection(self) -> "Program":
        """Connect a program to socket 0 without a handshake."""
        reader, writer = await asyncio.open_unix_connection(str(self.directory / "discord-ipc-0"))
        program = Program(reader, writer)
        self._programs.append(program)
        return program


class Program:
    """A program that is connected to the agent's socket, and reads and writes raw frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._request_count = 0
        self.ready: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        """Payloads of received events that `next` has neither returned nor discarded."""

    def write(self, opcode: int, payload: Any) -> None:
        """Write a frame; bytes are written as they are, anything else as JSON."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self._writer.write(HEADER.pack(opcode, len(body)) + body)

    async def read(self) -> tuple[int, Any]:
        """Read the next frame: its opcode and its decoded payload."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            opcode, length = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            return opcode, json.loads(await self._reader.readexactly(length))

    async def is_closed(self) -> bool:
        """Wait for a byte or the end of the connection, and return whether the agent closed it without sending more."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            return await self._reader.read(1) == b""

    async def handshake(self, client_id: Any, **handshake: Any) -> None:
        """Send the handshake and receive READY."""
        self.write(HANDSHAKE, {"v": 1, "client_id": str(client_id), **handshake})
        opcode, payload = await self.read()
        assert (opcode, payload.get("evt")) == (FRAME, "READY"), payload
        self.ready = payload["data"]

    async def request(self, cmd: str, args: Any = None, **fields: Any) -> dict[str, Any]:
        """Send a command and return its reply; events that arrive before it are stored in `events`."""
        self._request_count += 1
        nonce = f"n{self._request_count}"
        self.write(FRAME, {"cmd": cmd, "nonce": nonce, **({} if args is None else {"args": args}), **fields})
        while True:
            opcode, payload = await self.read()
            assert opcode == FRAME, payload
            if payload["cmd"] == "DISPATCH":
                self.events.append(payload)
                continue
            assert payload["nonce"] == nonce, payload
            return dict(payload)

    async def call(self, cmd: str, args: Any = None, **fields: Any) -> Any:
        """Send a command, assert that it succeeds, and return its data."""
        reply = await self.request(cmd, args, **fields)
        assert reply["evt"] is None, reply
        assert set(reply) == {"cmd", "data", "evt", "nonce"}
        return reply["data"]

    async def call_error(self, cmd: str, args: Any = None, **fields: Any) -> tuple[int, str]:
        """Send a command, assert that it fails, and return the error's code and message."""
        reply = await self.request(cmd, args, **fields)
        assert reply["evt"] == "ERROR", reply
        return reply["data"]["code"], reply["data"]["message"]

    async def subscribe(self, event: str, **args: Any) -> None:
        subscription = await self.call(
            "SUBSCRIBE", {name: str(value) for name, value in args.items()} or None, evt=event
        )
        assert subscription == {"evt": event}

    async def next(self, event: str, matches: Any = lambda data: True) -> Any:
        """Wait for the next event with this name that `matches` accepts, and return its data; discard earlier events."""
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
        """Close the connection."""
        self._writer.close()
