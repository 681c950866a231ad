"""Auto moderation: rules of a guild about message content and member profiles, and their actions."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity import users
from hubbub.server.places import guilds, members
from hubbub.server.talk.auto_moderation import jobs, listeners, routes
from hubbub.server.talk.auto_moderation.actions import REVIEW_JOB
from hubbub.server.talk.auto_moderation.archive import ARCHIVE
from hubbub.server.talk.auto_moderation.listeners import check_message, check_names, check_title, list_referenced

SLICE = Slice(
    name="auto_moderation",
    archive=ARCHIVE,
    modules=(routes,),
    jobs={REVIEW_JOB: jobs.review_quarantined_members},
    listeners={
        members.signals.MemberAdded: listeners.on_member_added,
        members.signals.MemberRenamed: listeners.on_member_renamed,
        users.signals.UserChanged: listeners.on_user_changed,
        guilds.GuildDeleting: listeners.on_guild_deleting,
    },
)

__all__ = ["SLICE", "check_message", "check_names", "check_title", "list_referenced"]
