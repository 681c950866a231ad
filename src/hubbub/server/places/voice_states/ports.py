"""Port of the voice states slice: calls of private channels."""

from hubbub.protocol.resources.voice_states import SetVoiceState
from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def set_private_voice_state(call: Call, body: SetVoiceState, failed_ids: tuple[int, ...]) -> None:
    """Join the call of a private channel, or leave all calls.

    `failed_ids` are the IDs of the guilds, lobbies and private channels whose voice server recently rejected the user.
    Pending joins of these private channels must be canceled."""
