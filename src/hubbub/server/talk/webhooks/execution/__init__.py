"""Execution of webhooks, and the formats of other services for their messages."""
