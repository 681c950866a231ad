"""Messages: user and system messages of all channel types."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.bans import MemberBanned
from hubbub.server.places.channels import ChannelsDeleted
from hubbub.server.places.members import MemberAdded
from hubbub.server.talk.messages import actions, data_export, jobs, ports, routes, views, welcome_messages
from hubbub.server.talk.messages.actions import (
    EPHEMERAL_LIFETIME_MS,
    audience,
    delete,
    delete_by_author_since,
    set_pinned,
    update,
)
from hubbub.server.talk.messages.content.component_fields import SELECT_ENTITIES, SELECT_TYPES
from hubbub.server.talk.messages.content.components import INTERACTIVE_TYPES, is_required, validate_modal_components
from hubbub.server.talk.messages.content.components import text_contents as component_texts
from hubbub.server.talk.messages.content.components import walk_components as each_component
from hubbub.server.talk.messages.content.drafts import Draft, clean_content
from hubbub.server.talk.messages.content.records import (
    ApplicationOrigin,
    Author,
    InteractionResponse,
    MessageRow,
    StoredInteraction,
)
from hubbub.server.talk.messages.content.rows import build_row, encode_extra
from hubbub.server.talk.messages.creation import CROSSPOST_FLAGS, create, create_crosspost, create_system_message
from hubbub.server.talk.messages.edits import complete_deferred, edit, set_flags
from hubbub.server.talk.messages.nonces import find_by_nonce, is_nonce_enforced, parse_nonce
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
from hubbub.server.talk.messages.stage_messages import create_stage_message
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
from hubbub.server.talk.messages.validation import file_bytes_max, require_emojis

SLICE = Slice(
    name="messages",
    modules=(routes, data_export, ports),
    jobs={jobs.DELETE_CHANNEL_MESSAGES_JOB: jobs.delete_channel_messages, jobs.DELETE_FILES_JOB: jobs.delete_files},
    listeners={
        MemberAdded: welcome_messages.on_member_added,
        MemberBanned: actions.on_member_banned,
        ChannelsDeleted: jobs.on_channels_deleted,
    },
)

__all__ = [
    "has_attachment",
    "AUTHOR_GUILD_COLUMNS",
    "AUTHOR_WIDTH",
    "CROSSPOST_FLAGS",
    "SELECT_ENTITIES",
    "EPHEMERAL_LIFETIME_MS",
    "Draft",
    "build_row",
    "clean_content",
    "ApplicationOrigin",
    "INTERACTIVE_TYPES",
    "USER_MESSAGE_TYPES",
    "SELECT_TYPES",
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
    "ports",
    "is_required",
    "list_newest",
    "parse_nonce",
    "extend_ephemeral",
    "read_author",
    "list_recipients",
    "require_emojis",
    "require_send",
    "find_by_nonce",
    "set_flags",
    "set_pinned",
    "set_reacted",
    "create_system_message",
    "views",
]
