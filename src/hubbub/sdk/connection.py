"""Connecting, and what the game can ask of the connection (sdk.md 4, 5)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from hubbub.sdk.core import Core
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import ClientError, ClientStatus, ClientThread, ErrorType, to_string
from hubbub.sdk.events import Events
from hubbub.sdk.gateway import Gateway, Lost
from hubbub.sdk.handles import (
    UserApplicationProfileHandle,
    UserHandle,
    find_user,
    profiles,
)
from hubbub.sdk.results import ClientResult, SdkError, failure, invalid
from hubbub.sdk.rpc import Rpc
from hubbub.sdk.tokens import Tokens

FORBIDDEN_CODES = frozenset((4004, 4013, 4014))


class Connection:
    """The session, and whoever it belongs to."""

    def __init__(self, core: Core, tokens: Tokens, rpc: Callable[[], Rpc]) -> None:
        self._core = core
        self._rpc = rpc
        self.events = Events(core)
        self.gateway = Gateway(core, self.events.dispatch)
        self.gateway.bootstrap = tokens.look
        self.gateway.refused = tokens.disarm
        tokens.begin_anew = self.gateway.begin_anew
        self._priorities: dict[ClientThread, int] = {}

    def connect(self) -> Completion[None]:
        """Connect with the token of `update_token`; ends once the client is Ready, which `get_status` says as well."""
        return self._core.run("Connect", None, (), self._connect)

    def disconnect(self) -> Completion[None]:
        """Leave; ends once the client is Disconnected."""
        return self._core.run("Disconnect", None, (), self.gateway.disconnect)

    async def _connect(self) -> None:
        if not self._core.token:
            self._core.become(ClientStatus.DISCONNECTED, ClientError.CONNECTION_FAILED)
            raise invalid("there is no token: call update_token first")
        try:
            await self.gateway.connect()
        except Lost as lost:
            if lost.detail in FORBIDDEN_CODES:
                raise failure(ErrorType.AUTHORIZATION_FAILED, f"the platform closed with {lost.detail}") from None
            if lost.error is ClientError.CONNECTION_CANCELED:
                raise failure(ErrorType.ABORTED, "the client was disconnected") from None
            raise failure(ErrorType.NETWORK_ERROR, str(lost)) from None

    def get_status(self) -> ClientStatus:
        """Where the connection stands."""
        with self._core.lock:
            return self._core.status

    def set_status_changed_callback(self, callback: Callable[[ClientStatus, ClientError, int], object]) -> None:
        """Hear of each change: the status, why, and mostly the gateway's close code."""
        self._core.listen("status_changed", callback)

    def set_application_id(self, application_id: int) -> None:
        """Say which game this is, before or without a session; the token's application overrides it."""
        with self._core.lock:
            self._core.application_id = application_id

    def get_application_id(self) -> int:
        """Which game this is."""
        with self._core.lock:
            return self._core.application_id

    def set_http_request_timeout(self, http_timeout_in_milliseconds: int) -> None:
        """How long a request may take, tried again or not, without waits that a rate limit asks for; 30000 ms unless set."""
        if http_timeout_in_milliseconds <= 0:
            raise ValueError("a timeout is longer than nothing")
        self._core.api.timeout_ms = http_timeout_in_milliseconds

    def set_thread_priority(self, thread: ClientThread, priority: int) -> None:
        """Remembered, and without effect: Python gives threads no priorities."""
        self._priorities[thread] = priority

    @staticmethod
    def status_to_string(type: ClientStatus) -> str:
        """The name of a status."""
        return to_string(ClientStatus, type)

    @staticmethod
    def error_to_string(type: ClientError) -> str:
        """The name of an error."""
        return to_string(ClientError, type)

    @staticmethod
    def thread_to_string(type: ClientThread) -> str:
        """The name of a thread."""
        return to_string(ClientThread, type)

    # People

    def get_current_user(self) -> UserHandle:
        """Who we are; before the client is Ready a dummy. Deprecated since 1.6, use `get_current_user_v2`."""
        ready = self.get_status() is ClientStatus.READY
        return self._core.make(UserHandle, self._core, self._core.cache.me if ready else 0)

    def get_current_user_v2(self) -> UserHandle | None:
        """Who we are, once the client is Ready."""
        if self.get_status() is not ClientStatus.READY:
            return None
        return find_user(self._core, self._core.cache.me)

    def get_user(self, user_id: int) -> UserHandle | None:
        """Somebody the client knows; nothing goes over the network."""
        return find_user(self._core, user_id)

    def get_user_application_profiles(self, user_id: int) -> list[UserApplicationProfileHandle]:
        """Who somebody is in the game."""
        with self._core.lock:
            return profiles(self._core, user_id)

    def get_user_application_profiles_no_lock(self, user_id: int) -> list[UserApplicationProfileHandle]:
        """The same for one who holds the client's lock already, inside `with client.locked()`."""
        return profiles(self._core, user_id)

    def locked(self) -> AbstractContextManager[Any]:
        """Hold the client's lock: what is read meanwhile is of one moment, and the network waits, so be brief."""
        return self._core.lock

    def set_user_updated_callback(self, callback: Callable[[int], object]) -> None:
        """Hear that somebody changed: name, picture, status, game."""
        self._core.listen("user_updated", callback)

    def get_platform_client_connected_user(
        self, application_id: int, callback: Callable[[ClientResult, UserHandle | None], object] | None = None
    ) -> Completion[UserHandle | None]:
        """Who is signed in to the chat client on this machine."""
        name = "GetPlatformClientConnectedUser"
        return self._core.run(name, callback, (None,), self._connected_user, application_id)

    async def _connected_user(self, application_id: int) -> UserHandle | None:
        from hubbub.sdk.payloads import UserPayload, read

        line = await self._rpc().connect(application_id)
        if not line.user:
            return None
        import msgspec

        told = read(msgspec.json.encode(line.user), UserPayload)
        with self._core.lock:
            self._core.cache.note_user(told)
        return find_user(self._core, told.id)

    def is_platform_app_installed(self, callback: Callable[[bool], object] | None = None) -> Completion[bool]:
        """Whether the chat client's app is installed; on desktops always False."""
        told = None if callback is None else lambda _, installed: callback(installed)
        return self._core.run("IsPlatformAppInstalled", told, (False,), self._installed)

    async def _installed(self) -> bool:
        return False

    def open_connected_games_settings_in_platform(
        self, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Open the chat client's settings of connected games; nothing happens to a provisional account."""
        return self._core.run("OpenConnectedGamesSettingsInPlatform", callback, (), self._open_settings)

    async def _open_settings(self) -> None:
        me = self.get_current_user_v2()
        if me is None or me.is_provisional:
            return
        try:
            await self._rpc().command("DEEP_LINK", {"type": "USER_SETTINGS", "params": {"section": "connected-games"}})
        except SdkError as error:
            if error.result.type is not ErrorType.NETWORK_ERROR:
                raise
            self._core.logs.info("there is no chat client to open settings in")
