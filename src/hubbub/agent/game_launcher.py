"""Launching of a game whose invite the user accepted, if it is not running (spec/sdk.md#10.2)."""

import asyncio
import logging
import subprocess
import threading
from collections.abc import Callable
from typing import Any, Final

from hubbub.sdk.daemon_threads import run_in_daemon_thread
from hubbub.sdk.launch_entries import LaunchCommand, find_launch

log = logging.getLogger(__name__)

LAUNCH_TIMEOUT_SECONDS: Final = 60.0
"""Maximum time for a game to start and subscribe; afterwards its pending join is dropped."""


class GameLauncher:
    """Launches games, and holds their pending join until they subscribe to it."""

    def __init__(self, is_connected: Callable[[str], bool], send: Callable[[str, Any], int]) -> None:
        self._is_connected = is_connected
        self._send = send
        self.timeout_seconds = LAUNCH_TIMEOUT_SECONDS
        self._pending: dict[str, tuple[Any, asyncio.TimerHandle]] = {}

    async def join(self, application_id: str, data: Any) -> bool:
        """Send a join to a game once it subscribes, and launch the game if needed.

        Returns False if the game is not running and has no launch command."""
        already_pending = application_id in self._pending
        self._add_pending(application_id, data)
        if already_pending or self._is_connected(application_id) or await self._start(application_id):
            return True
        self._drop_pending(application_id)
        return False

    def subscribed(self, application_id: str) -> None:
        """Send the pending join of a game whose program just subscribed."""
        if application_id in self._pending:
            # Send it after the response to SUBSCRIBE, which the program waits for.
            asyncio.get_running_loop().call_soon(self._send_pending, application_id)

    def close(self) -> None:
        """Drop all pending joins; launched games keep running."""
        for application_id in list(self._pending):
            self._drop_pending(application_id)

    def _add_pending(self, application_id: str, data: Any) -> None:
        self._drop_pending(application_id)
        timer = asyncio.get_running_loop().call_later(self.timeout_seconds, self._drop_pending, application_id)
        self._pending[application_id] = (data, timer)

    def _drop_pending(self, application_id: str) -> None:
        pending = self._pending.pop(application_id, None)
        if pending is not None:
            pending[1].cancel()

    def _send_pending(self, application_id: str) -> None:
        pending = self._pending.get(application_id)
        if pending is not None and self._send(application_id, pending[0]):
            self._drop_pending(application_id)

    async def _start(self, application_id: str) -> bool:
        launch = find_launch(application_id)
        if launch is None:
            return False
        try:
            await run_in_daemon_thread(_run, launch)
        except OSError as error:
            log.warning("Could not start %s: %s", launch.arguments[0], error)
            return False
        return True


def _run(launch: LaunchCommand) -> None:
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
