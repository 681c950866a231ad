"""Messages: what people say, and what the platform says of their deeds."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.bans import MemberBanned
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.messages import actions, jobs, routes, views
from hubbub.server.resources.messages.actions import (
    CARRIED_FLAGS,
    audience,
    change,
    copy,
    create,
    delete,
    delete_of_user_since,
    edit,
    set_flags,
    set_pinned,
    system,
)
from hubbub.server.resources.messages.components import texts as component_texts
from hubbub.server.resources.messages.facts import (
    MessageChanged,
    MessageCreated,
    MessageCrossposted,
    MessageDrafted,
    MessagePinned,
    MessagesDeleted,
)
from hubbub.server.resources.messages.rules import SAID, require_send
from hubbub.server.resources.messages.store import Author, MessageRow, find, find_many, following, get, set_reacted

SLICE = Slice(
    name="messages",
    modules=(routes,),
    jobs={jobs.FORGET_CHANNEL: jobs.forget_channel},
    hears={MemberBanned: actions.member_banned, ChannelsDeleted: jobs.channels_deleted},
)

__all__ = [
    "CARRIED_FLAGS",
    "SAID",
    "SLICE",
    "Author",
    "MessageChanged",
    "MessageCreated",
    "MessageCrossposted",
    "MessageDrafted",
    "MessagePinned",
    "MessageRow",
    "MessagesDeleted",
    "audience",
    "change",
    "component_texts",
    "copy",
    "create",
    "delete",
    "delete_of_user_since",
    "edit",
    "find",
    "find_many",
    "following",
    "get",
    "require_send",
    "set_flags",
    "set_pinned",
    "set_reacted",
    "system",
    "views",
]
