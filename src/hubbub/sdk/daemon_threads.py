"""Blocking calls on daemon threads: awaiting code can be canceled without waiting for the call to end.

The loop's own executor is not suitable: the loop and the program wait for its threads when they end, and starting a
browser or resolving a host name cannot be interrupted. `new_session` creates an HTTP session that resolves host names on
daemon threads.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

T = TypeVar("T")

THREAD_NAME: Final = "hubbub-blocking-call"
"""Name of the daemon threads."""


async def run_in_daemon_thread(function: Callable[..., T], *args: Any) -> T:
    """Run a blocking call on a daemon thread and return its value; on cancellation its outcome is discarded."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def resolve(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]  # None only where T is None

    def report(value: T | None, error: BaseException | None) -> None:
        loop.call_soon_threadsafe(resolve, value, error)

    # The thread reports through this list. Clearing it drops the thread's only reference to the client.
    reporters = [report]
    threading.Thread(target=_run_and_report, args=(reporters, function, args), name=THREAD_NAME, daemon=True).start()
    try:
        return await future
    finally:
        reporters.clear()


def _run_and_report(
    reporters: list[Callable[[Any, BaseException | None], None]], function: Callable[..., Any], args: Any
) -> None:
    """Call the function, and pass its value or exception to the reporter, unless the list was cleared."""
    value, exception = None, None
    try:
        value = function(*args)
    except BaseException as error:
        exception = error
    try:
        reporters.pop()(value, exception)
    except (IndexError, RuntimeError):
        # The awaiting task was canceled, or its loop is closed.
        return


class Resolver(AbstractResolver):
    """DNS resolver that runs lookups on daemon threads, so that closing a client does not wait for a slow lookup."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of a host name; raise OSError if there are none."""
        return await run_in_daemon_thread(_look_up, host, port, family)

    async def close(self) -> None:
        """Do nothing: the resolver has no resources."""


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    """Return the addresses of a host name; blocks until the lookup ends."""
    try:
        address_infos = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
    except socket.gaierror:
        if host.rstrip(".").lower() != "localhost":
            raise
        # AI_ADDRCONFIG finds no address on a machine without a network, but localhost still works there.
        address_infos = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    results: list[ResolveResult] = []
    for address_family, _, proto, _, address in address_infos:
        # Format the address numerically, including the zone of a link-local address.
        numeric_host, _ = socket.getnameinfo(address, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)
        results.append(
            ResolveResult(
                hostname=host,
                host=numeric_host,
                port=port,
                family=address_family,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
        )
    return results


def new_session() -> aiohttp.ClientSession:
    """Create an HTTP session that resolves host names on daemon threads."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Resolver()))
