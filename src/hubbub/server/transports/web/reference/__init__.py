"""The API reference at `/docs`, generated from the same tables that serve the API."""

from hubbub.server.transports.web.reference.pages import ApiReference

__all__ = ["ApiReference"]
