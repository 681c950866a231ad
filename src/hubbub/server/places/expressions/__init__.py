"""Expressions: emojis, stickers and sounds.

The modules of this package contain what the three kinds share; each kind has a package with its handlers and rules."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.places.expressions import actions, emojis, sounds, stickers
from hubbub.server.places.expressions.actions import delete_guild_expressions, export_data
from hubbub.server.places.expressions.archive import ARCHIVE
from hubbub.server.places.expressions.emojis import routes as emoji_routes
from hubbub.server.places.expressions.signals import EmojiDeleted
from hubbub.server.places.expressions.sounds import routes as sound_routes
from hubbub.server.places.expressions.stickers import routes as sticker_routes
from hubbub.server.places.roles import RoleDeleted

SLICE = Slice(
    name="expressions",
    archive=ARCHIVE,
    modules=(emoji_routes, sticker_routes, sound_routes),
    tags={emoji_routes: "emojis", sticker_routes: "stickers", sound_routes: "soundboard"},
    listeners={
        ApplicationDeleting: actions.on_application_deleting,
        EmojiDeleted: actions.on_emoji_deleted,
        RoleDeleted: actions.on_role_deleted,
    },
    assets={
        "emojis": emojis.find_file,
        "stickers": stickers.find_file,
        "soundboard-sounds": sounds.find_file,
    },
)

__all__ = ["SLICE", "delete_guild_expressions", "emojis", "export_data", "sounds", "stickers"]
