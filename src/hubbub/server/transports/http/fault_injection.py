"""Fault injection for HTTP requests."""

import asyncio
from http import HTTPStatus

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.control.faults import HttpFault
from hubbub.server.transports.http.request_limits import RateLimitError


class ConnectionDropped(ConnectionError):
    """Raised after the connection was aborted on purpose; no response can be sent."""


async def apply_fault(fault: HttpFault, request: web.Request) -> None:
    """Apply a fault: wait, raise an error response, or abort the connection."""
    if fault.effect == "delay":
        await asyncio.sleep(fault.delay_ms / 1000)
    elif fault.effect == "status":
        raise _fault_error(fault)
    else:
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionDropped


def _fault_error(fault: HttpFault) -> errors.ApiError:
    if fault.status == 429:
        body: dict[str, object] = {"retry_after": fault.retry_after, "global": fault.scope == "global"}
        return RateLimitError(errors.RATE_LIMITED, body, fault.scope)
    error_code = errors.find(0, fault.status)
    if error_code is None:
        try:
            phrase = HTTPStatus(fault.status).phrase
        except ValueError:
            phrase = "Error"
        error_code = errors.ErrorCode(0, fault.status, f"{fault.status}: {phrase}")
    return error_code()
