"""What emoji, stickers and sounds of a guild have in common: who may make, change and know the makers of them, and how many fit."""

from hubbub.server.resources.expressions.rules import knows_makers, require_change, require_create, slots

__all__ = ["knows_makers", "require_change", "require_create", "slots"]
