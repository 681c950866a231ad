"""The activity proxy: serves each activity on its own host, from the targets in its application's URL map."""

from hubbub.server.transports.activities.door import ActivityDoor

__all__ = ["ActivityDoor"]
