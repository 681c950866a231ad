"""Port of the threads slice: the check of the title of a thread or post."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port
from hubbub.server.places.standing import ChannelAccess


@port
def check_title(call: Call, channel_access: ChannelAccess, title: str) -> None:
    """Raise an error if the title of a thread or post is not allowed.

    `channel_access` is for the parent channel of a new thread, or for the thread itself."""
