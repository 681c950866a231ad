"""The gateway server: WebSocket sessions, their ordered event streams, and event delivery."""

from hubbub.server.transports.gateway.door import Gateway
from hubbub.server.transports.gateway.presence import PresenceFeed

__all__ = ["Gateway", "PresenceFeed"]
