"""What an operation says is what it declares, and tests notice where it is not."""

import pytest

from hubbub.protocol.resources import messages as wire
from tests.world import World


async def test_an_event_that_its_operation_does_not_declare_fails_the_test_that_caused_it(world: World) -> None:
    guild = await world.guild()
    declared = wire.CREATE_MESSAGE.emits
    object.__setattr__(wire.CREATE_MESSAGE, "emits", ())
    try:
        with pytest.raises(AssertionError, match=r"create_message.*MESSAGE_CREATE"):
            await guild.say(guild.owner)
    finally:
        object.__setattr__(wire.CREATE_MESSAGE, "emits", declared)
    await guild.say(guild.owner)
