"""A voice call in a lobby: every player who runs this joins the same call.

python examples/call.py READY_FILE --login alice                     sends a tone
python examples/call.py READY_FILE --login alice --say song.wav      sends a file: 48 kHz, 16 bit, stereo
python examples/call.py READY_FILE --login bob --record call.wav     records the call

It needs no sound card: the audio is written into the frames of a silent microphone. A game with its own audio engine
passes it as `Client(audio=...)` instead. Press Ctrl-C to stop.
"""

import argparse
import math
import sys
import time
import wave
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "game"))

import login

from hubbub.sdk import AudioBackend, Call, CallError, CallStatus, Client, ClientStatus, MissingExtraError

FRAME_SECONDS = 1 / 30
"""Time between two frames of the game loop."""
SAMPLE_RATE_HZ, SAMPLE_BYTES, CHANNEL_COUNT = 48_000, 2, 2
"""Audio format of calls."""
TONE_HZ, TONE_AMPLITUDE = 440, 6000


class AudioSource:
    """The audio to send: a callback that fills 20 ms of samples at a time.

    The voice thread calls it, so it only copies samples. The audio starts again after its end."""

    def __init__(self, path: str | None) -> None:
        if path is None:
            radians_per_sample = 2 * math.pi * TONE_HZ / SAMPLE_RATE_HZ
            # One second of the tone, which contains a whole number of waves.
            tone = [int(TONE_AMPLITUDE * math.sin(radians_per_sample * index)) for index in range(SAMPLE_RATE_HZ)]
            self._samples = array("h", [sample for sample in tone for _ in range(CHANNEL_COUNT)])
        else:
            with wave.open(path) as file:
                audio_format = (file.getframerate(), file.getsampwidth(), file.getnchannels())
                if audio_format != (SAMPLE_RATE_HZ, SAMPLE_BYTES, CHANNEL_COUNT):
                    raise wave.Error(f"{path} must have 48 kHz, 16 bit and two channels")
                self._samples = array("h", file.readframes(file.getnframes()))
        self._position = 0

    def __call__(self, samples: "array[int]", samples_per_channel: int, sample_rate: int, channels: int) -> None:
        chunk = self._samples[self._position : self._position + len(samples)]
        samples[: len(chunk)] = chunk
        self._position = (self._position + len(samples)) % max(len(self._samples), 1)


class Recorder(AudioBackend):
    """An audio output that writes to a WAV file; without a path, it discards the audio."""

    def __init__(self, path: str | None) -> None:
        super().__init__()
        self._file = None if path is None else wave.open(path, "wb")  # noqa: SIM115
        if self._file is not None:
            self._file.setnchannels(CHANNEL_COUNT)
            self._file.setsampwidth(SAMPLE_BYTES)
            self._file.setframerate(SAMPLE_RATE_HZ)

    def play(self, samples: bytes) -> None:
        """Write the next 20 ms of the mixed call."""
        if self._file is not None:
            self._file.writeframesraw(samples)

    def stop(self) -> None:
        """Close the file after the last call."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Participant:
    """One player in the call; its callbacks run between two frames."""

    def __init__(self, client: Client, source: AudioSource, secret: str) -> None:
        self.client = client
        self.problem: str | None = None
        self.is_over = False
        self._source, self._secret = source, secret
        self._call: Call | None = None
        client.set_status_changed_callback(self._on_client_status)

    def fail(self, problem: str) -> None:
        """Record a problem and end the program."""
        self.problem, self.is_over = problem, True

    def _on_client_status(self, status: ClientStatus, *_: object) -> None:
        if status is ClientStatus.READY and self._call is None:
            self.client.create_or_join_lobby(self._secret, self._on_lobby_joined)

    def _on_lobby_joined(self, result: object, lobby_id: int) -> None:
        if not lobby_id:
            self.fail(f"could not join the lobby: {result}")
            return
        self._call = self.client.start_call_with_audio_callbacks(lobby_id, self._on_audio_received, self._source)
        if self._call is not None:
            self._call.set_status_changed_callback(self._on_call_status)
            self._call.set_participant_changed_callback(
                lambda user_id, joined: self._print_event(user_id, "joined" if joined else "left")
            )
            self._call.set_speaking_status_changed_callback(
                lambda user_id, speaking: self._print_event(user_id, "is speaking" if speaking else "stopped speaking")
            )

    def _on_audio_received(
        self, user_id: int, samples: object, samples_per_channel: int, sample_rate: int, channels: int
    ) -> bool:
        """Return False, so that the audio of a player is played unchanged.

        A game could modify the samples here. It returns True to play them itself, for example at the player's
        position."""
        return False

    def _on_call_status(self, status: CallStatus, error: CallError, detail: int) -> None:
        print(f"The call is {status.label}.", flush=True)
        if error:
            self.fail(f"the call ended: {error.label} {detail}")

    def _print_event(self, user_id: int, event: str) -> None:
        user = self.client.get_user(user_id)
        print(f"{user.display_name if user else user_id} {event}.", flush=True)


def main() -> None:
    """Run the game loop."""
    parser = argparse.ArgumentParser(prog="call", description="voice call in a lobby")
    parser.add_argument("ready_file", help="the ready file of `hubbub dev`")
    parser.add_argument("--login", nargs="+", metavar=("USER", "PASSWORD"), help="log in without a browser")
    parser.add_argument("--say", metavar="FILE", help="WAV file to send instead of a tone")
    parser.add_argument("--record", metavar="FILE", help="WAV file to record the call to")
    parser.add_argument("--secret", default="campfire", help="players with the same secret join the same lobby")
    options = parser.parse_args()
    # `login.start` also reads these options, which this program does not have.
    options.guest, options.token = None, None
    try:
        world = login.read_world(options.ready_file)
        client = login.new_client(world, options.login, Recorder(options.record))
        participant = Participant(client, AudioSource(options.say), options.secret)
        login.start(client, world, options, participant.fail)
    except (login.LoginError, MissingExtraError, OSError, wave.Error) as problem:
        sys.exit(f"call: {problem}")
    with client:
        try:
            while not participant.is_over:
                client.run_callbacks()
                time.sleep(FRAME_SECONDS)
        except (KeyboardInterrupt, MissingExtraError) as error:
            # The text of a KeyboardInterrupt is empty, so Ctrl-C is not reported as a problem.
            participant.problem = str(error) or None
    sys.exit(participant.problem)


if __name__ == "__main__":
    main()
