"""Rollover of the signing keys of applications, for the other modules of the slice."""

from hubbub.server.identity.applications.keys.actions import JOBS, finish, prepare, schedule_switch, switch_back, view
from hubbub.server.identity.applications.keys.store import delete

__all__ = ["JOBS", "delete", "finish", "prepare", "schedule_switch", "switch_back", "view"]
