"""Who may come into the call of a lobby they are in."""

from collections.abc import Sequence

from hubbub.protocol.resources.lobby_calls import LOBBY_CALL_MAX
from hubbub.server.resources.voice_states import CallStateRow


def can_enter(user_id: int, inside: Sequence[CallStateRow]) -> bool:
    """Whether there is room in a call for a member of its lobby, or they are in it already."""
    return len(inside) < LOBBY_CALL_MAX or any(each.user_id == user_id for each in inside)
