"""Embeds and components of messages."""
