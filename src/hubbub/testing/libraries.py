"""Client libraries in tests: a context manager that points a library at a platform, and the library of a bot.

A library is imported only if a test needs it, and its code is not modified: only its base URLs are patched.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any, Final
from unittest import mock

from hubbub.protocol.control.ready import ReadyDocument

Patch = tuple[Any, str, Any]
"""Object, attribute and new value."""


def _discord_py(ready: ReadyDocument) -> list[Patch]:
    """Return the patches of the API, gateway and CDN URLs of discord.py."""
    from discord.asset import Asset
    from discord.gateway import DiscordWebSocket
    from discord.http import Route
    from yarl import URL

    return [
        (Route, "BASE", ready.api),
        (DiscordWebSocket, "DEFAULT_GATEWAY", URL(ready.gateway)),
        (Asset, "BASE", ready.cdn),
    ]


def _py_cord(ready: ReadyDocument) -> list[Patch]:
    """Return the patches of the API and CDN URLs of py-cord, which has the package name of discord.py."""
    http, asset = import_module("discord.http"), import_module("discord.asset")
    return [(http.Route, "API_BASE_URL", ready.api), (asset.Asset, "BASE", ready.cdn)]


def _disnake(ready: ReadyDocument) -> list[Patch]:
    return _discord_py_fork("disnake", ready)


def _nextcord(ready: ReadyDocument) -> list[Patch]:
    return _discord_py_fork("nextcord", ready)


def _discord_py_fork(package: str, ready: ReadyDocument) -> list[Patch]:
    http, asset = import_module(f"{package}.http"), import_module(f"{package}.asset")
    return [(http.Route, "BASE", ready.api), (asset.Asset, "BASE", ready.cdn)]


def _interactions_py(ready: ReadyDocument) -> list[Patch]:
    route = import_module("interactions.api.http.route")
    asset = import_module("interactions.models.discord.asset")
    return [(route.Route, "BASE", ready.api), (asset.Asset, "BASE", ready.cdn)]


def _hikari(ready: ReadyDocument) -> list[Patch]:
    """Return the patches of the REST and CDN URLs of hikari, which gets the gateway URL from the platform."""
    import hikari.urls

    return [(hikari.urls, "REST_API_URL", ready.api), (hikari.urls, "CDN_URL", ready.cdn)]


LIBRARIES: Final[dict[str, Callable[[ReadyDocument], list[Patch]]]] = {
    "discord_py": _discord_py,
    "disnake": _disnake,
    "hikari": _hikari,
    "interactions_py": _interactions_py,
    "nextcord": _nextcord,
    "py_cord": _py_cord,
}
"""Functions that return the patches of a library, by the name of its fixture without the prefix `hubbub_`."""


@contextmanager
def pointed_at(library: str, ready: ReadyDocument) -> Iterator[None]:
    """Point a library at a platform, and restore its URLs on exit."""
    with ExitStack() as stack:
        for owner, name, value in LIBRARIES[library](ready):
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


def library_of(bot: Any) -> str | None:
    """Return the name of the library of a bot in `LIBRARIES`, or None if it is unknown."""
    packages = {cls.__module__.partition(".")[0] for cls in type(bot).__mro__}
    for name in ("disnake", "nextcord", "hikari"):
        if name in packages:
            return name
    if "interactions" in packages:
        return "interactions_py"
    if "discord" in packages:
        return "py_cord" if hasattr(import_module("discord.http").Route, "API_BASE_URL") else "discord_py"
    return None
