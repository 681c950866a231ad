"""Stored messages, and the inputs for creating them."""

from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, MessageId, RoleId, Snowflake, UserId
from hubbub.protocol.resources.components import Component
from hubbub.protocol.resources.embeds import Embed
from hubbub.protocol.resources.messages import (
    MessageActivity,
    MessageApplication,
    MessageCall,
    MessageReference,
    SharedClientTheme,
)
from hubbub.protocol.resources.polls import Poll
from hubbub.protocol.resources.stickers import StickerItem
from hubbub.server.identity import users
from hubbub.server.places import members
from hubbub.server.talk.attachments import StoredAttachment


class MessageRow(NamedTuple):
    """A stored message. Columns that most messages lack are None; JSON is decoded only when needed."""

    channel_id: int
    id: int
    author_id: int
    type: int
    flags: int
    content: str
    tts: int = 0
    edited_ms: int | None = None
    pinned_ms: int | None = None
    mention_everyone: int = 0
    mentions: str | None = None
    """JSON list of mentioned user IDs."""
    mention_roles: str | None = None
    """JSON list of mentioned role IDs."""
    attachments: str | None = None
    """JSON list of StoredAttachment."""
    embeds: str | None = None
    """JSON list of Embed; `attachment://` URLs are resolved when the message is shown."""
    components: str | None = None
    """JSON list of validated components, each with an ID."""
    reference: str | None = None
    """JSON of a MessageReference."""
    snapshots: str | None = None
    """JSON list of StoredSnapshot."""
    webhook_id: int | None = None
    application_id: int | None = None
    reacted: int = 0
    """Whether the message has reactions to load."""
    extra: str | None = None
    """JSON of the `ExtraFields`."""

    @property
    def is_plain(self) -> bool:
        """Whether the message has content only; its type and flags are not considered."""
        return self[_TTS_INDEX:] == _PLAIN_COLUMNS

    @property
    def is_plain_response(self) -> bool:
        """Whether the message has content only, apart from its type, flags, webhook, application and rarely used fields."""
        return self[_TTS_INDEX:_WEBHOOK_ID_INDEX] == _PLAIN_RESPONSE_COLUMNS and not self.reacted

    @property
    def created_ms(self) -> int:
        """Creation time in Unix milliseconds."""
        return Snowflake(self.id).created_ms

    @property
    def has_poll(self) -> bool:
        """Whether the message may have a poll, whose votes must be loaded.

        The JSON is searched instead of decoded, so a metadata key "poll" also counts."""
        return self.extra is not None and '"poll":' in self.extra

    @property
    def is_user_authored(self) -> bool:
        """Whether the author is a user, including bots.

        The name and avatar of a webhook are stored with the message instead. The JSON is searched instead of decoded: messages
        of webhooks have no metadata, so the key can only be that of the webhook's identity."""
        return self.webhook_id is None or self.extra is None or '"author":' not in self.extra

    @property
    def is_ephemeral(self) -> bool:
        """Whether the message is ephemeral; ephemeral messages are stored in their own table."""
        return bool(self.flags & MessageFlags.EPHEMERAL)


_TTS_INDEX: Final = MessageRow._fields.index("tts")
_WEBHOOK_ID_INDEX: Final = MessageRow._fields.index("webhook_id")
_PLAIN_COLUMNS: Final = MessageRow(0, 0, 0, 0, 0, "")[_TTS_INDEX:]
"""Columns from `tts` on of a message that has content only."""
_PLAIN_RESPONSE_COLUMNS: Final = MessageRow(0, 0, 0, 0, 0, "")[_TTS_INDEX:_WEBHOOK_ID_INDEX]
"""Columns from `tts` to `snapshots` of a message that has content only."""


HistoryRow = tuple[int, int, str, int]
"""ID, author ID and content of a message, and 1 if these suffice to show it, otherwise 0.

They suffice if the message consists of content only and its type and flags are 0. A plain tuple, because a page of history
has many rows."""


class StoredSnapshot(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A forwarded message as it was when it was forwarded.

    Stored as JSON: add fields with a default, never rename."""

    channel_id: ChannelId
    """ID of the original channel, used for attachment URLs."""
    message_id: MessageId
    """ID of the original message."""
    author_id: UserId
    """ID of the original author; it is never shown, but decides which apps may read the snapshot."""
    type: int = 0
    flags: int = 0
    content: str = ""
    edited_ms: int | None = None
    mentions: list[UserId] = []
    mention_roles: list[RoleId] = []
    attachments: list[StoredAttachment] = []
    embeds: list[Embed] = []
    components: list[Component] = []
    sticker_items: list[StickerItem] = []


class WebhookIdentity(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The name and avatar that a webhook used for a message.

    Stored as JSON: add fields with a default, never rename."""

    username: str
    avatar: str | None = None


class StoredInteraction(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The interaction that a message responds to.

    Stored as JSON: add fields with a default, never rename."""

    id: Snowflake
    type: int
    user_id: UserId
    owners: dict[str, Snowflake] = {}
    """IDs of the guild and user that installed the application, by installation context."""
    name: str | None = None
    """Name of the command with its subcommands; set only on responses to commands."""
    original_id: MessageId | None = None
    """ID of the original response; set on follow-ups."""
    target_user_id: UserId | None = None
    """ID of the target of a user command, otherwise None."""
    target_message_id: MessageId | None = None
    """ID of the target of a message command, otherwise None."""
    interacted_message_id: MessageId | None = None
    """ID of the message whose component was used, otherwise None."""
    triggering: "StoredInteraction | None" = None
    """The interaction that opened the submitted modal, otherwise None."""


class InteractionResponse(NamedTuple):
    """Properties of a new message that is an interaction response."""

    interaction: StoredInteraction
    message_type: int = 0
    """Type of the new message."""
    reference: MessageReference | None = None
    flags: int = 0
    """LOADING for a deferred response, EPHEMERAL for a response visible only to `seen_by`."""
    seen_by: tuple[int, ...] = ()
    """IDs of the users who can see an ephemeral response."""
    invoker: "Author | None" = None
    """The invoking user, or None if not loaded."""
    invoker_role_ids: tuple[RoleId, ...] | None = None
    """The invoking user's roles, or None if not loaded."""

    @property
    def may_be_empty(self) -> bool:
        """Whether the message may be empty because it is deferred or its type implies its content."""
        return bool(self.flags & MessageFlags.LOADING) or self.message_type == MessageType.INTERACTION_PREMIUM_UPSELL


class ExtraFields(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Rarely used fields of a message.

    Stored as JSON: add fields with a default, never rename."""

    position: int | None = None
    """Approximate position in the thread."""
    sticker_items: list[StickerItem] = []
    poll: Poll | None = None
    shared_client_theme: SharedClientTheme | None = None
    author: WebhookIdentity | None = None
    """Name and avatar of a webhook message; its author ID is the webhook ID."""
    interaction: StoredInteraction | None = None
    """The interaction that the message responds to; None for other messages."""
    seen_by: list[UserId] = []
    """IDs of the users who can see an ephemeral message."""
    metadata: dict[str, str] = {}
    """Metadata set by the sending application, delivered to OAuth2 sessions."""
    activity: MessageActivity | None = None
    """The activity that the message invites to."""
    application: MessageApplication | None = None
    """The application of `activity`."""
    call: MessageCall | None = None
    """The voice call that a system message is about."""
    has_shared_files: bool = msgspec.field(default=False, name="shared")
    """Whether other messages use the message's files, so that the files remain when the message is deleted."""


class ApplicationOrigin(NamedTuple):
    """Properties of a new message that an application sends for its user."""

    application_id: int
    metadata: dict[str, str] = {}
    activity: MessageActivity | None = None
    application: MessageApplication | None = None
    lobby_message_row: tuple[Any, ...] | None = None
    """Row of the lobby message that this message is a copy of; passed back with `MessageCreated`. None for other messages."""


class Author(NamedTuple):
    """The author of a new message, and the guild settings that apply to them."""

    user: users.UserRow
    """The user, with the columns of `users.PUBLIC_FIELDS` only."""
    member: members.MemberRow | None
    """The membership, with the columns of `members.VIEW_COLUMNS` only; None if the author is not a member."""
    verification_level: int
    premium_tier: int
    webhook_id: int | None = None
    """ID of the webhook; if it equals the user's ID, name and avatar are stored with the message."""
    application_id: int | None = None
    """ID of the application that owns the webhook."""
    moderation_rule_bits: int = 0
    """Bits `CHECKS_MESSAGES` and `CHECKS_MEMBERS` of the guild's enabled auto moderation rules; 0 if there are none."""
    is_bot_response: bool = False
    """For interaction responses: whether the app's bot is the author, regardless of the webhook ID."""
    invoker_premium_type: int = 0
    """For interaction responses: the invoking user's premium type, which sets the file size limit (spec/http.md#1.11)."""


class ReactionCountRow(NamedTuple):
    """The count of one emoji's reactions on one message, and the viewer's own reactions."""

    message_id: int
    emoji_id: int | None
    emoji_name: str
    animated: int
    normal_count: int
    burst_count: int
    is_mine: int
    """1 if the viewer reacted with the emoji, otherwise 0."""
    is_mine_burst: int
    """1 if the viewer reacted with a burst of the emoji, otherwise 0."""
