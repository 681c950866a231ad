"""Microphones and speakers that tests plug in and out, on miniaudio's null backend, which has one device of each kind.

`VirtualDriver` replaces only the list of devices and the samples; miniaudio opens the devices and calls back in time.
"""

import threading
from array import array
from collections.abc import Callable

from hubbub.sdk.audio import CHANNELS, SAMPLE_RATE
from hubbub.sdk.media.device_driver import Device, DeviceError, DeviceList, DeviceStream, MiniaudioDriver
from tests.sdk.audio import AudioRecorder, Tone


class VirtualDriver(MiniaudioDriver):
    """A driver whose microphones produce tones and whose speakers are recorded; the first device is the default."""

    def __init__(self, *inputs: str, outputs: tuple[str, ...] = ("head",)) -> None:
        super().__init__("null")
        self.input_names = list(inputs)
        self.output_names = list(outputs)
        self.tones: dict[str, Tone] = {}
        """Tones of the microphones by name; a microphone without a tone is silent."""
        self.recorders: dict[str, AudioRecorder] = {}
        """Recorders of the speakers by name; the played audio has the user ID 0."""
        self.broken: set[str] = set()
        """Names of devices that cannot be opened."""
        self.is_failing = False
        """Whether listing the devices fails."""
        self.opened: list[str] = []
        """Names of the opened devices, in order."""
        self.streams: dict[str, DeviceStream] = {}
        """Most recent stream of each device, by name."""
        self.condition = threading.Condition()
        """Notified when a device is opened or exchanges samples."""

    def list_devices(self) -> DeviceList:
        """Return the plugged devices."""
        if self.is_failing:
            raise DeviceError("the audio server does not respond")
        inputs, outputs = super().list_devices()
        return DeviceList(_rename(inputs[0], self.input_names), _rename(outputs[0], self.output_names))

    def open_input(self, device: Device, on_samples: Callable[[bytearray], None]) -> DeviceStream:
        """Open the null microphone, with the tone of the device in place of silence."""

        def on_tone(samples: bytearray) -> None:
            tone = self.tones.get(device.name)
            if tone is not None:
                frame = array("h", bytes(samples))
                tone(frame, len(frame) // CHANNELS, SAMPLE_RATE, CHANNELS)
                samples = bytearray(frame.tobytes())
            on_samples(samples)
            self._notify()

        return self._add(device, lambda: MiniaudioDriver.open_input(self, device, on_tone))

    def open_output(self, device: Device, next_samples: Callable[[int], bytes]) -> DeviceStream:
        """Open the null speaker, and record what is played."""

        def record(byte_count: int) -> bytes:
            samples = next_samples(byte_count)
            if (recorder := self.recorders.get(device.name)) is not None:
                recorder.record(0, array("h", samples))
            self._notify()
            return samples

        return self._add(device, lambda: MiniaudioDriver.open_output(self, device, record))

    def _add(self, device: Device, open_device: Callable[[], DeviceStream]) -> DeviceStream:
        if device.name in self.broken:
            raise DeviceError("the device is in use")
        stream = self.streams[device.name] = open_device()
        self.opened.append(device.name)
        self._notify()
        return stream

    def _notify(self) -> None:
        with self.condition:
            self.condition.notify_all()


def _rename(device: Device, names: list[str]) -> tuple[Device, ...]:
    """Return a copy of a device for each name; the name is also the ID."""
    return tuple(
        device._replace(id=name, name=name, is_default=position == 0) for position, name in enumerate(tuple(names))
    )
