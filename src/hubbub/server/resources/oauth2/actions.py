"""Granting, issuing and ending: write, publish, tell."""

import secrets

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, GuildId, Snowflake, UserId
from hubbub.protocol.resources import oauth2 as wire
from hubbub.protocol.scopes import expand, parse_scopes
from hubbub.server.core import auth
from hubbub.server.core.auth import hash_token
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources.applications import ApplicationDeleting, ApplicationRow
from hubbub.server.resources.oauth2 import clients, redirects, store
from hubbub.server.resources.oauth2.facts import (
    ApplicationAuthorized,
    ApplicationDeauthorized,
    InstallationAsked,
    WebhookAsked,
)
from hubbub.server.resources.oauth2.refusals import invalid_scope
from hubbub.server.resources.oauth2.rules import Request
from hubbub.server.resources.oauth2.store import AuthorizationRow, CodeRow, InstallationRow, RefreshRow
from hubbub.server.resources.users import UserDeleted

USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ23456789"
"""No vowels, which make words, and none that look like another."""


def new_secret() -> str:
    """A code or token of 256 random bits."""
    return secrets.token_urlsafe(32)


# Granting


def grant(call: Call, request: Request, query: wire.AuthorizeQuery, body: wire.Authorize) -> str:
    """Do what the person granted; the address to send them to."""
    guild_id: GuildId | None = None
    permissions = request.permissions
    if request.integration_type == 0:
        guild_id, permissions = _install_in_guild(call, request, query, body)
    elif request.integration_type == 1:
        install_for_user(call, request.application, request.scopes)
    channel_id = _webhook_channel(call, request, query, body)
    if request.response_type is not None or request.integration_type == 1:
        authorize(call, request.application, call.user_id, request.scopes)
    if not (request.integration_type == 0 and request.waits_for_code):
        tell_authorized(call, request.application, request.scopes, request.integration_type, guild_id)
    if request.response_type is None:
        return authorized_page(call, request)
    placed = {} if guild_id is None else {"guild_id": str(int(guild_id)), "permissions": str(permissions)}
    assert request.redirect_uri is not None
    if request.response_type == "token":
        issued = issue(call, request.application, call.user_id, request.scopes, refresh=False)
        fields = {
            "token_type": issued.token_type,
            "access_token": issued.access_token,
            "expires_in": str(issued.expires_in),
            "scope": issued.scope,
            **placed,
        }
        return redirects.with_fragment(request.redirect_uri, fields | _echo(call, request))
    code = _issue_code(call, request, guild_id, permissions, channel_id)
    return redirects.with_query(request.redirect_uri, {"code": code, **placed} | _echo(call, request))


def deny(call: Call, request: Request) -> str:
    """Where to send a person who said no."""
    fields = {"error": wire.ACCESS_DENIED, "error_description": wire.DENIED} | _echo(call, request)
    if request.redirect_uri is None:
        return redirects.with_query(authorized_page(call, request), fields)
    if request.response_type == "token":
        return redirects.with_fragment(request.redirect_uri, fields)
    return redirects.with_query(request.redirect_uri, fields)


def authorized_page(call: Call, request: Request) -> str:
    """Where a bare installation ends: with us, or where the application asked for."""
    return request.redirect_uri or f"{call.config.web_url}/oauth2/authorized"


def _echo(call: Call, request: Request) -> dict[str, str]:
    """What every answer has: the client's own word, and who answers (RFC 9207, against mix-up)."""
    return ({} if request.state is None else {"state": request.state}) | {"iss": call.config.web_url}


def _install_in_guild(
    call: Call, request: Request, query: wire.AuthorizeQuery, body: wire.Authorize
) -> tuple[GuildId, int]:
    guild_id = body.guild_id or query.guild_id
    if not isinstance(guild_id, GuildId):
        raise errors.invalid("guild_id", *errors.required())
    if query.disable_guild_select is True and query.guild_id is not UNSET and guild_id != query.guild_id:
        raise errors.invalid("guild_id", *errors.choices([str(int(query.guild_id))]))
    # A person may give less than is asked for, never more.
    wanted = request.permissions & int(body.permissions) if body.permissions is not UNSET else request.permissions
    asked = InstallationAsked(
        application=request.application,
        guild_id=guild_id,
        scopes=request.scopes,
        permissions=wanted,
        act=not request.waits_for_code,
    )
    call.tell(asked)
    return guild_id, asked.permissions


def _webhook_channel(call: Call, request: Request, query: wire.AuthorizeQuery, body: wire.Authorize) -> int | None:
    if Scope.WEBHOOK_INCOMING not in request.scopes:
        return None
    channel_id = body.webhook_channel_id or query.channel_id
    if not isinstance(channel_id, int):
        raise errors.invalid("webhook_channel_id", *errors.required())
    call.tell(WebhookAsked(application=request.application, channel_id=channel_id, act=False))
    return channel_id


def _issue_code(
    call: Call, request: Request, guild_id: int | None, permissions: int, webhook_channel_id: int | None
) -> str:
    code = new_secret()
    row = CodeRow(
        hash=hash_token(code),
        application_id=request.application.id,
        user_id=call.user_id,
        scopes=" ".join(request.scopes),
        redirect_uri=request.redirect_uri or "",
        redirect_sent=int(request.redirect_sent),
        code_challenge=request.code_challenge,
        nonce=request.nonce,
        guild_id=guild_id,
        permissions=permissions,
        installs=int(request.waits_for_code),
        webhook_channel_id=webhook_channel_id,
        expires_ms=call.now + wire.CODE_SECONDS * 1000,
    )
    store.insert_code(call.tx, row, call.now)
    return code


def authorize(call: Call, application: ApplicationRow, user_id: int, scopes: tuple[str, ...]) -> None:
    """Keep that a person granted this, besides all that they granted before."""
    known = store.find_authorization(call.tx, user_id, application.id)
    granted = parse_scopes(f"{known.scopes if known is not None else ''} {' '.join(scopes)}")
    store.keep_authorization(
        call.tx,
        AuthorizationRow(
            id=known.id if known is not None else call.new_id(Snowflake),
            user_id=user_id,
            application_id=application.id,
            scopes=" ".join(granted),
            created_ms=call.now,
            changed_ms=call.now,
        ),
    )


def install_for_user(call: Call, application: ApplicationRow, scopes: tuple[str, ...]) -> None:
    """Let the caller have the application wherever they are."""
    store.keep_installation(
        call.tx,
        InstallationRow(
            application_id=application.id,
            integration_type=1,
            target_id=call.user_id,
            user_id=call.user_id,
            scopes=" ".join(scopes),
            created_ms=call.now,
        ),
    )


def tell_authorized(
    call: Call,
    application: ApplicationRow,
    scopes: tuple[str, ...],
    integration_type: int | None = None,
    guild_id: int | None = None,
) -> None:
    """Say that the caller let an application in."""
    call.tell(
        ApplicationAuthorized(
            application_id=ApplicationId(application.id),
            user_id=call.user_id,
            scopes=scopes,
            integration_type=integration_type,
            guild_id=None if guild_id is None else GuildId(guild_id),
        )
    )


# Issuing


def issue(
    call: Call,
    application: ApplicationRow,
    user_id: int,
    scopes: tuple[str, ...],
    *,
    refresh: bool,
    granted: tuple[str, ...] | None = None,
    family_id: int | None = None,
) -> wire.TokenResult:
    """A new access token and, where asked for, the refresh token that goes with it.

    `granted` is what the refresh token stands for, where this once less is asked for."""
    family_id = call.new_id(Snowflake) if family_id is None else family_id
    store.drop_ended_tokens(call.tx, user_id, call.now)
    access_token = auth.issue(
        call.tx,
        kind="bearer",
        user_id=user_id,
        now=call.now,
        ids=call.ids,
        application_id=application.id,
        scopes=expand(scopes),
        expires_ms=call.now + wire.ACCESS_TOKEN_SECONDS * 1000,
        token_id=family_id,
    )
    answer = wire.TokenResult(access_token=access_token, scope=" ".join(scopes))
    if refresh:
        answer.refresh_token = new_secret()
        idle_ms = wire.REFRESH_IDLE_SECONDS * 1000 if clients.is_public(application) else None
        row = RefreshRow(
            hash=hash_token(answer.refresh_token),
            family_id=family_id,
            user_id=user_id,
            application_id=application.id,
            scopes=" ".join(granted or scopes),
            created_ms=call.now,
            expires_ms=None if idle_ms is None else call.now + idle_ms,
        )
        store.insert_refresh(call.tx, row)
    return answer


def rotate(call: Call, application: ApplicationRow, row: RefreshRow, scope: str | None) -> wire.TokenResult | None:
    """A new pair for a refresh token, whose own pair ends; None when the token was used before."""
    if not store.use_refresh(call.tx, row, call.now):
        return None
    granted = parse_scopes(row.scopes)
    scopes = granted if scope is None else parse_scopes(scope)
    if not expand(scopes) <= expand(granted):
        raise invalid_scope("More is asked for than was granted")
    # The new token has the old one's id, so a gateway session goes on (sdk.md 5.6) and still ends with a revocation.
    # A publisher's games keep theirs until those end by themselves (sdk.md 8.7).
    store.drop_access_token(call.tx, row.user_id, row.family_id)
    auth.changed(call.tx, row.user_id)
    return issue(call, application, row.user_id, scopes, refresh=True, granted=granted, family_id=row.family_id)


# Ending


def end_family(call: Call, user_id: int, family_id: int) -> None:
    """A code or refresh token came twice, so somebody else has it: what it gave ends (RFC 9700 4.14)."""
    auth.revoke(call.tx, user_id, kind="bearer", token_id=family_id)
    # The access token may have ended by itself, while a session of it lives on.
    auth.end_sessions(call.tx, user_id, [family_id])
    store.delete_family(call.tx, family_id)


def deauthorize(call: Call, user_id: int, application_id: int) -> bool:
    """End all that an application may do for a person; False when that was nothing."""
    families = store.families(call.tx, user_id, application_id)
    ended = auth.revoke(call.tx, user_id, kind="bearer", application_id=application_id)
    removed = store.forget_authorization(call.tx, user_id, application_id)
    if not ended and not removed:
        return False
    if families:
        auth.end_sessions(call.tx, user_id, families)
    told = wire.TokenRevoked(application_id=ApplicationId(application_id))
    call.tx.emit(wire.OAUTH2_TOKEN_REVOKE, told, Audience.of_users(user_id, application_id=application_id))
    call.tell(ApplicationDeauthorized(application_id=ApplicationId(application_id), user_id=UserId(user_id)))
    return True


def deauthorize_all(call: Call, user_id: int) -> None:
    """End all that any application may do for a person."""
    for application_id in store.authorized(call.tx, user_id):
        deauthorize(call, user_id, application_id)


def forget_application(call: Call, application_id: int) -> None:
    """End what everybody gave an application."""
    for user_id in store.who_authorized(call.tx, application_id):
        deauthorize(call, user_id, application_id)


def forget_user(call: Call, fact: UserDeleted) -> None:
    """A user is gone, and nobody can be let in with what they gave."""
    store.forget_user(call.tx, fact.user_id)


def application_deleting(call: Call, fact: ApplicationDeleting) -> None:
    """An application goes: nobody has let it in any more."""
    for user_id in store.holders(call.tx, fact.row.id):
        deauthorize(call, user_id, fact.row.id)
    store.forget_application(call.tx, fact.row.id)
