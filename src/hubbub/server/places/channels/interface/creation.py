"""Functions that create channels or insert their rows, for other slices."""

from hubbub.server.places.channels.actions import create, insert_initial
from hubbub.server.places.channels.store import insert

__all__ = ["create", "insert", "insert_initial"]
