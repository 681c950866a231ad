"""State shared by all actors of a platform: its URLs, its control API, and the names of its objects."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

import aiohttp
import msgspec

from hubbub.people.errors import InvalidArgument
from hubbub.people.named_objects import NamedObjects, suggest
from hubbub.people.requests import ControlClient
from hubbub.protocol.control.ready import ReadyDocument, WorldApplication
from hubbub.protocol.control.trace import GET_TRACE, TracedEvent, TraceQuery
from hubbub.protocol.ids import UserId

STATUSES_WITH_CAUSE: Final = (400, 403, 404)
"""Statuses of rejected requests whose cause the platform may know."""
LINES_SHOWN_MAX: Final = 5
"""Maximum number of lines of each section of a failure message."""


class Identified(Protocol):
    """An object with an ID."""

    @property
    def id(self) -> str:
        """ID of the user, application or other object."""


class PlatformContext:
    """State that the actors of one platform share."""

    def __init__(self, http: aiohttp.ClientSession, ready: ReadyDocument, timeout_seconds: float) -> None:
        self.http = http
        self.control = ControlClient(http, ready)
        self.timeout_seconds = timeout_seconds
        """Default time in seconds to wait for an event."""
        self.set_ready(ready)

    def set_ready(self, ready: ReadyDocument) -> None:
        """Replace the ready document, after objects were added to the world."""
        self.ready = ready
        self.applications: NamedObjects[WorldApplication] = NamedObjects("application", ready.applications)
        self.names: dict[str, str] = {}
        """Names of users and applications, by ID."""
        for name, application in ready.applications.items():
            self.names[application.id] = name
            if application.bot is not None:
                self.names[application.bot.id] = name
        self.names |= {user.id: name for name, user in ready.users.items()}

    async def explain_missing(self, user_id: str, event: str) -> str:
        """Return why a user did not receive the latest events of this name, as text; empty if unknown.

        Rejected requests of bots are listed too, because they may be the reason why there was no event."""
        trace = await self.control.call(GET_TRACE, query=TraceQuery(event=event))
        delivery_lines = [
            f"  {event}{self.location_of(traced_event)} was not delivered: {outcome.outcome}"
            for traced_event in trace.events
            for outcome in traced_event.outcomes
            if not outcome.delivered and outcome.user_id == UserId(user_id)
        ]
        bot_ids = {
            application.bot.id for application in self.ready.applications.values() if application.bot is not None
        }
        rejection_lines = [
            f"  {self.name_of(request.user_id)} {request.method} {request.route} was rejected with {request.status}: "
            + (request.cause or str(msgspec.json.decode(request.body).get("message", "")))
            for request in trace.refused
            if request.user_id is not None and str(int(request.user_id)) in bot_ids
        ]
        sections = {"From the delivery trace:": delivery_lines, "Rejected requests of bots:": rejection_lines}
        return "\n".join("\n".join([title, *lines[-LINES_SHOWN_MAX:]]) for title, lines in sections.items() if lines)

    async def find_cause(self, user_id: str, status: int, code: int) -> str | None:
        """Return the cause of a user's latest rejected request, if it has this status and code; None if unknown."""
        if status not in STATUSES_WITH_CAUSE:
            return None
        trace = await self.control.call(GET_TRACE, query=TraceQuery(user_id=UserId(user_id)))
        if not trace.refused:
            return None
        latest = trace.refused[-1]
        latest_code = msgspec.json.decode(latest.body).get("code")
        return latest.cause if (latest.status, latest_code) == (status, code) else None

    # Names

    def resolve_application(self, application: str | WorldApplication) -> WorldApplication:
        """Return an application, given its name or the application itself; raise `UnknownNameError` for an unknown name."""
        return self.applications[application] if isinstance(application, str) else application

    def resolve_id(self, object_type: str, name: str) -> str:
        """Return the ID of the channel, role, user or mentionable (user or role) with this name.

        Raise `InvalidArgument` if the world has no such object, or several."""
        if object_type == "channel":
            return self.channel_id(name)
        is_user = name in self.ready.users or name in self.applications
        if object_type == "user" or (object_type == "mentionable" and is_user):
            return self.user_id(name)
        return self.role_id(name)

    def user_id(self, name: str) -> str:
        """Return the ID of the user with this name, or of the bot of the application with this name.

        Raise `InvalidArgument` if the world has neither."""
        if name in self.ready.users:
            return self.ready.users[name].id
        application = self.applications.get(name)
        if application is None or application.bot is None:
            bots = [bot_name for bot_name, other in self.applications.items() if other.bot is not None]
            available_names = ", ".join([*self.ready.users, *bots]) or "none"
            raise InvalidArgument(
                "user",
                f"this world has no user {name!r}; it has: {available_names}{suggest(name, [*self.ready.users, *bots])}",
            )
        return application.bot.id

    def guild_id(self, guild: str) -> str:
        """Return the ID of a guild, given its name in the world or its ID; raise `InvalidArgument` for an unknown name."""
        world_guild = self.ready.guilds.get(guild)
        if world_guild is None and not guild.isdigit():
            available_names = ", ".join(self.ready.guilds) or "none"
            suggestion = suggest(guild, self.ready.guilds)
            raise InvalidArgument("guild", f"this world has no guild {guild!r}; it has: {available_names}{suggestion}")
        return guild if world_guild is None else world_guild.id

    def channel_id(self, name: str) -> str:
        """Return the ID of the channel with this name in any guild of the world.

        Raise `InvalidArgument` if no guild or several guilds have one."""
        return self._require_unique_id(
            "channel", name, {key: guild.channels for key, guild in self.ready.guilds.items()}
        )

    def role_id(self, name: str) -> str:
        """Return the ID of the role with this name in any guild of the world.

        Raise `InvalidArgument` if no guild or several guilds have one."""
        return self._require_unique_id("role", name, {key: guild.roles for key, guild in self.ready.guilds.items()})

    def _require_unique_id(self, object_type: str, name: str, ids_by_guild: Mapping[str, Mapping[str, str]]) -> str:
        matches = {guild: ids[name] for guild, ids in ids_by_guild.items() if name in ids}
        if not matches:
            available_names = [world_name for ids in ids_by_guild.values() for world_name in ids]
            raise InvalidArgument(
                object_type,
                f"this world has no {object_type} {name!r}; it has: {', '.join(available_names) or 'none'}"
                f"{suggest(name, available_names)}",
            )
        if len(matches) > 1:
            places = " and of ".join(f"{guild} ({object_id})" for guild, object_id in matches.items())
            raise InvalidArgument(object_type, f"{name!r} is a {object_type} of {places}; use its ID instead")
        return next(iter(matches.values()))

    def guild_id_of(self, channel_id: str) -> str | None:
        """Return the ID of the guild of a channel of the world, or None."""
        return next((guild.id for guild in self.ready.guilds.values() if channel_id in guild.channels.values()), None)

    def id_of(self, target: Identified | Mapping[str, Any] | str) -> str:
        """Return the ID of an object, or the string itself."""
        if isinstance(target, str):
            return target
        return str(target["id"] if isinstance(target, Mapping) else target.id)

    def name_of(self, object_id: UserId | str | None) -> str:
        """Return the name of a user or an application in the world, or the ID itself if it has no name."""
        return self.names.get(str(object_id), str(object_id))

    def location_of(self, event: TracedEvent) -> str:
        """Return where an event of the delivery trace occurred, such as ` in #general`, or an empty string."""
        channel_id = None if event.channel_id is None else str(event.channel_id)
        for guild_name, guild in self.ready.guilds.items():
            for name, other_id in guild.channels.items():
                if other_id == channel_id:
                    return f" in #{name}"
            if channel_id is None and guild.id == str(event.guild_id):
                return f" in {guild_name}"
        return "" if channel_id is None else f" in channel {channel_id}"
