"""What OAuth2 tells upper floors inside the transaction, and what it asks of them."""

from typing import Any

import msgspec

from hubbub.protocol.ids import ApplicationId, GuildId, UserId
from hubbub.protocol.resources.oauth2 import GrantableGuild
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.identity_providers import Verified


class ApplicationAuthorized(msgspec.Struct, frozen=True, kw_only=True):
    """A person let an application in: for themselves, or into a guild."""

    application_id: ApplicationId
    user_id: UserId
    scopes: tuple[str, ...]
    integration_type: int | None = None
    """0 in a guild, 1 for the person; None where nothing was installed."""
    guild_id: GuildId | None = None


class ApplicationDeauthorized(msgspec.Struct, frozen=True, kw_only=True):
    """A person no longer lets an application act for them; its tokens have ended."""

    application_id: ApplicationId
    user_id: UserId


class GuildsAsked(msgspec.Struct, kw_only=True):
    """Where could the caller install an application? Whoever knows guilds fills the list."""

    guilds: list[GrantableGuild] = []


class InstallationAsked(msgspec.Struct, kw_only=True):
    """An application is to come into a guild for the caller: raise where it may not, and where `act`, let it in."""

    application: ApplicationRow
    guild_id: GuildId
    scopes: tuple[str, ...]
    permissions: int
    """What was asked for; becomes what the caller can give."""
    act: bool
    guild: Any = None
    """The guild on the wire, once the application is in."""


class ExternalCredential(msgspec.Struct, frozen=True, kw_only=True):
    """What a client brings of who its player is elsewhere."""

    verified: Verified | None
    """Who their provider says they are,"""
    token: str
    """or, where this is None, the access token of the provisional account itself."""


class TokenAsked(msgspec.Struct, kw_only=True):
    """An application is about to act for somebody. Whoever closes accounts says where it may not."""

    user_id: UserId
    refused: bool = False


class LinkAsked(msgspec.Struct, kw_only=True):
    """A person lets an application in who plays it already under another account: raise where the two cannot become one, else
    make them one (sdk.md 8.5)."""

    application: ApplicationRow
    user_id: UserId
    credential: ExternalCredential


class WebhookAsked(msgspec.Struct, kw_only=True):
    """An application is to get a webhook in a channel for the caller: raise where it may not, and where `act`, make it."""

    application: ApplicationRow
    channel_id: int
    act: bool
    webhook: Any = None
    """The webhook on the wire, with its token."""
