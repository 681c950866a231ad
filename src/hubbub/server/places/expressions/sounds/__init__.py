"""Soundboard sounds of guilds, and the default sounds."""

from hubbub.server.places.expressions.kinds import SOUNDS
from hubbub.server.places.expressions.sounds.defaults import find_file

list_of_guild = SOUNDS.list_of_guild

__all__ = ["find_file", "list_of_guild"]
