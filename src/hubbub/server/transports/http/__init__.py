"""The HTTP server: routing, authentication, rate limits, decoding, running operations, and responses."""

from hubbub.server.transports.http.door import HttpDoor

__all__ = ["HttpDoor"]
