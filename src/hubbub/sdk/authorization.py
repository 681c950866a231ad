"""Authorize: through the chat client where one runs, else through a browser and back (sdk.md 6.3, 6.4)."""

import asyncio
import base64
import hashlib
import os
import secrets
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from hubbub.sdk.aside import aside
from hubbub.sdk.core import Core
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import AuthenticationCodeChallengeMethod, ErrorType
from hubbub.sdk.loopback import HOST, PATH, Loopback
from hubbub.sdk.records import AuthorizationArgs, AuthorizationCodeChallenge, AuthorizationCodeVerifier
from hubbub.sdk.results import ClientResult, SdkError, failure, invalid
from hubbub.sdk.rpc import Rpc

STANDARD_SCHEME: Final = "hubbub"
COMMUNICATION_SCOPES: Final = "openid sdk.social_layer"
PRESENCE_SCOPES: Final = "openid sdk.social_layer_presence"
MOBILE: Final = ("android", "ios")
OAUTH_ERROR: Final = 5000
STATE_BYTES: Final = 32

Opener = Callable[[str], object]


class Authorized(NamedTuple):
    """What an authorization brings: both must be taken to the token endpoint, unchanged."""

    code: str
    redirect_uri: str


class Authorization:
    """Asks a person for permission."""

    def __init__(self, core: Core, rpc: Callable[[], Rpc], opener: Opener | None = None) -> None:
        self._core = core
        self._rpc = rpc
        self._opener = opener or _open_browser
        self._running: asyncio.Task[Authorized] | None = None
        self._redirected: asyncio.Future[dict[str, str]] | None = None
        self.pid = os.getpid()
        """The process that owns the game's window."""

    @staticmethod
    def get_default_communication_scopes() -> str:
        """What a game asks for that uses everything."""
        return COMMUNICATION_SCOPES

    @staticmethod
    def get_default_presence_scopes() -> str:
        """What a game asks for that shows presence and friends only."""
        return PRESENCE_SCOPES

    def set_game_window_pid(self, pid: int) -> None:
        """Name the process that owns the game's window; by default our own."""
        self.pid = pid

    def create_authorization_code_verifier(self) -> AuthorizationCodeVerifier:
        """A fresh PKCE pair."""
        verifier = secrets.token_urlsafe(32)
        digest = hashlib.sha256(verifier.encode()).digest()
        self._core.logs.hide(verifier)
        return self._core.make(
            AuthorizationCodeVerifier,
            challenge=self._core.make(
                AuthorizationCodeChallenge,
                method=AuthenticationCodeChallengeMethod.S256,
                challenge=base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            ),
            verifier=verifier,
        )

    def authorize(
        self, args: AuthorizationArgs, callback: Callable[[ClientResult, str, str], object] | None = None
    ) -> Completion[Authorized]:
        """Ask a person, over the network; answers a code for `get_token` and the redirect URI it belongs to."""
        return self._core.run("Authorize", callback, ("", ""), self._authorize, args.copy())

    def abort_authorize(self) -> None:
        """Stop asking; whoever waits hears Aborted."""
        self._core.driver.post(self._abort)

    def handle_authorize_redirect(self, url: str) -> None:
        """Hand in the address of a custom scheme that the system opened the game with."""
        self._core.driver.post(self._returned, dict(parse_qsl(urlsplit(url).query)))

    # Requests that begin in the chat client

    def register_authorize_request_callback(self, callback: Callable[[], object]) -> None:
        """Let the chat client offer to link accounts; the callback should then call `authorize`."""
        if not self._core.application_id:
            self._core.logs.warning("set_application_id must come before register_authorize_request_callback")
        self._core.listen("authorize_request", callback)
        self._core.background(
            lambda: self._rpc().subscribe("AUTHORIZE_REQUEST", lambda _: self._core.emit("authorize_request"))
        )

    def remove_authorize_request_callback(self) -> None:
        """Withdraw that offer."""
        self._core.listen("authorize_request", None)
        self._core.background(lambda: self._rpc().unsubscribe("AUTHORIZE_REQUEST"))

    # Inside

    def _abort(self) -> None:
        if self._running is not None:
            self._running.cancel()

    def _returned(self, fields: dict[str, str]) -> None:
        if self._redirected is not None and not self._redirected.done():
            self._redirected.set_result(fields)

    async def _authorize(self, args: AuthorizationArgs) -> Authorized:
        client_id = args.client_id or self._core.application_id
        if not args.scopes.strip():
            raise invalid("scopes are required")
        if not client_id:
            raise invalid("client_id is required, or set_application_id before")
        if self._running is not None:
            raise invalid("an authorization is under way already")
        self._running = asyncio.create_task(self._ask(args, client_id))
        try:
            return await self._running
        except asyncio.CancelledError:
            if self._core.destroyed:
                raise
            if not self._running.cancelled():
                self._running.cancel()
                raise
            raise failure(ErrorType.ABORTED, "the authorization was aborted") from None
        finally:
            self._running = None

    async def _ask(self, args: AuthorizationArgs, client_id: int) -> Authorized:
        state = args.state if args.state is not None else secrets.token_urlsafe(STATE_BYTES)
        custom = args.custom_scheme_param is not None or sys.platform in MOBILE
        if not custom:
            told = await self._ask_chat_client(args, client_id, state)
            if told is not None:
                return told
        if custom:
            scheme = args.custom_scheme_param or f"{STANDARD_SCHEME}-{client_id}"
            redirect_uri = f"{scheme}:/authorize/callback"
            self._redirected = asyncio.get_running_loop().create_future()
            await self._open(self._url(args, client_id, state, redirect_uri))
            return self._check(await self._redirected, state, redirect_uri)
        async with Loopback() as loopback:
            await self._open(self._url(args, client_id, state, loopback.redirect_uri))
            return self._check(await loopback.answer, state, loopback.redirect_uri)

    async def _ask_chat_client(self, args: AuthorizationArgs, client_id: int, state: str) -> Authorized | None:
        """Through the local RPC; None where no chat client runs."""
        try:
            line = await self._rpc().connect(client_id)
        except SdkError:
            return None
        asked: dict[str, Any] = {
            "client_id": str(client_id),
            "scopes": args.scopes.split(),
            "response_type": "code",
            "state": state,
            "nonce": args.nonce,
            "pid": self.pid,
            "integration_type": None if args.integration_type is None else int(args.integration_type),
        }
        if args.code_challenge:
            asked |= {"code_challenge": args.code_challenge.challenge, "code_challenge_method": "S256"}
        try:
            told = await line.command("AUTHORIZE", {name: value for name, value in asked.items() if value is not None})
        except SdkError as error:
            if error.result.error_code == OAUTH_ERROR:
                raise refused(error.result.error) from None
            raise
        code = str(told.get("code", "")) if isinstance(told, dict) else ""
        if not code:
            raise failure(ErrorType.AUTHORIZATION_FAILED, "the chat client gave no code")
        self._core.logs.hide(code)
        return Authorized(code, str(told.get("redirect_uri") or f"http://{HOST}{PATH}"))

    def _url(self, args: AuthorizationArgs, client_id: int, state: str, redirect_uri: str) -> str:
        fields: dict[str, Any] = {
            "client_id": client_id,
            "response_type": "code",
            "scope": args.scopes,
            "state": state,
            "redirect_uri": redirect_uri,
            "nonce": args.nonce,
            "integration_type": None if args.integration_type is None else int(args.integration_type),
        }
        if args.code_challenge:
            fields |= {"code_challenge": args.code_challenge.challenge, "code_challenge_method": "S256"}
        present = {name: value for name, value in fields.items() if value is not None}
        return f"{self._core.web_base}/oauth2/authorize?{urlencode(present)}"

    async def _open(self, url: str) -> None:
        # A browser may take its time to start, and the way in which one is found is not asynchronous.
        try:
            await aside(self._opener, url)
        except OSError as error:
            # Nobody would ever answer.
            raise failure(ErrorType.AUTHORIZATION_FAILED, str(error)) from None

    def _check(self, fields: dict[str, str], state: str, redirect_uri: str) -> Authorized:
        if not secrets.compare_digest(fields.get("state", "").encode(), state.encode()):
            raise failure(ErrorType.AUTHORIZATION_FAILED, "the state does not match")
        if "error" in fields:
            raise refused(fields["error"])
        if not (code := fields.get("code")):
            raise failure(ErrorType.AUTHORIZATION_FAILED, "neither a code nor an error came back")
        self._core.logs.hide(code)
        return Authorized(code, redirect_uri)


def refused(word: str) -> SdkError:
    """A person's no is Aborted, the platform's is AuthorizationFailed (since 1.5)."""
    kind = ErrorType.ABORTED if word == "access_denied" else ErrorType.AUTHORIZATION_FAILED
    return failure(kind, word)


def _open_browser(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        raise OSError("no browser could be started")
