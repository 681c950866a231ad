"""The activity proxy: serves each activity on its own host, from the targets in its application's URL map."""

from hubbub.server.transports.activities.server import ActivityServer

__all__ = ["ActivityServer"]
