"""Tokens: how they are got, kept, renewed and given back (sdk.md 6.2, 7, 8). Everything here works without a session."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import aiohttp

from hubbub.protocol.errors import ApiError
from hubbub.sdk.aside import aside
from hubbub.sdk.core import Core
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import AuthenticationExternalAuthType, AuthorizationTokenType, ClientStatus, ErrorType
from hubbub.sdk.payloads import DevicePayload, GrantPayload, TokenPayload, UserPayload, read
from hubbub.sdk.records import DeviceAuthorizationArgs
from hubbub.sdk.results import ClientResult, failure, invalid

DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
SLOW_DOWN_S: Final = 5
EXPIRY_LEAD_S: Final = 600.0
EXPIRY_SHARE: Final = 0.1
"""The callback comes ten minutes before a token ends, or at a tenth of its life where that is shorter."""
LIFE_S: Final = 604_800
NO_TOKENS: Final = ("", "", AuthorizationTokenType.USER, 0, "")


class TokenExchange(NamedTuple):
    """Tokens, as `get_token` and its relatives answer them."""

    access_token: str
    refresh_token: str
    token_type: AuthorizationTokenType
    expires_in: int
    scopes: str

    def __repr__(self) -> str:
        return f"TokenExchange({self.token_type.label}, {self.expires_in} s, {self.scopes!r})"


class ChildToken(NamedTuple):
    """A child application's token; it has no refresh token."""

    access_token: str
    token_type: AuthorizationTokenType
    expires_in: int
    scopes: str

    def __repr__(self) -> str:
        return f"ChildToken({self.token_type.label}, {self.expires_in} s, {self.scopes!r})"


class CurrentUser(NamedTuple):
    """Whose token it is."""

    id: int
    name: str


Exchanged = Callable[[ClientResult, str, str, AuthorizationTokenType, int, str], object]
Done = Callable[[ClientResult], object]


class Tokens:
    """Gets tokens and looks after the session's."""

    def __init__(self, core: Core, opener: Callable[[str], object]) -> None:
        self._core = core
        self._opener = opener
        self._polling: asyncio.Task[TokenExchange] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._told_at_ms: float | None = None
        """When the game will be told that its token ends, by the platform's clock; None if that is not to come."""
        self._lives: dict[str, int] = {}
        """How long tokens that we got ourselves live, in seconds."""
        self.begin_anew: Callable[[], Any] | None = None
        """Begins another session."""
        self.sleep: Callable[[float], Any] = asyncio.sleep
        core.closers.append(self._close)
        core.clock.watchers.append(self._await_end)

    # The grants

    def get_token(
        self,
        application_id: int,
        code: str,
        code_verifier: str,
        redirect_uri: str,
        callback: Exchanged | None = None,
    ) -> Completion[TokenExchange]:
        """Change a code into tokens; for public clients."""
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
        callback: Exchanged | None = None,
    ) -> Completion[TokenExchange]:
        """The same, and the provisional account becomes part of the one that was linked."""
        form = self._code_form(application_id, code, code_verifier, redirect_uri)
        form |= self._external(external_auth_type, external_auth_token)
        return self._core.run("GetTokenFromProvisionalMerge", callback, NO_TOKENS, self._exchange, form)

    def refresh_token(
        self, application_id: int, refresh_token: str, callback: Exchanged | None = None
    ) -> Completion[TokenExchange]:
        """Change a refresh token into two new tokens; the old pair is dead."""
        self._core.logs.hide(refresh_token)
        form = {"grant_type": "refresh_token", "client_id": str(application_id), "refresh_token": refresh_token}
        return self._core.run("RefreshToken", callback, NO_TOKENS, self._exchange, form)

    def revoke_token(self, application_id: int, token: str, callback: Done | None = None) -> Completion[None]:
        """Give tokens back: every token that the game has of this person ends."""
        self._core.logs.hide(token)
        return self._core.run("RevokeToken", callback, (), self._revoke, application_id, token)

    def exchange_child_token(
        self,
        parent_application_token: str,
        child_application_id: int,
        callback: Callable[[ClientResult, str, AuthorizationTokenType, int, str], object] | None = None,
    ) -> Completion[ChildToken]:
        """Change the token of a publisher's application into that of one of its games."""
        self._core.logs.hide(parent_application_token)
        return self._core.run(
            "ExchangeChildToken",
            callback,
            ("", AuthorizationTokenType.USER, 0, ""),
            self._child,
            parent_application_token,
            child_application_id,
        )

    # Provisional accounts

    def get_provisional_token(
        self,
        application_id: int,
        external_auth_type: AuthenticationExternalAuthType,
        external_auth_token: str,
        callback: Exchanged | None = None,
    ) -> Completion[TokenExchange]:
        """A token of a provisional account, which is made if need be."""
        body = {"client_id": str(application_id), **self._external(external_auth_type, external_auth_token)}
        return self._core.run("GetProvisionalToken", callback, NO_TOKENS, self._provisional, body)

    def unmerge_into_provisional_account(
        self,
        application_id: int,
        external_auth_type: AuthenticationExternalAuthType,
        external_auth_token: str,
        callback: Done | None = None,
    ) -> Completion[None]:
        """Part the game's account from the linked one; all tokens end, then call `get_provisional_token`."""
        body = {"client_id": str(application_id), **self._external(external_auth_type, external_auth_token)}
        return self._core.run("UnmergeIntoProvisionalAccount", callback, (), self._unmerge, body)

    def update_provisional_account_display_name(self, name: str, callback: Done | None = None) -> Completion[None]:
        """Choose the name of a provisional account, 1 to 32 characters."""
        return self._core.start("UpdateProvisionalAccountDisplayName", callback, (), self._rename, name)

    # Devices

    def get_token_from_device(
        self, args: DeviceAuthorizationArgs, callback: Exchanged | None = None
    ) -> Completion[TokenExchange]:
        """Tokens for a machine without a browser: a person enters a code elsewhere, we ask until they did.

        `open_browser` of the client is given the page with the code; without a browser a warning in the log names both."""
        return self._core.run("GetTokenFromDevice", callback, NO_TOKENS, self._device, args.copy(), {})

    def get_token_from_device_provisional_merge(
        self,
        args: DeviceAuthorizationArgs,
        external_auth_type: AuthenticationExternalAuthType,
        external_auth_token: str,
        callback: Exchanged | None = None,
    ) -> Completion[TokenExchange]:
        """The same, and the provisional account becomes part of the one that was linked."""
        external = self._external(external_auth_type, external_auth_token)
        name = "GetTokenFromDeviceProvisionalMerge"
        return self._core.run(name, callback, NO_TOKENS, self._device, args.copy(), external)

    def abort_get_token_from_device(self) -> None:
        """Stop asking; whoever waits hears Aborted."""
        self._core.driver.post(lambda: self._polling.cancel() if self._polling is not None else None)

    def open_authorize_device_screen(self, client_id: int, user_code: str) -> None:
        """Show a person where to enter a code that a backend got."""
        url = f"{self._core.web_base}/activate?user_code={quote(user_code, safe='')}"
        self._core.background(lambda: self._show(url, user_code, f"{self._core.web_base}/activate"))

    def close_authorize_device_screen(self) -> None:
        """Hide it again: what a browser shows is its person's to close, so only the callback hears of it."""
        self._core.emit("authorize_device_screen_closed")

    def set_authorize_device_screen_closed_callback(self, callback: Callable[[], object]) -> None:
        """Hear that the screen was closed."""
        self._core.listen("authorize_device_screen_closed", callback)

    # The session's token

    def update_token(
        self, token_type: AuthorizationTokenType, token: str, callback: Done | None = None
    ) -> Completion[None]:
        """Use this token from now on; wait for the end of this before `connect`."""
        self._core.logs.hide(token)
        return self._core.run("UpdateToken", callback, (), self._update, token_type, token)

    def is_authenticated(self) -> bool:
        """Whether there is a token; it may be dead."""
        return bool(self._core.token)

    def fetch_current_user(
        self,
        token_type: AuthorizationTokenType,
        token: str,
        callback: Callable[[ClientResult, int, str], object] | None = None,
    ) -> Completion[CurrentUser]:
        """Whose token this is; any token, and no session is needed."""
        self._core.logs.hide(token)
        return self._core.run("FetchCurrentUser", callback, (0, ""), self._whose, token_type, token)

    def set_token_expiration_callback(self, callback: Callable[[], object]) -> None:
        """Hear once per token that it ends soon."""
        self._core.listen("token_expiration", callback)

    # Inside

    def _code_form(self, application_id: int, code: str, verifier: str, redirect_uri: str) -> dict[str, str]:
        self._core.logs.hide(code, verifier)
        return {
            "grant_type": "authorization_code",
            "client_id": str(application_id),
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }

    def _external(self, kind: AuthenticationExternalAuthType, token: str) -> dict[str, str]:
        self._core.logs.hide(token)
        wire = AuthenticationExternalAuthType(kind).wire
        return {"external_auth_type": wire, "external_auth_token": token}

    def _taken(self, answer: bytes) -> TokenExchange:
        told = read(answer, TokenPayload)
        self._core.logs.hide(told.access_token, told.refresh_token)
        self._lives[told.access_token] = told.expires_in
        kind = _kind(told.token_type)
        return TokenExchange(told.access_token, told.refresh_token or "", kind, told.expires_in, told.scope)

    async def _exchange(self, form: dict[str, str]) -> TokenExchange:
        return self._taken(await self._core.ask("POST", "/oauth2/token", form=form, token=""))

    async def _provisional(self, body: dict[str, str]) -> TokenExchange:
        answer = self._taken(await self._core.ask("POST", "/partner-sdk/token", json=body, token=""))
        # A provisional account's token is got anew, never refreshed (sdk.md 8.1).
        return answer._replace(refresh_token="")

    async def _unmerge(self, body: dict[str, str]) -> None:
        await self._core.ask("POST", "/partner-sdk/provisional-accounts/unmerge", json=body, token="")

    async def _rename(self, name: str) -> None:
        if not 1 <= len(name) <= 32:
            raise invalid("a display name has 1 to 32 characters")
        await self._core.ask("PATCH", "/users/@me/account", json={"global_name": name})

    async def _revoke(self, application_id: int, token: str) -> None:
        form = {"client_id": str(application_id), "token": token}
        await self._core.ask("POST", "/oauth2/token/revoke", form=form, token="")

    async def _child(self, parent_token: str, child_id: int) -> ChildToken:
        body = {"parent_access_token": parent_token, "child_application_id": str(child_id)}
        told = read(await self._core.ask("POST", "/partner-sdk/child-token", json=body, token=""), TokenPayload)
        self._core.logs.hide(told.access_token)
        self._lives[told.access_token] = told.expires_in
        return ChildToken(told.access_token, _kind(told.token_type), told.expires_in, told.scope)

    async def _device(self, args: DeviceAuthorizationArgs, external: dict[str, str]) -> TokenExchange:
        client_id = args.client_id or self._core.application_id
        if not args.scopes.strip():
            raise invalid("scopes are required")
        if not client_id:
            raise invalid("client_id is required, or set_application_id before")
        if self._polling is not None:
            raise invalid("a device is being authorized already")
        self._polling = asyncio.create_task(self._poll(client_id, args.scopes, external))
        try:
            return await self._polling
        except asyncio.CancelledError:
            if self._core.destroyed or not self._polling.cancelled():
                self._polling.cancel()
                raise
            raise failure(ErrorType.ABORTED, "the authorization was aborted") from None
        finally:
            self._polling = None

    async def _poll(self, client_id: int, scopes: str, external: dict[str, str]) -> TokenExchange:
        form = {"client_id": str(client_id), "scope": scopes}
        device = read(await self._core.ask("POST", "/oauth2/device/authorize", form=form, token=""), DevicePayload)
        self._core.logs.hide(device.device_code)
        url = device.verification_uri_complete or device.verification_uri
        await self._show(url, device.user_code, device.verification_uri)
        question = {"grant_type": DEVICE_GRANT, "client_id": str(client_id), "device_code": device.device_code}
        interval, waited = device.interval, 0
        while True:
            await self.sleep(interval)
            waited += interval
            try:
                return await self._exchange(question | external)
            except ApiError as error:
                word = error.extra.get("error")
                if word == "slow_down":
                    interval += SLOW_DOWN_S
                elif word == "access_denied":
                    raise failure(ErrorType.ABORTED, word) from None
                elif word != "authorization_pending":
                    raise
            except (aiohttp.ClientError, OSError):
                # A network that is away for a moment is no answer; the code lives on (RFC 8628, 3.5).
                if waited >= device.expires_in:
                    raise
                interval += SLOW_DOWN_S

    async def _show(self, url: str, user_code: str, where: str) -> None:
        """Open the page for a code; where no browser starts the log says what a person has to enter, and on what page."""
        try:
            await aside(self._opener, url)
        except OSError as error:
            self._core.logs.warning(f"{error}: enter the code {user_code} at {where}")

    async def _update(self, kind: AuthorizationTokenType, token: str) -> None:
        if kind != AuthorizationTokenType.BEARER:
            raise invalid("only bearer tokens work here")
        core, game = self._core, self._core.application_id
        core.token = token
        self.disarm()
        if token in self._lives:
            self._arm(float(self._lives[token]))
        if core.status is not ClientStatus.READY or self.begin_anew is None:
            return
        # A session goes on with a token that was renewed; a dead one will show soon enough.
        with contextlib.suppress(ApiError, aiohttp.ClientError, OSError):
            owner = await self.look()
            if owner not in (0, core.cache.me) or core.application_id != game:
                await self.begin_anew()

    async def _whose(self, kind: AuthorizationTokenType, token: str) -> CurrentUser:
        if kind != AuthorizationTokenType.BEARER:
            raise invalid("only bearer tokens work here")
        told = read(await self._core.ask("GET", "/users/@me", token=token), UserPayload)
        return CurrentUser(told.id, told.global_name or told.username or "")

    async def look(self) -> int:
        """Look at the session's token: for which game it is, and when it ends; answers whose it is, 0 if that is not told."""
        grant = read(await self._core.ask("GET", "/oauth2/@me", tries=1), GrantPayload)
        if grant.application is not None:
            self._core.application_id = grant.application.id
        if self._expiry is None and grant.expires:
            ends = datetime.fromisoformat(grant.expires)
            ends = ends if ends.tzinfo is not None else ends.replace(tzinfo=UTC)
            self._arm(ends.timestamp() - self._core.clock() / 1000)
        return grant.user.id if grant.user is not None else 0

    def disarm(self) -> None:
        """Say nothing of this token's end: there is another, or the platform ended it already."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        self._told_at_ms = None

    def _arm(self, left_s: float) -> None:
        # Of a token that we did not get ourselves we know when it ends, and not since when it lives.
        lead_s = min(EXPIRY_LEAD_S, self._lives.get(self._core.token, LIFE_S) * EXPIRY_SHARE)
        self._told_at_ms = self._core.clock() + (left_s - lead_s) * 1000
        self._await_end()

    def _await_end(self) -> None:
        """One timer, set anew where the platform's clock is another."""
        if self._told_at_ms is None:
            return
        if self._expiry is not None:
            self._expiry.cancel()
        wait_s = (self._told_at_ms - self._core.clock()) / 1000
        # A timer of more than a month is more than the machine's selector takes at once; no token lives that long here.
        self._expiry = asyncio.get_running_loop().call_later(max(0.0, min(wait_s, 30 * 86_400.0)), self._expires)

    def _expires(self) -> None:
        self._told_at_ms = None
        self._core.logs.info("the token ends soon")
        self._core.emit("token_expiration")

    async def _close(self) -> None:
        self.disarm()


def _kind(word: str) -> AuthorizationTokenType:
    """What the wire's word means; a token of a kind that we do not know must not be used (RFC 6749, 7.1)."""
    if word.lower() != "bearer":
        raise failure(ErrorType.AUTHORIZATION_FAILED, f"the platform gave a token of the kind {word!r}")
    return AuthorizationTokenType.BEARER
