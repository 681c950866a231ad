"""Stickers of guilds and of the standard pack."""

from hubbub.server.places.expressions.kinds import STICKERS
from hubbub.server.places.expressions.stickers.packs import find_file
from hubbub.server.places.expressions.stickers.rules import require_sendable

list_of_guild = STICKERS.list_of_guild

__all__ = ["find_file", "list_of_guild", "require_sendable"]
