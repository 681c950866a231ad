"""The API reference in a real browser: readable on phone and desktop, in light and dark, without policy violations."""

from typing import Any

import pytest

from tests.web.conftest import DESK, PHONE, Opener
from tests.web.test_accessibility import look
from tests.world import World

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(400)]


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "light"), (DESK, "dark")])
async def test_a_reader_navigates_the_reference(town: World, chromium: Opener, width: int, scheme: str) -> None:
    problems: list[str] = []
    async with chromium(width) as page:
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        await page.emulate_media(color_scheme=scheme)

        async def at(path: str) -> None:
            await page.wait_for_url(f"**{path}")
            await look(page, problems, path)

        # From the first page to an operation, to its response, to the type of a field.
        await page.goto(town.url)
        await page.get_by_role("link", name="API reference").click()
        await at("/docs")
        await page.locator(".shelf").get_by_role("link", name="Messages Creating, listing, editing").click()
        await at("/docs/resources/messages")
        section = page.locator("#create_message")
        assert await visible(section.get_by_text("at most 2,000 characters"))
        await section.get_by_role("link", name="Message", exact=True).click()
        await at("/docs/objects/Message")
        await page.get_by_role("link", name="Embed", exact=True).first.click()
        await at("/docs/objects/Embed")

        # And by search, which is a plain form.
        await page.get_by_label("Search the reference").fill("missing permissions")
        await page.get_by_role("button", name="Search").click()
        await at("/docs?q=missing+permissions")
        await page.get_by_role("link", name="MISSING_PERMISSIONS").first.click()
        await at("/docs/errors#MISSING_PERMISSIONS")
        operations = page.locator("#MISSING_PERMISSIONS details")
        await operations.locator("summary").click()
        await operations.get_by_role("link", name="create_guild_role", exact=True).click()
        await at("/docs/resources/roles#create_guild_role")
        assert await visible(page.locator("#create_guild_role pre"))

        for path in ("events", "gateway", "intents", "permissions", "scopes", "webhook-events", "changes", "enums"):
            await page.goto(f"{town.url}/docs/{path}")
            await at(f"/docs/{path}")
        await page.goto(f"{town.url}/docs/enums/ChannelType")
        await at("/docs/enums/ChannelType")

    assert problems == []


async def visible(locator: Any) -> bool:
    """Return whether an element is visible once the page has settled."""
    await locator.first.wait_for(state="visible")
    return True
