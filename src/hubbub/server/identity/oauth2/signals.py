"""Signals that the oauth2 slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import ApplicationId, GuildId, UserId


class ApplicationAuthorized(msgspec.Struct, frozen=True, kw_only=True):
    """A user authorized an application, for themselves or in a guild."""

    application_id: ApplicationId
    user_id: UserId
    scopes: tuple[str, ...]
    integration_type: int | None = None
    """0 for a guild, 1 for the user; None if nothing was installed."""
    guild_id: GuildId | None = None
    """ID of the guild in which the application was installed, or None."""


class ApplicationDeauthorized(msgspec.Struct, frozen=True, kw_only=True):
    """A user's authorization of an application was revoked, with all its tokens."""

    application_id: ApplicationId
    user_id: UserId
