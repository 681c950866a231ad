"""Columns of channels, for queries of other slices that join them."""

from hubbub.server.places.channels.store import COLUMNS as CHANNEL_COLUMNS
from hubbub.server.places.channels.store import TEXT_COLUMNS as TEXT_CHANNEL_COLUMNS
from hubbub.server.places.channels.store import to_ref

__all__ = ["CHANNEL_COLUMNS", "TEXT_CHANNEL_COLUMNS", "to_ref"]
