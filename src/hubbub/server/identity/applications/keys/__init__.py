"""Rollover of the signing keys of applications, for the other modules of the slice."""

from hubbub.server.identity.applications.keys.actions import (
    JOBS,
    create_next_key,
    finish_rollover,
    schedule_switch,
    switch_back,
    view,
)
from hubbub.server.identity.applications.keys.store import delete

__all__ = ["JOBS", "create_next_key", "delete", "finish_rollover", "schedule_switch", "switch_back", "view"]
