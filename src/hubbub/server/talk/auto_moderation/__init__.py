"""Auto moderation: rules of a guild about message content and member profiles, and their actions."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity import users
from hubbub.server.places import audit_log, guilds, members
from hubbub.server.talk import messages, threads
from hubbub.server.talk.auto_moderation import jobs, listeners, routes
from hubbub.server.talk.auto_moderation.actions import REVIEW_JOB

SLICE = Slice(
    name="auto_moderation",
    modules=(routes,),
    jobs={REVIEW_JOB: jobs.review},
    listeners={
        messages.MessageDrafted: listeners.check_message,
        threads.TitleDrafted: listeners.check_title,
        members.MemberAdded: listeners.check_new_member,
        members.MemberRenamed: listeners.check_renamed_member,
        users.UserChanged: listeners.check_changed_user,
        guilds.NamesDrafted: listeners.check_names,
        guilds.GuildDeleted: listeners.guild_deleted,
        audit_log.AuditLogRead: listeners.add_rules_to_audit_log,
    },
)

__all__ = ["SLICE"]
