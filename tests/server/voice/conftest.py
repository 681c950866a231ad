"""Fixtures for voice tests: the configuration of a voice server, a guild with voice channels, and callers."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import msgspec
import pytest

from hubbub.protocol.enums import ChannelType
from hubbub.server.core.config import Config, VoiceConfig
from tests.server.voice.caller import Caller
from tests.world import Actor, Guild, World

ENDPOINT = "voice.test:443"
"""The endpoint sent to clients. Test callers connect to the voice server directly, without TLS."""

MakeCaller = Callable[..., Coroutine[Any, Any, Caller]]
"""Function that creates a caller for an actor, or for a new bot."""


@pytest.fixture
def world_config(store_config: Config) -> Config:
    """A configuration with a voice server behind a TLS proxy."""
    return msgspec.structs.replace(store_config, voice=VoiceConfig(endpoint=ENDPOINT))


@pytest.fixture
async def guild(world: World) -> Guild:
    """A guild with two voice channels."""
    guild = await world.guild(await world.user("alice"))
    for name in ("Lounge", "Den"):
        await guild.channel(name, type=ChannelType.GUILD_VOICE)
    return guild


@pytest.fixture
async def make_caller(world: World, guild: Guild) -> AsyncIterator[MakeCaller]:
    """A function that creates a caller for an actor, or for a new bot of the guild."""
    callers: list[Caller] = []

    async def create(actor: Actor | None = None) -> Caller:
        session = await (actor or await world.bot(guild)).connect()
        caller = Caller(world, session, guild)
        callers.append(caller)
        return caller

    yield create
    for caller in callers:
        await caller.close()
