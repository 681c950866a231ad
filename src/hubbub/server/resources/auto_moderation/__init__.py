"""Auto moderation: rules of a guild about message content and member profiles, and their actions."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources import audit_log, guilds, members, messages, threads, users
from hubbub.server.resources.auto_moderation import jobs, listeners, routes
from hubbub.server.resources.auto_moderation.actions import REVIEW_JOB

SLICE = Slice(
    name="auto_moderation",
    modules=(routes,),
    jobs={REVIEW_JOB: jobs.review},
    hears={
        messages.MessageDrafted: listeners.hear_message,
        threads.TitleDrafted: listeners.hear_title,
        members.MemberAdded: listeners.hear_joined,
        members.MemberRenamed: listeners.hear_renamed,
        users.UserChanged: listeners.hear_user,
        guilds.NamesDrafted: listeners.hear_names,
        guilds.GuildDeleted: listeners.hear_guild_deleted,
        audit_log.AuditLogRead: listeners.hear_audit_log,
    },
)

__all__ = ["SLICE"]
