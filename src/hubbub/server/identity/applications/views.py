"""Build the wire models of applications, and decode their stored settings."""

from typing import Final, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import ActivityType
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import applications as wire
from hubbub.protocol.resources.users import User
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.applications import ports, store, teams
from hubbub.server.identity.applications.store import ApplicationRow
from hubbub.server.identity.applications.teams.views import team_user

INITIAL_ACTIVITY_TYPES: Final = (ActivityType.PLAYING,)
"""Activity types that SET_ACTIVITY accepted before 25 July 2024."""
ACTIVITY_TYPES: Final = (ActivityType.PLAYING, ActivityType.LISTENING, ActivityType.WATCHING, ActivityType.COMPETING)
"""Activity types that SET_ACTIVITY accepts."""


class ApplicationSettings(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Settings of an application that no query needs as columns.

    The settings are stored as JSON: add fields with a default, never rename a field."""

    custom_install_url: str | None = None
    install_params: wire.InstallParams | None = None
    interactions_endpoint_url: str | None = None
    role_connections_verification_url: str | None = None
    terms_of_service_url: str | None = None
    privacy_policy_url: str | None = None
    event_webhooks_url: str | None = None
    event_webhooks_status: int = 1
    """Value of `EventWebhooksStatus`; 1 is DISABLED."""
    event_webhooks_types: list[str] = []
    explicit_content_filter: int = 0
    max_participants: int | None = None
    rpc_origins: list[str] = []
    social_layer_terms_ms: int | None = None
    """Unix milliseconds at which the owner accepted the social layer terms, or None."""


class HasSettings(Protocol):
    """An object with the stored settings of an application."""

    @property
    def settings(self) -> str: ...


def decode_settings(row: HasSettings) -> ApplicationSettings:
    return codec.decode(row.settings, ApplicationSettings)


def application(call: Call, row: ApplicationRow, *, for_user: bool = False) -> wire.Application:
    """Build the full application for its bot or its managers. With `for_user`, include the fields that the bot does not see."""
    tx = call.tx
    users_by_id = users.find_many(tx, [row.owner_id, *([row.bot_id] if row.bot_id else [])])
    settings = decode_settings(row)
    flags, flags_new = wire.wire_flags(row.flags, call.now_ms)
    bot: User | UnsetType = users.user_view(users_by_id[row.bot_id]) if row.bot_id else UNSET
    team = None if row.team_id is None else teams.find(tx, row.team_id)
    return wire.Application(
        id=ApplicationId(row.id),
        name=row.name,
        icon=row.icon,
        description=row.description,
        type=None,
        verify_key=row.verify_key,
        flags=flags,
        flags_new=flags_new,
        cover_image=row.cover_image or UNSET,
        bot=bot,
        bot_public=bool(row.bot_public),
        bot_require_code_grant=bool(row.bot_require_code_grant),
        terms_of_service_url=settings.terms_of_service_url or UNSET,
        privacy_policy_url=settings.privacy_policy_url or UNSET,
        custom_install_url=settings.custom_install_url or UNSET,
        install_params=settings.install_params or UNSET,
        integration_types_config=codec.decode(
            row.integration_types_config, dict[str, wire.IntegrationTypeConfiguration]
        ),
        max_participants=settings.max_participants,
        rpc_origins=settings.rpc_origins,
        tags=codec.decode(row.tags, list[str]),
        owner=users.user_view(users_by_id[row.owner_id]) if team is None else team_user(team),
        team=None if team is None else teams.team(tx, team),
        redirect_uris=codec.decode(row.redirect_uris, list[str]),
        interactions_endpoint_url=settings.interactions_endpoint_url,
        role_connections_verification_url=settings.role_connections_verification_url,
        approximate_guild_count=ports.count_guilds(call, row.bot_id) if row.bot_id else 0,
        approximate_user_install_count=store.count_user_installs(tx, row.id),
        approximate_user_authorization_count=store.count_user_authorizations(tx, row.id),
        explicit_content_filter=settings.explicit_content_filter,
        eligible_oauth2_scopes=[],
        event_webhooks_url=settings.event_webhooks_url,
        event_webhooks_status=settings.event_webhooks_status,
        event_webhooks_types=settings.event_webhooks_types,
        channel_obfuscation=bool(row.obfuscates_channels) if for_user else UNSET,
    )


def rpc_application(row: ApplicationRow, now_ms: int) -> wire.RpcApplication:
    """Build the application for the local agent."""
    flags, flags_new = wire.wire_flags(row.flags, now_ms)
    # spec/dated-changes.md#3: before 25 July 2024 SET_ACTIVITY accepted only PLAYING.
    activity_types = ACTIVITY_TYPES if changes.SET_ACTIVITY_TYPES.is_active(now_ms) else INITIAL_ACTIVITY_TYPES
    return wire.RpcApplication(
        id=ApplicationId(row.id),
        name=row.name,
        icon=row.icon,
        description=row.description,
        flags=flags,
        flags_new=flags_new,
        rpc_origins=decode_settings(row).rpc_origins,
        activity_types=[int(activity_type) for activity_type in activity_types],
        premium_type_scope=users.profiles.premium_type_scope(now_ms),
    )


def partial_application(row: ApplicationRow, now_ms: int, *, for_oauth2: bool = False) -> wire.ReadyApplication:
    """Build the partial application of READY. With `for_oauth2`, include the name and the publisher."""
    flags, flags_new = wire.wire_flags(row.flags, now_ms)
    view = wire.ReadyApplication(id=ApplicationId(row.id), flags=flags, flags_new=flags_new)
    if for_oauth2:
        view.name = row.name
        view.parent_id = None if row.parent_id is None else ApplicationId(row.parent_id)
    return view


__all__ = [
    "ApplicationSettings",
    "HasSettings",
    "application",
    "decode_settings",
    "partial_application",
    "rpc_application",
]
