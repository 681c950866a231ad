"""Soundboard sounds of guilds, and the default sounds."""

from hubbub.server.places.expressions.kinds import SOUNDS
from hubbub.server.places.expressions.sounds.defaults import find_file

list_guild_sounds = SOUNDS.list_guild_expressions

__all__ = ["find_file", "list_guild_sounds"]
