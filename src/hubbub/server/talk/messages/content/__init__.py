"""The content of messages: drafts, embeds, components, mentions, links, files, references and rows.

Nothing here accesses the store."""

from hubbub.server.talk.messages.content.links import find_links, split_previews
from hubbub.server.talk.messages.content.records import ApplicationOrigin, InteractionResponse, StoredInteraction
from hubbub.server.talk.messages.content.rich_content.components import (
    INTERACTIVE_TYPES,
    is_required,
    text_contents,
    validate_modal_components,
    walk_components,
)
from hubbub.server.talk.messages.content.rows import build_application_row, encode_extra

__all__ = [
    "INTERACTIVE_TYPES",
    "ApplicationOrigin",
    "InteractionResponse",
    "StoredInteraction",
    "build_application_row",
    "encode_extra",
    "find_links",
    "is_required",
    "split_previews",
    "text_contents",
    "validate_modal_components",
    "walk_components",
]
"""The interface for other slices."""
