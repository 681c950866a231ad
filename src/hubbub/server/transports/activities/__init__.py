"""The proxy of activities: each is served on a host of its own, from where its application's URL map says."""

from hubbub.server.transports.activities.door import ActivityDoor

__all__ = ["ActivityDoor"]
