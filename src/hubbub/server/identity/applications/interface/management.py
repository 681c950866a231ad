"""Functions for other slices that manage applications, their bots, tokens and secrets."""

from hubbub.server.identity.applications.actions import (
    add_bot,
    create,
    delete,
    reset_bot_token,
    reset_client_secret,
    revoke_bot_tokens,
    update,
)
from hubbub.server.identity.applications.rules import measure_size
from hubbub.server.identity.applications.store import (
    find_client_secret_hash,
    find_signing_key,
    list_ids_by_bots,
    list_managed_applications,
    list_owned_applications,
    list_team_applications,
)
from hubbub.server.identity.applications.views import application as application_view

__all__ = [
    "add_bot",
    "application_view",
    "create",
    "delete",
    "find_client_secret_hash",
    "find_signing_key",
    "list_ids_by_bots",
    "list_managed_applications",
    "list_owned_applications",
    "list_team_applications",
    "measure_size",
    "reset_bot_token",
    "reset_client_secret",
    "revoke_bot_tokens",
    "update",
]
