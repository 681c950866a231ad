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
TONE_HZ, AMPLITUDE = 440, 6000


class AudioSource:
    """The audio to send: a callback that fills 20 ms of samples at a time.

    The voice thread calls it, so it only copies samples."""

    def __init__(self, path: str | None) -> None:
        if path is None:
            second = [int(AMPLITUDE * math.sin(2 * math.pi * TONE_HZ * index / 48_000)) for index in range(48_000)]
            self._samples = array("h", [channel for sample in second for channel in (sample, sample)])
        else:
            with wave.open(path) as file:
                if (file.getframerate(), file.getsampwidth(), file.getnchannels()) != (48_000, 2, 2):
                    raise login.LoginError(f"{path} must have 48 kHz, 16 bit and two channels")
                self._samples = array("h", file.readframes(file.getnframes()))
        self._position = 0

    def __call__(self, samples: "array[int]", samples_per_channel: int, sample_rate: int, channels: int) -> None:
        chunk = self._samples[self._position : self._position + len(samples)]
        samples[: len(chunk)] = chunk
        self._position = (self._position + len(samples)) % max(len(self._samples), 1)


class Recorder(AudioBackend):
    """An audio output that writes to a file."""

    def __init__(self, path: str | None) -> None:
        super().__init__()
        self._file = None if path is None else wave.open(path, "wb")  # noqa: SIM115
        if self._file is not None:
            self._file.setnchannels(2)
            self._file.setsampwidth(2)
            self._file.setframerate(48_000)

    def play(self, samples: bytes) -> None:
        """Write the next 20 ms of the mixed call."""
        if self._file is not None:
            self._file.writeframesraw(samples)

    def stop(self) -> None:
        """Close the file after the last call."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Caller:
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
    options.guest, options.token = None, None
    try:
        world = login.read_world(options.ready_file)
        client = login.new_client(world, options.login, Recorder(options.record))
        caller = Caller(client, AudioSource(options.say), options.secret)
        login.start(client, world, options, caller.fail)
    except (login.LoginError, MissingExtraError, OSError, wave.Error) as problem:
        sys.exit(f"call: {problem}")
    with client:
        try:
            while not caller.is_over:
                client.run_callbacks()
                time.sleep(FRAME_SECONDS)
        except (KeyboardInterrupt, MissingExtraError) as error:
            # The text of a KeyboardInterrupt is empty, so that Ctrl-C is not a problem.
            caller.problem = str(error) or None
    sys.exit(caller.problem)


if __name__ == "__main__":
    main()
