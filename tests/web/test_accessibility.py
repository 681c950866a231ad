"""Accessibility of the pages outside of the chat client, the skip link, and styles that the policy allows."""

import pytest

from hubbub.protocol.enums import SkuType
from tests.oauth import create_application
from tests.pages import PASSWORD
from tests.server.places.invites import create_invite
from tests.server.places.templates import create_template
from tests.server.play.purchases import publish_sku
from tests.server.talk.uploads import PNG, send_files
from tests.web.accessibility import record_problems
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH, OpenPage
from tests.world import Actor, World

pytestmark = pytest.mark.timeout(400)

EMBED = {"title": "Tides", "description": "High at noon.", "fields": [{"name": "Low", "value": "At six"}]}


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_every_page_is_accessible(web_world: World, open_page: OpenPage, width: int, scheme: str) -> None:
    client = await create_application(
        web_world, name="The Long Winter of Orchard Keep", redirect_uris=("http://127.0.0.1/cb",)
    )
    client.redirect_uri = "http://127.0.0.1/cb"
    problems: list[str] = []
    bot = await web_world.bot(name="Orchard")
    gold_sku_id, _ = (
        await publish_sku(bot, name="Gold"),
        await publish_sku(bot, SkuType.DURABLE, name="A hat for the harvest"),
    )
    store_path = f"/application-directory/{bot.application_id}/store"
    guild = await web_world.guild(await web_world.user("nora"), name="The Guild of All Harbours and Lighthouses")
    invite_path = f"/invite/{(await create_invite(guild.owner, guild.general))['code']}"
    template_path = f"/template/{(await create_template(guild, description='For a crew.'))['code']}"
    message = await guild.send_message(
        guild.owner, f"{'unbroken' * 30} https://example.com/{'a' * 200} <#{guild.general}>"
    )
    await guild.send_message(guild.owner, "Yes.", message_reference={"message_id": message["id"]}, embeds=[EMBED])
    (
        await send_files(guild.owner, f"/channels/{guild.general}/messages", ("cat.png", PNG), ("notes.txt", b"hello"))
    ).ok()
    async with open_page(width) as page:
        await page.emulate_media(color_scheme=scheme)
        # Conversation pages are shown without scripts: the chat client has its own test.
        await page.route("**/bootstrap.js", lambda route: route.abort())

        async def check_path(path: str) -> None:
            await page.goto(web_world.url + path)
            await record_problems(page, problems, path.partition("?")[0])

        await check_path("/")
        await check_path(store_path)
        await check_path(invite_path)
        await check_path(template_path)
        await check_path("/invite/nothing")
        await check_path("/login")
        await page.get_by_role("button", name="Log in").click()
        await page.fill("#field-login", "nobody")
        await page.fill("#field-password", "not this one")
        await page.get_by_role("button", name="Log in").click()
        await record_problems(page, problems, "login rejected")
        await check_path("/register")
        await page.fill("#field-username", "everyone")
        await page.fill("#field-password", "short")
        await page.get_by_role("button", name="Create account").click()
        await record_problems(page, problems, "register rejected")
        await page.fill("#field-username", "mary")
        await page.fill("#field-password", PASSWORD)
        await page.get_by_role("button", name="Create account").click()
        await page.wait_for_url("**/app")
        token = next(cookie["value"] for cookie in await page.context.cookies() if cookie["name"] == "hubbub_session")
        await web_world.guild(Actor(web_world, 0, token, "mary"), name="Town Square")
        await check_path("/settings/account")
        await check_path("/settings/account/second-factor")
        await check_path("/settings/account/delete")
        await check_path("/settings/apps")
        await check_path("/settings/subscriptions")
        await check_path(client.authorize_path("identify guilds sdk.social_layer"))
        await check_path(client.authorize_path("webhook.incoming"))
        await check_path(f"/oauth2/authorize?client_id={client.id}&scope=bot&permissions={(1 << 41) - 1}")
        await check_path(client.authorize_path("wings"))
        await check_path("/oauth2/authorized")
        await check_path("/activate?user_code=NOPE")
        await page.get_by_role("button", name="Continue").click()
        await record_problems(page, problems, "activate rejected")
        device = (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()
        await page.fill("#field-user_code", device["user_code"])
        await page.get_by_role("button", name="Continue").click()
        await record_problems(page, problems, "device")
        await page.get_by_role("button", name="Authorize").click()
        await record_problems(page, problems, "device done")
        await check_path("/settings/apps")
        await check_path(store_path)
        await check_path(f"{store_path}/{gold_sku_id}")
        await page.get_by_role("button", name="Subscribe to Gold").click()
        await record_problems(page, problems, "purchased")
        await check_path("/")
        await check_path("/settings/subscriptions")
        await page.get_by_role("link", name="Cancel Gold").click()
        await record_problems(page, problems, "cancel")
        await page.get_by_role("button", name="Cancel subscription").click()
        await record_problems(page, problems, "canceled")
        await check_path("/app")
        await check_path(template_path)
        await check_path(invite_path)
        await page.get_by_role("button", name="Accept invite").click()
        await page.wait_for_url("**/app/channels/**")
        await record_problems(page, problems, "joined")
        await check_path(f"/app/channels/{guild.id}")
        await check_path(f"/app/channels/{guild.id}/{guild.general}/{message['id']}")
        await page.fill("#field-content", "Hello, all of you")
        await page.get_by_role("button", name="Send").click()
        await page.wait_for_url("**#message-*")
        await record_problems(page, problems, "message")
        await check_path("/app")
        await check_path(invite_path)
        await check_path("/app/channels/@me/1")

    assert problems == []


async def test_the_first_tab_stop_is_the_skip_link(web_world: World, open_page: OpenPage) -> None:
    async with open_page() as page:
        await page.goto(f"{web_world.url}/oauth2/authorized")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to content"
        await page.keyboard.press("Enter")

        assert await page.evaluate("document.activeElement.id") == "content"


async def test_pages_have_styles_and_no_policy_violations(web_world: World, open_page: OpenPage) -> None:
    console_lines: list[str] = []
    async with open_page() as page:
        page.on("console", lambda message: console_lines.append(message.text))
        await page.goto(f"{web_world.url}/login")

        assert await page.evaluate("getComputedStyle(document.querySelector('.button')).borderRadius") != "0px"
        assert await page.evaluate("document.querySelector('.brand img').naturalWidth") > 0
    assert [text for text in console_lines if "Content Security Policy" in text] == []
