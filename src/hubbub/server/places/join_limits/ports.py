"""Port of the join limits slice: alerts in a channel of a guild."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def send_alert(call: Call, channel_id: int, content: str) -> None:
    """Send a message of the system user to a channel of a guild. Do nothing if the channel does not exist."""
