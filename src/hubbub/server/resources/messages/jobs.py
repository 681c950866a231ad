"""Timed work of the messages slice."""

from typing import Final

import msgspec

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.messages import store

FORGET_CHANNEL: Final = "messages.forget_channel"
AT_ONCE: Final = 500
"""So many messages go in one transaction, so that a large channel holds nobody up."""


class ForgetChannel(msgspec.Struct, kw_only=True):
    """Which channel's messages to remove."""

    channel_id: int


def channels_deleted(call: Call, fact: ChannelsDeleted) -> None:
    """What was said in a channel that is gone can no longer be reached; it is removed bit by bit."""
    for channel_id in fact.channel_ids:
        call.tx.enqueue(FORGET_CHANNEL, ForgetChannel(channel_id=channel_id))


def forget_channel(call: Call, job: Job) -> None:
    """Remove some messages of a channel that is gone, and come back while there are more."""
    wanted = job.decode(ForgetChannel)
    if store.delete_of_channel(call.tx, wanted.channel_id, AT_ONCE) == AT_ONCE:
        call.tx.enqueue(FORGET_CHANNEL, wanted)
