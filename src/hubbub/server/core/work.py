"""For the few operations and jobs that cannot be one transaction: those that hash a password, call out, or wait.

Their handler is `async def (work, *path parameters, body?, query?)`, that of a job `async def (work, job)`. It does each step
through `work`: a read, a write, something heavy in a thread, or a call to the outside. Everything else is a plain function over a
`Call`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

from hubbub.protocol.operation import Operation
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.files import Files
from hubbub.server.core.guarded import GuardedClient
from hubbub.server.core.payments import NoPayments, PaymentProvider
from hubbub.server.core.refusals import Refusal, follow
from hubbub.server.core.store import Database, Tx

T = TypeVar("T")

Perform = Callable[[Operation[Any, Any], Sequence[Any], str, bytes], Awaitable[None]]
"""Does an operation: its path parameters, then the content type and the bytes of its body."""


class Work:
    """One request or job whose handler waits between its transactions."""

    def __init__(
        self,
        database: Database,
        make_call: Callable[[Tx], Call],
        executor: Executor,
        actor: Actor | None,
        *,
        files: Files,
        outside: GuardedClient | None = None,
        payments: PaymentProvider | None = None,
        perform: Perform | None = None,
    ) -> None:
        self._database = database
        self._make_call = make_call
        self._executor = executor
        self.actor = actor
        self.files = files
        self.outside = outside or GuardedClient()
        """The way to addresses that users supply."""
        self.payments = payments or NoPayments()
        self._perform = perform

    def read(self, step: Callable[[Call], T], *, long: bool = False) -> Awaitable[T]:
        """Run a step over a consistent snapshot; `long` for one that may take more than a few milliseconds."""
        return self._database.read(lambda tx: step(self._make_call(tx)), long=long)

    async def write(self, step: Callable[[Call], T]) -> T:
        """Run a step in a writing transaction."""
        try:
            return await self._database.write(lambda tx: step(self._make_call(tx)))
        except Refusal as refusal:
            await follow(refusal, self._database, self._make_call)
            raise

    async def perform(
        self, operation: Operation[Any, Any], path: Sequence[Any], content_type: str, data: bytes
    ) -> None:
        """Do an operation without a token, with a body as somebody answered it; ApiError where it is refused."""
        if self._perform is None:
            raise RuntimeError("only jobs perform operations")
        await self._perform(operation, path, content_type, data)

    def heavy(self, function: Callable[..., T], *arguments: Any) -> Awaitable[T]:
        """Run what takes the processor a while off the event loop and off the store's threads, a few at a time."""
        return asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)
