"""Launching of a game whose invite the user accepted, if it is not running (sdk.md 10.2)."""

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
"""Maximum time for a game to start and subscribe; afterwards its pending join is dropped."""


class Launcher:
    """Launches games, and holds their pending join until they subscribe to it."""

    def __init__(self, is_connected: Callable[[str], bool], send: Callable[[str, Any], int]) -> None:
        self._is_connected = is_connected
        self._send = send
        self.wait_s = WAIT_S
        self._kept: dict[str, tuple[Any, asyncio.TimerHandle]] = {}

    async def join(self, application_id: str, data: Any) -> bool:
        """Send a join to a game once it subscribes, and launch the game if needed.

        Returns False if the game is not running and has no launch command."""
        already_pending = application_id in self._kept
        self._add_pending(application_id, data)
        if already_pending or self._is_connected(application_id) or await self._start(application_id):
            return True
        self._drop_pending(application_id)
        return False

    def listens(self, application_id: str) -> None:
        """Send the pending join of a game whose program just subscribed."""
        if application_id in self._kept:
            # Send it after the response to SUBSCRIBE, which the program waits for.
            asyncio.get_running_loop().call_soon(self._send_pending, application_id)

    def close(self) -> None:
        """Drop all pending joins; launched games keep running."""
        for application_id in list(self._kept):
            self._drop_pending(application_id)

    def _add_pending(self, application_id: str, data: Any) -> None:
        self._drop_pending(application_id)
        timer = asyncio.get_running_loop().call_later(self.wait_s, self._drop_pending, application_id)
        self._kept[application_id] = (data, timer)

    def _drop_pending(self, application_id: str) -> None:
        pending = self._kept.pop(application_id, None)
        if pending is not None:
            pending[1].cancel()

    def _send_pending(self, application_id: str) -> None:
        pending = self._kept.get(application_id)
        if pending is not None and self._send(application_id, pending[0]):
            self._drop_pending(application_id)

    async def _start(self, application_id: str) -> bool:
        launch = find(application_id)
        if launch is None:
            return False
        try:
            await aside(_run, launch)
        except OSError as error:
            log.warning("Could not start %s: %s", launch.arguments[0], error)
            return False
        return True


def _run(launch: Launch) -> None:
    """Start a program in its own session, and wait for it on a thread so that it does not become a zombie."""
    process = subprocess.Popen(
        launch.arguments,
        cwd=launch.working_directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=process.wait, name="hubbub-game", daemon=True).start()
