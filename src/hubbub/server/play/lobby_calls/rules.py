"""Rules for joining the call of a lobby."""

from collections.abc import Sequence

from hubbub.protocol.resources.lobby_calls import LOBBY_CALL_PARTICIPANTS_MAX
from hubbub.server.places.voice_states import CallStateRow


def can_join(user_id: int, participants: Sequence[CallStateRow]) -> bool:
    """Return whether a lobby member is in the call or the call has room for them."""
    return len(participants) < LOBBY_CALL_PARTICIPANTS_MAX or any(each.user_id == user_id for each in participants)
