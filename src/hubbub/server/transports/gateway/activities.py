"""Conversion of the activities that sessions set to the activities that other users see (spec/sdk.md#10.1).

The gateway protocol has no error response, so invalid input is dropped: a field outside its limits is omitted, and so
is an activity without a name or of a type that its sender may not set.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET

from hubbub.protocol import changes
from hubbub.protocol.enums import ActivityType
from hubbub.protocol.flags import ActivityFlags
from hubbub.protocol.resources import presence as wire
from hubbub.protocol.resources.presence import SetActivity
from hubbub.server.core.call import Actor
from hubbub.server.core.presences import ACTIVITIES_MAX, ActivitySecrets, SessionPresence

STREAM_HOSTS: Final = ("twitch.tv", "www.twitch.tv", "youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be")
OAUTH2_ACTIVITY_TYPES: Final = frozenset(
    {ActivityType.PLAYING, ActivityType.LISTENING, ActivityType.WATCHING, ActivityType.COMPETING}
)
"""Activity types that an OAuth2 session may set."""
CLIENT_FLAGS: Final = (
    ActivityFlags.EMBEDDED | ActivityFlags.PARTY_PRIVACY_FRIENDS | ActivityFlags.PARTY_PRIVACY_VOICE_CHANNEL
)
"""Flags that the client may set; all other flags are derived from the activity."""
PUBLIC_PARTY_FLAGS: Final = ActivityFlags.PARTY_PRIVACY_FRIENDS | ActivityFlags.PARTY_PRIVACY_VOICE_CHANNEL


def visible_activities(
    sent: list[SetActivity],
    actor: Actor,
    *,
    session_id: str,
    application_name: str,
    now_ms: int,
    before: SessionPresence | None,
) -> tuple[list[dict[str, Any]], list[ActivitySecrets]]:
    """Return the activities that other users see, and their hidden parts (join secrets and button URLs).

    An activity that was already set before keeps its `created_at`.
    """
    if actor.kind == "bearer":
        # An OAuth2 session may set one activity, and only of its own application.
        sent = [
            _of_oauth2(activity, actor, application_name)
            for activity in sent[:1]
            if activity.type in OAUTH2_ACTIVITY_TYPES
        ]
    found: list[dict[str, Any]] = []
    hidden: list[ActivitySecrets] = []
    known = [] if before is None else before.activities
    for activity in sent[:ACTIVITIES_MAX]:
        if not 1 <= len(activity.name) <= wire.ACTIVITY_NAME_MAX:
            continue
        if activity.type not in range(ActivityType.COMPETING + 1):
            continue
        visible = _of_bot(activity) if actor.is_bot else _of_user(activity, session_id)
        if actor.kind == "bearer" and actor.family_id != actor.application_id:
            # Lets other applications of the family recognize it (spec/sdk.md#8.7).
            visible["parent_application_id"] = actor.family_id
        if not changes.ACTIVITY_URLS.is_active(now_ms):
            _remove_urls(visible)
        created_at = next(
            (each["created_at"] for each in known if each == visible | {"created_at": each["created_at"]}), now_ms
        )
        found.append(visible | {"created_at": created_at})
        if not actor.is_bot and (secret := _hidden_parts(activity)) is not None:
            hidden.append(secret)
    return found, hidden


def _remove_urls(activity: dict[str, Any]) -> None:
    """Remove the URLs and `status_display_type`, which activities lacked before 17 July 2025 (spec/dated-changes.md#3)."""
    for key in ("state_url", "details_url", "status_display_type"):
        activity.pop(key, None)
    for key in ("large_url", "small_url"):
        activity.get("assets", {}).pop(key, None)


def _of_oauth2(activity: SetActivity, actor: Actor, application_name: str) -> SetActivity:
    return msgspec.structs.replace(
        activity,
        application_id=actor.application_id or UNSET,
        name=activity.name or application_name[: wire.ACTIVITY_NAME_MAX],
    )


def _of_bot(activity: SetActivity) -> dict[str, Any]:
    """Return the keys that a bot may set; its other keys are dropped (spec/gateway.md#8)."""
    fields: dict[str, Any] = {"name": activity.name, "type": activity.type}
    if isinstance(activity.state, str) and 1 <= len(activity.state) <= wire.ACTIVITY_STATE_MAX:
        fields["state"] = activity.state
    if activity.type == ActivityType.STREAMING and _is_stream_url(activity.url):
        fields["url"] = activity.url
    return fields


def _of_user(activity: SetActivity, session_id: str) -> dict[str, Any]:
    fields = _of_bot(activity)
    if activity.type != ActivityType.CUSTOM:
        fields.pop("state", None)
        fields |= _texts(activity, ("state", "details"), wire.ACTIVITY_TEXT_MIN, wire.ACTIVITY_STATE_MAX)
        fields |= _links(activity, ("state_url", "details_url"))
    application_id = activity.application_id
    if application_id:
        fields["application_id"] = application_id
    fields["id"] = _id(activity, session_id)
    fields["session_id"] = session_id
    fields |= _simple_fields(activity)
    if activity.party and (party := _party(activity.party)):
        fields["party"] = party
    if activity.assets and (assets := _assets(activity.assets)):
        fields["assets"] = assets
    if labels := [label for label, _ in _buttons(activity)]:
        fields["buttons"] = labels
    if platforms := _platforms(activity):
        fields["supported_platforms"] = platforms
    if flags := _flags(activity):
        fields["flags"] = flags
    return fields


def _id(activity: SetActivity, session_id: str) -> str:
    """Return an ID that is stable for the same application or name and type within a session."""
    if activity.type == ActivityType.CUSTOM:
        return "custom"
    source = f"{session_id}:{activity.application_id or activity.name}:{activity.type}"
    return hashlib.blake2s(source.encode(), digest_size=8).hexdigest()


def _simple_fields(activity: SetActivity) -> dict[str, Any]:
    """Return the valid fields among those that need only a type or range check."""
    fields: dict[str, Any] = {}
    if activity.status_display_type in (0, 1, 2):
        fields["status_display_type"] = activity.status_display_type
    if activity.timestamps:
        times = {key: getattr(activity.timestamps, key) for key in ("start", "end")}
        if times := {key: value for key, value in times.items() if isinstance(value, int) and value >= 0}:
            fields["timestamps"] = times
    if activity.emoji and len(activity.emoji.name) <= wire.ACTIVITY_STATE_MAX:
        fields["emoji"] = msgspec.to_builtins(activity.emoji, builtin_types=(), enc_hook=str)
    if activity.instance is True:
        fields["instance"] = True
    return fields


def _texts(source: object, names: Iterable[str], length_min: int, length_max: int) -> dict[str, str]:
    values = ((name, getattr(source, name)) for name in names)
    return {name: value for name, value in values if isinstance(value, str) and length_min <= len(value) <= length_max}


def _links(source: object, names: Iterable[str]) -> dict[str, str]:
    """Return the links that other users may click: only http and https URLs."""
    found = _texts(source, names, 1, wire.ACTIVITY_URL_MAX)
    return {name: value for name, value in found.items() if _is_web_url(value)}


def _assets(assets: wire.ActivityAssets) -> dict[str, str]:
    return {
        **_texts(assets, ("large_image", "small_image", "invite_cover_image"), 1, wire.ACTIVITY_IMAGE_MAX),
        **_texts(assets, ("large_text", "small_text"), wire.ACTIVITY_TEXT_MIN, wire.ACTIVITY_STATE_MAX),
        **_links(assets, ("large_url", "small_url")),
    }


def _party(party: wire.SetActivityParty) -> dict[str, Any]:
    """Return ID and size of the party. Its privacy is expressed by flags and not sent itself (spec/sdk.md#2)."""
    fields: dict[str, Any] = _texts(party, ("id",), wire.ACTIVITY_TEXT_MIN, wire.ACTIVITY_STATE_MAX)
    size = party.size
    if (
        isinstance(size, list)
        and len(size) == 2
        and size[0] >= 1
        and size[1] >= 0
        and (not size[1] or size[0] <= size[1])
    ):
        fields["size"] = size
    return fields


def _buttons(activity: SetActivity) -> list[tuple[str, str]]:
    """Return labels and URLs of the buttons; the gateway receives them separately, local RPC together (spec/sdk.md#10.1)."""
    if not isinstance(activity.buttons, list):
        return []
    urls = list(activity.metadata.button_urls) if activity.metadata else []
    found = []
    for index, button in enumerate(activity.buttons[: wire.BUTTONS_MAX]):
        label = button if isinstance(button, str) else button.get("label") if isinstance(button, dict) else None
        url = button.get("url") if isinstance(button, dict) else urls[index] if index < len(urls) else ""
        if isinstance(label, str) and 1 <= len(label) <= wire.BUTTON_LABEL_MAX:
            is_valid = isinstance(url, str) and len(url) <= wire.BUTTON_URL_MAX and _is_web_url(url)
            found.append((label, url if is_valid and isinstance(url, str) else ""))
    return found


def _platforms(activity: SetActivity) -> list[str]:
    if not isinstance(activity.supported_platforms, list):
        return []
    return [name for name in wire.PLATFORMS if name in activity.supported_platforms]


def _flags(activity: SetActivity) -> int:
    flags = activity.flags & CLIENT_FLAGS if isinstance(activity.flags, int) else 0
    if activity.instance is True:
        flags |= ActivityFlags.INSTANCE
    if _join_secret(activity) is not None:
        flags |= ActivityFlags.JOIN
        if activity.party and activity.party.privacy == wire.PARTY_PUBLIC:
            flags |= PUBLIC_PARTY_FLAGS
    return flags


def _join_secret(activity: SetActivity) -> str | None:
    secret = activity.secrets.join if activity.secrets else None
    is_valid = isinstance(secret, str) and wire.ACTIVITY_TEXT_MIN <= len(secret) <= wire.SECRET_MAX
    return secret if is_valid and isinstance(secret, str) else None


def _hidden_parts(activity: SetActivity) -> ActivitySecrets | None:
    if not activity.application_id:
        return None
    join, urls = _join_secret(activity), [url for _, url in _buttons(activity)]
    if join is None and not any(urls):
        return None
    return ActivitySecrets(application_id=int(activity.application_id), join=join, button_urls=urls)


def _is_web_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _is_stream_url(url: object) -> bool:
    return isinstance(url, str) and _is_web_url(url) and urlsplit(url).hostname in STREAM_HOSTS
