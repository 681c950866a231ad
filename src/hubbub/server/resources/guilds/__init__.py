"""Guilds: creation, settings, features and deletion."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.guilds import routes, rules
from hubbub.server.resources.guilds.actions import announce, change, create, delete, grant
from hubbub.server.resources.guilds.facts import FeaturesLost, GuildDeleted, MemberLeft, NamesDrafted
from hubbub.server.resources.guilds.founding import Founding, usual
from hubbub.server.resources.guilds.rules import clean_name, guilds_max, require_creation, require_picture
from hubbub.server.resources.guilds.store import (
    GuildRow,
    NewChannel,
    NewOverwrite,
    count_of_user,
    count_present,
    find,
    find_many,
    ids_of_user,
    is_member,
    member_ids,
    with_feature,
)
from hubbub.server.resources.guilds.views import guild
from hubbub.server.resources.users import UserDeletionAsked

SLICE = Slice(name="guilds", modules=(routes,), hears={UserDeletionAsked: rules.require_no_guild})

__all__ = [
    "SLICE",
    "FeaturesLost",
    "Founding",
    "GuildDeleted",
    "GuildRow",
    "MemberLeft",
    "NamesDrafted",
    "NewChannel",
    "NewOverwrite",
    "announce",
    "change",
    "clean_name",
    "count_of_user",
    "count_present",
    "create",
    "delete",
    "find",
    "find_many",
    "grant",
    "guild",
    "guilds_max",
    "ids_of_user",
    "is_member",
    "member_ids",
    "require_creation",
    "require_picture",
    "usual",
    "with_feature",
]
