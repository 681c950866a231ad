"""Connections to voice: gateway commands, calls outside guilds, and functions for the voice server."""
