"""Connection, status, application ID, settings and users of the client (spec/sdk.md#4, 5)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final

from hubbub.protocol.rpc_names import DeepLinkType, RpcCommand
from hubbub.protocol.shared_enums import CloseCode
from hubbub.sdk import resources
from hubbub.sdk.arguments import Int32
from hubbub.sdk.core import Core
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import ClientError, ClientStatus, ClientThread, ErrorType, to_string
from hubbub.sdk.events import GatewayEventHandlers
from hubbub.sdk.gateway import INVALID_TOKEN_CODE, ConnectionLost, Gateway
from hubbub.sdk.handles import (
    UserApplicationProfileHandle,
    UserHandle,
    find_user,
    user_profiles,
)
from hubbub.sdk.results import ClientResult, SdkError, sdk_error, validation_error
from hubbub.sdk.rpc import RpcClient
from hubbub.sdk.tokens import Tokens
from hubbub.sdk.tolerant_models import convert

AUTHORIZATION_CLOSE_CODES: Final = frozenset(
    (CloseCode.AUTHENTICATION_FAILED, CloseCode.INVALID_INTENTS, CloseCode.DISALLOWED_INTENTS)
)
"""Gateway close codes for a rejected token and for rejected intents."""


class Connection:
    """Component of the client that connects to the gateway and returns users.

    `rpc` returns the RPC client of the client, which is created on first use."""

    def __init__(self, core: Core, tokens: Tokens, rpc: Callable[[], RpcClient]) -> None:
        self._core = core
        self._rpc = rpc
        self.events = GatewayEventHandlers(core)
        self.gateway = Gateway(core, self.events.dispatch)
        self.gateway.before_session = tokens.inspect_token
        self.gateway.on_token_rejected = tokens.cancel_expiry_callback
        tokens.restart_session = self.gateway.restart_session
        self._priorities: dict[ClientThread, int] = {}
        """Priorities that the game set; they have no effect."""

    def connect(self) -> Completion[None]:
        """Connect with the token set by `update_token`; completes once the client status is `READY`."""
        return self._core.run("Connect", None, (), self._connect_gateway)

    def disconnect(self) -> Completion[None]:
        """Disconnect; completes once the client status is `DISCONNECTED`."""
        return self._core.run("Disconnect", None, (), self.gateway.disconnect)

    async def _connect_gateway(self) -> None:
        if not self._core.token:
            self._core.set_status(ClientStatus.DISCONNECTED, ClientError.CONNECTION_FAILED)
            raise validation_error("No token is set; call update_token() first")
        try:
            await self.gateway.connect()
        except ConnectionLost as loss:
            if loss.detail in AUTHORIZATION_CLOSE_CODES:
                cause = "rejected the token" if loss.detail == INVALID_TOKEN_CODE else "closed the connection"
                raise sdk_error(
                    ErrorType.AUTHORIZATION_FAILED, f"The platform {cause} (close code {loss.detail})"
                ) from None
            if loss.error is ClientError.CONNECTION_CANCELED:
                raise sdk_error(ErrorType.ABORTED, "The client was disconnected") from None
            raise sdk_error(ErrorType.NETWORK_ERROR, str(loss)) from None

    def get_status(self) -> ClientStatus:
        """Return the status of the connection."""
        with self._core.lock:
            return self._core.status

    def set_status_changed_callback(self, callback: Callable[[ClientStatus, ClientError, int], object]) -> None:
        """Set the callback for status changes.

        It receives the status, the error, and a detail: a gateway close code, an HTTP status, or 0."""
        self._core.set_callback("status_changed", callback)

    def set_application_id(self, application_id: int) -> None:
        """Set the application ID of the game for operations without a session.

        The application of the token overrides it once the client connects."""
        with self._core.lock:
            self._core.application_id = application_id

    def get_application_id(self) -> int:
        """Return the application ID of the game; 0 if it is unknown."""
        with self._core.lock:
            return self._core.application_id

    def set_http_request_timeout(self, http_timeout_in_milliseconds: Int32) -> None:
        """Set the timeout of HTTP requests, including retries but not rate limit waits; the default is 30000 ms.

        Raise ValueError if it is not greater than 0."""
        if http_timeout_in_milliseconds <= 0:
            raise ValueError("The timeout must be greater than 0")
        self._core.api.timeout_ms = http_timeout_in_milliseconds

    def set_thread_priority(self, thread: ClientThread, priority: Int32) -> None:
        """Do nothing: Python threads have no priorities. The method exists for compatibility."""
        self._priorities[thread] = priority

    @staticmethod
    def status_to_string(type: ClientStatus) -> str:
        """Return the specification's name of a client status."""
        return to_string(ClientStatus, type)

    @staticmethod
    def error_to_string(type: ClientError) -> str:
        """Return the specification's name of a client error."""
        return to_string(ClientError, type)

    @staticmethod
    def thread_to_string(type: ClientThread) -> str:
        """Return the specification's name of a client thread."""
        return to_string(ClientThread, type)

    # Users

    def get_current_user(self) -> UserHandle:
        """Return the current user, or a placeholder with ID 0 before the client status is `READY`.

        Deprecated since 1.6; use `get_current_user_v2`."""
        is_ready = self.get_status() is ClientStatus.READY
        return self._core.make(UserHandle, self._core, self._core.cache.current_user_id if is_ready else 0)

    def get_current_user_v2(self) -> UserHandle | None:
        """Return the current user, or None before the client status is `READY`."""
        if self.get_status() is not ClientStatus.READY:
            return None
        return find_user(self._core, self._core.cache.current_user_id)

    def get_user(self, user_id: int) -> UserHandle | None:
        """Return a user from the cache, or None; this does not send a request."""
        return find_user(self._core, user_id)

    def get_user_application_profiles(self, user_id: int) -> list[UserApplicationProfileHandle]:
        """Return the profiles of a user in the game, at most one per application."""
        with self._core.lock:
            return user_profiles(self._core, user_id)

    def get_user_application_profiles_no_lock(self, user_id: int) -> list[UserApplicationProfileHandle]:
        """Return the profiles of a user without taking the client's lock; call this inside `with client.locked()`."""
        return user_profiles(self._core, user_id)

    def locked(self) -> AbstractContextManager[Any]:
        """Return a context manager that holds the client's lock, for consistent reads of several handles.

        Network processing waits for the lock, so hold it only briefly."""
        return self._core.lock

    def set_user_updated_callback(self, callback: Callable[[int], object]) -> None:
        """Set the callback for changes of a user, application profiles and presence included; it receives the user ID."""
        self._core.set_callback("user_updated", callback)

    def get_platform_client_connected_user(
        self, application_id: int, callback: Callable[[ClientResult, UserHandle | None], object] | None = None
    ) -> Completion[UserHandle | None]:
        """Get the user who is signed in to the chat client on this machine; completes with None if there is none.

        It fails with `ErrorType.NETWORK_ERROR` if no chat client is running."""
        name = "GetPlatformClientConnectedUser"
        return self._core.run(name, callback, (None,), self._fetch_connected_user, application_id)

    async def _fetch_connected_user(self, application_id: int) -> UserHandle | None:
        connection = await self._rpc().connect(application_id)
        if not connection.user:
            return None
        user = convert(connection.user, resources.users.PartialUser)
        with self._core.lock:
            self._core.cache.update_user(user)
        return find_user(self._core, user.id)

    def is_platform_app_installed(self, callback: Callable[[bool], object] | None = None) -> Completion[bool]:
        """Get whether the mobile app of the chat client is installed; always False on desktop systems."""
        result_callback = None if callback is None else lambda _, installed: callback(installed)
        return self._core.run("IsPlatformAppInstalled", result_callback, (False,), self._is_app_installed)

    async def _is_app_installed(self) -> bool:
        return False

    def open_connected_games_settings_in_platform(
        self, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Open the connected games settings of the chat client.

        This does nothing for a provisional account, before the client status is `READY`, or if no chat client is running."""
        return self._core.run("OpenConnectedGamesSettingsInPlatform", callback, (), self._open_settings)

    async def _open_settings(self) -> None:
        current_user = self.get_current_user_v2()
        if current_user is None or current_user.is_provisional:
            return
        try:
            await self._rpc().command(
                RpcCommand.DEEP_LINK, {"type": DeepLinkType.USER_SETTINGS, "params": {"section": "connected-games"}}
            )
        except SdkError as error:
            if error.result.type is not ErrorType.NETWORK_ERROR:
                raise
            self._core.logs.info("The settings were not opened: no chat client is running")
