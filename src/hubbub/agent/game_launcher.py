"""Launcher for games that are not running when the user accepts an invite to them (spec/sdk.md#10.2)."""

import asyncio
import logging
import subprocess
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hubbub.sdk.daemon_threads import run_in_daemon_thread
from hubbub.sdk.launch_entries import LaunchCommand, find_launch

log = logging.getLogger(__name__)

LAUNCH_TIMEOUT_SECONDS: Final = 60.0
"""Maximum time for a game to start and subscribe; afterwards its pending ACTIVITY_JOIN is dropped."""


class PendingJoin(NamedTuple):
    """An ACTIVITY_JOIN event that waits for the subscription of its game."""

    payload: Any
    """Payload of the event."""
    timer: asyncio.TimerHandle
    """Timer that drops the event."""


class GameLauncher:
    """Launcher of games, which holds the ACTIVITY_JOIN event of each game until the game subscribes to it."""

    def __init__(self, is_connected: Callable[[str], bool], publish_join: Callable[[str, Any], int]) -> None:
        """Create a launcher.

        `is_connected` returns whether a program of an application is connected. `publish_join` sends ACTIVITY_JOIN to the
        programs of an application and returns the number of programs that received it."""
        self._is_connected = is_connected
        self._publish_join = publish_join
        self.timeout_seconds = LAUNCH_TIMEOUT_SECONDS
        self._pending: dict[str, PendingJoin] = {}
        """Pending ACTIVITY_JOIN events by application ID."""

    async def join_game(self, application_id: str, payload: Any) -> bool:
        """Send ACTIVITY_JOIN to a game once it subscribes, and launch the game if needed.

        `payload` is that of the event. Return False if the game is not running and cannot be launched."""
        is_already_pending = application_id in self._pending
        self._add_pending(application_id, payload)
        if is_already_pending or self._is_connected(application_id) or await self._launch(application_id):
            return True
        self._drop_pending(application_id)
        return False

    def on_subscribed(self, application_id: str) -> None:
        """Send the pending ACTIVITY_JOIN of a game whose program just subscribed to it."""
        if application_id in self._pending:
            # Send the event after the response to SUBSCRIBE, because the program waits for the response.
            asyncio.get_running_loop().call_soon(self._send_pending, application_id)

    def close(self) -> None:
        """Drop all pending events; launched games keep running."""
        for application_id in list(self._pending):
            self._drop_pending(application_id)

    def _add_pending(self, application_id: str, payload: Any) -> None:
        self._drop_pending(application_id)
        timer = asyncio.get_running_loop().call_later(self.timeout_seconds, self._drop_pending, application_id)
        self._pending[application_id] = PendingJoin(payload, timer)

    def _drop_pending(self, application_id: str) -> None:
        pending_launch = self._pending.pop(application_id, None)
        if pending_launch is not None:
            pending_launch.timer.cancel()

    def _send_pending(self, application_id: str) -> None:
        pending_launch = self._pending.get(application_id)
        if pending_launch is not None and self._publish_join(application_id, pending_launch.payload):
            self._drop_pending(application_id)

    async def _launch(self, application_id: str) -> bool:
        launch = find_launch(application_id)
        if launch is None:
            return False
        try:
            await run_in_daemon_thread(_start_process, launch)
        except OSError as error:
            log.warning("Could not start %s: %s", launch.arguments[0], error)
            return False
        return True


def _start_process(launch: LaunchCommand) -> None:
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
