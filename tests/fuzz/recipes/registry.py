"""The registry of recipes and the default recipe."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from hubbub.protocol.operation import Auth
from hubbub.server.core.endpoints import Endpoint
from tests.fuzz.platform import Platform
from tests.world import Actor


@dataclass
class ValidRequest:
    """A request that succeeds."""

    caller: Actor | None = None
    """Caller; None sends no token."""
    values: dict[str, Any] = field(default_factory=dict)
    """Path parameters; missing ones come from the prepared guild."""
    body: Any = None
    """JSON body, or the fields of a form; None for no body."""
    query: dict[str, Any] = field(default_factory=dict)
    multipart: aiohttp.FormData | None = None
    """Multipart body, which replaces `body`."""
    headers: dict[str, str] = field(default_factory=dict)


Recipe = Callable[[Platform], Awaitable[ValidRequest]]

RECIPES: dict[str, Recipe] = {}
"""Recipes by operation name."""


def recipe(*names: str) -> Callable[[Recipe], Recipe]:
    """Register the decorated function as the recipe of these operations."""

    def register(function: Recipe) -> Recipe:
        RECIPES.update(dict.fromkeys(names, function))
        return function

    return register


async def build_request(platform: Platform, endpoint: Endpoint) -> ValidRequest:
    """Build a request that succeeds, with new objects where the operation needs them."""
    function = RECIPES.get(endpoint.name)
    if function is not None:
        request = await function(platform)
        request.values = platform.prepared_guild.path_values(endpoint) | {
            name: str(value) for name, value in request.values.items()
        }
        return request
    caller = _default_caller(platform, endpoint)
    built_request = await platform.builder.request(endpoint, caller or platform.owner)
    multipart = None if built_request.form is None or endpoint.operation.method == "GET" else built_request.form()
    return ValidRequest(caller, built_request.values, built_request.body, dict(built_request.query), multipart)


def _default_caller(platform: Platform, endpoint: Endpoint) -> Actor | None:
    auth = endpoint.operation.auth
    for kind, name in ((Auth.BOT, "bot"), (Auth.USER, "owner"), (Auth.BEARER, "bearer")):
        if kind in auth:
            return platform.callers[name]
    return None
