"""Hubbub: a social platform that you run yourself, and the SDK that games use to talk to it."""

__version__ = "0.1.0"
