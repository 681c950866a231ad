"""Players who hear each other: everybody who runs this is in one lobby's call.

python examples/call.py READY_FILE --login alice                     says a tone
python examples/call.py READY_FILE --login alice --say song.wav      says a file: 48 kHz, 16 bit, stereo
python examples/call.py READY_FILE --login bob --record heard.wav    writes down what is heard

It needs no sound card: what is said is written into the frames of a microphone that hears nothing. A game with an audio
engine plugs it in as `Client(audio=...)` instead. Ctrl-C ends it.
"""

import argparse
import math
import sys
import time
import wave
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "game"))

import signing_in

from hubbub.sdk import AudioBackend, Call, CallError, CallStatus, Client, ClientStatus, MissingExtraError

FRAME_S = 1 / 30
TONE_HZ, LOUD = 440, 6000


class Mouth:
    """What is said, 20 ms at a time. It is asked on the voice thread, so it only copies."""

    def __init__(self, path: str | None) -> None:
        if path is None:
            second = [int(LOUD * math.sin(2 * math.pi * TONE_HZ * place / 48_000)) for place in range(48_000)]
            self._samples = array("h", [each for sample in second for each in (sample, sample)])
        else:
            with wave.open(path) as file:
                if (file.getframerate(), file.getsampwidth(), file.getnchannels()) != (48_000, 2, 2):
                    raise signing_in.CannotSignIn(f"{path} is not of 48 kHz, 16 bit and two channels")
                self._samples = array("h", file.readframes(file.getnframes()))
        self._at = 0

    def __call__(self, samples: "array[int]", samples_per_channel: int, sample_rate: int, channels: int) -> None:
        some = self._samples[self._at : self._at + len(samples)]
        samples[: len(some)] = some
        self._at = (self._at + len(samples)) % max(len(self._samples), 1)


class Recorder(AudioBackend):
    """A loudspeaker that is a file."""

    def __init__(self, path: str | None) -> None:
        super().__init__()
        self._file = None if path is None else wave.open(path, "wb")  # noqa: SIM115
        if self._file is not None:
            self._file.setnchannels(2)
            self._file.setsampwidth(2)
            self._file.setframerate(48_000)

    def play(self, samples: bytes) -> None:
        """The next 20 ms of everybody."""
        if self._file is not None:
            self._file.writeframesraw(samples)

    def stop(self) -> None:
        """Nobody is in a call any more."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Caller:
    """One player, between two frames."""

    def __init__(self, client: Client, mouth: Mouth, secret: str) -> None:
        self.client = client
        self.problem: str | None = None
        self.over = False
        self._mouth, self._secret = mouth, secret
        self._call: Call | None = None
        client.set_status_changed_callback(self._status)

    def failed(self, why: str) -> None:
        """There is no use in going on."""
        self.problem, self.over = why, True

    def _status(self, status: ClientStatus, *_: object) -> None:
        if status is ClientStatus.READY and self._call is None:
            self.client.create_or_join_lobby(self._secret, self._entered)

    def _entered(self, result: object, lobby_id: int) -> None:
        if not lobby_id:
            self.failed(f"there is no lobby for us: {result}")
            return
        self._call = self.client.start_call_with_audio_callbacks(lobby_id, self._heard, self._mouth)
        if self._call is not None:
            self._call.set_status_changed_callback(self._changed)
            self._call.set_participant_changed_callback(lambda who, came: self._tell(who, "comes" if came else "goes"))
            self._call.set_speaking_status_changed_callback(
                lambda who, on: self._tell(who, "speaks" if on else "is quiet")
            )

    def _heard(self, user_id: int, samples: object, samples_per_channel: int, sample_rate: int, channels: int) -> bool:
        """Could change what somebody says, or play it where they stand in the game; True would keep it from the loudspeaker."""
        return False

    def _changed(self, status: CallStatus, error: CallError, detail: int) -> None:
        print(f"The call is {status.label}.", flush=True)
        if error:
            self.failed(f"the call ended: {error.label} {detail}")

    def _tell(self, who: int, what: str) -> None:
        person = self.client.get_user(who)
        print(f"{person.display_name if person else who} {what}.", flush=True)


def main() -> None:
    """The game loop."""
    parser = argparse.ArgumentParser(prog="call", description="a call of a lobby")
    parser.add_argument("ready_file", help="the ready file of `hubbub dev`")
    parser.add_argument("--login", nargs="+", metavar=("USER", "PASSWORD"), help="sign in without a browser")
    parser.add_argument("--say", metavar="FILE", help="a WAV file to say instead of a tone")
    parser.add_argument("--record", metavar="FILE", help="where to write what is heard")
    parser.add_argument("--secret", default="campfire", help="who knows the same one is in the same lobby")
    options = parser.parse_args()
    options.guest, options.token = None, None
    try:
        world = signing_in.read_world(options.ready_file)
        client = signing_in.new_client(world, options.login, Recorder(options.record))
        caller = Caller(client, Mouth(options.say), options.secret)
        signing_in.begin(client, world, options, caller.failed)
    except (signing_in.CannotSignIn, MissingExtraError, OSError, wave.Error) as problem:
        sys.exit(f"call: {problem}")
    with client:
        try:
            while not caller.over:
                client.run_callbacks()
                time.sleep(FRAME_S)
        except (KeyboardInterrupt, MissingExtraError) as end:
            caller.problem = str(end) or None
    sys.exit(caller.problem)


if __name__ == "__main__":
    main()
