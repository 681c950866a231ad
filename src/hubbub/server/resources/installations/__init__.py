"""Installations: install authorized applications in guilds on behalf of the authorizing user."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import ApplicationDeleting
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.installations import actions, rules
from hubbub.server.resources.members import MemberRemoved
from hubbub.server.resources.oauth2 import GuildsAsked, InstallationAsked, WebhookAsked

SLICE = Slice(
    name="installations",
    modules=(),
    hears={
        GuildsAsked: rules.offer_guilds,
        InstallationAsked: actions.install,
        WebhookAsked: actions.make_webhook,
        MemberRemoved: actions.member_removed,
        GuildDeleted: actions.guild_deleted,
        ApplicationDeleting: actions.application_deleting,
    },
)

__all__ = ["SLICE"]
