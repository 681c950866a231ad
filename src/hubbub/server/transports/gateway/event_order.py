"""Events that arrive after a later event about the same object (decisions/0182).

A process may publish the events of a commit late: it was paused or cut off from the bus after the commit, or the outcome of the
commit was unknown for a while. Meanwhile another process changes the same object. A client that applies the earlier event last
has an earlier state than the store, so the later events about the same object are delivered once more after it.

Stamps tell the order: a transaction that sees or overwrites a change has a higher stamp than the transaction of the change.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

import msgspec

from hubbub.protocol import codec
from hubbub.server.core.bus import Bus, Subscription
from hubbub.server.core.change_relay import GUILD_GAP, USER_GAP
from hubbub.server.core.event_dispatch import Dispatch, GuildAudience

REMEMBERED_SECONDS: Final = 120.0
"""Time in seconds for which events are remembered; longer than the time after which a paused process counts as lost."""
REMEMBERED_EVENTS_MAX: Final = 1024
"""Maximum number of remembered events of a subject about messages, and of others."""

_VERBS: Final = (
    *("_CREATE", "_UPDATE", "_UPDATE_V2", "_DELETE", "_DELETE_BULK"),
    *("_ADD", "_REMOVE", "_CONNECT", "_DISCONNECT"),
)
_GUILD_UPDATE: Final = "GUILD_UPDATE"
UNORDERED_FAMILIES: Final = frozenset({"MESSAGE_REACTION", "MESSAGE_POLL_VOTE", "GUILD_SCHEDULED_EVENT_USER"})
"""Families of events that clients count, so that a repeated event would change the count."""
FAMILIES_OUTSIDE_READY: Final = frozenset(
    {"MESSAGE", "LOBBY_MESSAGE", "INTERACTION", "INTERACTION_MODAL", "ACTIVITY_INVITE", "GUILD_AUDIT_LOG_ENTRY"}
)
"""Families of objects that a new session does not contain, so that a new session would not correct them.

Their creations have new IDs, so no late event is about the same object."""
COUNTED_EVENTS: Final = frozenset({"GUILD_MEMBER_ADD", "GUILD_MEMBER_REMOVE"})
"""Events that change the member count of a client, so that they cannot be repeated."""
_CONTAINING_FAMILIES: Final[Mapping[str, str]] = {
    "CHANNEL_PINS": "CHANNEL",
    "CHANNEL_RECIPIENT": "CHANNEL",
    "GUILD_ROLE": "GUILD",
    "GUILD_SCHEDULED_EVENT_EXCEPTION": "GUILD_SCHEDULED_EVENT",
    "GUILD_SCHEDULED_EVENT_EXCEPTIONS": "GUILD_SCHEDULED_EVENT",
    "GUILD_SOUNDBOARD_SOUNDS": "GUILD_SOUNDBOARD_SOUND",
    # Pins of a thread are reported as those of a channel.
    "THREAD": "CHANNEL",
    "THREAD_MEMBER": "CHANNEL",
    "THREAD_MEMBERS": "CHANNEL",
}
"""The family whose events contain the state that events of another family change, or the reverse."""
_FAMILIES: Final[Mapping[str, str]] = {"MESSAGE_ACK": "READ_STATE"}
"""Families of the events whose name does not contain it."""
_CHANNEL_FAMILIES: Final = frozenset({"CHANNEL", "READ_STATE"})
"""Families whose objects are identified by the ID of their channel."""
_FURTHER_FAMILIES: Final[Mapping[str, str]] = {"GUILD_ROLE_DELETE": "GUILD_MEMBER"}
"""The family whose objects an event changes in addition to its own: clients remove a deleted role from all members."""


class _Reference(msgspec.Struct):
    id: str | None = None


class _Identity(msgspec.Struct):
    """The fields of a payload that identify its object."""

    id: str | None = None
    ids: list[str] = []
    message_id: str | None = None
    event_id: str | None = None
    lobby_id: str | None = None
    sound_id: str | None = None
    role_id: str | None = None
    code: str | None = None
    channel_id: str | None = None
    user_id: str | None = None
    role: _Reference | None = None
    user: _Reference | None = None


class EventKind(NamedTuple):
    """The properties of an event that follow from its name."""

    family: str
    """Name of the objects of the event; empty if its order does not matter."""
    is_later: bool
    """Whether the event may follow another one about its object."""
    is_in_ready: bool
    """Whether a new session contains the state of the object."""


@cache
def get_kind(event: str) -> EventKind:
    """Return what the name of an event says about its order."""
    family = _FAMILIES.get(event) or next((event.removesuffix(verb) for verb in _VERBS if event.endswith(verb)), "")
    if family in UNORDERED_FAMILIES:
        family = ""
    is_in_ready = family not in FAMILIES_OUTSIDE_READY
    # An object that clients store may be created again: a closed channel is opened, a user joins a guild or a lobby again.
    is_later = bool(family) and (is_in_ready or not event.endswith("_CREATE"))
    return EventKind(_CONTAINING_FAMILIES.get(family, family), is_later, is_in_ready)


def _find_identity(dispatch: Dispatch) -> frozenset[str]:
    """Return the IDs of the objects of an event; empty if it is about all objects of its family."""
    if dispatch.event == _GUILD_UPDATE:
        return frozenset()
    try:
        identity = codec.decode(dispatch.body, _Identity)
    except msgspec.DecodeError:
        return frozenset()
    if identity.id is not None:
        return frozenset({identity.id})
    if get_kind(dispatch.event).family in _CHANNEL_FAMILIES and identity.channel_id is not None:
        return frozenset({identity.channel_id})
    if identity.ids:
        return frozenset(identity.ids)
    references = (None if reference is None else reference.id for reference in (identity.role, identity.user))
    ids = (
        identity.message_id,
        identity.event_id,
        identity.lobby_id,
        identity.sound_id,
        identity.role_id,
        identity.code,
    )
    found_ids = [id for id in (*ids, identity.user_id, *references) if id is not None]
    if not found_ids and identity.channel_id is not None:
        found_ids = [identity.channel_id]
    return frozenset({":".join(found_ids)}) if found_ids else frozenset()


class _RecentEvents:
    """The remembered events of a subject."""

    __slots__ = ("events", "forgotten_stamp", "newest_stamp")

    def __init__(self) -> None:
        self.events: deque[tuple[float, Dispatch]] = deque()
        """Events that may follow others, with the time of their arrival in seconds of the event loop's clock."""
        self.newest_stamp = 0
        """The highest stamp of `events`."""
        self.forgotten_stamp = 0
        """The highest stamp of the events that were removed because there were too many."""


class EventOrder:
    """Subscribes to the subjects of guilds and users, and repeats events that were overtaken."""

    def __init__(self, bus: Bus[Dispatch]) -> None:
        self._bus = bus
        self._recent: dict[tuple[str, bool], _RecentEvents] = {}
        """Remembered events by subject, and by whether a new session contains the state of their objects."""
        self._forgotten_stamp = 0
        """The highest stamp of the events that were removed because of their age."""

    def subscribe(self, subject: str, deliver: Callable[[Dispatch], None]) -> Subscription:
        """Subscribe to a subject, and deliver its events."""

        def receive(dispatch: Dispatch) -> None:
            deliver(dispatch)
            if dispatch.stamp and (kind := get_kind(dispatch.event)).family:
                for later_event in self._find_later(subject, dispatch, kind):
                    deliver(later_event)
                if kind.is_later:
                    self._remember(subject, dispatch, kind)

        return self._bus.subscribe(subject, receive)

    def prune(self, now: float) -> None:
        """Forget old events; `now` is in seconds of the event loop's clock."""
        for key, recent in list(self._recent.items()):
            while recent.events and now - recent.events[0][0] >= REMEMBERED_SECONDS:
                self._forgotten_stamp = max(self._forgotten_stamp, recent.events.popleft()[1].stamp)
            if not recent.events:
                del self._recent[key]

    def _find_later(self, subject: str, dispatch: Dispatch, kind: EventKind) -> list[Dispatch]:
        """Return the events to deliver after an event: later ones about its object, or a gap if they cannot be repeated."""
        recent = self._recent.get((subject, kind.is_in_ready))
        if kind.is_in_ready and (
            dispatch.stamp < self._forgotten_stamp or (recent is not None and dispatch.stamp < recent.forgotten_stamp)
        ):
            return [_create_gap(dispatch)]
        if recent is None or dispatch.stamp >= recent.newest_stamp:
            return []
        candidates = [
            event
            for _, event in recent.events
            if event.stamp > dispatch.stamp
            and kind.family in (get_kind(event.event).family, _FURTHER_FAMILIES.get(event.event))
        ]
        identities = [_find_identity(dispatch)] if candidates else []
        later_events: list[Dispatch] = []
        for event in sorted(candidates, key=lambda event: event.stamp):
            if get_kind(event.event).family != kind.family:
                later_events.append(event)
                continue
            identity = _find_identity(event)
            # A repeated event is itself followed by the later events about its objects.
            if any(_has_same_object(identity, other) for other in identities):
                later_events.append(event)
                identities.append(identity)
        if any(event.event in COUNTED_EVENTS for event in later_events):
            return [_create_gap(dispatch)]
        return later_events

    def _remember(self, subject: str, dispatch: Dispatch, kind: EventKind) -> None:
        recent = self._recent.setdefault((subject, kind.is_in_ready), _RecentEvents())
        recent.events.append((asyncio.get_running_loop().time(), dispatch))
        recent.newest_stamp = max(recent.newest_stamp, dispatch.stamp)
        if len(recent.events) > REMEMBERED_EVENTS_MAX:
            recent.forgotten_stamp = max(recent.forgotten_stamp, recent.events.popleft()[1].stamp)


def _has_same_object(identity: frozenset[str], other: frozenset[str]) -> bool:
    return not identity or not other or not identity.isdisjoint(other)


def _create_gap(dispatch: Dispatch) -> Dispatch:
    """Return the internal event that ends the sessions that received an event in an unknown order."""
    event = GUILD_GAP if isinstance(dispatch.audience, GuildAudience) else USER_GAP
    return Dispatch(event=event, body=b"null", audience=dispatch.audience)
