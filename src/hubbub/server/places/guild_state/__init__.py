"""Reads for gateway nodes: the states of guilds and members, and the guilds, friends and application families of users."""

from hubbub.server.places.guild_state.views import StoreGuildReader

__all__ = ["StoreGuildReader"]
