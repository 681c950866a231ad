"""URL maps of activities: order, validation errors, matching, and editing on the developer portal."""

from typing import Any

import pytest

from hubbub.server.core import url_maps
from hubbub.server.core.url_maps import MappedPath
from tests.pages import Browser
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")


def url_map_path(actor: Actor, application_id: int | None = None) -> str:
    """Return the path of an application's URL map."""
    return f"/applications/{application_id or actor.application_id}/proxy-config"


async def test_a_url_map_keeps_its_order(world: World) -> None:
    bot = await world.bot()
    mappings = [
        {"prefix": "/api/v2", "target": "new.example.org/two"},
        {"prefix": "/api", "target": "old.example.org:8443"},
        {"prefix": "/s/{name}", "target": "{name}.example.org/static"},
        {"prefix": "/", "target": "game.example.org"},
    ]

    assert (await bot.get(url_map_path(bot))).ok() == {"url_map": []}
    assert (await bot.post(url_map_path(bot), json={"url_map": mappings})).ok() == {"url_map": mappings}
    assert (await bot.get(url_map_path(bot))).ok() == {"url_map": mappings}
    (await bot.post(url_map_path(bot), json={"url_map": mappings[:1]})).ok()
    assert (await bot.get(url_map_path(bot))).ok() == {"url_map": mappings[:1]}


async def test_only_managers_of_an_application_access_its_url_map(world: World) -> None:
    bot, other_bot, stranger = await world.bot(), await world.bot(), await world.user()

    for actor in (other_bot, stranger):
        (await actor.get(url_map_path(bot))).rejected(403, 20012)
        (await actor.post(url_map_path(bot), json={"url_map": []})).rejected(403, 20012)
    (await stranger.get(url_map_path(bot, 1))).rejected(404, 10002)


async def test_trailing_slashes_are_removed(world: World) -> None:
    bot = await world.bot()
    mappings = [{"prefix": "/api/", "target": "game.example.org/dir/"}, {"prefix": "/", "target": "game.example.org/"}]

    stored_map = (await bot.post(url_map_path(bot), json={"url_map": mappings})).ok()["url_map"]

    assert stored_map == [
        {"prefix": "/api", "target": "game.example.org/dir"},
        {"prefix": "/", "target": "game.example.org"},
    ]


VALID_TARGET = "game.example.org"


@pytest.mark.parametrize(
    ("prefix", "target", "path", "code"),
    [
        ("api", VALID_TARGET, "prefix", "URL_MAPPING_PREFIX_INVALID"),
        ("/.proxy", VALID_TARGET, "prefix", "URL_MAPPING_PREFIX_RESERVED"),
        ("/.proxy/x", VALID_TARGET, "prefix", "URL_MAPPING_PREFIX_RESERVED"),
        ("/.platform", VALID_TARGET, "prefix", "URL_MAPPING_PREFIX_RESERVED"),
        ("/a//b", VALID_TARGET, "prefix", "URL_MAPPING_PATH_INVALID"),
        ("/a/../b", VALID_TARGET, "prefix", "URL_MAPPING_PATH_INVALID"),
        ("/a b", VALID_TARGET, "prefix", "URL_MAPPING_PATH_INVALID"),
        ("/a?b", VALID_TARGET, "prefix", "URL_MAPPING_PATH_INVALID"),
        ("/a%zz", VALID_TARGET, "prefix", "URL_MAPPING_PATH_INVALID"),
        ("/{Name}", VALID_TARGET, "prefix", "URL_MAPPING_PLACEHOLDER_INVALID"),
        ("/{a1}", VALID_TARGET, "prefix", "URL_MAPPING_PLACEHOLDER_INVALID"),
        ("/{a", VALID_TARGET, "prefix", "URL_MAPPING_PLACEHOLDER_INVALID"),
        ("/{a}-{b}", VALID_TARGET, "prefix", "URL_MAPPING_PLACEHOLDERS"),
        ("/{a}/{a}", VALID_TARGET, "prefix", "URL_MAPPING_PLACEHOLDER_TWICE"),
        ("/" + "a" * 256, VALID_TARGET, "prefix", "BASE_TYPE_BAD_LENGTH"),
        ("", VALID_TARGET, "prefix", "BASE_TYPE_BAD_LENGTH"),
        ("/a", "", "target", "BASE_TYPE_BAD_LENGTH"),
        ("/a", "https://game.example.org", "target", "URL_MAPPING_TARGET_SCHEME"),
        ("/a", "//game.example.org", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "user@game.example.org", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "user:word@game.example.org", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "game.example.org:0", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "game.example.org:70000", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "game.example.org:", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "-game.example.org", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "game..example.org", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "[nothing]", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "game.example.org?x=1", "target", "URL_MAPPING_TARGET_INVALID"),
        ("/a", "game.example.org/dir?x=1", "target", "URL_MAPPING_PATH_INVALID"),
        ("/a", "game.example.org/dir#x", "target", "URL_MAPPING_PATH_INVALID"),
        ("/a", "game.example.org/../x", "target", "URL_MAPPING_PATH_INVALID"),
        ("/a", "{name}.example.org", "target", "URL_MAPPING_PLACEHOLDER_UNKNOWN"),
        ("/{b}", "{b}.{c}.org", "target", "URL_MAPPING_PLACEHOLDER_UNKNOWN"),
        ("/a", "localhost:3000", "target", "URL_MAPPING_TARGET_PRIVATE"),
        ("/a", "game.localhost", "target", "URL_MAPPING_TARGET_PRIVATE"),
        ("/a", "127.0.0.1:3000", "target", "URL_MAPPING_TARGET_PRIVATE"),
        ("/a", "127.1", "target", "URL_MAPPING_TARGET_PRIVATE"),
        ("/a", "[::1]:3000", "target", "URL_MAPPING_TARGET_PRIVATE"),
        ("/a", "[::ffff:10.0.0.1]", "target", "URL_MAPPING_TARGET_PRIVATE"),
        ("/a", "169.254.169.254", "target", "URL_MAPPING_TARGET_PRIVATE"),
        ("/{a}", "{a}", "target", "URL_MAPPING_TARGET_PRIVATE"),
    ],
)
async def test_an_invalid_mapping_is_reported(
    small_world: World, prefix: str, target: str, path: str, code: str
) -> None:
    bot = await small_world.bot()
    mappings = [{"prefix": "/good", "target": "game.example.org"}, {"prefix": prefix, "target": target}]

    response = await bot.post(url_map_path(bot), json={"url_map": mappings})

    assert response.errors(f"url_map.1.{path}") == [code]
    assert list(response.json["errors"]["url_map"]) == ["1"]
    assert (await bot.get(url_map_path(bot))).ok() == {"url_map": []}


async def test_several_errors_are_reported_together(small_world: World) -> None:
    bot = await small_world.bot()
    mappings = [{"prefix": "/a", "target": "a.example.org"}, {"prefix": "/a/", "target": "http://b.example.org"}]

    response = await bot.post(url_map_path(bot), json={"url_map": [*mappings, {"prefix": "b"}]})
    assert response.errors("url_map.2.target") == ["BASE_TYPE_REQUIRED"]
    response = await bot.post(url_map_path(bot), json={"url_map": mappings})
    assert response.errors("url_map.1.prefix") == ["URL_MAPPING_PREFIX_TAKEN"]
    assert response.errors("url_map.1.target") == ["URL_MAPPING_TARGET_SCHEME"]


async def test_a_url_map_has_at_most_50_mappings(small_world: World) -> None:
    bot = await small_world.bot()
    too_many_mappings = [{"prefix": f"/{number}", "target": "a.example.org"} for number in range(51)]
    assert (await bot.post(url_map_path(bot), json={"url_map": too_many_mappings})).errors("url_map") == [
        "BASE_TYPE_BAD_LENGTH"
    ]
    (await bot.post(url_map_path(bot), json={"url_map": too_many_mappings[:50]})).ok()


async def test_private_targets_are_accepted_if_allowed(private_targets_world: World) -> None:
    bot = await private_targets_world.bot()
    mappings = [{"prefix": "/", "target": "localhost:3000"}, {"prefix": "/b", "target": "[::1]:3000/x"}]

    assert (await bot.post(url_map_path(bot), json={"url_map": mappings})).ok() == {"url_map": mappings}


async def test_a_url_map_is_deleted_with_its_application(world: World) -> None:
    alice = await world.user()
    application = (await alice.post("/applications", json={"name": "Game"})).ok()
    path = f"/applications/{application['id']}"
    (await alice.post(f"{path}/proxy-config", json={"url_map": [{"prefix": "/", "target": "a.example.org"}]})).ok()

    (await alice.delete(path, json={})).ok()

    count = "SELECT COUNT(*) FROM activity_url_mappings"
    assert await world.app.database.read(lambda tx: tx.value(count)) == 0


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", MappedPath("", "game.example.org", "/www", "/")),
        ("/apis", MappedPath("", "game.example.org", "/www", "/apis")),
        ("/api", MappedPath("/api", "api.example.org", "", "")),
        ("/api/", MappedPath("/api", "api.example.org", "", "/")),
        ("/api/x/y", MappedPath("/api", "api.example.org", "", "/x/y")),
        ("/api%2Fx", MappedPath("", "game.example.org", "/www", "/api%2Fx")),
        ("/s/one/a.png", MappedPath("/s/one", "one.example.org", "/in/one", "/a.png")),
        ("/s/one.two/a.png", MappedPath("", "game.example.org", "/www", "/s/one.two/a.png")),
        ("/s/" + "a" * 5000 + "!", MappedPath("", "game.example.org", "/www", "/s/" + "a" * 5000 + "!")),
        ("/deep/a/b/c", MappedPath("/deep/a/b", "a-b.example.org", "", "/c")),
    ],
)
def test_the_first_matching_mapping_applies(path: str, expected: Any) -> None:
    url_map = [
        ("/api", "api.example.org"),
        ("/s/{name}", "{name}.example.org/in/{name}"),
        ("/deep/{one}/{two}", "{one}-{two}.example.org"),
        ("/", "game.example.org/www"),
        ("/api/x", "never.example.org"),
    ]

    mapped_path = url_maps.find(url_map, path)

    assert mapped_path == expected
    assert url_maps.find(url_map[:3], "/other") is None


async def test_a_url_map_is_edited_on_the_portal(world: World) -> None:
    alice = await world.user()
    application = (await alice.post("/applications", json={"name": "Game"})).ok()
    browser = Browser(world)
    browser.sign_in_as(alice)
    path = f"/developers/{application['id']}/interactions"

    page = await browser.submit(
        await browser.open(path), "Save URL map", url_map="/api api.example.org\n\n/\t game.example.org  \n"
    )
    assert "Saved." in page.text
    stored_map = (await alice.get(f"/applications/{application['id']}/proxy-config")).ok()["url_map"]
    assert stored_map == [
        {"prefix": "/api", "target": "api.example.org"},
        {"prefix": "/", "target": "game.example.org"},
    ]
    assert "/api api.example.org\n/ game.example.org" in page.body

    page = await browser.submit(page, "Save URL map", url_map="/ game.example.org\n/x\nx https://a.example.org")
    assert page.status == 400
    assert "Line 2, target" in page.text
    page = await browser.submit(page, "Save URL map", url_map="/ game.example.org\nx https://a.example.org")
    assert "Line 2, prefix: A prefix must be a path" in page.text
    assert "Line 2, target: A target must be a host without" in page.text
    assert (await alice.get(f"/applications/{application['id']}/proxy-config")).ok()["url_map"] == stored_map
