"""The home page, the page of unknown paths, and the redirect of /settings."""

import aiohttp

from hubbub.server.app import App
from hubbub.server.core.config_sections import WebConfig
from tests.pages import Browser
from tests.world import World, small_config


async def test_the_home_page_describes_the_server_and_its_links(world: World) -> None:
    browser = Browser(world)

    page = await browser.open("/")

    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "Welcome to Hubbub" in page.text
    assert page.text.index("Create an account") < page.text.index("For developers")
    assert f"API {world.url}/api/v10" in page.text
    assert f"Gateway ws{world.url.removeprefix('http')}/gateway" in page.text
    assert {"/login", "/register", "/developers", "/api/openapi.json"} <= {url for _, url in page.links}
    for _, url in page.links:
        if url.startswith("/"):
            assert (await browser.open(url)).status == 200, url


async def test_search_engines_are_asked_to_leave_out_private_paths(world: World) -> None:
    page = await Browser(world).open("/robots.txt")

    assert (page.status, page.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    lines = page.body.splitlines()
    assert lines[0] == "User-agent: *"
    assert {"Disallow: /app", "Disallow: /admin", "Disallow: /invite/"} <= set(lines)
    assert not {"Disallow: /", "Disallow: /docs", "Disallow: /terms"} & set(lines)


async def test_the_home_page_links_to_pages_of_a_signed_in_user(world: World) -> None:
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    page = await browser.open("/")

    own = {
        url for text, url in page.links if text in ("Your account", "Open the chat", "Subscriptions", "Connected apps")
    }
    assert own == {"/settings/account", "/app", "/settings/subscriptions", "/settings/apps"}
    assert "/login" not in {url for _, url in page.links}
    for url in own:
        assert (await browser.open(url)).status == 200


async def test_the_home_page_has_no_registration_link_if_disabled() -> None:
    app = App(small_config(allow_registration=False))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            page = await Browser(World(app, client)).open("/")
    finally:
        await app.stop()

    assert {"/login", "/register"} & {url for _, url in page.links} == {"/login"}


async def test_the_home_page_has_the_name_and_description_of_the_server() -> None:
    web = WebConfig(server_name="Harbor <Club>", server_description="For people who sail.")
    app = App(small_config(web=web))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            page = await Browser(World(app, client)).open("/")
    finally:
        await app.stop()

    assert "Welcome to Harbor <Club> For people who sail." in page.text


async def test_the_home_page_opens_invites_by_link_and_by_code(world: World) -> None:
    guild = await world.guild(name="Sailors")
    code = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()["code"]
    browser = Browser(world)
    page = await browser.open("/")

    for text in (code, f"{world.url}/invite/{code}", f" {world.url}/invite/{code}/ "):
        assert "Sailors" in (await browser.submit(page, "Show invite", code=text)).text
    assert (await browser.submit(page, "Show invite", code="../login")).url == "/invite/login"
    assert (await browser.submit(page, "Show invite", code="")).url == "/"


async def test_unknown_paths_respond_with_a_page_or_json(world: World) -> None:
    browser = Browser(world)

    for path in ("/nowhere", "/developers/", "/settings/nothing?x=1"):
        page = await browser.request("GET", path, headers={"Accept": "text/html,*/*;q=0.8"})
        assert (page.status, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        assert "This page does not exist. Check the URL." in page.text
        links = dict(page.links)
        assert (links["Log in"], links["Home page"]) == ("/login", "/")
    browser.sign_in_as(await world.user())
    page = await browser.request("GET", "/nowhere", headers={"Accept": "text/html"})
    assert (dict(page.links)["Open the chat"], dict(page.links)["Home page"]) == ("/app", "/")
    for method, path, headers in (
        ("GET", "/nowhere", {"Accept": "*/*"}),
        ("POST", "/nowhere", {"Accept": "text/html"}),
        ("GET", "/api/v10/nowhere", {"Accept": "text/html"}),
    ):
        response = await browser.request(method, path, headers=headers)
        assert (response.status, response.headers["Content-Type"]) == (404, "application/json")


async def test_settings_redirect_to_the_account_page(world: World) -> None:
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    assert (await browser.open("/settings")).url == "/settings/account"
