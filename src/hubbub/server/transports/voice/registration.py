"""Registration of this voice server among several: periodic heartbeats, and removal on shutdown."""

import asyncio
import logging
from collections.abc import Callable

from hubbub.server.core.call import Call
from hubbub.server.core.store import Database, StoreUnavailable, Tx
from hubbub.server.core.voice import HEARTBEAT_MS, VoiceTickets

log = logging.getLogger(__name__)


class VoiceServerRegistration:
    """Keeps this voice server in the list of servers that clients are assigned to."""

    def __init__(self, db: Database, tickets: VoiceTickets, make_call: Callable[[Tx], Call], endpoint: str) -> None:
        self._db = db
        self._tickets = tickets
        self._make_call = make_call
        self._endpoint = endpoint
        self._heartbeat_task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Register the server and start its heartbeat."""
        await self._run_action(self._tickets.record_heartbeat)
        self._heartbeat_task = asyncio.get_running_loop().create_task(self._send_heartbeats())

    async def stop(self) -> None:
        """Unregister the server; its clients are assigned to other servers (spec/voice.md#6)."""
        if self._heartbeat_task is not None:
            self._heartbeat_task.cancel()
        try:
            await self._run_action(self._tickets.remove_server)
        except StoreUnavailable:
            log.warning("Failed to unregister the voice server; its registration will expire")

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_MS / 1000)
            try:
                await self._run_action(self._tickets.record_heartbeat)
            except StoreUnavailable:
                log.warning("Failed to renew the voice server's registration; retrying")

    async def _run_action(self, action: Callable[[Call, str], None]) -> None:
        await self._db.write(lambda tx: action(self._make_call(tx), self._endpoint))
