"""Activity links: quick links, managed links, and the page that they open."""

from typing import Any

import pytest

from hubbub.protocol.flags import ApplicationFlags
from tests.media import data_uri, png
from tests.pages import Browser
from tests.world import Actor, World

DAY_MS = 86_400_000


def link_body(**fields: Any) -> dict[str, Any]:
    """Return a valid link body with these changes."""
    return {"title": "Round two", "description": "Come and play", "image": data_uri(png(86, 48)), **fields}


def links_path(bot: Actor, kind: str = "quick", link_id: str = "") -> str:
    """Return the path of an application's links, or of one link."""
    return f"/applications/{bot.application_id}/{kind}-links/{link_id}"


async def test_a_quick_link_is_public_and_expires_after_30_days(world: World) -> None:
    bot = await world.bot()
    player = await world.bearer(await world.user(), bot.application_id or 0, "identify")

    link = (await player.post(links_path(bot), json=link_body(custom_id="room-7"))).ok()
    # A link ID starts with the type of the link: 0 for managed, 1 for quick.
    link_type, _, number = link["link_id"].partition("-")
    assert link_type == "1"
    assert link == {
        "application_id": str(bot.application_id),
        "link_id": f"1-{number}",
        "title": "Round two",
        "description": "Come and play",
        "custom_id": "room-7",
        "asset_path": f"activity-links/{bot.application_id}/{number}.png",
    }
    assert (await world.request("GET", links_path(bot, "quick", link["link_id"]))).ok() == link
    assert (await world.request("GET", links_path(bot, "quick", number))).ok() == link
    image = await world.request("GET", f"{world.url}/cdn/{link['asset_path']}")
    assert (image.status, image.headers["Content-Type"]) == (200, "image/png")
    # The trailing slash is optional.
    assert (await bot.post(links_path(bot).rstrip("/"), json=link_body())).ok()["custom_id"] is None

    world.clock.advance(30 * DAY_MS - 1)
    (await world.request("GET", links_path(bot, "quick", link["link_id"]))).ok()
    world.clock.advance(1)
    (await world.request("GET", links_path(bot, "quick", link["link_id"]))).rejected(404, 0)
    # Creating a link deletes those that have expired.
    (await bot.post(links_path(bot), json=link_body())).ok()
    assert await world.app.database.read(lambda tx: tx.value("SELECT COUNT(*) FROM activity_links")) == 1


async def test_only_the_application_creates_quick_links(world: World) -> None:
    bot, other_bot, stranger = await world.bot(), await world.bot(), await world.user()
    player = await world.bearer(stranger, other_bot.application_id or 0, "identify")

    for actor in (other_bot, stranger, player):
        (await actor.post(links_path(bot), json=link_body())).rejected(403, 20012)
    (await world.request("POST", links_path(bot), json=link_body())).rejected(401, 0)


async def test_an_unknown_or_invalid_link_id_is_not_found(small_world: World) -> None:
    bot = await small_world.bot()

    for link_id in ("1-1", "0-1", "2-1", "x", "1-x", "1-" + "9" * 30):
        (await small_world.request("GET", links_path(bot, "quick", link_id))).rejected(404, 0)


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
async def test_an_invalid_link_field_is_reported(small_world: World, field: str, value: str, code: str) -> None:
    bot = await small_world.bot()

    for kind in ("quick", "managed"):
        response = await bot.post(links_path(bot, kind), json=link_body(**{field: value}))
        assert response.errors(field) == [code]
    link = (await bot.post(links_path(bot, "managed"), json=link_body())).ok()
    assert (await bot.patch(links_path(bot, "managed", link["link_id"]), json={field: value})).errors(field)


async def test_managed_links_are_stored_updated_and_deleted(world: World) -> None:
    bot, stranger = await world.bot(), await world.user()
    link = (await bot.post(links_path(bot, "managed"), json=link_body())).ok()
    number = link["link_id"].removeprefix("0-")
    assert (link["asset_id"], link["custom_id"]) == (number, None)
    path = links_path(bot, "managed", link["link_id"])

    updated_link = (
        await bot.patch(path, json={"title": "Round three", "custom_id": "x", "image": data_uri(png(43, 24))})
    ).ok()
    assert updated_link == {**link, "title": "Round three", "custom_id": "x"}
    assert (await bot.patch(path, json={"description": "New", "custom_id": None})).ok()["custom_id"] is None
    world.clock.advance(400 * DAY_MS)
    stored_link = (await stranger.get(path)).ok()
    assert stored_link["description"] == "New"
    assert (await bot.get(links_path(bot, "managed"))).ok() == [stored_link]
    assert (
        await world.request("GET", f"{world.url}/cdn/activity-links/{bot.application_id}/{number}.png")
    ).status == 200
    (await stranger.get(links_path(bot, "managed"))).rejected(403, 20012)
    (await stranger.post(links_path(bot, "managed"), json=link_body())).rejected(403, 20012)
    (await stranger.patch(path, json={})).rejected(403, 20012)
    (await stranger.delete(path)).rejected(403, 20012)
    (await stranger.get(links_path(bot, "quick", link["link_id"]))).rejected(404, 0)

    assert (await bot.delete(path)).status == 204
    (await bot.delete(path)).rejected(404, 0)
    (await bot.patch(path, json={})).rejected(404, 0)
    assert (await bot.get(links_path(bot, "managed"))).ok() == []


async def test_an_application_has_at_most_100_managed_links(small_world: World) -> None:
    bot = await small_world.bot()
    insert = "INSERT INTO activity_links (id, application_id, type, title, description, image) VALUES (?, ?, 0, 'x', 'x', 'x')"
    rows = [(number, bot.application_id) for number in range(1, 101)]
    await small_world.write(lambda call: call.tx.run_many(insert, rows))

    assert (await bot.post(links_path(bot, "managed"), json=link_body())).errors("title") == ["ACTIVITY_LINK_LIMIT"]


async def test_url_parameters_override_the_link(world: World) -> None:
    bot, alice = await world.bot(flags=ApplicationFlags.EMBEDDED), await world.user()
    link = (await bot.post(links_path(bot), json=link_body(custom_id="room-7"))).ok()
    path = f"/activities/{bot.application_id}/link"

    async def open_link(**query: str) -> tuple[Any, Any, Any]:
        body = (await world.request("GET", path, params=query)).ok()
        assert body["application"]["id"] == str(bot.application_id)
        return body["link"], body["custom_id"], body["referrer_id"]

    assert await open_link() == (None, None, None)
    assert await open_link(link_id=link["link_id"], referrer_id=str(alice.id)) == (link, "room-7", str(alice.id))
    assert await open_link(link_id=link["link_id"], custom_id="room-8", referrer_id="me") == (link, "room-8", None)
    assert await open_link(link_id="9-9", custom_id="room-8") == (None, "room-8", None)
    (await world.request("GET", "/activities/1/link")).rejected(404, 10002)
    (await world.request("GET", f"/activities/{(await world.bot()).application_id}/link")).rejected(404, 10002)


async def test_the_page_of_a_link_is_public(world: World) -> None:
    bot = await world.bot(name="Orchard", flags=ApplicationFlags.EMBEDDED)
    link = (await bot.post(links_path(bot), json=link_body(title="<b>Apples</b>", custom_id="x"))).ok()
    browser = Browser(world)
    path = f"/activities/{bot.application_id}"

    page = await browser.open(f"{path}?link_id={link['link_id']}&custom_id={'x' * 300}&referrer_id=1")
    assert page.status == 200
    assert "<b>Apples</b>Come and play" in page.text
    assert f'property="og:image" content="{world.url}/cdn/{link["asset_path"]}"' in page.body
    assert f'<img src="/cdn/{link["asset_path"]}"' in page.body
    assert "<script" not in page.body
    (login,) = [url for text, url in page.links if text == "Log in"]
    assert login.startswith("/login?next=/activities/")
    page_without_link = await browser.open(f"{path}?link_id=1-1")
    assert (page_without_link.status, "Play together in a channel." in page_without_link.text) == (200, True)
    assert (await browser.open(f"/activities/{(await world.bot()).application_id}")).status == 404


async def test_links_are_deleted_with_their_application(world: World) -> None:
    alice = await world.user()
    application = (await alice.post("/applications", json={"name": "Game"})).ok()
    path = f"/applications/{application['id']}"
    (await alice.post(f"{path}/managed-links/", json=link_body())).ok()
    (await alice.post(f"{path}/quick-links/", json=link_body())).ok()

    (await alice.delete(path, json={})).ok()

    assert await world.app.database.read(lambda tx: tx.value("SELECT COUNT(*) FROM activity_links")) == 0
