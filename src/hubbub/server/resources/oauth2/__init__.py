"""OAuth2 and OpenID Connect: how applications are let in by people, and what they then hold."""

from collections.abc import Iterable
from typing import Any

from hubbub.protocol.resources import oauth2 as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.oauth2 import routes
from hubbub.server.resources.oauth2.actions import authorize, deauthorize, issue
from hubbub.server.resources.oauth2.facts import (
    ApplicationAuthorized,
    ApplicationDeauthorized,
    GuildsAsked,
    InstallationAsked,
    WebhookAsked,
)
from hubbub.server.resources.oauth2.redirects import is_sound
from hubbub.server.resources.oauth2.store import (
    InstallationRow,
    applications_of,
    approved_scopes,
    delete_installation,
    delete_installations,
    find_authorization,
    find_installation,
    find_installed,
    keep_installation,
    list_installations,
    players_among,
)
from hubbub.server.resources.oauth2.store import approve_scopes as _approve
from hubbub.server.resources.oauth2.views import public_applications


def approve_scopes(call: Call, application_id: int, scopes: Iterable[str]) -> None:
    """Let an application ask for scopes that need an approval; ValueError names one that does not exist."""
    wanted = list(scopes)
    for scope in wanted:
        if scope not in wire.SCOPES:
            raise ValueError(f"there is no scope {scope}")
    _approve(call.tx, application_id, wanted)


def _ready(call: Call) -> dict[str, Any]:
    # gateway.md 4.2, sdk.md 5.4: the expansion, while token answers name the umbrella.
    return {"scopes": sorted(call.actor.scopes)} if call.actor.kind == "bearer" else {}


SLICE = Slice(name="oauth2", modules=(routes,), ready=_ready)

__all__ = [
    "SLICE",
    "ApplicationAuthorized",
    "ApplicationDeauthorized",
    "GuildsAsked",
    "InstallationAsked",
    "InstallationRow",
    "WebhookAsked",
    "applications_of",
    "approve_scopes",
    "approved_scopes",
    "authorize",
    "deauthorize",
    "delete_installation",
    "delete_installations",
    "find_authorization",
    "find_installation",
    "find_installed",
    "is_sound",
    "issue",
    "keep_installation",
    "list_installations",
    "players_among",
    "public_applications",
]
