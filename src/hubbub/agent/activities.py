"""Activities set by games with SET_ACTIVITY: validation, and storage while the game is connected (spec/rpc.md#8)."""

from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple, Protocol

from hubbub.agent.validation import (
    Check,
    InvalidValue,
    boolean,
    child_error,
    fields,
    items,
    number,
    one_of,
    text,
    web_url,
)
from hubbub.protocol.flags import ActivityFlags
from hubbub.protocol.resources import presence as wire
from hubbub.protocol.rpc import RpcError, RpcErrorCode
from hubbub.sdk.clock import Clock

PLATFORMS_MAX: Final = 10
SECONDS_DIGITS: Final = 3
"""A timestamp with at least this many digits less than the current time in milliseconds is in seconds (spec/rpc.md#8)."""
SPECTATE_FLAG: Final = 1 << 2

_TEXT: Final = text(wire.ACTIVITY_TEXT_MIN, wire.ACTIVITY_STATE_MAX)
_URL: Final = web_url(wire.ACTIVITY_URL_MAX)
_SECRET: Final = text(wire.ACTIVITY_TEXT_MIN, wire.SECRET_MAX)
_IMAGE: Final = text(1, wire.ACTIVITY_IMAGE_MAX)


def _size(value: Any, name: str) -> list[int]:
    size: list[int] = items(number(1), 2, 2)(value, name)
    if size[0] > size[1]:
        raise InvalidValue(f'"{name}" must not have a current size greater than its maximum size')
    return size


def _schema(types: Collection[int]) -> Check:
    return fields(
        {
            "type": one_of(*sorted(types)),
            "name": text(1, wire.ACTIVITY_NAME_MAX),
            "state": _TEXT,
            "state_url": _URL,
            "details": _TEXT,
            "details_url": _URL,
            "timestamps": fields({"start": number(0), "end": number(0)}),
            "assets": fields(
                {
                    "large_image": _IMAGE,
                    "large_text": _TEXT,
                    "large_url": _URL,
                    "small_image": _IMAGE,
                    "small_text": _TEXT,
                    "small_url": _URL,
                    "invite_cover_image": _IMAGE,
                }
            ),
            "party": fields({"id": _TEXT, "size": _size, "privacy": one_of(0, 1)}),
            "secrets": fields({"join": _SECRET, "spectate": _SECRET, "match": _SECRET}),
            "buttons": items(
                fields(
                    {"label": text(1, wire.BUTTON_LABEL_MAX), "url": web_url(wire.BUTTON_URL_MAX)},
                    required=("label", "url"),
                ),
                1,
                wire.BUTTONS_MAX,
            ),
            "instance": boolean,
            "supported_platforms": items(text(1, 32), 0, PLATFORMS_MAX),
            "status_display_type": one_of(0, 1, 2),
        }
    )


def parse_activity(
    value: Any, *, application_id: str, name: str, types: Collection[int], now_ms: int
) -> dict[str, Any]:
    """Validate an activity and convert it to the platform's format; raise RpcError 4000 with a schema error message."""
    try:
        try:
            activity: dict[str, Any] = _schema(types)(value, "activity")
            secrets = list(activity.get("secrets", {}).values())
            if len(set(secrets)) < len(secrets):
                raise child_error("secrets", '"secrets" must all be different')
            if secrets and activity.get("buttons"):
                raise child_error("buttons", '"secrets" cannot be sent together with buttons')
        except InvalidValue as error:
            raise child_error("activity", error) from None
    except InvalidValue as error:
        raise RpcError(RpcErrorCode.INVALID_PAYLOAD, str(error)) from None
    result: dict[str, Any] = {
        "application_id": application_id,
        "name": name[: wire.ACTIVITY_NAME_MAX],
        "type": 0,
    } | activity
    if times := result.get("timestamps"):
        result["timestamps"] = {key: to_milliseconds(value, now_ms) for key, value in times.items()}
    if buttons := result.pop("buttons", None):
        result["buttons"] = [button["label"] for button in buttons]
        result["metadata"] = {"button_urls": [button["url"] for button in buttons]}
    if flags := _flags(result):
        result["flags"] = flags
    return {key: value for key, value in result.items() if value not in ({}, [])}


def to_milliseconds(value: int, now_ms: int) -> int:
    """Convert a timestamp in seconds or milliseconds to milliseconds."""
    return value * 1000 if len(str(value)) <= len(str(now_ms)) - SECONDS_DIGITS else value


def _flags(activity: dict[str, Any]) -> int:
    secrets = activity.get("secrets", {})
    flags = int(ActivityFlags.INSTANCE) if activity.get("instance") else 0
    flags |= int(ActivityFlags.JOIN) if "join" in secrets else 0
    return flags | (SPECTATE_FLAG if "spectate" in secrets else 0)


class Owner(Protocol):
    """A connection that sets activities."""

    @property
    def application_id(self) -> str:
        """ID of the connection's application."""


class ActivityKey(NamedTuple):
    """Key of an activity; there is one activity per process of an application."""

    application_id: str
    pid: int


class Activities:
    """The activities of the games on this machine."""

    def __init__(self, changed: Callable[[], None], clock: Clock) -> None:
        self._changed = changed
        self._activities: dict[ActivityKey, tuple[Owner, dict[str, Any]]] = {}
        self.clock = clock

    def newest_first(self) -> list[dict[str, Any]]:
        """Return all activities, newest first."""
        return [activity for _, activity in reversed(self._activities.values())]

    def find(self, application_id: str, pid: int | None = None) -> dict[str, Any] | None:
        """Return the newest activity of an application, or of one of its processes; None if there is none."""
        found = None
        for key, (_, activity) in self._activities.items():
            if key.application_id == application_id and pid in (None, key.pid):
                found = activity
        return found

    def put(self, owner: Owner, pid: int, activity: dict[str, Any] | None) -> None:
        """Set the activity of a process, or remove it with None."""
        key = ActivityKey(owner.application_id, pid)
        before = self._activities.pop(key, None)
        if activity is not None:
            self._activities[key] = (owner, activity)
        if activity is not None or before is not None:
            self._changed()

    def remove(self, owner: Owner, pid: int | None = None) -> None:
        """Remove the activities of a connection, or those of one of its processes."""
        gone = [key for key, (setter, _) in self._activities.items() if setter is owner and pid in (None, key.pid)]
        for key in gone:
            del self._activities[key]
        if gone:
            self._changed()
