"""Voice connection of a call: WebSocket, RTP packets, end-to-end encryption, Opus, and the voice thread.

These modules are imported when the first call starts, because their libraries belong to the optional `voice` extra.
"""
