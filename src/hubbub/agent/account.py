"""The signed-in account: its token, its gateway session and its HTTP requests."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from types import NoneType
from typing import Any, Final, cast

import aiohttp
import msgspec

from hubbub import __version__
from hubbub.agent.state import SessionState
from hubbub.agent.throttle import Throttle
from hubbub.protocol.activity_limits import PRESENCE_UPDATE_WINDOW_SECONDS, PRESENCE_UPDATES_MAX
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.errors import ApiError
from hubbub.protocol.operation import BodyT, Operation, ResultT
from hubbub.protocol.request_paths import name_value_pairs
from hubbub.protocol.rpc import RpcError, RpcErrorCode
from hubbub.sdk import tolerant_models
from hubbub.sdk.core import Core
from hubbub.sdk.enums import ClientStatus, LoggingSeverity
from hubbub.sdk.gateway import INVALID_TOKEN_CODE, ConnectionLost, Gateway
from hubbub.sdk.records import ClientCreateOptions

log = logging.getLogger(__name__)

LOG_LEVELS: Final = {
    LoggingSeverity.ERROR: logging.ERROR,
    LoggingSeverity.WARNING: logging.WARNING,
    LoggingSeverity.INFO: logging.DEBUG,
    LoggingSeverity.VERBOSE: logging.DEBUG,
}
"""Levels of the agent's log by severity in the SDK's log; the SDK's INFO messages are details to a user of the agent."""
VOICE_CHANNEL_SELECT_EVENT: Final = "_VOICE_CHANNEL_SELECT"
"""Event of `Account` that reports a change of the user's voice channel; the gateway has no such event."""
UNREACHABLE_MESSAGE: Final = "The platform cannot be reached"
INVALID_RESPONSE_MESSAGE: Final = "The platform sent an invalid response"


class SignedOut(Exception):
    """Raised when the platform rejects the token or ends the session."""


class Account:
    """The account of one user on one platform.

    `status` is the user's online status. `presence_window_seconds` is the window of the rate limit for presence
    updates; None means the gateway's window."""

    def __init__(
        self, url: str, token: str, *, status: str = "online", presence_window_seconds: float | None = None
    ) -> None:
        self._core = Core(ClientCreateOptions(web_base=url), threaded=False)
        self._core.token_prefix, self._core.token = "", token
        self._core.logs.add_secrets(token)
        is_verbose = log.isEnabledFor(logging.DEBUG)
        self._core.logs.add_callback(self._log, LoggingSeverity.VERBOSE if is_verbose else LoggingSeverity.WARNING)
        self._gateway = Gateway(self._core, self._handle_event)
        self._gateway.identify_fields = {
            "properties": {"os": "", "browser": "Hubbub Agent", "device": "desktop", "version": __version__},
        }
        self._gateway.find_presence = self._presence_at_identify
        self._core.status_watchers.append(self._on_status_change)
        self._status = status
        self.state: Final = SessionState()
        self.get_activities: Callable[[], list[dict[str, Any]]] = list
        """Function that returns the activities of the games on this machine."""
        self.listeners: Final[list[Callable[[str, Any], None]]] = []
        """Functions called with the name and data of each event, after the state is updated."""
        self.session_ended = asyncio.Event()
        """Event that is set when the session has ended and will not be restored."""
        self._is_outage_logged = False
        """Whether the log has a warning about the current outage."""
        self._event_received = asyncio.Event()
        self._revision = 0
        """Number of changes of the activities."""
        self._sent_revision = -1
        """Revision of the activities that were sent last; -1 if they must be sent again."""
        window_seconds = PRESENCE_UPDATE_WINDOW_SECONDS if presence_window_seconds is None else presence_window_seconds
        self._presence_throttle = Throttle(PRESENCE_UPDATES_MAX, window_seconds, self._start_presence_update)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def core(self) -> Core:
        """The core of the SDK that the session uses."""
        return self._core

    @property
    def web_url(self) -> str:
        """URL of the platform's web pages."""
        return self._core.web_base

    @property
    def is_ready(self) -> bool:
        """Whether the gateway session is ready."""
        return self._core.status is ClientStatus.READY

    async def start(self) -> None:
        """Connect and wait until the session is ready; raise SignedOut if the platform rejects token or session."""
        try:
            await self._gateway.connect()
        except ConnectionLost as error:
            if error.detail == INVALID_TOKEN_CODE:
                raise SignedOut(
                    f"{self.web_url} rejected the token: it is invalid or was revoked. Set another token, or run the "
                    "command in a terminal without one to sign in"
                ) from None
            raise SignedOut(f"The platform rejected the session ({error})") from None

    async def close(self) -> None:
        """Disconnect and release all resources."""
        self._presence_throttle.cancel()
        await self._core.close()

    # Presence

    def publish_presence(self) -> None:
        """Publish the current activities, within the gateway's rate limit."""
        self._revision += 1
        if self.is_ready:
            self._presence_throttle.call()

    def _presence_payload(self) -> dict[str, Any]:
        # The agent shows no messages, so its session must not prevent push notifications.
        return {"status": self._status, "since": None, "afk": True, "activities": self.get_activities()}

    def _presence_at_identify(self) -> dict[str, Any]:
        self._sent_revision = self._revision
        return self._presence_payload()

    def _start_presence_update(self) -> None:
        self._sent_revision = self._revision
        self._spawn(self._send_presence())

    async def _send_presence(self) -> None:
        try:
            await self._gateway.send(GatewayOpcode.PRESENCE_UPDATE, self._presence_payload())
        except (OSError, aiohttp.ClientError):
            # The presence is sent again once the session is restored.
            self._sent_revision = -1

    def _on_status_change(self, status: ClientStatus) -> None:
        if status is ClientStatus.DISCONNECTED:
            self.session_ended.set()
        if status is ClientStatus.HTTP_WAIT and not self._is_outage_logged:
            log.warning(
                "Cannot reach %s. Check the URL and that the server is running; retrying until then", self.web_url
            )
        self._is_outage_logged = status is ClientStatus.HTTP_WAIT or (self._is_outage_logged and not self.is_ready)
        if status is ClientStatus.READY and self._sent_revision != self._revision:
            self._presence_throttle.call()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Events

    def _handle_event(self, event: str, raw: msgspec.Raw) -> None:
        data = msgspec.json.decode(raw)
        previous_channel = self.state.find_voice_channel()
        self.state.handle_event(event, data)
        for listener in self.listeners:
            listener(event, data)
        current_channel = self.state.find_voice_channel()
        if (previous_channel or {}).get("id") != (current_channel or {}).get("id"):
            for listener in self.listeners:
                listener(VOICE_CHANNEL_SELECT_EVENT, current_channel)
        previous_event, self._event_received = self._event_received, asyncio.Event()
        previous_event.set()

    async def wait_until(self, predicate: Callable[[], Any], timeout_seconds: float) -> bool:
        """Wait until `predicate` is true, which is evaluated after each event; return False on timeout."""
        try:
            async with asyncio.timeout(timeout_seconds):
                while not predicate():
                    await self._event_received.wait()
        except TimeoutError:
            return False
        return True

    # Requests

    async def send(self, op: GatewayOpcode, data: Any) -> None:
        """Send a gateway command; raise RpcError SERVICE_UNAVAILABLE if there is no connection."""
        try:
            await self._gateway.send(op, data)
        except (OSError, aiohttp.ClientError):
            raise RpcError(RpcErrorCode.SERVICE_UNAVAILABLE, UNREACHABLE_MESSAGE) from None

    async def call(
        self,
        operation: Operation[BodyT, ResultT],
        *,
        body: BodyT | None = None,
        query: msgspec.Struct | None = None,
        is_anonymous: bool = False,
        bearer: str | None = None,
        **parameters: str | int,
    ) -> ResultT:
        """Send an operation to the HTTP API and return the response as a tolerant model (`hubbub.sdk.tolerant_models`).

        `parameters` are the parameters of the operation's path. `bearer` is an access token to send instead of the
        user's token, and `is_anonymous` sends no token.
        Raise ApiError for an error response, and RpcError SERVICE_UNAVAILABLE if the platform cannot be reached or its
        response cannot be decoded."""
        content = await self._exchange(
            operation, body, query, is_anonymous=is_anonymous, bearer=bearer, parameters=parameters
        )
        if operation.result is NoneType:
            return cast("ResultT", None)
        try:
            return tolerant_models.decode(content, operation.result)
        except msgspec.MsgspecError as error:
            raise _invalid_response(operation, error) from None

    async def forward(
        self,
        operation: Operation[BodyT, Any],
        *,
        body: BodyT | None = None,
        query: msgspec.Struct | None = None,
        **parameters: str | int,
    ) -> Any:
        """Send an operation for a program and return the JSON of the response, also fields that the agent does not know.

        The parameters and errors are those of `call`."""
        content = await self._exchange(operation, body, query, is_anonymous=False, bearer=None, parameters=parameters)
        try:
            return msgspec.json.decode(content) if content else None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _invalid_response(operation, error) from None

    async def _exchange(
        self,
        operation: Operation[Any, Any],
        body: Any,
        query: msgspec.Struct | None,
        *,
        is_anonymous: bool,
        bearer: str | None,
        parameters: Mapping[str, str | int],
    ) -> bytes:
        authorization = f"Bearer {bearer}" if bearer is not None else None if is_anonymous else self._core.token
        try:
            return await self._core.api.request(
                operation.method,
                operation.path,
                json=body,
                query=dict(name_value_pairs(query)),
                authorization=authorization,
                tries=None,
                form=None,
                **parameters,
            )
        except ApiError:
            raise
        except (aiohttp.ClientError, OSError) as error:
            log.info("%s %s: %s", operation.method, operation.path, type(error).__name__)
            raise RpcError(RpcErrorCode.SERVICE_UNAVAILABLE, UNREACHABLE_MESSAGE) from None

    def _log(self, message: str, severity: LoggingSeverity) -> None:
        log.log(LOG_LEVELS.get(severity, logging.INFO), "%s", message)


def _invalid_response(operation: Operation[Any, Any], error: Exception) -> RpcError:
    log.info("%s %s: %s", operation.method, operation.path, error)
    return RpcError(RpcErrorCode.SERVICE_UNAVAILABLE, INVALID_RESPONSE_MESSAGE)
