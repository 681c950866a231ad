"""Grants, provisional accounts, device authorization, and the token of the client (spec/sdk.md#6.2, 7, 8).

These operations do not require a session, except setting the display name of a provisional account.
"""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import aiohttp

from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import ApplicationId
from hubbub.sdk import resources
from hubbub.sdk.core import Core
from hubbub.sdk.daemon_threads import run_in_daemon_thread
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import AuthenticationExternalAuthType, AuthorizationTokenType, ClientStatus, ErrorType
from hubbub.sdk.records import DeviceAuthorizationArgs
from hubbub.sdk.results import ClientResult, sdk_error, validation_error

if TYPE_CHECKING:
    from hubbub.protocol.resources.identities import ExternalCredentials

DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
SLOW_DOWN_SECONDS: Final = 5
"""Time in seconds that is added to the polling interval after a slow_down error or a network error."""
EXPIRY_LEAD_SECONDS: Final = 600.0
"""Maximum time from the expiration callback to the expiry of a token, in seconds."""
EXPIRY_SHARE: Final = 0.1
"""Maximum time from the expiration callback to the expiry of a token, as a share of the token's lifetime."""
TIMER_SECONDS_MAX: Final = 30 * 86_400.0
"""Maximum delay of a timer in seconds; the selector does not accept timeouts much longer than a month."""
NO_TOKENS: Final = ("", "", AuthorizationTokenType.USER, 0, "")
"""Callback arguments of a failed token exchange."""


class TokenExchange(NamedTuple):
    """Tokens returned by `get_token` and the other grants."""

    access_token: str
    """The access token, for `update_token`."""
    refresh_token: str
    """The refresh token, for `refresh_token`; empty for a provisional account."""
    token_type: AuthorizationTokenType
    """Type of the access token."""
    expires_in: int
    """Lifetime of the access token in seconds."""
    scopes: str
    """Granted OAuth2 scopes, separated by spaces."""

    def __repr__(self) -> str:
        return f"TokenExchange({self.token_type.label}, {self.expires_in} s, {self.scopes!r})"


class ChildToken(NamedTuple):
    """Access token of a child application; there is no refresh token."""

    access_token: str
    """The access token, for `update_token`."""
    token_type: AuthorizationTokenType
    """Type of the access token."""
    expires_in: int
    """Lifetime of the access token in seconds."""
    scopes: str
    """Granted OAuth2 scopes, separated by spaces."""

    def __repr__(self) -> str:
        return f"ChildToken({self.token_type.label}, {self.expires_in} s, {self.scopes!r})"


class CurrentUser(NamedTuple):
    """The user that a token belongs to."""

    id: int
    """ID of the user."""
    name: str
    """Display name of the user."""


ExchangeCallback = Callable[[ClientResult, str, str, AuthorizationTokenType, int, str], object]
ResultCallback = Callable[[ClientResult], object]


class Tokens:
    """Component of the client that gets tokens and tracks the expiry of the session's token.

    `open_url` opens a URL in a browser."""

    def __init__(self, core: Core, open_url: Callable[[str], object]) -> None:
        self._core = core
        self._open_url = open_url
        self._poll_task: asyncio.Task[TokenExchange] | None = None
        """The running device authorization, or None."""
        self._expiry_timer: asyncio.TimerHandle | None = None
        """Timer of the expiration callback, also after it has run; None if none was scheduled for the current token."""
        self._expiry_callback_at_ms: float | None = None
        """Time of the expiration callback by the platform's clock, as Unix milliseconds; None if none is scheduled."""
        self._lifetimes: dict[str, int] = {}
        """Lifetimes in seconds of the access tokens that this client got itself."""
        self.restart_session: Callable[[], Any] | None = None
        """Coroutine function that starts a new gateway session."""
        self.sleep: Callable[[float], Any] = asyncio.sleep
        """Function that waits for a number of seconds between polls; tests replace it."""
        core.close_hooks.append(self._close)
        core.clock.jump_watchers.append(self._schedule_expiry_callback)

    # Grants

    def get_token(
        self,
        application_id: int,
        code: str,
        code_verifier: str,
        redirect_uri: str,
        callback: ExchangeCallback | None = None,
    ) -> Completion[TokenExchange]:
        """Exchange an authorization code for tokens; for public clients only.

        `code` and `redirect_uri` are the outputs of `authorize`, `code_verifier` is the verifier of its PKCE challenge.
        The operation completes with a `TokenExchange`, whose fields the callback receives as separate arguments."""
        form = self._code_form(application_id, code, code_verifier, redirect_uri)
        return self._core.run("GetToken", callback, NO_TOKENS, self._exchange, form)

    def get_token_from_provisional_merge(
        self,
        application_id: int,
        code: str,
        code_verifier: str,
        redirect_uri: str,
        external_auth_type: AuthenticationExternalAuthType,
        external_auth_token: str,
        callback: ExchangeCallback | None = None,
    ) -> Completion[TokenExchange]:
        """Exchange an authorization code for tokens, and merge the player's provisional account into the account.

        `external_auth_type` and `external_auth_token` identify the provisional account, as in
        `get_provisional_token`."""
        form = self._code_form(application_id, code, code_verifier, redirect_uri)
        form |= self._external_credential(external_auth_type, external_auth_token)
        return self._core.run("GetTokenFromProvisionalMerge", callback, NO_TOKENS, self._exchange, form)

    def refresh_token(
        self, application_id: int, refresh_token: str, callback: ExchangeCallback | None = None
    ) -> Completion[TokenExchange]:
        """Exchange a refresh token for a new access token and refresh token; the old pair becomes invalid."""
        self._core.logs.add_secrets(refresh_token)
        form = {"grant_type": "refresh_token", "client_id": str(application_id), "refresh_token": refresh_token}
        return self._core.run("RefreshToken", callback, NO_TOKENS, self._exchange, form)

    def revoke_token(self, application_id: int, token: str, callback: ResultCallback | None = None) -> Completion[None]:
        """Revoke every token that the application has for the user of this token.

        `token` is an access token or a refresh token."""
        self._core.logs.add_secrets(token)
        return self._core.run("RevokeToken", callback, (), self._revoke_tokens, application_id, token)

    def exchange_child_token(
        self,
        parent_application_token: str,
        child_application_id: int,
        callback: Callable[[ClientResult, str, AuthorizationTokenType, int, str], object] | None = None,
    ) -> Completion[ChildToken]:
        """Exchange an access token of a publisher's application for a token of one of its child applications.

        The operation completes with a `ChildToken`, whose fields the callback receives as separate arguments."""
        self._core.logs.add_secrets(parent_application_token)
        return self._core.run(
            "ExchangeChildToken",
            callback,
            ("", AuthorizationTokenType.USER, 0, ""),
            self._exchange_child_token,
            parent_application_token,
            child_application_id,
        )

    # Provisional accounts

    def get_provisional_token(
        self,
        application_id: int,
        external_auth_type: AuthenticationExternalAuthType,
        external_auth_token: str,
        callback: ExchangeCallback | None = None,
    ) -> Completion[TokenExchange]:
        """Get a token of the player's provisional account, which is created if it does not exist.

        `external_auth_token` proves the player's identity to the provider named by `external_auth_type`. There is no
        refresh token: call this again when the access token expires."""
        credential = self._external_credential(external_auth_type, external_auth_token)
        return self._core.run(
            "GetProvisionalToken", callback, NO_TOKENS, self._request_provisional_token, application_id, credential
        )

    def unmerge_into_provisional_account(
        self,
        application_id: int,
        external_auth_type: AuthenticationExternalAuthType,
        external_auth_token: str,
        callback: ResultCallback | None = None,
    ) -> Completion[None]:
        """Separate the provisional account from the account that it was merged into.

        All tokens of the player are revoked; call `get_provisional_token` afterwards."""
        credential = self._external_credential(external_auth_type, external_auth_token)
        return self._core.run(
            "UnmergeIntoProvisionalAccount", callback, (), self._unmerge_account, application_id, credential
        )

    def update_provisional_account_display_name(
        self, name: str, callback: ResultCallback | None = None
    ) -> Completion[None]:
        """Set the display name of the current provisional account: 1 to 32 characters."""
        return self._core.run_in_session(
            "UpdateProvisionalAccountDisplayName", callback, (), self._set_display_name, name
        )

    # Devices

    def get_token_from_device(
        self, args: DeviceAuthorizationArgs, callback: ExchangeCallback | None = None
    ) -> Completion[TokenExchange]:
        """Get tokens for a device without a browser: the player enters a code on another device.

        The client's `open_browser` receives the page with the code; if it cannot open a browser, a log warning contains
        the page and the code. The operation polls the platform until the player responds, and completes with a
        `TokenExchange`."""
        return self._core.run("GetTokenFromDevice", callback, NO_TOKENS, self._authorize_device, args.copy(), {})

    def get_token_from_device_provisional_merge(
        self,
        args: DeviceAuthorizationArgs,
        external_auth_type: AuthenticationExternalAuthType,
        external_auth_token: str,
        callback: ExchangeCallback | None = None,
    ) -> Completion[TokenExchange]:
        """Get tokens as `get_token_from_device` does, and merge the player's provisional account into the account.

        `external_auth_type` and `external_auth_token` identify the provisional account, as in
        `get_provisional_token`."""
        external_credential = self._external_credential(external_auth_type, external_auth_token)
        name = "GetTokenFromDeviceProvisionalMerge"
        return self._core.run(name, callback, NO_TOKENS, self._authorize_device, args.copy(), external_credential)

    def abort_get_token_from_device(self) -> None:
        """Cancel the running device authorization, which completes with `ErrorType.ABORTED`."""
        self._core.driver.post(lambda: self._poll_task.cancel() if self._poll_task is not None else None)

    def open_authorize_device_screen(self, client_id: int, user_code: str) -> None:
        """Open the page on which the player enters `user_code`, a code that the game's backend requested."""
        url = f"{self._core.web_base}/activate?user_code={quote(user_code, safe='')}"
        self._core.run_in_background(lambda: self._open_page(url, user_code, f"{self._core.web_base}/activate"))

    def close_authorize_device_screen(self) -> None:
        """Call the screen-closed callback; a page that is open in a browser can only be closed by the player."""
        self._core.emit("authorize_device_screen_closed")

    def set_authorize_device_screen_closed_callback(self, callback: Callable[[], object]) -> None:
        """Set the callback for the closing of the device authorization screen."""
        self._core.set_callback("authorize_device_screen_closed", callback)

    # The session's token

    def update_token(
        self, token_type: AuthorizationTokenType, token: str, callback: ResultCallback | None = None
    ) -> Completion[None]:
        """Set the access token of the client; only bearer tokens are supported.

        Wait for completion before calling `connect`. If the client is connected and the token belongs to another user
        or application, a new session is started."""
        self._core.logs.add_secrets(token)
        return self._core.run("UpdateToken", callback, (), self._update_token, token_type, token)

    def is_authenticated(self) -> bool:
        """Return whether a token is set; it may have expired."""
        return bool(self._core.token)

    def fetch_current_user(
        self,
        token_type: AuthorizationTokenType,
        token: str,
        callback: Callable[[ClientResult, int, str], object] | None = None,
    ) -> Completion[CurrentUser]:
        """Get the ID and display name of the user that any access token belongs to; no session is required."""
        self._core.logs.add_secrets(token)
        return self._core.run("FetchCurrentUser", callback, (0, ""), self._fetch_user, token_type, token)

    def set_token_expiration_callback(self, callback: Callable[[], object]) -> None:
        """Set the callback that announces the expiry of the access token, once per token.

        It runs 10 minutes before the token expires, or when a tenth of the lifetime is left if that is less."""
        self._core.set_callback("token_expiration", callback)

    # Implementation

    def _code_form(self, application_id: int, code: str, verifier: str, redirect_uri: str) -> dict[str, str]:
        """Return the form that exchanges an authorization code, whose secrets are masked in logs from now on."""
        self._core.logs.add_secrets(code, verifier)
        return {
            "grant_type": "authorization_code",
            "client_id": str(application_id),
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }

    def _external_credential(self, external_auth_type: AuthenticationExternalAuthType, token: str) -> dict[str, str]:
        self._core.logs.add_secrets(token)
        wire_type = AuthenticationExternalAuthType(external_auth_type).wire
        return {"external_auth_type": wire_type, "external_auth_token": token}

    def _remember_token(self, access_token: str, lifetime_seconds: int) -> None:
        """Mask an access token in logs and remember its lifetime."""
        self._core.logs.add_secrets(access_token)
        self._lifetimes[access_token] = lifetime_seconds

    async def _exchange(self, form: dict[str, str]) -> TokenExchange:
        tokens = await self._core.call(resources.oauth2.EXCHANGE_OAUTH2_TOKEN, form=form, token="")
        self._remember_token(tokens.access_token, tokens.expires_in)
        refresh_token = tokens.refresh_token or ""
        self._core.logs.add_secrets(refresh_token)
        return TokenExchange(
            tokens.access_token, refresh_token, _token_type(tokens.token_type), tokens.expires_in, tokens.scope
        )

    async def _request_provisional_token(self, application_id: int, credential: dict[str, str]) -> TokenExchange:
        body = _external_credentials(application_id, credential)
        tokens = await self._core.call(resources.identities.PARTNER_SDK_TOKEN, body=body, token="")
        self._remember_token(tokens.access_token, tokens.expires_in)
        self._core.logs.add_secrets(tokens.refresh_token)
        # Tokens of provisional accounts cannot be refreshed, only requested again (spec/sdk.md#8.1).
        return TokenExchange(tokens.access_token, "", _token_type(tokens.token_type), tokens.expires_in, tokens.scope)

    async def _unmerge_account(self, application_id: int, credential: dict[str, str]) -> None:
        body = _external_credentials(application_id, credential)
        await self._core.call(resources.identities.PARTNER_SDK_UNMERGE_PROVISIONAL_ACCOUNT, body=body, token="")

    async def _set_display_name(self, name: str) -> None:
        name_max = resources.users.GLOBAL_NAME_MAX
        if not 1 <= len(name) <= name_max:
            raise validation_error(f"The display name must have 1 to {name_max} characters")
        body = resources.identities.UpdateAccount(global_name=name)
        await self._core.request(resources.identities.UPDATE_MY_ACCOUNT, body=body)

    async def _revoke_tokens(self, application_id: int, token: str) -> None:
        form = {"client_id": str(application_id), "token": token}
        await self._core.request(resources.oauth2.REVOKE_OAUTH2_TOKEN, form=form, token="")

    async def _exchange_child_token(self, parent_token: str, child_id: int) -> ChildToken:
        body = resources.identities.ExchangeChildToken(
            parent_access_token=parent_token, child_application_id=ApplicationId(child_id)
        )
        token = await self._core.call(resources.identities.PARTNER_SDK_CHILD_TOKEN, body=body, token="")
        self._remember_token(token.access_token, token.expires_in)
        return ChildToken(token.access_token, _token_type(token.token_type), token.expires_in, token.scope)

    async def _authorize_device(
        self, args: DeviceAuthorizationArgs, external_credential: dict[str, str]
    ) -> TokenExchange:
        """Run a device authorization; `external_credential` is that of a provisional account to merge, or empty."""
        client_id = args.client_id or self._core.application_id
        if not args.scopes.strip():
            raise validation_error("Scopes are required")
        if not client_id:
            raise validation_error("client_id is required; set it or call set_application_id() first")
        if self._poll_task is not None:
            raise validation_error("A device authorization is already in progress")
        self._poll_task = asyncio.create_task(self._poll_for_tokens(client_id, args.scopes, external_credential))
        try:
            return await self._poll_task
        except asyncio.CancelledError:
            if self._core.is_destroyed or not self._poll_task.cancelled():
                self._poll_task.cancel()
                raise
            raise sdk_error(ErrorType.ABORTED, "The authorization was aborted") from None
        finally:
            self._poll_task = None

    async def _poll_for_tokens(self, client_id: int, scopes: str, external_credential: dict[str, str]) -> TokenExchange:
        """Request a device code, show it to the player, and poll the token endpoint until the player responds."""
        form = {"client_id": str(client_id), "scope": scopes}
        device_authorization = await self._core.call(resources.oauth2.AUTHORIZE_OAUTH2_DEVICE, form=form, token="")
        self._core.logs.add_secrets(device_authorization.device_code)
        url = device_authorization.verification_uri_complete
        await self._open_page(url, device_authorization.user_code, device_authorization.verification_uri)
        token_form = {
            "grant_type": DEVICE_GRANT,
            "client_id": str(client_id),
            "device_code": device_authorization.device_code,
        }
        interval_seconds, waited_seconds = device_authorization.interval, 0
        while True:
            await self.sleep(interval_seconds)
            waited_seconds += interval_seconds
            try:
                return await self._exchange(token_form | external_credential)
            except ApiError as error:
                error_code = error.extra.get("error")
                if error_code == "slow_down":
                    interval_seconds += SLOW_DOWN_SECONDS
                elif error_code == "access_denied":
                    raise sdk_error(ErrorType.ABORTED, error_code) from None
                elif error_code != "authorization_pending":
                    raise
            except (aiohttp.ClientError, OSError):
                # After a network error the device code is still valid, so polling continues (RFC 8628, 3.5).
                if waited_seconds >= device_authorization.expires_in:
                    raise
                interval_seconds += SLOW_DOWN_SECONDS

    async def _open_page(self, url: str, user_code: str, page_url: str) -> None:
        """Open `url`, which contains the code; if no browser can be opened, log the code and `page_url`."""
        try:
            await run_in_daemon_thread(self._open_url, url)
        except OSError as error:
            self._core.logs.warning(f"{error}. Enter the code {user_code} at {page_url}")

    async def _update_token(self, token_type: AuthorizationTokenType, token: str) -> None:
        if token_type != AuthorizationTokenType.BEARER:
            raise validation_error("Only bearer tokens are supported")
        core, application_id = self._core, self._core.application_id
        core.token = token
        self.cancel_expiry_callback()
        if token in self._lifetimes:
            self._set_expiry(float(self._lifetimes[token]))
        if core.status is not ClientStatus.READY or self.restart_session is None:
            return
        # The session continues with a refreshed token. An invalid token fails on the next request.
        with contextlib.suppress(ApiError, aiohttp.ClientError, OSError):
            user_id = await self.inspect_token()
            if user_id not in (0, core.cache.current_user_id) or core.application_id != application_id:
                await self.restart_session()

    async def _fetch_user(self, token_type: AuthorizationTokenType, token: str) -> CurrentUser:
        if token_type != AuthorizationTokenType.BEARER:
            raise validation_error("Only bearer tokens are supported")
        user = await self._core.call(resources.users.GET_MY_USER, token=token)
        return CurrentUser(user.id, user.global_name or user.username)

    async def inspect_token(self) -> int:
        """Set the application ID and schedule the expiration callback from the grant of the client's token.

        Return the ID of the token's user, or 0 if it is unknown."""
        grant = await self._core.call_tolerantly(resources.oauth2.GET_MY_OAUTH2_AUTHORIZATION, tries=1)
        if grant.application:
            self._core.application_id = grant.application.id
        if self._expiry_timer is None and grant.expires:
            expires_at = datetime.fromisoformat(grant.expires)
            expires_at = expires_at if expires_at.tzinfo is not None else expires_at.replace(tzinfo=UTC)
            self._set_expiry(expires_at.timestamp() - self._core.clock() / 1000)
        return grant.user.id if grant.user else 0

    def cancel_expiry_callback(self) -> None:
        """Cancel the expiration callback of the current token; without a callback, do nothing."""
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
            self._expiry_timer = None
        self._expiry_callback_at_ms = None

    def _set_expiry(self, remaining_seconds: float) -> None:
        """Schedule the expiration callback of a token that expires in `remaining_seconds` seconds."""
        # The lifetime of a token that the client did not get itself is unknown: assume the default.
        lifetime_seconds = self._lifetimes.get(self._core.token, resources.oauth2.ACCESS_TOKEN_SECONDS)
        lead_seconds = min(EXPIRY_LEAD_SECONDS, lifetime_seconds * EXPIRY_SHARE)
        self._expiry_callback_at_ms = self._core.clock() + (remaining_seconds - lead_seconds) * 1000
        self._schedule_expiry_callback()

    def _schedule_expiry_callback(self) -> None:
        """Schedule the expiration callback; called again when the platform's clock jumps."""
        if self._expiry_callback_at_ms is None:
            return
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
        wait_seconds = (self._expiry_callback_at_ms - self._core.clock()) / 1000
        self._expiry_timer = asyncio.get_running_loop().call_later(
            max(0.0, min(wait_seconds, TIMER_SECONDS_MAX)), self._on_expiry
        )

    def _on_expiry(self) -> None:
        self._expiry_callback_at_ms = None
        self._core.logs.info("The token expires soon")
        self._core.emit("token_expiration")

    async def _close(self) -> None:
        self.cancel_expiry_callback()


def _external_credentials(application_id: int, credential: dict[str, str]) -> "ExternalCredentials":
    """Return the body that identifies a player by a credential of `Tokens._external_credential`."""
    return resources.identities.ExternalCredentials(client_id=ApplicationId(application_id), **credential)  # type: ignore[arg-type]


def _token_type(name: str) -> AuthorizationTokenType:
    """Decode a token type; reject an unknown one, because such a token must not be used (RFC 6749, 7.1)."""
    if name.lower() != "bearer":
        raise sdk_error(
            ErrorType.AUTHORIZATION_FAILED, f"The platform returned a token of the unsupported type {name!r}"
        )
    return AuthorizationTokenType.BEARER
