"""What the parts of a client share: its state and lock, its queue, and the one way in which an operation runs.

Everything that touches the network is a coroutine on the driver's loop. The game's thread only starts those, reads the cache under
the lock, and pumps.
"""

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, ParamSpec, TypeVar

import msgspec
from yarl import URL

from hubbub.sdk.api import Api
from hubbub.sdk.cache import Cache
from hubbub.sdk.clock import Clock, PlatformClock, machine_ms
from hubbub.sdk.drivers import Completion, Driver, LoopDriver, ThreadDriver, destroyed
from hubbub.sdk.enums import ClientError, ClientStatus, ErrorType
from hubbub.sdk.logs import Logs
from hubbub.sdk.pump import Pump
from hubbub.sdk.records import ClientCreateOptions
from hubbub.sdk.results import ClientResult, SdkError, failure, of_exception

T = TypeVar("T")
P = ParamSpec("P")

WEB_BASE: Final = "http://127.0.0.1:8080"
"""Where `hubbub dev` and `hubbub serve` listen unless told otherwise."""


class Held:
    """A callback that is called once, unless a reset takes it away before."""

    __slots__ = ("__weakref__", "callback")

    def __init__(self, callback: Callable[..., object] | None) -> None:
        self.callback = callback


class Core:
    """The inside of one client."""

    def __init__(
        self,
        options: ClientCreateOptions,
        *,
        threaded: bool | None = None,
        debug: bool = False,
        clock: Clock = machine_ms,
        family: Mapping[type, type] | None = None,
    ) -> None:
        self.options = options
        self.web_base: Final = (options.web_base or _origin(options.api_base) or WEB_BASE).rstrip("/")
        self.clock: Final = PlatformClock(clock)
        """The platform's time; the machine's is for log lines alone."""
        self.api: Final = Api(options.api_base or self.web_base, clock=self.clock)
        self._family = family or {}
        self.lock: Final = threading.RLock()
        """Guards the cache and the fields below: the network writes, the game reads."""
        self.cache: Final = Cache()
        self.pump: Final = Pump()
        self.logs: Final = Logs(self.pump, clock, debug=debug)
        if threaded is None:
            threaded = not _inside_a_loop()
        self.driver: Final[Driver] = ThreadDriver() if threaded else LoopDriver(self.pump)
        self.callbacks: Final[dict[str, Callable[..., object]]] = {}
        """One of each kind: setting a second replaces the first."""
        self._held: Final[weakref.WeakSet[Held]] = weakref.WeakSet()
        """Those of what is under way."""
        self.resetters: Final[list[Callable[[], None]]] = []
        """What the parts have to forget when callbacks are reset."""
        self.status = ClientStatus.DISCONNECTED
        self.application_id = 0
        self.application_name = ""
        self.parent_id = 0
        """The publisher's application, where the game belongs to a family."""
        self.token = ""
        self.scheme = "Bearer "
        """What stands before the token: a game has an access token, the local agent a person's own."""
        self.scopes: frozenset[str] = frozenset()
        """What READY said that the token allows."""
        self.disabled: frozenset[str] = frozenset()
        """Functions that the platform switched off."""
        self.tasks: Final[set[asyncio.Task[Any]]] = set()
        self.closers: Final[list[Callable[[], Awaitable[None]]]] = []
        """What the parts have to let go at the end."""
        self.watchers: Final[list[Callable[[ClientStatus], None]]] = []
        """Parts that must know each change of status."""
        self.destroyed = False

    # Objects

    def make(self, kind: type[T], *args: Any, **fields: Any) -> T:
        """An object for the game, of the class that this client's face uses."""
        made: T = self._family.get(kind, kind)(*args, **fields)
        return made

    def kind(self, kind: type[T]) -> type[T]:
        """The class that this client's face uses."""
        return self._family.get(kind, kind)

    def _faced(self, result: ClientResult) -> ClientResult:
        """A result of the class that this client's face uses."""
        kind = self.kind(ClientResult)
        if isinstance(result, kind):
            return result
        made = object.__new__(kind)
        made.__dict__.update(result.__dict__)
        return made

    # Events

    def emit(self, event: str, *args: Any) -> None:
        """Tell the game, at its next pump."""
        self.pump.put(self._fire, event, args)

    def _fire(self, event: str, args: tuple[Any, ...]) -> None:
        # Looked up now and not when it happened: what was replaced or reset in between is not called any more.
        callback = self.callbacks.get(event)
        if callback is not None:
            callback(*args)

    def listen(self, event: str, callback: Callable[..., object] | None) -> None:
        """Keep one callback of a kind; None forgets it."""
        if callback is None:
            self.callbacks.pop(event, None)
        else:
            self.callbacks[event] = callback

    def hold(self, callback: Callable[..., object] | None) -> Held:
        """Keep a callback for the end of an operation."""
        held = Held(callback)
        with self.lock:
            self._held.add(held)
        return held

    def reset(self) -> None:
        """Drop every callback: of events, of logs, of what waits and of what is under way (sdk.md 1.2)."""
        with self.lock:
            self.callbacks.clear()
            for held in self._held:
                held.callback = None
            for forget in self.resetters:
                forget()
            self.logs.reset()
            self.pump.clear()

    def become(self, status: ClientStatus, error: ClientError = ClientError.NONE, detail: int = 0) -> None:
        """Change the status and say so."""
        with self.lock:
            if self.status is status and error is ClientError.NONE:
                return
            self.status = status
        for watcher in self.watchers:
            watcher(status)
        self.logs.info(f"status: {status.label}" + (f", {error.label} {detail}" if error else ""))
        self.emit("status_changed", status, error, detail)

    # Operations

    def start(
        self,
        name: str,
        callback: Callable[..., object] | None,
        empty: tuple[Any, ...],
        function: Callable[P, Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Completion[T]:
        """Run an operation that needs a session: `callback(result, *outputs)` hears of it once, or whoever awaits.

        `name` is the specification's, since that is what the platform switches off; `empty` are the outputs of a failure."""
        return self._launch(callback, empty, self._gated, name, function, *args, **kwargs)

    def run(
        self,
        name: str,
        callback: Callable[..., object] | None,
        empty: tuple[Any, ...],
        function: Callable[P, Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Completion[T]:
        """The same for what needs no session (sdk.md 20)."""
        return self._launch(callback, empty, self._permitted, name, function, *args, **kwargs)

    async def _gated(self, name: str, function: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        if self.status is not ClientStatus.READY:
            raise failure(ErrorType.CLIENT_NOT_READY, f"{name} needs a client that is Ready")
        return await self._permitted(name, function, *args, **kwargs)

    async def _permitted(self, name: str, function: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        if name in self.disabled:
            raise failure(ErrorType.DISABLED, f"{name} is switched off by the platform")
        return await function(*args, **kwargs)

    def _launch(
        self,
        callback: Callable[..., object] | None,
        empty: tuple[Any, ...],
        function: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Completion[Any]:
        self.pump.check_thread()
        completion: Completion[Any] = Completion()
        held = self.hold(callback)
        del callback

        async def work() -> Any:
            task = asyncio.current_task()
            assert task is not None
            self.tasks.add(task)
            completion.follow(lambda: self.driver.post(task.cancel))
            return await function(*args, **kwargs)

        def done(task: "asyncio.Task[Any] | None") -> None:
            if task is not None:
                self.tasks.discard(task)
            self._complete(task, completion, held, empty)

        self.driver.spawn(work, done)
        return completion

    def _complete(
        self,
        task: "asyncio.Task[Any] | None",
        completion: Completion[Any],
        held: Held,
        empty: tuple[Any, ...],
    ) -> None:
        value, result = self._outcome(task)
        if isinstance(result, ClientResult):
            result = self._faced(result)
            self.tell(held, result, *(outputs(value, len(empty)) if result.successful else empty))
            if result.successful:
                completion.succeed(value)
            else:
                completion.fail(SdkError(result))
            return
        self.logs.error(f"an operation broke: {result!r}")
        self.tell(held, self._faced(ClientResult(ErrorType.VALIDATION_ERROR, str(result))), *empty)
        completion.fail(result)

    def tell(self, held: Held, *args: Any) -> bool:
        """Let a callback hear of it, at the next pump; whether there is one."""
        # Under the lock, so that a reset comes before or after and not in between.
        with self.lock:
            callback, held.callback = held.callback, None
            if callback is not None:
                self.pump.put(callback, *args)
        return callback is not None

    def _outcome(self, task: "asyncio.Task[Any] | None") -> "tuple[Any, ClientResult | BaseException]":
        if task is None or (task.cancelled() and self.destroyed):
            return None, of_exception(destroyed())
        if task.cancelled():
            return None, ClientResult(ErrorType.ABORTED, "nobody waited for it any more")
        error = task.exception()
        if error is None:
            return task.result(), ClientResult()
        if isinstance(error, msgspec.MsgspecError):
            return None, ClientResult(ErrorType.NETWORK_ERROR, f"the platform's answer could not be read: {error}")
        try:
            return None, of_exception(error)
        except BaseException as broken:
            return None, broken

    # Asking the platform

    async def ask(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        query: Mapping[str, str | int] | None = None,
        token: str | None = None,
        tries: int | None = None,
        **parameters: int | str,
    ) -> bytes:
        """One request with the session's token, or another; an empty one sends none."""
        token = self.token if token is None else token
        authorization = f"{self.scheme}{token}" if token else None
        try:
            body = await self.api.request(
                method,
                path,
                json=json,
                form=form,
                query=query,
                authorization=authorization,
                tries=tries,
                **parameters,
            )
        except Exception as error:
            self.logs.warning(f"{method} {path}: {error or type(error).__name__}")
            raise
        self.logs.verbose(f"{method} {path}: ok")
        return body

    def background(self, work: Callable[[], Any]) -> None:
        """Let something run beside the operations, for as long as the client lives."""

        async def run() -> None:
            task = asyncio.current_task()
            assert task is not None
            self.tasks.add(task)
            await work()

        def done(task: "asyncio.Task[None] | None") -> None:
            if task is None:
                return
            self.tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self.logs.error(f"a part of the client broke: {error!r}")

        self.driver.spawn(run, done)

    # The end

    def close(self) -> Completion[None]:
        """Destroy the client: what is under way completes with ClientDestroyed, connections and the thread end."""
        completion: Completion[None] = Completion()
        with self.lock:
            self.destroyed = True
        self.driver.stop(self._end, completion)
        self.pump.close()
        return completion

    async def _end(self) -> None:
        # What was started a moment ago takes its first step, so that its end is an end like any other.
        await asyncio.sleep(0)
        mine = asyncio.current_task()
        tasks = [task for task in self.tasks if task is not mine]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for closer in self.closers:
            with contextlib.suppress(Exception):
                await closer()
        await self.api.close()
        with self.lock:
            self.status = ClientStatus.DISCONNECTED
            self.cache.clear()
        self.logs.close()
        self.pump.close()


def outputs(value: Any, count: int) -> tuple[Any, ...]:
    """What a success says: nothing, one thing, or as many as its tuple has."""
    if count == 0:
        return ()
    return (value,) if count == 1 else tuple(value)


def _origin(url: str) -> str:
    """Where the pages are, if only the API was named: at the same host."""
    return str(URL(url).origin()) if url else ""


def _inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
