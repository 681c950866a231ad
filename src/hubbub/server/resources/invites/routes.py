"""Invites over HTTP."""
