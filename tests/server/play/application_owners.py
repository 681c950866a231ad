"""Owners of applications as actors, and the length of a day, for tests of several slices."""

from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from tests.world import Actor, World

DAY_MS = 24 * 3_600_000


async def sign_in_owner(world: World, bot: Actor) -> Actor:
    """Issue a login token to the user who owns a bot's application, and return the user as an actor."""

    def sign_in(call: Call) -> tuple[int, str]:
        row = applications.find_by_bot(call.tx, bot.id)
        assert row is not None
        return row.owner_id, auth.issue(call.tx, kind="user", user_id=row.owner_id, now=call.now_ms, ids=call.ids)

    user_id, token = await world.write(sign_in)
    return Actor(world, user_id, token, "owner")
