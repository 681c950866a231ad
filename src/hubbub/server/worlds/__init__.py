"""Worlds: the initial users, applications, guilds and lobbies of a rehearsal, from a TOML file or the demo world."""

from hubbub.protocol.control.worlds import World
from hubbub.server.worlds.builder import WORLD_CREATED_MS, BuiltWorld, build, load, load_initial
from hubbub.server.worlds.schema import WorldError, demo_world, read_file, read_mapping, read_text

__all__ = [
    "WORLD_CREATED_MS",
    "BuiltWorld",
    "World",
    "WorldError",
    "load_initial",
    "build",
    "demo_world",
    "load",
    "read_mapping",
    "read_file",
    "read_text",
]
