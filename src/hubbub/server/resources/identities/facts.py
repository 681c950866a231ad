"""What becomes of accounts, told inside the transaction to whoever keeps friends, lobbies or messages."""

import msgspec

from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.resources.identities import UserApplicationProfiles


class AccountsMerged(msgspec.Struct, frozen=True, kw_only=True):
    """A provisional account became part of a full one: what it had moves there, then it is deleted (sdk.md 8.5)."""

    family_id: ApplicationId
    """The head of the family of applications whose account it was."""
    source_id: UserId
    """The provisional account."""
    user_id: UserId
    """The full one."""


class AccountUnmerged(msgspec.Struct, frozen=True, kw_only=True):
    """A full account left an application, and a new provisional one stands for the same identity: what is the game's is copied
    to it (sdk.md 8.6)."""

    family_id: ApplicationId
    user_id: UserId
    """The full account."""
    provisional_id: UserId
    """The new one."""
    restricted: bool
    """Made by a ban: it cannot be merged until the ban ends."""


class ProfileChanged(msgspec.Struct, frozen=True):
    """A family of applications knows a player otherwise: whoever shows players to each other tells them."""

    told: UserApplicationProfiles


class FamilyJoined(msgspec.Struct, frozen=True, kw_only=True):
    """An application became a publisher's game: what it had of players, friends and lobbies is gone (sdk.md 8.7)."""

    application_id: ApplicationId
    """The game, until now the head of a family of its own."""
    parent_id: ApplicationId
