"""The control API of a rehearsal: what no user could do, which is time, faults, and the making of worlds (docs/control.md)."""

from hubbub.server.control.door import Control

__all__ = ["Control"]
