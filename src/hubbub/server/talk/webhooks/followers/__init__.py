"""Copies of published announcements in the channels that follow an announcement channel."""
