"""Functions for tests of accounts: registration, login, deletion and two-factor authentication with TOTP."""

import base64
import secrets
from typing import Any

from hubbub.protocol.ids import UserId
from hubbub.server.identity import accounts
from hubbub.server.identity.accounts.credentials import totp
from tests.world import Actor, ApiResponse, World

PASSWORD = "correct horse battery"


async def register_user(world: World, username: str = "mary") -> Actor:
    """Register a user over the API."""
    session = (await world.request("POST", "/auth/register", json={"username": username, "password": PASSWORD})).ok()
    return Actor(world, int(session["user_id"]), session["token"], username)


async def request_registration(world: World, username: str = "mary", **fields: Any) -> ApiResponse:
    """Send a registration with these fields and return the response."""
    return await world.request("POST", "/auth/register", json={"username": username, "password": PASSWORD, **fields})


async def delete_account(user: Actor, **fields: Any) -> None:
    """Delete the user's account; `fields` are added to the request body."""
    (await user.post("/users/@me/delete", json={"password": PASSWORD, **fields})).ok()


async def create_user_with_password(world: World, name: str = "alice") -> Actor:
    """Create a user with one login session; the password hash is cheap because tests verify it often."""
    user = await world.user(name)
    password_hash = accounts.passwords.hash_password_weakly(PASSWORD, salt=b"salt of the test")
    await world.write(lambda call: accounts.set_password(call, UserId(user.id), password_hash))
    (await user.delete(f"/auth/sessions/{(await user.get('/auth/sessions')).ok()[0]['id']}")).ok()
    user.token = (await log_in(world, name, user_agent="phone/1")).ok()["token"]
    return user


async def log_in(
    world: World, name: str = "alice", password: str = PASSWORD, user_agent: str = "desktop/2"
) -> ApiResponse:
    body = {"login": name, "password": password}
    return await world.request("POST", "/auth/login", json=body, headers={"User-Agent": user_agent})


def new_totp_secret() -> str:
    return base64.b32encode(secrets.token_bytes(20)).decode()


def totp_code(world: World, secret: str, drift_steps: int = 0) -> str:
    """Return the TOTP code of the current time plus `drift_steps` steps of 30 seconds."""
    return totp.code_at(secret, world.clock.now_ms() // 30_000 + drift_steps)


async def enable_totp(world: World, user: Actor) -> tuple[str, list[str]]:
    """Enable TOTP for a user; return the secret and the backup codes.

    The clock is advanced by one step, because each code is accepted only once."""
    secret = new_totp_secret()
    body = {"password": PASSWORD, "secret": secret, "code": totp_code(world, secret)}
    backup_codes = (await user.post("/users/@me/mfa/totp/enable", json=body)).ok()["backup_codes"]
    world.clock.advance(30_000)
    return secret, backup_codes
