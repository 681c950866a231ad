"""Creation and import of guilds, their initial contents, and the checks before the creation, for other slices."""

from hubbub.server.places.guilds.actions import complete_import, create
from hubbub.server.places.guilds.contents.initial_contents import InitialContents
from hubbub.server.places.guilds.rules import clean_name, require_can_create, require_image_features
from hubbub.server.places.guilds.signals import GuildImported
from hubbub.server.places.guilds.store import NewChannel, NewOverwrite

__all__ = [
    "GuildImported",
    "InitialContents",
    "NewChannel",
    "NewOverwrite",
    "clean_name",
    "complete_import",
    "create",
    "require_can_create",
    "require_image_features",
]
