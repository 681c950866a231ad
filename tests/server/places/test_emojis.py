"""Guild and application emoji: management, permissions, validation, limits, images, and reactions."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import EmojiId
from hubbub.protocol.permissions import Permissions
from tests import media
from tests.world import Actor, ApiResponse, Guild, World

CREATE_PERMISSION, MANAGE_PERMISSION = Permissions.CREATE_GUILD_EXPRESSIONS, Permissions.MANAGE_GUILD_EXPRESSIONS
PNG_DATA_URI = media.data_uri(media.png())
GIF_DATA_URI = media.data_uri(media.animated_image())


async def create_emoji(actor: Actor, guild: Guild, name: str = "party", image: str = PNG_DATA_URI, **body: Any) -> Any:
    return (await actor.post(f"/guilds/{guild.id}/emojis", json={"name": name, "image": image, **body})).ok()


async def insert_emojis(world: World, guild: Guild, count: int, *, animated: int = 0) -> None:
    """Insert `count` emojis into the database, to fill slots of a guild."""

    def step(call: Any) -> None:
        rows = [(call.new_id(EmojiId), guild.id, guild.owner.id, "x", "y", animated) for _ in range(count)]
        call.tx.run_many(
            "INSERT INTO emojis (id, guild_id, user_id, name, image, animated) VALUES (?, ?, ?, ?, ?, ?)", rows
        )

    await world.write(step)


async def open_cdn_image(world: World, path: str) -> Any:
    """Fetch an image from the CDN and open it."""
    response = await world.request("GET", f"{world.url}/cdn{path}")
    assert response.status == 200
    return media.open_image(response.body)


async def test_creating_an_emoji_publishes_an_event_and_serves_its_image(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()

    response = await guild.owner.post(
        f"/guilds/{guild.id}/emojis",
        json={"name": "party", "image": media.data_uri(media.png(400, 200))},
        headers={"X-Audit-Log-Reason": "why%20not"},
    )

    assert response.status == 201
    emoji = response.ok()
    assert emoji["user"]["id"] == str(guild.owner.id)
    view_without_user = {
        "id": emoji["id"],
        "name": "party",
        "roles": [],
        "require_colons": True,
        "managed": False,
        "animated": False,
        "available": True,
    }
    assert emoji == view_without_user | {"user": emoji["user"]}
    event = await session.next("GUILD_EMOJIS_UPDATE")
    assert event == {"guild_id": str(guild.id), "emojis": [view_without_user]}
    audit_entry = await guild.last_audit_entry(AuditLogAction.EMOJI_CREATE)
    assert (audit_entry["target_id"], audit_entry["reason"]) == (emoji["id"], "why not")
    assert audit_entry["changes"] == [{"key": "name", "new_value": "party"}]
    assert (await open_cdn_image(world, f"/emojis/{emoji['id']}.png")).size == (128, 64)
    assert (await open_cdn_image(world, f"/emojis/{emoji['id']}.webp?size=32")).size == (32, 16)
    assert (await guild.owner.get(f"/guilds/{guild.id}")).ok()["emojis"] == [view_without_user]
    second_session = await bot.connect()
    assert second_session.guilds[str(guild.id)]["emojis"] == [view_without_user]


async def test_an_animated_emoji_is_served_animated_and_as_a_still_png(world: World) -> None:
    guild = await world.guild()
    for image_bytes in (media.animated_image("GIF", frame_count=3), media.animated_image("WEBP", frame_count=3)):
        emoji = await create_emoji(guild.owner, guild, image=media.data_uri(image_bytes))
        assert emoji["animated"] is True
        assert (await open_cdn_image(world, f"/emojis/{emoji['id']}.gif")).n_frames == 3
        assert (await open_cdn_image(world, f"/emojis/{emoji['id']}.webp?animated=true")).n_frames == 3
        assert getattr(await open_cdn_image(world, f"/emojis/{emoji['id']}.png"), "n_frames", 1) == 1
    still_emoji = await create_emoji(guild.owner, guild, image=media.data_uri(media.animated_image(frame_count=1)))
    assert still_emoji["animated"] is False


async def test_the_creator_of_an_emoji_is_visible_with_the_permission(world: World) -> None:
    guild = await world.guild()
    emoji = await create_emoji(guild.owner, guild)
    member, creator = await guild.member(), await guild.member(CREATE_PERMISSION)
    manager, stranger = await guild.member(MANAGE_PERMISSION), await world.user()
    emoji_path, list_path = f"/guilds/{guild.id}/emojis/{emoji['id']}", f"/guilds/{guild.id}/emojis"

    for actor, sees_creator in ((member, False), (creator, True), (manager, True), (guild.owner, True)):
        emoji_view = (await actor.get(emoji_path)).ok()
        assert ("user" in emoji_view) is sees_creator
        assert (await actor.get(list_path)).ok() == [emoji_view]
    for path in (emoji_path, list_path):
        (await stranger.get(path)).rejected(403, 50001)
    (await member.get(f"{list_path}/1")).rejected(404, 10014)
    other_guild = await world.guild(guild.owner)
    for method in ("GET", "PATCH", "DELETE"):
        body = {"json": {}} if method == "PATCH" else {}
        response = await guild.owner.request(method, f"/guilds/{other_guild.id}/emojis/{emoji['id']}", **body)
        response.rejected(404, 10014)


async def test_an_update_publishes_an_event_only_if_something_changed(world: World) -> None:
    guild = await world.guild()
    role_id = await guild.role("holders")
    emoji = await create_emoji(guild.owner, guild)
    session = await (await world.bot(guild)).connect()
    path = f"/guilds/{guild.id}/emojis/{emoji['id']}"

    changed_emoji = (await guild.owner.patch(path, json={"name": "Feast_2", "roles": [str(role_id), None]})).ok()

    assert (changed_emoji["name"], changed_emoji["roles"]) == ("Feast_2", [str(role_id)])
    [event] = (await session.next("GUILD_EMOJIS_UPDATE"))["emojis"]
    assert (event["name"], event["roles"]) == ("Feast_2", [str(role_id)])
    audit_entry = await guild.last_audit_entry(AuditLogAction.EMOJI_UPDATE)
    assert {"key": "name", "old_value": "party", "new_value": "Feast_2"} in audit_entry["changes"]
    (await guild.owner.patch(path, json={"name": "Feast_2"})).ok()
    await session.assert_not_received("GUILD_EMOJIS_UPDATE")
    assert (await guild.owner.patch(path, json={"roles": None})).ok()["roles"] == []


async def test_a_deleted_emoji_stays_in_existing_reactions(world: World) -> None:
    guild = await world.guild()
    emoji = await create_emoji(guild.owner, guild)
    message = await guild.send_message(guild.owner)
    reaction_path = f"/channels/{guild.general}/messages/{message['id']}/reactions/party:{emoji['id']}"
    (await guild.owner.put(f"{reaction_path}/@me")).ok()
    bob = await guild.member()
    session = await (await world.bot(guild)).connect()

    response = await guild.owner.delete(f"/guilds/{guild.id}/emojis/{emoji['id']}")

    assert response.status == 204
    assert (await session.next("GUILD_EMOJIS_UPDATE"))["emojis"] == []
    assert (await guild.last_audit_entry(AuditLogAction.EMOJI_DELETE))["changes"] == [
        {"key": "name", "old_value": "party"}
    ]
    assert (await world.request("GET", f"{world.url}/cdn/emojis/{emoji['id']}.png")).status == 404
    (await bob.put(f"{reaction_path}/@me")).ok()
    other_message = await guild.send_message(guild.owner)
    path = f"/channels/{guild.general}/messages/{other_message['id']}/reactions/party:{emoji['id']}/@me"
    (await bob.put(path)).rejected(404, 10014)


async def send_emoji_request(actor: Actor, guild: Guild, action: str, own_id: str, other_id: str) -> ApiResponse:
    """Perform one of `EMOJI_ACTIONS` with the emoji that the actor created, or with the emoji of another user."""
    if action == "create":
        return await actor.post(f"/guilds/{guild.id}/emojis", json={"name": "fresh", "image": PNG_DATA_URI})
    method, _, target_owner = action.partition(" ")
    path = f"/guilds/{guild.id}/emojis/{own_id if target_owner == 'own' else other_id}"
    if method == "change":
        return await actor.patch(path, json={"name": "other"})
    return await actor.delete(path)


EMOJI_ACTIONS = ("create", "change own", "change other", "delete own", "delete other")


@pytest.mark.parametrize(
    ("side_of_split", "permissions", "allowed_actions"),
    [
        ("after", 0, ()),
        ("after", CREATE_PERMISSION, ("create", "change own", "delete own")),
        ("after", MANAGE_PERMISSION, ("change own", "change other", "delete own", "delete other")),
        ("before", 0, ()),
        ("before", CREATE_PERMISSION, ("create", "change own", "delete own")),
        ("before", MANAGE_PERMISSION, EMOJI_ACTIONS),
    ],
)
async def test_each_action_requires_its_permission_before_and_after_the_split(
    world: World, side_of_split: str, permissions: int, allowed_actions: tuple[str, ...]
) -> None:
    world.clock.set(changes.PERMISSION_SPLITS.at_ms - (1 if side_of_split == "before" else 0))
    guild = await world.guild()
    actor = await guild.member(permissions)
    for action in EMOJI_ACTIONS:
        own_id, other_id = [(await create_emoji(guild.owner, guild))["id"] for _ in range(2)]
        await world.write(
            lambda call, own_id=own_id: call.tx.run("UPDATE emojis SET user_id = ? WHERE id = ?", actor.id, int(own_id))
        )
        response = await send_emoji_request(actor, guild, action, own_id, other_id)
        if action in allowed_actions:
            response.ok()
        else:
            response.rejected(403, 50013)
    stranger = await world.user()
    for action in EMOJI_ACTIONS:
        emoji_id = (await create_emoji(guild.owner, guild))["id"]
        (await send_emoji_request(stranger, guild, action, emoji_id, emoji_id)).rejected(403, 50001)
    (await guild.owner.post("/guilds/1/emojis", json={"name": "fresh", "image": PNG_DATA_URI})).rejected(404, 10004)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"name": "x"}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "x" * 33}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "not ok"}, "name", "STRING_TYPE_REGEX"),
        ({"name": "lined\n"}, "name", "STRING_TYPE_REGEX"),
        ({"name": "ünder"}, "name", "STRING_TYPE_REGEX"),
        ({"name": None}, "name", "BASE_TYPE_REQUIRED"),
        ({"image": None}, "image", "BASE_TYPE_REQUIRED"),
        ({"image": "nothing"}, "image", "IMAGE_INVALID"),
        ({"image": media.data_uri(b"<svg/>", "image/svg+xml")}, "image", "IMAGE_INVALID"),
        ({"image": media.data_uri(media.png()[:50])}, "image", "IMAGE_INVALID"),
        ({"image": media.data_uri(media.decompression_bomb(30_000))}, "image", "IMAGE_INVALID"),
        ({"image": media.data_uri(media.png() + bytes(262_144))}, "image", "BINARY_TYPE_MAX_SIZE"),
        ({"roles": "x"}, "roles", "LIST_TYPE_CONVERT"),
    ],
    ids=str,
)
async def test_an_invalid_emoji_names_the_invalid_field(world: World, body: Any, path: str, code: str) -> None:
    guild = await world.guild()
    response = await guild.owner.post(
        f"/guilds/{guild.id}/emojis", json={"name": "party", "image": PNG_DATA_URI} | body
    )
    assert response.errors(path) == [code]
    assert (await guild.owner.get(f"/guilds/{guild.id}/emojis")).ok() == []


async def test_an_emoji_cannot_be_limited_to_an_unknown_role(world: World) -> None:
    guild, other_guild = await world.guild(), await world.guild()
    foreign_role_id = await other_guild.role("foreign")
    body = {"name": "party", "image": PNG_DATA_URI, "roles": [str(foreign_role_id)]}
    (await guild.owner.post(f"/guilds/{guild.id}/emojis", json=body)).rejected(404, 10011)
    emoji = await create_emoji(guild.owner, guild, roles=[str(guild.id)])
    assert emoji["roles"] == []


async def test_slots_grow_with_the_tier_and_are_counted_per_kind(world: World) -> None:
    guild = await world.guild()
    await insert_emojis(world, guild, 50)
    path = f"/guilds/{guild.id}/emojis"
    (await guild.owner.post(path, json={"name": "more", "image": PNG_DATA_URI})).rejected(400, 30008)
    await create_emoji(guild.owner, guild, image=GIF_DATA_URI)
    await insert_emojis(world, guild, 49, animated=1)
    (await guild.owner.post(path, json={"name": "more", "image": GIF_DATA_URI})).rejected(400, 30018)
    await world.grant_to_guild(guild, tier=1)
    await create_emoji(guild.owner, guild)
    await insert_emojis(world, guild, 49)
    (await guild.owner.post(path, json={"name": "more", "image": PNG_DATA_URI})).rejected(400, 30008)
    await world.grant_to_guild(guild, "MORE_EMOJI")
    await create_emoji(guild.owner, guild)


async def test_deleting_a_role_removes_it_from_its_emoji(world: World) -> None:
    guild = await world.guild()
    role_id, other_role_id = await guild.role("holders"), await guild.role("others")
    emoji = await create_emoji(guild.owner, guild, roles=[str(role_id), str(other_role_id)])
    session = await (await world.bot(guild)).connect()

    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{role_id}")).ok()

    assert (await session.next("GUILD_EMOJIS_UPDATE"))["emojis"][0]["roles"] == [str(other_role_id)]
    assert (await guild.owner.get(f"/guilds/{guild.id}/emojis/{emoji['id']}")).ok()["roles"] == [str(other_role_id)]


# Reactions


async def react_with_emoji(actor: Actor, guild: Guild, emoji: Any, message: Any) -> ApiResponse:
    path = f"/channels/{guild.general}/messages/{message['id']}/reactions/anything:{emoji['id']}/@me"
    return await actor.put(path)


async def test_a_reaction_has_the_current_name_of_its_emoji(world: World) -> None:
    guild = await world.guild()
    emoji = await create_emoji(guild.owner, guild, image=GIF_DATA_URI)
    message = await guild.send_message(guild.owner)
    session = await (await world.bot(guild)).connect()

    (await react_with_emoji(guild.owner, guild, emoji, message)).ok()

    partial_emoji = {"id": emoji["id"], "name": "party", "animated": True}
    assert (await session.next("MESSAGE_REACTION_ADD"))["emoji"] == partial_emoji
    fetched_message = (await guild.owner.get(f"/channels/{guild.general}/messages/{message['id']}")).ok()
    assert fetched_message["reactions"][0]["emoji"] == partial_emoji


async def test_an_external_emoji_requires_membership_and_the_permission(world: World) -> None:
    bob = await world.user()
    guild, other_guild = await world.guild(None, bob), await world.guild(None, bob)
    emoji = await create_emoji(other_guild.owner, other_guild)
    message = await guild.send_message(bob)

    (await react_with_emoji(guild.owner, guild, emoji, message)).rejected(404, 10014)
    permissions_without_external = Permissions.DEFAULT_EVERYONE & ~Permissions.USE_EXTERNAL_EMOJIS
    (
        await guild.owner.patch(
            f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": str(int(permissions_without_external))}
        )
    ).ok()
    (await react_with_emoji(bob, guild, emoji, message)).rejected(403, 50013)
    await guild.allow_permissions(bob, Permissions.USE_EXTERNAL_EMOJIS)
    (await react_with_emoji(bob, guild, emoji, message)).ok()
    # Joining an existing reaction requires no permission.
    (await react_with_emoji(guild.owner, guild, emoji, message)).ok()


async def test_an_emoji_limited_to_a_role_requires_that_role(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    role_id = await guild.role("holders")
    emoji = await create_emoji(guild.owner, guild, roles=[str(role_id)])
    message = await guild.send_message(bob)

    (await react_with_emoji(bob, guild, emoji, message)).rejected(403, 50013)
    await guild.add_role(bob, role_id)
    (await react_with_emoji(bob, guild, emoji, message)).ok()


# Application emoji


async def test_an_application_manages_its_own_emoji(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    path = f"/applications/{bot.application_id}/emojis"

    response = await bot.post(path, json={"name": "logo", "image": PNG_DATA_URI})

    assert response.status == 201
    emoji = response.ok()
    assert (emoji["name"], emoji["user"]["id"]) == ("logo", str(bot.id))
    assert (await bot.get(path)).ok() == {"items": [emoji]}
    assert (await bot.get(f"{path}/{emoji['id']}")).ok() == emoji
    renamed_emoji = (await bot.patch(f"{path}/{emoji['id']}", json={"name": "brand"})).ok()
    assert renamed_emoji == emoji | {"name": "brand"}
    assert (await bot.patch(f"{path}/{emoji['id']}", json={})).ok() == renamed_emoji
    assert (await open_cdn_image(world, f"/emojis/{emoji['id']}.png")).size == (8, 8)
    assert (await bot.delete(f"{path}/{emoji['id']}")).status == 204
    (await bot.get(f"{path}/{emoji['id']}")).rejected(404, 10014)
    assert (await bot.get(path)).ok() == {"items": []}


async def test_only_the_application_can_use_its_emoji_and_needs_no_permission(world: World) -> None:
    guild = await world.guild()
    bot, other_bot = await world.bot(guild), await world.bot(guild)
    emoji = (
        await bot.post(f"/applications/{bot.application_id}/emojis", json={"name": "logo", "image": PNG_DATA_URI})
    ).ok()
    permissions_without_external = Permissions.DEFAULT_EVERYONE & ~Permissions.USE_EXTERNAL_EMOJIS
    (
        await guild.owner.patch(
            f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": str(int(permissions_without_external))}
        )
    ).ok()
    message = await guild.send_message(guild.owner)

    for actor in (other_bot, guild.owner):
        (await react_with_emoji(actor, guild, emoji, message)).rejected(404, 10014)
    (await react_with_emoji(bot, guild, emoji, message)).ok()
    (await guild.owner.get(f"/guilds/{guild.id}/emojis/{emoji['id']}")).rejected(404, 10014)


async def test_only_the_application_can_manage_its_emoji(world: World) -> None:
    guild = await world.guild()
    bot, other_bot = await world.bot(guild), await world.bot(guild)
    emoji = (
        await bot.post(f"/applications/{bot.application_id}/emojis", json={"name": "logo", "image": PNG_DATA_URI})
    ).ok()
    path = f"/applications/{bot.application_id}/emojis"
    for actor in (other_bot, guild.owner):
        (await actor.get(path)).rejected(403, 20012)
        (await actor.post(path, json={"name": "logo", "image": PNG_DATA_URI})).rejected(403, 20012)
        (await actor.get(f"{path}/{emoji['id']}")).rejected(403, 20012)
        (await actor.patch(f"{path}/{emoji['id']}", json={})).rejected(403, 20012)
        (await actor.delete(f"{path}/{emoji['id']}")).rejected(403, 20012)
    (await other_bot.get(f"/applications/{other_bot.application_id}/emojis/{emoji['id']}")).rejected(404, 10014)
    assert (await bot.post(path, json={"name": "x", "image": "y"})).errors("image") == ["IMAGE_INVALID"]


async def test_an_application_has_at_most_two_thousand_emoji(world: World) -> None:
    bot = await world.bot()

    def step(call: Any) -> None:
        rows = [(number + 1, bot.application_id, bot.id, "x", "y") for number in range(1999)]
        call.tx.run_many("INSERT INTO emojis (id, application_id, user_id, name, image) VALUES (?, ?, ?, ?, ?)", rows)

    await world.write(step)
    path = f"/applications/{bot.application_id}/emojis"
    (await bot.post(path, json={"name": "last", "image": PNG_DATA_URI})).ok()
    (await bot.post(path, json={"name": "more", "image": PNG_DATA_URI})).rejected(400, 30008)


@pytest.mark.dated(changes.APPLICATION_EMOJIS)
async def test_application_emoji_exist_from_their_date(world: World) -> None:
    bot = await world.bot()
    path = f"/applications/{bot.application_id}/emojis"
    world.clock.set(changes.APPLICATION_EMOJIS.at_ms)
    assert (await bot.get(path)).ok() == {"items": []}
    world.clock.set(changes.APPLICATION_EMOJIS.at_ms - 1)
    assert (await bot.get(path)).status == 404
    assert (await bot.post(path, json={"name": "logo", "image": PNG_DATA_URI})).status == 404


async def test_deleting_a_guild_deletes_its_emoji(world: World) -> None:
    guild = await world.guild()
    await create_emoji(guild.owner, guild)
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    remaining_count = await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM emojis"))
    assert remaining_count == 0
