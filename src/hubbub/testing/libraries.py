"""Context managers that point client libraries at the platform of a test.

A library is imported only if a test needs it, and its code is not modified: only its base URLs are patched.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from hubbub.testing.platform import Platform


@contextmanager
def discord_py(platform: Platform) -> Iterator[None]:
    """Patch the API, gateway and CDN URLs of discord.py."""
    from discord.asset import Asset
    from discord.gateway import DiscordWebSocket
    from discord.http import Route
    from yarl import URL

    changes: list[tuple[Any, str, Any]] = [
        (Route, "BASE", platform.api),
        (DiscordWebSocket, "DEFAULT_GATEWAY", URL(platform.gateway)),
        (Asset, "BASE", platform.cdn),
    ]
    with _patched(changes):
        yield


@contextmanager
def hikari(platform: Platform) -> Iterator[None]:
    """Patch the REST and CDN URLs of hikari, which gets the gateway URL from the platform."""
    import hikari.urls

    changes: list[tuple[Any, str, Any]] = [
        (hikari.urls, "REST_API_URL", platform.api),
        (hikari.urls, "CDN_URL", platform.cdn),
    ]
    with _patched(changes):
        yield


@contextmanager
def _patched(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, value in changes:
            stack.enter_context(mock.patch.object(owner, name, value))
        yield
