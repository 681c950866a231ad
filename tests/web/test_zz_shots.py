import pytest
from tests.web.conftest import OpenPage
from tests.web.console_pages import create_console_content
from tests.world import World
pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(590)]

async def test_shots(web_world: World, open_page: OpenPage) -> None:
    content = await create_console_content(web_world)
    for width in (1440, 1024, 390):
        for scheme in ("light", "dark"):
            async with open_page(width) as page:
                await page.emulate_media(color_scheme=scheme)
                await page.context.add_cookies([{"name": "hubbub_session", "value": content.operator.token, "url": web_world.url}])
                for path in content.paths:
                    await page.goto(f"{web_world.url}/admin{path}")
                    name = path.strip("/").replace("/", "_").replace("?", "_") or "home"
                    over = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
                    if over > 0:
                        print("OVERFLOW", width, path, over)
                    await page.screenshot(path=f"/tmp/op/shots/{name}-{width}-{scheme}.png", full_page=True)
    print(content.paths)
