"""One voice server among several: it says that it is there, again and again, and takes leave when it stops."""

import asyncio
import logging
from collections.abc import Callable

from hubbub.server.core.call import Call
from hubbub.server.core.store import Database, StoreUnavailable, Tx
from hubbub.server.core.voice import BEAT_MS, VoiceSource

log = logging.getLogger(__name__)


class Announcing:
    """Keeps this voice server among those that clients are sent to."""

    def __init__(self, db: Database, source: VoiceSource, make_call: Callable[[Tx], Call], endpoint: str) -> None:
        self._db = db
        self._source = source
        self._make_call = make_call
        self._endpoint = endpoint
        self._beating: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """We are there."""
        await self._say(self._source.serve)
        self._beating = asyncio.get_running_loop().create_task(self._beat())

    async def stop(self) -> None:
        """We are not: clients are told where to go next (voice.md 6)."""
        if self._beating is not None:
            self._beating.cancel()
        try:
            await self._say(self._source.withdraw)
        except StoreUnavailable:
            log.warning("the voice server could not take leave; others miss it soon")

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_MS / 1000)
            try:
                await self._say(self._source.serve)
            except StoreUnavailable:
                log.warning("the voice server could not say that it is there")

    async def _say(self, word: Callable[[Call, str], None]) -> None:
        await self._db.write(lambda tx: word(self._make_call(tx), self._endpoint))
