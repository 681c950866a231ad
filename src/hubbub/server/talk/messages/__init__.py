"""Messages: user and system messages of all channel types."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.bans import MemberBanned
from hubbub.server.places.channels import ChannelsDeleted
from hubbub.server.places.members import MemberAdded
from hubbub.server.places.stage_instances import StageMessageRequested
from hubbub.server.talk.messages import actions, data_export, jobs, routes, stage_messages, views, welcome_messages
from hubbub.server.talk.messages.actions import (
    EPHEMERAL_MS,
    audience,
    delete,
    delete_by_author_since,
    set_pinned,
    update,
)
from hubbub.server.talk.messages.component_fields import SELECT_ENTITIES, SELECT_TYPES
from hubbub.server.talk.messages.components import INTERACTIVE_TYPES, check_modal, is_required
from hubbub.server.talk.messages.components import iterate as each_component
from hubbub.server.talk.messages.components import text_contents as component_texts
from hubbub.server.talk.messages.creation import CROSSPOST_FLAGS, create, create_crosspost, create_system_message
from hubbub.server.talk.messages.drafts import file_bytes_max, require_emojis
from hubbub.server.talk.messages.edits import complete_deferred, edit, set_flags
from hubbub.server.talk.messages.records import (
    ApplicationOrigin,
    Author,
    Extra,
    InteractionResponse,
    MessageRow,
    StoredInteraction,
)
from hubbub.server.talk.messages.row_building import encode_extra, find_by_nonce, is_nonce_enforced, parse_nonce
from hubbub.server.talk.messages.rules import (
    MESSAGE_CHANNEL_TYPES,
    USER_MESSAGE_TYPES,
    can_read_history,
    require_send,
)
from hubbub.server.talk.messages.signals import (
    DeferredMessageCompleted,
    DirectMessageDrafted,
    MessageChanged,
    MessageCreated,
    MessageCrossposted,
    MessageDrafted,
    MessagePinned,
    MessagesDeleted,
    SkusReferenced,
)
from hubbub.server.talk.messages.store import (
    AUTHOR_GUILD_COLUMNS,
    AUTHOR_WIDTH,
    author_columns,
    extend_ephemeral,
    find,
    find_author,
    find_ephemeral,
    find_many,
    find_two_authors,
    get,
    list_after,
    list_newest,
    read_author,
    reassign_author,
    recipients,
    set_reacted,
)

SLICE = Slice(
    name="messages",
    modules=(routes, data_export),
    jobs={jobs.DELETE_CHANNEL_MESSAGES: jobs.delete_channel_messages, jobs.DELETE_FILES: jobs.delete_files},
    listeners={
        MemberAdded: welcome_messages.member_added,
        MemberBanned: actions.member_banned,
        ChannelsDeleted: jobs.channels_deleted,
        StageMessageRequested: stage_messages.create_stage_message,
    },
)

__all__ = [
    "AUTHOR_GUILD_COLUMNS",
    "AUTHOR_WIDTH",
    "CROSSPOST_FLAGS",
    "SELECT_ENTITIES",
    "EPHEMERAL_MS",
    "Extra",
    "ApplicationOrigin",
    "INTERACTIVE_TYPES",
    "USER_MESSAGE_TYPES",
    "SELECT_TYPES",
    "SLICE",
    "MESSAGE_CHANNEL_TYPES",
    "Author",
    "StoredInteraction",
    "DirectMessageDrafted",
    "MessageChanged",
    "MessageCreated",
    "MessageCrossposted",
    "MessageDrafted",
    "DeferredMessageCompleted",
    "MessagePinned",
    "MessageRow",
    "MessagesDeleted",
    "InteractionResponse",
    "SkusReferenced",
    "audience",
    "author_columns",
    "update",
    "reassign_author",
    "can_read_history",
    "check_modal",
    "component_texts",
    "create_crosspost",
    "create",
    "delete",
    "delete_by_author_since",
    "each_component",
    "edit",
    "encode_extra",
    "file_bytes_max",
    "complete_deferred",
    "find",
    "find_author",
    "find_two_authors",
    "find_ephemeral",
    "find_many",
    "list_after",
    "get",
    "is_nonce_enforced",
    "is_required",
    "list_newest",
    "parse_nonce",
    "extend_ephemeral",
    "read_author",
    "recipients",
    "require_emojis",
    "require_send",
    "find_by_nonce",
    "set_flags",
    "set_pinned",
    "set_reacted",
    "create_system_message",
    "views",
]
