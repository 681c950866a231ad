"""Links that open an activity: quick ones, managed ones, and the page behind them."""

from typing import Any

import pytest

from hubbub.protocol.flags import ApplicationFlags
from tests.media import png, uri
from tests.pages import Browser
from tests.world import Actor, World

DAY = 86_400_000


def body(**more: Any) -> dict[str, Any]:
    """What a link takes."""
    return {"title": "Round two", "description": "Come and play", "image": uri(png(86, 48)), **more}


def of(bot: Actor, kind: str = "quick", link_id: str = "") -> str:
    """Where an application's links are."""
    return f"/applications/{bot.application_id}/{kind}-links/{link_id}"


async def test_a_quick_link_is_for_everybody_who_has_it_and_for_a_month(world: World) -> None:
    bot = await world.bot()
    player = await world.player(await world.user(), bot.application_id or 0, "identify")

    made = (await player.post(of(bot), json=body(custom_id="room-7"))).ok()
    kind, _, number = made["link_id"].partition("-")
    assert kind == "1"
    assert made == {
        "application_id": str(bot.application_id),
        "link_id": f"1-{number}",
        "title": "Round two",
        "description": "Come and play",
        "custom_id": "room-7",
        "asset_path": f"activity-links/{bot.application_id}/{number}.png",
    }
    assert (await world.request("GET", of(bot, "quick", made["link_id"]))).ok() == made
    assert (await world.request("GET", of(bot, "quick", number))).ok() == made
    picture = await world.request("GET", f"{world.url}/cdn/{made['asset_path']}")
    assert (picture.status, picture.headers["Content-Type"]) == (200, "image/png")
    # With the slash and without.
    assert (await bot.post(of(bot).rstrip("/"), json=body())).ok()["custom_id"] is None

    world.clock.advance(30 * DAY - 1)
    (await world.request("GET", of(bot, "quick", made["link_id"]))).ok()
    world.clock.advance(1)
    (await world.request("GET", of(bot, "quick", made["link_id"]))).refused(404, 0)
    (await bot.post(of(bot), json=body())).ok()
    assert await world.app.database.read(lambda tx: tx.value("SELECT COUNT(*) FROM activity_links")) == 1


async def test_only_the_applications_own_make_quick_links(world: World) -> None:
    bot, other, stranger = await world.bot(), await world.bot(), await world.user()
    player = await world.player(stranger, other.application_id or 0, "identify")

    for actor in (other, stranger, player):
        (await actor.post(of(bot), json=body())).refused(403, 20012)
    (await world.request("POST", of(bot), json=body())).refused(401, 0)
    for wrong in ("1-1", "0-1", "2-1", "x", "1-x", "1-" + "9" * 30):
        (await world.request("GET", of(bot, "quick", wrong))).refused(404, 0)


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("title", "", "BASE_TYPE_BAD_LENGTH"),
        ("title", "x" * 33, "BASE_TYPE_BAD_LENGTH"),
        ("description", "", "BASE_TYPE_BAD_LENGTH"),
        ("description", "x" * 65, "BASE_TYPE_BAD_LENGTH"),
        ("custom_id", "", "BASE_TYPE_BAD_LENGTH"),
        ("custom_id", "x" * 257, "BASE_TYPE_BAD_LENGTH"),
        ("image", "no picture", "IMAGE_INVALID"),
    ],
)
async def test_a_link_that_cannot_be_is_named(small_world: World, field: str, value: str, code: str) -> None:
    bot = await small_world.bot()

    for kind in ("quick", "managed"):
        answer = await bot.post(of(bot, kind), json=body(**{field: value}))
        assert len(answer.errors(field)) == 1
    if field != "image":
        assert answer.errors(field) == [code]
    made = (await bot.post(of(bot, "managed"), json=body())).ok()
    assert (await bot.patch(of(bot, "managed", made["link_id"]), json={field: value})).errors(field)


async def test_managed_links_are_kept_changed_and_taken_away(world: World) -> None:
    bot, stranger = await world.bot(), await world.user()
    made = (await bot.post(of(bot, "managed"), json=body())).ok()
    number = made["link_id"].removeprefix("0-")
    assert (made["asset_id"], made["custom_id"]) == (number, None)
    path = of(bot, "managed", made["link_id"])

    changed = (await bot.patch(path, json={"title": "Round three", "custom_id": "x", "image": uri(png(43, 24))})).ok()
    assert changed == {**made, "title": "Round three", "custom_id": "x"}
    assert (await bot.patch(path, json={"description": "New", "custom_id": None})).ok()["custom_id"] is None
    world.clock.advance(400 * DAY)
    kept = (await stranger.get(path)).ok()
    assert kept["description"] == "New"
    assert (await bot.get(of(bot, "managed"))).ok() == [kept]
    assert (
        await world.request("GET", f"{world.url}/cdn/activity-links/{bot.application_id}/{number}.png")
    ).status == 200
    (await stranger.get(of(bot, "managed"))).refused(403, 20012)
    (await stranger.post(of(bot, "managed"), json=body())).refused(403, 20012)
    (await stranger.patch(path, json={})).refused(403, 20012)
    (await stranger.delete(path)).refused(403, 20012)
    (await stranger.get(of(bot, "quick", made["link_id"]))).refused(404, 0)

    assert (await bot.delete(path)).status == 204
    (await bot.delete(path)).refused(404, 0)
    (await bot.patch(path, json={})).refused(404, 0)
    assert (await bot.get(of(bot, "managed"))).ok() == []


async def test_an_owner_keeps_a_hundred(small_world: World) -> None:
    bot = await small_world.bot()
    insert = "INSERT INTO activity_links (id, application_id, type, title, description, image) VALUES (?, ?, 0, 'x', 'x', 'x')"
    rows = [(number, bot.application_id) for number in range(1, 101)]
    await small_world.write(lambda call: call.tx.run_many(insert, rows))

    assert (await bot.post(of(bot, "managed"), json=body())).errors("title") == ["ACTIVITY_LINK_LIMIT"]


async def test_what_an_address_says_beats_the_link(world: World) -> None:
    bot, alice = await world.bot(flags=ApplicationFlags.EMBEDDED), await world.user()
    made = (await bot.post(of(bot), json=body(custom_id="room-7"))).ok()
    path = f"/activities/{bot.application_id}/link"

    async def opened(**query: str) -> tuple[Any, Any, Any]:
        got = (await world.request("GET", path, params=query)).ok()
        assert got["application"]["id"] == str(bot.application_id)
        return got["link"], got["custom_id"], got["referrer_id"]

    assert await opened() == (None, None, None)
    assert await opened(link_id=made["link_id"], referrer_id=str(alice.id)) == (made, "room-7", str(alice.id))
    assert await opened(link_id=made["link_id"], custom_id="room-8", referrer_id="me") == (made, "room-8", None)
    assert await opened(link_id="9-9", custom_id="room-8") == (None, "room-8", None)
    (await world.request("GET", "/activities/1/link")).refused(404, 10002)
    (await world.request("GET", f"/activities/{(await world.bot()).application_id}/link")).refused(404, 10002)


async def test_the_page_behind_a_link_shows_it_to_anybody(world: World) -> None:
    bot = await world.bot(name="Orchard", flags=ApplicationFlags.EMBEDDED)
    made = (await bot.post(of(bot), json=body(title="<b>Apples</b>", custom_id="x"))).ok()
    nobody = Browser(world)
    here = f"/activities/{bot.application_id}"

    page = await nobody.open(f"{here}?link_id={made['link_id']}&custom_id={'x' * 300}&referrer_id=1")
    assert page.status == 200
    assert "<b>Apples</b>Come and play" in page.text
    assert f'property="og:image" content="{world.url}/cdn/{made["asset_path"]}"' in page.body
    assert f'<img src="/cdn/{made["asset_path"]}"' in page.body
    assert "<script" not in page.body
    (login,) = [url for text, url in page.links if text == "Log in"]
    assert login.startswith("/login?next=/activities/")
    plain = await nobody.open(f"{here}?link_id=1-1")
    assert (plain.status, "Play together in a channel." in plain.text) == (200, True)
    assert (await nobody.open(f"/activities/{(await world.bot()).application_id}")).status == 404


async def test_links_go_with_their_application(world: World) -> None:
    alice = await world.user()
    application = (await alice.post("/applications", json={"name": "Game"})).ok()
    path = f"/applications/{application['id']}"
    (await alice.post(f"{path}/managed-links/", json=body())).ok()
    (await alice.post(f"{path}/quick-links/", json=body())).ok()

    (await alice.delete(path, json={})).ok()

    assert await world.app.database.read(lambda tx: tx.value("SELECT COUNT(*) FROM activity_links")) == 0
