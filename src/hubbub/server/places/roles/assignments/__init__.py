"""Assignments of roles to members."""

from hubbub.server.places.roles.assignments.store import assign, unassign, unassign_all

__all__ = ["assign", "unassign", "unassign_all"]
