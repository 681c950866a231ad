"""What is kept of a message, and what is said with a new one."""

from typing import NamedTuple

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
from hubbub.server.resources import members, users
from hubbub.server.resources.attachments import StoredAttachment


class MessageRow(NamedTuple):
    """A message as we keep it. What most messages lack is None; JSON is decoded only where it is shown."""

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
    """JSON of the mentioned users' ids."""
    mention_roles: str | None = None
    """JSON of the mentioned roles' ids."""
    attachments: str | None = None
    """JSON of StoredAttachments."""
    embeds: str | None = None
    """JSON of Embeds; what `attachment://` names is put in when shown."""
    components: str | None = None
    """JSON, as sent, each with an id."""
    reference: str | None = None
    """JSON of a MessageReference."""
    snapshots: str | None = None
    """JSON of StoredSnapshots."""
    webhook_id: int | None = None
    application_id: int | None = None
    reacted: int = 0
    """Whether there are reactions to look for."""
    extra: str | None = None
    """JSON of an Extra."""

    @property
    def created_ms(self) -> int:
        """When it was sent."""
        return Snowflake(self.id).created_ms

    @property
    def polled(self) -> bool:
        """Whether it may hold a poll: there are votes to look for."""
        return self.extra is not None and '"poll":' in self.extra

    @property
    def of_user(self) -> bool:
        """Whether its author is a user, as of what a bot answers; a webhook's name and picture are kept with the message."""
        return self.webhook_id is None or self.extra is None or '"author":' not in self.extra

    @property
    def ephemeral(self) -> bool:
        """Whether only some know of it; it is then kept apart."""
        return bool(self.flags & MessageFlags.EPHEMERAL)


class Line(NamedTuple):
    """A message of a history, as far as it is words and nothing else."""

    id: int
    author_id: int
    content: str
    plain: int
    """Whether this is all there is to it."""


class StoredSnapshot(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A forwarded message as it was. Stored as JSON: add fields with a default, never rename."""

    channel_id: ChannelId
    """Where it was, for the addresses of its attachments."""
    message_id: MessageId
    author_id: UserId
    """Never shown; decides which apps may read it."""
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


class Identity(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The name and picture that a webhook spoke under. Stored as JSON: add fields with a default, never rename."""

    username: str
    avatar: str | None = None


class Interacted(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The interaction that a message answers. Stored as JSON: add fields with a default, never rename."""

    id: Snowflake
    type: int
    user_id: UserId
    owners: dict[str, Snowflake] = {}
    name: str | None = None
    """Of the command that was run, with its sub-commands; on answers to commands alone."""
    original_id: MessageId | None = None
    """The first answer, on those that follow."""
    target_user_id: UserId | None = None
    target_message_id: MessageId | None = None
    interacted_message_id: MessageId | None = None
    triggering: "Interacted | None" = None
    """What opened the modal that was submitted."""


class Response(NamedTuple):
    """That a new message is an app's answer, and how it shows."""

    interaction: Interacted
    kind: int = 0
    reference: MessageReference | None = None
    flags: int = 0
    """LOADING for an answer that is still being made, EPHEMERAL for one that only `seen_by` see."""
    seen_by: tuple[int, ...] = ()
    person: "Author | None" = None
    """Who asked, where that is known already."""
    held: tuple[RoleId, ...] | None = None
    """Their roles, where those are."""

    @property
    def silent(self) -> bool:
        """Whether it says nothing itself: it is still being made, or its type says it all."""
        return bool(self.flags & MessageFlags.LOADING) or self.kind == MessageType.INTERACTION_PREMIUM_UPSELL


class Extra(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What few messages have. Stored as JSON: add fields with a default, never rename."""

    position: int | None = None
    """Roughly where in its thread it stands."""
    sticker_items: list[StickerItem] = []
    poll: Poll | None = None
    shared_client_theme: SharedClientTheme | None = None
    author: Identity | None = None
    """Who a webhook spoke as; the author's id is then the webhook's."""
    interaction: Interacted | None = None
    """Of an app's answer."""
    seen_by: list[UserId] = []
    """Of an ephemeral message: who knows of it."""
    metadata: dict[str, str] = {}
    """Words of the game that sent it, for games."""
    activity: MessageActivity | None = None
    """What it invites to."""
    application: MessageApplication | None = None
    """Whose activity that is."""
    call: MessageCall | None = None
    """What a message of the platform tells of."""
    shared: bool = False
    """Whether other messages show its files too, so that they stay when it goes."""


class FromGame(NamedTuple):
    """That a game says something for its player."""

    application_id: int
    metadata: dict[str, str] = {}
    activity: MessageActivity | None = None
    application: MessageApplication | None = None


class Author(NamedTuple):
    """Who is about to speak, and what their guild asks of them."""

    user: users.UserRow
    """As far as `users.SHOWN` goes; of the membership likewise."""
    member: members.MemberRow | None
    verification_level: int
    premium_tier: int
    webhook_id: int | None = None
    """Of what a webhook says; where it is also the user's id, the name and picture are kept with the message."""
    application_id: int | None = None
    """The application that owns the webhook."""
    moderated: int = 0
    """What the guild's auto moderation looks at (a column of the guild, so that nobody asks where there are no rules)."""
    known: bool = False
    """Of what an app answers: that its bot speaks, under its own name, whatever the webhook's id."""
    asker_premium: int = 0
    """Of what an app answers: the premium type of who asked, whose limits hold for its files (http.md 1.11)."""


class ReactionRow(NamedTuple):
    """One emoji on one message, counted."""

    message_id: int
    emoji_id: int | None
    emoji_name: str
    animated: int
    normal: int
    burst: int
    mine: int
    mine_burst: int
