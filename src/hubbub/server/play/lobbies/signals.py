"""Signals of the lobbies slice, sent inside the transaction."""

import msgspec

from hubbub.server.play.lobbies.store import LobbyRow


class LobbyMembersLeaving(msgspec.Struct, frozen=True, kw_only=True):
    """Users are about to leave a lobby; they are still members while listeners run."""

    lobby: LobbyRow
    user_ids: tuple[int, ...]
    is_lobby_deleted: bool = False
    """Whether the lobby itself is about to be deleted."""
