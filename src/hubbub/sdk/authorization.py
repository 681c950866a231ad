"""OAuth2 authorization through the local chat client or, if that is not possible, a browser (spec/sdk.md#6.3, 6.4)."""

import asyncio
import base64
import hashlib
import os
import secrets
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from hubbub.protocol.rpc import RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand, RpcEvent
from hubbub.sdk.core import Core
from hubbub.sdk.daemon_threads import run_in_daemon_thread
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import AuthenticationCodeChallengeMethod, ErrorType
from hubbub.sdk.loopback import HOST, PATH, LoopbackServer
from hubbub.sdk.records import AuthorizationArgs, AuthorizationCodeChallenge, AuthorizationCodeVerifier
from hubbub.sdk.results import ClientResult, SdkError, sdk_error, validation_error
from hubbub.sdk.rpc import RpcClient

STANDARD_SCHEME: Final = "hubbub"
"""First part of the URL scheme of a game, which is followed by its application ID."""
COMMUNICATION_SCOPES: Final = "openid sdk.social_layer"
PRESENCE_SCOPES: Final = "openid sdk.social_layer_presence"
MOBILE_PLATFORMS: Final = ("android", "ios")
STATE_BYTES: Final = 32
"""Number of random bytes in an OAuth2 state."""
VERIFIER_BYTES: Final = 32
"""Number of random bytes in a PKCE verifier."""

UrlOpener = Callable[[str], object]
"""Function that opens a URL in a browser; it raises OSError if no browser can be started."""


class Authorized(NamedTuple):
    """Outputs of `Client.authorize`; pass both unchanged to `get_token` or to the game's backend."""

    code: str
    """Authorization code."""
    redirect_uri: str
    """Redirect URI that the code belongs to."""


class Authorization:
    """Component of the client that asks the player to authorize the game.

    `rpc` returns the RPC client of the client, which is created on first use. `open_url` opens the authorization page; the
    default is the system's browser."""

    def __init__(self, core: Core, rpc: Callable[[], RpcClient], open_url: UrlOpener | None = None) -> None:
        self._core = core
        self._rpc = rpc
        self._open_url = open_url or open_browser
        self._authorization_task: asyncio.Task[Authorized] | None = None
        """The running authorization, or None."""
        self._redirect_query: asyncio.Future[dict[str, str]] | None = None
        """Query parameters of the redirect to a custom scheme; None before the first authorization with one."""
        self.pid = os.getpid()
        """ID of the process that owns the game's window."""

    @staticmethod
    def get_default_communication_scopes() -> str:
        """Return the scopes for a game that uses all features, separated by spaces."""
        return COMMUNICATION_SCOPES

    @staticmethod
    def get_default_presence_scopes() -> str:
        """Return the scopes for a game that uses presence and friends only, separated by spaces."""
        return PRESENCE_SCOPES

    def set_game_window_pid(self, pid: int) -> None:
        """Set the ID of the process that owns the game's window; the default is the current process."""
        self.pid = pid

    def create_authorization_code_verifier(self) -> AuthorizationCodeVerifier:
        """Create a random PKCE verifier and its challenge."""
        verifier = secrets.token_urlsafe(VERIFIER_BYTES)
        digest = hashlib.sha256(verifier.encode()).digest()
        self._core.logs.add_secrets(verifier)
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
        """Ask the player to authorize the game, in the chat client on this machine or in a browser.

        The operation completes with an `Authorized`, whose code and redirect URI the callback receives as separate
        arguments. It fails with `ErrorType.ABORTED` if the player declines."""
        return self._core.run("Authorize", callback, ("", ""), self._authorize, args.copy())

    def abort_authorize(self) -> None:
        """Cancel the running authorization, which completes with `ErrorType.ABORTED`."""
        self._core.driver.post(self._cancel_authorization)

    def handle_authorize_redirect(self, url: str) -> None:
        """Complete the running authorization with the redirect URL that the operating system opened the game with.

        Required for custom schemes only; see `AuthorizationArgs.custom_scheme_param`."""
        self._core.driver.post(self._handle_redirect, dict(parse_qsl(urlsplit(url).query)))

    # Requests from the chat client

    def register_authorize_request_callback(self, callback: Callable[[], object]) -> None:
        """Let the chat client offer account linking; when the player accepts, the callback should call `authorize`.

        Call `set_application_id` first."""
        if not self._core.application_id:
            self._core.logs.warning("Call set_application_id() before register_authorize_request_callback()")
        self._core.set_callback("authorize_request", callback)
        self._core.run_in_background(
            lambda: self._rpc().subscribe(RpcEvent.AUTHORIZE_REQUEST, lambda _: self._core.emit("authorize_request"))
        )

    def remove_authorize_request_callback(self) -> None:
        """Remove the callback set by `register_authorize_request_callback`."""
        self._core.set_callback("authorize_request", None)
        self._core.run_in_background(lambda: self._rpc().unsubscribe(RpcEvent.AUTHORIZE_REQUEST))

    # Implementation

    def _cancel_authorization(self) -> None:
        if self._authorization_task is not None:
            self._authorization_task.cancel()

    def _handle_redirect(self, query: dict[str, str]) -> None:
        if self._redirect_query is not None and not self._redirect_query.done():
            self._redirect_query.set_result(query)

    async def _authorize(self, args: AuthorizationArgs) -> Authorized:
        """Run one authorization, which `abort_authorize` can cancel."""
        client_id = args.client_id or self._core.application_id
        if not args.scopes.strip():
            raise validation_error("Scopes are required")
        if not client_id:
            raise validation_error("client_id is required; set it or call set_application_id() first")
        if self._authorization_task is not None:
            raise validation_error("An authorization is already in progress")
        self._authorization_task = asyncio.create_task(self._run_authorization(args, client_id))
        try:
            return await self._authorization_task
        except asyncio.CancelledError:
            if self._core.is_destroyed:
                raise
            if not self._authorization_task.cancelled():
                self._authorization_task.cancel()
                raise
            raise sdk_error(ErrorType.ABORTED, "The authorization was aborted") from None
        finally:
            self._authorization_task = None

    async def _run_authorization(self, args: AuthorizationArgs, client_id: int) -> Authorized:
        """Authorize with the chat client or, if that is not possible or the redirect has a custom scheme, with a browser."""
        state = args.state if args.state is not None else secrets.token_urlsafe(STATE_BYTES)
        uses_custom_scheme = args.custom_scheme_param is not None or sys.platform in MOBILE_PLATFORMS
        if not uses_custom_scheme:
            authorization = await self._authorize_in_chat_client(args, client_id, state)
            if authorization is not None:
                return authorization
        if uses_custom_scheme:
            scheme = args.custom_scheme_param or f"{STANDARD_SCHEME}-{client_id}"
            redirect_uri = f"{scheme}:/authorize/callback"
            self._redirect_query = asyncio.get_running_loop().create_future()
            await self._open_page(self._authorization_url(args, client_id, state, redirect_uri))
            return self._check_redirect(await self._redirect_query, state, redirect_uri)
        async with LoopbackServer() as loopback:
            await self._open_page(self._authorization_url(args, client_id, state, loopback.redirect_uri))
            return self._check_redirect(await loopback.redirect_query, state, loopback.redirect_uri)

    async def _authorize_in_chat_client(self, args: AuthorizationArgs, client_id: int, state: str) -> Authorized | None:
        """Authorize through the local chat client; return None if none is running or accepts the connection."""
        try:
            connection = await self._rpc().connect(client_id)
        except SdkError:
            return None
        rpc_args: dict[str, Any] = {
            "client_id": str(client_id),
            "scopes": args.scopes.split(),
            "response_type": "code",
            "state": state,
            "nonce": args.nonce,
            "pid": self.pid,
            "integration_type": None if args.integration_type is None else int(args.integration_type),
        }
        if args.code_challenge:
            rpc_args |= {"code_challenge": args.code_challenge.challenge, "code_challenge_method": "S256"}
        try:
            response = await connection.command(
                RpcCommand.AUTHORIZE, {name: value for name, value in rpc_args.items() if value is not None}
            )
        except SdkError as error:
            if error.result.error_code == RpcErrorCode.OAUTH2_ERROR:
                # The message of this error is the OAuth2 error code.
                raise authorization_error(error.result.error) from None
            raise
        code = str(response.get("code", "")) if isinstance(response, dict) else ""
        if not code:
            raise sdk_error(ErrorType.AUTHORIZATION_FAILED, "The chat client returned no code")
        self._core.logs.add_secrets(code)
        return Authorized(code, str(response.get("redirect_uri") or f"http://{HOST}{PATH}"))

    def _authorization_url(self, args: AuthorizationArgs, client_id: int, state: str, redirect_uri: str) -> str:
        """Return the URL of the authorization page with its query."""
        parameters: dict[str, Any] = {
            "client_id": client_id,
            "response_type": "code",
            "scope": args.scopes,
            "state": state,
            "redirect_uri": redirect_uri,
            "nonce": args.nonce,
            "integration_type": None if args.integration_type is None else int(args.integration_type),
        }
        if args.code_challenge:
            parameters |= {"code_challenge": args.code_challenge.challenge, "code_challenge_method": "S256"}
        query = {name: value for name, value in parameters.items() if value is not None}
        return f"{self._core.web_base}/oauth2/authorize?{urlencode(query)}"

    async def _open_page(self, url: str) -> None:
        # Finding and starting a browser blocks, so it runs on another thread.
        try:
            await run_in_daemon_thread(self._open_url, url)
        except OSError as error:
            # Without a browser the authorization would never complete.
            raise sdk_error(ErrorType.AUTHORIZATION_FAILED, str(error)) from None

    def _check_redirect(self, query: dict[str, str], state: str, redirect_uri: str) -> Authorized:
        """Check the query parameters of a redirect and return its code; raise `SdkError` for an error."""
        if not secrets.compare_digest(query.get("state", "").encode(), state.encode()):
            raise sdk_error(ErrorType.AUTHORIZATION_FAILED, "The OAuth2 state does not match")
        if "error" in query:
            raise authorization_error(query["error"])
        if not (code := query.get("code")):
            raise sdk_error(ErrorType.AUTHORIZATION_FAILED, "The redirect has neither a code nor an error")
        self._core.logs.add_secrets(code)
        return Authorized(code, redirect_uri)


def authorization_error(error_code: str) -> SdkError:
    """Convert an OAuth2 error code: a declined request is Aborted, any other error AuthorizationFailed (since 1.5)."""
    error_type = ErrorType.ABORTED if error_code == "access_denied" else ErrorType.AUTHORIZATION_FAILED
    return sdk_error(error_type, error_code)


def open_browser(url: str) -> None:
    """Open a URL in the system's browser; raise OSError if no browser can be started."""
    import webbrowser

    if not webbrowser.open(url):
        raise OSError("No browser could be started")
