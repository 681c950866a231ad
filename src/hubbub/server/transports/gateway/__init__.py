"""The real-time door: sessions, their ordered streams of events, and who hears what."""

from hubbub.server.transports.gateway.door import Gateway

__all__ = ["Gateway"]
