"""The control API of a rehearsal: people, time, worlds, faults, snapshots, the trace and the traffic (docs/control.md)."""

from hubbub.server.control.server import ControlApi

__all__ = ["ControlApi"]
