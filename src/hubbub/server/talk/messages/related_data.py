"""Data related to messages that their rows do not contain: users, reactions, votes, threads and referenced messages."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import UNSET

from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import EmojiId, UserId
from hubbub.protocol.resources.channels import Thread
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.protocol.resources.polls import PollAnswerCount
from hubbub.protocol.resources.reactions import Reaction, ReactionCountDetails
from hubbub.protocol.resources.users import User
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.places import channels
from hubbub.server.talk.attachments import AttachmentSigner
from hubbub.server.talk.messages import store
from hubbub.server.talk.messages.content import json_columns
from hubbub.server.talk.messages.content.records import MessageRow, ReactionCountRow, StoredInteraction

REFERENCE_SHOWING_TYPES: Final = frozenset({MessageType.REPLY, MessageType.THREAD_STARTER_MESSAGE})
"""Message types whose views contain the referenced message."""
MENTIONS_INDEX: Final = MessageRow._fields.index("mentions")
EMPTY_COLUMNS: Final = MessageRow(0, 0, 0, 0, 0, "")[MENTIONS_INDEX:]
"""Values of `mentions` and all later columns of a message that has only content."""


class RelatedData:
    """The objects that message views contain and message rows do not, loaded in batches."""

    __slots__ = ("call", "poll_counts", "reactions", "referenced_rows", "signer", "threads", "users")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.users: dict[int, User] = {}
        self.reactions: dict[int, list[Reaction]] = {}
        """Reactions by message ID."""
        self.poll_counts: dict[int, list[PollAnswerCount]] = {}
        """Votes of polls by message ID."""
        self.referenced_rows: dict[tuple[int, int], MessageRow] = {}
        """Referenced messages by channel ID and message ID."""
        self.threads: dict[int, Thread] = {}
        self.signer: AttachmentSigner | None = None

    def load(self, rows: Sequence[MessageRow], viewer_id: int = 0) -> None:
        """Load the data of messages; `viewer_id` is the user whose reactions and votes are marked as `me` and `me_voted`."""
        user_ids: set[int] = set()
        referenced_ids: dict[int, list[int]] = {}
        reacted_message_ids: list[int] = []
        poll_message_ids: list[int] = []
        thread_ids: list[int] = []
        for row in rows:
            # The author of a webhook message is the webhook, not a user. In responses to interactions author_id, webhook_id
            # and application_id are equal, and the author is the bot.
            if row.author_id != row.webhook_id or row.webhook_id == row.application_id:
                user_ids.add(row.author_id)
            if row[MENTIONS_INDEX:] == EMPTY_COLUMNS and not row.flags:
                continue
            if row.mentions is not None:
                user_ids.update(json_columns.mentions(row))
            if row.reacted:
                reacted_message_ids.append(row.id)
            if row.has_poll:
                poll_message_ids.append(row.id)
            user_ids.update(_interaction_user_ids(json_columns.interaction(row)))
            if row.flags & MessageFlags.HAS_THREAD:
                thread_ids.append(row.id)
            if row.type in REFERENCE_SHOWING_TYPES and (reference := json_columns.reference(row)) is not None:
                if reference.message_id is not UNSET:
                    referenced_ids.setdefault(reference.channel_id, []).append(reference.message_id)
            for snapshot in json_columns.snapshots(row):
                user_ids.update(snapshot.mentions)
        tx = self.call.tx
        for channel_id, message_ids in referenced_ids.items():
            missing_ids = [
                message_id for message_id in message_ids if (channel_id, message_id) not in self.referenced_rows
            ]
            for referenced_row in store.find_many(tx, channel_id, missing_ids).values() if missing_ids else ():
                self.referenced_rows[channel_id, referenced_row.id] = referenced_row
        for referenced_row in self.referenced_rows.values():
            user_ids.add(referenced_row.author_id)
            user_ids.update(_interaction_user_ids(json_columns.interaction(referenced_row)))
            if referenced_row.mentions is not None:
                user_ids.update(json_columns.mentions(referenced_row))
            if referenced_row.has_poll:
                poll_message_ids.append(referenced_row.id)
        self.load_users(user_ids)
        if reacted_message_ids:
            for message_id, count_rows in store.find_reaction_counts(tx, reacted_message_ids, viewer_id).items():
                self.reactions[message_id] = [_build_reaction(count_row) for count_row in count_rows]
        if poll_message_ids:
            self.poll_counts.update(store.find_poll_counts(tx, poll_message_ids, viewer_id))
        if thread_ids:
            for thread_id, thread in channels.find_many(tx, thread_ids).items():
                self.threads[thread_id] = channels.views.thread(thread)

    def add_users(self, *rows: users.UserRow) -> None:
        """Add users that are already loaded."""
        for row in rows:
            self.users[row.id] = users.user_view(row)

    def load_users(self, user_ids: Iterable[int]) -> None:
        """Load users that are not loaded yet."""
        missing_ids = [user_id for user_id in user_ids if user_id not in self.users]
        if missing_ids:
            for user_id, row in users.find_many(self.call.tx, missing_ids).items():
                self.users[user_id] = users.user_view(row)

    def get_user(self, user_id: int) -> User:
        """Return a loaded user, or a placeholder if the user was deleted."""
        loaded_user = self.users.get(user_id)
        return User(id=UserId(user_id), username="Deleted User") if loaded_user is None else loaded_user

    def get_signer(self) -> AttachmentSigner:
        """Return the signer of file URLs, created on first use."""
        if self.signer is None:
            self.signer = AttachmentSigner(self.call)
        return self.signer


def _interaction_user_ids(interaction: StoredInteraction | None) -> Iterable[int]:
    while interaction is not None:
        yield interaction.user_id
        if interaction.target_user_id is not None:
            yield interaction.target_user_id
        interaction = interaction.triggering


def _build_reaction(row: ReactionCountRow) -> Reaction:
    return Reaction(
        emoji=PartialEmoji(
            id=None if row.emoji_id is None else EmojiId(row.emoji_id),
            name=row.emoji_name,
            animated=True if row.animated else UNSET,
        ),
        count=row.normal_count + row.burst_count,
        count_details=ReactionCountDetails(normal=row.normal_count, burst=row.burst_count),
        me=bool(row.is_mine),
        me_burst=bool(row.is_mine_burst),
        burst_colors=[],
    )
