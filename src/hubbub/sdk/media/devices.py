"""Audio backend for the microphones and speakers of the machine (spec/sdk.md#13.1, decisions/0160).

The voice thread exchanges frames with the audio threads of the devices through ring buffers. One further thread opens,
watches and closes the devices, because these operations block. miniaudio reports no changes of devices to Python, so
the thread lists them at an interval.
"""

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Final

from hubbub.sdk.audio import DEFAULT_DEVICE, FRAME_BYTES, AudioBackend
from hubbub.sdk.enums import LoggingSeverity
from hubbub.sdk.media.device_driver import Device, DeviceError, DeviceList, DeviceStream, MiniaudioDriver
from hubbub.sdk.media.ring_buffer import RingBuffer

DEVICE_THREAD_NAME: Final = "hubbub-audio-devices"
POLL_SECONDS: Final = 2.0
"""Interval at which the devices are listed, in seconds."""
STALL_SECONDS: Final = 2.0
"""Time without a call of the audio callback after which a device counts as lost, in seconds."""
RETRY_SECONDS_MAX: Final = 60.0
"""Maximum delay between two attempts to open a device, in seconds; the delay doubles with each attempt."""
JOIN_TIMEOUT_SECONDS: Final = 2.0
"""Maximum time to wait for the thread to end, in seconds."""
NO_DEVICES: Final = DeviceList((), ())

OpenDevice = Callable[[Device], DeviceStream]
"""Function that opens a device."""


class DeviceSlot:
    """The microphone or the speaker of the calls; used by the device thread.

    `kind` names the device in log messages, `log` writes a log message, and `open_device` opens a device."""

    def __init__(self, kind: str, open_device: OpenDevice, log: Callable[[str, LoggingSeverity], object]) -> None:
        self._kind = kind
        self._open_device = open_device
        self._log = log
        self._stream: DeviceStream | None = None
        self._wanted_id = ""
        """ID that the game selected, at the last update."""
        self._retry_at = 0.0
        """Time of the next attempt to open a device after a failure."""
        self._retry_seconds = 0.0
        self.device: Device | None = None
        """The open device; None if there is none."""

    def update(self, wanted_id: str, devices: Sequence[Device], *, is_fixed: bool) -> bool:
        """Open the wanted device, or the default one in its place; return whether the device was lost.

        With `is_fixed`, the game manages the audio session: only a change of `wanted_id` opens a device."""
        is_selected, self._wanted_id = wanted_id != self._wanted_id, wanted_id
        previous_device, is_lost = self.device, self._is_lost(devices)
        if is_lost:
            assert previous_device is not None
            self._log(f"The {self._kind} {previous_device.name!r} was lost", LoggingSeverity.WARNING)
            self.close()
        elif is_selected:
            self._retry_at = self._retry_seconds = 0.0
        if is_fixed and not is_selected:
            return is_lost
        candidates = self._list_candidates(wanted_id, devices)
        if self.device is not None and candidates and self.device.id == candidates[0].id:
            return is_lost
        if candidates and time.monotonic() >= self._retry_at:
            self._open_first(candidates, wanted_id)
        elif not candidates:
            self.close()
        return is_lost

    def _is_lost(self, devices: Sequence[Device]) -> bool:
        if self._stream is None or self.device is None:
            return False
        is_listed = any(device.id == self.device.id for device in devices)
        is_stalled = time.monotonic() - self._stream.last_data_at > STALL_SECONDS
        return not is_listed or is_stalled or self._stream.is_stopped

    @staticmethod
    def _list_candidates(wanted_id: str, devices: Sequence[Device]) -> list[Device]:
        """Return the wanted device, if it exists, and the default device."""
        wanted_devices = [device for device in devices if device.id == wanted_id != DEFAULT_DEVICE]
        return wanted_devices + [device for device in devices[:1] if device not in wanted_devices]

    def _open_first(self, candidates: Sequence[Device], wanted_id: str) -> None:
        """Open the first candidate that can be opened; the open device stays if none can."""
        for device in candidates:
            if self.device is not None and self.device.id == device.id:
                return
            try:
                stream = self._open_device(device)
            except DeviceError as error:
                self._log(f"Could not open the {self._kind} {device.name!r}: {error}", LoggingSeverity.WARNING)
                continue
            self.close()
            self._stream, self.device = stream, device
            self._retry_at = self._retry_seconds = 0.0
            if wanted_id not in (DEFAULT_DEVICE, device.id):
                self._log(f"The selected {self._kind} is not available; using {device.name!r}", LoggingSeverity.WARNING)
            else:
                self._log(f"Opened the {self._kind} {device.name!r}", LoggingSeverity.INFO)
            return
        self._retry_seconds = min(max(POLL_SECONDS, self._retry_seconds * 2), RETRY_SECONDS_MAX)
        self._retry_at = time.monotonic() + self._retry_seconds

    def retry_now(self) -> None:
        """Try to open a device at the next update, because the list of devices changed."""
        self._retry_at = self._retry_seconds = 0.0

    def close(self) -> None:
        """Close the device, if one is open."""
        if self._stream is not None:
            self._stream.close()
        if self.device is not None:
            self._log(f"Closed the {self._kind} {self.device.name!r}", LoggingSeverity.INFO)
        self._stream = self.device = None


class DeviceEngine(AudioBackend):
    """Microphones and speakers of the machine.

    `driver` is the name of a miniaudio backend, empty for that of the system, or an object in place of `MiniaudioDriver`.
    `poll_seconds` is the interval at which the devices are listed."""

    uses_sdk_processing = True

    def __init__(self, driver: str | MiniaudioDriver = "", *, poll_seconds: float = POLL_SECONDS) -> None:
        super().__init__()
        self._driver = MiniaudioDriver(driver) if isinstance(driver, str) else driver
        self._poll_seconds = poll_seconds
        self._lock = threading.Lock()
        """Guards `_thread`, `_selected_ids`, `_is_watching` and `_is_closed`."""
        self._list_lock = threading.Lock()
        """Serializes calls of the driver's `list_devices`, which the device thread and the threads of the client make."""
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._selected_ids: tuple[str, str] | None = None
        """IDs of the microphone and the speaker to open; None if there is no call."""
        self._is_watching = False
        """Whether devices are watched without a call."""
        self._is_closed = False
        self._devices = NO_DEVICES
        self._is_listed = False
        """Whether the devices were listed at least once."""
        self._capture_buffer = RingBuffer()
        self._playback_buffer = RingBuffer()
        self._input = DeviceSlot("microphone", self._open_input, self._write_log)
        self._output = DeviceSlot("speaker", self._open_output, self._write_log)

    def _write_log(self, message: str, severity: LoggingSeverity) -> None:
        self.log(message, severity)

    def _open_input(self, device: Device) -> DeviceStream:
        return self._driver.open_input(device, self._capture_buffer.write)

    def _open_output(self, device: Device) -> DeviceStream:
        return self._driver.open_output(device, self._next_samples)

    # Interface of the client, on any thread

    def inputs(self) -> Sequence[tuple[str, str]]:
        """Return the microphones as pairs of ID and name, the default one first."""
        return [(device.id, device.name) for device in self._list_devices().inputs]

    def outputs(self) -> Sequence[tuple[str, str]]:
        """Return the speakers as pairs of ID and name, the default one first."""
        return [(device.id, device.name) for device in self._list_devices().outputs]

    def watch(self) -> None:
        """Report changes of devices from now on, even without a call."""
        with self._lock:
            self._is_watching = True
            self._ensure_thread()

    def start(self, input_id: str, output_id: str) -> None:
        """Open the devices on the device thread; until then, calls capture silence."""
        with self._lock:
            self._selected_ids = (input_id, output_id)
            self._ensure_thread()

    def stop(self) -> None:
        """Close the devices on the device thread."""
        with self._lock:
            self._selected_ids = None
            self._wake.set()

    def close(self) -> None:
        """Close the devices, and wait up to `JOIN_TIMEOUT_SECONDS` for the thread to end."""
        with self._lock:
            self._is_closed, self._selected_ids, thread = True, None, self._thread
            self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_TIMEOUT_SECONDS)

    def describe(self) -> str:
        """Return the open devices, and the underruns and overruns of their buffers."""
        descriptions = []
        for kind, slot, buffer in (
            ("microphone", self._input, self._capture_buffer),
            ("speaker", self._output, self._playback_buffer),
        ):
            device = slot.device
            name = "none" if device is None else repr(device.name)
            descriptions.append(f"{kind} {name}: {buffer.underruns} underruns, {buffer.overruns} overruns")
        return "; ".join(descriptions)

    # Frames, on the voice thread

    def capture(self) -> bytes | None:
        """Return the next 20 ms of the microphone; None while there is no input."""
        return self._capture_buffer.read(FRAME_BYTES)

    def play(self, samples: bytes) -> None:
        """Play the next 20 ms; discard them while there is no speaker."""
        if self._output.device is not None:
            self._playback_buffer.write(samples)

    # Frames, on the audio thread of the speaker

    def _next_samples(self, byte_count: int) -> bytes:
        """Return `byte_count` bytes to play, with silence in place of missing samples."""
        if byte_count == FRAME_BYTES:
            return self._playback_buffer.read(byte_count) or bytes(byte_count)
        chunks = []
        while byte_count > 0:
            chunk_size = min(byte_count, FRAME_BYTES)
            chunks.append(self._playback_buffer.read(chunk_size) or bytes(chunk_size))
            byte_count -= chunk_size
        return b"".join(chunks)

    # Device thread

    def _ensure_thread(self) -> None:
        """Start the thread, or wake it; the caller holds the lock."""
        self._wake.set()
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(
                target=_run, args=(weakref.ref(self), self._wake), name=DEVICE_THREAD_NAME, daemon=True
            )
            self._thread.start()

    def _list_devices(self) -> DeviceList:
        """List the devices; return the previous list if the system reports an error."""
        with self._list_lock:
            try:
                devices = self._driver.list_devices()
            except DeviceError as error:
                self.log(f"Could not list the audio devices: {error}", LoggingSeverity.WARNING)
                return self._devices
        return devices

    def step(self) -> float | None:
        """List, open and close devices; return the time until the next step in seconds, or None to end the thread."""
        devices = self._list_devices()
        is_changed = self._is_listed and _identity(devices) != _identity(self._devices)
        if is_changed or not self._is_listed:
            self._log_devices(devices)
        self._devices, self._is_listed = devices, True
        with self._lock:
            selected_ids, is_watching = self._selected_ids, self._is_watching
        if is_changed:
            self._input.retry_now()
            self._output.retry_now()
        if selected_ids is None:
            self._input.close()
            self._output.close()
        else:
            is_fixed = bool(self.options.get("engine_managed_audio_session"))
            is_changed |= self._input.update(selected_ids[0], devices.inputs, is_fixed=is_fixed)
            is_changed |= self._output.update(selected_ids[1], devices.outputs, is_fixed=is_fixed)
        if is_changed:
            self.changed()
        with self._lock:
            if self._selected_ids is None and selected_ids is not None:
                # The last call ended during this step: close the devices now.
                return 0.0
            if self._selected_ids is None and (self._is_closed or not is_watching):
                self._thread = None
                return None
        return self._poll_seconds

    def _log_devices(self, devices: DeviceList) -> None:
        for kind, kind_devices in (("Microphones", devices.inputs), ("Speakers", devices.outputs)):
            device_texts = ", ".join(f"{device.name!r} ({device.id})" for device in kind_devices) or "none"
            self.log(f"{kind}, the default first: {device_texts}", LoggingSeverity.INFO)


def _identity(devices: DeviceList) -> tuple[list[str], list[str]]:
    """Return the IDs of the devices in their order, which differ after a change of the default device too."""
    return [device.id for device in devices.inputs], [device.id for device in devices.outputs]


def _run(reference: "weakref.ref[DeviceEngine]", wake: threading.Event) -> None:
    """Run the device thread; the weak reference lets a client that was never closed be collected."""
    while True:
        wake.clear()
        engine = reference()
        seconds = engine.step() if engine is not None else None
        del engine
        if seconds is None:
            return
        wake.wait(seconds)
