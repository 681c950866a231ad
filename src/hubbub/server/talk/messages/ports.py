"""Ports of the messages slice: checks of messages and threads, SKUs of premium buttons, and prefetches for listeners."""

from collections.abc import Iterable

import msgspec

from hubbub.protocol.ids import MessageId
from hubbub.server.core.call import Call
from hubbub.server.core.ports import multi_port, port
from hubbub.server.places.standing import ChannelAccess, ChannelRef
from hubbub.server.talk.messages.content.records import MessageRow


class MessageDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A guild message before it is created or edited; the change is not stored yet."""

    channel_access: ChannelAccess
    message_id: MessageId
    text: str
    """The texts of the message that moderation rules check, joined by line breaks."""
    is_edited: bool = False
    """Whether an existing message is edited; otherwise a new message is created."""


@multi_port
def check_draft(call: Call, draft: MessageDraft) -> None:
    """Raise if a message may not be created or edited."""


@port
def require_thread_capacity(call: Call, thread: ChannelRef, message: MessageRow) -> bool:
    """Return whether a new message adds its author to the members of a thread, before it is stored.

    Raise if the thread has too many members, or if it is archived and its guild has too many active threads."""


@port
def check_direct_message(call: Call, recipient_id: int) -> None:
    """Raise if the caller may not send a direct message to a user."""


@port
def find_offerable_skus(call: Call, application_id: int, sku_ids: Iterable[int]) -> set[int]:
    """Return the IDs among `sku_ids` of SKUs that an application may offer with a premium button."""


@port
def prefetch_for_listeners(call: Call) -> None:
    """Prefetch the rows that listeners of `MessageCreated` read for every message."""
