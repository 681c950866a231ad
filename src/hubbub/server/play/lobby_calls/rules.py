"""Rules for joining the call of a lobby."""

from collections.abc import Sequence

from hubbub.protocol.resources.lobby_calls import LOBBY_CALL_PARTICIPANTS_MAX
from hubbub.server.places.voice_states.connections.calls import VoiceCallParticipantRow


def can_join(user_id: int, participants: Sequence[VoiceCallParticipantRow]) -> bool:
    """Return whether a lobby member already participates in the call, or the call can have another participant."""
    return len(participants) < LOBBY_CALL_PARTICIPANTS_MAX or any(
        participant.user_id == user_id for participant in participants
    )
