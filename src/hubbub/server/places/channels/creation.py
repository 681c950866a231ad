"""Creation of channels."""

from hubbub.server.places.channels.actions import create, insert_initial
from hubbub.server.places.channels.store import insert

__all__ = ["create", "insert", "insert_initial"]
