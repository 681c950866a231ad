"""The client of the server process of a test run, from which every test gets a fork.

A fork is a complete platform on its own port: its store, clock, faults, rate limits and sessions are not shared with
other tests. The process keeps a snapshot of each world that tests use, so that a world file is built only once.
"""

import hashlib
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from hubbub.people.errors import PlatformUnavailable
from hubbub.people.requests import ControlClient, EncodedBody
from hubbub.protocol import codec
from hubbub.protocol.control.clock import SET_CLOCK, SetClock
from hubbub.protocol.control.ready import ReadyDocument
from hubbub.protocol.control.snapshots import (
    CREATE_FORK,
    CREATE_SNAPSHOT,
    DELETE_FORK,
    DELETE_SNAPSHOT,
    RESTORE_SNAPSHOT,
    CreateFork,
    Fork,
    RateLimitEnforcement,
)
from hubbub.protocol.control.worlds import LOAD_WORLD, LoadWorldQuery
from hubbub.testing.background import Background
from hubbub.testing.server_process import ServerProcess

SNAPSHOTS_MAX: Final = 32
"""Maximum number of worlds whose snapshots are kept."""


class WorldChoice(NamedTuple):
    """The world that a test uses."""

    content: bytes
    """Content of a world file, as TOML or JSON."""
    media_type: str
    seed: int
    now: datetime | None
    """Start time of the world, or None for the machine's time."""

    @property
    def key(self) -> str:
        """The name under which workers share the snapshot of the world."""
        return hashlib.sha256(repr(tuple(self)).encode()).hexdigest()


class ServerState(msgspec.Struct):
    """The snapshots of a server, which all workers use."""

    empty_snapshot_id: str
    """The snapshot without a world."""
    snapshots: dict[str, str] = {}
    """Snapshot of each world by `WorldChoice.key`, least recently used first."""
    is_empty: bool = True
    """Whether no world has been loaded since the start of the server."""


class PlatformProcess:
    """A running `hubbub dev`. Tests use forks of it, not the process itself."""

    def __init__(self, server: ServerProcess | None = None) -> None:
        """Connect to a server; without one, start it."""
        self.server = server or ServerProcess()
        self.background = Background()
        self._state: ServerState | None = None
        """The last state that this process stored; None until the server is ready."""
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        error_message = self.server.wait_started()
        if error_message:
            raise PlatformUnavailable(error_message)
        document = codec.decode(self.server.ready_file.read_bytes(), ReadyDocument)
        self.control = ControlClient(self.background.http, document)
        if not self.server.state_file.exists():
            snapshot = self.background.run_and_wait(self.control.call(CREATE_SNAPSHOT))
            self._store_state(ServerState(snapshot.id))
        self.server.finish_start()

    def _load_state(self) -> ServerState:
        """Return the state; other workers change that of a shared server."""
        if self._state is not None and not self.server.is_shared:
            return self._state
        return msgspec.json.decode(self.server.state_file.read_bytes(), type=ServerState)

    def _store_state(self, state: ServerState) -> None:
        if self._state is not None and not self.server.is_shared:
            return
        self._state = state
        self.server.state_file.write_bytes(msgspec.json.encode(state))

    def fork(self, choice: WorldChoice, rate_limits: RateLimitEnforcement) -> Fork:
        """Create a platform with this world; return its ready document."""
        # Building a world takes several requests, and another worker may delete a snapshot that was not used for long.
        with self.server.locked():
            state = self._load_state()
            try:
                return self.background.run_and_wait(self._fork(state, choice, rate_limits))
            finally:
                self._store_state(state)

    async def _fork(self, state: ServerState, choice: WorldChoice, rate_limits: RateLimitEnforcement) -> Fork:
        snapshot_id = state.snapshots.pop(choice.key, None)
        if snapshot_id is None:
            snapshot_id = await self._build_snapshot(state, choice)
        # Insert it at the end, so that the first entry is the least recently used one.
        state.snapshots[choice.key] = snapshot_id
        # Client libraries compare the platform's time with the machine's, so that is the default.
        now = choice.now or datetime.now(UTC)
        return await self.control.call(
            CREATE_FORK, CreateFork(snapshot_id=snapshot_id, now=now, rate_limits=rate_limits, trace=True)
        )

    async def _build_snapshot(self, state: ServerState, choice: WorldChoice) -> str:
        while len(state.snapshots) >= SNAPSHOTS_MAX:
            oldest = next(iter(state.snapshots))
            await self.control.call(DELETE_SNAPSHOT, snapshot_id=state.snapshots.pop(oldest))
        if not state.is_empty:
            await self.control.call(RESTORE_SNAPSHOT, snapshot_id=state.empty_snapshot_id)
        state.is_empty = False
        if choice.now is not None:
            await self.control.call(SET_CLOCK, SetClock(now=choice.now))
        world_file = EncodedBody(choice.content, choice.media_type)
        await self.control.call(LOAD_WORLD, world_file, query=LoadWorldQuery(seed=choice.seed))
        return (await self.control.call(CREATE_SNAPSHOT)).id

    async def end_fork(self, fork_id: str) -> None:
        """Stop a platform."""
        await self.control.call(DELETE_FORK, fork_id=fork_id)

    def close(self) -> None:
        """Stop the server process and all its forks, unless the server is shared."""
        self.background.close()
        self.server.close()
