"""Ports of the voice states slice: calls of private channels and lobbies."""

from hubbub.protocol.resources.voice_states import SetVoiceState
from hubbub.server.core.call import Call
from hubbub.server.core.ports import multi_port, port
from hubbub.server.places.voice_states.store import VoiceCallParticipantRow


@port
def set_private_voice_state(call: Call, body: SetVoiceState, failed_server_ids: tuple[int, ...]) -> None:
    """Join the call of a private channel, or leave all private calls if the body has no channel.

    `failed_server_ids` are the IDs of the guilds, lobbies and private channels whose voice server recently rejected the user.
    Pending joins of these private channels must be canceled."""


@multi_port
def remove_participant(call: Call, row: VoiceCallParticipantRow) -> None:
    """Remove a user from the call of a lobby or a private channel, if the slice implements calls of this kind.

    The user's session ended, the voice server lost or rejected the connection, or the user joined another channel."""
