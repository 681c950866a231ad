"""Comparison of the actions of a program in a recorded session and in its replay."""

import base64
import difflib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from hubbub.people import ogg
from hubbub.server.recordings.id_maps import IdMapping, decode_json
from hubbub.server.recordings.recording_file import RecordedInput

IGNORED_KEYS: Final = frozenset({"nonce", "token"})
"""Keys whose values differ in every session."""
HEAR_ROUTE: Final = "/control/people/{name}/voice/hear"
"""Route of the control request that returns the audio that a person receives in a call."""
DURATION_TOLERANCE_MS: Final = 200
"""Maximum difference in milliseconds of two durations of the same audio, from which packets may be lost."""
SAME_PACKETS_MIN: Final = 0.9
"""Minimum share of equal Opus packets in the same audio."""
_VALUE_LENGTH_MAX: Final = 80


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A difference between the recorded actions of a step and those of the replay."""

    kind: Literal["changed", "missing", "added"]
    action: str
    """Actor, method and path template, or the name of the frame."""
    details: list[str] = []
    """The changed fields, for example `content: "a" -> "b"`."""


class ActionMatch(NamedTuple):
    """The result of matching recorded writes of a program with replayed ones."""

    differences: list[Difference]
    """The changed fields of writes that correspond to each other."""
    missing_actions: list[RecordedInput]
    """Recorded writes without a replayed one."""
    added_actions: list[RecordedInput]
    """Replayed writes without a recorded one."""


def match_actions(
    recorded_inputs: Sequence[RecordedInput], replayed_inputs: Sequence[RecordedInput], mapping: IdMapping
) -> ActionMatch:
    """Match the writes of a program by their names and order. Pairs of writes extend the mapping.

    Frames to the voice server are matched apart from other writes, because both arrive over connections of their own."""
    match = ActionMatch([], [], [])
    for is_voice in (False, True):
        _match_sequence(
            [action for action in recorded_inputs if action.is_write and action.is_voice is is_voice],
            [action for action in replayed_inputs if action.is_write and action.is_voice is is_voice],
            mapping,
            match,
        )
    return match


def _match_sequence(
    recorded_writes: Sequence[RecordedInput],
    replayed_writes: Sequence[RecordedInput],
    mapping: IdMapping,
    match: ActionMatch,
) -> None:
    """Match two sequences of writes, and add the result to `match`."""
    matcher = difflib.SequenceMatcher(
        None, [describe(action) for action in recorded_writes], [describe(action) for action in replayed_writes]
    )
    for tag, recorded_start, recorded_end, replayed_start, replayed_end in matcher.get_opcodes():
        recorded_range = recorded_writes[recorded_start:recorded_end]
        replayed_range = replayed_writes[replayed_start:replayed_end]
        if tag != "equal":
            match.missing_actions.extend(recorded_range)
            match.added_actions.extend(replayed_range)
            continue
        for recorded_write, replayed_write in zip(recorded_range, replayed_range, strict=True):
            mapping.add_responses(recorded_write.response, replayed_write.response)
            mapping.add_responses(recorded_write.interaction, replayed_write.interaction)
            mapping.add_custom_ids(recorded_write.body, replayed_write.body)
            details = list(_compare_action(recorded_write, replayed_write, mapping))
            if details:
                match.differences.append(Difference(kind="changed", action=describe(replayed_write), details=details))


def compare_audio(recorded_input: RecordedInput, replayed_response: str) -> list[Difference]:
    """Return the difference of the audio that a person received in a call, for the requests that return it."""
    recorded_audio, replayed_audio = decode_json(recorded_input.response), decode_json(replayed_response)
    if recorded_input.route != HEAR_ROUTE or not all(
        isinstance(audio, dict) and "file" in audio for audio in (recorded_audio, replayed_audio)
    ):
        return []
    details = []
    if recorded_audio["user"] != replayed_audio["user"]:
        details.append(f"user: {recorded_audio['user']} -> {replayed_audio['user']}")
    durations = recorded_audio["duration_ms"], replayed_audio["duration_ms"]
    if abs(durations[0] - durations[1]) > DURATION_TOLERANCE_MS:
        details.append(f"duration_ms: {durations[0]} -> {durations[1]}")
    else:
        recorded_packets, replayed_packets = (
            Counter(ogg.read_packets(base64.b64decode(audio["file"]))) for audio in (recorded_audio, replayed_audio)
        )
        same_count, count = (recorded_packets & replayed_packets).total(), recorded_packets.total()
        if same_count < SAME_PACKETS_MIN * count:
            details.append(f"file: {same_count} of {count} Opus packets are the same")
    # The person hears what another member of the call sends.
    action = f"audio of {replayed_audio['user']}"
    return [Difference(kind="changed", action=action, details=details)] if details else []


def describe(action: RecordedInput) -> str:
    """Return the actor and the name of an action."""
    if action.kind == "response":
        return f"{action.actor} response of the interactions endpoint".strip()
    name = action.opcode_name or f"{action.method} {action.route}"
    return f"{action.actor} {name}".strip()


def _compare_action(recorded_write: RecordedInput, replayed_write: RecordedInput, mapping: IdMapping) -> Iterator[str]:
    if recorded_write.status != replayed_write.status:
        yield f"status: {recorded_write.status} -> {replayed_write.status}"
    # The path of a response to an interaction has the ID and the token of the interaction.
    if not recorded_write.route.startswith(("/interactions/", "/webhooks/")):
        recorded_path = mapping.translate(recorded_write.path)
        if recorded_path != replayed_write.path:
            yield f"path: {recorded_path} -> {replayed_write.path}"
    recorded_body, replayed_body = decode_json(mapping.translate(recorded_write.body)), decode_json(replayed_write.body)
    if recorded_body is None and replayed_body is None:
        if recorded_write.content_type.partition(";")[0] != replayed_write.content_type.partition(";")[0]:
            yield f"content type: {recorded_write.content_type} -> {replayed_write.content_type}"
        return
    yield from _compare_values(recorded_body, replayed_body, ())


def _compare_values(recorded_value: Any, replayed_value: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(recorded_value, dict) and isinstance(replayed_value, dict):
        for key in [*recorded_value, *(key for key in replayed_value if key not in recorded_value)]:
            if key not in IGNORED_KEYS:
                yield from _compare_values(recorded_value.get(key), replayed_value.get(key), (*path, key))
    elif (
        isinstance(recorded_value, list)
        and isinstance(replayed_value, list)
        and len(recorded_value) == len(replayed_value)
    ):
        for index, (recorded_item, replayed_item) in enumerate(zip(recorded_value, replayed_value, strict=True)):
            yield from _compare_values(recorded_item, replayed_item, (*path, str(index)))
    elif recorded_value != replayed_value:
        yield f"{'.'.join(path) or 'body'}: {_shorten(recorded_value)} -> {_shorten(replayed_value)}"


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_LENGTH_MAX else f"{text[:_VALUE_LENGTH_MAX]}…"
