"""The HTTP server: routing, authentication, rate limits, decoding, running operations, and responses."""

from hubbub.server.transports.http.server import HttpServer

__all__ = ["HttpServer"]
