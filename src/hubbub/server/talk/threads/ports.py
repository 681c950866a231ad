"""Ports of the threads slice."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port
from hubbub.server.places.standing import ChannelAccess


@port
def check_title(call: Call, access: ChannelAccess, title: str) -> None:
    """Raise if a thread or post may not have a title.

    `access` is for the parent channel of a new thread, or for the thread itself."""
