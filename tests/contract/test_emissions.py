"""The test fixtures reject events that an operation does not declare."""

import pytest

from hubbub.protocol.resources import messages as wire
from tests.world import World


async def test_an_undeclared_event_fails_the_test(world: World) -> None:
    guild = await world.guild()
    declared_events = wire.CREATE_MESSAGE.emits
    object.__setattr__(wire.CREATE_MESSAGE, "emits", ())
    try:
        with pytest.raises(AssertionError, match=r"create_message.*MESSAGE_CREATE"):
            await guild.send_message(guild.owner)
    finally:
        object.__setattr__(wire.CREATE_MESSAGE, "emits", declared_events)
    await guild.send_message(guild.owner)
