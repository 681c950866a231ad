"""What follows from an announcement: copies to everybody who follows, and changes of the copies, a few at a time.

All that concerns one message has one key, so that it happens in order, and an announcement with many followers blocks nobody."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from hubbub.protocol.flags import MessageFlags
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources import messages
from hubbub.server.resources.messages import MessageChanged, MessageCrossposted, MessagesDeleted
from hubbub.server.resources.webhooks import actions, store

BRING: Final = "webhooks.bring"
RENEW: Final = "webhooks.renew"


class Announcement(msgspec.Struct, kw_only=True):
    """Which message, and after which webhook or copy to go on."""

    channel_id: int
    message_id: int
    after: int = 0


def hear_crosspost(call: Call, fact: MessageCrossposted) -> None:
    """A message was published: who follows gets a copy."""
    # A poll is of one channel: its votes could not be counted over all of them.
    if messages.views.extra(fact.row).poll is None:
        _leave(call, BRING, Announcement(channel_id=fact.row.channel_id, message_id=fact.row.id))


def hear_change(call: Call, fact: MessageChanged) -> None:
    """A published message changed: so do its copies."""
    if fact.row.flags & MessageFlags.CROSSPOSTED:
        _leave(call, RENEW, Announcement(channel_id=fact.row.channel_id, message_id=fact.row.id))


def hear_deletion(call: Call, fact: MessagesDeleted) -> None:
    """Published messages are gone: their copies say so. Copies are gone: nobody needs to find them."""
    for row in fact.rows:
        if row.flags & MessageFlags.CROSSPOSTED:
            _leave(call, RENEW, Announcement(channel_id=row.channel_id, message_id=row.id))
    copies = [row.id for row in fact.rows if row.flags & MessageFlags.IS_CROSSPOST]
    if copies:
        store.forget_copies(call.tx, fact.channel.id, copies)


def bring(call: Call, job: Job) -> None:
    """Make some copies of a published message, and come back while there are more to make."""
    wanted = job.decode(Announcement)
    source = messages.find(call.tx, wanted.channel_id, wanted.message_id)
    if source is None:
        return
    after = actions.bring(call, source, wanted.after)
    if after is not None:
        wanted.after = after
        _leave(call, BRING, wanted)


def renew(call: Call, job: Job) -> None:
    """Change some copies of a published message, and come back while there are more to change."""
    wanted = job.decode(Announcement)
    after = actions.renew(call, wanted.channel_id, wanted.message_id, wanted.after)
    if after is not None:
        wanted.after = after
        _leave(call, RENEW, wanted)


def _leave(call: Call, kind: str, announcement: Announcement) -> None:
    call.tx.enqueue(kind, announcement, key=f"announcement-{int(announcement.message_id)}")


JOBS: Final[Mapping[str, Callable[[Call, Job], None]]] = {BRING: bring, RENEW: renew}
