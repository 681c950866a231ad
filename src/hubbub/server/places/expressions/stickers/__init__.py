"""Stickers of guilds and of the standard pack."""

from hubbub.server.places.expressions.kinds import STICKERS
from hubbub.server.places.expressions.stickers.lottie import is_animation
from hubbub.server.places.expressions.stickers.packs import find_file
from hubbub.server.places.expressions.stickers.rules import require_sendable

list_guild_stickers = STICKERS.list_guild_expressions

__all__ = ["find_file", "is_animation", "list_guild_stickers", "require_sendable"]
