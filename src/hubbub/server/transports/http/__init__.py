"""The HTTP door: routes, decodes, authenticates, counts, runs the operation and answers."""

from hubbub.server.transports.http.door import HttpDoor

__all__ = ["HttpDoor"]
