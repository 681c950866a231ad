"""The recorder, which writes the inputs of a rehearsal to a file while it runs."""

import os
from collections.abc import Callable
from typing import BinaryIO, Final, Literal

from hubbub.protocol import codec
from hubbub.protocol.enums import InteractionType
from hubbub.protocol.ids import UserId
from hubbub.server.core.traffic import TrafficContent, TrafficRecord, TrafficStart
from hubbub.server.recordings.id_maps import decode_json
from hubbub.server.recordings.recording_file import (
    VOICE_PREFIX,
    RecordedInput,
    RecordingError,
    RecordingHeader,
    encode_body,
)
from hubbub.server.worlds import BuiltWorld

UNRECORDED_CONTROL_ROUTES: Final = ("/control/traffic", "/control/console-links", "/control/forks")
"""Prefixes of the routes of control operations that are not recorded, because they do not affect the session."""


VOICE_FIELDS: Final = {
    "VOICE IDENTIFY": ("server_id", "channel_id", "max_dave_protocol_version", "video"),
    "VOICE SELECT_PROTOCOL": ("protocol", "mode"),
    "VOICE SPEAKING": ("speaking",),
}
"""Frames to the voice server that are recorded, and their fields that are the same in every session.

Addresses, SSRCs, tokens and session IDs are not. The number and order of other frames depend on timing."""


class Recorder:
    """Writes inputs as they arrive. Events and responses follow from them and are not inputs."""

    def __init__(self, path: str, header: RecordingHeader, get_built_world: Callable[[], BuiltWorld]) -> None:
        """Create the file, which only its owner can read, because it may contain passwords and tokens.

        Raise RecordingError if that fails."""
        self._get_built_world = get_built_world
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise RecordingError(f"cannot write the recording {path}: {error.strerror}") from error
        self._file: BinaryIO = os.fdopen(descriptor, "wb")
        self._write(codec.encode(header))

    def record(self, record: TrafficRecord) -> None:
        """Write an entry of the traffic, if it is an input."""
        recorded_input = convert_record(record, self._get_built_world())
        if recorded_input is not None:
            self._write(codec.encode(recorded_input))

    def _write(self, line: bytes) -> None:
        self._file.write(line + b"\n")
        # A killed rehearsal keeps everything up to its last input.
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def convert_record(record: TrafficRecord, built_world: BuiltWorld) -> RecordedInput | None:
    """Return an entry of the traffic as an input, or None for any other entry.

    Events, audio, requests that an input causes and `UNRECORDED_CONTROL_ROUTES` are not inputs. The response of an interactions
    endpoint is one, and so are the frames of a bot in `VOICE_FIELDS`."""
    entry, content = record.entry, record.content
    traffic_start = content.start
    if traffic_start is None:
        return None
    if entry.direction == "out" and entry.kind == "interaction":
        return _convert_endpoint_response(record, traffic_start, built_world)
    if entry.direction != "in" or content.is_person:
        return None
    kind: Literal["http", "frame", "control"] = (
        "control" if entry.kind == "control" else "http" if content.method else "frame"
    )
    if kind == "control" and content.route.startswith(UNRECORDED_CONTROL_ROUTES):
        return None
    if kind == "frame" and entry.summary.startswith(VOICE_PREFIX):
        return _convert_voice_frame(record, traffic_start, built_world)
    is_session_start = entry.summary in ("IDENTIFY", "RESUME")
    actor, is_bot = _find_actor(built_world, entry.user_id, _read_token(content.body) if is_session_start else "")
    is_json = content.response_headers.get("Content-Type") == "application/json" or kind == "control"
    return RecordedInput(
        id=entry.id,
        newest_entry_id=traffic_start.newest_entry_id,
        now_ms=traffic_start.now_ms,
        kind=kind,
        actor=actor,
        is_program=is_bot or _is_program_route(content, built_world),
        method=content.method,
        path=content.path,
        route=content.route,
        content_type=content.headers.get("Content-Type", ""),
        status=entry.status or 0,
        response=content.response_body.decode("utf-8", "replace") if is_json else "",
        opcode_name="" if content.method else entry.summary,
        connection_number=content.connection,
        # The token of an Identify is that of the actor.
        **encode_body(b"" if is_session_start else content.body),
    )


def _convert_voice_frame(
    record: TrafficRecord, traffic_start: TrafficStart, built_world: BuiltWorld
) -> RecordedInput | None:
    """Return a frame that a bot sent to the voice server, or None for frames of people and those not in `VOICE_FIELDS`.

    A replay does not need frames of people: the control request that joins a call repeats them."""
    entry, content = record.entry, record.content
    fields = decode_json(content.body.decode("utf-8", "replace"))
    if entry.summary not in VOICE_FIELDS or not isinstance(fields, dict):
        return None
    if isinstance(protocol_data := fields.get("data"), dict):
        fields |= protocol_data
    # A connection has no user until it has identified.
    user_id = entry.user_id or UserId(int(fields["user_id"]) if str(fields.get("user_id")).isdecimal() else 0)
    actor, is_bot = _find_actor(built_world, user_id, "")
    if not is_bot:
        return None
    return RecordedInput(
        id=entry.id,
        newest_entry_id=traffic_start.newest_entry_id,
        now_ms=traffic_start.now_ms,
        kind="frame",
        actor=actor,
        is_program=True,
        opcode_name=entry.summary,
        connection_number=content.connection,
        **encode_body(codec.encode({name: fields.get(name) for name in VOICE_FIELDS[entry.summary]})),
    )


def _convert_endpoint_response(
    record: TrafficRecord, traffic_start: TrafficStart, built_world: BuiltWorld
) -> RecordedInput | None:
    """Return the response of an application's interactions endpoint, or None if the request was a ping."""
    entry, content = record.entry, record.content
    interaction_text = content.body.decode("utf-8", "replace")
    interaction = decode_json(interaction_text)
    if not isinstance(interaction, dict) or interaction.get("type") == InteractionType.PING:
        return None
    application_id = str(interaction.get("application_id"))
    names = [
        name for name, application in built_world.applications.items() if str(int(application.id)) == application_id
    ]
    response_headers = {name.lower(): value for name, value in content.response_headers.items()}
    return RecordedInput(
        id=entry.id,
        newest_entry_id=traffic_start.newest_entry_id,
        now_ms=traffic_start.now_ms,
        kind="response",
        actor=names[0] if names else "",
        is_program=True,
        content_type=response_headers.get("content-type", ""),
        status=entry.status or 0,
        interaction=interaction_text,
        **encode_body(content.response_body),
    )


def _find_actor(built_world: BuiltWorld, user_id: int | None, token: str) -> tuple[str, bool]:
    """Return the name of the user or application with this ID or token, or an empty string, and whether it is a bot."""
    for name, user in built_world.users.items():
        if user.id == user_id or user.token == token:
            return name, False
    for name, application in built_world.applications.items():
        if application.bot is not None and (application.bot.id == user_id or application.bot.token == token):
            return name, True
    return "", False


def _read_token(body: bytes) -> str:
    """Return the token of an Identify or Resume, or an empty string."""
    identification = decode_json(body.decode("utf-8", "replace"))
    token = identification.get("token") if isinstance(identification, dict) else None
    return token.removeprefix("Bot ") if isinstance(token, str) else ""


def _is_program_route(content: TrafficContent, built_world: BuiltWorld) -> bool:
    """Return whether an application sent a request with the token of an interaction in its path.

    Such a request has no user, even if a program sends the token of its bot too."""
    if content.route.startswith("/interactions/"):
        return True
    if not content.route.startswith("/webhooks/"):
        return False
    segments = content.path.partition("/webhooks/")[2].split("/")
    return segments[0] in {str(int(application.id)) for application in built_world.applications.values()}
