"""Guilds: creation, settings, features and deletion."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.guilds import ports, routes
from hubbub.server.places.guilds.actions import create, delete, publish_update, set_tier_and_features, update
from hubbub.server.places.guilds.initial_contents import InitialContents, default_contents
from hubbub.server.places.guilds.rules import (
    clean_name,
    guilds_max,
    reject_guild_owner,
    require_creation,
    require_image_features,
)
from hubbub.server.places.guilds.signals import FeaturesRemoved, GuildDeleted
from hubbub.server.places.guilds.store import (
    GuildRow,
    NewChannel,
    NewOverwrite,
    adjust_member_count,
    clear_channel_references,
    count_of_user,
    count_online,
    find,
    find_many,
    is_member,
    list_ids_of_user,
    list_member_ids,
    set_moderation_rule_bits,
    with_feature,
)
from hubbub.server.places.guilds.views import guild

SLICE = Slice(name="guilds", modules=(routes, ports))

__all__ = [
    "SLICE",
    "FeaturesRemoved",
    "InitialContents",
    "GuildDeleted",
    "GuildRow",
    "NewChannel",
    "NewOverwrite",
    "publish_update",
    "update",
    "clean_name",
    "count_of_user",
    "count_online",
    "create",
    "delete",
    "find",
    "find_many",
    "set_tier_and_features",
    "guild",
    "guilds_max",
    "list_ids_of_user",
    "is_member",
    "list_member_ids",
    "ports",
    "reject_guild_owner",
    "require_creation",
    "require_image_features",
    "default_contents",
    "with_feature",
    "adjust_member_count",
    "clear_channel_references",
    "set_moderation_rule_bits",
]
