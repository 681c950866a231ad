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
from hubbub.protocol import activity_limits
from hubbub.protocol.flags import ActivityFlags
from hubbub.protocol.rpc import RpcError, RpcErrorCode
from hubbub.protocol.shared_enums import ActivityPartyPrivacy, ActivityType, StatusDisplayType
from hubbub.sdk.clock import Clock

PLATFORMS_MAX: Final = 10
"""Maximum number of platforms of an activity."""
SECONDS_DIGIT_DIFFERENCE: Final = 3
"""Minimum number of digits by which a timestamp in seconds is shorter than the current Unix milliseconds (spec/rpc.md#8)."""

_TEXT_CHECK: Final = text(activity_limits.ACTIVITY_TEXT_MIN, activity_limits.ACTIVITY_TEXT_MAX)
_URL_CHECK: Final = web_url(activity_limits.ACTIVITY_URL_MAX)
_SECRET_CHECK: Final = text(activity_limits.ACTIVITY_TEXT_MIN, activity_limits.ACTIVITY_SECRET_MAX)
_IMAGE_CHECK: Final = text(1, activity_limits.ACTIVITY_IMAGE_MAX)


def _party_size_check(value: Any, name: str) -> list[int]:
    current_size, maximum_size = items(number(1), 2, 2)(value, name)
    if current_size > maximum_size:
        raise InvalidValue(f'"{name}" must not have a current size greater than its maximum size')
    return [current_size, maximum_size]


def _activity_check(types: Collection[int]) -> Check:
    return fields(
        {
            "type": one_of(*sorted(types)),
            "name": text(1, activity_limits.ACTIVITY_NAME_MAX),
            "state": _TEXT_CHECK,
            "state_url": _URL_CHECK,
            "details": _TEXT_CHECK,
            "details_url": _URL_CHECK,
            "timestamps": fields({"start": number(0), "end": number(0)}),
            "assets": fields(
                {
                    "large_image": _IMAGE_CHECK,
                    "large_text": _TEXT_CHECK,
                    "large_url": _URL_CHECK,
                    "small_image": _IMAGE_CHECK,
                    "small_text": _TEXT_CHECK,
                    "small_url": _URL_CHECK,
                    "invite_cover_image": _IMAGE_CHECK,
                }
            ),
            "party": fields(
                {"id": _TEXT_CHECK, "size": _party_size_check, "privacy": one_of(*map(int, ActivityPartyPrivacy))}
            ),
            "secrets": fields({"join": _SECRET_CHECK, "spectate": _SECRET_CHECK, "match": _SECRET_CHECK}),
            "buttons": items(
                fields(
                    {
                        "label": text(1, activity_limits.ACTIVITY_BUTTON_LABEL_MAX),
                        "url": web_url(activity_limits.ACTIVITY_BUTTON_URL_MAX),
                    },
                    required=("label", "url"),
                ),
                1,
                activity_limits.ACTIVITY_BUTTONS_MAX,
            ),
            "instance": boolean,
            "supported_platforms": items(text(1, 32), 0, PLATFORMS_MAX),
            "status_display_type": one_of(*map(int, StatusDisplayType)),
        }
    )


def parse_activity(
    value: Any, *, application_id: str, name: str, types: Collection[int], now_ms: int
) -> dict[str, Any]:
    """Validate an activity and convert it to the platform's format; raise RpcError INVALID_PAYLOAD if it is invalid.

    `name` is the name of the application, which is the default name of the activity. `types` are the activity types that
    the application may set, and `now_ms` is the current time as Unix milliseconds."""
    try:
        try:
            activity: dict[str, Any] = _activity_check(types)(value, "activity")
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
        "name": name[: activity_limits.ACTIVITY_NAME_MAX],
        "type": int(ActivityType.PLAYING),
    } | activity
    if timestamps := result.get("timestamps"):
        result["timestamps"] = {key: to_milliseconds(value, now_ms) for key, value in timestamps.items()}
    if buttons := result.pop("buttons", None):
        result["buttons"] = [button["label"] for button in buttons]
        result["metadata"] = {"button_urls": [button["url"] for button in buttons]}
    if flags := _activity_flags(result):
        result["flags"] = flags
    return {key: value for key, value in result.items() if value not in ({}, [])}


def to_milliseconds(value: int, now_ms: int) -> int:
    """Return a Unix timestamp in milliseconds; a timestamp in seconds is converted."""
    return value * 1000 if len(str(value)) <= len(str(now_ms)) - SECONDS_DIGIT_DIFFERENCE else value


def _activity_flags(activity: dict[str, Any]) -> int:
    secrets = activity.get("secrets", {})
    flags = int(ActivityFlags.INSTANCE) if activity.get("instance") else 0
    flags |= int(ActivityFlags.JOIN) if "join" in secrets else 0
    return flags | (int(ActivityFlags.SPECTATE) if "spectate" in secrets else 0)


class Owner(Protocol):
    """A connection that sets activities."""

    @property
    def application_id(self) -> str:
        """ID of the connection's application."""


class ActivityKey(NamedTuple):
    """Key of an activity. Each process of an application has at most one activity."""

    application_id: str
    pid: int


class Activities:
    """The activities that games on this machine have set, in the order in which they were set."""

    def __init__(self, on_change: Callable[[], None], clock: Clock) -> None:
        self._on_change = on_change
        self._activities: dict[ActivityKey, tuple[Owner, dict[str, Any]]] = {}
        self.clock = clock

    def list_newest_first(self) -> list[dict[str, Any]]:
        """Return all activities, newest first."""
        return [activity for _, activity in reversed(self._activities.values())]

    def find(self, application_id: str, pid: int | None = None) -> dict[str, Any] | None:
        """Return the newest activity of an application, or of one of its processes; None if there is none."""
        newest = None
        for key, (_, activity) in self._activities.items():
            if key.application_id == application_id and pid in (None, key.pid):
                newest = activity
        return newest

    def put(self, owner: Owner, pid: int, activity: dict[str, Any] | None) -> None:
        """Set the activity of a process, or remove it with None."""
        key = ActivityKey(owner.application_id, pid)
        previous_entry = self._activities.pop(key, None)
        if activity is not None:
            self._activities[key] = (owner, activity)
        if activity is not None or previous_entry is not None:
            self._on_change()

    def remove(self, owner: Owner, pid: int | None = None) -> None:
        """Remove the activities of a connection, or those of one of its processes."""
        removed_keys = [
            key
            for key, (activity_owner, _) in self._activities.items()
            if activity_owner is owner and pid in (None, key.pid)
        ]
        for key in removed_keys:
            del self._activities[key]
        if removed_keys:
            self._on_change()
