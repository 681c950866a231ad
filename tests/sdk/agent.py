"""A small chat client for tests: it speaks the local RPC's frames on a socket, and answers as it is told."""

import asyncio
import json
import struct
from pathlib import Path
from typing import Any

from tests.world import PATIENCE

HEADER = struct.Struct("<II")
USER = {"id": "4711", "username": "mary", "global_name": "Mary", "avatar": None, "discriminator": "0"}


class Agent:
    """Listens at `hubbub-ipc-0` of a directory."""

    def __init__(self, directory: Path, index: int = 0) -> None:
        self.path = directory / f"hubbub-ipc-{index}"
        self.answers: dict[str, Any] = {}
        """By command: what to answer, or an error as a tuple of code and message."""
        self.silent: set[str] = set()
        """Commands that are never answered."""
        self.refuses: tuple[int, str] | None = None
        self.seen: list[dict[str, Any]] = []
        self.handshakes: list[dict[str, Any]] = []
        self._taken = 0
        self._arrived = asyncio.Condition()
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None

    async def start(self) -> "Agent":
        """Begin to listen."""
        self._server = await asyncio.start_unix_server(self._serve, str(self.path))
        return self

    async def stop(self) -> None:
        """Stop, as a chat client does that is closed."""
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        self._writers.clear()
        self.path.unlink(missing_ok=True)

    async def next(self, cmd: str) -> dict[str, Any]:
        """The next command of a kind."""
        async with asyncio.timeout(PATIENCE), self._arrived:
            while True:
                for position in range(self._taken, len(self.seen)):
                    if self.seen[position]["cmd"] == cmd:
                        self._taken = position + 1
                        return self.seen[position]
                await self._arrived.wait()

    def say(self, event: str, data: Any) -> None:
        """Send an event to everybody."""
        for writer in self._writers:
            writer.write(_frame(1, {"cmd": "DISPATCH", "evt": event, "data": data, "nonce": None}))

    def ping(self) -> None:
        """Ask whether somebody is there."""
        for writer in self._writers:
            writer.write(_frame(3, "are you there"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                opcode, length = HEADER.unpack(await reader.readexactly(HEADER.size))
                payload = json.loads(await reader.readexactly(length))
                if opcode == 0:
                    self.handshakes.append(payload)
                    if self.refuses is not None:
                        writer.write(_frame(2, {"code": self.refuses[0], "message": self.refuses[1]}))
                        writer.close()
                        return
                    self._writers.append(writer)
                    ready = {"v": 1, "config": {"cdn_host": "cdn", "api_endpoint": "//api"}, "user": USER}
                    writer.write(_frame(1, {"cmd": "DISPATCH", "evt": "READY", "data": ready, "nonce": None}))
                    continue
                if opcode != 1:
                    payload = {"cmd": f"opcode {opcode}", "data": payload}
                else:
                    answer = self.answers.get(payload["cmd"])
                    told: dict[str, Any] = {
                        "cmd": payload["cmd"],
                        "evt": None,
                        "data": answer,
                        "nonce": payload["nonce"],
                    }
                    if isinstance(answer, tuple):
                        told |= {"evt": "ERROR", "data": {"code": answer[0], "message": answer[1]}}
                    if payload["cmd"] not in self.silent:
                        writer.write(_frame(1, told))
                async with self._arrived:
                    self.seen.append(payload)
                    self._arrived.notify_all()
        except (OSError, EOFError):
            writer.close()


def _frame(opcode: int, payload: Any) -> bytes:
    body = json.dumps(payload).encode()
    return HEADER.pack(opcode, len(body)) + body
