"""Stored settings of applications, pings of their endpoints, and validation of redirect URIs, for other slices."""

from hubbub.server.identity.applications.actions import update_settings
from hubbub.server.identity.applications.addresses.endpoints import build_interactions_ping, require_event_endpoint
from hubbub.server.identity.applications.addresses.redirects import is_valid_redirect, standard_redirect
from hubbub.server.identity.applications.views import decode_settings

__all__ = [
    "decode_settings",
    "build_interactions_ping",
    "is_valid_redirect",
    "require_event_endpoint",
    "standard_redirect",
    "update_settings",
]
