"""Messages: user and system messages of all channel types."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.bans import MemberBanned
from hubbub.server.places.channels.signals import ChannelsDeleted
from hubbub.server.places.members.signals import MemberAdded
from hubbub.server.talk.messages import actions, data_export, jobs, ports, routes, system_messages, views
from hubbub.server.talk.messages.actions import (
    EPHEMERAL_LIFETIME_MS,
    audience,
    delete,
    set_pinned,
    update,
)
from hubbub.server.talk.messages.content.components import INTERACTIVE_TYPES, is_required, validate_modal_components
from hubbub.server.talk.messages.content.components import text_contents as component_texts
from hubbub.server.talk.messages.content.components import walk_components as each_component
from hubbub.server.talk.messages.content.records import (
    ApplicationOrigin,
    Author,
    InteractionResponse,
    MessageRow,
    StoredInteraction,
)
from hubbub.server.talk.messages.content.rows import build_application_row, encode_extra
from hubbub.server.talk.messages.creation import CROSSPOST_FLAGS, create, create_crosspost
from hubbub.server.talk.messages.edits import complete_deferred, edit, set_flags
from hubbub.server.talk.messages.nonces import find_duplicate
from hubbub.server.talk.messages.ports import MessageDraft
from hubbub.server.talk.messages.rules import (
    MESSAGE_CHANNEL_TYPES,
    USER_MESSAGE_TYPES,
    can_read_history,
    has_attachment,
    require_send,
)
from hubbub.server.talk.messages.signals import (
    DeferredMessageCompleted,
    MessageChanged,
    MessageCreated,
    MessageCrossposted,
    MessagePinned,
    MessagesDeleted,
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
    list_recipients,
    read_author,
    reassign_author,
    set_reacted,
)
from hubbub.server.talk.messages.system_messages import create_stage_message, create_system_message
from hubbub.server.talk.messages.validation import file_bytes_max, require_emojis

SLICE = Slice(
    name="messages",
    modules=(routes, data_export, ports),
    jobs={jobs.DELETE_CHANNEL_MESSAGES_JOB: jobs.delete_channel_messages, jobs.DELETE_FILES_JOB: jobs.delete_files},
    listeners={
        MemberAdded: system_messages.on_member_added,
        MemberBanned: actions.on_member_banned,
        ChannelsDeleted: jobs.on_channels_deleted,
    },
)

__all__ = [
    "has_attachment",
    "AUTHOR_GUILD_COLUMNS",
    "AUTHOR_WIDTH",
    "CROSSPOST_FLAGS",
    "EPHEMERAL_LIFETIME_MS",
    "build_application_row",
    "ApplicationOrigin",
    "INTERACTIVE_TYPES",
    "USER_MESSAGE_TYPES",
    "SLICE",
    "MESSAGE_CHANNEL_TYPES",
    "Author",
    "StoredInteraction",
    "MessageChanged",
    "MessageCreated",
    "MessageCrossposted",
    "MessageDraft",
    "DeferredMessageCompleted",
    "MessagePinned",
    "MessageRow",
    "MessagesDeleted",
    "InteractionResponse",
    "audience",
    "author_columns",
    "update",
    "reassign_author",
    "can_read_history",
    "validate_modal_components",
    "component_texts",
    "create_crosspost",
    "create",
    "create_stage_message",
    "delete",
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
    "ports",
    "is_required",
    "list_newest",
    "extend_ephemeral",
    "read_author",
    "list_recipients",
    "require_emojis",
    "require_send",
    "find_duplicate",
    "set_flags",
    "set_pinned",
    "set_reacted",
    "create_system_message",
    "views",
]
