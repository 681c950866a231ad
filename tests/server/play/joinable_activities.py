"""Friends who play a game, and joinable activities, for tests of messages and invites between players."""

from typing import Any

from hubbub.protocol.enums import ActivityActionType, ActivityType, GatewayOpcode
from hubbub.protocol.flags import ApplicationFlags
from tests.game import Game, Player, create_game
from tests.world import Session, World, befriend

PRESENCE_SCOPES = "openid sdk.social_layer_presence"


async def create_game_with_friends(world: World) -> tuple[Game, Player, Player]:
    """Create a game with two players who are friends; return the game and the players."""
    game = await create_game(world, flags=ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED)
    alice, bob = await game.add_player(), await game.add_player()
    await befriend(alice, bob)
    return game, alice, bob


async def start_joinable_activity(
    player: Player, session: Session, *, join: str = "open sesame", size: Any = (1, 4)
) -> dict[str, Any]:
    """Set a joinable activity on a session; return the `activity` field of a message that invites to it."""
    activity = {
        "name": "Game",
        "type": ActivityType.PLAYING,
        "application_id": str(player.application_id),
        "party": {"id": "party", "size": list(size)},
        "secrets": {"join": join},
        "supported_platforms": ["desktop"],
    }
    await session.send(
        GatewayOpcode.PRESENCE_UPDATE, {"status": "online", "activities": [activity], "since": None, "afk": False}
    )
    await session.wait_processed()
    return {"type": ActivityActionType.JOIN, "session_id": session.ready["session_id"], "party_id": "party"}
