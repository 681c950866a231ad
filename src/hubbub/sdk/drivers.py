"""Drivers that run the network code on the event loop of an asyncio program, or on a separate thread for a game loop.

Both run the same coroutines. With `LoopDriver` the event loop delivers callbacks; with `ThreadDriver` the game does, by
calling `run_callbacks`. A `Completion` is the result of an operation that a driver runs.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar

from hubbub.sdk.callback_queue import CallbackQueue
from hubbub.sdk.enums import ErrorType
from hubbub.sdk.results import sdk_error

T = TypeVar("T")

JOIN_TIMEOUT_SECONDS = 1.0
"""Maximum time in seconds that closing waits for the thread, which usually ends within milliseconds and is a daemon."""


class Completion(Generic[T]):
    """A running operation: `await` it to get its value, or a `results.SdkError` if it fails.

    The operation is already running and does not have to be awaited. Canceling the awaiting task cancels the
    operation."""

    def __init__(self) -> None:
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.wrap_future(self._future).__await__()

    def result(self, timeout_seconds: float | None = None) -> T:
        """Block until the operation ends and return its value, or raise its `results.SdkError`.

        Raise TimeoutError after `timeout_seconds` seconds. For scripts only: a game must not block, and on an event loop's
        own thread this never returns."""
        return self._future.result(timeout_seconds)

    @property
    def done(self) -> bool:
        """Whether the operation has ended."""
        return self._future.done()

    def succeed(self, value: T) -> None:
        """Complete the operation with a value; ignored if it has ended."""
        if not self._future.done():
            self._future.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Complete the operation with an exception; ignored if it has ended."""
        if not self._future.done():
            self._future.set_exception(error)

    def follow(self, cancel: Callable[[], None]) -> None:
        """Call `cancel` when the awaiting task is canceled."""

        def on_end(future: "concurrent.futures.Future[T]") -> None:
            if future.cancelled():
                cancel()

        self._future.add_done_callback(on_end)


class Driver(Protocol):
    """Interface for running coroutines on the network loop."""

    def spawn(
        self, work: Callable[[], Coroutine[Any, Any, T]], on_done: Callable[["asyncio.Task[T] | None"], None]
    ) -> None:
        """Run the coroutine function `work` and pass its finished task to `on_done`; pass None if the driver has stopped."""

    def post(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function on the network loop; do nothing if the loop does not run."""

    def stop(self, final_work: Callable[[], Coroutine[Any, Any, None]], completion: Completion[None]) -> None:
        """Reject new coroutines, run the coroutine function `final_work`, stop, and complete `completion`."""


class LoopDriver:
    """Driver that uses the running event loop of the program; `callback_queue` is the callback queue of the client."""

    def __init__(self, callback_queue: CallbackQueue) -> None:
        self._loop = asyncio.get_running_loop()
        self._callback_queue = callback_queue
        self._is_delivery_scheduled = False
        self._is_stopped = False
        self._stop_task: asyncio.Task[None] | None = None
        callback_queue.on_put = self._schedule_delivery

    def _schedule_delivery(self) -> None:
        if self._is_delivery_scheduled or self._loop.is_closed():
            return
        self._is_delivery_scheduled = True
        self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._is_delivery_scheduled = False
        try:
            self._callback_queue.run()
        finally:
            if len(self._callback_queue):
                self._schedule_delivery()

    def spawn(
        self, work: Callable[[], Coroutine[Any, Any, T]], on_done: Callable[["asyncio.Task[T] | None"], None]
    ) -> None:
        """Run `work` as a task of the loop and pass the finished task to `on_done`."""
        if self._is_stopped or self._loop.is_closed():
            on_done(None)
            return
        task = self._loop.create_task(work())
        task.add_done_callback(on_done)

    def post(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function on the loop, unless it is closed; safe to call from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)

    def stop(self, final_work: Callable[[], Coroutine[Any, Any, None]], completion: Completion[None]) -> None:
        """Run `final_work` as a task, and complete `completion` when it ends."""
        if self._is_stopped or self._loop.is_closed():
            completion.succeed(None)
            return
        self._is_stopped = True
        self._stop_task = self._loop.create_task(final_work())
        self._stop_task.add_done_callback(lambda _: completion.succeed(None))


class ThreadDriver:
    """Driver with its own network thread, which starts with the first operation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Guards the attributes of the driver."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_stopped = False

    def _ensure_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop of the network thread, which is started first if needed."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._run_loop, args=(self._loop,), name="hubbub-network", daemon=True
            )
            self._thread.start()
        return self._loop

    def _run_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            # The loop's executor is not shut down: blocking calls run on daemon threads instead.
            asyncio.set_event_loop(None)
            loop.close()

    def spawn(
        self, work: Callable[[], Coroutine[Any, Any, T]], on_done: Callable[["asyncio.Task[T] | None"], None]
    ) -> None:
        """Run `work` on the network thread and pass the finished task to `on_done`, which runs on that thread as well."""
        with self._lock:
            if not self._is_stopped:
                loop = self._ensure_loop()
                loop.call_soon_threadsafe(_create_task, loop, work, on_done)
                return
        on_done(None)

    def post(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function on the network thread, if it is running."""
        with self._lock:
            if self._loop is not None and not self._is_stopped:
                self._loop.call_soon_threadsafe(function, *args)

    def stop(self, final_work: Callable[[], Coroutine[Any, Any, None]], completion: Completion[None]) -> None:
        """Run `final_work` on the network thread, if it was started, and wait for the thread to end.

        The wait is limited by `JOIN_TIMEOUT_SECONDS`; `completion` is completed in any case."""
        with self._lock:
            was_stopped, self._is_stopped = self._is_stopped, True
            loop, thread = self._loop, self._thread
            if not was_stopped and loop is not None:
                # The loop runs its callbacks in order, so operations that were spawned earlier start before `final_work`.
                loop.call_soon_threadsafe(_create_task, loop, final_work, lambda _: loop.stop())
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_TIMEOUT_SECONDS)
        completion.succeed(None)


def _create_task(
    loop: asyncio.AbstractEventLoop,
    work: Callable[[], Coroutine[Any, Any, T]],
    on_done: Callable[["asyncio.Task[T] | None"], None],
) -> None:
    loop.create_task(work()).add_done_callback(on_done)


def client_destroyed_error() -> Exception:
    """Build the error of an operation whose client was destroyed."""
    return sdk_error(ErrorType.CLIENT_DESTROYED, "The client was destroyed")
