"""Settings of forum and media channels: tags and default reactions."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.ids import EmojiId, TagId

FORUM_TAG_NAME_MAX: Final = 20
FORUM_EMOJI_NAME_MAX: Final = 100

UnicodeEmoji = Annotated[str, Meta(max_length=FORUM_EMOJI_NAME_MAX)]
"""A Unicode emoji of a tag or default reaction; it can consist of many characters."""


class ForumTag(Struct, kw_only=True):
    """A tag that can be applied to posts of a forum or media channel."""

    id: TagId
    """ID of the tag."""
    name: str
    """Name of the tag, at most 20 characters."""
    moderated: bool
    """Whether only members with MANAGE_THREADS may apply or remove the tag."""
    emoji_id: EmojiId | None
    """ID of the tag's custom emoji; null if the tag has none."""
    emoji_name: str | None
    """Unicode emoji of the tag; null if the tag has none."""


class DefaultReaction(Struct, kw_only=True):
    """Emoji offered as the first reaction on each post of a forum or media channel."""

    emoji_id: EmojiId | None
    """ID of the custom emoji; null for a Unicode emoji."""
    emoji_name: str | None
    """Unicode emoji; null for a custom emoji."""


class ForumTagRequest(Struct, kw_only=True):
    """A tag to create, or to update if it has an ID."""

    name: Annotated[str, Meta(max_length=FORUM_TAG_NAME_MAX)]
    """Name of the tag, at most 20 characters."""
    id: TagId | None | UnsetType = UNSET
    """ID of an existing tag of the channel to update; absent, null or any other ID creates a tag."""
    moderated: bool | None | UnsetType = UNSET
    """Whether only members with MANAGE_THREADS may apply or remove the tag; false if absent or null."""
    emoji_id: EmojiId | None | UnsetType = UNSET
    """ID of a custom emoji of the guild; absent or null for none. Cannot be combined with `emoji_name`."""
    emoji_name: UnicodeEmoji | None | UnsetType = UNSET
    """Unicode emoji; absent or null for none. Cannot be combined with `emoji_id`."""


class DefaultReactionRequest(Struct, kw_only=True):
    """Emoji to offer as the first reaction; exactly one of `emoji_id` and `emoji_name` is set."""

    emoji_id: EmojiId | None | UnsetType = UNSET
    """ID of a custom emoji of the guild; absent or null for a Unicode emoji."""
    emoji_name: UnicodeEmoji | None | UnsetType = UNSET
    """Unicode emoji; absent or null for a custom emoji."""
