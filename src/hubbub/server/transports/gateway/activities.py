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

from hubbub.protocol import activity_limits, changes
from hubbub.protocol.enums import ActivityPartyPrivacy, ActivityType
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
"""Flags that together express that a party is public."""


def visible_activities(
    requested_activities: list[SetActivity],
    actor: Actor,
    *,
    session_id: str,
    application_name: str,
    now_ms: int,
    previous_presence: SessionPresence | None,
) -> tuple[list[dict[str, Any]], list[ActivitySecrets]]:
    """Return the activities that other users see, and their hidden parts (join secrets and button URLs).

    `requested_activities` are the activities that the session set, and `previous_presence` is its previous presence, or None.
    An activity that is unchanged since then keeps its `created_at`.
    """
    if actor.kind == "bearer":
        # An OAuth2 session may set one activity, and only of its own application.
        requested_activities = [
            _complete_oauth2_activity(activity, actor, application_name)
            for activity in requested_activities[:1]
            if activity.type in OAUTH2_ACTIVITY_TYPES
        ]
    visible_activity_list: list[dict[str, Any]] = []
    secrets_list: list[ActivitySecrets] = []
    previous_activities = [] if previous_presence is None else previous_presence.activities
    for activity in requested_activities[:ACTIVITIES_MAX]:
        if not 1 <= len(activity.name) <= activity_limits.ACTIVITY_NAME_MAX:
            continue
        if activity.type not in range(ActivityType.COMPETING + 1):
            continue
        fields = _bot_fields(activity) if actor.is_bot else _user_fields(activity, session_id)
        if actor.kind == "bearer" and actor.family_id != actor.application_id:
            # With this key other applications of the family recognize the activity (spec/sdk.md#8.7).
            fields["parent_application_id"] = actor.family_id
        if not changes.ACTIVITY_URLS.is_active(now_ms):
            _remove_urls(fields)
        created_at = next(
            (
                old_activity["created_at"]
                for old_activity in previous_activities
                if old_activity == fields | {"created_at": old_activity["created_at"]}
            ),
            now_ms,
        )
        visible_activity_list.append(fields | {"created_at": created_at})
        if not actor.is_bot and (secret := _activity_secrets(activity)) is not None:
            secrets_list.append(secret)
    return visible_activity_list, secrets_list


def _remove_urls(activity: dict[str, Any]) -> None:
    """Remove the URLs and `status_display_type`, which activities lacked before 17 July 2025 (spec/dated-changes.md#3)."""
    for key in ("state_url", "details_url", "status_display_type"):
        activity.pop(key, None)
    for key in ("large_url", "small_url"):
        activity.get("assets", {}).pop(key, None)


def _complete_oauth2_activity(activity: SetActivity, actor: Actor, application_name: str) -> SetActivity:
    """Return an activity of an OAuth2 session with its application and a name."""
    return msgspec.structs.replace(
        activity,
        application_id=actor.application_id or UNSET,
        name=activity.name or application_name[: activity_limits.ACTIVITY_NAME_MAX],
    )


def _bot_fields(activity: SetActivity) -> dict[str, Any]:
    """Return the valid fields among those that a bot may set; other fields are dropped (spec/gateway.md#8)."""
    fields: dict[str, Any] = {"name": activity.name, "type": activity.type}
    if isinstance(activity.state, str) and 1 <= len(activity.state) <= activity_limits.ACTIVITY_TEXT_MAX:
        fields["state"] = activity.state
    if activity.type == ActivityType.STREAMING and _is_stream_url(activity.url):
        fields["url"] = activity.url
    return fields


def _user_fields(activity: SetActivity, session_id: str) -> dict[str, Any]:
    """Return the valid fields of an activity that a user's session set."""
    fields = _bot_fields(activity)
    if activity.type != ActivityType.CUSTOM:
        fields.pop("state", None)
        fields |= _text_fields(
            activity, ("state", "details"), activity_limits.ACTIVITY_TEXT_MIN, activity_limits.ACTIVITY_TEXT_MAX
        )
        fields |= _link_fields(activity, ("state_url", "details_url"))
    application_id = activity.application_id
    if application_id:
        fields["application_id"] = application_id
    fields["id"] = _activity_id(activity, session_id)
    fields["session_id"] = session_id
    fields |= _simple_fields(activity)
    if activity.party and (party := _party_fields(activity.party)):
        fields["party"] = party
    if activity.assets and (assets := _asset_fields(activity.assets)):
        fields["assets"] = assets
    if labels := [label for label, _ in _buttons(activity)]:
        fields["buttons"] = labels
    if platforms := _valid_platforms(activity):
        fields["supported_platforms"] = platforms
    if flags := _activity_flags(activity):
        fields["flags"] = flags
    return fields


def _activity_id(activity: SetActivity, session_id: str) -> str:
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
        if times := {key: time_ms for key, time_ms in times.items() if isinstance(time_ms, int) and time_ms >= 0}:
            fields["timestamps"] = times
    if activity.emoji and len(activity.emoji.name) <= activity_limits.ACTIVITY_TEXT_MAX:
        fields["emoji"] = msgspec.to_builtins(activity.emoji, builtin_types=(), enc_hook=str)
    if activity.instance is True:
        fields["instance"] = True
    return fields


def _text_fields(source: object, names: Iterable[str], length_min: int, length_max: int) -> dict[str, str]:
    """Return the named fields of an object that are texts of an allowed length."""
    named_values = ((name, getattr(source, name)) for name in names)
    return {
        name: value for name, value in named_values if isinstance(value, str) and length_min <= len(value) <= length_max
    }


def _link_fields(source: object, names: Iterable[str]) -> dict[str, str]:
    """Return the links that other users may click: only http and https URLs."""
    links = _text_fields(source, names, 1, activity_limits.ACTIVITY_URL_MAX)
    return {name: url for name, url in links.items() if _is_web_url(url)}


def _asset_fields(assets: wire.ActivityAssets) -> dict[str, str]:
    return {
        **_text_fields(
            assets, ("large_image", "small_image", "invite_cover_image"), 1, activity_limits.ACTIVITY_IMAGE_MAX
        ),
        **_text_fields(
            assets, ("large_text", "small_text"), activity_limits.ACTIVITY_TEXT_MIN, activity_limits.ACTIVITY_TEXT_MAX
        ),
        **_link_fields(assets, ("large_url", "small_url")),
    }


def _party_fields(party: wire.ActivityParty) -> dict[str, Any]:
    """Return ID and size of a party, if they are valid. Flags express the party's privacy (spec/sdk.md#2)."""
    fields: dict[str, Any] = _text_fields(
        party, ("id",), activity_limits.ACTIVITY_TEXT_MIN, activity_limits.ACTIVITY_TEXT_MAX
    )
    party_size = party.size
    if (
        isinstance(party_size, list)
        and len(party_size) == 2
        and party_size[0] >= 1
        and party_size[1] >= 0
        and (not party_size[1] or party_size[0] <= party_size[1])
    ):
        fields["size"] = party_size
    return fields


def _buttons(activity: SetActivity) -> list[tuple[str, str]]:
    """Return labels and URLs of the buttons; an invalid URL is empty, and a button with an invalid label is omitted.

    The gateway receives labels and URLs separately, local RPC together (spec/sdk.md#10.1).
    """
    if not isinstance(activity.buttons, list):
        return []
    urls = list(activity.metadata.button_urls) if activity.metadata else []
    buttons = []
    for index, button in enumerate(activity.buttons[: activity_limits.ACTIVITY_BUTTONS_MAX]):
        label = button if isinstance(button, str) else button.get("label") if isinstance(button, dict) else None
        url = button.get("url") if isinstance(button, dict) else urls[index] if index < len(urls) else ""
        if isinstance(label, str) and 1 <= len(label) <= activity_limits.ACTIVITY_BUTTON_LABEL_MAX:
            is_valid = isinstance(url, str) and len(url) <= activity_limits.ACTIVITY_BUTTON_URL_MAX and _is_web_url(url)
            buttons.append((label, url if is_valid and isinstance(url, str) else ""))
    return buttons


def _valid_platforms(activity: SetActivity) -> list[str]:
    if not isinstance(activity.supported_platforms, list):
        return []
    return [name for name in wire.PLATFORMS if name in activity.supported_platforms]


def _activity_flags(activity: SetActivity) -> int:
    """Return the flags that the client set and those that are derived from the activity."""
    flags = activity.flags & CLIENT_FLAGS if isinstance(activity.flags, int) else 0
    if activity.instance is True:
        flags |= ActivityFlags.INSTANCE
    if _join_secret(activity) is not None:
        flags |= ActivityFlags.JOIN
        if activity.party and activity.party.privacy == ActivityPartyPrivacy.PUBLIC:
            flags |= PUBLIC_PARTY_FLAGS
    return flags


def _join_secret(activity: SetActivity) -> str | None:
    secret = activity.secrets.join if activity.secrets else None
    is_valid = (
        isinstance(secret, str)
        and activity_limits.ACTIVITY_TEXT_MIN <= len(secret) <= activity_limits.ACTIVITY_SECRET_MAX
    )
    return secret if is_valid and isinstance(secret, str) else None


def _activity_secrets(activity: SetActivity) -> ActivitySecrets | None:
    """Return the join secret and button URLs of an activity, or None if it has neither or no application."""
    if not activity.application_id:
        return None
    join_secret, urls = _join_secret(activity), [url for _, url in _buttons(activity)]
    if join_secret is None and not any(urls):
        return None
    return ActivitySecrets(application_id=int(activity.application_id), join=join_secret, button_urls=urls)


def _is_web_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _is_stream_url(url: object) -> bool:
    return isinstance(url, str) and _is_web_url(url) and urlsplit(url).hostname in STREAM_HOSTS
