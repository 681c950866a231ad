"""Handlers of jobs, made from the functions that the slices declare."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.slices import Slice
from hubbub.server.core.store import Tx


def job_handlers(
    slices: Iterable[Slice], make_call: Callable[[Tx], Call], make_operation: Callable[[], AsyncOperation]
) -> dict[str, Callable[..., Any]]:
    """Return the handlers of all slices by kind of job.

    A function runs inside the worker's transaction, an async function opens its own transactions."""
    handlers: dict[str, Callable[..., Any]] = {}
    for resource_slice in slices:
        for kind, function in resource_slice.jobs.items():
            if _is_async(function):
                handlers[kind] = _async_handler(function, make_operation)
            else:
                handlers[kind] = _sync_handler(function, make_call)
    return handlers


@functools.cache
def _is_async(function: Callable[..., Any]) -> bool:
    """Return whether a slice declares an async function; cached, because each App reads the same slices."""
    return inspect.iscoroutinefunction(function)


def _sync_handler(function: Callable[[Call, Job], None], make_call: Callable[[Tx], Call]) -> Callable[[Tx, Job], None]:
    def run(tx: Tx, job: Job) -> None:
        function(make_call(tx), job)

    return run


def _async_handler(
    function: Callable[[AsyncOperation, Job], Awaitable[None]], make_operation: Callable[[], AsyncOperation]
) -> Callable[[Job], Awaitable[None]]:
    async def run(job: Job) -> None:
        await function(make_operation(), job)

    return run
