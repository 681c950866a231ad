"""How a player logs in: with a browser, as a guest through the game's own server, or with a token."""

import argparse
import json
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hubbub.sdk import (
    AudioBackend,
    AuthenticationExternalAuthType,
    AuthorizationArgs,
    AuthorizationTokenType,
    Client,
    ClientCreateOptions,
    ClientResult,
)

BEARER = AuthorizationTokenType.BEARER
BOT_ISSUED = AuthenticationExternalAuthType.PLATFORM_BOT_ISSUED_ACCESS_TOKEN


class LoginError(Exception):
    """A login that failed; the message is for the player."""


def read_world(ready_file: str) -> dict[str, Any]:
    """Read the ready file. A published game would have the URL and its application id in its settings."""
    try:
        world: dict[str, Any] = json.loads(Path(ready_file).read_text())
    except (OSError, ValueError) as error:
        raise LoginError(f"{ready_file} is not a ready file ({error}); see examples/README.md") from None
    if "demo-game" not in world.get("applications", {}):
        raise LoginError("this world has no demo-game")
    return world


def error_text(response: str, default: str) -> str:
    """Return the text of an error response: the problem of each field, if the platform reports fields."""

    def fields(node: dict[str, Any]) -> Iterator[str]:
        for key, inner in node.items():
            yield from (error["message"] for error in inner) if key == "_errors" else fields(inner)

    try:
        body = json.loads(response)
    except ValueError:
        return default
    found = "; ".join(dict.fromkeys(fields(body.get("errors") or {})))
    return found or body.get("error_description") or body.get("message") or default


def post(url: str, body: Any, token: str = "") -> Any:
    """Send a request; all others are sent by the SDK."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": token} if token else {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise LoginError(error_text(error.read().decode(errors="replace"), str(error))) from None
    except urllib.error.URLError as error:
        raise LoginError(f"{url} cannot be reached: {error.reason}") from None


def new_client(world: dict[str, Any], login: list[str] | None, audio: AudioBackend | None = None) -> Client:
    """Create a client that opens a browser, or with `login` completes the browser steps by itself."""

    def browse(url: str) -> None:
        print(f"If no browser opens, log in here: {url}", flush=True)
        webbrowser.open(url)

    def authorize_directly(url: str) -> None:
        assert login is not None
        response = post(f"{world['api']}/oauth2/authorize?{urlsplit(url).query}", {"authorize": True}, user_token)
        urllib.request.urlopen(response["url"]).close()

    if login:
        name = login[0]
        known = world["users"].get(name, {})
        password = login[1] if len(login) > 1 else known.get("password", "")
        if not password:
            raise LoginError(f"there is no user {name} in the ready file; --login also needs the password")
        user_token = post(f"{world['api']}/auth/login", {"login": name, "password": password})["token"] or ""
        if not user_token:
            raise LoginError(f"{name} uses two-factor authentication; log in with the browser")
    # For calls: the voice server of `hubbub dev` has a certificate of its own authority.
    authority = (world.get("voice") or {}).get("authority") or ""
    options = ClientCreateOptions(web_base=world["web"], voice_authority=authority)
    return Client(options, open_browser=authorize_directly if login else browse, audio=audio)


def start(client: Client, world: dict[str, Any], options: argparse.Namespace, failed: Callable[[str], object]) -> None:
    """Get a token and connect. Nothing here blocks: each response arrives in a later frame and starts the next step."""
    application_id = int(world["applications"]["demo-game"]["id"])
    guest = ""
    if options.guest:
        guest = post(f"{options.backend}/sessions", {"player": options.guest})["access_token"]

    def connect(token: str) -> None:
        client.update_token(BEARER, token, lambda result: check(result) and client.connect())

    def check(result: ClientResult) -> bool:
        if not result.successful:
            failed(f"cannot log in: {error_text(result.response_body, result.error or result.type.label)}")
        return result.successful

    def got_token(result: ClientResult, access_token: str, *_: object) -> None:
        # The second further argument is the refresh token: store it to log in without a browser next time.
        if check(result):
            connect(access_token)

    def authorized(result: ClientResult, code: str, redirect_uri: str) -> None:
        if not check(result):
            return
        proof = verifier.verifier
        if guest:
            # The guest's progress and friends become part of the account.
            client.get_token_from_provisional_merge(
                application_id, code, proof, redirect_uri, BOT_ISSUED, guest, got_token
            )
        else:
            client.get_token(application_id, code, proof, redirect_uri, got_token)

    client.set_application_id(application_id)
    if options.token:
        connect(options.token)
    elif guest and not options.login:
        connect(guest)
    else:
        verifier = client.create_authorization_code_verifier()
        scopes = client.get_default_communication_scopes()
        args = AuthorizationArgs(client_id=application_id, scopes=scopes, code_challenge=verifier.challenge)
        client.authorize(args, authorized)
