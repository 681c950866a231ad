"""Functions that assign roles to members and remove them, for other slices."""

from hubbub.server.places.roles.assignments.store import assign, unassign, unassign_all

__all__ = ["assign", "unassign", "unassign_all"]
