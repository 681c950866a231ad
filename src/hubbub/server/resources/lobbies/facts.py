"""What the lobbies slice tells others, inside the transaction."""

import msgspec

from hubbub.server.resources.lobbies.store import LobbyRow


class LobbyMembersLeave(msgspec.Struct, frozen=True, kw_only=True):
    """Some are about to be members of a lobby no more; they are until this is told."""

    lobby: LobbyRow
    user_ids: tuple[int, ...]
    ended: bool = False
    """Whether the lobby itself is about to go."""
