"""Snapshots of a world in memory, going back to one, and forks: whole platforms that begin as another one was."""

import itertools
from typing import TYPE_CHECKING, Final

import msgspec

from hubbub.protocol import errors, wire
from hubbub.server.app import App
from hubbub.server.control.bodies import CreateFork, Fork, ForkState, SnapshotState
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.ready import ready
from hubbub.server.resources import activity_instances, game_sessions, private_calls, voice_states
from hubbub.server.worlds import Built

if TYPE_CHECKING:
    from hubbub.server.control.door import Control

SNAPSHOTS_MOST: Final = 64
FORKS_MOST: Final = 32


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to a world, apart from who is connected."""

    image: bytes
    files: dict[str, tuple[bytes, str]]
    now_ms: int
    running: bool
    built: Built


class Snapshots:
    """The snapshots and forks of one platform."""

    def __init__(self, control: "Control") -> None:
        self._control = control
        self._app = control.app
        self._kept: dict[str, Snapshot] = {}
        self._forks: dict[str, tuple[App, Control]] = {}
        self._numbers = itertools.count(1)

    async def close(self) -> None:
        """End the forks."""
        for fork_id in list(self._forks):
            await self.end_fork(fork_id)

    async def take(self) -> SnapshotState:
        """Keep the world as it is now."""
        if len(self._kept) >= SNAPSHOTS_MOST:
            raise errors.BAD_REQUEST(message=f"{SNAPSHOTS_MOST} snapshots are kept at most; delete one")
        snapshot_id = str(next(self._numbers))
        self._kept[snapshot_id] = await self._take()
        return self._state(snapshot_id)

    def states(self) -> list[SnapshotState]:
        """What is kept."""
        return [self._state(snapshot_id) for snapshot_id in self._kept]

    def forget(self, snapshot_id: str) -> None:
        """Keep it no longer."""
        self._find(snapshot_id)
        del self._kept[snapshot_id]

    async def restore(self, snapshot_id: str) -> None:
        """Go back: data, files and time are as they were; whoever is connected has to identify again."""
        snapshot = self._find(snapshot_id)
        clock = self._control.clock
        clock.freeze()
        await self._put(self._app, snapshot)
        clock.set(snapshot.now_ms)
        if snapshot.running:
            clock.resume()
        self._control.built = snapshot.built

    async def fork(self, wish: CreateFork, now_ms: int | None = None) -> Fork:
        """A new platform on a port of its own that begins as this one is, or was; at another time, if one is given."""
        if len(self._forks) >= FORKS_MOST:
            raise errors.BAD_REQUEST(message=f"{FORKS_MOST} forks are open at most; close one")
        snapshot = await self._take() if wish.snapshot_id is None else self._find(wish.snapshot_id)
        from hubbub.server.control.door import Control

        shared = self._app.config
        # With the same certificate, on ports of its own.
        voice = msgspec.structs.replace(shared.voice, endpoint=None, port=0, udp_port=0)
        config = msgspec.structs.replace(
            shared,
            port=0,
            public_url=None,
            ready_file=None,
            control_token=None,
            voice=voice,
            rate_limits=wish.rate_limits or shared.rate_limits,
        )
        clock = ControlledClock(snapshot.now_ms if now_ms is None else now_ms, running=snapshot.running)
        app = App(config, clock=clock, slices=self._app.slices)
        app.ids.continue_from(self._app.ids)
        control = Control(app)
        control.built = snapshot.built
        await app.start()
        try:
            await self._put(app, snapshot)
        except BaseException:
            await app.stop()
            raise
        fork_id = str(next(self._numbers))
        self._forks[fork_id] = (app, control)
        document = ready(app.config, snapshot.built, control.token)
        return Fork(fork_id=fork_id, **{name: getattr(document, name) for name in document.__struct_fields__})

    def forks(self) -> list[ForkState]:
        """The forks that are open."""
        return [
            ForkState(fork_id=fork_id, web=app.config.public_url or "") for fork_id, (app, _) in self._forks.items()
        ]

    async def end_fork(self, fork_id: str) -> None:
        """Close a fork, and the forks made from it."""
        found = self._forks.pop(fork_id, None)
        if found is None:
            raise errors.NOT_FOUND(message=f"There is no fork {fork_id}")
        app, control = found
        await control.close()
        await app.stop()

    def _find(self, snapshot_id: str) -> Snapshot:
        found = self._kept.get(snapshot_id)
        if found is None:
            raise errors.NOT_FOUND(message=f"There is no snapshot {snapshot_id}")
        return found

    def _state(self, snapshot_id: str) -> SnapshotState:
        kept = self._kept[snapshot_id]
        size = len(kept.image) + sum(len(data) for data, _ in kept.files.values())
        return SnapshotState(id=snapshot_id, at=wire.timestamp(kept.now_ms), bytes=size)

    async def _take(self) -> Snapshot:
        app, clock = self._app, self._control.clock
        # The database first: a file is there before the row that names it.
        image = await _in_memory(app).serialize()
        return Snapshot(
            image=image,
            files=await app.files.export(),
            now_ms=clock.now_ms(),
            running=clock.running,
            built=self._control.built,
        )

    async def _put(self, app: App, snapshot: Snapshot) -> None:
        await _in_memory(app).restore(snapshot.image)
        await app.files.replace(snapshot.files)
        app.auth.forget_all()
        app.rate_limits.clear()
        if app.gateway is not None:
            app.gateway.sessions.invalidate_all()
        # Those who were in voice or in a game when the snapshot was taken are not connected any more.
        await app.database.write(lambda tx: private_calls.reset(app.make_call(tx)))
        await app.database.write(lambda tx: voice_states.reset(app.make_call(tx)))
        if app.voice is not None:
            app.voice.calls.look_at_all()
        await app.database.write(lambda tx: activity_instances.reset(app.make_call(tx)))
        await app.database.write(lambda tx: game_sessions.reset(app.make_call(tx)))
        if app.worker is not None:
            app.worker.wake()


def _in_memory(app: App) -> SqliteDatabase:
    config = app.config
    if not isinstance(app.database, SqliteDatabase) or config.data is not None or config.files_url is not None:
        raise errors.BAD_REQUEST(
            message="Snapshots and forks need a world in memory: without --data and --database-url"
        )
    return app.database
