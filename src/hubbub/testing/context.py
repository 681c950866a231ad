"""State shared by all actors of a platform: its URLs, its control API, and the names of its objects."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from hubbub.testing.answers import Answer
from hubbub.testing.background import Background
from hubbub.testing.control import Control
from hubbub.testing.ready import Application, NamedObjects, ReadyDocument

DELIVERED: Final = "delivered"


class Identified(Protocol):
    """An object with an id."""

    @property
    def id(self) -> str:
        """The id."""


class PlatformContext:
    """The state that the actors of one platform share."""

    def __init__(self, background: Background, ready: ReadyDocument, within: float) -> None:
        self.background = background
        self.ready = ready
        self.control = Control(background.http, ready.control, ready.control_token)
        self.within = within
        """Default time in seconds to wait for an event."""
        self.applications: NamedObjects[Application] = NamedObjects("application", ready.applications)
        self.names: dict[str, str] = {}
        """Id to name of users and applications."""
        for name, application in ready.applications.items():
            self.names[application.id] = name
            if application.bot is not None:
                self.names[application.bot.id] = name
        self.names |= {user.id: name for name, user in ready.users.items()}

    async def get(self, path: str, query: Mapping[str, str]) -> Answer:
        """Send a GET request to the control API."""
        query_string = "&".join(f"{key}={value}" for key, value in query.items())
        return Answer(await self.control.request("GET", f"{path}?{query_string}" if query_string else path))

    async def explain_missing(self, user_id: str, event: str) -> str:
        """Return why a user did not receive the latest events of this name, as message text; empty if unknown."""
        found = await self.get("/trace", {"event": event, "user_id": user_id})
        lines = []
        for one in found["events"]:
            for outcome in one["outcomes"]:
                if not outcome["outcome"].startswith(DELIVERED):
                    lines.append(f"  {event}{self.location_of(one)} was not delivered: {outcome['outcome']}")
        return "\nFrom the delivery trace:\n" + "\n".join(lines[-5:]) if lines else ""

    # Names

    def application(self, wanted: str | Application) -> Application:
        """Return an application of the world by name."""
        return self.applications[wanted] if isinstance(wanted, str) else wanted

    def channel(self, name: str) -> str:
        """Return the id of the channel with this name in any guild of the world."""
        return self._only("channel", name, {key: guild.channels for key, guild in self.ready.guilds.items()})

    def role(self, name: str) -> str:
        """Return the id of the role with this name in any guild of the world."""
        return self._only("role", name, {key: guild.roles for key, guild in self.ready.guilds.items()})

    def _only(self, kind: str, name: str, guilds: Mapping[str, Mapping[str, str]]) -> str:
        found = {guild: things[name] for guild, things in guilds.items() if name in things}
        if not found:
            known = ", ".join(each for things in guilds.values() for each in things) or "none"
            raise AssertionError(f"this world has no {kind} {name!r}; it has: {known}")
        if len(found) > 1:
            guild = next(iter(found))
            raise AssertionError(
                f"{name!r} is a {kind} of {' and of '.join(found)}; "
                f"use its id instead: hubbub.guilds[{guild!r}].{kind}s[{name!r}]"
            )
        return next(iter(found.values()))

    def guild_of(self, channel_id: str) -> str | None:
        """Return the id of the guild of a channel of the world, or None."""
        return next((guild.id for guild in self.ready.guilds.values() if channel_id in guild.channels.values()), None)

    def id_of(self, thing: Identified | Mapping[str, Any] | str) -> str:
        """Return the id of an object, or the string itself."""
        if isinstance(thing, str):
            return thing
        return str(thing["id"] if isinstance(thing, Mapping) else thing.id)

    def name_of(self, thing_id: str | None) -> str:
        """Return the name of a user or an application in the world, or its id."""
        return self.names.get(str(thing_id), str(thing_id))

    def location_of(self, traced: Mapping[str, Any]) -> str:
        """Return the location of a traced event, such as ` in #general`, or an empty string."""
        for guild_name, guild in self.ready.guilds.items():
            for name, channel_id in guild.channels.items():
                if channel_id == traced["channel_id"]:
                    return f" in #{name}"
            if guild.id == traced["guild_id"] and traced["channel_id"] is None:
                return f" in {guild_name}"
        channel_id = traced["channel_id"]
        return f" in channel {channel_id}" if channel_id else ""
