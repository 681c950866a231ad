"""The web door: the pages people see. It asks through operations, so it can do nothing that the API cannot."""

from hubbub.server.transports.web.door import WebDoor

__all__ = ["WebDoor"]
