"""Rules shared by emojis, stickers and sounds of a guild: permissions and limits."""

from hubbub.server.resources.expressions.rules import knows_makers, require_change, require_create, slots

__all__ = ["knows_makers", "require_change", "require_create", "slots"]
