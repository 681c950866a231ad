"""The voice connection under a call: socket, packets, end-to-end encryption, Opus, and the thread that makes the sound.

Nothing here is imported before a call starts: its libraries are the extra `voice`, and a game that never calls has none of them.
"""
