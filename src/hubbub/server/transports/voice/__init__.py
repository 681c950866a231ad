"""The voice server: calls over WebSocket and UDP."""

from hubbub.server.transports.voice.server import VoiceServer

__all__ = ["VoiceServer"]
