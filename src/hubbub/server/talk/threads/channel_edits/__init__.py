"""Handlers that change channels of any kind, and forum posts created by webhooks."""
