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

_SOUND_FOLDER: Final = Path(__file__).with_name("default")


class _DefaultSound(NamedTuple):
    id: int
    file: str
    """Name of the file in `_SOUND_FOLDER`."""
    name: str
    emoji: str
    """Unicode emoji."""


_DEFAULT_SOUNDS: Final = (
    _DefaultSound(1, "bell.ogg", "bell", "🔔"),
    _DefaultSound(2, "clap.ogg", "clap", "👏"),
    _DefaultSound(3, "fanfare.ogg", "fanfare", "🎺"),
    _DefaultSound(4, "knock.ogg", "knock", "🚪"),
    _DefaultSound(5, "sad.ogg", "sad", "😢"),
    _DefaultSound(6, "whoop.ogg", "whoop", "🎉"),
)
_DEFAULT_SOUNDS_BY_ID: Final = {sound.id: sound for sound in _DEFAULT_SOUNDS}


def list_sounds() -> list[wire.SoundboardSound]:
    return [_sound_view(default_sound) for default_sound in _DEFAULT_SOUNDS]


def find(sound_id: int) -> wire.SoundboardSound | None:
    default_sound = _DEFAULT_SOUNDS_BY_ID.get(sound_id)
    return None if default_sound is None else _sound_view(default_sound)


def find_file(tx: Tx, sound_id: int) -> str | bytes | None:
    """Return the file of a sound: the storage key of a guild's sound, the bytes of a default sound, or None."""
    default_sound = _DEFAULT_SOUNDS_BY_ID.get(sound_id)
    if default_sound is not None:
        return _read_file(default_sound.file)
    row = SOUNDS.table.find(tx, sound_id)
    return None if row is None else cdn_urls.sound_key(row.file)


def _sound_view(default_sound: _DefaultSound) -> wire.SoundboardSound:
    return wire.SoundboardSound(
        name=default_sound.name,
        sound_id=SoundId(default_sound.id),
        volume=1.0,
        emoji_id=None,
        emoji_name=default_sound.emoji,
        available=True,
    )


@cache
def _read_file(file_name: str) -> bytes:
    return (_SOUND_FOLDER / file_name).read_bytes()
