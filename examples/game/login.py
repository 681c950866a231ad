"""Login of a player: with a browser, with a password, as a guest through the game's own server, or with a token."""

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
    """Read the ready file. A published game would have the URL and its application ID in its settings."""
    try:
        world: dict[str, Any] = json.loads(Path(ready_file).read_text())
    except (OSError, ValueError) as error:
        raise LoginError(f"{ready_file} is not a ready file ({error}); see examples/README.md") from None
    if "demo-game" not in world.get("applications", {}):
        raise LoginError("this world has no demo-game")
    return world


def error_text(response: str, default: str) -> str:
    """Return the messages of the fields of an error response, or else its own message; `default` if it has none."""

    def field_messages(node: dict[str, Any]) -> Iterator[str]:
        for key, child in node.items():
            yield from (error["message"] for error in child) if key == "_errors" else field_messages(child)

    try:
        body = json.loads(response)
    except ValueError:
        return default
    field_text = "; ".join(dict.fromkeys(field_messages(body.get("errors") or {})))
    return field_text or body.get("error_description") or body.get("message") or default


def post(url: str, body: Any, token: str = "") -> Any:
    """Send a POST request and return the decoded response. The SDK sends all other API requests of the game."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": token} if token else {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise LoginError(error_text(error.read().decode(errors="replace"), str(error))) from None
    except urllib.error.URLError as error:
        raise LoginError(f"{url} cannot be reached: {error.reason}") from None


def new_client(world: dict[str, Any], login: list[str] | None, audio: AudioBackend | None = None) -> Client:
    """Create a client that logs in with a browser, or without one if `login` is given.

    `login` is the user name, optionally followed by the password."""

    def open_browser(url: str) -> None:
        print(f"If no browser opens, log in here: {url}", flush=True)
        webbrowser.open(url)

    def authorize_directly(url: str) -> None:
        assert login is not None
        response = post(f"{world['api']}/oauth2/authorize?{urlsplit(url).query}", {"authorize": True}, user_token)
        urllib.request.urlopen(response["url"]).close()

    if login:
        name = login[0]
        world_user = world["users"].get(name, {})
        password = login[1] if len(login) > 1 else world_user.get("password", "")
        if not password:
            raise LoginError(f"there is no user {name} in the ready file; --login also needs the password")
        user_token = post(f"{world['api']}/auth/login", {"login": name, "password": password})["token"] or ""
        if not user_token:
            raise LoginError(f"{name} uses two-factor authentication; log in with the browser")
    # Calls must trust the certificate authority of `hubbub dev`, which signs the certificate of its voice server.
    authority = (world.get("voice") or {}).get("authority") or ""
    options = ClientCreateOptions(web_base=world["web"], voice_authority=authority)
    return Client(options, open_browser=authorize_directly if login else open_browser, audio=audio)


def start(
    client: Client, world: dict[str, Any], options: argparse.Namespace, on_failure: Callable[[str], object]
) -> None:
    """Get a token and connect; `on_failure` receives the text of an error.

    Only the request for the token of a guest blocks. Each other response arrives in a later frame and starts the next
    step."""
    application_id = int(world["applications"]["demo-game"]["id"])
    guest_token = ""
    if options.guest:
        guest_token = post(f"{options.backend}/sessions", {"player": options.guest})["access_token"]

    def connect(token: str) -> None:
        client.update_token(BEARER, token, lambda result: is_successful(result) and client.connect())

    def is_successful(result: ClientResult) -> bool:
        if not result.successful:
            on_failure(f"cannot log in: {error_text(result.response_body, result.error or result.type.label)}")
        return result.successful

    def on_token(result: ClientResult, access_token: str, *_: object) -> None:
        # The other arguments include the refresh token: store it to log in without a browser next time.
        if is_successful(result):
            connect(access_token)

    def on_authorized(result: ClientResult, code: str, redirect_uri: str) -> None:
        if not is_successful(result):
            return
        code_verifier = verifier.verifier
        if guest_token:
            # The guest's progress and friends become part of the account.
            client.get_token_from_provisional_merge(
                application_id, code, code_verifier, redirect_uri, BOT_ISSUED, guest_token, on_token
            )
        else:
            client.get_token(application_id, code, code_verifier, redirect_uri, on_token)

    client.set_application_id(application_id)
    if options.token:
        connect(options.token)
    elif guest_token and not options.login:
        connect(guest_token)
    else:
        verifier = client.create_authorization_code_verifier()
        scopes = client.get_default_communication_scopes()
        args = AuthorizationArgs(client_id=application_id, scopes=scopes, code_challenge=verifier.challenge)
        client.authorize(args, on_authorized)
