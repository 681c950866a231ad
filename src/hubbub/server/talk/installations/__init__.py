"""Installations of authorized applications and their webhooks in guilds, on behalf of the authorizing user."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.members.signals import MemberRemoved
from hubbub.server.talk.installations import actions
from hubbub.server.talk.installations.actions import (
    check_webhook_channel,
    create_webhook,
    find_installed_guild,
    install,
)
from hubbub.server.talk.installations.rules import list_guilds_to_install_in, require_grantable_permissions

SLICE = Slice(
    name="installations",
    modules=(),
    listeners={
        MemberRemoved: actions.on_member_removed,
        GuildDeleting: actions.on_guild_deleting,
        ApplicationDeleting: actions.on_application_deleting,
    },
)

__all__ = [
    "SLICE",
    "check_webhook_channel",
    "create_webhook",
    "find_installed_guild",
    "install",
    "list_guilds_to_install_in",
    "require_grantable_permissions",
]
