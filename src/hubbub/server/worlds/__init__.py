"""Worlds: the initial users, applications and guilds of a rehearsal, from a TOML file or the demo world."""

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
