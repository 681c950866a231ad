"""Client of the control API (docs/control.md), and the HTTP requests of actors."""

from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec

from hubbub.people.errors import PlatformUnavailable, RequestRejected


async def request(
    http: aiohttp.ClientSession,
    actor_name: str,
    method: str,
    base_url: str,
    path: str,
    authorization: str | None,
    *,
    json: Any = None,
    data: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Any:
    """Send a request and return the decoded JSON or the text of the response, or None if it is empty.

    Raise `RequestRejected` if the platform rejects it, and `PlatformUnavailable` if the connection fails. `actor_name` is
    the sender in error messages."""
    sent_headers = dict(headers or {})
    if authorization is not None:
        sent_headers["Authorization"] = authorization
    if json is not None:
        data, sent_headers["Content-Type"] = msgspec.json.encode(json), "application/json"
    try:
        async with http.request(
            method, base_url + path, data=data, headers=sent_headers, allow_redirects=False
        ) as response:
            content = await response.read()
            status, is_json = response.status, response.content_type == "application/json"
    except aiohttp.ClientConnectionError as error:
        raise PlatformUnavailable(
            f"{actor_name}: {method} {path}: the platform did not respond ({error or type(error).__name__})"
        ) from error
    body = msgspec.json.decode(content) if is_json and content else content.decode("utf-8", "replace")
    if status >= 400:
        raise RequestRejected(actor_name, method, path, status, body)
    return body if content else None


class ControlClient:
    """Client of the control API of one platform."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str) -> None:
        self._http = http
        self._url = url
        self._authorization = f"Bearer {token}"

    async def request(self, method: str, path: str, json: Any = None, **options: Any) -> Any:
        """Send a request to the control API; return the decoded response."""
        if method == "POST" and json is None and "data" not in options:
            json = {}
        return await request(self._http, "control", method, self._url, path, self._authorization, json=json, **options)
