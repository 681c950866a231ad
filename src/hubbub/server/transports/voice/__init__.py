"""The voice server: calls over WebSocket and UDP."""

from hubbub.server.transports.voice.door import VoiceDoor

__all__ = ["VoiceDoor"]
