"""State shared by all actors of a platform: its URLs, its control API, and the names of its objects."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from hubbub.testing.background import Background
from hubbub.testing.control import Control
from hubbub.testing.ready import Application, NamedObjects, ReadyDocument
from hubbub.testing.results import Result

DELIVERED: Final = "delivered"
"""Outcome of a delivered event; outcomes that start with it are deliveries, too."""
LINES_SHOWN_MAX: Final = 5
"""Maximum number of lines of the delivery trace in a failure message."""


class Identified(Protocol):
    """An object with an ID."""

    @property
    def id(self) -> str:
        """The ID."""


class PlatformContext:
    """State that the actors of one platform share."""

    def __init__(self, background: Background, ready: ReadyDocument, timeout_seconds: float) -> None:
        self.background = background
        self.ready = ready
        self.control = Control(background.http, ready.control, ready.control_token)
        self.timeout_seconds = timeout_seconds
        """Default time in seconds to wait for an event."""
        self.applications: NamedObjects[Application] = NamedObjects("application", ready.applications)
        self.names: dict[str, str] = {}
        """Names of users and applications, by ID."""
        for name, application in ready.applications.items():
            self.names[application.id] = name
            if application.bot is not None:
                self.names[application.bot.id] = name
        self.names |= {user.id: name for name, user in ready.users.items()}

    async def get(self, path: str, query: Mapping[str, str]) -> Result:
        """Send a GET request to the control API and return the decoded response."""
        query_string = "&".join(f"{key}={value}" for key, value in query.items())
        return Result(await self.control.request("GET", f"{path}?{query_string}" if query_string else path))

    async def explain_missing(self, user_id: str, event: str) -> str:
        """Return why a user did not receive the latest events of this name, as message text; empty if unknown."""
        trace = await self.get("/trace", {"event": event, "user_id": user_id})
        lines = []
        for event_trace in trace["events"]:
            for outcome in event_trace["outcomes"]:
                if not outcome["outcome"].startswith(DELIVERED):
                    lines.append(f"  {event}{self.location_of(event_trace)} was not delivered: {outcome['outcome']}")
        return "\nFrom the delivery trace:\n" + "\n".join(lines[-LINES_SHOWN_MAX:]) if lines else ""

    # Names

    def find_application(self, application: str | Application) -> Application:
        """Return an application of the world, given its name or the application itself."""
        return self.applications[application] if isinstance(application, str) else application

    def channel_id(self, name: str) -> str:
        """Return the ID of the channel with this name in any guild of the world."""
        return self._find_unique_id("channel", name, {key: guild.channels for key, guild in self.ready.guilds.items()})

    def role_id(self, name: str) -> str:
        """Return the ID of the role with this name in any guild of the world."""
        return self._find_unique_id("role", name, {key: guild.roles for key, guild in self.ready.guilds.items()})

    def _find_unique_id(self, object_type: str, name: str, ids_by_guild: Mapping[str, Mapping[str, str]]) -> str:
        matches = {guild: ids[name] for guild, ids in ids_by_guild.items() if name in ids}
        if not matches:
            available = ", ".join(other for ids in ids_by_guild.values() for other in ids) or "none"
            raise AssertionError(f"this world has no {object_type} {name!r}; it has: {available}")
        if len(matches) > 1:
            guild = next(iter(matches))
            raise AssertionError(
                f"{name!r} is a {object_type} of {' and of '.join(matches)}; "
                f"use its ID instead: hubbub.guilds[{guild!r}].{object_type}s[{name!r}]"
            )
        return next(iter(matches.values()))

    def guild_id_of(self, channel_id: str) -> str | None:
        """Return the ID of the guild of a channel of the world, or None."""
        return next((guild.id for guild in self.ready.guilds.values() if channel_id in guild.channels.values()), None)

    def id_of(self, target: Identified | Mapping[str, Any] | str) -> str:
        """Return the ID of an object, or the string itself."""
        if isinstance(target, str):
            return target
        return str(target["id"] if isinstance(target, Mapping) else target.id)

    def name_of(self, object_id: str | None) -> str:
        """Return the name of a user or an application in the world, or the ID itself if it has no name."""
        return self.names.get(str(object_id), str(object_id))

    def location_of(self, event_trace: Mapping[str, Any]) -> str:
        """Return where an event of the delivery trace occurred, such as ` in #general`, or an empty string."""
        for guild_name, guild in self.ready.guilds.items():
            for name, channel_id in guild.channels.items():
                if channel_id == event_trace["channel_id"]:
                    return f" in #{name}"
            if guild.id == event_trace["guild_id"] and event_trace["channel_id"] is None:
                return f" in {guild_name}"
        channel_id = event_trace["channel_id"]
        return f" in channel {channel_id}" if channel_id else ""
