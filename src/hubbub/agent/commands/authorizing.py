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
    kept: list[str] = items(text(1, 64), 1, SCOPES_MAX)(value, name)
    return kept


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


def refused(word: str) -> RpcError:
    """Build an RpcError whose message is the OAuth2 error code, which programs distinguish."""
    return RpcError(RpcErrorCode.OAUTH2_ERROR, word)


def _oauth(error: ApiError) -> RpcError:
    word = error.extra.get("error")
    return refused(word if isinstance(word, str) else str(error))


@obeys("AUTHORIZE")
async def authorize(desk: Desk, link: Link, request: Request) -> dict[str, str]:
    """Ask the user for consent and return an authorization code for the program's backend."""
    args = arguments(request.args, _AUTHORIZE, "client_id")
    if args["client_id"] != link.application_id:
        raise RpcError(RpcErrorCode.INVALID_CLIENT_ID, "Invalid Client ID")
    scopes = args.get("scopes") or args.get("scope")
    if not scopes:
        raise RpcError(RpcErrorCode.INVALID_PAYLOAD, 'child "scopes" fails because ["scopes" is required]')
    fields = {"client_id": link.application_id, "response_type": "code", "scope": " ".join(scopes)}
    fields |= {name: str(args[name]) for name in PASSED_ON if name in args}
    try:
        preview = await desk.account.ask("GET", "/oauth2/authorize", query=fields)
        # No consent is needed with an RPC token of the backend, or for an earlier grant if the program requests no
        # prompt.
        if "rpc_token" in args:
            answer, fields["rpc_token"] = Answer(granted=True), args["rpc_token"]
        elif args.get("prompt") == "none" and preview["authorized"]:
            answer = Answer(granted=True)
        else:
            answer = await desk.consent.ask(_question(desk, preview, fields))
        if answer.returned is None:
            body: dict[str, Any] = {"authorize": answer.granted}
            told = await desk.account.ask("POST", "/oauth2/authorize", query=fields, json=body)
            returned, redirect_uri = dict(parse_qsl(urlsplit(told["url"]).query)), preview["redirect_uri"]
        else:
            returned, redirect_uri = answer.returned, answer.redirect_uri
    except ApiError as error:
        raise _oauth(error) from None
    if answer == NO or "code" not in returned:
        raise refused(returned.get("error", ACCESS_DENIED))
    # The token endpoint requires the same redirect URI as the authorization.
    return {"code": returned["code"], "redirect_uri": str(redirect_uri or "")}


def _question(desk: Desk, preview: dict[str, Any], fields: dict[str, str]) -> Question:
    return Question(
        application=preview["application"]["name"],
        person=desk.account.state.name_of(preview["user"]),
        scopes=[scope["description"] for scope in preview["scopes"]],
        address=f"{desk.account.web}/oauth2/authorize",
        fields=fields,
    )


@obeys("AUTHENTICATE")
async def authenticate(desk: Desk, link: Link, request: Request) -> dict[str, Any]:
    """Authenticate a program by an access token of its application and of the signed-in user."""
    token = arguments(request.args, {"access_token": text(1, TEXT_MAX)}, "access_token")["access_token"]
    told = await _look(desk, link, token)
    application = link.application
    return {
        "user": desk.user(),
        "application": {
            "id": application.id,
            "name": application.name,
            "icon": application.icon,
            "description": application.description,
            "rpc_origins": application.rpc_origins,
        },
        "scopes": told["scopes"],
        "expires": told["expires"],
        "access_token": token,
    }


async def _look(desk: Desk, link: Link, token: str) -> dict[str, Any]:
    invalid = RpcError(RpcErrorCode.INVALID_TOKEN, "Invalid access token")
    try:
        told: dict[str, Any] = await desk.account.ask("GET", "/oauth2/@me", bearer=token)
    except (ApiError, ValueError):
        raise invalid from None
    # The response contains the user only if the token has the `identify` scope.
    whose = told.get("user", {}).get("id")
    if told["application"]["id"] != link.application_id or whose != desk.account.state.user_id:
        raise invalid
    link.granted = expand(told["scopes"]) | {PseudoScope.AUTHENTICATED.value}
    link.token, link.looked_ms = token, machine_ms()
    return told


async def renew(desk: Desk, link: Link) -> None:
    """Check the token of a connection again if the last check is old; close it with 4003 if the token is invalid."""
    if link.token is None or machine_ms() < link.looked_ms + RENEW_MS:
        return
    try:
        await _look(desk, link, link.token)
    except RpcError as error:
        if error.code is RpcErrorCode.INVALID_TOKEN:
            revoke(link)
        raise


def revoke(link: Link) -> None:
    """Drop the scopes of a connection whose token is invalid, and close it."""
    link.granted, link.token = frozenset(), None
    link.door.close(CloseCode.TOKEN_REVOKED, "Token Revoked")
