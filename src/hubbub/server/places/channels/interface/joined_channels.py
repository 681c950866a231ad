"""Channel columns for SQL joins of other slices, and `to_ref`, which reduces a channel row to what access checks need."""

from hubbub.server.places.channels.store import COLUMNS as CHANNEL_COLUMNS
from hubbub.server.places.channels.store import TEXT_COLUMNS as TEXT_CHANNEL_COLUMNS
from hubbub.server.places.channels.store import to_ref

__all__ = ["CHANNEL_COLUMNS", "TEXT_CHANNEL_COLUMNS", "to_ref"]
