"""Emoji of guilds and applications: who makes, changes, sees and uses them, and what their pictures become."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.ids import EmojiId
from hubbub.protocol.permissions import Permissions
from tests import media
from tests.world import Actor, Answer, Guild, World

CREATE, MANAGE = Permissions.CREATE_GUILD_EXPRESSIONS, Permissions.MANAGE_GUILD_EXPRESSIONS
PNG = media.uri(media.png())
GIF = media.uri(media.moving())


async def made(actor: Actor, guild: Guild, name: str = "party", image: str = PNG, **body: Any) -> Any:
    """A new emoji."""
    return (await actor.post(f"/guilds/{guild.id}/emojis", json={"name": name, "image": image, **body})).ok()


async def fill(world: World, guild: Guild, count: int, *, animated: int = 0) -> None:
    """Take so many slots at once."""

    def step(call: Any) -> None:
        rows = [(call.new_id(EmojiId), guild.id, guild.owner.id, "x", "y", animated) for _ in range(count)]
        call.tx.run_many(
            "INSERT INTO emojis (id, guild_id, user_id, name, image, animated) VALUES (?, ?, ?, ?, ?, ?)", rows
        )

    await world.write(step)


async def picture(world: World, path: str) -> Any:
    """What the CDN serves, opened."""
    answer = await world.request("GET", f"{world.url}/cdn{path}")
    assert answer.status == 200
    return media.opened(answer.body)


async def test_a_new_emoji_is_kept_told_written_down_and_served(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()

    answer = await guild.owner.post(
        f"/guilds/{guild.id}/emojis",
        json={"name": "party", "image": media.uri(media.png(400, 200))},
        headers={"X-Audit-Log-Reason": "why%20not"},
    )

    assert answer.status == 201
    emoji = answer.ok()
    assert emoji["user"]["id"] == str(guild.owner.id)
    bare = {
        "id": emoji["id"],
        "name": "party",
        "roles": [],
        "require_colons": True,
        "managed": False,
        "animated": False,
        "available": True,
    }
    assert emoji == bare | {"user": emoji["user"]}
    told = await session.next("GUILD_EMOJIS_UPDATE")
    assert told == {"guild_id": str(guild.id), "emojis": [bare]}
    entry = await guild.last_audit_entry(60)
    assert (entry["target_id"], entry["reason"]) == (emoji["id"], "why not")
    assert entry["changes"] == [{"key": "name", "new_value": "party"}]
    assert (await picture(world, f"/emojis/{emoji['id']}.png")).size == (128, 64)
    assert (await picture(world, f"/emojis/{emoji['id']}.webp?size=32")).size == (32, 16)
    assert (await guild.owner.get(f"/guilds/{guild.id}")).ok()["emojis"] == [bare]
    again = await bot.connect()
    assert again.guilds[str(guild.id)]["emojis"] == [bare]


async def test_an_animated_emoji_moves_as_a_gif_and_stands_still_as_a_png(world: World) -> None:
    guild = await world.guild()
    for data in (media.moving("GIF", frames=3), media.moving("WEBP", frames=3)):
        emoji = await made(guild.owner, guild, image=media.uri(data))
        assert emoji["animated"] is True
        assert (await picture(world, f"/emojis/{emoji['id']}.gif")).n_frames == 3
        assert (await picture(world, f"/emojis/{emoji['id']}.webp?animated=true")).n_frames == 3
        assert getattr(await picture(world, f"/emojis/{emoji['id']}.png"), "n_frames", 1) == 1
    still = await made(guild.owner, guild, image=media.uri(media.moving(frames=1)))
    assert still["animated"] is False


async def test_emoji_are_read_by_members_and_their_makers_by_those_who_make_some(world: World) -> None:
    guild = await world.guild()
    emoji = await made(guild.owner, guild)
    plain, maker = await guild.member(), await guild.member(CREATE)
    manager, stranger = await guild.member(MANAGE), await world.user()
    one, all_ = f"/guilds/{guild.id}/emojis/{emoji['id']}", f"/guilds/{guild.id}/emojis"

    for actor, sees in ((plain, False), (maker, True), (manager, True), (guild.owner, True)):
        found = (await actor.get(one)).ok()
        assert ("user" in found) is sees
        assert (await actor.get(all_)).ok() == [found]
    for path in (one, all_):
        (await stranger.get(path)).refused(403, 50001)
    (await plain.get(f"{all_}/1")).refused(404, 10014)
    other = await world.guild(guild.owner)
    for method in ("GET", "PATCH", "DELETE"):
        body = {"json": {}} if method == "PATCH" else {}
        answer = await guild.owner.request(method, f"/guilds/{other.id}/emojis/{emoji['id']}", **body)
        answer.refused(404, 10014)


async def test_changes_are_told_and_written_down_and_no_change_is_not(world: World) -> None:
    guild = await world.guild()
    role = await guild.role("wearers")
    emoji = await made(guild.owner, guild)
    session = await (await world.bot(guild)).connect()
    path = f"/guilds/{guild.id}/emojis/{emoji['id']}"

    changed = (await guild.owner.patch(path, json={"name": "Feast_2", "roles": [str(role), None]})).ok()

    assert (changed["name"], changed["roles"]) == ("Feast_2", [str(role)])
    [told] = (await session.next("GUILD_EMOJIS_UPDATE"))["emojis"]
    assert (told["name"], told["roles"]) == ("Feast_2", [str(role)])
    entry = await guild.last_audit_entry(61)
    assert {"key": "name", "old_value": "party", "new_value": "Feast_2"} in entry["changes"]
    (await guild.owner.patch(path, json={"name": "Feast_2"})).ok()
    await session.none_of("GUILD_EMOJIS_UPDATE")
    assert (await guild.owner.patch(path, json={"roles": None})).ok()["roles"] == []


async def test_a_deleted_emoji_is_gone_everywhere_but_where_it_stands(world: World) -> None:
    guild = await world.guild()
    emoji = await made(guild.owner, guild)
    said = await guild.say(guild.owner)
    react = f"/channels/{guild.general}/messages/{said['id']}/reactions/party:{emoji['id']}"
    (await guild.owner.put(f"{react}/@me")).ok()
    bob = await guild.member()
    session = await (await world.bot(guild)).connect()

    answer = await guild.owner.delete(f"/guilds/{guild.id}/emojis/{emoji['id']}")

    assert answer.status == 204
    assert (await session.next("GUILD_EMOJIS_UPDATE"))["emojis"] == []
    assert (await guild.last_audit_entry(62))["changes"] == [{"key": "name", "old_value": "party"}]
    assert (await world.request("GET", f"{world.url}/cdn/emojis/{emoji['id']}.png")).status == 404
    (await bob.put(f"{react}/@me")).ok()
    other = await guild.say(guild.owner)
    path = f"/channels/{guild.general}/messages/{other['id']}/reactions/party:{emoji['id']}/@me"
    (await bob.put(path)).refused(404, 10014)


async def attempt(actor: Actor, guild: Guild, what: str, mine: str, theirs: str) -> Answer:
    """One of the writing operations, on something new, one's own or another's."""
    if what == "create":
        return await actor.post(f"/guilds/{guild.id}/emojis", json={"name": "fresh", "image": PNG})
    method, _, whose = what.partition(" ")
    path = f"/guilds/{guild.id}/emojis/{mine if whose == 'own' else theirs}"
    if method == "change":
        return await actor.patch(path, json={"name": "other"})
    return await actor.delete(path)


DEEDS = ("create", "change own", "change others", "delete own", "delete others")


@pytest.mark.parametrize(
    ("when", "permissions", "may"),
    [
        ("after", 0, ()),
        ("after", CREATE, ("create", "change own", "delete own")),
        ("after", MANAGE, ("change own", "change others", "delete own", "delete others")),
        ("before", 0, ()),
        ("before", CREATE, ("create", "change own", "delete own")),
        ("before", MANAGE, DEEDS),
    ],
)
async def test_who_may_do_what_before_and_after_the_split(
    world: World, when: str, permissions: int, may: tuple[str, ...]
) -> None:
    world.clock.set(changes.PERMISSION_SPLITS.at_ms - (1 if when == "before" else 0))
    guild = await world.guild()
    actor = await guild.member(permissions)
    for deed in DEEDS:
        mine, theirs = (await made(guild.owner, guild))["id"], (await made(guild.owner, guild))["id"]
        await world.write(
            lambda call, mine=mine: call.tx.run("UPDATE emojis SET user_id = ? WHERE id = ?", actor.id, int(mine))
        )
        answer = await attempt(actor, guild, deed, mine, theirs)
        if deed in may:
            answer.ok()
        else:
            answer.refused(403, 50013)
    stranger = await world.user()
    for deed in DEEDS:
        emoji = (await made(guild.owner, guild))["id"]
        (await attempt(stranger, guild, deed, emoji, emoji)).refused(403, 50001)
    (await guild.owner.post("/guilds/1/emojis", json={"name": "fresh", "image": PNG})).refused(404, 10004)


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
        ({"image": media.uri(b"<svg/>", "image/svg+xml")}, "image", "IMAGE_INVALID"),
        ({"image": media.uri(media.png()[:50])}, "image", "IMAGE_INVALID"),
        ({"image": media.uri(media.bomb(30_000))}, "image", "IMAGE_INVALID"),
        ({"image": media.uri(media.png() + bytes(262_144))}, "image", "BINARY_TYPE_MAX_SIZE"),
        ({"roles": "x"}, "roles", "LIST_TYPE_CONVERT"),
    ],
    ids=str,
)
async def test_what_makes_no_emoji_is_named(world: World, body: Any, path: str, code: str) -> None:
    guild = await world.guild()
    answer = await guild.owner.post(f"/guilds/{guild.id}/emojis", json={"name": "party", "image": PNG} | body)
    assert answer.errors(path) == [code]
    assert (await guild.owner.get(f"/guilds/{guild.id}/emojis")).ok() == []


async def test_an_unknown_role_cannot_have_an_emoji_for_itself(world: World) -> None:
    guild, other = await world.guild(), await world.guild()
    theirs = await other.role("theirs")
    body = {"name": "party", "image": PNG, "roles": [str(theirs)]}
    (await guild.owner.post(f"/guilds/{guild.id}/emojis", json=body)).refused(404, 10011)
    emoji = await made(guild.owner, guild, roles=[str(guild.id)])
    assert emoji["roles"] == []


async def test_slots_grow_with_the_tier_and_are_counted_by_kind(world: World) -> None:
    guild = await world.guild()
    await fill(world, guild, 50)
    path = f"/guilds/{guild.id}/emojis"
    (await guild.owner.post(path, json={"name": "more", "image": PNG})).refused(400, 30008)
    await made(guild.owner, guild, image=GIF)
    await fill(world, guild, 49, animated=1)
    (await guild.owner.post(path, json={"name": "more", "image": GIF})).refused(400, 30018)
    await world.grant(guild, tier=1)
    await made(guild.owner, guild)
    await fill(world, guild, 49)
    (await guild.owner.post(path, json={"name": "more", "image": PNG})).refused(400, 30008)
    await world.grant(guild, "MORE_EMOJI")
    await made(guild.owner, guild)


async def test_a_role_that_goes_leaves_its_emoji_to_everybody(world: World) -> None:
    guild = await world.guild()
    role, other = await guild.role("wearers"), await guild.role("others")
    emoji = await made(guild.owner, guild, roles=[str(role), str(other)])
    session = await (await world.bot(guild)).connect()

    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{role}")).ok()

    assert (await session.next("GUILD_EMOJIS_UPDATE"))["emojis"][0]["roles"] == [str(other)]
    assert (await guild.owner.get(f"/guilds/{guild.id}/emojis/{emoji['id']}")).ok()["roles"] == [str(other)]


# Using them


async def react(actor: Actor, guild: Guild, emoji: Any, message: Any) -> Answer:
    """Be the first to react with an emoji."""
    path = f"/channels/{guild.general}/messages/{message['id']}/reactions/anything:{emoji['id']}/@me"
    return await actor.put(path)


async def test_a_reaction_shows_the_emoji_as_it_is_called(world: World) -> None:
    guild = await world.guild()
    emoji = await made(guild.owner, guild, image=GIF)
    said = await guild.say(guild.owner)
    session = await (await world.bot(guild)).connect()

    (await react(guild.owner, guild, emoji, said)).ok()

    shown = {"id": emoji["id"], "name": "party", "animated": True}
    assert (await session.next("MESSAGE_REACTION_ADD"))["emoji"] == shown
    message = (await guild.owner.get(f"/channels/{guild.general}/messages/{said['id']}")).ok()
    assert message["reactions"][0]["emoji"] == shown


async def test_an_emoji_of_elsewhere_needs_a_member_there_and_the_permission_here(world: World) -> None:
    bob = await world.user()
    home, away = await world.guild(None, bob), await world.guild(None, bob)
    emoji = await made(away.owner, away)
    said = await home.say(bob)

    (await react(home.owner, home, emoji, said)).refused(404, 10014)
    allowed = Permissions.DEFAULT_EVERYONE & ~Permissions.USE_EXTERNAL_EMOJIS
    (await home.owner.patch(f"/guilds/{home.id}/roles/{home.id}", json={"permissions": str(int(allowed))})).ok()
    (await react(bob, home, emoji, said)).refused(403, 50013)
    await home.allow(bob, Permissions.USE_EXTERNAL_EMOJIS)
    (await react(bob, home, emoji, said)).ok()
    # Who joins in needs nothing of the kind.
    (await react(home.owner, home, emoji, said)).ok()


async def test_an_emoji_kept_for_a_role_is_for_those_who_wear_it(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    role = await guild.role("wearers")
    emoji = await made(guild.owner, guild, roles=[str(role)])
    said = await guild.say(bob)

    (await react(bob, guild, emoji, said)).refused(403, 50013)
    await guild.give(bob, role)
    (await react(bob, guild, emoji, said)).ok()


# Of applications


async def test_an_application_has_emoji_of_its_own(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    path = f"/applications/{bot.application_id}/emojis"

    answer = await bot.post(path, json={"name": "logo", "image": PNG})

    assert answer.status == 201
    emoji = answer.ok()
    assert (emoji["name"], emoji["user"]["id"]) == ("logo", str(bot.id))
    assert (await bot.get(path)).ok() == {"items": [emoji]}
    assert (await bot.get(f"{path}/{emoji['id']}")).ok() == emoji
    renamed = (await bot.patch(f"{path}/{emoji['id']}", json={"name": "brand"})).ok()
    assert renamed == emoji | {"name": "brand"}
    assert (await bot.patch(f"{path}/{emoji['id']}", json={})).ok() == renamed
    assert (await picture(world, f"/emojis/{emoji['id']}.png")).size == (8, 8)
    assert (await bot.delete(f"{path}/{emoji['id']}")).status == 204
    (await bot.get(f"{path}/{emoji['id']}")).refused(404, 10014)
    assert (await bot.get(path)).ok() == {"items": []}


async def test_only_the_application_uses_its_emoji_and_needs_no_permission_to(world: World) -> None:
    guild = await world.guild()
    bot, other = await world.bot(guild), await world.bot(guild)
    emoji = (await bot.post(f"/applications/{bot.application_id}/emojis", json={"name": "logo", "image": PNG})).ok()
    allowed = Permissions.DEFAULT_EVERYONE & ~Permissions.USE_EXTERNAL_EMOJIS
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": str(int(allowed))})).ok()
    said = await guild.say(guild.owner)

    for actor in (other, guild.owner):
        (await react(actor, guild, emoji, said)).refused(404, 10014)
    (await react(bot, guild, emoji, said)).ok()
    (await guild.owner.get(f"/guilds/{guild.id}/emojis/{emoji['id']}")).refused(404, 10014)


async def test_an_applications_emoji_are_its_own_business(world: World) -> None:
    guild = await world.guild()
    bot, other = await world.bot(guild), await world.bot(guild)
    emoji = (await bot.post(f"/applications/{bot.application_id}/emojis", json={"name": "logo", "image": PNG})).ok()
    path = f"/applications/{bot.application_id}/emojis"
    for actor in (other, guild.owner):
        (await actor.get(path)).refused(403, 20012)
        (await actor.post(path, json={"name": "logo", "image": PNG})).refused(403, 20012)
        (await actor.get(f"{path}/{emoji['id']}")).refused(403, 20012)
        (await actor.patch(f"{path}/{emoji['id']}", json={})).refused(403, 20012)
        (await actor.delete(f"{path}/{emoji['id']}")).refused(403, 20012)
    (await other.get(f"/applications/{other.application_id}/emojis/{emoji['id']}")).refused(404, 10014)
    assert (await bot.post(path, json={"name": "x", "image": "y"})).errors("image") == ["IMAGE_INVALID"]


async def test_an_application_has_at_most_two_thousand(world: World) -> None:
    bot = await world.bot()

    def step(call: Any) -> None:
        rows = [(number + 1, bot.application_id, bot.id, "x", "y") for number in range(1999)]
        call.tx.run_many("INSERT INTO emojis (id, application_id, user_id, name, image) VALUES (?, ?, ?, ?, ?)", rows)

    await world.write(step)
    path = f"/applications/{bot.application_id}/emojis"
    (await bot.post(path, json={"name": "last", "image": PNG})).ok()
    (await bot.post(path, json={"name": "more", "image": PNG})).refused(400, 30008)


@pytest.mark.dated(changes.APPLICATION_EMOJIS)
async def test_applications_had_no_emoji_before_their_day(world: World) -> None:
    bot = await world.bot()
    path = f"/applications/{bot.application_id}/emojis"
    world.clock.set(changes.APPLICATION_EMOJIS.at_ms)
    assert (await bot.get(path)).ok() == {"items": []}
    world.clock.set(changes.APPLICATION_EMOJIS.at_ms - 1)
    assert (await bot.get(path)).status == 404
    assert (await bot.post(path, json={"name": "logo", "image": PNG})).status == 404


async def test_a_guild_that_goes_takes_its_expressions_along(world: World) -> None:
    guild = await world.guild()
    await made(guild.owner, guild)
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    left = await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM emojis"))
    assert left == 0
