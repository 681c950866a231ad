"""Accessibility of every page: field labels, heading order, phone layout and color contrast."""

from typing import Any

import pytest

from hubbub.protocol.enums import SkuType
from tests.oauth import create_application
from tests.pages import PASSWORD
from tests.server.places.invites import create_invite as invite_to
from tests.server.places.templates import create_template
from tests.server.play.purchases import publish_sku
from tests.server.talk.uploads import PNG, send_files
from tests.web.conftest import DESK, PHONE, Opener
from tests.world import Actor, World

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(400)]

EMBED = {"title": "Tides", "description": "High at noon.", "fields": [{"name": "Low", "value": "At six"}]}

# Runs in the page: problems as sentences.
AUDIT = """() => {
  const problems = [];
  const seen = element => {
    const style = getComputedStyle(element);
    if (style.visibility === "hidden" || style.display === "none") return false;
    return !element.closest("[aria-hidden=true], details:not([open]) > :not(summary)");
  };
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!seen(field)) continue;
    if (!field.labels.length && !field.getAttribute("aria-label")) problems.push(`no label: ${field.outerHTML}`);
    for (const id of (field.getAttribute("aria-describedby") || "").split(" ").filter(Boolean))
      if (!document.getElementById(id)) problems.push(`described by nothing: ${field.outerHTML}`);
  }
  for (const control of document.querySelectorAll("button, a[href]"))
    if (seen(control) && !control.textContent.trim() && !control.getAttribute("aria-label"))
      problems.push(`no name: ${control.outerHTML}`);
  for (const image of document.querySelectorAll("img")) if (!image.hasAttribute("alt")) problems.push(`no alt: ${image.outerHTML}`);
  const headings = [...document.querySelectorAll("h1, h2, h3, h4")].filter(seen).map(heading => Number(heading.tagName[1]));
  if (headings.filter(level => level === 1).length !== 1 || headings[0] !== 1) problems.push(`headings: ${headings}`);
  headings.forEach((level, at) => { if (at && level > headings[at - 1] + 1) problems.push(`a heading is skipped: ${headings}`); });
  const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
  for (const id of new Set(ids)) if (ids.filter(each => each === id).length > 1) problems.push(`twice the id ${id}`);
  for (const tag of ["main", "header", "footer"])
    if (document.querySelectorAll(`body > ${tag}`).length !== 1) problems.push(`landmark: ${tag}`);
  if (document.documentElement.lang !== "en") problems.push("no language");
  if (!document.title) problems.push("no title");
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const color = rgb(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] > 0.99) return color;
    }
    return [255, 255, 255];
  };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    if (!words.currentNode.textContent.trim() || !seen(element) || element.closest(".skip, .visually-hidden")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [luminance(rgb(style.color)), luminance(behind(element))].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${words.currentNode.textContent.trim()}`);
  }
  for (const control of document.querySelectorAll("button, .button, input:not([type=hidden]), select, nav a")) {
    if (!seen(control) || control.closest(".visually-hidden") || control.matches(".visually-hidden, .link")) continue;
    const box = control.getBoundingClientRect();
    if (box.height && box.height < 18) problems.push(`too small to touch (${box.height}): ${control.outerHTML}`);
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
    problems.push(`scrolls sideways: ${document.documentElement.scrollWidth} in ${document.documentElement.clientWidth}`);
  return problems;
}"""


async def look(page: Any, problems: list[str], name: str) -> None:
    """Record the problems of the current page."""
    # A click waits until the next page begins to load, not until it has loaded.
    await page.wait_for_load_state()
    problems += [f"{name}: {problem}" for problem in await page.evaluate(AUDIT)]


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESK, "light")])
async def test_every_page_is_accessible(town: World, chromium: Opener, width: int, scheme: str) -> None:
    client = await create_application(
        town, name="The Long Winter of Orchard Keep", redirect_uris=("http://127.0.0.1/cb",)
    )
    client.redirect_uri = "http://127.0.0.1/cb"
    problems: list[str] = []
    bot = await town.bot(name="Orchard")
    gold, _ = await publish_sku(bot, name="Gold"), await publish_sku(bot, SkuType.DURABLE, name="A hat for the harvest")
    store = f"/application-directory/{bot.application_id}/store"
    square = await town.guild(await town.user("nora"), name="The Guild of All Harbours and Lighthouses")
    invite = f"/invite/{(await invite_to(square.owner, square.general))['code']}"
    shape = f"/template/{(await create_template(square, description='For a crew.'))['code']}"
    said = await square.send_message(
        square.owner, f"{'unbroken' * 30} https://example.com/{'a' * 200} <#{square.general}>"
    )
    await square.send_message(square.owner, "Yes.", message_reference={"message_id": said["id"]}, embeds=[EMBED])
    (
        await send_files(
            square.owner, f"/channels/{square.general}/messages", ("cat.png", PNG), ("notes.txt", b"hello")
        )
    ).ok()
    async with chromium(width) as page:
        await page.emulate_media(color_scheme=scheme)
        # The conversation pages without scripts: the chat client has its own test.
        await page.route("**/bootstrap.js", lambda route: route.abort())

        async def visit(path: str) -> None:
            await page.goto(town.url + path)
            await look(page, problems, path.partition("?")[0])

        await visit("/")
        await visit(store)
        await visit(invite)
        await visit(shape)
        await visit("/invite/nothing")
        await visit("/login")
        await page.get_by_role("button", name="Log in").click()
        await page.fill("#field-login", "nobody")
        await page.fill("#field-password", "not this one")
        await page.get_by_role("button", name="Log in").click()
        await look(page, problems, "login refused")
        await visit("/register")
        await page.fill("#field-username", "everyone")
        await page.fill("#field-password", "short")
        await page.get_by_role("button", name="Create account").click()
        await look(page, problems, "register refused")
        await page.fill("#field-username", "mary")
        await page.fill("#field-password", PASSWORD)
        await page.get_by_role("button", name="Create account").click()
        await page.wait_for_url("**/settings/account")
        token = next(each["value"] for each in await page.context.cookies() if each["name"] == "hubbub_session")
        await town.guild(Actor(town, 0, token, "mary"), name="Town Square")
        await visit("/settings/account")
        await visit("/settings/account/second-factor")
        await visit("/settings/account/delete")
        await visit("/settings/apps")
        await visit("/settings/subscriptions")
        await visit(client.authorize_path("identify guilds sdk.social_layer"))
        await visit(client.authorize_path("webhook.incoming"))
        await visit(f"/oauth2/authorize?client_id={client.id}&scope=bot&permissions={(1 << 41) - 1}")
        await visit(client.authorize_path("wings"))
        await visit("/oauth2/authorized")
        await visit("/activate?user_code=NOPE")
        await page.get_by_role("button", name="Continue").click()
        await look(page, problems, "activate refused")
        device = (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()
        await page.fill("#field-user_code", device["user_code"])
        await page.get_by_role("button", name="Continue").click()
        await look(page, problems, "device")
        await page.get_by_role("button", name="Authorize").click()
        await look(page, problems, "device done")
        await visit("/settings/apps")
        await visit(store)
        await visit(f"{store}/{gold}")
        await page.get_by_role("button", name="Subscribe to Gold").click()
        await look(page, problems, "bought")
        await visit("/")
        await visit("/settings/subscriptions")
        await page.get_by_role("link", name="Cancel Gold").click()
        await look(page, problems, "cancel")
        await page.get_by_role("button", name="Cancel subscription").click()
        await look(page, problems, "canceled")
        await visit("/app")
        await visit(shape)
        await visit(invite)
        await page.get_by_role("button", name="Accept invite").click()
        await page.wait_for_url("**/app/channels/**")
        await look(page, problems, "came in")
        await visit(f"/app/channels/{square.id}")
        await visit(f"/app/channels/{square.id}/{square.general}/{said['id']}")
        await page.fill("#field-content", "Hello, all of you")
        await page.get_by_role("button", name="Send").click()
        await page.wait_for_url("**#message-*")
        await look(page, problems, "said")
        await visit("/app")
        await visit(invite)
        await visit("/app/channels/@me/1")

    assert problems == []


async def test_the_first_tab_stop_is_the_skip_link(town: World, chromium: Opener) -> None:
    async with chromium() as page:
        await page.goto(f"{town.url}/oauth2/authorized")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to content"
        await page.keyboard.press("Enter")

        assert await page.evaluate("document.activeElement.id") == "content"


async def test_pages_have_styles_and_no_policy_violations(town: World, chromium: Opener) -> None:
    said: list[str] = []
    async with chromium() as page:
        page.on("console", lambda message: said.append(message.text))
        await page.goto(f"{town.url}/login")

        assert await page.evaluate("getComputedStyle(document.querySelector('.button')).borderRadius") != "0px"
        assert await page.evaluate("document.querySelector('.brand img').naturalWidth") > 0
    assert [text for text in said if "Content Security Policy" in text] == []
