"""Port of the administration slice: deletion of the messages of a user."""

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def delete_messages(call: Call, user_id: UserId) -> bool:
    """Delete a batch of a user's messages in all channels. Return whether the user has more messages."""
