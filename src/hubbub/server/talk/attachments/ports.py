"""Port of the attachments slice: the search for an attachment in the messages of a channel."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def has_attachment(call: Call, channel_id: int, attachment_id: int, filename: str) -> bool:
    """Return whether a message of a channel contains an attachment; only messages sent right after the upload are searched."""
