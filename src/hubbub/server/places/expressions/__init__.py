"""Rules shared by emojis, stickers and sounds of a guild: permissions and limits."""

from hubbub.server.places.expressions.rules import can_see_creators, require_change, require_create, slots

__all__ = ["can_see_creators", "require_change", "require_create", "slots"]
