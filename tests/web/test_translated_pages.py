"""Accessibility of pages of the portal, the console and the chat client in German and Spanish."""

import pytest

from tests.media import data_uri, png
from tests.web.accessibility import record_problems
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH
from tests.web.console_pages import create_console_content
from tests.web.settings import accessibility_problems
from tests.world import Actor

pytestmark = pytest.mark.timeout(400)

PORTAL_SECTIONS = ("", "/bot", "/oauth2", "/webhooks", "/keys", "/testers", "/store")


async def create_portal_content(developer: Actor) -> list[str]:
    """Create an application with content, and return the paths of pages of the portal."""
    application_id = (await developer.post("/applications", json={"name": "Lighthouse"})).ok()["id"]
    path = f"/applications/{application_id}"
    (await developer.post(f"{path}/bot")).ok()
    (await developer.post(f"{path}/testers", json={"username": "bob"})).ok()
    (await developer.post(f"{path}/emojis", json={"name": "wave", "image": data_uri(png())})).ok()
    (await developer.post(f"{path}/skus", json={"type": 2, "name": "Gold"})).ok()
    (await developer.post(f"{path}/key-rollover")).ok()
    team_id = (await developer.post("/teams", json={"name": "Sailors"})).ok()["id"]
    (await developer.post(f"/teams/{team_id}/members", json={"username": "bob"})).ok()
    pages = [f"/developers/{application_id}{section}" for section in PORTAL_SECTIONS]
    return ["/developers", *pages, f"/developers/teams/{team_id}"]


@pytest.mark.parametrize(
    ("locale", "width", "scheme"), [("de", PHONE_WIDTH, "dark"), ("es-ES", DESKTOP_WIDTH, "light")]
)
async def test_translated_pages_are_accessible(platform: ChatPlatform, locale: str, width: int, scheme: str) -> None:
    world = platform.world
    alice, _ = await world.user("alice"), await world.user("bob")
    content = await create_console_content(world)
    portal_paths = await create_portal_content(alice)
    guild = await world.guild(alice)
    await guild.send_message(alice, "Ahoy")
    problems: list[str] = []
    async with platform.open_page(width, locale=locale) as page:
        await page.emulate_media(color_scheme=scheme)
        for user, paths in (
            (alice, portal_paths),
            (content.operator, [*(f"/admin{path}" for path in content.paths), "/admin/audit-log"]),
        ):
            (await user.patch("/users/@me", json={"locale": locale})).ok()
            await page.context.add_cookies([{"name": "hubbub_session", "value": user.token, "url": world.url}])
            for path in paths:
                await page.goto(world.url + path)
                await record_problems(page, problems, path, locale)
    async with platform.open_window(alice, general_path(guild), width=width, scheme=scheme, locale=locale) as window:
        await window.wait_message("Ahoy")
        problems += await accessibility_problems(window, locale)

    assert problems == []
