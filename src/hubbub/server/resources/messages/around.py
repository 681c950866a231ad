"""What messages need to be shown and do not hold themselves: people, reactions, votes, threads, the messages they answer."""

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
from hubbub.server.resources import channels, users
from hubbub.server.resources.attachments import Signer
from hubbub.server.resources.messages import columns, store
from hubbub.server.resources.messages.records import Interacted, MessageRow, ReactionRow

SHOWS_REFERENCED: Final = frozenset({MessageType.REPLY, MessageType.THREAD_STARTER_MESSAGE})
"""Types whose reference is looked up and shown: a reply, and the first message of a thread started from another."""
PLAIN: Final = MessageRow(0, 0, 0, 0, 0, "")[10:]
"""What a row ends with when the message is words and nothing else."""


class Around:
    """All that some messages need to be shown and that is not in their rows, loaded in a fixed number of queries."""

    __slots__ = ("call", "polls", "reactions", "referenced", "signer", "threads", "users")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.users: dict[int, User] = {}
        self.reactions: dict[int, list[Reaction]] = {}
        self.polls: dict[int, list[PollAnswerCount]] = {}
        self.referenced: dict[tuple[int, int], MessageRow] = {}
        self.threads: dict[int, Thread] = {}
        self.signer: Signer | None = None

    def load(self, rows: Sequence[MessageRow], viewer_id: int = 0) -> None:
        """Load for these messages; `viewer_id` says whose reactions and votes are `me`."""
        people: set[int] = set()
        wanted: dict[int, list[int]] = {}
        reacted: list[int] = []
        polled: list[int] = []
        threads: list[int] = []
        for row in rows:
            if row.author_id != row.webhook_id or row.webhook_id == row.application_id:
                # What an app answers bears its bot's id thrice.
                people.add(row.author_id)
            if row[10:] == PLAIN and not row.flags:
                continue
            if row.mentions is not None:
                people.update(columns.mentions(row))
            if row.reacted:
                reacted.append(row.id)
            if row.polled:
                polled.append(row.id)
            people.update(_interacted_people(columns.interacted(row)))
            if row.flags & MessageFlags.HAS_THREAD:
                threads.append(row.id)
            if row.type in SHOWS_REFERENCED and (reference := columns.reference(row)) is not None:
                if reference.message_id is not UNSET:
                    wanted.setdefault(reference.channel_id, []).append(reference.message_id)
            for snapshot in columns.snapshots(row):
                people.update(snapshot.mentions)
        tx = self.call.tx
        for channel_id, ids in wanted.items():
            missing = [each for each in ids if (channel_id, each) not in self.referenced]
            for found in store.find_many(tx, channel_id, missing).values() if missing else ():
                self.referenced[channel_id, found.id] = found
        for found in self.referenced.values():
            people.add(found.author_id)
            people.update(_interacted_people(columns.interacted(found)))
            if found.mentions is not None:
                people.update(columns.mentions(found))
            if found.polled:
                polled.append(found.id)
        self.load_users(people)
        if reacted:
            for message_id, counted in store.reactions(tx, reacted, viewer_id).items():
                self.reactions[message_id] = [_reaction(each) for each in counted]
        if polled:
            self.polls.update(store.poll_counts(tx, polled, viewer_id))
        if threads:
            for thread_id, thread in channels.find_many(tx, threads).items():
                self.threads[thread_id] = channels.thread(thread)

    def know(self, *rows: users.UserRow) -> None:
        """Take users that were loaded already."""
        for row in rows:
            self.users[row.id] = users.user(row)

    def load_users(self, user_ids: Iterable[int]) -> None:
        """Load users that are not known yet."""
        missing = [each for each in user_ids if each not in self.users]
        if missing:
            for user_id, row in users.find_many(self.call.tx, missing).items():
                self.users[user_id] = users.user(row)

    def user(self, user_id: int) -> User:
        """A user, or the stand-in for one who is gone."""
        found = self.users.get(user_id)
        return User(id=UserId(user_id), username="Deleted User") if found is None else found

    def sign(self) -> Signer:
        """What makes addresses of files."""
        if self.signer is None:
            self.signer = Signer(self.call)
        return self.signer


def _interacted_people(found: Interacted | None) -> Iterable[int]:
    while found is not None:
        yield found.user_id
        if found.target_user_id is not None:
            yield found.target_user_id
        found = found.triggering


def _reaction(row: ReactionRow) -> Reaction:
    return Reaction(
        emoji=PartialEmoji(
            id=None if row.emoji_id is None else EmojiId(row.emoji_id),
            name=row.emoji_name,
            animated=True if row.animated else UNSET,
        ),
        count=row.normal + row.burst,
        count_details=ReactionCountDetails(normal=row.normal, burst=row.burst),
        me=bool(row.mine),
        me_burst=bool(row.mine_burst),
        burst_colors=[],
    )
