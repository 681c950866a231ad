"""State shared by the parts of a client: its lock, cache, callback queue, and the code that runs operations.

All network code runs as coroutines on the driver's loop. The game's thread only starts operations, reads the cache
under the lock, and delivers callbacks.
"""

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

import msgspec
from yarl import URL

from hubbub.protocol import codec
from hubbub.protocol.request_paths import name_value_pairs
from hubbub.sdk import tolerant_models
from hubbub.sdk.api import Api
from hubbub.sdk.cache import Cache
from hubbub.sdk.callback_queue import CallbackQueue
from hubbub.sdk.clock import Clock, PlatformClock, read_machine_ms
from hubbub.sdk.drivers import Completion, Driver, LoopDriver, ThreadDriver, client_destroyed_error
from hubbub.sdk.enums import ClientError, ClientStatus, ErrorType
from hubbub.sdk.logs import Logs
from hubbub.sdk.records import ClientCreateOptions, Fields
from hubbub.sdk.results import ClientResult, SdkError, result_of_exception, sdk_error

if TYPE_CHECKING:
    from hubbub.protocol.operation import BodyT, Operation, ResultT

T = TypeVar("T")
P = ParamSpec("P")

WEB_BASE: Final = "http://127.0.0.1:8080"
"""Default address of `hubbub dev` and `hubbub serve`."""


class OneShotCallback:
    """A callback that is called at most once; `Core.reset` clears it."""

    __slots__ = ("__weakref__", "callback")

    def __init__(self, callback: Callable[..., object] | None) -> None:
        self.callback = callback


class Core:
    """The shared state of one client and its parts.

    `threaded` selects the driver; None selects the running event loop, or a thread if there is none. `clock` is the
    machine's clock. `class_variants` maps SDK classes to the subclasses whose objects the client returns."""

    def __init__(
        self,
        options: ClientCreateOptions,
        *,
        threaded: bool | None = None,
        clock: Clock = read_machine_ms,
        class_variants: Mapping[type, type] | None = None,
    ) -> None:
        self.options = options
        self.web_base: Final = (options.web_base or _origin(options.api_base) or WEB_BASE).rstrip("/")
        self.clock: Final = PlatformClock(clock)
        """The platform's clock; log lines use the machine's clock."""
        self.api: Final = Api(options.api_base or self.web_base, clock=self.clock)
        self._class_variants = class_variants or {}
        self.lock: Final = threading.RLock()
        """Guards the cache and the state of the session, which the network thread writes and the game's thread reads."""
        self.cache: Final = Cache()
        self.callback_queue: Final = CallbackQueue()
        self.logs: Final = Logs(self.callback_queue, clock, debug=options.debug_logging)
        uses_thread = not _in_event_loop() if threaded is None else threaded
        self.driver: Final[Driver] = ThreadDriver() if uses_thread else LoopDriver(self.callback_queue)
        self.callbacks: Final[dict[str, Callable[..., object]]] = {}
        """The event callbacks by event name, one per event."""
        self._pending_callbacks: Final[weakref.WeakSet[OneShotCallback]] = weakref.WeakSet()
        """The callbacks of pending operations."""
        self.reset_hooks: Final[list[Callable[[], None]]] = []
        """Functions with which the parts drop their own callbacks on `reset`."""
        self.status = ClientStatus.DISCONNECTED
        self.application_id = 0
        """ID of the game's application; 0 if it is unknown."""
        self.application_name = ""
        """Name of the game's application, from READY; empty if it is unknown."""
        self.parent_application_id = 0
        """ID of the publisher's application; 0 if the game does not belong to a family."""
        self.token = ""
        """The client's token without its prefix; empty if none is set."""
        self.token_prefix = "Bearer "
        """Prefix of the Authorization header: "Bearer " for an access token, empty for the agent's user token."""
        self.scopes: frozenset[str] = frozenset()
        """The scopes of the token, from READY."""
        self.disabled_functions: frozenset[str] = frozenset()
        """Specification names of the functions that the platform disabled."""
        self.tasks: Final[set[asyncio.Task[Any]]] = set()
        """Running tasks, which are canceled when the client closes."""
        self.close_hooks: Final[list[Callable[[], Awaitable[None]]]] = []
        """Coroutine functions with which the parts release their resources when the client closes."""
        self.status_watchers: Final[list[Callable[[ClientStatus], None]]] = []
        """Functions called with the status when `set_status` changes it or reports an error."""
        self.is_destroyed = False

    # Objects

    def make(self, class_: type[T], *args: Any, **fields: Any) -> T:
        """Create an object for the game, of this client's variant of the class `class_`."""
        variant: Any = self._class_variants.get(class_, class_)
        instance: T = variant.from_platform(**fields) if issubclass(variant, Fields) else variant(*args, **fields)
        return instance

    def class_variant(self, class_: type[T]) -> type[T]:
        """Return this client's variant of the class `class_`; a client of `hubbub.sdk.compat` has its own."""
        return self._class_variants.get(class_, class_)

    def _to_variant(self, result: ClientResult) -> ClientResult:
        """Convert a result to this client's variant of `ClientResult`."""
        variant_class = self.class_variant(ClientResult)
        if isinstance(result, variant_class):
            return result
        variant = object.__new__(variant_class)
        variant.__dict__.update(result.__dict__)
        return variant

    # Events

    def emit(self, event: str, *args: Any) -> None:
        """Queue an event for its callback."""
        self.callback_queue.put(self._deliver, event, args)

    def _deliver(self, event: str, args: tuple[Any, ...]) -> None:
        # The callback is looked up on delivery, so that one that was replaced or reset meanwhile is not called.
        callback = self.callbacks.get(event)
        if callback is not None:
            callback(*args)

    def set_callback(self, event: str, callback: Callable[..., object] | None) -> None:
        """Set the callback of an event, or remove it with None."""
        if callback is None:
            self.callbacks.pop(event, None)
        else:
            self.callbacks[event] = callback

    def hold_callback(self, callback: Callable[..., object] | None) -> OneShotCallback:
        """Wrap the callback of an operation so that `reset` can clear it."""
        one_shot = OneShotCallback(callback)
        with self.lock:
            self._pending_callbacks.add(one_shot)
        return one_shot

    def reset(self) -> None:
        """Drop every callback: of events, logs, queued completions and pending operations (spec/sdk.md#1.2)."""
        with self.lock:
            self.callbacks.clear()
            for one_shot in self._pending_callbacks:
                one_shot.callback = None
            for hook in self.reset_hooks:
                hook()
            self.logs.reset()
            self.callback_queue.clear()

    def set_status(self, status: ClientStatus, error: ClientError = ClientError.NONE, detail: int = 0) -> None:
        """Set the status, call the status watchers and emit `status_changed`.

        Do nothing if the status is the same and there is no error. `detail` is a gateway close code or an HTTP status, or
        0."""
        with self.lock:
            if self.status is status and error is ClientError.NONE:
                return
            self.status = status
        for watcher in self.status_watchers:
            watcher(status)
        self.logs.info(f"Status: {status.label}" + (f", {error.label} {detail}" if error else ""))
        self.emit("status_changed", status, error, detail)

    # Operations

    def run_in_session(
        self,
        name: str,
        callback: Callable[..., object] | None,
        failure_outputs: tuple[Any, ...],
        function: Callable[P, Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Completion[T]:
        """Run an operation that requires the status Ready, and deliver `callback(result, *outputs)` when it ends.

        `name` is the specification's name, by which the platform disables functions. `failure_outputs` are the outputs of a
        failure."""
        return self._start_operation(callback, failure_outputs, self._run_when_ready, name, function, *args, **kwargs)

    def run(
        self,
        name: str,
        callback: Callable[..., object] | None,
        failure_outputs: tuple[Any, ...],
        function: Callable[P, Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Completion[T]:
        """Run an operation that does not require a session (spec/sdk.md#20); the parameters are those of `run_in_session`."""
        return self._start_operation(callback, failure_outputs, self._run_if_enabled, name, function, *args, **kwargs)

    async def _run_when_ready(self, name: str, function: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        if self.status is not ClientStatus.READY:
            raise sdk_error(
                ErrorType.CLIENT_NOT_READY, f"{name} requires the client status Ready; call connect() first"
            )
        return await self._run_if_enabled(name, function, *args, **kwargs)

    async def _run_if_enabled(self, name: str, function: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        if name in self.disabled_functions:
            raise sdk_error(ErrorType.DISABLED, f"{name} is disabled by the platform")
        return await function(*args, **kwargs)

    def _start_operation(
        self,
        callback: Callable[..., object] | None,
        failure_outputs: tuple[Any, ...],
        function: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Completion[Any]:
        """Start an operation on the network loop; `failure_outputs` are the outputs of a failure."""
        self.callback_queue.check_thread()
        completion: Completion[Any] = Completion()
        one_shot = self.hold_callback(callback)
        del callback

        async def run_operation() -> Any:
            task = asyncio.current_task()
            assert task is not None
            self.tasks.add(task)
            completion.follow(lambda: self.driver.post(task.cancel))
            return await function(*args, **kwargs)

        def on_done(task: "asyncio.Task[Any] | None") -> None:
            if task is not None:
                self.tasks.discard(task)
            self._complete(task, completion, one_shot, failure_outputs)

        self.driver.spawn(run_operation, on_done)
        return completion

    def _complete(
        self,
        task: "asyncio.Task[Any] | None",
        completion: Completion[Any],
        one_shot: OneShotCallback,
        failure_outputs: tuple[Any, ...],
    ) -> None:
        """Complete an operation and queue its callback; `task` is None if the operation was never started."""
        value, result = self._outcome(task)
        if isinstance(result, ClientResult):
            result = self._to_variant(result)
            outputs = callback_outputs(value, len(failure_outputs)) if result.successful else failure_outputs
            self.call_once(one_shot, result, *outputs)
            if result.successful:
                completion.succeed(value)
            else:
                completion.fail(SdkError(result))
            return
        self.logs.error(f"An operation raised an unexpected exception: {result!r}")
        self.call_once(
            one_shot, self._to_variant(ClientResult(ErrorType.VALIDATION_ERROR, str(result))), *failure_outputs
        )
        completion.fail(result)

    def call_once(self, one_shot: OneShotCallback, *args: Any) -> bool:
        """Queue the callback with its arguments; return False if there is none, or it was already called or reset."""
        # The lock keeps `reset` from running between taking the callback and queueing it.
        with self.lock:
            callback, one_shot.callback = one_shot.callback, None
            if callback is not None:
                self.callback_queue.put(callback, *args)
        return callback is not None

    def _outcome(self, task: "asyncio.Task[Any] | None") -> "tuple[Any, ClientResult | BaseException]":
        """Return the value and the result of an operation; the result of an unexpected exception is the exception."""
        if task is None or (task.cancelled() and self.is_destroyed):
            return None, result_of_exception(client_destroyed_error())
        if task.cancelled():
            return None, ClientResult(ErrorType.ABORTED, "The operation was canceled")
        error = task.exception()
        if error is None:
            return task.result(), ClientResult()
        if isinstance(error, msgspec.MsgspecError):
            return None, ClientResult(ErrorType.NETWORK_ERROR, f"Could not decode the platform's response: {error}")
        try:
            return None, result_of_exception(error)
        except BaseException as unexpected:
            return None, unexpected

    # Requests

    async def request(
        self,
        operation: "Operation[BodyT, Any]",
        *,
        body: "BodyT | None" = None,
        form: Mapping[str, str] | None = None,
        query: msgspec.Struct | None = None,
        token: str | None = None,
        tries: int | None = None,
        **parameters: int | str,
    ) -> bytes:
        """Send an operation with a body and query of its models, and return the response body without decoding it.

        `token` defaults to the client's token; an empty string sends none. `tries` limits the attempts; `parameters`
        are the parameters of the operation's path."""
        token = self.token if token is None else token
        authorization = f"{self.token_prefix}{token}" if token else None
        try:
            response = await self.api.request(
                operation.method,
                operation.path,
                json=body,
                form=form,
                query=dict(name_value_pairs(query)),
                authorization=authorization,
                tries=tries,
                **parameters,
            )
        except Exception as error:
            self.logs.warning(f"{operation.method} {operation.path}: {error or type(error).__name__}")
            raise
        self.logs.verbose(f"{operation.method} {operation.path}: ok")
        return response

    async def call(
        self,
        operation: "Operation[BodyT, ResultT]",
        *,
        body: "BodyT | None" = None,
        form: Mapping[str, str] | None = None,
        query: msgspec.Struct | None = None,
        token: str | None = None,
        tries: int | None = None,
        **parameters: int | str,
    ) -> "ResultT":
        """Send an operation and return the decoded response; the parameters are those of `request`.

        Raise msgspec.MsgspecError if the response does not match the model."""
        response = await self.request(
            operation, body=body, form=form, query=query, token=token, tries=tries, **parameters
        )
        return cast("ResultT", None) if operation.result is NoneType else codec.decode(response, operation.result)

    async def call_tolerantly(
        self,
        operation: "Operation[BodyT, ResultT]",
        *,
        body: "BodyT | None" = None,
        query: msgspec.Struct | None = None,
        token: str | None = None,
        tries: int | None = None,
        **parameters: int | str,
    ) -> "ResultT":
        """Send an operation and return the response as a tolerant model, any of whose fields except the ID may be missing.

        The parameters are those of `request`; see `tolerant_models.decode`."""
        response = await self.request(
            operation, body=body, form=None, query=query, token=token, tries=tries, **parameters
        )
        return tolerant_models.decode(response, operation.result)

    def run_in_background(self, work: Callable[[], Any]) -> None:
        """Run a coroutine function as a background task, which `close` cancels; log its exception."""

        async def run() -> None:
            task = asyncio.current_task()
            assert task is not None
            self.tasks.add(task)
            await work()

        def on_done(task: "asyncio.Task[None] | None") -> None:
            if task is None:
                return
            self.tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self.logs.error(f"A background task raised an unexpected exception: {error!r}")

        self.driver.spawn(run, on_done)

    # Shutdown

    def close(self) -> Completion[None]:
        """Destroy the client; pending operations complete with `ErrorType.CLIENT_DESTROYED`."""
        completion: Completion[None] = Completion()
        with self.lock:
            self.is_destroyed = True
        self.driver.stop(self._shut_down, completion)
        self.callback_queue.close()
        return completion

    async def _shut_down(self) -> None:
        # A task that was just created must run its first step: only then is it in `tasks` and can be canceled.
        await asyncio.sleep(0)
        current = asyncio.current_task()
        tasks = [task for task in self.tasks if task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for hook in self.close_hooks:
            with contextlib.suppress(Exception):
                await hook()
        await self.api.close()
        with self.lock:
            self.status = ClientStatus.DISCONNECTED
            self.cache.clear()
        self.logs.close()
        self.callback_queue.close()


def callback_outputs(value: Any, count: int) -> tuple[Any, ...]:
    """Return the callback arguments for a successful value: none, the value itself, or the items of its tuple."""
    if count == 0:
        return ()
    return (value,) if count == 1 else tuple(value)


def _origin(url: str) -> str:
    """Return the origin of a URL, or an empty string for an empty URL."""
    return str(URL(url).origin()) if url else ""


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
