"""The shared words: what can be said on the wire. No I/O; imports nothing else of ours."""
