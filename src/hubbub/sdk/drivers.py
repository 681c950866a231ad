"""Where the network lives: on the event loop of an asyncio program, or on a thread of its own beside a game loop.

Both run the same coroutines. What they differ in is who delivers callbacks: the loop by itself, or the game by pumping.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar

from hubbub.sdk.enums import ErrorType
from hubbub.sdk.pump import Pump
from hubbub.sdk.results import failure

T = TypeVar("T")

JOIN_SECONDS = 1.0
"""How long closing waits for the thread, which takes milliseconds; it is a daemon, so a program ends in any case."""


class Completion(Generic[T]):
    """Something under way: it was started already, `await` gives its value or raises SdkError."""

    def __init__(self) -> None:
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._give_up: Callable[[], None] | None = None

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.wrap_future(self._future).__await__()

    def result(self, timeout_s: float | None = None) -> T:
        """Wait for the value; for scripts, since a game should never wait."""
        return self._future.result(timeout_s)

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return self._future.done()

    def succeed(self, value: T) -> None:
        """It went well."""
        if not self._future.done():
            self._future.set_result(value)

    def fail(self, error: BaseException) -> None:
        """It did not."""
        if not self._future.done():
            self._future.set_exception(error)

    def follow(self, cancel: Callable[[], None]) -> None:
        """Whoever gives up waiting ends the work."""

        def ended(future: "concurrent.futures.Future[T]") -> None:
            if future.cancelled():
                cancel()

        self._future.add_done_callback(ended)


class Driver(Protocol):
    """Runs coroutines somewhere."""

    def spawn(
        self, work: Callable[[], Coroutine[Any, Any, T]], done: Callable[["asyncio.Task[T] | None"], None]
    ) -> None:
        """Run it, and tell `done` its task once it is over; or None where nothing can be run any more."""

    def post(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function where the network lives; nowhere if that is gone."""

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]], completion: Completion[None]) -> None:
        """Refuse new work, run `last`, and let everything go."""


class LoopDriver:
    """Lives on an event loop that somebody else runs."""

    def __init__(self, pump: Pump) -> None:
        self._loop = asyncio.get_running_loop()
        self._pump = pump
        self._waiting = False
        self._stopped = False
        self._last: asyncio.Task[None] | None = None
        pump.wake = self._wake

    def _wake(self) -> None:
        if self._waiting or self._loop.is_closed():
            return
        self._waiting = True
        self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._waiting = False
        try:
            self._pump.run()
        finally:
            if len(self._pump):
                self._wake()

    def spawn(
        self, work: Callable[[], Coroutine[Any, Any, T]], done: Callable[["asyncio.Task[T] | None"], None]
    ) -> None:
        """Run it as a task of the loop."""
        if self._stopped or self._loop.is_closed():
            done(None)
            return
        task = self._loop.create_task(work())
        task.add_done_callback(done)

    def post(self, function: Callable[..., object], *args: Any) -> None:
        """Call it soon."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]], completion: Completion[None]) -> None:
        """Run `last` as a task; whoever awaits the completion sees the end."""
        if self._stopped or self._loop.is_closed():
            completion.succeed(None)
            return
        self._stopped = True
        self._last = self._loop.create_task(last())
        self._last.add_done_callback(lambda _: completion.succeed(None))


class ThreadDriver:
    """Lives on a thread of its own, which begins with the first work."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False

    def _start(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=(self._loop,), name="hubbub-network", daemon=True)
            self._thread.start()
        return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            # The loop's executor is not waited for: what blocks is done aside.
            asyncio.set_event_loop(None)
            loop.close()

    def spawn(
        self, work: Callable[[], Coroutine[Any, Any, T]], done: Callable[["asyncio.Task[T] | None"], None]
    ) -> None:
        """Run it on the thread."""
        with self._guard:
            if not self._stopped:
                loop = self._start()
                loop.call_soon_threadsafe(_begin, loop, work, done)
                return
        done(None)

    def post(self, function: Callable[..., object], *args: Any) -> None:
        """Call it on the thread, if there is one."""
        with self._guard:
            if self._loop is not None and not self._stopped:
                self._loop.call_soon_threadsafe(function, *args)

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]], completion: Completion[None]) -> None:
        """Run `last` on the thread and wait for the thread's end."""
        with self._guard:
            stopped, self._stopped = self._stopped, True
            loop, thread = self._loop, self._thread
            if not stopped and loop is not None:
                # Work that was handed over before has begun by then: what the loop is told, it does in order.
                loop.call_soon_threadsafe(_begin, loop, last, lambda _: loop.stop())
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_SECONDS)
        completion.succeed(None)


def _begin(
    loop: asyncio.AbstractEventLoop,
    work: Callable[[], Coroutine[Any, Any, T]],
    done: Callable[["asyncio.Task[T] | None"], None],
) -> None:
    loop.create_task(work()).add_done_callback(done)


def destroyed() -> Exception:
    """What becomes of work without a client."""
    return failure(ErrorType.CLIENT_DESTROYED, "the client was destroyed")
