"""The soundboard: short sounds that members play in voice channels."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.emojis import EmojiDeleted
from hubbub.server.places.soundboard import actions, commands, routes
from hubbub.server.places.soundboard.defaults import find_file
from hubbub.server.places.soundboard.store import SoundRow, find
from hubbub.server.places.soundboard.views import list_of_guild

SLICE = Slice(
    name="soundboard",
    modules=(routes, commands),
    listeners={EmojiDeleted: actions.on_emoji_deleted},
    assets={"soundboard-sounds": find_file},
)

__all__ = ["SLICE", "SoundRow", "find", "list_of_guild"]
