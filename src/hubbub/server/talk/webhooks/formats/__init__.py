"""Formats of other services for webhook messages."""
