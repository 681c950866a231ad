"""Installations: install authorized applications in guilds on behalf of the authorizing user."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import ApplicationDeleting
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.installations import actions, rules
from hubbub.server.resources.members import MemberRemoved
from hubbub.server.resources.oauth2 import InstallableGuildsRequested, InstallationRequested, WebhookRequested

SLICE = Slice(
    name="installations",
    modules=(),
    listeners={
        InstallableGuildsRequested: rules.fill_installable_guilds,
        InstallationRequested: actions.install,
        WebhookRequested: actions.create_webhook,
        MemberRemoved: actions.member_removed,
        GuildDeleted: actions.guild_deleted,
        ApplicationDeleting: actions.application_deleting,
    },
)

__all__ = ["SLICE"]
