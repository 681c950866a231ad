"""The voice door: calls over WebSocket and UDP."""
