"""Activities as sessions say them, and as others may see them (sdk.md 10.1).

There is no answer on the gateway that says no: a field outside its limits is left out, an activity without a name or of a type
that its sender may not set is not shown."""

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
from hubbub.server.core.presences import ACTIVITIES_MOST, Hidden, SessionPresence

STREAMS: Final = ("twitch.tv", "www.twitch.tv", "youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be")
GAME_TYPES: Final = frozenset(
    {ActivityType.PLAYING, ActivityType.LISTENING, ActivityType.WATCHING, ActivityType.COMPETING}
)
"""What a game may say that its player does."""
SENT_FLAGS: Final = (
    ActivityFlags.EMBEDDED | ActivityFlags.PARTY_PRIVACY_FRIENDS | ActivityFlags.PARTY_PRIVACY_VOICE_CHANNEL
)
"""Flags that are taken as they were sent; the others follow from the activity."""
OPEN_PARTY: Final = ActivityFlags.PARTY_PRIVACY_FRIENDS | ActivityFlags.PARTY_PRIVACY_VOICE_CHANNEL


def shown(
    sent: list[SetActivity],
    actor: Actor,
    *,
    session_id: str,
    application_name: str,
    now_ms: int,
    before: SessionPresence | None,
) -> tuple[list[dict[str, Any]], list[Hidden]]:
    """Activities as others see them, and what is kept from them; an activity that was there before keeps its beginning."""
    if actor.kind == "bearer":
        # A game speaks of itself, and of one thing at a time.
        sent = [_of_game(activity, actor, application_name) for activity in sent[:1] if activity.type in GAME_TYPES]
    found: list[dict[str, Any]] = []
    hidden: list[Hidden] = []
    known = [] if before is None else before.activities
    for activity in sent[:ACTIVITIES_MOST]:
        if not 1 <= len(activity.name) <= wire.ACTIVITY_NAME_MAX:
            continue
        if activity.type not in range(ActivityType.COMPETING + 1):
            continue
        kept = _of_bot(activity) if actor.is_bot else _of_person(activity, session_id)
        if actor.kind == "bearer" and actor.family_id != actor.application_id:
            # So that a sibling of the game knows it for one (sdk.md 8.7).
            kept["parent_application_id"] = actor.family_id
        if not changes.ACTIVITY_URLS.active(now_ms):
            _take_urls_off(kept)
        began = next(
            (each["created_at"] for each in known if each == kept | {"created_at": each["created_at"]}), now_ms
        )
        found.append(kept | {"created_at": began})
        if not actor.is_bot and (secret := _hidden(activity)) is not None:
            hidden.append(secret)
    return found, hidden


def _take_urls_off(activity: dict[str, Any]) -> None:
    """dated-changes.md 3: before 17 July 2025 activities had no addresses and no choice of the line shown."""
    for key in ("state_url", "details_url", "status_display_type"):
        activity.pop(key, None)
    for key in ("large_url", "small_url"):
        activity.get("assets", {}).pop(key, None)


def _of_game(activity: SetActivity, actor: Actor, application_name: str) -> SetActivity:
    return msgspec.structs.replace(
        activity,
        application_id=actor.application_id or UNSET,
        name=activity.name or application_name[: wire.ACTIVITY_NAME_MAX],
    )


def _of_bot(activity: SetActivity) -> dict[str, Any]:
    """What a bot may set; its other keys are dropped (gateway.md 8)."""
    kept: dict[str, Any] = {"name": activity.name, "type": activity.type}
    if isinstance(activity.state, str) and 1 <= len(activity.state) <= wire.ACTIVITY_STATE_MAX:
        kept["state"] = activity.state
    if activity.type == ActivityType.STREAMING and _is_stream(activity.url):
        kept["url"] = activity.url
    return kept


def _of_person(activity: SetActivity, session_id: str) -> dict[str, Any]:
    kept = _of_bot(activity)
    if activity.type != ActivityType.CUSTOM:
        kept.pop("state", None)
        kept |= _texts(activity, ("state", "details"), wire.ACTIVITY_TEXT_MIN, wire.ACTIVITY_STATE_MAX)
        kept |= _links(activity, ("state_url", "details_url"))
    application_id = activity.application_id
    if application_id:
        kept["application_id"] = application_id
    kept["id"] = _id(activity, session_id)
    kept["session_id"] = session_id
    kept |= _given(activity)
    if activity.party and (party := _party(activity.party)):
        kept["party"] = party
    if activity.assets and (assets := _assets(activity.assets)):
        kept["assets"] = assets
    if labels := [label for label, _ in _buttons(activity)]:
        kept["buttons"] = labels
    if platforms := _platforms(activity):
        kept["supported_platforms"] = platforms
    if flags := _flags(activity):
        kept["flags"] = flags
    return kept


def _id(activity: SetActivity, session_id: str) -> str:
    """The same for the same thing done in the same session."""
    if activity.type == ActivityType.CUSTOM:
        return "custom"
    what = f"{session_id}:{activity.application_id or activity.name}:{activity.type}"
    return hashlib.blake2s(what.encode(), digest_size=8).hexdigest()


def _given(activity: SetActivity) -> dict[str, Any]:
    """What needs no more than a look."""
    kept: dict[str, Any] = {}
    if activity.status_display_type in (0, 1, 2):
        kept["status_display_type"] = activity.status_display_type
    if activity.timestamps:
        times = {key: getattr(activity.timestamps, key) for key in ("start", "end")}
        if times := {key: value for key, value in times.items() if isinstance(value, int) and value >= 0}:
            kept["timestamps"] = times
    if activity.emoji and len(activity.emoji.name) <= wire.ACTIVITY_STATE_MAX:
        kept["emoji"] = msgspec.to_builtins(activity.emoji, builtin_types=(), enc_hook=str)
    if activity.instance is True:
        kept["instance"] = True
    return kept


def _texts(source: object, names: Iterable[str], least: int, most: int) -> dict[str, str]:
    values = ((name, getattr(source, name)) for name in names)
    return {name: value for name, value in values if isinstance(value, str) and least <= len(value) <= most}


def _links(source: object, names: Iterable[str]) -> dict[str, str]:
    """Links that others may click: nothing but addresses of the web."""
    found = _texts(source, names, 1, wire.ACTIVITY_URL_MAX)
    return {name: value for name, value in found.items() if _is_web(value)}


def _assets(assets: wire.ActivityAssets) -> dict[str, str]:
    return {
        **_texts(assets, ("large_image", "small_image", "invite_cover_image"), 1, wire.ACTIVITY_IMAGE_MAX),
        **_texts(assets, ("large_text", "small_text"), wire.ACTIVITY_TEXT_MIN, wire.ACTIVITY_STATE_MAX),
        **_links(assets, ("large_url", "small_url")),
    }


def _party(party: wire.SetActivityParty) -> dict[str, Any]:
    """Whether strangers may come is told by flags, and to nobody as such (sdk.md 2)."""
    kept: dict[str, Any] = _texts(party, ("id",), wire.ACTIVITY_TEXT_MIN, wire.ACTIVITY_STATE_MAX)
    size = party.size
    if (
        isinstance(size, list)
        and len(size) == 2
        and size[0] >= 1
        and size[1] >= 0
        and (not size[1] or size[0] <= size[1])
    ):
        kept["size"] = size
    return kept


def _buttons(activity: SetActivity) -> list[tuple[str, str]]:
    """Labels and addresses: over the gateway apart, over local RPC together (sdk.md 10.1)."""
    if not isinstance(activity.buttons, list):
        return []
    urls = list(activity.metadata.button_urls) if activity.metadata else []
    found = []
    for place, button in enumerate(activity.buttons[: wire.BUTTONS_MAX]):
        label = button if isinstance(button, str) else button.get("label") if isinstance(button, dict) else None
        url = button.get("url") if isinstance(button, dict) else urls[place] if place < len(urls) else ""
        if isinstance(label, str) and 1 <= len(label) <= wire.BUTTON_LABEL_MAX:
            sound = isinstance(url, str) and len(url) <= wire.BUTTON_URL_MAX and _is_web(url)
            found.append((label, url if sound and isinstance(url, str) else ""))
    return found


def _platforms(activity: SetActivity) -> list[str]:
    if not isinstance(activity.supported_platforms, list):
        return []
    return [name for name in wire.PLATFORMS if name in activity.supported_platforms]


def _flags(activity: SetActivity) -> int:
    flags = activity.flags & SENT_FLAGS if isinstance(activity.flags, int) else 0
    if activity.instance is True:
        flags |= ActivityFlags.INSTANCE
    if _join(activity) is not None:
        flags |= ActivityFlags.JOIN
        if activity.party and activity.party.privacy == wire.PARTY_PUBLIC:
            flags |= OPEN_PARTY
    return flags


def _join(activity: SetActivity) -> str | None:
    secret = activity.secrets.join if activity.secrets else None
    sound = isinstance(secret, str) and wire.ACTIVITY_TEXT_MIN <= len(secret) <= wire.SECRET_MAX
    return secret if sound and isinstance(secret, str) else None


def _hidden(activity: SetActivity) -> Hidden | None:
    if not activity.application_id:
        return None
    join, urls = _join(activity), [url for _, url in _buttons(activity)]
    if join is None and not any(urls):
        return None
    return Hidden(application_id=int(activity.application_id), join=join, button_urls=urls)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _is_stream(url: object) -> bool:
    return isinstance(url, str) and _is_web(url) and urlsplit(url).hostname in STREAMS
