"""The context of operations and jobs that need more than one transaction: to hash passwords, call services, or wait.

Such an operation handler is `async def (operation, *path parameters, body?, query?)`, a job handler `async def (operation, job)`.
Each step goes through the `AsyncOperation`: a read, a write, CPU-heavy code in a thread, or an outbound request. All other handlers
are plain functions over a `Call`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

from hubbub.protocol.operation import Operation
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.files import Files
from hubbub.server.core.mail import Mailer, NoMailer
from hubbub.server.core.outbound_http import OutboundClient
from hubbub.server.core.page_reader import PageReader
from hubbub.server.core.payments import NoPayments, PaymentProvider
from hubbub.server.core.rejections import RejectedWithSideEffects, run_side_effects
from hubbub.server.core.store import Database, Tx

T = TypeVar("T")

PerformOperation = Callable[[Operation[Any, Any], Sequence[Any], str, bytes], Awaitable[None]]
"""Function that performs an operation from its path parameters, and the content type and bytes of its body."""


class AsyncOperation:
    """One request or job whose handler awaits between its transactions."""

    def __init__(
        self,
        database: Database,
        make_call: Callable[[Tx], Call],
        executor: Executor,
        actor: Actor | None,
        *,
        files: Files,
        outbound: OutboundClient | None = None,
        payments: PaymentProvider | None = None,
        mailer: Mailer | None = None,
        perform: PerformOperation | None = None,
        page_reader: PageReader | None = None,
    ) -> None:
        """Create the context of a request or job; `actor` is None for a job or a request without a token.

        `make_call` builds the call of each transaction. `mailer` sends mail, `perform` runs an operation and `page_reader` parses
        web pages; they are given only to jobs."""
        self._database = database
        self._make_call = make_call
        self._executor = executor
        self.actor = actor
        self.files = files
        self.outbound = outbound or OutboundClient()
        """The client for URLs that users supply."""
        self.payments = payments or NoPayments()
        self.mailer = mailer or NoMailer()
        """The mailer, which only jobs use."""
        self.page_reader = page_reader or PageReader()
        """The reader of web pages, which only jobs use."""
        self._perform = perform

    def read(self, step: Callable[[Call], T], *, long: bool = False) -> Awaitable[T]:
        """Run a step over a consistent snapshot; `long` marks one that may take more than a few milliseconds."""
        return self._database.read(lambda tx: step(self._make_call(tx)), long=long)

    async def write(self, step: Callable[[Call], T]) -> T:
        """Run a step in a writing transaction."""
        try:
            return await self._database.write(lambda tx: step(self._make_call(tx)))
        except RejectedWithSideEffects as rejection:
            await run_side_effects(rejection, self._database, self._make_call)
            raise

    async def perform(
        self, operation: Operation[Any, Any], path_parameters: Sequence[Any], content_type: str, body: bytes
    ) -> None:
        """Perform an operation without a token, with a body received from an application.

        Raise ApiError if the operation is rejected."""
        if self._perform is None:
            raise RuntimeError("only jobs can perform operations")
        await self._perform(operation, path_parameters, content_type, body)

    def run_in_thread(self, function: Callable[..., T], *arguments: Any) -> Awaitable[T]:
        """Run CPU-heavy code in a bounded thread pool, off the event loop and the store's threads."""
        return asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)
