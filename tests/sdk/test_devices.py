"""Microphones and speakers of the machine: enumeration, changes and losses, on miniaudio's null backend."""

import importlib.util
import threading
from array import array
from collections.abc import Callable, Iterator

import pytest

from hubbub.sdk import AudioBackend, Client, LoggingSeverity, MissingExtraError, SystemAudio
from hubbub.sdk.audio import FRAME_BYTES
from hubbub.sdk.media import devices
from hubbub.sdk.media.device_driver import MiniaudioDriver
from hubbub.sdk.media.devices import DeviceEngine
from hubbub.sdk.media.ring_buffer import CAPACITY_BYTES, DELAY_BYTES_MAX, START_BYTES, RingBuffer
from tests.sdk.audio import WINDOW_SAMPLES, Tone, tone_share
from tests.sdk.players import CallbackRecorder
from tests.sdk.virtual_devices import VirtualDriver
from tests.world import WAIT_TIMEOUT_SECONDS

POLL_SECONDS = 0.01


class DeviceLab:
    """A device engine on virtual devices, with its messages and its reports of changes."""

    def __init__(self, driver: VirtualDriver) -> None:
        self.driver = driver
        self.engine = DeviceEngine(driver, poll_seconds=POLL_SECONDS)
        self.messages: list[str] = []
        self.change_count = 0
        self.engine.log = self._log
        self.engine.changed = self._on_change

    def _log(self, message: str, severity: LoggingSeverity) -> None:
        self.messages.append(message)
        self._notify()

    def _on_change(self) -> None:
        self.change_count += 1
        self._notify()

    def _notify(self) -> None:
        with self.driver.condition:
            self.driver.condition.notify_all()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition, checked when a device is opened, exchanges samples, is logged or changes."""
        with self.driver.condition:
            assert self.driver.condition.wait_for(condition, WAIT_TIMEOUT_SECONDS), self.messages


@pytest.fixture
def lab() -> Iterator[DeviceLab]:
    """An engine with the microphones "desk" (the default) and "studio", and the speaker "head"."""
    lab = DeviceLab(VirtualDriver("desk", "studio"))
    yield lab
    lab.engine.close()


def test_a_ring_buffer_returns_the_samples_in_order_across_its_end() -> None:
    buffer, written_samples, read_samples = RingBuffer(), bytearray(), bytearray()

    for number in range(60):
        samples = bytes([number]) * FRAME_BYTES
        buffer.write(samples)
        written_samples += samples
        read_samples += buffer.read(FRAME_BYTES) or b""

    assert written_samples.startswith(read_samples)
    assert len(written_samples) - len(read_samples) == START_BYTES - FRAME_BYTES
    assert (buffer.underruns, buffer.overruns) == (0, 0)


def test_a_ring_buffer_counts_an_underrun_once_and_buffers_again() -> None:
    buffer = RingBuffer()
    buffer.write(bytes(START_BYTES))

    while buffer.read(FRAME_BYTES) is not None:
        pass

    assert buffer.read(FRAME_BYTES) is None
    assert buffer.underruns == 1
    buffer.write(bytes(FRAME_BYTES))
    assert buffer.read(FRAME_BYTES) is None
    buffer.write(bytes(FRAME_BYTES))
    assert buffer.read(FRAME_BYTES) == bytes(FRAME_BYTES)


def test_a_ring_buffer_is_bounded_and_keeps_the_delay_short() -> None:
    buffer = RingBuffer()

    for _ in range(CAPACITY_BYTES // FRAME_BYTES + 5):
        buffer.write(bytes(FRAME_BYTES))

    assert (len(buffer), buffer.overruns) == (CAPACITY_BYTES, 5)
    buffer.read(FRAME_BYTES)
    assert len(buffer) == START_BYTES - FRAME_BYTES < DELAY_BYTES_MAX
    assert buffer.overruns == 6


def test_the_null_driver_lists_and_opens_its_devices() -> None:
    devices, devices_by_upper_case_name = MiniaudioDriver("null").list_devices(), MiniaudioDriver("NULL").list_devices()

    assert [device.name for device in devices.inputs] == ["NULL Capture Device"]
    assert [device.name for device in devices.outputs] == ["NULL Playback Device"]
    assert devices.inputs[0].is_default
    assert [device.id for device in devices.inputs] == [device.id for device in devices_by_upper_case_name.inputs]
    captured_event, requested_event = threading.Event(), threading.Event()
    captured_sizes: list[int] = []

    def on_samples(samples: bytearray) -> None:
        captured_sizes.append(len(samples))
        captured_event.set()

    def next_samples(byte_count: int) -> bytes:
        requested_event.set()
        return bytes(byte_count)

    driver = MiniaudioDriver("null")
    streams = [driver.open_input(devices.inputs[0], on_samples), driver.open_output(devices.outputs[0], next_samples)]
    assert captured_event.wait(WAIT_TIMEOUT_SECONDS)
    assert requested_event.wait(WAIT_TIMEOUT_SECONDS)
    for stream in streams:
        stream.close()
    assert captured_sizes[0] == FRAME_BYTES


def test_an_unknown_driver_is_rejected_with_the_names_of_the_drivers() -> None:
    with pytest.raises(ValueError, match=r"no audio driver 'loud'; the drivers are .*alsa.*null.*wasapi"):
        MiniaudioDriver("loud")


def test_the_voice_thread_reads_the_samples_of_the_microphone(lab: DeviceLab) -> None:
    lab.driver.tones["desk"] = Tone(440.0)
    lab.engine.start("default", "default")
    captured_samples = array("h")

    def capture() -> bool:
        captured_samples.frombytes(lab.engine.capture() or b"")
        return len(captured_samples) >= WINDOW_SAMPLES

    lab.wait_until(capture)

    assert tone_share(captured_samples, 440.0) > 0.9
    assert lab.driver.opened == ["desk", "head"]
    assert "microphone 'desk'" in lab.engine.describe()


def test_a_plugged_device_is_reported_and_can_be_selected(lab: DeviceLab) -> None:
    lab.engine.watch()
    lab.wait_until(lambda: any("'desk' (desk), 'studio' (studio)" in message for message in lab.messages))
    assert lab.change_count == 0

    lab.driver.input_names.append("stage")
    lab.wait_until(lambda: lab.change_count == 1)

    assert lab.engine.inputs() == [("desk", "desk"), ("studio", "studio"), ("stage", "stage")]
    lab.engine.start("stage", "default")
    lab.wait_until(lambda: "stage" in lab.driver.opened)
    lab.engine.start("studio", "default")
    lab.wait_until(lambda: "studio" in lab.driver.opened)
    assert "head" in lab.driver.opened
    assert lab.driver.opened.count("head") == 1


def test_calls_follow_a_change_of_the_default_device(lab: DeviceLab) -> None:
    lab.engine.start("default", "default")
    lab.wait_until(lambda: "head" in lab.driver.opened)

    lab.driver.input_names.reverse()

    lab.wait_until(lambda: lab.change_count == 1)
    assert lab.driver.opened == ["desk", "head", "studio"]


def test_a_lost_device_is_replaced_by_the_default_device_until_it_returns(lab: DeviceLab) -> None:
    lab.engine.start("studio", "default")
    lab.wait_until(lambda: "head" in lab.driver.opened)

    lab.driver.input_names.remove("studio")
    lab.wait_until(lambda: lab.change_count == 1)

    assert lab.driver.opened == ["studio", "head", "desk"]
    assert "The microphone 'studio' was lost" in lab.messages
    assert "The selected microphone is not available; using 'desk'" in lab.messages
    lab.driver.input_names.append("studio")
    lab.wait_until(lambda: lab.change_count == 2)
    assert lab.driver.opened[-1] == "studio"


def test_a_device_that_the_system_stops_is_opened_again_and_reported(lab: DeviceLab) -> None:
    lab.engine.start("default", "default")
    lab.wait_until(lambda: "head" in lab.driver.opened)

    lab.driver.streams["desk"].is_stopped = True
    lab.wait_until(lambda: lab.change_count == 1)

    assert lab.driver.opened == ["desk", "head", "desk"]


def test_a_device_without_data_counts_as_lost(lab: DeviceLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "STALL_SECONDS", -1.0)

    lab.engine.start("default", "default")

    lab.wait_until(lambda: lab.driver.opened.count("desk") > 1)
    assert "The microphone 'desk' was lost" in lab.messages


def test_a_device_that_cannot_be_opened_is_replaced_by_the_default_device(lab: DeviceLab) -> None:
    lab.driver.broken.add("studio")

    lab.engine.start("studio", "default")
    lab.wait_until(lambda: "head" in lab.driver.opened)

    assert lab.driver.opened == ["desk", "head"]
    assert "Could not open the microphone 'studio': the device is in use" in lab.messages


def test_a_machine_without_an_input_captures_silence_and_opens_one_that_is_plugged_in(lab: DeviceLab) -> None:
    lab.driver.input_names.clear()
    lab.engine.start("default", "default")
    lab.wait_until(lambda: "head" in lab.driver.opened)
    assert lab.engine.capture() is None

    lab.driver.input_names.append("desk")

    lab.wait_until(lambda: "desk" in lab.driver.opened)


def test_a_failing_list_of_devices_keeps_the_devices_open(lab: DeviceLab) -> None:
    lab.engine.start("default", "default")
    lab.wait_until(lambda: "head" in lab.driver.opened)

    lab.driver.is_failing = True
    lab.wait_until(lambda: any("does not respond" in message for message in lab.messages))
    assert lab.engine.inputs() == [("desk", "desk"), ("studio", "studio")]
    lab.driver.is_failing = False

    assert lab.driver.opened == ["desk", "head"]
    assert lab.change_count == 0


def test_devices_stay_fixed_while_the_game_manages_the_audio_session(lab: DeviceLab) -> None:
    lab.engine.options = {"engine_managed_audio_session": True}
    lab.engine.start("default", "default")
    lab.wait_until(lambda: "head" in lab.driver.opened)

    lab.driver.input_names.reverse()
    lab.wait_until(lambda: lab.change_count == 1)

    assert lab.driver.opened == ["desk", "head"]
    lab.engine.start("studio", "default")
    lab.wait_until(lambda: "studio" in lab.driver.opened)


def test_the_device_thread_ends_with_the_last_call(lab: DeviceLab) -> None:
    lab.engine.start("default", "default")
    lab.wait_until(lambda: "head" in lab.driver.opened)
    thread = lab.engine._thread
    assert thread is not None

    lab.engine.stop()
    thread.join(WAIT_TIMEOUT_SECONDS)

    assert not thread.is_alive()
    assert "Closed the microphone 'desk'" in lab.messages
    assert lab.engine.describe().startswith("microphone none")


async def test_a_client_lists_the_devices_of_the_system() -> None:
    client = Client(audio=SystemAudio("null"))
    changes = CallbackRecorder()
    client.set_device_change_callback(changes)

    [microphone] = await client.get_input_devices()
    [speaker] = await client.get_output_devices()

    assert (microphone.name, speaker.name) == ("NULL Capture Device", "NULL Playback Device")
    assert (microphone.is_default, speaker.is_default) == (True, True)
    await client.set_input_device(microphone.id)
    assert (await client.get_current_input_device()).equals(microphone)
    await client.close()
    assert not any(thread.name == devices.DEVICE_THREAD_NAME for thread in threading.enumerate())


@pytest.fixture
def without_miniaudio(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the devices extra."""
    original_find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "miniaudio" else original_find_spec(name)
    )


@pytest.mark.usefixtures("without_miniaudio")
async def test_without_the_devices_extra_there_is_one_virtual_device() -> None:
    client = Client()

    [device] = await client.get_input_devices()

    assert (device.id, device.is_default) == (client.get_default_audio_device_id(), True)
    assert "virtual" in device.name
    client.set_device_change_callback(lambda inputs, outputs: None)
    await client.close()


@pytest.mark.usefixtures("without_miniaudio")
def test_a_named_driver_without_the_devices_extra_names_the_package() -> None:
    audio: AudioBackend = SystemAudio("null")

    with pytest.raises(MissingExtraError, match=r"require miniaudio\. .* pip install 'hubbub\[devices\]'"):
        audio.inputs()
