"""The default sounds that are part of the program.

Their IDs are small numbers, which are never generated as snowflakes. The files are in `default/` beside this module."""

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from hubbub.protocol.ids import SoundId
from hubbub.protocol.resources import soundboard as wire
from hubbub.server.core import cdn_urls
from hubbub.server.core.store import Tx
from hubbub.server.places.expressions.kinds import SOUNDS

_FOLDER: Final = Path(__file__).with_name("default")


class _Default(NamedTuple):
    id: int
    file: str
    name: str
    emoji: str


_DEFAULTS: Final = (
    _Default(1, "bell.ogg", "bell", "🔔"),
    _Default(2, "clap.ogg", "clap", "👏"),
    _Default(3, "fanfare.ogg", "fanfare", "🎺"),
    _Default(4, "knock.ogg", "knock", "🚪"),
    _Default(5, "sad.ogg", "sad", "😢"),
    _Default(6, "whoop.ogg", "whoop", "🎉"),
)
_BY_ID: Final = {each.id: each for each in _DEFAULTS}


def list_sounds() -> list[wire.SoundboardSound]:
    """Return all default sounds."""
    return [_sound(each) for each in _DEFAULTS]


def find(sound_id: int) -> wire.SoundboardSound | None:
    """Return a default sound, or None."""
    found = _BY_ID.get(sound_id)
    return None if found is None else _sound(found)


def find_file(tx: Tx, sound_id: int) -> str | bytes | None:
    """Return the file of a sound: the storage key of a guild's sound, the bytes of a default sound, or None."""
    default = _BY_ID.get(sound_id)
    if default is not None:
        return _read(default.file)
    row = SOUNDS.table.find(tx, sound_id)
    return None if row is None else cdn_urls.sound_key(row.file)


def _sound(default: _Default) -> wire.SoundboardSound:
    return wire.SoundboardSound(
        name=default.name,
        sound_id=SoundId(default.id),
        volume=1.0,
        emoji_id=None,
        emoji_name=default.emoji,
        available=True,
    )


@cache
def _read(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()
