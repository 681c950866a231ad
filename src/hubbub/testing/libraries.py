"""Client libraries, pointed at the platform of a test for as long as the test lasts.

They are not imported here unless a test asks for them, and stay unmodified: what changes is the address they begin with.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from hubbub.testing.platform import Platform


@contextmanager
def discord_py(platform: Platform) -> Iterator[None]:
    """discord.py: its routes, its gateway, and its CDN."""
    from discord.asset import Asset
    from discord.gateway import DiscordWebSocket
    from discord.http import Route
    from yarl import URL

    changes: list[tuple[Any, str, Any]] = [
        (Route, "BASE", platform.api),
        (DiscordWebSocket, "DEFAULT_GATEWAY", URL(platform.gateway)),
        (Asset, "BASE", platform.cdn),
    ]
    with _changed(changes):
        yield


@contextmanager
def hikari(platform: Platform) -> Iterator[None]:
    """hikari: its REST address and its CDN; the gateway's address it asks the platform for."""
    import hikari.urls

    changes: list[tuple[Any, str, Any]] = [
        (hikari.urls, "REST_API_URL", platform.api),
        (hikari.urls, "CDN_URL", platform.cdn),
    ]
    with _changed(changes):
        yield


@contextmanager
def _changed(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, value in changes:
            stack.enter_context(mock.patch.object(owner, name, value))
        yield
