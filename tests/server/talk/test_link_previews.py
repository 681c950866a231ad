"""Previews of links: embeds from pages of a website on loopback, their rules, limits and cache."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from aiohttp import web

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.operation import RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.server import cli
from hubbub.server.core import config as settings
from hubbub.server.core.config import Config
from hubbub.server.core.config_sections import LinkPreviewsConfig
from hubbub.server.core.page_reader import PageReader, UnreadablePageError
from hubbub.server.talk.link_previews import jobs, preview_requests, store
from hubbub.server.talk.messages.content.links import find_links
from tests.media import animated_image, png
from tests.server.identity.operators import create_operator
from tests.server.identity.test_features import switch_off, switch_on
from tests.server.talk.message_search import build_index, search_messages
from tests.server.talk.private_channels import open_dm
from tests.server.talk.test_webhooks import create_webhook
from tests.website import Website, build_page, meta
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, Guild, World, run_with_settings

TITLED_PAGE = build_page("<title>A lighthouse</title>")


@pytest.fixture
def world_config(store_config: Config) -> Config:
    """A configuration with link previews, which also fetches links to this machine."""
    return msgspec.structs.replace(
        store_config, allow_private_targets=True, link_previews=LinkPreviewsConfig(enabled=True)
    )


@pytest.fixture
async def website() -> AsyncIterator[Website]:
    """A website on loopback."""
    async with Website() as site:
        yield site


@pytest.fixture
async def guild(world: World) -> Guild:
    """A guild whose owner sends the messages."""
    return await world.guild()


async def get_message(actor: Actor, message: Any) -> Any:
    """Fetch a message again and return its current state."""
    return (await actor.get(f"/channels/{message['channel_id']}/messages/{message['id']}")).ok()


async def send_and_get_embeds(guild: Guild, content: str, actor: Actor | None = None, **body: Any) -> list[Any]:
    """Send a message, run all due jobs and return the embeds of the message."""
    message = await guild.send_message(actor or guild.owner, content, **body)
    await guild.world.run_due_jobs()
    return list((await get_message(guild.owner, message))["embeds"])


# Links


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("See https://a.example/x.", ["https://a.example/x"]),
        ("(https://a.example/b_(c))", ["https://a.example/b_(c)"]),
        ("[text](https://a.example/x)", ["https://a.example/x"]),
        ("**https://a.example**", ["https://a.example"]),
        ("<https://a.example> and [x](<https://a.example>)", []),
        ("`https://a.example` and ```\nhttps://b.example\n```", []),
        ("one ` and https://a.example", ["https://a.example"]),
        ("||https://a.example/s||", ["https://a.example/s"]),
        ("https://a.example https://a.example", ["https://a.example"]),
        ("ftp://a.example javascript:alert(1) https:// http://user:key@a.example", []),
        (
            " ".join(f"https://a.example/{number}" for number in range(7)),
            [f"https://a.example/{number}" for number in range(5)],
        ),
        ("https://a.example/" + "x" * 2048, []),
        ("https://[::1", []),
    ],
)
def test_links_outside_of_code_and_angle_brackets_are_found(text: str, links: list[str]) -> None:
    assert find_links(text) == links


def test_only_served_platforms_fetch_links_by_default() -> None:
    assert settings.load(defaults=cli.SERVE_DEFAULTS).link_previews.enabled
    assert not settings.load(defaults=cli.DEV_DEFAULTS).link_previews.enabled


def test_hosts_in_settings_are_separated_by_commas() -> None:
    loaded_settings = settings.load(environ={"HUBBUB_LINK_PREVIEWS_DENIED_HOSTS": "a.example, b.example"})
    assert loaded_settings.link_previews.denied_hosts == ("a.example", "b.example")
    with pytest.raises(settings.ConfigError, match="lowercase host names, separated by commas"):
        settings.load(environ={"HUBBUB_LINK_PREVIEWS_ALLOWED_HOSTS": "https://a.example"})


# Pages and files


async def test_a_page_with_a_title_gets_a_preview_that_is_published(guild: Guild, website: Website) -> None:
    link = website.add_page("/", TITLED_PAGE)
    session = await guild.owner.connect()

    message = await guild.send_message(guild.owner, f"Look: {link}")
    assert message["embeds"] == []
    await guild.world.run_due_jobs()

    event = await session.next("MESSAGE_UPDATE")
    assert event["embeds"] == [{"type": "link", "title": "A lighthouse", "url": link}]
    assert (event["id"], event["content"], event["edited_timestamp"]) == (message["id"], f"Look: {link}", None)
    (request,) = website.requests
    assert f"+{guild.world.url}" in request.headers["User-Agent"]
    assert "Cookie" not in request.headers


async def test_a_preview_has_the_opengraph_properties_and_a_proxied_image(guild: Guild, website: Website) -> None:
    website.add_page("/image.png", png(320, 200), "image/png")
    link = website.add_page(
        "/page",
        build_page(
            "<title>Other</title>",
            meta("og:title", "Tides &amp; currents"),
            meta("og:description", "About\n  the  sea"),
            meta("og:site_name", "Harbor"),
            meta("og:type", "article"),
            meta("og:image", "/image.png"),
            meta("og:image:alt", "A chart"),
            '<meta name="theme-color" content="#1af">',
            '<meta name="author" content="Ida">',
            body=meta("og:title", "Not in the head"),
        ),
    )

    (embed,) = await send_and_get_embeds(guild, link)

    thumbnail = embed.pop("thumbnail")
    assert embed == {
        "type": "article",
        "title": "Tides & currents",
        "description": "About the sea",
        "url": link,
        "color": 0x11AAFF,
        "provider": {"name": "Harbor", "url": website.url},
        "author": {"name": "Ida"},
    }
    proxy_url = thumbnail.pop("proxy_url")
    assert thumbnail == {
        "url": f"{website.url}/image.png",
        "width": 320,
        "height": 200,
        "content_type": "image/png",
        "description": "A chart",
    }
    async with guild.world.client.get(proxy_url) as response:
        assert (response.status, response.content_type) == (200, "image/png")
        assert await response.read() == png(320, 200)
        etag = response.headers["ETag"]
    async with guild.world.client.get(f"{proxy_url}?width=32&format=webp") as response:
        assert (response.status, response.content_type) == (200, "image/webp")
    async with guild.world.client.get(proxy_url, headers={"If-None-Match": etag}) as response:
        assert response.status == 304
    # The preview and the proxy each fetched the image once.
    assert website.paths.count("/image.png") == 2


async def test_the_proxy_serves_only_images_at_signed_urls(guild: Guild, website: Website) -> None:
    image_link = website.add_page("/image.png", png(), "image/png")
    (embed,) = await send_and_get_embeds(guild, image_link)
    proxy_url = embed["thumbnail"]["proxy_url"]
    base, _, target = proxy_url.rpartition("/")

    for url in (f"{base}/{target[:-4]}AAAA", f"{base[:-64]}{'0' * 64}/{target}"):
        async with guild.world.client.get(url) as response:
            assert response.status == 404
    async with guild.world.client.get(f"{proxy_url}?width=0") as response:
        assert response.status == 400
    website.add_page("/image.png", "<script>alert(1)</script>", "image/png")
    async with guild.world.client.get(proxy_url) as response:
        assert response.status == 415


async def test_twitter_cards_and_oembed_complete_a_page(guild: Guild, website: Website) -> None:
    oembed_json = (
        '{"author_name": "Tom", "author_url": "/tom", "provider_name": "Clips", "title": 5, "html": "<script>"}'
    )
    website.add_page("/invalid", oembed_json, "application/json")
    website.add_page("/oembed", oembed_json.replace('"title": 5, ', ""), "application/json")
    oembed_link_html = '<link rel="alternate" type="application/json+oembed" href="{}">'
    card_html = meta("twitter:card", "summary_large_image") + meta("twitter:title", "Waves")
    link = website.add_page("/card", build_page(card_html, oembed_link_html.format("/oembed")))
    broken_link = website.add_page("/broken", build_page(card_html, oembed_link_html.format("/invalid")))

    (embed,) = await send_and_get_embeds(guild, link)
    assert embed == {
        "type": "article",
        "title": "Waves",
        "url": link,
        "author": {"name": "Tom", "url": f"{website.url}/tom"},
        "provider": {"name": "Clips", "url": website.url},
    }
    assert await send_and_get_embeds(guild, broken_link) == [{"type": "article", "title": "Waves", "url": broken_link}]


async def test_images_and_videos_have_embeds_of_their_own_type(guild: Guild, website: Website) -> None:
    # The type is that of the content, not of the header.
    image_link = website.add_page("/a.png", png(40, 30), "application/octet-stream")
    gif_link = website.add_page("/b.gif", animated_image("GIF"), "image/gif")
    video_link = website.add_page("/c.mp4", b"\0\0\0\x18ftypmp42" + b"\0" * 64, "video/mp4")
    page_link = website.add_page("/d", build_page("<title>Film</title>", meta("og:video", "/c.mp4")))

    image, gif, video, page = await send_and_get_embeds(guild, f"{image_link} {gif_link} {video_link} {page_link}")

    assert (image["type"], image["thumbnail"]["width"], image["thumbnail"]["height"]) == ("image", 40, 30)
    assert (gif["type"], gif["thumbnail"]["content_type"]) == ("image", "image/gif")
    assert (video["type"], video["title"], video["video"]["url"]) == ("video", "c.mp4", video_link)
    assert (page["type"], page["title"], page["video"]["url"]) == ("video", "Film", video_link)


async def test_redirects_are_followed_up_to_a_limit(guild: Guild, website: Website) -> None:
    website.add_page("/target", TITLED_PAGE)

    async def redirect(request: web.Request) -> web.Response:
        number = int(request.path.removeprefix("/hop"))
        location = "/target" if number == 1 else f"/hop{number - 1}"
        return web.Response(status=302, headers={"Location": location})

    for number in range(1, 6):
        website.add_handler(f"/hop{number}", redirect)

    (embed,) = await send_and_get_embeds(guild, f"{website.url}/hop3")
    assert (embed["title"], embed["url"]) == ("A lighthouse", f"{website.url}/hop3")
    assert await send_and_get_embeds(guild, f"{website.url}/hop5") == []


async def test_a_slow_or_missing_page_has_no_preview(
    guild: Guild, website: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_requests, "REQUEST_TIMEOUT_SECONDS", 0.05)
    end_event = asyncio.Event()

    async def wait(_: web.Request) -> web.Response:
        await end_event.wait()
        return web.Response()

    slow_link = website.add_handler("/slow", wait)
    assert await send_and_get_embeds(guild, f"{slow_link} {website.url}/missing http://127.0.0.1:1/") == []
    end_event.set()


async def test_only_the_start_of_a_large_page_is_read(guild: Guild, website: Website) -> None:
    long_body = website.add_page(
        "/body", build_page("<title>Long</title>", body="x" * preview_requests.RESPONSE_BYTES_MAX)
    )
    long_head = website.add_page(
        "/head", build_page("<!--" + "x" * preview_requests.RESPONSE_BYTES_MAX + "-->", TITLED_PAGE)
    )

    assert [embed["title"] for embed in await send_and_get_embeds(guild, long_body)] == ["Long"]
    assert await send_and_get_embeds(guild, long_head) == []


@pytest.mark.parametrize(
    ("content_type", "data", "title"),
    [
        ("text/html; charset=iso-8859-1", "<title>Möwe</title>".encode("latin-1"), "Möwe"),
        ("text/html", b'<meta charset="windows-1252"><title>M\xf6we</title>', "Möwe"),
        ("text/html; charset=utf-8", b"<title>M\xf6we</title>", "M\ufffdwe"),
        ("text/html; charset=unknown", "<title>Möwe</title>".encode(), "Möwe"),
        ("text/html", "<title>Möwe</title>".encode("utf-16"), "Möwe"),
        ("text/html", b"<title>a\0b\x1bc&#0;</title>", "abc\ufffd"),
        ("application/xhtml+xml", b"<html><head><title>x</title></head></html>", "x"),
    ],
)
async def test_the_charset_of_a_page_is_detected(
    guild: Guild, website: Website, content_type: str, data: bytes, title: str
) -> None:
    link = website.add_page("/", data, content_type)

    assert [embed.get("title") for embed in await send_and_get_embeds(guild, link)] == [title]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/pdf"])
async def test_other_documents_have_no_preview(guild: Guild, website: Website, content_type: str) -> None:
    link = website.add_page("/", TITLED_PAGE, content_type)

    assert await send_and_get_embeds(guild, link) == []


async def test_long_texts_are_cut_off(guild: Guild, website: Website) -> None:
    link = website.add_page("/", build_page(meta("og:title", "t" * 999), meta("og:description", "d" * 9999)))

    (embed,) = await send_and_get_embeds(guild, link)

    assert embed["title"] == "t" * 255 + "…"
    assert embed["description"] == "d" * 349 + "…"


@pytest.mark.parametrize("text", ["<!--", "<a ", "<![CDATA[", "<title>", "&#", "</", "<meta content='"])
async def test_a_hostile_page_is_read_in_limited_time_in_another_process(text: str) -> None:
    reader = PageReader()
    page_bytes = (text * preview_requests.RESPONSE_BYTES_MAX)[: preview_requests.RESPONSE_BYTES_MAX].encode()

    try:
        metadata = await reader.read(page_bytes, "")
    except UnreadablePageError:
        return
    assert len(metadata.title) <= 4096


async def test_a_page_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(UnreadablePageError):
        await PageReader(page_seconds=0).read(TITLED_PAGE.encode(), "")


# Rules


async def test_private_addresses_are_not_fetched(store_config: Config, website: Website) -> None:
    config = msgspec.structs.replace(store_config, link_previews=LinkPreviewsConfig(enabled=True))
    async with run_with_settings(config) as world:
        guild = await world.guild()
        link = website.add_page("/", TITLED_PAGE)

        assert await send_and_get_embeds(guild, f"{link} {link.replace('127.0.0.1', 'localhost')}") == []
        assert website.requests == []


def test_hosts_are_allowed_and_denied_with_their_subdomains() -> None:
    config = LinkPreviewsConfig(allowed_hosts=("example.org", "example.com"), denied_hosts=("ads.example.org",))

    allowed_hosts = [
        host
        for host in ("example.org", "a.Example.com.", "ads.example.org", "x.ads.example.org", "badexample.org", "b.net")
        if config.is_host_allowed(host)
    ]
    assert allowed_hosts == ["example.org", "a.Example.com."]
    assert LinkPreviewsConfig().is_host_allowed("b.net")


async def test_a_denied_host_is_not_fetched_also_after_a_redirect(store_config: Config, website: Website) -> None:
    link = website.add_page("/", TITLED_PAGE)
    target = link.replace("127.0.0.1", "localhost")

    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=301, headers={"Location": target})

    redirecting_link = website.add_handler("/redirect", redirect)
    config = msgspec.structs.replace(
        store_config,
        allow_private_targets=True,
        link_previews=LinkPreviewsConfig(enabled=True, denied_hosts=("localhost",)),
    )
    async with run_with_settings(config) as world:
        guild = await world.guild()

        assert await send_and_get_embeds(guild, f"{target} {redirecting_link}") == []
        assert website.paths == ["/redirect"]


async def test_links_to_this_server_have_no_preview(guild: Guild) -> None:
    assert await send_and_get_embeds(guild, f"{guild.world.url}/login") == []


async def test_the_author_needs_the_permission_to_embed_links(guild: Guild, website: Website) -> None:
    link = website.add_page("/", TITLED_PAGE)
    member = await guild.member()
    await guild.overwrite(guild.general, member.id, deny=Permissions.EMBED_LINKS)

    assert await send_and_get_embeds(guild, link, member) == []
    assert website.requests == []
    await guild.overwrite(guild.general, member.id)
    assert len(await send_and_get_embeds(guild, link, member)) == 1


async def test_bots_webhooks_and_direct_messages_have_previews(guild: Guild, website: Website) -> None:
    link = website.add_page("/", TITLED_PAGE)
    bot = await guild.world.bot(guild)
    webhook = await create_webhook(guild.world, guild.owner, guild.general)
    rich_embed, link_embed = await send_and_get_embeds(guild, link, bot, embeds=[{"title": "Own"}])
    assert (rich_embed["type"], rich_embed["title"], link_embed["title"]) == ("rich", "Own", "A lighthouse")

    message = await webhook.send_message(link)
    friend = await guild.member()
    private_channel = await open_dm(guild.owner, friend)
    direct_message = (
        await guild.owner.post(f"/channels/{private_channel['id']}/messages", json={"content": link})
    ).ok()
    await guild.world.run_due_jobs()
    assert len((await get_message(guild.owner, message))["embeds"]) == 1
    assert len((await get_message(friend, direct_message))["embeds"]) == 1


async def test_suppressed_embeds_are_not_fetched_and_return_with_the_flag_removed(
    guild: Guild, website: Website
) -> None:
    link = website.add_page("/", TITLED_PAGE)
    message = await guild.send_message(guild.owner, link, flags=int(MessageFlags.SUPPRESS_EMBEDS))
    path = f"/channels/{guild.general}/messages/{message['id']}"
    await guild.world.run_due_jobs()
    assert website.requests == []

    (await guild.owner.patch(path, json={"flags": 0})).ok()
    await guild.world.run_due_jobs()
    assert len((await get_message(guild.owner, message))["embeds"]) == 1

    moderator = await guild.member(Permissions.MANAGE_MESSAGES)
    (await moderator.patch(path, json={"flags": int(MessageFlags.SUPPRESS_EMBEDS)})).ok()
    await guild.world.run_due_jobs()
    message_with_preview = await get_message(guild.owner, message)
    assert (message_with_preview["embeds"], message_with_preview["edited_timestamp"]) == ([], None)


async def test_an_edit_adds_previews_of_new_links_and_removes_those_of_removed_links(
    guild: Guild, website: Website
) -> None:
    first_link = website.add_page("/1", build_page("<title>First</title>"))
    second_link = website.add_page("/2", build_page("<title>Second</title>"))
    message = await guild.send_message(guild.owner, first_link)
    path = f"/channels/{guild.general}/messages/{message['id']}"
    await guild.world.run_due_jobs()

    edited_message = (await guild.owner.patch(path, json={"content": f"{second_link} {first_link}"})).ok()
    assert [embed["title"] for embed in edited_message["embeds"]] == ["First"]
    await guild.world.run_due_jobs()
    titles = [embed["title"] for embed in (await get_message(guild.owner, message))["embeds"]]
    assert titles == ["Second", "First"]

    edited_message = (await guild.owner.patch(path, json={"content": f"{second_link} <{first_link}>"})).ok()
    assert [embed["title"] for embed in edited_message["embeds"]] == ["Second"]
    edited_message = (await guild.owner.patch(path, json={"content": "nothing"})).ok()
    assert edited_message["embeds"] == []
    await guild.world.run_due_jobs()
    assert (await get_message(guild.owner, message))["embeds"] == []
    assert website.paths == ["/1", "/2"]


async def test_a_bot_replaces_its_embeds_and_keeps_the_previews(guild: Guild, website: Website) -> None:
    link = website.add_page("/", TITLED_PAGE)
    bot = await guild.world.bot(guild)
    message = await guild.send_message(bot, link, embeds=[{"title": "Old"}])
    await guild.world.run_due_jobs()

    path = f"/channels/{guild.general}/messages/{message['id']}"
    edited_message = (await bot.patch(path, json={"embeds": [{"title": "New"}]})).ok()

    assert [embed["title"] for embed in edited_message["embeds"]] == ["New", "A lighthouse"]


async def test_a_message_that_was_deleted_or_edited_meanwhile_gets_no_preview(guild: Guild, website: Website) -> None:
    arrival_event, respond_event = asyncio.Event(), asyncio.Event()

    async def respond_later(_: web.Request) -> web.Response:
        arrival_event.set()
        await respond_event.wait()
        return web.Response(text=TITLED_PAGE, content_type="text/html")

    link = website.add_handler("/", respond_later)
    deleted_message = await guild.send_message(guild.owner, link)
    edited_message = await guild.send_message(guild.owner, link)
    session = await guild.owner.connect()
    running_task = asyncio.create_task(guild.world.run_due_jobs())
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await arrival_event.wait()
    path = f"/channels/{guild.general}/messages"
    (await guild.owner.delete(f"{path}/{deleted_message['id']}")).ok()
    (await guild.owner.patch(f"{path}/{edited_message['id']}", json={"content": "never mind"})).ok()
    await session.next("MESSAGE_UPDATE")
    respond_event.set()
    await running_task

    assert (await get_message(guild.owner, edited_message))["embeds"] == []
    await session.assert_not_received("MESSAGE_UPDATE")


async def test_a_forward_copies_the_previews(guild: Guild, website: Website) -> None:
    website.add_page("/image.png", png(), "image/png")
    link = website.add_page("/", build_page("<title>A lighthouse</title>", meta("og:image", "/image.png")))
    message = await guild.send_message(guild.owner, link)
    await guild.world.run_due_jobs()

    reference = {"type": 1, "channel_id": str(guild.general), "message_id": message["id"]}
    body = {"message_reference": reference}
    forward = (await guild.owner.post(f"/channels/{guild.general}/messages", json=body)).ok()
    await guild.world.run_due_jobs()

    (snapshot,) = (await get_message(guild.owner, forward))["message_snapshots"]
    (embed,) = snapshot["message"]["embeds"]
    assert embed["title"] == "A lighthouse"
    assert embed["thumbnail"]["proxy_url"].startswith(f"{guild.world.url}/cdn/media/external/")


async def test_auto_moderation_checks_the_text_and_not_the_preview(guild: Guild, website: Website) -> None:
    link = website.add_page("/", build_page("<title>forbidden</title>"))
    member = await guild.member()
    message = await guild.send_message(member, link)
    await guild.world.run_due_jobs()
    rule = {
        "name": "words",
        "event_type": 1,
        "trigger_type": 1,
        "trigger_metadata": {"keyword_filter": ["forbidden"]},
        "actions": [{"type": 1}],
        "enabled": True,
    }
    (await guild.owner.post(f"/guilds/{guild.id}/auto-moderation/rules", json=rule)).ok()

    path = f"/channels/{guild.general}/messages/{message['id']}"
    edited_message = (await member.patch(path, json={"content": f"new text {link}"})).ok()

    assert [embed["title"] for embed in edited_message["embeds"]] == ["forbidden"]
    assert (await member.patch(path, json={"content": f"forbidden {link}"})).status == 400


async def test_previews_are_found_by_search(guild: Guild, website: Website) -> None:
    link = website.add_page("/", build_page("<title>Rare seabirds</title>", meta("og:site_name", "Harbor")))
    await build_index(guild.world, guild)
    await send_and_get_embeds(guild, link)

    for query in ({"content": "seabirds"}, {"embed_provider": "Harbor"}, {"has": "embed"}):
        assert (await search_messages(guild.owner, guild, **query))["total_results"] == 1


# Cache, limits and switches


async def test_messages_with_the_same_link_share_a_fetch_until_it_expires(guild: Guild, website: Website) -> None:
    link = website.add_page("/", TITLED_PAGE)
    messages = [await guild.send_message(guild.owner, f"{link}#{number}") for number in range(3)]
    await guild.world.run_due_jobs()
    for number, message in enumerate(messages):
        (embed,) = (await get_message(guild.owner, message))["embeds"]
        assert embed["url"] == f"{link}#{number}"
    assert website.paths == ["/"]

    guild.world.clock.advance(jobs.PREVIEW_LIFETIME_MS)
    await send_and_get_embeds(guild, link)
    assert website.paths == ["/", "/"]


async def test_a_failure_is_cached_for_a_shorter_time(guild: Guild, website: Website) -> None:
    link = f"{website.url}/later"
    assert await send_and_get_embeds(guild, link) == []
    website.add_page("/later", TITLED_PAGE)
    assert await send_and_get_embeds(guild, link) == []

    guild.world.clock.advance(jobs.FAILURE_LIFETIME_MS)
    assert len(await send_and_get_embeds(guild, link)) == 1


async def test_the_cache_is_trimmed(guild: Guild, website: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "CACHE_ROWS_MAX", 2)
    monkeypatch.setattr(jobs, "PREVIEW_LIFETIME_MS", 10 * jobs.TRIM_INTERVAL_MS)
    links = []
    for number in range(4):
        links.append(website.add_page(f"/{number}", TITLED_PAGE))
        await send_and_get_embeds(guild, links[-1])
        guild.world.clock.advance(1)

    guild.world.clock.advance(jobs.TRIM_INTERVAL_MS)
    await guild.world.run_due_jobs()

    world = guild.world
    cached_previews = await world.write(lambda call: store.find_many(call.tx, links, call.now_ms))
    assert sorted(cached_previews) == links[2:]
    world.clock.advance(20 * jobs.TRIM_INTERVAL_MS)
    await world.run_due_jobs()
    assert not await world.write(lambda call: store.trim(call.tx, call.now_ms, 10))


async def test_cached_previews_do_not_count_towards_the_limits_of_users_and_guilds(
    store_config: Config, website: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "USER_FETCH_LIMIT", RateLimit(2, 60))
    monkeypatch.setattr(jobs, "GUILD_FETCH_LIMIT", RateLimit(3, 60))
    links = [website.add_page(f"/{number}", TITLED_PAGE) for number in range(5)]
    config = msgspec.structs.replace(
        store_config,
        allow_private_targets=True,
        rate_limits="real",
        link_previews=LinkPreviewsConfig(enabled=True),
    )
    async with run_with_settings(config) as world:
        guild = await world.guild()
        member = await guild.member()

        async def count_previews(author: Actor, link: str) -> int:
            # The rate limits of requests are enforced, too.
            world.clock.advance(1_000)
            return len(await send_and_get_embeds(guild, link, author))

        assert [await count_previews(guild.owner, link) for link in links[:3]] == [1, 1, 0]
        assert await count_previews(guild.owner, links[0]) == 1
        assert [await count_previews(member, link) for link in links[3:]] == [1, 0]
        world.clock.advance(60_000)
        assert await count_previews(guild.owner, links[2]) == 1


async def test_an_owner_switches_previews_off_and_on(guild: Guild, website: Website) -> None:
    link = website.add_page("/", TITLED_PAGE)
    operator = await create_operator(guild.world, "ann")
    await switch_off(operator, "link_previews")
    assert await send_and_get_embeds(guild, link) == []
    assert website.requests == []

    await switch_on(operator, "link_previews")
    assert len(await send_and_get_embeds(guild, link)) == 1


async def test_without_the_setting_no_link_is_fetched(store_config: Config, website: Website) -> None:
    async with run_with_settings(msgspec.structs.replace(store_config, allow_private_targets=True)) as world:
        guild = await world.guild()

        assert await send_and_get_embeds(guild, website.add_page("/", TITLED_PAGE)) == []
        assert website.requests == []
