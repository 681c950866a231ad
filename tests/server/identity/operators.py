"""Functions that create operators and grant operator roles, for tests of administration."""

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.core.call import Call
from hubbub.server.identity import administration, users
from tests.server.identity.accounts import create_user_with_password, enable_totp, log_in, totp_code
from tests.world import Actor, World


async def grant_role(world: World, user: Actor, role: OperatorRole) -> None:
    """Grant a role like the command line does; this ends the user's sessions."""

    def grant(call: Call) -> None:
        row = users.find(call.tx, user.id)
        assert row is not None
        administration.operators.set_role(call, row, role)

    await world.write(grant)


async def create_operator(world: World, name: str, role: OperatorRole = OperatorRole.OWNER) -> Actor:
    """Create an operator with two-factor authentication who is logged in; this advances the clock by a minute."""
    user = await create_user_with_password(world, name)
    secret, _ = await enable_totp(world, user)
    await grant_role(world, user, role)
    ticket = (await log_in(world, name)).ok()["ticket"]
    body = {"ticket": ticket, "code": totp_code(world, secret)}
    user.token = (await world.request("POST", "/auth/mfa/totp", json=body)).ok()["token"]
    world.clock.advance(30_000)
    return user
