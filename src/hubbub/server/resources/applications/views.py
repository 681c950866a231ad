"""An application as its owner and its bot see it."""

from typing import Final, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import changes
from hubbub.protocol import wire as json
from hubbub.protocol.enums import ActivityType
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.resources import applications as wire
from hubbub.protocol.resources.users import User
from hubbub.server.core.store import Tx
from hubbub.server.resources import users
from hubbub.server.resources.applications import store
from hubbub.server.resources.applications.store import ApplicationRow

FIRST_TYPES: Final = (ActivityType.PLAYING,)
ALL_TYPES: Final = (ActivityType.PLAYING, ActivityType.LISTENING, ActivityType.WATCHING, ActivityType.COMPETING)
"""What SET_ACTIVITY takes (Activity types in the specification)."""


class Settings(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What of an application is only shown and edited. Stored as JSON: add fields with a default, never rename."""

    custom_install_url: str | None = None
    install_params: wire.InstallParams | None = None
    interactions_endpoint_url: str | None = None
    role_connections_verification_url: str | None = None
    terms_of_service_url: str | None = None
    privacy_policy_url: str | None = None
    event_webhooks_url: str | None = None
    event_webhooks_status: int = 1
    event_webhooks_types: list[str] = []
    explicit_content_filter: int = 0
    max_participants: int | None = None
    rpc_origins: list[str] = []
    social_layer_terms_ms: int | None = None
    """When its owner accepted the terms of the social layer."""


class Configured(Protocol):
    """What has the settings of an application, as they are stored."""

    @property
    def settings(self) -> str: ...


def settings(row: Configured) -> Settings:
    """The stored settings."""
    return json.decode(row.settings, Settings)


def application(tx: Tx, row: ApplicationRow, now: int, *, owned: bool = False) -> wire.Application:
    """The whole application, for those who manage it; some of it only where they own it."""
    people = users.find_many(tx, [row.owner_id, *([row.bot_id] if row.bot_id else [])])
    kept = settings(row)
    flags, flags_new = wire.flags_on_the_wire(row.flags, now)
    bot: User | UnsetType = users.user(people[row.bot_id]) if row.bot_id else UNSET
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
        terms_of_service_url=kept.terms_of_service_url or UNSET,
        privacy_policy_url=kept.privacy_policy_url or UNSET,
        custom_install_url=kept.custom_install_url or UNSET,
        install_params=kept.install_params or UNSET,
        integration_types_config=json.decode(
            row.integration_types_config, dict[str, wire.IntegrationTypeConfiguration]
        ),
        max_participants=kept.max_participants,
        rpc_origins=kept.rpc_origins or UNSET,
        tags=json.decode(row.tags, list[str]),
        owner=users.user(people[row.owner_id]),
        team=None,
        redirect_uris=json.decode(row.redirect_uris, list[str]),
        interactions_endpoint_url=kept.interactions_endpoint_url,
        role_connections_verification_url=kept.role_connections_verification_url,
        approximate_guild_count=store.guild_count(tx, row.bot_id) if row.bot_id else 0,
        approximate_user_install_count=store.user_install_count(tx, row.id),
        approximate_user_authorization_count=store.user_authorization_count(tx, row.id),
        explicit_content_filter=kept.explicit_content_filter,
        eligible_oauth2_scopes=[],
        event_webhooks_url=kept.event_webhooks_url,
        event_webhooks_status=kept.event_webhooks_status,
        event_webhooks_types=kept.event_webhooks_types,
        channel_obfuscation=bool(row.obfuscates_channels) if owned else UNSET,
    )


def for_rpc(row: ApplicationRow, now: int) -> wire.RpcApplication:
    """What the local agent has to know of it."""
    flags, flags_new = wire.flags_on_the_wire(row.flags, now)
    # dated-changes.md 3: before 25 July 2024 a game could only be played.
    types = ALL_TYPES if changes.SET_ACTIVITY_TYPES.active(now) else FIRST_TYPES
    return wire.RpcApplication(
        id=ApplicationId(row.id),
        name=row.name,
        icon=row.icon,
        description=row.description,
        flags=flags,
        flags_new=flags_new,
        rpc_origins=settings(row).rpc_origins,
        activity_types=[int(each) for each in types],
    )


def flagged(row: ApplicationRow, now: int, *, named: bool = False) -> wire.FlaggedApplication:
    """The little of it that READY names; to a game also what it is called, and whose it is."""
    flags, flags_new = wire.flags_on_the_wire(row.flags, now)
    shown = wire.FlaggedApplication(id=ApplicationId(row.id), flags=flags, flags_new=flags_new)
    if named:
        shown.name = row.name
        shown.parent_id = None if row.parent_id is None else ApplicationId(row.parent_id)
    return shown


__all__ = ["Settings", "UserId", "application", "flagged", "for_rpc", "settings"]
