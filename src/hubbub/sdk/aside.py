"""Calls that block, on daemon threads of their own: whoever waits for one can give it up, and the call ends when it ends.

The loop's own executor is of no use for these: its threads are waited for when the loop or the program ends, and there is no way to
interrupt a browser that starts or a name that is looked up.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

T = TypeVar("T")

THREAD: Final = "hubbub-aside"


async def aside(function: Callable[..., T], *args: Any) -> T:
    """What a blocking call answers; cancelled, this returns at once and the call's answer is for nobody."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def take(value: T | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(value)  # type: ignore[arg-type]  # None only where T is None

    def tell(value: T | None, error: BaseException | None) -> None:
        loop.call_soon_threadsafe(take, value, error)

    # The thread's one way back. It is taken away from a thread that nobody waits for, which then holds nothing of the client.
    door = [tell]
    threading.Thread(target=_call, args=(door, function, args), name=THREAD, daemon=True).start()
    try:
        return await answer
    finally:
        door.clear()


def _call(door: list[Callable[[Any, BaseException | None], None]], function: Callable[..., Any], args: Any) -> None:
    value, failed = None, None
    try:
        value = function(*args)
    except BaseException as error:
        failed = error
    try:
        door.pop()(value, failed)
    except (IndexError, RuntimeError):
        # Nobody waits any more, or their loop is closed.
        return


class Resolver(AbstractResolver):
    """Looks names up aside: a lookup may take as long as the system likes, closing does not wait for it."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name; OSError where there are none."""
        return await aside(_look_up, host, port, family)

    async def close(self) -> None:
        """There is nothing to let go."""


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    try:
        found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
    except socket.gaierror:
        if host.rstrip(".").lower() != "localhost":
            raise
        # A machine without any network has itself all the same.
        found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    results: list[ResolveResult] = []
    for kind, _, proto, _, address in found:
        # As numbers, with the zone of a link-local address.
        name, _ = socket.getnameinfo(address, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)
        results.append(
            ResolveResult(
                hostname=host,
                host=name,
                port=port,
                family=kind,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
        )
    return results


def new_session() -> aiohttp.ClientSession:
    """Connections of our own."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Resolver()))
