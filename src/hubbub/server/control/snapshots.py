"""Snapshots of a world in memory, and forks: separate platforms that start from a snapshot or the current state."""

import itertools
import socket
from typing import Final, Protocol
from urllib.parse import urlsplit

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.control.mail import ReceivedMail
from hubbub.protocol.control.snapshots import CreateFork, Fork, ForkState, SnapshotState
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.identity import game_sessions
from hubbub.server.places import activity_instances, voice_states
from hubbub.server.ready_document import build_document
from hubbub.server.talk import private_calls
from hubbub.server.worlds import BuiltWorld

SNAPSHOTS_MAX: Final = 64
"""Maximum number of stored snapshots."""
FORKS_MAX: Final = 128
"""Maximum number of open forks; the parallel workers of a test run have one or more each."""


class WorldSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The complete state of a world, without its connections."""

    database_image: bytes
    """Result of `SqliteDatabase.serialize`."""
    files: dict[str, tuple[bytes, str]]
    """Content and media type of each stored file, by key."""
    mails: tuple[ReceivedMail, ...]
    """Mail in the mailbox, oldest first."""
    now_ms: int
    """The time of the world's clock in Unix milliseconds."""
    is_clock_running: bool
    built_world: BuiltWorld
    """The objects built from worlds."""
    parent_id: str | None
    """ID of the snapshot that was taken or restored last before this one; None if there was none."""


class ControlledPlatform(Protocol):
    """The part of the control API that snapshots and forks use."""

    app: App
    clock: ControlledClock
    token: str
    built_world: BuiltWorld

    def create_fork_control(self, app: App) -> "ControlledPlatform":
        """Return the control API of a fork; the fork has not started yet."""

    def create_console_url(self) -> str:
        """Return a link that opens the console in one browser."""

    async def close(self) -> None:
        """Disconnect the people of the platform and close its forks."""


class Snapshots:
    """The snapshots and forks of one platform."""

    def __init__(self, control: ControlledPlatform) -> None:
        self._control = control
        self._app = control.app
        self._snapshots: dict[str, WorldSnapshot] = {}
        self._forks: dict[str, tuple[App, ControlledPlatform]] = {}
        self._fork_parents: dict[str, str | None] = {}
        """The snapshot that each fork descends from."""
        self._current_id: str | None = None
        """The snapshot that was taken or restored last."""
        self._id_numbers = itertools.count(1)

    async def close(self) -> None:
        """Close all forks."""
        for fork_id in list(self._forks):
            await self.close_fork(fork_id)

    async def take(self) -> SnapshotState:
        """Take a snapshot of the current state.

        Raise BAD_REQUEST if too many are stored, or if the world is not in memory."""
        if len(self._snapshots) >= SNAPSHOTS_MAX:
            raise errors.BAD_REQUEST(message=f"At most {SNAPSHOTS_MAX} snapshots can be stored; delete one first")
        snapshot_id = str(next(self._id_numbers))
        self._snapshots[snapshot_id] = await self._capture()
        self._current_id = snapshot_id
        return self._snapshot_state(snapshot_id)

    def list_states(self) -> list[SnapshotState]:
        return [self._snapshot_state(snapshot_id) for snapshot_id in self._snapshots]

    def delete(self, snapshot_id: str) -> None:
        self._require_snapshot(snapshot_id)
        del self._snapshots[snapshot_id]

    async def restore(self, snapshot_id: str) -> None:
        """Restore data, files, mail and time of a snapshot; connected clients must identify again."""
        snapshot = self._require_snapshot(snapshot_id)
        clock = self._control.clock
        clock.freeze()
        await self._apply_snapshot(self._app, snapshot)
        clock.set(snapshot.now_ms)
        if snapshot.is_clock_running:
            clock.resume()
        self._control.built_world = snapshot.built_world
        self._current_id = snapshot_id

    async def create_fork(self, request: CreateFork, now_ms: int | None = None) -> Fork:
        """Start a platform on its own port from a snapshot or the current state.

        `now_ms` is the time of its clock in Unix milliseconds; None keeps the time of the snapshot. Raise NOT_FOUND
        for an unknown snapshot, and BAD_REQUEST if too many forks are open or the world is not in memory.
        """
        if len(self._forks) >= FORKS_MAX:
            raise errors.BAD_REQUEST(message=f"At most {FORKS_MAX} forks can be open; close one first")
        snapshot = await self._capture() if request.snapshot_id is None else self._require_snapshot(request.snapshot_id)
        base_config = self._app.config
        port, public_url = self._choose_address()
        # The fork uses the same certificate on other ports.
        voice = msgspec.structs.replace(base_config.voice, endpoint=None, port=0, udp_port=0)
        config = msgspec.structs.replace(
            base_config,
            port=port,
            public_url=public_url,
            ready_file=None,
            control_token=None,
            voice=voice,
            rate_limits=request.rate_limits or base_config.rate_limits,
        )
        clock = ControlledClock(snapshot.now_ms if now_ms is None else now_ms, running=snapshot.is_clock_running)
        app = App(
            config,
            clock=clock,
            slices=self._app.slices,
            tls=self._app.tls,
            database_image=snapshot.database_image,
        )
        app.ids.continue_from(self._app.ids)
        control = self._control.create_fork_control(app)
        control.built_world = snapshot.built_world
        # The worker starts with the platform and may need the files.
        for key, (data, media_type) in snapshot.files.items():
            await app.files.put(key, data, media_type)
        if app.mailbox is not None:
            app.mailbox.replace(snapshot.mails)
        await app.start()
        app.trace.is_enabled = request.trace
        fork_id = str(next(self._id_numbers))
        self._forks[fork_id] = (app, control)
        self._fork_parents[fork_id] = self._current_id if request.snapshot_id is None else request.snapshot_id
        document = build_document(app.config, snapshot.built_world, control.token, tls=app.tls)
        return Fork(fork_id=fork_id, **{name: getattr(document, name) for name in document.__struct_fields__})

    def _choose_address(self) -> tuple[int, str | None]:
        """Return the port of a new fork, 0 for any, and its public URL, None if clients use the port of the machine.

        Raise BAD_REQUEST if all ports of the setting `fork_ports` are in use."""
        config = self._app.config
        if config.fork_ports is None:
            return 0, None
        first_port, last_port = map(int, config.fork_ports.split("-"))
        parts = urlsplit(config.web_url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        for port in range(first_port, last_port + 1):
            if _is_free(config.host, port):
                return port, f"{parts.scheme}://{host}:{port}"
        raise errors.BAD_REQUEST(
            message=f"All ports of --fork-ports {config.fork_ports} are in use; close a fork first"
        )

    def list_forks(self) -> list[ForkState]:
        """Return the open forks, oldest first."""
        return [
            ForkState(fork_id=fork_id, web=app.config.public_url or "", snapshot_id=self._fork_parents[fork_id])
            for fork_id, (app, _) in self._forks.items()
        ]

    def require_fork(self, fork_id: str) -> ControlledPlatform:
        """Return the control API of a fork. Raise NOT_FOUND if there is none with this ID."""
        if fork_id not in self._forks:
            raise errors.NOT_FOUND(message=f"Unknown fork {fork_id}")
        return self._forks[fork_id][1]

    async def close_fork(self, fork_id: str) -> None:
        """Close a fork and the forks created from it. Raise NOT_FOUND if there is none with this ID."""
        app_and_control = self._forks.pop(fork_id, None)
        if app_and_control is None:
            raise errors.NOT_FOUND(message=f"Unknown fork {fork_id}")
        del self._fork_parents[fork_id]
        app, control = app_and_control
        await control.close()
        await app.stop()

    def _require_snapshot(self, snapshot_id: str) -> WorldSnapshot:
        snapshot = self._snapshots.get(snapshot_id)
        if snapshot is None:
            raise errors.NOT_FOUND(message=f"Unknown snapshot {snapshot_id}")
        return snapshot

    def _snapshot_state(self, snapshot_id: str) -> SnapshotState:
        snapshot = self._snapshots[snapshot_id]
        snapshot_bytes = len(snapshot.database_image) + sum(len(data) for data, _ in snapshot.files.values())
        return SnapshotState(
            id=snapshot_id,
            at=codec.timestamp(snapshot.now_ms),
            bytes=snapshot_bytes,
            parent_id=snapshot.parent_id,
            current=snapshot_id == self._current_id,
        )

    async def _capture(self) -> WorldSnapshot:
        """Return a snapshot of the current state."""
        app, clock = self._app, self._control.clock
        # Copy the database before the files, because a file is stored before the row that refers to it.
        image = await _require_memory_database(app).serialize()
        return WorldSnapshot(
            database_image=image,
            files=await app.files.export(),
            mails=() if app.mailbox is None else tuple(app.mailbox),
            now_ms=clock.now_ms(),
            is_clock_running=clock.is_running,
            built_world=self._control.built_world,
            parent_id=self._current_id,
        )

    async def _apply_snapshot(self, app: App, snapshot: WorldSnapshot) -> None:
        """Replace the data, files and mail of a platform, and reset sessions, calls, activities, caches and rate limits."""
        await _require_memory_database(app).restore(snapshot.database_image)
        await app.files.replace(snapshot.files)
        if app.mailbox is not None:
            app.mailbox.replace(snapshot.mails)
        app.auth.clear_cache()
        app.rate_limits.clear()
        if app.gateway is not None:
            app.gateway.sessions.invalidate_all()
        # Users who were in voice or in a game when the snapshot was taken are no longer connected.
        await app.database.write(lambda tx: private_calls.reset(app.make_call(tx)))
        await app.database.write(lambda tx: voice_states.reset(app.make_call(tx)))
        if app.voice is not None:
            app.voice.calls.refresh_all()
        await app.database.write(lambda tx: activity_instances.delete_all(app.make_call(tx)))
        await app.database.write(lambda tx: game_sessions.reset(app.make_call(tx)))
        if app.worker is not None:
            app.worker.wake()


def _require_memory_database(app: App) -> SqliteDatabase:
    """Return the database of a platform; raise BAD_REQUEST if the database or the files are not in memory."""
    config = app.config
    if not isinstance(app.database, SqliteDatabase) or config.data is not None or config.files_url is not None:
        raise errors.BAD_REQUEST(
            message="Snapshots and forks are only available in memory; start without --data, --database-url and --files-url"
        )
    return app.database


def _is_free(host: str, port: int) -> bool:
    """Return whether a server can listen on a port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError):
            return False
    return True
