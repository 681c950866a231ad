"""Ports of the oauth2 slice: installations, webhooks, bans and account links, which other slices implement."""

import msgspec

from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources.guilds import Guild
from hubbub.protocol.resources.oauth2 import GrantableGuild
from hubbub.protocol.resources.webhooks import Webhook
from hubbub.server.core.call import Call
from hubbub.server.core.ports import port
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.identity_providers import VerifiedIdentity


class InstallationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An application to install in a guild."""

    application: ApplicationRow
    guild_id: GuildId
    scopes: tuple[str, ...]
    permissions: int
    """Permission bits that the application requests for its bot."""


class ExternalCredential(msgspec.Struct, frozen=True, kw_only=True):
    """Proof that a user owns an external identity: the verified identity, or a token of the account that has it."""

    verified: VerifiedIdentity | None
    """Identity confirmed by the provider, or None if `token` is used."""
    token: str
    """Access token of the provisional account if `verified` is None, otherwise empty."""


@port
def is_banned(call: Call, user_id: UserId) -> bool:
    """Return whether an operator banned a user's account. Applications get no tokens for a banned account."""


@port
def link_account(call: Call, application: ApplicationRow, user_id: UserId, credential: ExternalCredential) -> None:
    """Link a user's account with an external identity during authorization (spec/sdk.md#8.5).

    A provisional account that has the identity is merged into the user's account. Raise if that is not allowed."""


@port
def list_guilds_to_install_in(call: Call) -> list[GrantableGuild]:
    """Return the guilds where the caller may install applications."""


@port
def require_grantable_permissions(call: Call, request: InstallationRequest) -> int:
    """Return the permissions that the caller can grant an application; raise if the caller may not install it."""


@port
def install(call: Call, request: InstallationRequest) -> Guild:
    """Install an application with the permissions that the caller can grant it; raise if the caller may not."""


@port
def find_installed_guild(call: Call, application_id: int, guild_id: GuildId) -> Guild | None:
    """Return a guild if the application is installed there, otherwise None."""


@port
def check_webhook_channel(call: Call, channel_id: int) -> None:
    """Raise an error if the caller may not create webhooks in a channel."""


@port
def create_webhook(call: Call, application: ApplicationRow, channel_id: int) -> Webhook:
    """Create a webhook of an application and return it with its token; raise if the caller may not."""
