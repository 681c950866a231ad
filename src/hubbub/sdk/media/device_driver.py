"""Access to the microphones and speakers of the machine through miniaudio, the extra `devices`."""

import hashlib
import time
from collections.abc import Callable, Generator
from typing import Any, Final, NamedTuple

import miniaudio

from hubbub.sdk.audio import CHANNELS, FRAME_MS, SAMPLE_RATE

NULL_DRIVER: Final = "null"
"""Name of the driver without sound."""
ALSA_NULL_ID: Final = b"null"
"""ID of the device that ALSA offers even on a machine without a sound card."""
ID_DIGITS: Final = 16
"""Number of hexadecimal digits of a device ID."""
APPLICATION_NAME: Final = "Hubbub"
"""Name of the streams in the volume control of the system."""
SAMPLE_BYTES: Final = 2 * CHANNELS
"""Size of one sample of all channels, in bytes."""


class DeviceError(Exception):
    """Raised when the devices cannot be listed, or a device cannot be opened."""


class Device(NamedTuple):
    """A microphone or speaker."""

    id: str
    """ID that stays the same while the device is plugged in, and between runs of the program."""
    name: str
    is_default: bool
    driver: Any
    """Backend of miniaudio that the device belongs to."""
    handle: Any
    """ID of the device in miniaudio."""


class DeviceList(NamedTuple):
    """All devices, the default one of each kind first."""

    inputs: tuple[Device, ...]
    outputs: tuple[Device, ...]


class DeviceStream:
    """An open device; `device` is the device of miniaudio."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self.last_data_at = time.monotonic()
        """Time of the last call of the audio callback, or of the opening."""
        self.is_stopped = False
        """Whether the system stopped the device, for example because it was unplugged."""

    def _on_stop(self) -> None:
        self.is_stopped = True

    def start(self, callback: "Generator[Any, Any, None]") -> None:
        """Start the device; miniaudio sends to the generator in its audio thread."""
        next(callback)
        self._device.stop_callback = self._on_stop
        try:
            self._device.start(callback)
        except miniaudio.MiniaudioError as error:
            self.close()
            raise DeviceError(str(error)) from None

    def close(self) -> None:
        """Stop and close the device."""
        # Stopping also calls the callback.
        self._device.stop_callback = None
        self._device.close()
        # miniaudio keeps the context of a closed device, with its connection to the audio server.
        miniaudio.lib.ma_context_uninit(self._device._context)


class MiniaudioDriver:
    """List of the devices and access to them; `name` is the name of a miniaudio backend, or empty for that of the system."""

    def __init__(self, name: str = "") -> None:
        names = {backend.name.lower(): backend for backend in miniaudio.Backend}
        if name and name.lower() not in names:
            raise ValueError(f"There is no audio driver {name!r}; the drivers are {', '.join(sorted(names))}")
        self._backends = [names[name.lower()]] if name else []
        self._null = names[NULL_DRIVER]
        self._context: Any = None
        """Context for listing devices; None before the first use and after an error."""

    def list_devices(self) -> DeviceList:
        """Return the devices of the machine; raise DeviceError on failure.

        If there are none and no backend was selected, return those of the null driver."""
        try:
            if self._context is None:
                self._context = miniaudio.Devices(self._backends)
            devices = _read_devices(self._context)
            if not devices.inputs and not devices.outputs and not self._backends:
                devices = _read_devices(miniaudio.Devices([self._null]))
        except miniaudio.MiniaudioError as error:
            self._context = None
            raise DeviceError(str(error)) from None
        return devices

    def open_input(self, device: Device, on_samples: Callable[[bytearray], None]) -> DeviceStream:
        """Open a microphone; `on_samples` is called in the audio thread with interleaved 16-bit samples."""
        stream = DeviceStream(_open(miniaudio.CaptureDevice, device, "input_format"))
        stream.start(_receive(stream, on_samples))
        return stream

    def open_output(self, device: Device, next_samples: Callable[[int], bytes]) -> DeviceStream:
        """Open a speaker; `next_samples(size)` is called in the audio thread and returns that many bytes."""
        stream = DeviceStream(_open(miniaudio.PlaybackDevice, device, "output_format"))
        stream.start(_send(stream, next_samples))
        return stream


def _open(type_: Any, device: Device, format_name: str) -> Any:
    try:
        return type_(
            **{format_name: miniaudio.SampleFormat.SIGNED16},
            nchannels=CHANNELS,
            sample_rate=SAMPLE_RATE,
            buffersize_msec=FRAME_MS,
            device_id=device.handle,
            backends=[device.driver],
            app_name=APPLICATION_NAME,
        )
    except miniaudio.MiniaudioError as error:
        raise DeviceError(str(error)) from None


def _receive(stream: DeviceStream, on_samples: Callable[[bytearray], None]) -> "Generator[None, bytearray, None]":
    while True:
        samples = yield
        stream.last_data_at = time.monotonic()
        on_samples(samples)


def _send(stream: DeviceStream, next_samples: Callable[[int], bytes]) -> "Generator[bytes, int, None]":
    samples = b""
    while True:
        count = yield samples
        stream.last_data_at = time.monotonic()
        samples = next_samples(count * SAMPLE_BYTES)


def _read_devices(context: Any) -> DeviceList:
    """Return the devices of a miniaudio context.

    miniaudio's own class does not tell which device is the default, and opens every device to read its formats."""
    ffi, lib = miniaudio.ffi, miniaudio.lib
    output_infos, input_infos = ffi.new("ma_device_info**"), ffi.new("ma_device_info**")
    output_count, input_count = ffi.new("ma_uint32*"), ffi.new("ma_uint32*")
    result = lib.ma_context_get_devices(context._context, output_infos, output_count, input_infos, input_count)
    if result != lib.MA_SUCCESS:
        raise miniaudio.MiniaudioError("could not list the devices", result)
    driver = miniaudio.Backend(context._context[0].backend)
    return DeviceList(
        _to_devices(driver, [input_infos[0][index] for index in range(input_count[0])]),
        _to_devices(driver, [output_infos[0][index] for index in range(output_count[0])]),
    )


def _to_devices(driver: Any, device_infos: list[Any]) -> tuple[Device, ...]:
    ffi = miniaudio.ffi
    devices: dict[str, Device] = {}
    for device_info in device_infos:
        handle = ffi.new("ma_device_id *", device_info.id)
        raw_id = bytes(ffi.buffer(handle)).rstrip(b"\0")
        if driver is miniaudio.Backend.ALSA and raw_id == ALSA_NULL_ID:
            continue
        id = hashlib.sha256(driver.name.encode() + b":" + raw_id).hexdigest()[:ID_DIGITS]
        name = ffi.string(device_info.name).decode("utf-8", "replace")
        devices.setdefault(id, Device(id, name, bool(device_info.isDefault), driver, handle))
    # A stable sort: the order of the system, after the default device.
    return tuple(sorted(devices.values(), key=lambda device: not device.is_default))
