"""The API reference at `/docs`, generated from the same tables that serve the API."""

from hubbub.server.transports.web.reference.pages import Reference

__all__ = ["Reference"]
