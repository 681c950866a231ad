"""Applications, authorizations and people as OAuth2 shows them."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import wire as json
from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, Snowflake
from hubbub.protocol.resources import applications as application_wire
from hubbub.protocol.resources import oauth2 as wire
from hubbub.protocol.resources.users import User
from hubbub.protocol.scopes import SCOPES
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.store import Tx
from hubbub.server.resources import applications, users
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.oauth2 import store
from hubbub.server.resources.oauth2.store import AuthorizationRow
from hubbub.server.resources.users import DataAsked, UserRow

DEFAULT_AVATARS = 6


def public_applications(
    tx: Tx, rows: Sequence[ApplicationRow], now: int | None = None
) -> list[application_wire.PublicApplication]:
    """Applications as anybody may see them at a moment; without one, as today."""
    bots = users.find_many(tx, [row.bot_id for row in rows if row.bot_id is not None])
    return [_public(row, bots.get(row.bot_id or 0), application_wire.PublicApplication, now) for row in rows]


def owner(tx: Tx, row: ApplicationRow) -> User | UnsetType:
    """Who answers for an application."""
    person = users.find(tx, row.owner_id)
    return users.user(person) if person is not None else UNSET


def authorized_application(tx: Tx, row: ApplicationRow, now: int) -> wire.AuthorizedApplication:
    """An application as its token sees it."""
    bot = None if row.bot_id is None else users.find(tx, row.bot_id)
    shown: wire.AuthorizedApplication = _public(row, bot, wire.AuthorizedApplication, now)
    return shown


def _public(row: ApplicationRow, bot: UserRow | None, kind: Any, now: int | None) -> Any:
    kept = applications.settings(row)
    flags, flags_new = application_wire.flags_on_the_wire(row.flags, now)
    return kind(
        id=ApplicationId(row.id),
        name=row.name,
        icon=row.icon,
        description=row.description,
        type=None,
        verify_key=row.verify_key,
        flags=flags,
        flags_new=flags_new,
        cover_image=row.cover_image or UNSET,
        bot=users.user(bot) if bot is not None else UNSET,
        bot_public=bool(row.bot_public),
        bot_require_code_grant=bool(row.bot_require_code_grant),
        terms_of_service_url=kept.terms_of_service_url or UNSET,
        privacy_policy_url=kept.privacy_policy_url or UNSET,
        custom_install_url=kept.custom_install_url or UNSET,
        install_params=kept.install_params or UNSET,
        integration_types_config=json.decode(
            row.integration_types_config, dict[str, application_wire.IntegrationTypeConfiguration]
        ),
        tags=json.decode(row.tags, list[str]),
    )


def authorizations(tx: Tx, rows: Sequence[AuthorizationRow], now: int) -> list[wire.Authorization]:
    """What a person let in; an application that is gone is left out."""
    known = applications.find_many(tx, [row.application_id for row in rows])
    there = [(row, known[row.application_id]) for row in rows if row.application_id in known]
    shown = public_applications(tx, [application for _, application in there], now)
    return [
        wire.Authorization(id=Snowflake(row.id), application=application, scopes=row.scopes.split())
        for (row, _), application in zip(there, shown, strict=True)
    ]


def harvest(call: Call, asked: DataAsked) -> None:
    """What a person let in, for their copy of all that is kept of them."""
    rows = store.list_authorizations(call.tx, asked.user_id)
    asked.records["authorizations"] = [
        {
            "application_id": str(row.application_id),
            "scopes": row.scopes.split(),
            "created_at": json.timestamp(row.created_ms),
        }
        for row in rows
    ]


def shown_scopes(scopes: frozenset[str]) -> list[str]:
    """A token's scopes as they were granted: what an umbrella brought goes by the umbrella's name."""
    umbrellas = [scope for scope in scopes if scope in SCOPES and SCOPES[scope].expands]
    brought = {str(inner) for umbrella in umbrellas for inner in SCOPES[umbrella].expands}
    return sorted(scopes - brought)


def user_info(config: Config, row: UserRow, scopes: frozenset[str]) -> wire.UserInfo:
    """The claims about a person that these scopes open."""
    info = wire.UserInfo(sub=str(int(row.id)))
    if Scope.EMAIL in scopes:
        info.email = row.email
        info.email_verified = bool(row.verified)
    if Scope.IDENTIFY in scopes:
        info.preferred_username = row.username
        info.nickname = row.global_name
        info.picture = _picture(config, row)
        info.locale = row.locale
    return info


def _picture(config: Config, row: UserRow) -> str:
    if row.avatar is None:
        return f"{config.cdn_url}/embed/avatars/{(row.id >> 22) % DEFAULT_AVATARS}.png"
    return f"{config.cdn_url}/avatars/{int(row.id)}/{row.avatar}.png"


def id_claims(
    config: Config,
    row: UserRow,
    application_id: int,
    scopes: frozenset[str],
    *,
    now: int,
    nonce: str | None,
    access_token: str,
) -> dict[str, Any]:
    """What an ID token says (OpenID Connect Core 2, and 3.1.3.6 for at_hash)."""
    half = hashlib.sha256(access_token.encode()).digest()[:16]
    claims: dict[str, Any] = {
        "iss": config.web_url,
        "aud": str(int(application_id)),
        "iat": now // 1000,
        "exp": now // 1000 + wire.ID_TOKEN_SECONDS,
        "at_hash": base64.urlsafe_b64encode(half).rstrip(b"=").decode(),
        **msgspec.to_builtins(user_info(config, row, scopes)),
    }
    if nonce is not None:
        claims["nonce"] = nonce
    return claims
