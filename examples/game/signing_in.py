"""How a player gets into the game: with a browser, as a guest of the game's own server, or with a token."""

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


class CannotSignIn(Exception):
    """Why not, in words for the player."""


def read_world(ready_file: str) -> dict[str, Any]:
    """Where the platform is. A published game would have the address and its application's id in its settings."""
    try:
        world: dict[str, Any] = json.loads(Path(ready_file).read_text())
    except (OSError, ValueError) as error:
        raise CannotSignIn(f"{ready_file} is no ready file ({error}); see examples/README.md") from None
    if "demo-game" not in world.get("applications", {}):
        raise CannotSignIn("this world has no demo-game")
    return world


def in_words(answer: str, otherwise: str) -> str:
    """What a refusal says: what is wrong with each field, where the platform names them."""

    def fields(node: dict[str, Any]) -> Iterator[str]:
        for key, inner in node.items():
            yield from (each["message"] for each in inner) if key == "_errors" else fields(inner)

    try:
        told = json.loads(answer)
    except ValueError:
        return otherwise
    found = "; ".join(dict.fromkeys(fields(told.get("errors") or {})))
    return found or told.get("error_description") or told.get("message") or otherwise


def post(url: str, body: Any, token: str = "") -> Any:
    """One request; the SDK does all the others."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": token} if token else {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        raise CannotSignIn(in_words(refusal.read().decode(errors="replace"), str(refusal))) from None
    except urllib.error.URLError as error:
        raise CannotSignIn(f"{url} cannot be reached: {error.reason}") from None


def new_client(world: dict[str, Any], login: list[str] | None, audio: AudioBackend | None = None) -> Client:
    """A client whose browser is a real one, or does by itself what a person does in one."""

    def browse(url: str) -> None:
        print(f"Sign in here, if no browser opens: {url}", flush=True)
        webbrowser.open(url)

    def browse_alone(url: str) -> None:
        assert login is not None
        answer = post(f"{world['api']}/oauth2/authorize?{urlsplit(url).query}", {"authorize": True}, person)
        urllib.request.urlopen(answer["url"]).close()

    if login:
        name = login[0]
        known = world["users"].get(name, {})
        password = login[1] if len(login) > 1 else known.get("password", "")
        if not password:
            raise CannotSignIn(f"nobody is called {name} in the ready file, so --login needs their password")
        person = post(f"{world['api']}/auth/login", {"login": name, "password": password})["token"] or ""
        if not person:
            raise CannotSignIn(f"{name} has an authenticator: sign in with the browser")
    # Calls: the voice server of `hubbub dev` is known by an authority of its own.
    authority = (world.get("voice") or {}).get("authority") or ""
    options = ClientCreateOptions(web_base=world["web"], voice_authority=authority)
    return Client(options, open_browser=browse_alone if login else browse, audio=audio)


def begin(client: Client, world: dict[str, Any], options: argparse.Namespace, failed: Callable[[str], object]) -> None:
    """Get a token and connect. Nothing here waits: each answer comes in a later frame and starts the next step."""
    application_id = int(world["applications"]["demo-game"]["id"])
    guest = ""
    if options.guest:
        guest = post(f"{options.backend}/sessions", {"player": options.guest})["access_token"]

    def connect(token: str) -> None:
        client.update_token(BEARER, token, lambda result: went(result) and client.connect())

    def went(result: ClientResult) -> bool:
        if not result.successful:
            failed(f"cannot sign in: {in_words(result.response_body, result.error or result.type.label)}")
        return result.successful

    def got_token(result: ClientResult, access_token: str, *_: object) -> None:
        # The refresh token is the second of the others: keep it to sign in next time without a browser.
        if went(result):
            connect(access_token)

    def authorized(result: ClientResult, code: str, redirect_uri: str) -> None:
        if not went(result):
            return
        proof = verifier.verifier
        if guest:
            # What the guest won and whom they know becomes the account's.
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
