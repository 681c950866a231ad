"""Lookups and changes of slow mode, and changes of the last pin and the linked lobby of a channel, for other slices."""

from hubbub.server.places.channels.actions import link_lobby
from hubbub.server.places.channels.store import compute_slow_mode_wait_ms, record_slow_mode_use, set_last_pin

__all__ = ["compute_slow_mode_wait_ms", "link_lobby", "record_slow_mode_use", "set_last_pin"]
