"""Voice connection of the agent: carries the audio of the voice channel that a program selected (spec/rpc.md#12).

The agent uses the audio engine and the voice connection of the SDK, and the gateway session of the account. It carries the
audio only of a channel that it joined itself; the user may be in a voice channel with another client.
"""

import asyncio
import contextlib
import importlib
import logging
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from hubbub.agent.account import Account
from hubbub.agent.voice import VoiceSettings
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.resources.gateway import READY
from hubbub.protocol.resources.voice_states import VOICE_SERVER_UPDATE, VOICE_STATE_UPDATE
from hubbub.protocol.rpc import RpcError
from hubbub.sdk.audio import AudioBackend, MissingExtraError, require_extra
from hubbub.sdk.calls import CallState, GlobalCallSettings, VoiceTicket
from hubbub.sdk.daemon_threads import new_session, run_in_daemon_thread
from hubbub.sdk.enums import AudioModeType, CallError, CallStatus, LoggingSeverity
from hubbub.sdk.processing_extra import load_processing

if TYPE_CHECKING:
    from hubbub.sdk.media.engine import AudioEngine

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_SECONDS: Final = 2.0
"""Maximum time to wait for a voice connection to close, in seconds."""
PROCESSING_SETTINGS: Final = ("echo_cancellation", "noise_suppression", "automatic_gain_control")
"""Voice settings that are options of the SDK's audio processing, under the same names."""
MODES: Final = {"VOICE_ACTIVITY": AudioModeType.MODE_VAD, "PUSH_TO_TALK": AudioModeType.MODE_PTT}
"""Audio modes by the type of the voice settings."""
CONNECTION_STATES: Final = {
    CallStatus.JOINING: "AWAITING_ENDPOINT",
    CallStatus.CONNECTING: "AUTHENTICATING",
    CallStatus.SIGNALING_CONNECTED: "CONNECTING",
    CallStatus.CONNECTED: "VOICE_CONNECTED",
    CallStatus.RECONNECTING: "VOICE_CONNECTING",
    CallStatus.DISCONNECTING: "VOICE_DISCONNECTED",
    CallStatus.DISCONNECTED: "DISCONNECTED",
}
"""States of VOICE_CONNECTION_STATUS by call status (spec/rpc.md#9)."""


class VoiceClient:
    """Audio of the voice channel that the agent joined.

    `audio` are the devices, `authority` the path of an extra certificate authority for voice servers. `on_status` is called
    with the state of the voice connection, and `on_speaking` with the IDs of the user and the channel, and whether the user speaks.
    `on_devices_changed` is called when microphones or speakers are added or removed."""

    def __init__(
        self,
        account: Account,
        settings: VoiceSettings,
        audio: AudioBackend,
        authority: str,
        *,
        on_status: Callable[[str], None],
        on_speaking: Callable[[str, str, bool], None],
        on_devices_changed: Callable[[], None],
    ) -> None:
        self._account = account
        self._core = account.core
        self._settings = settings
        self._audio = audio
        self._authority = authority
        self._on_status = on_status
        self._on_speaking = on_speaking
        self._on_devices_changed = on_devices_changed
        self._channel: dict[str, Any] | None = None
        """The voice channel that the agent joined."""
        self._state: CallState | None = None
        self._task: asyncio.Task[None] | None = None
        self._engine: AudioEngine | None = None
        self._http: aiohttp.ClientSession | None = None
        self._is_watching = False
        """Whether changes of devices are watched."""
        self._is_ptt_active = False
        """Whether the push-to-talk key is pressed."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.options: dict[str, Any] = dict.fromkeys(PROCESSING_SETTINGS, True) | {
            "noise_cancellation": False,
            "engine_managed_audio_session": False,
        }
        """Options for the audio backend and the audio processing."""
        self.input_factor = self.output_factor = 1.0
        """Volume factors of microphone and speaker."""
        self.input_device = self.output_device = "default"
        """IDs of the selected microphone and speaker."""
        audio.options, audio.log, audio.changed = self.options, self._log_audio, self._report_devices
        account.listeners.append(self._handle_event)

    @property
    def is_connected(self) -> bool:
        """Whether audio is transmitted."""
        return self._state is not None and self._state.status is CallStatus.CONNECTED

    def is_in(self, channel_id: str) -> bool:
        """Return whether the agent itself joined a voice channel."""
        return self._channel is not None and self._channel["id"] == channel_id

    # Devices and settings

    async def refresh_devices(self) -> None:
        """Update the list of the machine's devices in the voice settings, and report later changes of it."""
        inputs, outputs = await run_in_daemon_thread(self._list_devices)
        self._settings.set_available_devices(inputs, outputs)
        if not self._is_watching:
            self._is_watching, self._loop = True, asyncio.get_running_loop()
            self._audio.watch()

    def _list_devices(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        return list(self._audio.inputs()), list(self._audio.outputs())

    def _report_devices(self) -> None:
        """Report changed devices; called by the backend on any thread."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._spawn_report)

    def _spawn_report(self) -> None:
        task = asyncio.get_running_loop().create_task(self._refresh_and_report())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refresh_and_report(self) -> None:
        await self.refresh_devices()
        self._on_devices_changed()

    def apply_settings(self) -> None:
        """Apply the voice settings to the audio engine and the call."""
        settings = self._settings.get_settings()
        self.input_factor = settings["input"]["volume"] / 100
        self.output_factor = settings["output"]["volume"] / 100
        self.input_device, self.output_device = settings["input"]["device_id"], settings["output"]["device_id"]
        certified_device = self._settings.find_certified_device(self.input_device) or {}
        for name in PROCESSING_SETTINGS:
            # A certified device that processes audio itself needs no second stage.
            self.options[name] = settings[name] and not certified_device.get(name)
        if self._state is not None:
            self._apply_to_call(self._state, settings)

    def _apply_to_call(self, state: CallState, settings: dict[str, Any]) -> None:
        mode = settings["mode"]
        state.self_mute, state.self_deaf = settings["mute"], settings["deaf"]
        state.audio_mode = MODES[mode["type"]]
        state.vad_threshold = (mode["auto_threshold"], float(mode["threshold"]))
        state.ptt_release_delay_ms = int(mode["delay"])
        state.is_ptt_active = self._is_ptt_active
        settings_by_user = self._settings.list_user_settings()
        state.volumes = {int(id): float(user["volume"]) for id, user in settings_by_user.items()}
        state.local_mutes = {int(id) for id, user in settings_by_user.items() if user["mute"]}
        state.pans = {int(id): (user["pan"]["left"], user["pan"]["right"]) for id, user in settings_by_user.items()}

    def set_push_to_talk(self, is_active: bool) -> None:
        """Press or release the push-to-talk key."""
        self._is_ptt_active = is_active
        if self._state is not None:
            self._state.is_ptt_active = is_active

    # Interface of the voice thread

    @property
    def no_input_threshold(self) -> float:
        """Level below which the microphone counts as silent; -100 dBFS disables the detection."""
        return -100.0

    def on_input_detected(self, is_detected: bool) -> None:
        """Ignore silence, because the detection is disabled."""

    def log_statistics(self, message: str) -> None:
        """Write statistics to the log."""
        log.debug("%s", message)

    def record_frame(self, captured_frame: bytes | None, played_frame: bytes | None) -> None:
        """Ignore a frame, because the agent has no AEC dump."""

    # Calls

    async def join(self, channel: dict[str, Any]) -> None:
        """Carry the audio of a voice channel from now on; call this before the platform is asked to move the user."""
        if self.is_in(channel["id"]):
            return
        await self.leave()
        self._channel = channel
        try:
            require_extra()
        except MissingExtraError as error:
            log.warning("The agent transmits no audio. %s", error)
            return
        state = CallState(self._core, int(channel["id"]), GlobalCallSettings())
        state.server_id = int(channel.get("guild_id") or channel["id"])
        state.should_be_joined = True
        state.callbacks["status"] = self._report_status
        state.callbacks["speaking"] = lambda user_id, speaks: self._on_speaking(str(user_id), channel["id"], speaks)
        self._state = state
        self.apply_settings()
        state.set_status(CallStatus.JOINING)
        self._task = asyncio.get_running_loop().create_task(self._run(state))

    async def leave(self) -> None:
        """Stop carrying audio, and wait until the voice connection is closed."""
        state, task = self._state, self._task
        self._channel = self._state = self._task = None
        if state is not None:
            state.should_be_joined = False
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=CLOSE_TIMEOUT_SECONDS)

    async def close(self) -> None:
        """Leave the channel and release the devices."""
        await self.leave()
        for task in list(self._tasks):
            task.cancel()
        if self._engine is not None:
            await run_in_daemon_thread(self._engine.join)
        if self._http is not None:
            await self._http.close()
        await run_in_daemon_thread(self._audio.close)

    async def _run(self, state: CallState) -> None:
        """Keep the voice connection of a call until the agent leaves the channel or the call fails."""
        try:
            await run_in_daemon_thread(importlib.import_module, "hubbub.sdk.media.voice_connection")
            from hubbub.sdk.media.voice_connection import VoiceConnection

            engine = await self._load_engine()
            if self._http is None:
                self._http = new_session()
            tls = await run_in_daemon_thread(_tls_context, self._authority)
            user_id = int(self._account.state.user_id)
            connection = VoiceConnection(
                state, user_id, engine, self._http, tls, self, self._core.driver.post, self._warn
            )
            await connection.run()
        except Exception as error:
            self._warn(f"The audio of the voice channel failed: {error!r}")
            state.set_status(CallStatus.DISCONNECTED, CallError.VOICE_CONNECTION_FAILED)

    async def _load_engine(self) -> "AudioEngine":
        if self._engine is None:
            from hubbub.sdk.media.engine import AudioEngine

            await run_in_daemon_thread(self._audio.prepare)
            new_processor = await run_in_daemon_thread(load_processing, self._audio, self.options, self._warn)
            self._engine = AudioEngine(self._audio, self, self._warn, new_processor)
        return self._engine

    def _report_status(self, status: CallStatus, error: CallError, detail: int) -> None:
        if error:
            log.warning("The voice connection ended: %s %s", error.label, detail or "")
        self._on_status(CONNECTION_STATES[status])

    def _warn(self, message: str) -> None:
        log.warning("%s", message)

    def _log_audio(self, message: str, severity: LoggingSeverity) -> None:
        log.log(logging.WARNING if severity >= LoggingSeverity.WARNING else logging.DEBUG, "%s", message)

    # Gateway

    def _handle_event(self, event: str, payload: Any) -> None:
        """Pass the tickets of the platform to the call, and end it when the user leaves or another client takes it over."""
        state, channel = self._state, self._channel
        if channel is None:
            return
        is_own_voice_state = event == VOICE_STATE_UPDATE.name and payload.get("user_id") == self._account.state.user_id
        if state is None:
            # The agent is in the channel without audio.
            if is_own_voice_state and payload.get("channel_id") != channel["id"]:
                self._channel = None
        elif event == VOICE_SERVER_UPDATE.name and str(state.server_id) in (
            payload.get("guild_id"),
            payload.get("channel_id"),
        ):
            token, endpoint = payload.get("token") or "", payload.get("endpoint")
            session_id = self._read_voice_session(channel)
            self._core.logs.add_secrets(token)
            # Only the session that joined gets this event, so the voice state is that of the agent.
            state.ticket = VoiceTicket(endpoint, token, session_id) if endpoint and session_id else None
            state.update_event.set()
        elif is_own_voice_state:
            # Without a ticket, the event may be about the previous channel.
            if state.ticket is not None and (
                payload.get("channel_id") != channel["id"] or payload.get("session_id") != state.ticket.session_id
            ):
                self._expel(state)
        elif event == READY.name:
            # The tickets of the previous session are invalid.
            self._expel(state)

    def _read_voice_session(self, channel: dict[str, Any]) -> str:
        """Return the session ID in the user's voice state in a channel; empty if the user is not in it."""
        for voice_state in self._account.state.list_voice_states(channel["id"]):
            if voice_state["user_id"] == self._account.state.user_id:
                return str(voice_state.get("session_id") or "")
        return ""

    def _expel(self, state: CallState) -> None:
        """End a call that the platform or another client ended."""
        state.should_be_joined, state.is_expelled = False, True
        state.update_event.set()
        self._channel = self._state = None

    async def rejoin(self, state: CallState) -> None:
        """Leave and join the voice channel, which makes the platform send a new ticket."""
        channel = self._channel
        if channel is None or state is not self._state:
            return
        state.ticket = None
        with contextlib.suppress(RpcError):
            await self._send_voice_state(state, None, channel)
            await self._send_voice_state(state, channel["id"], channel)

    async def _send_voice_state(self, state: CallState, channel_id: str | None, channel: dict[str, Any]) -> None:
        await self._account.send(
            GatewayOpcode.VOICE_STATE_UPDATE,
            {
                "guild_id": channel.get("guild_id"),
                "channel_id": channel_id,
                "self_mute": state.self_mute,
                "self_deaf": state.self_deaf,
            },
        )

    async def ping(self, state: CallState) -> None:
        """Do nothing: the platform checks voice servers of channels itself."""


def _tls_context(authority: str) -> ssl.SSLContext | bool:
    """Return the TLS configuration for voice servers; `authority` is a PEM file with an extra authority, or empty."""
    if not authority:
        return True
    context = ssl.create_default_context()
    context.load_verify_locations(cafile=authority)
    return context
