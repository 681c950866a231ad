"""Stored content that tries to inject markup or scripts: every text that a user controls, on the screens that show it.

A text that became markup would create an element, or violate the Content-Security-Policy or the Trusted Types of the page.
"""

import re
from typing import Any

import pytest

from hubbub.protocol.enums import (
    ActivityType,
    AutoModerationEventType,
    AutoModerationTriggerType,
    ButtonStyle,
    ChannelType,
    ComponentType,
    GatewayOpcode,
    SkuType,
)
from tests.oauth import Client, create_application
from tests.server.places.expressions import OGG_DATA_URI, upload_sticker
from tests.server.places.scheduled_events import external_event
from tests.server.talk.uploads import PNG, send_files
from tests.web.chat import ChatPlatform, general_path
from tests.world import Actor, Guild, World

pytestmark = pytest.mark.timeout(400)

SHORT_PAYLOAD = "<img src=x onerror=injected=1>"
"""Payload for names, which have at most 32 characters."""
PAYLOAD = f"\"'>{SHORT_PAYLOAD}<script>injected=1</script><a href=javascript:injected=1>x</a>{{{{1}}}}${{injected=1}}"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="injected=1"><script>injected=1</script></svg>'
HTML = b"<!doctype html><script>injected=1</script>"
MARKDOWN = "\n".join(
    (
        PAYLOAD,
        "[link](javascript:injected=1) [link](<javascript:injected=1>) [link](data:text/html,<script>injected=1</script>)",
        "<javascript:injected=1> <https://example.com/\" onclick=\"injected=1> https://example.com/'onclick='injected=1",
        "||<img src=x onerror=injected=1>|| **<img src=x onerror=injected=1>** `<img src=x onerror=injected=1>`",
        '```html\n<img src=x onerror=injected=1>\n``` ```"><script>injected=1</script>\nx\n```',
        "# <img src=x onerror=injected=1>\n> <img src=x onerror=injected=1>\n- <img src=x onerror=injected=1>",
        '<@"><img src=x onerror=injected=1>> <a:"><img:1> <t:"><img:R> </x"><img src=x onerror=injected=1>:1> <id:"><img>',
        "<svg/onload=injected=1> <iframe srcdoc='<script>parent.injected=1</script>'> <style>@import 'x'</style>",
    )
)

RECORD_VIOLATIONS = """
window.violations = [];
addEventListener("securitypolicyviolation", event =>
  violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`));
"""
"""Script that records the violations of the policy of a page, before the page runs its own scripts."""

FIND_INJECTIONS = """() => {
  const attributes = ["[onerror]", "[onload]", "[onclick]", "[href^='javascript:' i]", "[href^='data:text' i]"];
  const elements = document.querySelectorAll(["img[src='x']", "script:not([src])", "iframe", "style", ...attributes].join());
  return [
    ...(globalThis.injected === undefined ? [] : ["executed"]),
    ...violations.map(text => `violation: ${text}`),
    ...[...elements]
      .filter(element => !["application/json", "importmap"].includes(element.type))
      .map(element => `element: ${element.outerHTML.slice(0, 200)}`),
  ];
}"""
"""Script that returns the signs of an injection in a page."""


async def create_hostile_guild(world: World, mallory: Actor, victim: Actor) -> Guild:
    """Create a guild of Mallory with the victim as an administrator, whose texts are payloads."""
    guild = await world.guild(mallory, victim, name=PAYLOAD[:100])
    await world.grant_to_guild(guild, "VANITY_URL", "GUILD_TAGS")
    path, channel_path = f"/guilds/{guild.id}", f"/channels/{guild.general}"

    async def create(path: str, body: Any, method: str = "POST") -> Any:
        return (await mallory.request(method, path, json=body, headers={"X-Audit-Log-Reason": "%3Cimg src=x%3E"})).ok()

    await create("/users/@me", {"global_name": SHORT_PAYLOAD, "bio": PAYLOAD}, "PATCH")
    await create(f"{path}/members/{victim.id}", {"nick": SHORT_PAYLOAD}, "PATCH")
    await create(path, {"description": PAYLOAD[:120]}, "PATCH")
    role_id = await guild.role(PAYLOAD[:100], 1 << 3, hoist=True)
    for member in (mallory, victim):
        await guild.add_role(member, role_id)
    category_id = await guild.channel(PAYLOAD[:100], type=ChannelType.GUILD_CATEGORY)
    await guild.channel(PAYLOAD[:100], type=ChannelType.GUILD_VOICE, parent_id=str(category_id))
    tags = [{"name": SHORT_PAYLOAD[:20]}]
    await guild.channel("forum", type=ChannelType.GUILD_FORUM, topic=PAYLOAD, available_tags=tags)
    await create(channel_path, {"topic": PAYLOAD}, "PATCH")
    await create(f"{channel_path}/threads", {"name": PAYLOAD[:100], "type": ChannelType.PUBLIC_THREAD})
    await create(f"{channel_path}/invites", {})
    await create(f"{path}/templates", {"name": PAYLOAD[:100], "description": PAYLOAD[:120]})
    await create(f"{path}/scheduled-events", external_event(name=PAYLOAD[:100], description=PAYLOAD))
    await create(f"{path}/soundboard-sounds", {"name": SHORT_PAYLOAD, "sound": OGG_DATA_URI})
    (await upload_sticker(mallory, guild, name=SHORT_PAYLOAD[:30], description=PAYLOAD[:100])).ok()
    rule = {
        "name": PAYLOAD[:100],
        "event_type": AutoModerationEventType.MESSAGE_SEND,
        "trigger_type": AutoModerationTriggerType.KEYWORD,
        "trigger_metadata": {"keyword_filter": ["<img src=x>"]},
    }
    await create(f"{path}/auto-moderation/rules", rule)
    welcome_channels = [{"channel_id": str(guild.general), "description": SHORT_PAYLOAD}]
    await create(
        f"{path}/welcome-screen", {"description": PAYLOAD[:140], "welcome_channels": welcome_channels}, "PATCH"
    )
    prompts = [{"id": "0", "title": PAYLOAD[:100], "options": [{"title": SHORT_PAYLOAD}]}]
    await create(f"{path}/onboarding", {"prompts": prompts}, "PUT")
    form_fields = [{"field_type": "PARAGRAPH", "label": PAYLOAD[:100]}]
    await create(f"{path}/member-verification", {"description": PAYLOAD[:100], "form_fields": form_fields}, "PATCH")
    banned_user = await world.user()
    await create(f"{path}/bans/{banned_user.id}", {}, "PUT")
    return guild


async def create_hostile_messages(guild: Guild, client: Client, mallory: Actor) -> None:
    """Send messages of every kind with payloads to #general, the newest with the text `last`."""
    path = f"/channels/{guild.general}"
    await guild.send_message(mallory, MARKDOWN[:2000])
    answers = [{"poll_media": {"text": SHORT_PAYLOAD}}, {"poll_media": {"text": PAYLOAD[:55]}}]
    await guild.send_message(mallory, "", poll={"question": {"text": PAYLOAD}, "answers": answers})
    sticker = (await mallory.get(f"/guilds/{guild.id}/stickers")).ok()[0]
    await guild.send_message(mallory, "", sticker_ids=[sticker["id"]])
    files = [('"><img src=x onerror=injected=1>.png', PNG), ("x.svg", SVG), ("<script>injected=1<script>.html", HTML)]
    (await send_files(mallory, f"{path}/messages", *files, content="files")).ok()
    webhook = (await mallory.post(f"{path}/webhooks", json={"name": PAYLOAD[:80]})).ok()
    embed = {
        "title": PAYLOAD,
        "description": MARKDOWN,
        "url": 'https://example.com/"><img src=x onerror=injected=1>',
        "footer": {"text": PAYLOAD},
        "author": {"name": PAYLOAD, "url": "https://example.com/'onclick='injected=1"},
        "fields": [{"name": PAYLOAD, "value": MARKDOWN[:1024]}],
    }
    (await guild.world.request("POST", f"/webhooks/{webhook['id']}/{webhook['token']}", json={"embeds": [embed]})).ok()
    for url in ("javascript:injected=1", "data:text/html,x", "JaVaScRiPt:injected=1", "\tjavascript:injected=1"):
        body = {"embeds": [{"title": "x", "url": url}]}
        (await mallory.post(f"{path}/messages", json=body)).rejected(400, 50035)
    assert client.bot is not None
    button = {
        "type": ComponentType.BUTTON,
        "style": ButtonStyle.PRIMARY,
        "custom_id": PAYLOAD[:100],
        "label": PAYLOAD[:80],
    }
    options = [{"label": PAYLOAD[:100], "value": PAYLOAD[:100], "description": PAYLOAD[:100]}]
    select = {"type": ComponentType.STRING_SELECT, "custom_id": "x", "placeholder": PAYLOAD[:150], "options": options}
    rows = [{"type": ComponentType.ACTION_ROW, "components": [component]} for component in (button, select)]
    (await client.bot.post(f"{path}/messages", json={"content": PAYLOAD, "components": rows})).ok()
    pinned_message = await guild.send_message(mallory, f"{PAYLOAD} pinned")
    (await mallory.put(f"{path}/messages/pins/{pinned_message['id']}")).ok()
    await guild.send_message(mallory, "last", message_reference={"message_id": pinned_message["id"]})


async def create_hostile_application(world: World, guild: Guild, mallory: Actor) -> Client:
    """Create an application of Mallory whose bot is in the guild, and whose texts are payloads."""
    client = await create_application(world, mallory, name=SHORT_PAYLOAD)
    assert client.bot is not None
    bot_path = f"/oauth2/authorize?client_id={client.id}&scope=bot&permissions=8"
    (await mallory.post(bot_path, json={"authorize": True, "guild_id": str(guild.id), "permissions": "8"})).ok()
    path = f"/applications/{client.id}"
    (await mallory.patch(path, json={"description": PAYLOAD, "tags": [SHORT_PAYLOAD[:20]]})).ok()
    sku = {"type": SkuType.DURABLE, "name": PAYLOAD[:80], "description": PAYLOAD}
    (await mallory.post(f"{path}/skus", json={**sku, "price": 1, "currency": "usd", "published": True})).ok()
    command = {"name": "hostile", "description": PAYLOAD[:100]}
    (await client.bot.post(f"{path}/guilds/{guild.id}/commands", json=command)).ok()
    return client


async def test_stored_content_cannot_inject_scripts_into_the_chat_client(platform: ChatPlatform) -> None:
    world = platform.world
    mallory, victim = await world.user("mallory"), await world.user("victim")
    guild = await create_hostile_guild(world, mallory, victim)
    client = await create_hostile_application(world, guild, mallory)
    await create_hostile_messages(guild, client, mallory)
    (await mallory.post("/users/@me/channels", json={"recipient_id": str(victim.id)})).ok()
    session = await mallory.connect()
    status = {"type": ActivityType.CUSTOM, "name": "Custom Status", "state": PAYLOAD[:128]}
    game = {"type": ActivityType.PLAYING, "name": PAYLOAD[:128], "details": PAYLOAD[:128], "state": PAYLOAD[:128]}
    presence = {"since": None, "activities": [status, game], "status": "online", "afk": False}
    await session.send(GatewayOpcode.PRESENCE_UPDATE, presence)
    await session.wait_processed()
    problems: list[str] = []

    async with platform.open_window(victim, general_path(guild), init_script=RECORD_VIOLATIONS) as window:
        page = window.page

        async def check(screen: str) -> None:
            problems.extend(f"{screen}: {problem}" for problem in await page.evaluate(FIND_INJECTIONS))

        await window.wait_message("last")
        await check("channel")
        await page.locator(".message .spoiler").first.click()
        await check("revealed spoiler")
        members_area = page.locator(".members-area")
        if not await members_area.locator(".member").first.is_visible():
            await page.get_by_role("button", name="Members", exact=True).click()
        for number in range(2):
            await members_area.locator(".member").nth(number).click()
            await page.locator("dialog[open]").first.wait_for()
            await check(f"profile {number}")
            await page.keyboard.press("Escape")
            await page.locator("dialog[open]").first.wait_for(state="detached")
        for name in ("Pinned messages", "Threads"):
            await page.get_by_role("button", name=name, exact=True).first.click()
            await page.get_by_role("dialog", name=name).first.wait_for()
            await check(name)
            await page.keyboard.press("Escape")
        await window.composer.fill("/hostile")
        await page.get_by_role("option", name="/hostile").first.wait_for()
        await check("commands")
        await window.composer.fill("@<img")
        await check("mentions")
        await window.composer.fill("")
        await page.keyboard.press("Control+k")
        await page.get_by_role("dialog", name="Go to").wait_for()
        await page.keyboard.type("<img")
        await check("quick switcher")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name=re.compile("^Menu of")).click()
        await page.get_by_role("menuitem", name="Guild settings").click()
        settings = page.get_by_role("dialog", name="Guild settings")
        await settings.get_by_role("navigation").get_by_role("button").first.wait_for()
        screens = await settings.get_by_role("navigation").get_by_role("button").all_inner_texts()
        assert len(screens) > 10
        for screen in screens:
            await settings.get_by_role("navigation").get_by_role("button", name=screen, exact=True).click()
            await settings.locator(".settings-heading").get_by_text(screen, exact=True).wait_for()
            await page.wait_for_load_state("networkidle")
            await check(f"settings: {screen}")
        await window.open(f"/app/channels/{guild.id}/{guild.channels['forum']}")
        await check("forum")
        await window.open("/app")
        await check("home")
    assert problems == []


async def test_stored_content_cannot_inject_scripts_into_other_pages(platform: ChatPlatform) -> None:
    world = platform.world
    mallory, victim = await world.user("mallory"), await world.user("victim")
    guild = await create_hostile_guild(world, mallory, victim)
    client = await create_hostile_application(world, guild, mallory)
    await client.request_tokens(victim)
    template = (await mallory.get(f"/guilds/{guild.id}/templates")).ok()[0]
    invite = (await mallory.get(f"/guilds/{guild.id}/invites")).ok()[0]
    sku = (await mallory.get(f"/applications/{client.id}/store/skus")).ok()[0]
    await create_hostile_messages(guild, client, mallory)
    messages = (await mallory.get(f"/channels/{guild.general}/messages?limit=100")).ok()
    file_urls = [attachment["url"] for message in messages for attachment in message["attachments"]]
    assert len(file_urls) == 3
    directory = f"/application-directory/{client.id}/store"
    paths = [client.authorize_path(), f"/invite/{invite['code']}", f"/template/{template['code']}", "/settings/apps"]
    paths += [directory, f"{directory}/{sku['id']}", "/settings/account", "/settings/subscriptions", "/console"]
    subpages = (
        "",
        "/store",
        "/bot",
        "/oauth2",
        "/commands",
        "/installation",
        "/interactions",
        "/webhooks",
        "/identity",
    )
    owner_paths = ["/developers", *(f"/developers/{client.id}{subpage}" for subpage in subpages)]
    headers = {"Authorization": f"Bearer {platform.control.token}"}
    problems: list[str] = []

    async with platform.open_page() as page:
        await page.add_init_script(RECORD_VIOLATIONS)
        link = (await world.request("POST", f"{platform.url}/control/console-links", headers=headers)).ok()["url"]
        await page.goto(link)
        for user, user_paths in ((victim, paths), (mallory, owner_paths)):
            await page.context.add_cookies([{"name": "hubbub_session", "value": user.token, "url": platform.url}])
            for path in user_paths:
                response = await page.goto(platform.url + path)
                assert response.status == 200, path
                await page.wait_for_load_state()
                problems.extend(f"{path}: {problem}" for problem in await page.evaluate(FIND_INJECTIONS))
        for url in file_urls:
            # A file that is not an image is a download, and images cannot run scripts.
            page.on("download", lambda download: download.cancel())
            if url.partition("?")[0].endswith(".png"):
                await page.goto(url)
                assert await page.evaluate("globalThis.injected") is None
    assert problems == []
