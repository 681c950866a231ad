"""Changes of rights that the bus cannot deliver: they reach the other processes through the store (decisions/0130).

Processes cache rights: tokens, and the permissions of gateway sessions. The event of a change makes them read again. If
NATS does not confirm the event in time, the change is stored in a short list whose version every process polls.

A process whose last poll began more than `STALE_SECONDS` ago does not use its caches: it holds the messages of the bus and
looks up every token. So `STALE_SECONDS` after a change was stored, no process uses the old rights.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from hubbub.protocol import codec
from hubbub.server.core import meta
from hubbub.server.core.bus import Bus, BusError
from hubbub.server.core.event_dispatch import Dispatch, GuildAudience, UserAudience
from hubbub.server.core.store import Database, StoreUnavailable, Tx

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.5
"""Interval at which a process reads the version, in seconds."""
STALE_SECONDS: Final = 1.5
"""Maximum age of the last successful poll, in seconds; a process with an older one does not use cached rights."""
MARGIN_SECONDS: Final = 0.1
"""Additional wait for clocks whose speed differs, in seconds."""
CONFIRM_SECONDS: Final = 1.0
"""Time in seconds for which a change waits for the confirmation of the bus before it is stored."""
STORED_CHANGES_MAX: Final = 256
"""Maximum number of changes in the list; a process that missed more treats this as a gap in the bus."""

GUILD_GAP: Final = "_GUILD_GAP"
"""Internal event: an event of a guild is missing, so nodes invalidate the guild's sessions.

With a stamp, only sessions that need the event of this commit are invalidated."""
USER_GAP: Final = "_USER_GAP"
"""Internal event: an event for a user is missing, so nodes invalidate the user's sessions that need the commit of its stamp."""

_VERSION_NAME: Final = "relay_version"
_CHANGES_NAME: Final = "relay_changes"


class StoredChange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An entry of the list in the store: a change of rights in a guild, or an internal event for users."""

    version: int
    guild_id: int = 0
    """The guild whose rights changed; 0 for an internal event."""
    event: str = ""
    """The name of an internal event; empty for a change in a guild."""
    body: str = ""
    """The payload of the internal event as JSON."""
    user_ids: list[int] = []

    @property
    def dispatch(self) -> Dispatch:
        """The message for the subscribers of this process."""
        if self.event:
            return Dispatch(event=self.event, body=self.body.encode(), audience=UserAudience.of(*self.user_ids))
        return Dispatch(event=GUILD_GAP, body=b"null", audience=GuildAudience(self.guild_id))


def is_change_of_rights(dispatch: Dispatch) -> bool:
    """Return whether other processes must handle an event before they use cached rights."""
    return bool(dispatch.refresh) or dispatch.event.startswith("_")


class _UnsettledChange:
    """A change that was published by this process and not confirmed yet."""

    __slots__ = ("dispatch", "store_task")

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch = dispatch
        self.store_task: asyncio.Task[None] | None = None
        """The task that stores the change and waits for the other processes; None if it was not started or has failed."""


class ChangeRelay:
    """Ensures that every process applies the changes of rights that any process publishes."""

    def __init__(
        self,
        database: Database,
        bus: Bus[Dispatch],
        *,
        poll_seconds: float = POLL_SECONDS,
        stale_seconds: float = STALE_SECONDS,
        confirm_seconds: float = CONFIRM_SECONDS,
    ) -> None:
        self._database = database
        self._bus = bus
        self._poll_seconds = poll_seconds
        self._stale_seconds = stale_seconds
        self._confirm_seconds = confirm_seconds
        self._handled_version = 0
        """The version whose changes this process has handled."""
        self._last_poll_at = 0.0
        """Time at which the last successful poll began, in seconds of the event loop's clock."""
        self._unsettled_changes: list[_UnsettledChange] = []
        self._poll_task: asyncio.Task[None] | None = None
        self._settle_task: asyncio.Task[None] | None = None
        self._loop_time: Callable[[], float] = lambda: 0.0

    @property
    def is_current(self) -> bool:
        """Whether cached rights may be used."""
        return self._loop_time() - self._last_poll_at < self._stale_seconds

    async def start(self) -> None:
        """Read the version and poll it in the background."""
        self._loop_time = asyncio.get_running_loop().time
        started_at = self._loop_time()
        self._handled_version = await self._database.read(_read_version)
        self._last_poll_at = started_at
        self._poll_task = asyncio.get_running_loop().create_task(self._poll())

    async def close(self) -> None:
        """Stop polling."""
        tasks = [task for task in (self._poll_task, self._settle_task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def record(self, dispatch: Dispatch) -> None:
        """Record an event that is being published, if it changes rights."""
        if is_change_of_rights(dispatch):
            self._unsettled_changes.append(_UnsettledChange(dispatch))

    async def settle(self) -> None:
        """Return once no process uses rights from before the recorded changes.

        Raise StoreUnavailable if neither the bus nor the store could deliver them."""
        changes = list(self._unsettled_changes)
        if not changes:
            return
        if not await self._wait_confirmed():
            new_changes = [change for change in changes if change.store_task is None]
            if new_changes:
                task = asyncio.get_running_loop().create_task(self._store(new_changes))
                for change in new_changes:
                    change.store_task = task
            await asyncio.gather(*(asyncio.shield(task) for task in {change.store_task for change in changes} if task))
        settled_changes = set(changes)
        self._unsettled_changes = [change for change in self._unsettled_changes if change not in settled_changes]

    async def _wait_confirmed(self) -> bool:
        """Wait until the bus has sent everything published so far. Return False if that fails or takes too long."""
        if not self._bus.is_healthy:
            return False
        try:
            async with asyncio.timeout(self._confirm_seconds):
                await self._bus.flush()
        except (BusError, TimeoutError):
            return False
        return True

    async def _store(self, changes: list[_UnsettledChange]) -> None:
        """Store changes and wait until every process has read them or does not use cached rights.

        The wait ends early if the bus sends the events in the meantime."""
        try:
            log.warning("The bus does not confirm changes of rights; they are passed on through the store")
            await self._database.write(lambda tx: _insert_changes(tx, [change.dispatch for change in changes]))
        except BaseException:
            for change in changes:
                change.store_task = None
            raise
        # If the bus works again meanwhile, the events reach every process on it.
        flush_task = asyncio.get_running_loop().create_task(self._bus.flush())
        try:
            await asyncio.wait({flush_task}, timeout=self._stale_seconds + MARGIN_SECONDS)
            if flush_task.done() and flush_task.exception() is not None:
                await asyncio.sleep(self._stale_seconds + MARGIN_SECONDS)
        finally:
            flush_task.cancel()
            await asyncio.gather(flush_task, return_exceptions=True)

    # Receiving changes of other processes

    async def _poll(self) -> None:
        """Read the version periodically, and handle new changes."""
        while True:
            started_at = self._loop_time()
            try:
                async with asyncio.timeout(self._stale_seconds):
                    version = await self._database.read(_read_version)
                    changes = await self._database.read(_list_changes) if version != self._handled_version else []
            except (StoreUnavailable, TimeoutError):
                if not self.is_current:
                    log.warning("The store does not respond, so that cached permissions and tokens are not used")
            except Exception:
                log.exception("The changes of other processes could not be read")
            else:
                self._deliver_new(changes)
                self._last_poll_at = started_at
                self._bus.resume()
            if self._unsettled_changes and (self._settle_task is None or self._settle_task.done()):
                # A job or gateway command changed rights: no response waits for it.
                self._settle_task = asyncio.get_running_loop().create_task(self._settle_in_background())
            await asyncio.sleep(max(0.0, started_at + self._poll_seconds - self._loop_time()))

    async def _settle_in_background(self) -> None:
        with contextlib.suppress(StoreUnavailable):
            await self.settle()

    def _deliver_new(self, changes: list[StoredChange]) -> None:
        """Deliver changes that were not delivered yet to the subscribers of this process; report a gap if some are missing."""
        new_changes = [change for change in changes if change.version > self._handled_version]
        if not new_changes:
            return
        if new_changes[0].version > self._handled_version + 1:
            self._bus.notify_gap()
        for change in new_changes:
            dispatch = change.dispatch
            for subject in dispatch.subjects:
                self._bus.deliver_local(subject, dispatch)
        self._handled_version = new_changes[-1].version


def _read_version(tx: Tx) -> int:
    return int(meta.find(tx, _VERSION_NAME) or 0)


def _list_changes(tx: Tx) -> list[StoredChange]:
    """Return the stored changes, oldest first."""
    return codec.decode(meta.find(tx, _CHANGES_NAME) or "[]", list[StoredChange])


def _insert_changes(tx: Tx, dispatches: list[Dispatch]) -> None:
    """Append changes to the list in the store; several changes of one guild are one entry."""
    version = _read_version(tx)
    changes = _list_changes(tx)
    guild_ids: set[int] = set()
    for dispatch in dispatches:
        if isinstance(dispatch.audience, GuildAudience):
            # The codec encodes IDs as strings.
            guild_id = int(dispatch.audience.guild_id)
            if guild_id in guild_ids:
                continue
            guild_ids.add(guild_id)
            version += 1
            changes.append(StoredChange(version=version, guild_id=guild_id))
        else:
            version += 1
            changes.append(
                StoredChange(
                    version=version,
                    event=dispatch.event,
                    body=dispatch.body.decode(),
                    user_ids=sorted(map(int, dispatch.audience.users)),
                )
            )
    meta.put(tx, _CHANGES_NAME, codec.encode(changes[-STORED_CHANGES_MAX:]).decode())
    meta.put(tx, _VERSION_NAME, str(version))
