"""Operation that ends a poll.

Its result is a message. `messages` imports `polls`, so the operation cannot be in `polls`.
"""

from hubbub.protocol import errors
from hubbub.protocol.operation import Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import MESSAGE_CREATE, MESSAGE_UPDATE, Message

POLL_EXPIRE = Operation(
    "POST",
    "/channels/{channel_id}/polls/{message_id}/expire",
    result=Message,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MESSAGE,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EDIT_OTHERS_MESSAGE,
        errors.POLL_CANNOT_EXPIRE_NON_POLL,
        errors.POLL_EXPIRED,
    ),
    emits=(MESSAGE_UPDATE, MESSAGE_CREATE),
)
