"""Assignments of roles to members."""

from hubbub.server.places.roles.store import assign, unassign, unassign_all

__all__ = ["assign", "unassign", "unassign_all"]
