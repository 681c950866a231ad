"""Build the wire models of applications, authorizations and OpenID Connect claims, and the data export of authorizations."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import codec
from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, Snowflake
from hubbub.protocol.images import DEFAULT_AVATAR_COUNT
from hubbub.protocol.resources import applications as application_wire
from hubbub.protocol.resources import oauth2 as wire
from hubbub.protocol.resources.users import User
from hubbub.protocol.scopes import SCOPES
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.personal_data import export_row
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications, users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.oauth2 import store
from hubbub.server.identity.oauth2.installations.store import list_by_installer, list_by_target
from hubbub.server.identity.oauth2.store import AuthorizationRow
from hubbub.server.identity.users import UserRow

EXPORTED_INSTALLATIONS_MAX: Final = 10_000
"""Maximum number of installations in guilds in a data export."""


def public_applications(
    tx: Tx, rows: Sequence[ApplicationRow], now_ms: int | None = None
) -> list[application_wire.PublicApplication]:
    """Build the public views of applications.

    `now_ms` (Unix milliseconds) selects the rules of that time; None selects the newest rules."""
    bots_by_id = users.find_many(tx, [row.bot_id for row in rows if row.bot_id is not None])
    return [
        _public_application(row, bots_by_id.get(row.bot_id or 0), application_wire.PublicApplication, now_ms)
        for row in rows
    ]


def owner(tx: Tx, row: ApplicationRow) -> User | UnsetType:
    """Build the owner of an application; UNSET if the user does not exist."""
    user = users.find(tx, row.owner_id)
    return users.user_view(user) if user is not None else UNSET


def authorized_application(tx: Tx, row: ApplicationRow, now_ms: int) -> wire.AuthorizedApplication:
    """Build the view of an application for one of its own access tokens."""
    bot = None if row.bot_id is None else users.find(tx, row.bot_id)
    view: wire.AuthorizedApplication = _public_application(row, bot, wire.AuthorizedApplication, now_ms)
    return view


def _public_application(row: ApplicationRow, bot: UserRow | None, wire_model: Any, now_ms: int | None) -> Any:
    """Build the public fields of an application as an instance of the wire model `wire_model`."""
    settings = applications.settings.decode_settings(row)
    flags, flags_new = application_wire.wire_flags(row.flags, now_ms)
    return wire_model(
        id=ApplicationId(row.id),
        name=row.name,
        icon=row.icon,
        description=row.description,
        type=None,
        verify_key=row.verify_key,
        flags=flags,
        flags_new=flags_new,
        cover_image=row.cover_image or UNSET,
        bot=users.user_view(bot) if bot is not None else UNSET,
        bot_public=bool(row.bot_public),
        bot_require_code_grant=bool(row.bot_require_code_grant),
        terms_of_service_url=settings.terms_of_service_url or UNSET,
        privacy_policy_url=settings.privacy_policy_url or UNSET,
        custom_install_url=settings.custom_install_url or UNSET,
        install_params=settings.install_params or UNSET,
        integration_types_config=codec.decode(
            row.integration_types_config, dict[str, application_wire.IntegrationTypeConfiguration]
        ),
        tags=codec.decode(row.tags, list[str]),
    )


def authorizations(tx: Tx, rows: Sequence[AuthorizationRow], now_ms: int) -> list[wire.Authorization]:
    """Build authorizations. Authorizations of deleted applications are left out."""
    applications_by_id = applications.find_many(tx, [row.application_id for row in rows])
    rows_with_applications = [
        (row, applications_by_id[row.application_id]) for row in rows if row.application_id in applications_by_id
    ]
    public_views = public_applications(tx, [application for _, application in rows_with_applications], now_ms)
    return [
        wire.Authorization(id=Snowflake(row.id), application=application, scopes=row.scopes.split())
        for (row, _), application in zip(rows_with_applications, public_views, strict=True)
    ]


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's authorizations for their data export."""
    rows = store.list_authorizations(call.tx, user_id)
    authorization_records = [
        {
            "application_id": str(row.application_id),
            "scopes": row.scopes.split(),
            "created_at": codec.timestamp(row.created_ms),
        }
        for row in rows
    ]
    installation_rows = list_by_target(call.tx, user_id)
    installation_rows += list_by_installer(call.tx, user_id, EXPORTED_INSTALLATIONS_MAX)
    return {
        "authorizations": authorization_records,
        "installations": [export_row(row, "user_id") for row in installation_rows],
    }


def granted_scopes(scopes: frozenset[str]) -> list[str]:
    """Return a token's scopes as granted: scopes implied by an umbrella scope are omitted."""
    umbrella_scopes = [scope for scope in scopes if scope in SCOPES and SCOPES[scope].included_scopes]
    implied_scopes = {
        str(included_scope)
        for umbrella_scope in umbrella_scopes
        for included_scope in SCOPES[umbrella_scope].included_scopes
    }
    return sorted(scopes - implied_scopes)


def user_info(config: Config, row: UserRow, scopes: frozenset[str]) -> wire.UserInfo:
    """Build the OpenID Connect claims about a user that the scopes allow."""
    claims = wire.UserInfo(sub=str(int(row.id)))
    if Scope.EMAIL in scopes:
        claims.email = row.email
        claims.email_verified = bool(row.verified)
    if Scope.IDENTIFY in scopes:
        claims.preferred_username = row.username
        claims.nickname = row.global_name
        claims.picture = _avatar_url(config, row)
        claims.locale = row.locale
    return claims


def _avatar_url(config: Config, row: UserRow) -> str:
    if row.avatar is None:
        return f"{config.cdn_url}/embed/avatars/{(row.id >> 22) % DEFAULT_AVATAR_COUNT}.png"
    return f"{config.cdn_url}/avatars/{int(row.id)}/{row.avatar}.png"


def id_claims(
    config: Config,
    row: UserRow,
    application_id: int,
    scopes: frozenset[str],
    *,
    now_ms: int,
    nonce: str | None,
    access_token: str,
) -> dict[str, Any]:
    """Return the claims of an ID token (OpenID Connect Core 2; for at_hash 3.1.3.6)."""
    hash_half = hashlib.sha256(access_token.encode()).digest()[:16]
    claims: dict[str, Any] = {
        "iss": config.web_url,
        "aud": str(int(application_id)),
        "iat": now_ms // 1000,
        "exp": now_ms // 1000 + wire.ID_TOKEN_SECONDS,
        "at_hash": base64.urlsafe_b64encode(hash_half).rstrip(b"=").decode(),
        **msgspec.to_builtins(user_info(config, row, scopes)),
    }
    if nonce is not None:
        claims["nonce"] = nonce
    return claims
