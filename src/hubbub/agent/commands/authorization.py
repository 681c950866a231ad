"""The commands AUTHORIZE and AUTHENTICATE, and repeated checks of a program's access token (spec/rpc.md#7)."""

from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from hubbub.agent.commands.registry import handles_command
from hubbub.agent.connections import ProgramConnection
from hubbub.agent.consent import DENIED, ConsentRequest, ConsentResponse
from hubbub.agent.context import AgentContext
from hubbub.agent.validation import items, number, one_of, parse_arguments, snowflake, text
from hubbub.protocol import codec
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources.oauth2 import (
    ACCESS_DENIED,
    AUTHORIZE_OAUTH2_APPLICATION,
    GET_MY_OAUTH2_AUTHORIZATION,
    PREVIEW_OAUTH2_AUTHORIZATION,
    AuthorizationPreview,
    AuthorizeDecision,
    AuthorizeQuery,
    CurrentAuthorization,
)
from hubbub.protocol.rpc import CloseCode, Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand
from hubbub.protocol.rpc_scopes import PseudoScope
from hubbub.protocol.scopes import expand_scopes
from hubbub.protocol.shared_enums import ApplicationIntegrationType
from hubbub.sdk.clock import read_machine_ms

TEXT_MAX: Final = 2048
SCOPES_MAX: Final = 64
TOKEN_CHECK_INTERVAL_MS: Final = 5 * 60_000
"""Age in milliseconds of a token check after which the token is checked again."""

_TEXT_CHECK: Final = text(1, TEXT_MAX)


def _check_scopes(value: Any, name: str) -> list[str]:
    if isinstance(value, str):
        value = value.split()
    scopes: list[str] = items(text(1, 64), 1, SCOPES_MAX)(value, name)
    return scopes


_AUTHORIZE_CHECKS: Final = {
    "client_id": snowflake,
    "scopes": _check_scopes,
    "scope": _check_scopes,
    "response_type": one_of("code"),
    "prompt": one_of("none", "consent"),
    "state": _TEXT_CHECK,
    "nonce": _TEXT_CHECK,
    "code_challenge": _TEXT_CHECK,
    "code_challenge_method": one_of("S256"),
    "rpc_token": _TEXT_CHECK,
    "integration_type": one_of(*map(int, ApplicationIntegrationType)),
    # Permissions have the form of an ID: a 64-bit number as a string of digits.
    "permissions": snowflake,
    "guild_id": snowflake,
    "redirect_uri": _TEXT_CHECK,
    "pid": number(0),
}
FORWARDED_ARGUMENTS: Final = (
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
"""Arguments of AUTHORIZE that the agent passes to the platform unchanged."""


def oauth2_error(error_code: str) -> RpcError:
    """Build an RpcError whose message is the OAuth2 error code, which programs distinguish."""
    return RpcError(RpcErrorCode.OAUTH2_ERROR, error_code)


def _to_oauth2_error(error: ApiError) -> RpcError:
    error_code = error.extra.get("error")
    return oauth2_error(error_code if isinstance(error_code, str) else str(error))


@handles_command(RpcCommand.AUTHORIZE)
async def authorize(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, str]:
    """Ask the user for consent and return an authorization code for the program's backend."""
    args = parse_arguments(request.args, _AUTHORIZE_CHECKS, "client_id")
    if args["client_id"] != connection.application_id:
        raise RpcError(RpcErrorCode.INVALID_CLIENT_ID, "Invalid Client ID")
    scopes = args.get("scopes") or args.get("scope")
    if not scopes:
        raise RpcError(RpcErrorCode.INVALID_PAYLOAD, 'child "scopes" fails because ["scopes" is required]')
    query = {"client_id": connection.application_id, "response_type": "code", "scope": " ".join(scopes)}
    query |= {name: str(args[name]) for name in FORWARDED_ARGUMENTS if name in args}
    try:
        preview = await context.account.call(PREVIEW_OAUTH2_AUTHORIZATION, query=_authorize_query(query))
        # No consent is needed with an RPC token of the backend, or for an earlier grant if the program requests no
        # prompt.
        if "rpc_token" in args:
            decision, query["rpc_token"] = ConsentResponse(is_granted=True), args["rpc_token"]
        elif args.get("prompt") == "none" and preview.authorized:
            decision = ConsentResponse(is_granted=True)
        else:
            decision = await context.consent.ask(_consent_request(context, preview, query))
        if decision.redirect_query is None:
            response = await context.account.call(
                AUTHORIZE_OAUTH2_APPLICATION,
                query=_authorize_query(query),
                body=AuthorizeDecision(authorize=decision.is_granted),
            )
            redirect_query, redirect_uri = dict(parse_qsl(urlsplit(response.url).query)), preview.redirect_uri
        else:
            redirect_query, redirect_uri = decision.redirect_query, decision.redirect_uri
    except ApiError as error:
        raise _to_oauth2_error(error) from None
    if decision == DENIED or "code" not in redirect_query:
        raise oauth2_error(redirect_query.get("error", ACCESS_DENIED))
    # The token endpoint requires the same redirect URI as the authorization.
    return {"code": redirect_query["code"], "redirect_uri": str(redirect_uri or "")}


def _authorize_query(parameters: dict[str, str]) -> AuthorizeQuery:
    return codec.convert(parameters, AuthorizeQuery, strict=False)


def _consent_request(context: AgentContext, preview: AuthorizationPreview, query: dict[str, str]) -> ConsentRequest:
    return ConsentRequest(
        application_name=preview.application.name,
        user_name=preview.user.global_name or preview.user.username,
        scope_descriptions=[scope.description for scope in preview.scopes],
        consent_url=f"{context.account.web_url}/oauth2/authorize",
        query=query,
    )


@handles_command(RpcCommand.AUTHENTICATE)
async def authenticate(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """Authenticate a program by an access token that its application has for the signed-in user."""
    token = parse_arguments(request.args, {"access_token": text(1, TEXT_MAX)}, "access_token")["access_token"]
    grant = await _check_token(context, connection, token)
    application = connection.application
    return {
        "user": context.user_view(connection),
        "application": {
            "id": application.id,
            "name": application.name,
            "icon": application.icon,
            "description": application.description,
            "rpc_origins": application.rpc_origins,
        },
        "scopes": grant.scopes,
        "expires": grant.expires,
        "access_token": token,
    }


async def _check_token(context: AgentContext, connection: ProgramConnection, token: str) -> CurrentAuthorization:
    """Store a token and its scopes in the connection and return its grant; raise RpcError INVALID_TOKEN if it is invalid."""
    invalid_token = RpcError(RpcErrorCode.INVALID_TOKEN, "Invalid access token")
    try:
        grant = await context.account.call(GET_MY_OAUTH2_AUTHORIZATION, bearer=token)
    except (ApiError, ValueError):
        # The HTTP client raises ValueError for a token that is not a valid header value.
        raise invalid_token from None
    # The response contains the user only if the token has the `identify` scope.
    user_id = str(grant.user.id) if grant.user else None
    if str(grant.application.id) != connection.application_id or user_id != context.account.state.user_id:
        raise invalid_token
    connection.token_scopes = expand_scopes(grant.scopes) | {PseudoScope.AUTHENTICATED.value}
    connection.token, connection.token_checked_ms = token, read_machine_ms()
    return grant


async def recheck_token(context: AgentContext, connection: ProgramConnection) -> None:
    """Check the token of a connection again if the last check is old; close it with TOKEN_REVOKED if the token is invalid."""
    if connection.token is None or read_machine_ms() < connection.token_checked_ms + TOKEN_CHECK_INTERVAL_MS:
        return
    try:
        await _check_token(context, connection, connection.token)
    except RpcError as error:
        if error.code is RpcErrorCode.INVALID_TOKEN:
            close_revoked_connection(connection)
        raise


def close_revoked_connection(connection: ProgramConnection) -> None:
    """Drop the scopes of a connection whose token is invalid, and close it."""
    connection.token_scopes, connection.token = frozenset(), None
    connection.transport.close(CloseCode.TOKEN_REVOKED, "Token Revoked")
