"""The fixture `setup` for the tests of interactions."""

import pytest

from tests.server.play.interaction_setup import InteractionSetup, create_interaction_setup
from tests.world import World


@pytest.fixture
async def setup(world: World) -> InteractionSetup:
    """A user and an app in a guild, both connected to the gateway."""
    return await create_interaction_setup(world)
