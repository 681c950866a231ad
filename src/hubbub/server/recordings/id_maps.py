"""The IDs and tokens of a recorded session and those of its replay, which differ for new objects."""

import re
from typing import Any, Final

import msgspec

from hubbub.protocol import codec

_ID_PATTERN: Final = re.compile(r"\b\d{15,20}\b")
_TOKEN_KEYS: Final = frozenset({"code", "token"})
_GENERATED_CUSTOM_ID_PATTERN: Final = re.compile(r"[0-9a-f]{32}")
"""A custom_id that a library such as discord.py generates at random."""


class IdMapping:
    """Maps recorded IDs and tokens to those of the replay."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._tokens: dict[str, str] = {}

    def add_responses(self, recorded_json: str, replayed_json: str) -> None:
        """Map the IDs and tokens of a recorded response to those at the same places of the replayed one."""
        recorded_value, replayed_value = decode_json(recorded_json), decode_json(replayed_json)
        if recorded_value is not None and replayed_value is not None:
            self._add_values(recorded_value, replayed_value, "")

    def add_custom_ids(self, recorded_json: str, replayed_json: str) -> None:
        """Map the generated custom_ids of a recorded request body to those at the same places of the replayed one."""
        self._add_custom_ids(decode_json(recorded_json), decode_json(replayed_json), "")

    def _add_custom_ids(self, recorded_value: Any, replayed_value: Any, key: str) -> None:
        if isinstance(recorded_value, dict) and isinstance(replayed_value, dict):
            for name in recorded_value.keys() & replayed_value.keys():
                self._add_custom_ids(recorded_value[name], replayed_value[name], name)
        elif isinstance(recorded_value, list) and isinstance(replayed_value, list):
            for recorded_item, replayed_item in zip(recorded_value, replayed_value, strict=False):
                self._add_custom_ids(recorded_item, replayed_item, key)
        elif (
            key == "custom_id"
            and isinstance(recorded_value, str)
            and isinstance(replayed_value, str)
            and recorded_value != replayed_value
        ):
            if _GENERATED_CUSTOM_ID_PATTERN.fullmatch(recorded_value) and _GENERATED_CUSTOM_ID_PATTERN.fullmatch(
                replayed_value
            ):
                self._tokens.setdefault(recorded_value, replayed_value)

    def _add_values(self, recorded_value: Any, replayed_value: Any, key: str) -> None:
        if isinstance(recorded_value, dict) and isinstance(replayed_value, dict):
            for name in recorded_value.keys() & replayed_value.keys():
                self._add_values(recorded_value[name], replayed_value[name], name)
        elif isinstance(recorded_value, list) and isinstance(replayed_value, list):
            for recorded_item, replayed_item in zip(recorded_value, replayed_value, strict=False):
                self._add_values(recorded_item, replayed_item, key)
        elif isinstance(recorded_value, str) and isinstance(replayed_value, str) and recorded_value != replayed_value:
            if _ID_PATTERN.fullmatch(recorded_value) and _ID_PATTERN.fullmatch(replayed_value):
                self._ids.setdefault(recorded_value, replayed_value)
            elif key in _TOKEN_KEYS:
                self._tokens.setdefault(recorded_value, replayed_value)

    def translate(self, text: str) -> str:
        """Replace the recorded IDs and tokens in a path or body."""
        text = _ID_PATTERN.sub(lambda match: self._ids.get(match[0], match[0]), text)
        for recorded_token, replayed_token in self._tokens.items():
            if recorded_token in text:
                text = text.replace(recorded_token, replayed_token)
        return text


def decode_json(text: str) -> Any:
    """Return the value of a JSON text, or None if it is empty or not JSON."""
    try:
        return codec.decode_any(text.encode()) if text else None
    except (msgspec.MsgspecError, ValueError):
        return None
