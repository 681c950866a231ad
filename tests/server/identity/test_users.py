"""Reads of users, updates of the current user, validation of names and avatars, and premium."""

import base64
import io
import random

import aiohttp
from PIL import Image

from hubbub.protocol.enums import PremiumType
from tests.media import data_uri, png
from tests.world import World


async def test_users_and_bots_get_themselves(world: World) -> None:
    alice = await world.user("alice")
    bot = await world.bot(name="helper")

    user = (await alice.get("/users/@me")).ok()
    bot_user = (await bot.get("/users/@me")).ok()

    assert (user["username"], user["discriminator"], user["bot"], user["mfa_enabled"]) == ("alice", "0", False, False)
    assert (bot_user["username"], bot_user["bot"], bot_user["email"]) == ("helper", True, None)
    assert len(bot_user["discriminator"]) == 4


async def test_users_are_found_by_id(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")

    assert (await alice.get(f"/users/{bob.id}")).ok()["username"] == "bob"
    (await alice.get("/users/1")).rejected(404, 10013)
    assert (await alice.get("/users/bob")).errors("user_id") == ["NUMBER_TYPE_COERCE"]


async def test_a_new_name_and_avatar_are_stored_and_published(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    alice_session, bob_session = await alice.connect(), await bob.connect()

    user = (await alice.patch("/users/@me", json={"global_name": "  Alice   L. ", "avatar": data_uri(png())})).ok()

    assert user["global_name"] == "Alice L."
    assert (await alice_session.next("USER_UPDATE"))["avatar"] == user["avatar"]
    member_update = await bob_session.next("GUILD_MEMBER_UPDATE")
    assert (member_update["guild_id"], member_update["user"]["avatar"]) == (str(guild.id), user["avatar"])
    image = await world.request("GET", f"{world.url}/cdn/avatars/{alice.id}/{user['avatar']}.png")
    assert (image.status, image.headers["Content-Type"]) == (200, "image/png")

    assert (await alice.patch("/users/@me", json={"avatar": None})).ok()["avatar"] is None


async def test_profile_details_are_stored_and_shown(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    session = await alice.connect()

    user = (await alice.patch("/users/@me", json={"bio": " Boats. ", "accent_color": 0x336699, "locale": "de"})).ok()

    assert (user["bio"], user["accent_color"], user["locale"]) == ("Boats.", 0x336699, "de")
    assert (await session.next("USER_UPDATE"))["bio"] == "Boats."
    profile = (await bob.get(f"/users/{alice.id}/profile")).ok()
    assert (profile["bio"], profile["user"]["accent_color"]) == ("Boats.", 0x336699)
    assert "bio" not in profile["user"]
    (await bob.get("/users/1/profile")).rejected(404, 10013)
    cleared_user = (await alice.patch("/users/@me", json={"bio": None, "accent_color": None})).ok()
    assert (cleared_user["bio"], cleared_user["accent_color"], cleared_user["locale"]) == ("", None, "de")


async def test_profile_details_are_validated(world: World) -> None:
    alice = await world.user("alice")

    for body, path, error_code in (
        ({"bio": "x" * 191}, "bio", "BASE_TYPE_MAX_LENGTH"),
        ({"accent_color": 0x1000000}, "accent_color", "NUMBER_TYPE_MAX"),
        ({"locale": "tlh"}, "locale", "BASE_TYPE_CHOICES"),
    ):
        assert (await alice.patch("/users/@me", json=body)).errors(path) == [error_code], body


async def test_bots_have_no_profile_details(world: World) -> None:
    bot = await world.bot()

    user = (await bot.patch("/users/@me", json={"bio": "Beep", "accent_color": 1, "locale": "de"})).ok()

    assert (user["accent_color"], user["locale"], "bio" in user) == (None, "en-US", False)
    (await bot.get(f"/users/{bot.id}/profile")).rejected(403, 20001)


async def test_a_username_must_be_free_and_valid(world: World) -> None:
    alice, _ = await world.user("alice"), await world.user("bob")

    for name, error_code in (
        ("bob", "USERNAME_ALREADY_TAKEN"),
        ("everyone", "USERNAME_INVALID"),
        ("a@b", "USERNAME_INVALID"),
        ("<b>hi</b>", "USERNAME_INVALID"),
        ("two words", "USERNAME_INVALID"),
        ("\N{GRINNING FACE}\N{GRINNING FACE}", "USERNAME_INVALID"),
        ("\u0430lice", "USERNAME_INVALID"),
        ("a..b", "USERNAME_INVALID"),
        ("BOB", "USERNAME_ALREADY_TAKEN"),
        ("x", "BASE_TYPE_BAD_LENGTH"),
        ("x" * 33, "BASE_TYPE_BAD_LENGTH"),
    ):
        assert (await alice.patch("/users/@me", json={"username": name})).errors("username") == [error_code], name


async def test_registration_and_bots_follow_their_own_rules_for_names(world: World) -> None:
    for name in ("<b>hi</b>", "two words", "x\N{GRINNING FACE}"):
        body = {"username": name, "password": "correct horse battery"}
        assert (await world.request("POST", "/auth/register", json=body)).errors("username") == ["USERNAME_INVALID"]
    body = {"username": "Ada.L_1", "password": "correct horse battery"}
    (await world.request("POST", "/auth/register", json=body)).ok()
    bot = await world.bot(name="My Bot")
    assert (await bot.patch("/users/@me", json={"username": "Your Bot!"})).ok()["username"] == "Your Bot!"


async def test_an_invalid_avatar_is_rejected(world: World) -> None:
    alice = await world.user()

    for text in (
        "nonsense",
        "data:image/png;base64,AAAA",
        "data:image/png;base64,%%%",
        "data:text/html;base64,AAAA",
        5,
    ):
        assert (await alice.patch("/users/@me", json={"avatar": text})).errors("avatar") == ["IMAGE_INVALID"], text


async def test_a_large_avatar_fits_into_a_request_body(world: World) -> None:
    alice = await world.user("alice")
    noise_image = Image.frombytes("RGB", (1100, 1100), random.Random(1).randbytes(1100 * 1100 * 3))
    buffer = io.BytesIO()
    noise_image.save(buffer, "PNG")
    assert buffer.tell() > 3 << 20
    image = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"

    assert (await alice.patch("/users/@me", json={"avatar": image})).ok()["avatar"]

    oversized_avatar = "data:image/png;base64," + base64.b64encode(bytes((10 << 20) + 1)).decode()
    rejected_response = await alice.patch("/users/@me", json={"avatar": oversized_avatar})
    assert rejected_response.errors("avatar") == ["BINARY_TYPE_MAX_SIZE"]
    # Other operations keep the smaller body limit.
    channel_id = (await world.guild(alice)).general
    (await alice.post(f"/channels/{channel_id}/messages", json={"content": "a" * (3 << 20)})).rejected(413, 40005)


async def test_granting_premium_notifies_only_the_user_and_raises_the_upload_limit(world: World) -> None:
    ann, ben = await world.user(), await world.user()
    guild = await world.guild(ann, ben)
    ann_session, ben_session = await ann.connect(), await ben.connect()
    assert ann_session.ready["user"]["premium_type"] == 0

    await world.give_premium(ann, PremiumType.TIER_2)

    assert (await ann_session.next("USER_UPDATE"))["premium_type"] == 2
    assert (await ann.get("/users/@me")).ok()["premium_type"] == 2
    await ben_session.assert_not_received("USER_UPDATE", "GUILD_MEMBER_UPDATE")
    form = aiohttp.FormData()
    form.add_field("files[0]", bytes((10 << 20) + 1), filename="large.bin")
    (await ann.post(f"/channels/{guild.general}/messages", data=form)).ok()
    await world.give_premium(ann, PremiumType.NONE)
    assert (await ann_session.next("USER_UPDATE"))["premium_type"] == 0
