"""Recipes for the caller's own account.

They cover deletion, email, password, TOTP, passkeys, push subscriptions, placeholders, relationships, identities in
applications, guild membership, profile and connections.
"""

import secrets
from base64 import urlsafe_b64encode
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hubbub.protocol.enums import RelationshipType
from tests.authenticator import Authenticator
from tests.fuzz.platform import RELYING_PARTY, Platform
from tests.fuzz.recipes.registry import ValidRequest, recipe
from tests.server.archives import export_archive, fill_guild
from tests.server.identity.accounts import PASSWORD, create_user_with_password, enable_totp, new_totp_secret, totp_code
from tests.server.play.joinable_activities import create_game_with_friends
from tests.world import Actor, befriend


async def create_account(platform: Platform) -> Actor:
    """Create a user with a password and an unused name."""
    return await create_user_with_password(platform.world, platform.builder.unused_name("account"))


@recipe("delete_account")
async def _account(platform: Platform) -> ValidRequest:
    return ValidRequest(await create_account(platform), body={"password": PASSWORD})


@recipe("change_email")
async def _new_email(platform: Platform) -> ValidRequest:
    email = f"{platform.builder.unused_name('mail')}@example.org"
    return ValidRequest(await create_account(platform), body={"password": PASSWORD, "email": email})


@recipe("change_password")
async def _new_password(platform: Platform) -> ValidRequest:
    body = {"password": PASSWORD, "new_password": PASSWORD + "!"}
    return ValidRequest(await create_account(platform), body=body)


@recipe("enable_totp")
async def _totp(platform: Platform) -> ValidRequest:
    secret = new_totp_secret()
    body = {"password": PASSWORD, "secret": secret, "code": totp_code(platform.world, secret)}
    return ValidRequest(await create_account(platform), body=body)


@recipe("disable_totp", "replace_backup_codes")
async def _enabled_totp(platform: Platform) -> ValidRequest:
    user = await create_account(platform)
    secret, _ = await enable_totp(platform.world, user)
    return ValidRequest(user, body={"password": PASSWORD, "code": totp_code(platform.world, secret)})


# Passkeys


def new_authenticator() -> Authenticator:
    """Return an authenticator with a new key."""
    return Authenticator(origin=RELYING_PARTY.origin, rp_id=RELYING_PARTY.id)


async def start_registration(user: Actor, authenticator: Authenticator) -> dict[str, Any]:
    """Start the registration of a passkey and return the body that completes it."""
    challenge = (await user.post("/users/@me/passkeys/challenge", json={"password": PASSWORD})).ok()
    credential = authenticator.create(challenge["options"])
    return {"ticket": challenge["ticket"], "name": "Laptop", "credential": credential}


async def create_passkey(platform: Platform) -> tuple[Actor, Authenticator, str]:
    """Register a passkey; return the user, the authenticator and the ID of the passkey."""
    user, authenticator = await create_account(platform), new_authenticator()
    body = await start_registration(user, authenticator)
    return user, authenticator, (await user.post("/users/@me/passkeys", json=body)).ok()["id"]


@recipe("start_passkey_registration")
async def _registration(platform: Platform) -> ValidRequest:
    return ValidRequest(await create_account(platform), body={"password": PASSWORD})


@recipe("create_passkey")
async def _new_passkey(platform: Platform) -> ValidRequest:
    user = await create_account(platform)
    return ValidRequest(user, body=await start_registration(user, new_authenticator()))


@recipe("update_passkey")
async def _renamed_passkey(platform: Platform) -> ValidRequest:
    user, _, passkey_id = await create_passkey(platform)
    return ValidRequest(user, {"passkey_id": passkey_id}, {"name": "Phone"})


@recipe("delete_passkey")
async def _existing_passkey(platform: Platform) -> ValidRequest:
    user, _, passkey_id = await create_passkey(platform)
    return ValidRequest(user, {"passkey_id": passkey_id}, {"password": PASSWORD})


# Push subscriptions and placeholders


def _subscription(platform: Platform) -> dict[str, Any]:
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    point = key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def encode(data: bytes) -> str:
        return urlsafe_b64encode(data).rstrip(b"=").decode()

    endpoint = f"http://127.0.0.1:1/{platform.builder.unused_name()}"
    return {"endpoint": endpoint, "keys": {"p256dh": encode(point), "auth": encode(secrets.token_bytes(16))}}


@recipe("create_push_subscription")
async def _push_subscription(platform: Platform) -> ValidRequest:
    return ValidRequest(await platform.world.user(), body=_subscription(platform))


@recipe("delete_push_subscription")
async def _existing_push_subscription(platform: Platform) -> ValidRequest:
    user = await platform.world.user()
    subscription = (await user.post("/users/@me/push-subscriptions", json=_subscription(platform))).ok()
    return ValidRequest(user, {"push_subscription_id": subscription["id"]})


@recipe("claim_placeholder")
async def _placeholder(platform: Platform) -> ValidRequest:
    import tempfile
    from pathlib import Path

    from hubbub.server.identity import imports
    from hubbub.server.transfer.importer import Importer
    from hubbub.server.transfer.sources import ArchiveSource

    world = platform.world
    guild = await world.guild()
    await fill_guild(world, guild)
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "guild.zip"
        await export_archive(world, guild.id, archive)
        summary = await Importer(world.app, ArchiveSource(archive), (await world.user()).id).run()
    [claim, *_] = await world.write(lambda call: list(imports.claims.list_open(call.tx, summary.guild_id)))
    return ValidRequest(await world.user(), body={"code": claim.code})


# Relationships


@recipe("request_friend")
async def _friend_request(platform: Platform) -> ValidRequest:
    return ValidRequest(await platform.world.user(), body={"username": (await platform.world.user()).name})


@recipe("update_relationship")
async def _friend(platform: Platform) -> ValidRequest:
    user, friend = await platform.world.user(), await platform.world.user()
    await befriend(user, friend)
    return ValidRequest(user, {"user_id": friend.id}, {"nickname": "Fred"})


@recipe("request_game_friend")
async def _game_friend_request(platform: Platform) -> ValidRequest:
    game, alice, _ = await create_game_with_friends(platform.world)
    return ValidRequest(alice, body={"username": (await game.add_player()).name})


@recipe("set_game_relationship")
async def _game_friend(platform: Platform) -> ValidRequest:
    game, alice, _ = await create_game_with_friends(platform.world)
    return ValidRequest(alice, {"user_id": (await game.add_player()).id}, {"type": int(RelationshipType.FRIEND)})


@recipe("list_application_identities")
async def _identities(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.callers["bearer"], body={"user_ids": [str(platform.owner.id)]})


@recipe("leave_guild")
async def _membership(platform: Platform) -> ValidRequest:
    return ValidRequest(await platform.guild.member())


@recipe("update_my_user", "delete_my_connection", "set_my_connection")
async def _own_settings(platform: Platform) -> ValidRequest:
    user = await platform.world.user()
    (await user.put("/users/@me/connections/steam/7", json={})).ok()
    return ValidRequest(user, body={})
