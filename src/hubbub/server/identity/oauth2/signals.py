"""Signals and requests of the oauth2 slice, raised inside the transaction."""

from typing import Any

import msgspec

from hubbub.protocol.ids import ApplicationId, GuildId, UserId
from hubbub.protocol.resources.oauth2 import GrantableGuild
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.identity_providers import VerifiedIdentity


class ApplicationAuthorized(msgspec.Struct, frozen=True, kw_only=True):
    """A user authorized an application, for themselves or in a guild."""

    application_id: ApplicationId
    user_id: UserId
    scopes: tuple[str, ...]
    integration_type: int | None = None
    """0 for a guild, 1 for the user; None if nothing was installed."""
    guild_id: GuildId | None = None


class ApplicationDeauthorized(msgspec.Struct, frozen=True, kw_only=True):
    """A user's authorization of an application was revoked, with all its tokens."""

    application_id: ApplicationId
    user_id: UserId


class InstallableGuildsRequested(msgspec.Struct, kw_only=True):
    """Request for the guilds where the caller may install applications; the listener fills `guilds`."""

    guilds: list[GrantableGuild] = []


class InstallationRequested(msgspec.Struct, kw_only=True):
    """Request to install an application in a guild; the listener raises if the caller may not.

    If `execute` is set, the listener also installs it."""

    application: ApplicationRow
    guild_id: GuildId
    scopes: tuple[str, ...]
    permissions: int
    """Requested permissions; the listener reduces them to what the caller can grant."""
    execute: bool
    guild: Any = None
    """The guild's wire model, set once the application is installed."""


class ExternalCredential(msgspec.Struct, frozen=True, kw_only=True):
    """Proof of a user's identity at an external provider."""

    verified: VerifiedIdentity | None
    """Identity confirmed by the provider, or None if `token` is used."""
    token: str
    """Access token of the provisional account; used if `verified` is None."""


class TokenRequested(msgspec.Struct, kw_only=True):
    """A token is about to be issued for a user; the listener sets `refused` to prevent it."""

    user_id: UserId
    refused: bool = False


class AccountLinkRequested(msgspec.Struct, kw_only=True):
    """Request to merge a user's provisional account during authorization (spec/sdk.md#8.5).

    The listener raises if the accounts cannot be merged."""

    application: ApplicationRow
    user_id: UserId
    credential: ExternalCredential


class WebhookRequested(msgspec.Struct, kw_only=True):
    """Request to create a webhook for an application; the listener raises if the caller may not.

    If `execute` is set, the listener also creates it."""

    application: ApplicationRow
    channel_id: int
    execute: bool
    webhook: Any = None
    """The webhook's wire model, with its token."""
