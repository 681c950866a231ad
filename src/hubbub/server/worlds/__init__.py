"""Worlds: who and what a rehearsal begins with, from a TOML file or the demo."""

from hubbub.server.worlds.building import FOUNDED_MS, Built, begin, build, load
from hubbub.server.worlds.files import World, WorldError, demo, read, read_file, read_text

__all__ = [
    "FOUNDED_MS",
    "Built",
    "World",
    "WorldError",
    "begin",
    "build",
    "demo",
    "load",
    "read",
    "read_file",
    "read_text",
]
