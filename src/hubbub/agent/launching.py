"""Starting a game that somebody was invited to and that does not run yet (sdk.md 10.2)."""

import asyncio
import logging
import subprocess
import threading
from collections.abc import Callable
from typing import Any, Final

from hubbub.sdk.aside import aside
from hubbub.sdk.launching import Launch, find

log = logging.getLogger(__name__)

WAIT_S: Final = 60.0
"""How long a game may take to start and to listen; after that it is not told to join any more."""


class Launcher:
    """Starts games, and keeps what they are to hear until they listen."""

    def __init__(self, runs: Callable[[str], bool], tell: Callable[[str, Any], int]) -> None:
        self._runs = runs
        self._tell = tell
        self.wait_s = WAIT_S
        self._kept: dict[str, tuple[Any, asyncio.TimerHandle]] = {}

    async def join(self, application_id: str, data: Any) -> bool:
        """Tell a game to join once it listens, and start it if it does not run; False where nobody said how."""
        under_way = application_id in self._kept
        self._keep(application_id, data)
        if under_way or self._runs(application_id) or await self._start(application_id):
            return True
        self._forget(application_id)
        return False

    def listens(self, application_id: str) -> None:
        """A program of a game listens from now on."""
        if application_id in self._kept:
            # After the answer to its SUBSCRIBE, which it waits for.
            asyncio.get_running_loop().call_soon(self._tell_kept, application_id)

    def close(self) -> None:
        """Wait for nobody any more; games that were started go on."""
        for application_id in list(self._kept):
            self._forget(application_id)

    def _keep(self, application_id: str, data: Any) -> None:
        self._forget(application_id)
        timer = asyncio.get_running_loop().call_later(self.wait_s, self._forget, application_id)
        self._kept[application_id] = (data, timer)

    def _forget(self, application_id: str) -> None:
        kept = self._kept.pop(application_id, None)
        if kept is not None:
            kept[1].cancel()

    def _tell_kept(self, application_id: str) -> None:
        kept = self._kept.get(application_id)
        if kept is not None and self._tell(application_id, kept[0]):
            self._forget(application_id)

    async def _start(self, application_id: str) -> bool:
        launch = find(application_id)
        if launch is None:
            return False
        try:
            await aside(_run, launch)
        except OSError as error:
            log.warning("%s could not be started: %s", launch.arguments[0], error)
            return False
        return True


def _run(launch: Launch) -> None:
    """Start a program that lives on without us, and hear its end, so that it leaves nothing behind."""
    process = subprocess.Popen(
        launch.arguments,
        cwd=launch.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=process.wait, name="hubbub-game", daemon=True).start()
