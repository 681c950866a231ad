"""The IDs and tokens of a recorded session and those of its replay, which differ for new objects."""

import re
from typing import Any, Final

import msgspec

from hubbub.protocol import codec

_ID: Final = re.compile(r"\b\d{15,20}\b")
_TOKEN_KEYS: Final = frozenset({"code", "token"})
_GENERATED_CUSTOM_ID: Final = re.compile(r"[0-9a-f]{32}")
"""A custom_id that a library such as discord.py generates at random."""


class IdMapping:
    """Maps recorded IDs and tokens to those of the replay."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._tokens: dict[str, str] = {}

    def learn(self, recorded: str, replayed: str) -> None:
        """Compare two responses to the same request; values at the same place correspond to each other."""
        before, after = decode_json(recorded), decode_json(replayed)
        if before is not None and after is not None:
            self._learn(before, after, "")

    def learn_custom_ids(self, recorded: str, replayed: str) -> None:
        """Compare two bodies of the same request; generated custom_ids at the same place correspond to each other."""
        self._learn_custom_ids(decode_json(recorded), decode_json(replayed), "")

    def _learn_custom_ids(self, before: Any, after: Any, key: str) -> None:
        if isinstance(before, dict) and isinstance(after, dict):
            for name in before.keys() & after.keys():
                self._learn_custom_ids(before[name], after[name], name)
        elif isinstance(before, list) and isinstance(after, list):
            for first, second in zip(before, after, strict=False):
                self._learn_custom_ids(first, second, key)
        elif key == "custom_id" and isinstance(before, str) and isinstance(after, str) and before != after:
            if _GENERATED_CUSTOM_ID.fullmatch(before) and _GENERATED_CUSTOM_ID.fullmatch(after):
                self._tokens.setdefault(before, after)

    def _learn(self, before: Any, after: Any, key: str) -> None:
        if isinstance(before, dict) and isinstance(after, dict):
            for name in before.keys() & after.keys():
                self._learn(before[name], after[name], name)
        elif isinstance(before, list) and isinstance(after, list):
            for first, second in zip(before, after, strict=False):
                self._learn(first, second, key)
        elif isinstance(before, str) and isinstance(after, str) and before != after:
            if _ID.fullmatch(before) and _ID.fullmatch(after):
                self._ids.setdefault(before, after)
            elif key in _TOKEN_KEYS:
                self._tokens.setdefault(before, after)

    def translate(self, text: str) -> str:
        """Replace the recorded IDs and tokens in a path or body."""
        text = _ID.sub(lambda match: self._ids.get(match[0], match[0]), text)
        for before, after in self._tokens.items():
            if before in text:
                text = text.replace(before, after)
        return text


def decode_json(text: str) -> Any:
    """Return the value of a JSON text, or None if it is empty or not JSON."""
    try:
        return codec.decode_any(text.encode()) if text else None
    except (msgspec.MsgspecError, ValueError):
        return None
