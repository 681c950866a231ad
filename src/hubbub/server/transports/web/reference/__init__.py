"""The reference of the API at `/docs`: pages made from the tables that serve, so that they cannot say anything else."""

from hubbub.server.transports.web.reference.pages import Reference

__all__ = ["Reference"]
