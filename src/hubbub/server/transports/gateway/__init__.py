"""The real-time door: sessions, their ordered streams of events, and who hears what."""

from hubbub.server.transports.gateway.door import Gateway
from hubbub.server.transports.gateway.presence import PresenceFeed

__all__ = ["Gateway", "PresenceFeed"]
