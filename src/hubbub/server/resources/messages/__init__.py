"""Messages: user and system messages of all channel types."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.bans import MemberBanned
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.members import MemberAdded
from hubbub.server.resources.messages import actions, harvesting, jobs, routes, stages, views, welcomes
from hubbub.server.resources.messages.actions import (
    EPHEMERAL_MS,
    audience,
    change,
    delete,
    delete_of_user_since,
    set_pinned,
)
from hubbub.server.resources.messages.component_fields import ENTITIES, SELECTS
from hubbub.server.resources.messages.components import INTERACTIVE, check_modal, is_required
from hubbub.server.resources.messages.components import each as each_component
from hubbub.server.resources.messages.components import texts as component_texts
from hubbub.server.resources.messages.drafts import file_bytes_max, require_emojis
from hubbub.server.resources.messages.editing import edit, fill, set_flags
from hubbub.server.resources.messages.facts import (
    DirectMessageDrafted,
    MessageChanged,
    MessageCreated,
    MessageCrossposted,
    MessageDrafted,
    MessageFilled,
    MessagePinned,
    MessagesDeleted,
    SkusNamed,
)
from hubbub.server.resources.messages.records import Author, Extra, FromGame, Interacted, MessageRow, Response
from hubbub.server.resources.messages.rows import encode_extra, is_enforced, nonce_of, said_before
from hubbub.server.resources.messages.rules import SAID, SPOKEN_IN, can_read_history, require_send
from hubbub.server.resources.messages.saying import CARRIED_FLAGS, copy, create, system
from hubbub.server.resources.messages.store import (
    AUTHOR_WIDTH,
    AUTHORS_GUILD,
    author_columns,
    change_author,
    find,
    find_author,
    find_ephemeral,
    find_many,
    find_two_authors,
    following,
    get,
    newest,
    prolong_ephemeral,
    read_author,
    recipients,
    set_reacted,
)
from hubbub.server.resources.stage_instances import StageSaid

SLICE = Slice(
    name="messages",
    modules=(routes, harvesting),
    jobs={jobs.FORGET_CHANNEL: jobs.forget_channel, jobs.FORGET_FILES: jobs.forget_files},
    hears={
        MemberAdded: welcomes.member_added,
        MemberBanned: actions.member_banned,
        ChannelsDeleted: jobs.channels_deleted,
        StageSaid: stages.hear,
    },
)

__all__ = [
    "AUTHORS_GUILD",
    "AUTHOR_WIDTH",
    "CARRIED_FLAGS",
    "ENTITIES",
    "EPHEMERAL_MS",
    "Extra",
    "FromGame",
    "INTERACTIVE",
    "SAID",
    "SELECTS",
    "SLICE",
    "SPOKEN_IN",
    "Author",
    "Interacted",
    "DirectMessageDrafted",
    "MessageChanged",
    "MessageCreated",
    "MessageCrossposted",
    "MessageDrafted",
    "MessageFilled",
    "MessagePinned",
    "MessageRow",
    "MessagesDeleted",
    "Response",
    "SkusNamed",
    "audience",
    "author_columns",
    "change",
    "change_author",
    "can_read_history",
    "check_modal",
    "component_texts",
    "copy",
    "create",
    "delete",
    "delete_of_user_since",
    "each_component",
    "edit",
    "encode_extra",
    "file_bytes_max",
    "fill",
    "find",
    "find_author",
    "find_two_authors",
    "find_ephemeral",
    "find_many",
    "following",
    "get",
    "is_enforced",
    "is_required",
    "newest",
    "nonce_of",
    "prolong_ephemeral",
    "read_author",
    "recipients",
    "require_emojis",
    "require_send",
    "said_before",
    "set_flags",
    "set_pinned",
    "set_reacted",
    "system",
    "views",
]
