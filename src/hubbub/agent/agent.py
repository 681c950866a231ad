"""The agent: accepts connections of programs and dispatches their commands."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from hubbub.agent import commands
from hubbub.agent.account import Account
from hubbub.agent.addresses import ListeningSocket
from hubbub.agent.connections import Application, ProgramConnection, Transport
from hubbub.agent.consent import Consent
from hubbub.agent.context import AgentContext
from hubbub.agent.events import EventForwarder
from hubbub.agent.ipc import CloseConnection, IpcServer
from hubbub.agent.throttle import Throttle
from hubbub.agent.validation import SNOWFLAKE_DIGITS_MAX
from hubbub.agent.voice_client import VoiceClient
from hubbub.agent.websocket import WebSocketServer
from hubbub.protocol import rpc, rpc_scopes
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources.applications import GET_APPLICATION_RPC
from hubbub.protocol.rpc import CloseCode, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import RpcEvent
from hubbub.protocol.rpc_scopes import PseudoScope
from hubbub.sdk.audio import AudioBackend
from hubbub.sdk.clock import Clock, read_machine_ms

log = logging.getLogger(__name__)

CONNECTIONS_PER_APPLICATION_MAX: Final = 16


class Agent:
    """RPC server for the programs of one machine, on behalf of one user.

    `audio` provides the devices for the voice channels that programs select; if it is None, the agent transmits no audio.
    `voice_authority` is the path of an extra certificate authority for voice servers."""

    def __init__(
        self,
        account: Account,
        consent: Consent,
        open_url: Callable[[str], Any],
        *,
        listening_sockets: Sequence[ListeningSocket] = (),
        websocket_ports: Sequence[int] = (),
        clock: Clock = read_machine_ms,
        activity_window_seconds: float = rpc.ACTIVITY_UPDATES_WINDOW_SECONDS,
        handshake_timeout_seconds: float = rpc.HANDSHAKE_TIMEOUT_SECONDS,
        audio: AudioBackend | None = None,
        voice_authority: str = "",
    ) -> None:
        self.account = account
        self.context: Final = AgentContext(account, consent, open_url, clock)
        self._activity_window_seconds = activity_window_seconds
        forwarder = EventForwarder(self.context)
        account.listeners.append(forwarder.handle)
        if audio is not None:
            self.context.voice_client = VoiceClient(
                account,
                self.context.voice,
                audio,
                voice_authority,
                on_status=forwarder.publish_connection_status,
                on_speaking=self.context.publish_speaking,
                on_devices_changed=self.context.publish_voice_settings,
            )
        self._ipc = IpcServer(
            listening_sockets,
            self.accept_handshake,
            self.remove_connection,
            handshake_timeout_seconds=handshake_timeout_seconds,
        )
        self._websockets: WebSocketServer | None = None
        if websocket_ports:
            self._websockets = WebSocketServer(
                self.accept_handshake, self.remove_connection, account.web_url, websocket_ports
            )

    async def start(self) -> None:
        """Connect to the platform, then start to listen, so that the state is complete when a program connects."""
        await self.account.start()
        await self._ipc.start()
        if self._websockets is not None:
            await self._websockets.start()

    async def stop(self) -> None:
        """Close the connections of all programs and the connection to the platform."""
        self.context.launcher.close()
        if self._websockets is not None:
            await self._websockets.stop()
        await self._ipc.stop()
        if self.context.voice_client is not None:
            await self.context.voice_client.close()
        await self.account.close()

    @property
    def websocket_port(self) -> int | None:
        """Port of the WebSocket server; None if it is disabled."""
        return None if self._websockets is None else self._websockets.port

    # Connections

    async def accept_handshake(
        self,
        transport: Transport,
        handshake: dict[str, Any],
        *,
        pid: int | None,
        origin: str | None,
        scopes: frozenset[str],
    ) -> ProgramConnection:
        """Accept the handshake of a program and send READY; raise `CloseConnection` to reject it.

        `pid` is the process ID of the program, if it is known. `origin` is the Origin header of a WebSocket, and `scopes`
        are the scopes of the transport."""
        if str(handshake.get("v")) != str(rpc.VERSION):
            raise CloseConnection(CloseCode.INVALID_VERSION, "Invalid Version")
        application = await self.fetch_application(str(handshake.get("client_id") or ""))
        if origin is not None and PseudoScope.PRIVATE not in scopes and origin not in application.rpc_origins:
            raise CloseConnection(CloseCode.INVALID_ORIGIN, "Invalid Origin")
        if (
            sum(connection.application_id == application.id for connection in self.context.connections)
            >= CONNECTIONS_PER_APPLICATION_MAX
        ):
            raise CloseConnection(CloseCode.RATE_LIMITED, "Too many connections")
        connection = ProgramConnection(transport, application, pid=pid, scopes=scopes)
        connection.activity_throttle = Throttle(
            rpc.ACTIVITY_UPDATES_MAX, self._activity_window_seconds, lambda: self.context.publish_activities(connection)
        )
        connection.dispatch(
            RpcEvent.READY,
            {"v": rpc.VERSION, "config": self._build_ready_config(), "user": self.context.user_view(connection)},
        )
        self.context.connections.append(connection)
        connection.start(self.run_command)
        self.context.voice.restore(connection)
        return connection

    async def remove_connection(self, connection: ProgramConnection) -> None:
        """Remove a connection, its activities and its voice settings."""
        self.context.connections.remove(connection)
        await connection.stop()
        self.context.clear_connection_state(connection)

    async def fetch_application(self, client_id: str) -> Application:
        """Fetch an application by client ID; raise `CloseConnection` if it does not exist or the request fails."""
        invalid_client_id = CloseConnection(CloseCode.INVALID_CLIENT_ID, rpc.INVALID_CLIENT_ID_MESSAGE)
        if not client_id.isascii() or not client_id.isdecimal() or len(client_id) > SNOWFLAKE_DIGITS_MAX:
            raise invalid_client_id
        try:
            payload = await self.account.call(GET_APPLICATION_RPC, application_id=client_id, is_anonymous=True)
        except ApiError as error:
            if error.status >= 500:
                raise CloseConnection(CloseCode.ABNORMAL, "The platform returned a server error") from None
            raise invalid_client_id from None
        except RpcError as error:
            raise CloseConnection(CloseCode.ABNORMAL, error.message) from None
        return Application(
            id=str(payload.id),
            name=payload.name or "",
            icon=payload.icon or None,
            description=payload.description or "",
            rpc_origins=payload.rpc_origins or [],
            activity_types=frozenset(payload.activity_types or ()),
            premium_type_scope=payload.premium_type_scope or "",
        )

    def _build_ready_config(self) -> dict[str, str]:
        host = self.account.web_url.partition("://")[2]
        return {"cdn_host": f"{host}/cdn", "api_endpoint": f"//{host}/api", "environment": "production"}

    # Commands

    async def run_command(self, connection: ProgramConnection, request: rpc.Request) -> Any:
        """Run a command and return its result; raise RpcError if it is unknown, not allowed or fails."""
        required_scopes = rpc_scopes.COMMAND_SCOPES.get(request.cmd)
        if required_scopes is None:
            raise RpcError(RpcErrorCode.INVALID_COMMAND, f"Invalid command: {request.cmd[:64]}")
        if not rpc_scopes.is_allowed(required_scopes, connection.transport_scopes):
            await commands.recheck_token(self.context, connection)
            commands.require_allowed(rpc_scopes.is_allowed(required_scopes, connection.scopes))
        handler = commands.HANDLERS[request.cmd]
        return await handler(self.context, connection, request)
