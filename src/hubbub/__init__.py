"""Hubbub: a self-hosted social platform, and the SDK that games use to connect to it."""

__version__ = "0.1.0"
