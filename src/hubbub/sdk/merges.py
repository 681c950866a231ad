"""Merge of a provisional account, for operations that require a full account: the game merges it and reports the outcome."""

import asyncio

from hubbub.sdk.core import Core, OneShotCallback
from hubbub.sdk.enums import ErrorType
from hubbub.sdk.results import sdk_error


class Merges:
    """Component of the client through which operations wait until the game has merged an account."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._waiting: list[asyncio.Future[bool]] = []
        """Outcomes that operations wait for: whether the account was merged."""

    def provisional_user_merge_completed(self, success: bool) -> None:
        """Report the outcome of the account merge that a `provisional_user_merge_required` callback asked for.

        On success the waiting operations continue; otherwise they complete with `ErrorType.ABORTED`."""
        self._core.driver.post(self._resolve_waiting, success)

    async def request_merge(self, callback: OneShotCallback) -> None:
        """Ask the game to merge the account and wait for its report.

        Raise `SdkError` of type ABORTED if the merge failed or the callback was reset."""
        outcome: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(outcome)
        if not self._core.call_once(callback):
            outcome.set_result(False)
        try:
            is_merged = await outcome
        finally:
            if outcome in self._waiting:
                self._waiting.remove(outcome)
        if not is_merged:
            raise sdk_error(ErrorType.ABORTED, "The provisional account was not merged")

    def _resolve_waiting(self, is_success: bool) -> None:
        for outcome in self._waiting:
            if not outcome.done():
                outcome.set_result(is_success)
        self._waiting.clear()
