"""Installations: install authorized applications in guilds on behalf of the authorizing user."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications import ApplicationDeleting
from hubbub.server.identity.oauth2 import InstallableGuildsRequested, InstallationRequested, WebhookRequested
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.places.members import MemberRemoved
from hubbub.server.talk.installations import actions, rules

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
