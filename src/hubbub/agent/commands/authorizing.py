"""The commands AUTHORIZE and AUTHENTICATE (rpc.md 7)."""

from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from hubbub.agent.commands.table import obeys
from hubbub.agent.consent import NO, Answer, Question
from hubbub.agent.desk import Desk
from hubbub.agent.forms import arguments, items, number, one_of, snowflake, text
from hubbub.agent.links import Link
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources.oauth2 import ACCESS_DENIED
from hubbub.protocol.rpc import CloseCode, Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_scopes import PseudoScope
from hubbub.protocol.scopes import expand
from hubbub.sdk.clock import machine_ms

TEXT_MAX: Final = 2048
SCOPES_MAX: Final = 64
RENEW_MS: Final = 5 * 60_000
"""Age of a token check after which the token is checked again."""

_TEXT: Final = text(1, TEXT_MAX)


def _scopes(value: Any, name: str) -> list[str]:
    if isinstance(value, str):
        value = value.split()
    scopes: list[str] = items(text(1, 64), 1, SCOPES_MAX)(value, name)
    return scopes


_AUTHORIZE: Final = {
    "client_id": snowflake,
    "scopes": _scopes,
    "scope": _scopes,
    "response_type": one_of("code"),
    "prompt": one_of("none", "consent"),
    "state": _TEXT,
    "nonce": _TEXT,
    "code_challenge": _TEXT,
    "code_challenge_method": one_of("S256"),
    "rpc_token": _TEXT,
    "integration_type": one_of(0, 1),
    "permissions": snowflake,
    "guild_id": snowflake,
    "redirect_uri": _TEXT,
    "pid": number(0),
}
PASSED_ON: Final = (
    "prompt",
    "state",
    "nonce",
    "code_challenge",
    "code_challenge_method",
    "integration_type",
    "permissions",
    "guild_id",
    "redirect_uri",
)


def refused(error_code: str) -> RpcError:
    """Build an RpcError whose message is the OAuth2 error code, which programs distinguish."""
    return RpcError(RpcErrorCode.OAUTH2_ERROR, error_code)


def _oauth2_error_of(error: ApiError) -> RpcError:
    error_code = error.extra.get("error")
    return refused(error_code if isinstance(error_code, str) else str(error))


@obeys("AUTHORIZE")
async def authorize(context: Desk, connection: Link, request: Request) -> dict[str, str]:
    """Ask the user for consent and return an authorization code for the program's backend."""
    args = arguments(request.args, _AUTHORIZE, "client_id")
    if args["client_id"] != connection.application_id:
        raise RpcError(RpcErrorCode.INVALID_CLIENT_ID, "Invalid Client ID")
    scopes = args.get("scopes") or args.get("scope")
    if not scopes:
        raise RpcError(RpcErrorCode.INVALID_PAYLOAD, 'child "scopes" fails because ["scopes" is required]')
    fields = {"client_id": connection.application_id, "response_type": "code", "scope": " ".join(scopes)}
    fields |= {name: str(args[name]) for name in PASSED_ON if name in args}
    try:
        preview = await context.account.ask("GET", "/oauth2/authorize", query=fields)
        # No consent is needed with an RPC token of the backend, or for an earlier grant if the program requests no
        # prompt.
        if "rpc_token" in args:
            answer, fields["rpc_token"] = Answer(granted=True), args["rpc_token"]
        elif args.get("prompt") == "none" and preview["authorized"]:
            answer = Answer(granted=True)
        else:
            answer = await context.consent.ask(_consent_request(context, preview, fields))
        if answer.redirect_query is None:
            body: dict[str, Any] = {"authorize": answer.granted}
            response = await context.account.ask("POST", "/oauth2/authorize", query=fields, json=body)
            redirect_query, redirect_uri = dict(parse_qsl(urlsplit(response["url"]).query)), preview["redirect_uri"]
        else:
            redirect_query, redirect_uri = answer.redirect_query, answer.redirect_uri
    except ApiError as error:
        raise _oauth2_error_of(error) from None
    if answer == NO or "code" not in redirect_query:
        raise refused(redirect_query.get("error", ACCESS_DENIED))
    # The token endpoint requires the same redirect URI as the authorization.
    return {"code": redirect_query["code"], "redirect_uri": str(redirect_uri or "")}


def _consent_request(context: Desk, preview: dict[str, Any], fields: dict[str, str]) -> Question:
    return Question(
        application=preview["application"]["name"],
        user_name=context.account.state.name_of(preview["user"]),
        scopes=[scope["description"] for scope in preview["scopes"]],
        url=f"{context.account.web}/oauth2/authorize",
        fields=fields,
    )


@obeys("AUTHENTICATE")
async def authenticate(context: Desk, connection: Link, request: Request) -> dict[str, Any]:
    """Authenticate a program by an access token of its application and of the signed-in user."""
    token = arguments(request.args, {"access_token": text(1, TEXT_MAX)}, "access_token")["access_token"]
    grant = await _check_token(context, connection, token)
    application = connection.application
    return {
        "user": context.user(),
        "application": {
            "id": application.id,
            "name": application.name,
            "icon": application.icon,
            "description": application.description,
            "rpc_origins": application.rpc_origins,
        },
        "scopes": grant["scopes"],
        "expires": grant["expires"],
        "access_token": token,
    }


async def _check_token(context: Desk, connection: Link, token: str) -> dict[str, Any]:
    invalid = RpcError(RpcErrorCode.INVALID_TOKEN, "Invalid access token")
    try:
        grant: dict[str, Any] = await context.account.ask("GET", "/oauth2/@me", bearer=token)
    except (ApiError, ValueError):
        raise invalid from None
    # The response contains the user only if the token has the `identify` scope.
    user_id = grant.get("user", {}).get("id")
    if grant["application"]["id"] != connection.application_id or user_id != context.account.state.user_id:
        raise invalid
    connection.granted = expand(grant["scopes"]) | {PseudoScope.AUTHENTICATED.value}
    connection.token, connection.looked_ms = token, machine_ms()
    return grant


async def renew(context: Desk, connection: Link) -> None:
    """Check the token of a connection again if the last check is old; close it with 4003 if the token is invalid."""
    if connection.token is None or machine_ms() < connection.looked_ms + RENEW_MS:
        return
    try:
        await _check_token(context, connection, connection.token)
    except RpcError as error:
        if error.code is RpcErrorCode.INVALID_TOKEN:
            revoke(connection)
        raise


def revoke(connection: Link) -> None:
    """Drop the scopes of a connection whose token is invalid, and close it."""
    connection.granted, connection.token = frozenset(), None
    connection.door.close(CloseCode.TOKEN_REVOKED, "Token Revoked")
