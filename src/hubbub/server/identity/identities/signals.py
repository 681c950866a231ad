"""Signals that the identities slice sends inside the transaction, for friends, lobbies and messages."""

import msgspec

from hubbub.protocol.ids import ApplicationId, UserId


class AccountsMerged(msgspec.Struct, frozen=True, kw_only=True):
    """A provisional account is merged into a full account: listeners move its data, then it is deleted (spec/sdk.md#8.5)."""

    family_id: ApplicationId
    """ID of the head of the application family that the account belongs to."""
    source_id: UserId
    """ID of the provisional account."""
    user_id: UserId
    """ID of the full account."""


class AccountUnmerged(msgspec.Struct, frozen=True, kw_only=True):
    """A full account left a family, and a new provisional account represents its identities (spec/sdk.md#8.6).

    Listeners copy or move the user's data in the family to the provisional account."""

    family_id: ApplicationId
    """ID of the head of the application family."""
    user_id: UserId
    """ID of the full account."""
    provisional_id: UserId
    """ID of the new provisional account."""
    is_restricted: bool
    """Whether the full account is banned; then the provisional account cannot be merged until the ban ends."""


class ProfileChanged(msgspec.Struct, frozen=True, kw_only=True):
    """The profile of a player in an application family changed. Listeners publish it to other players."""

    family_id: ApplicationId
    """ID of the head of the application family."""
    user_id: UserId
    """ID of the player."""


class FamilyJoined(msgspec.Struct, frozen=True, kw_only=True):
    """An application becomes a publisher's game. Its own players, friends and lobbies are deleted (spec/sdk.md#8.7)."""

    application_id: ApplicationId
    """ID of the game, until now the head of its own family."""
    parent_id: ApplicationId
    """ID of the publisher."""
