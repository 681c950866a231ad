"""The control API of a rehearsal: time, faults, worlds and snapshots (docs/control.md)."""

from hubbub.server.control.server import ControlApi

__all__ = ["ControlApi"]
