"""File format of recorded rehearsals: JSON lines, first a header with world, seed and start time, then the inputs."""

import base64
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from hubbub.protocol import codec

FORMAT_VERSION: Final = 1
VOICE_PREFIX: Final = "VOICE "
"""Start of the opcode names of frames to the voice server."""


class RecordingError(Exception):
    """The file is not a recording, or it cannot be read or written."""


class RecordingHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Header of a recording: the state at the start of the rehearsal."""

    version: int
    seed: int
    now_ms: int
    """Time of the platform's clock in Unix milliseconds."""
    world: str | None
    """The text of the world file; None for the demo world."""


class RecordedInput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to the API, a frame of a gateway or voice client, a request to the control API, or the response of an endpoint."""

    id: int
    newest_entry_id: int = msgspec.field(name="after")
    """ID of the newest entry of the traffic when the input arrived."""
    now_ms: int
    """Time of the platform's clock when the input arrived."""
    kind: Literal["http", "frame", "control", "response"]
    """`response` is the HTTP response of an application's interactions endpoint."""
    actor: str = ""
    """Name of the user or application in the world; empty if there is none."""
    is_program: bool = False
    """Whether the program under test sent the input: a bot, or an application by an interaction token or its endpoint."""
    method: str = ""
    path: str = ""
    route: str = ""
    """Path template of a request."""
    content_type: str = ""
    body: str = ""
    encoding: Literal["text", "base64"] = "text"
    """The encoding of `body`."""
    status: int = 0
    """HTTP status of the response; 0 for frames, and for an endpoint that did not respond."""
    response: str = ""
    """Body of the JSON response to a request; empty for the kind `response`, whose response is `body`."""
    interaction: str = ""
    """JSON of the interaction that an endpoint responded to; empty for other kinds than `response`."""
    opcode_name: str = msgspec.field(name="frame", default="")
    """Name of the opcode of a frame."""
    connection_number: int = msgspec.field(name="connection", default=0)
    """Number of the connection of a frame."""

    @property
    def body_bytes(self) -> bytes:
        """The body as bytes."""
        return base64.b64decode(self.body) if self.encoding == "base64" else self.body.encode()

    @property
    def sort_key(self) -> tuple[int, bool, int]:
        """The sort key: by arrival, and inputs of people before inputs of the program with the same `newest_entry_id`."""
        return self.newest_entry_id, self.is_program, self.id

    @property
    def is_voice(self) -> bool:
        """Whether the input is a frame to the voice server."""
        return self.opcode_name.startswith(VOICE_PREFIX)

    @property
    def is_write(self) -> bool:
        """Whether the input may change the state of the platform."""
        return self.kind == "frame" or self.method not in ("GET", "HEAD")


class Recording(msgspec.Struct, frozen=True):
    """A recorded rehearsal."""

    header: RecordingHeader
    inputs: list[RecordedInput]
    """The inputs, sorted by `RecordedInput.sort_key`."""


def encode_body(body: bytes) -> dict[str, Any]:
    """Return the fields `body` and `encoding` of a body."""
    try:
        return {"body": body.decode(), "encoding": "text"}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(body).decode(), "encoding": "base64"}


def read_recording(path: str | Path) -> Recording:
    """Read a recording, or raise RecordingError. An incomplete last line, left by a killed process, is ignored."""
    try:
        lines = Path(path).read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise RecordingError(f"cannot read {path}: {error.strerror}") from error
    if not lines:
        raise RecordingError(f"{path} is empty")
    try:
        header = codec.decode(lines[0], RecordingHeader)
        inputs = [codec.decode(line, RecordedInput) for line in lines[1:]]
    except (msgspec.MsgspecError, ValueError) as error:
        raise RecordingError(f"{path} is not a recording: {error}") from error
    if header.version != FORMAT_VERSION:
        raise RecordingError(f"{path} has the format version {header.version}; this version reads {FORMAT_VERSION}")
    return Recording(header, sorted(inputs, key=lambda recorded_input: recorded_input.sort_key))
