"""The gateway server: WebSocket sessions, their ordered event streams, and event delivery."""

from hubbub.server.transports.gateway.presence import PresenceFeed
from hubbub.server.transports.gateway.server import Gateway

__all__ = ["Gateway", "PresenceFeed"]
