"""Comparison of the actions of a program in a recorded session and in its replay."""

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from hubbub.server.recordings.id_maps import IdMapping, decode_json
from hubbub.server.recordings.recording_file import RecordedInput

IGNORED_KEYS: Final = frozenset({"nonce", "token"})
"""Keys whose values differ in every session."""
_VALUE_LENGTH_MAX: Final = 80


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A difference between the recorded actions of a step and those of the replay."""

    kind: Literal["changed", "missing", "added"]
    action: str
    """Actor, method and path template, or the name of the frame."""
    details: list[str] = []
    """The changed fields, for example `content: "a" -> "b"`."""


def compare_actions(
    recorded: Sequence[RecordedInput], replayed: Sequence[RecordedInput], mapping: IdMapping
) -> list[Difference]:
    """Return the differences of the writes of a program in one step. Pairs of equal actions extend the mapping."""
    before = [action for action in recorded if action.is_write]
    after = [action for action in replayed if action.is_write]
    matcher = difflib.SequenceMatcher(
        None, [describe(action) for action in before], [describe(action) for action in after]
    )
    differences = []
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            for old, new in zip(before[start:end], after[other_start:other_end], strict=True):
                mapping.learn(old.response, new.response)
                mapping.learn_custom_ids(old.body, new.body)
                details = list(_compare_action(old, new, mapping))
                if details:
                    differences.append(Difference(kind="changed", action=describe(new), details=details))
            continue
        differences += [Difference(kind="missing", action=describe(action)) for action in before[start:end]]
        differences += [Difference(kind="added", action=describe(action)) for action in after[other_start:other_end]]
    return differences


def describe(action: RecordedInput) -> str:
    """Return the actor and the name of an action."""
    name = action.frame or f"{action.method} {action.route}"
    return f"{action.actor} {name}".strip()


def _compare_action(old: RecordedInput, new: RecordedInput, mapping: IdMapping) -> Iterator[str]:
    if old.status != new.status:
        yield f"status: {old.status} -> {new.status}"
    # The path of a response to an interaction has the ID and the token of the interaction.
    if not old.route.startswith(("/interactions/", "/webhooks/")):
        old_path = mapping.translate(old.path)
        if old_path != new.path:
            yield f"path: {old_path} -> {new.path}"
    old_value, new_value = decode_json(mapping.translate(old.body)), decode_json(new.body)
    if old_value is None and new_value is None:
        if old.content_type.partition(";")[0] != new.content_type.partition(";")[0]:
            yield f"content type: {old.content_type} -> {new.content_type}"
        return
    yield from _compare_values(old_value, new_value, ())


def _compare_values(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in IGNORED_KEYS:
                yield from _compare_values(old.get(key), new.get(key), (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from _compare_values(first, second, (*path, str(index)))
    elif old != new:
        yield f"{'.'.join(path) or 'body'}: {_shorten(old)} -> {_shorten(new)}"


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_LENGTH_MAX else f"{text[:_VALUE_LENGTH_MAX]}…"
