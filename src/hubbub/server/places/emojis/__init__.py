"""Custom emojis of guilds and applications."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications import ApplicationDeleting
from hubbub.server.places.emojis import actions, routes, store
from hubbub.server.places.emojis.rules import require_use
from hubbub.server.places.emojis.signals import EmojiDeleted
from hubbub.server.places.emojis.store import EmojiRow, find
from hubbub.server.places.emojis.unicode import VARIATION, is_unicode
from hubbub.server.places.emojis.views import of_guild, partial
from hubbub.server.places.roles import RoleDeleted

SLICE = Slice(
    name="emojis",
    modules=(routes,),
    listeners={RoleDeleted: actions.role_deleted, ApplicationDeleting: actions.application_deleting},
    assets={"emojis": store.find_file},
)

__all__ = [
    "SLICE",
    "VARIATION",
    "EmojiDeleted",
    "EmojiRow",
    "find",
    "is_unicode",
    "of_guild",
    "partial",
    "require_use",
]
