"""Members of threads: the model and the event about changes. The operations are in `threads`."""

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol.ids import (
    ChannelId,
    GuildId,
    Timestamp,
    UserId,
)
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.presence import Presence


class ThreadMember(Struct, kw_only=True):
    """A user's membership in a thread."""

    id: ChannelId
    """ID of the thread."""
    user_id: UserId
    """ID of the user."""
    join_timestamp: Timestamp
    """Time at which the user joined the thread."""
    flags: int
    """Notification settings of the user for this thread."""
    member: Member | UnsetType = UNSET
    """Guild member of the user; present only if requested with `with_member`."""


class AddedThreadMember(ThreadMember, kw_only=True):
    """A user who was added to a thread, with their presence."""

    presence: Presence | None | UnsetType = UNSET
    """Presence of the user; null if they are offline or the session may not see it."""


class ThreadMembersUpdate(Struct, kw_only=True):
    """A change to the members of a thread."""

    id: ChannelId
    """ID of the thread."""
    guild_id: GuildId
    """ID of the guild."""
    member_count: int
    """Number of members of the thread; 50 if there are more."""
    added_members: list[AddedThreadMember] | UnsetType = UNSET
    """Users who joined or were added to the thread; absent if there are none."""
    removed_member_ids: list[UserId] | UnsetType = UNSET
    """IDs of the users who left or were removed from the thread; absent if there are none."""


# spec/gateway.md#5
THREAD_MEMBERS_UPDATE = Event(
    "THREAD_MEMBERS_UPDATE",
    ThreadMembersUpdate,
    "Sent when users join or leave a thread; without GUILD_MEMBERS only about the current user.",
    intents=Intents.GUILD_MEMBERS,
)
