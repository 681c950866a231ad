"""Ports of the stage instances slice: the scheduled event and the system messages of a stage."""

from hubbub.protocol.enums import MessageType
from hubbub.server.core.call import Call
from hubbub.server.core.ports import port
from hubbub.server.places.stage_instances.store import StageInstanceRow


@port
def start_event(call: Call, stage: StageInstanceRow, event_id: int) -> None:
    """Start the scheduled event of a new stage instance; raise if it does not belong to the stage channel."""


@port
def create_message(
    call: Call, channel_id: int, message_type: MessageType, author_id: int, *, topic: str, mentions_everyone: bool
) -> None:
    """Create a system message of type `message_type` by a user in a stage's chat. `mentions_everyone` notifies the whole guild."""
