"""Operations that a provisional account cannot do: the game is asked to link it, and says how that went."""

import asyncio

from hubbub.sdk.core import Core, Held
from hubbub.sdk.enums import ErrorType
from hubbub.sdk.results import failure


class Merges:
    """Those that wait for a merge."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._waiting: list[asyncio.Future[bool]] = []

    def provisional_user_merge_completed(self, success: bool) -> None:
        """Say how the merge ended that a callback asked for; what waits goes on, or fails."""
        self._core.driver.post(self._completed, success)

    async def required(self, ask: Held) -> None:
        """Ask the game, and wait for its answer; nobody is there to answer once callbacks were reset."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        if not self._core.tell(ask):
            answer.set_result(False)
        try:
            merged = await answer
        finally:
            if answer in self._waiting:
                self._waiting.remove(answer)
        if not merged:
            raise failure(ErrorType.ABORTED, "the account was not linked")

    def _completed(self, success: bool) -> None:
        for answer in self._waiting:
            if not answer.done():
                answer.set_result(success)
        self._waiting.clear()
