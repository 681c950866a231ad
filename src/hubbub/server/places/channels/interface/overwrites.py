"""Rows and lookups of permission overwrites, and the split of older permissions, for other slices."""

from hubbub.server.places.channels.actions import split_permissions
from hubbub.server.places.channels.store import OverwriteRow, find_overwrites_of_channels, find_overwrites_of_guild

__all__ = ["OverwriteRow", "find_overwrites_of_channels", "find_overwrites_of_guild", "split_permissions"]
