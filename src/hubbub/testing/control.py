"""Client of the control API (docs/control.md), and the HTTP requests of actors."""

from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec

from hubbub.testing.errors import BrokenPlatform, Refused


async def request(
    http: aiohttp.ClientSession,
    who: str,
    method: str,
    base: str,
    path: str,
    authorization: str | None,
    *,
    json: Any = None,
    data: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Any:
    """Send a request and return the decoded response; raise `Refused` if the platform rejects it."""
    sent = dict(headers or {})
    if authorization is not None:
        sent["Authorization"] = authorization
    if json is not None:
        data, sent["Content-Type"] = msgspec.json.encode(json), "application/json"
    try:
        async with http.request(method, base + path, data=data, headers=sent, allow_redirects=False) as response:
            text = await response.read()
            status, is_json = response.status, response.content_type == "application/json"
    except aiohttp.ClientConnectionError as error:
        raise BrokenPlatform(
            f"{who}: {method} {path}: the platform did not respond ({error or type(error).__name__})"
        ) from error
    body = msgspec.json.decode(text) if is_json and text else text.decode("utf-8", "replace")
    if status >= 400:
        raise Refused(who, method, path, status, body)
    return body if text else None


class Control:
    """Client of the control API of one platform."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str) -> None:
        self._http = http
        self._url = url
        self._authorization = f"Bearer {token}"

    async def request(self, method: str, path: str, json: Any = None, **more: Any) -> Any:
        """Send a request to the control API; return the decoded response."""
        if method == "POST" and json is None and "data" not in more:
            json = {}
        return await request(self._http, "control", method, self._url, path, self._authorization, json=json, **more)
