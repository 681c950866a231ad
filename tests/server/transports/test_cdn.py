"""The CDN and the media proxy: signed URLs, image conversion, byte ranges, and headers that prevent script execution."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from hubbub.server.core import cdn_urls
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.files import Files
from hubbub.server.core.images import ImageConverter
from hubbub.server.transports import media_proxy
from hubbub.server.transports.cdn import Cdn, byte_range, default_avatar
from tests import media

SIGNING_KEY = bytes(range(32))
NOW_MS = 1_795_000_000_000
AVATAR = default_avatar(1)
IMAGE_HASH = "0123456789abcdef" * 2
ANIMATED_IMAGE_HASH = "a_" + "f0" * 16
STICKER_HASH = "a_" + "e1" * 16
LOTTIE_HASH = "d2" * 16
ASSETS: dict[tuple[str, int], str | bytes] = {
    ("emojis", 7): cdn_urls.image_key(IMAGE_HASH),
    ("emojis", 8): cdn_urls.image_key(ANIMATED_IMAGE_HASH),
    ("emojis", 9): cdn_urls.image_key("c3" * 16),
    ("stickers", 7): cdn_urls.image_key(IMAGE_HASH),
    ("stickers", 8): cdn_urls.image_key(STICKER_HASH),
    ("stickers", 9): cdn_urls.image_key(LOTTIE_HASH),
    ("stickers", 10): AVATAR,
    ("soundboard-sounds", 7): cdn_urls.sound_key("b4" * 16),
    ("soundboard-sounds", 1): media.ogg(),
}

Client = TestClient[web.Request, web.Application]


@pytest.fixture
def clock() -> ControlledClock:
    return ControlledClock(NOW_MS, running=False)


@pytest.fixture
async def client(clock: ControlledClock) -> AsyncIterator[Client]:
    files = Files("memory://")
    await files.put(cdn_urls.attachment_key(2), AVATAR, "text/html")
    await files.put(cdn_urls.attachment_key(3), b"<script>alert(1)</script>", "text/html")
    await files.put(cdn_urls.attachment_key(4), b"", "text/html")
    await files.put(cdn_urls.attachment_key(5), media.png(600, 300), "image/png")
    await files.put(cdn_urls.attachment_key(6), media.animated_image("GIF", width=64, height=32), "image/gif")
    await files.put(cdn_urls.attachment_key(7), media.decompression_bomb(60_000), "image/png")
    await files.put(cdn_urls.attachment_key(8), media.large_canvas_gif(4_000, 400), "image/gif")
    # A recording of a browser: an EBML header, and tracks that are described after it.
    await files.put(cdn_urls.attachment_key(9), b"\x1a\x45\xdf\xa3" + bytes(200) + b"\x86\x86A_OPUS", "video/webm")
    await files.put(cdn_urls.image_key(IMAGE_HASH), AVATAR, "image/png")
    await files.put(
        cdn_urls.image_key(ANIMATED_IMAGE_HASH), media.animated_image("GIF", width=64, height=64), "image/gif"
    )
    await files.put(cdn_urls.image_key(STICKER_HASH), media.animated_image("PNG", width=64, height=64), "image/png")
    await files.put(cdn_urls.image_key(LOTTIE_HASH), b'{"v": "5.5.2"}', "application/json")
    await files.put(cdn_urls.sound_key("b4" * 16), media.mp3(), "audio/mpeg")
    await files.put("secret", b"x")

    async def find_key() -> bytes | None:
        return SIGNING_KEY

    async def find_asset(kind: str, asset_id: int) -> str | bytes | None:
        return ASSETS.get((kind, asset_id))

    app = web.Application()
    images = ImageConverter()
    app.add_routes(Cdn(files=files, images=images, clock=clock, find_key=find_key, find_asset=find_asset).routes())
    async with TestClient(TestServer(app)) as client:
        yield client
    await images.close()


def signed_url(attachment_id: int, filename: str, *, now_ms: int = NOW_MS) -> str:
    """Return the path and query of a signed URL of an attachment."""
    return "/cdn" + cdn_urls.sign(SIGNING_KEY, cdn_urls.attachment_path(1, attachment_id, filename), now_ms)


async def test_a_signed_url_is_valid_for_a_day(client: Client, clock: ControlledClock) -> None:
    url = signed_url(2, "my cat é.png")
    response = await client.get(url)
    assert response.status == 200
    assert await response.read() == AVATAR
    assert response.headers["Content-Type"] == "image/png"
    assert response.headers["Cache-Control"] == "private, max-age=86400"
    clock.advance(86_400_000 - 1)
    assert (await client.get(url)).status == 200
    clock.advance(1)
    expired_response = await client.get(url)
    assert expired_response.status == 404
    assert await expired_response.json() == {"message": "404: Not Found", "code": 0}


async def test_a_modified_url_responds_with_404(client: Client) -> None:
    url = signed_url(2, "a.png")
    path, _, query = url.partition("?")
    for modified_url in (
        path,
        path + "?ex=&is=&hm=",
        url.replace("/1/2/", "/1/3/"),
        url.replace("/1/2/", "/2/2/"),
        url.replace("a.png", "b.png"),
        url.replace("ex=", "ex=f"),
        url.replace("ex=", "ex=zz"),
        url[:-1] + ("0" if url[-1] != "0" else "1"),
        "/cdn/attachments/1/2/%2e%2e%2fsecret?" + query,
        "/cdn/attachments/x/y/z?" + query,
        "/cdn/nothing/here",
        signed_url(99, "a.png"),
    ):
        response = await client.get(modified_url)
        assert response.status == 404, modified_url
        assert response.headers["Content-Type"] == "application/json"


async def test_a_webm_recording_without_pictures_is_sent_as_audio(client: Client) -> None:
    assert (await client.get(signed_url(9, "voice-message.webm"))).headers["Content-Type"] == "audio/webm"


async def test_active_content_is_sent_as_a_download(client: Client) -> None:
    response = await client.get(signed_url(3, "ü.html"))
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert response.headers["Content-Disposition"] == "attachment; filename*=UTF-8''%C3%BC.html"
    for url in (signed_url(2, "a.html"), signed_url(3, "a.png"), f"/cdn/avatars/5/{IMAGE_HASH}.png"):
        headers = (await client.get(url)).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert (await client.get(signed_url(2, "a.html"))).headers["Content-Type"] == "image/png"
    empty_response = await client.get(signed_url(4, "empty.txt"))
    assert (empty_response.status, await empty_response.read()) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        f"/cdn/avatars/5/{IMAGE_HASH}.png?size=128",
        f"/cdn/icons/5/{IMAGE_HASH}",
        f"/cdn/banners/5/{IMAGE_HASH}.png",
        f"/cdn/guilds/1/users/2/avatars/{IMAGE_HASH}.png",
        f"/cdn/guilds/1/users/2/banners/{IMAGE_HASH}.png",
        f"/cdn/role-icons/5/{IMAGE_HASH}.png",
        f"/cdn/app-icons/5/{IMAGE_HASH}.png",
    ],
)
async def test_images_are_found_by_their_hash(client: Client, path: str) -> None:
    response = await client.get(path)
    assert response.status == 200
    assert response.headers["Content-Type"] == "image/png"
    assert "immutable" in response.headers["Cache-Control"]
    revalidation_response = await client.get(path, headers={"If-None-Match": response.headers["ETag"]})
    assert (revalidation_response.status, await revalidation_response.read()) == (304, b"")


@pytest.mark.parametrize("name", ["../secret", "..%2fsecret", "x.png", f"{IMAGE_HASH}.exe", "f" * 32 + ".png"])
async def test_other_files_are_not_found(client: Client, name: str) -> None:
    assert (await client.get(f"/cdn/avatars/5/{name}")).status == 404


@pytest.mark.parametrize(
    ("path", "kind", "side", "frame_count"),
    [
        (f"/cdn/avatars/5/{IMAGE_HASH}.png?size=64", "PNG", 64, 1),
        (f"/cdn/avatars/5/{IMAGE_HASH}.png?size=4096", "PNG", 128, 1),
        (f"/cdn/avatars/5/{IMAGE_HASH}.webp", "WEBP", 128, 1),
        (f"/cdn/icons/5/{IMAGE_HASH}.jpg?size=16", "JPEG", 16, 1),
        (f"/cdn/icons/5/{IMAGE_HASH}?size=20", "PNG", 20, 1),
        (f"/cdn/icons/5/{ANIMATED_IMAGE_HASH}.gif", "GIF", 64, 3),
        (f"/cdn/icons/5/{ANIMATED_IMAGE_HASH}.gif?size=32", "GIF", 32, 3),
        (f"/cdn/icons/5/{ANIMATED_IMAGE_HASH}.webp?animated=true", "WEBP", 64, 3),
        (f"/cdn/icons/5/{ANIMATED_IMAGE_HASH}.webp?animated=false", "WEBP", 64, 1),
        (f"/cdn/icons/5/{ANIMATED_IMAGE_HASH}.png", "PNG", 64, 1),
        ("/cdn/emojis/7.png", "PNG", 128, 1),
        ("/cdn/emojis/7.webp?size=48&quality=lossless", "WEBP", 48, 1),
        ("/cdn/emojis/8.gif", "GIF", 64, 3),
        ("/cdn/emojis/8.png", "PNG", 64, 1),
        ("/cdn/emojis/8", "GIF", 64, 3),
        ("/cdn/stickers/7.png?size=16", "PNG", 128, 1),
        ("/cdn/stickers/8.png", "PNG", 64, 3),
        ("/cdn/stickers/8.gif", "GIF", 64, 3),
        ("/cdn/stickers/10.png", "PNG", 128, 1),
    ],
)
async def test_images_are_converted_to_the_requested_format_and_size(
    client: Client, path: str, kind: str, side: int, frame_count: int
) -> None:
    for _ in range(2):
        response = await client.get(path)
        assert response.status == 200, await response.text()
        image = media.open_image(await response.read())
        assert (image.format, image.size, getattr(image, "n_frames", 1)) == (kind, (side, side), frame_count)
        assert response.headers["Content-Type"] == f"image/{kind.lower()}"
        assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/cdn/avatars/5/{IMAGE_HASH}.png?size=17", 400),
        (f"/cdn/avatars/5/{IMAGE_HASH}.png?size=x", 400),
        (f"/cdn/avatars/5/{IMAGE_HASH}.png?size=", 400),
        (f"/cdn/avatars/5/{IMAGE_HASH}.png?size=128000", 400),
        (f"/cdn/avatars/5/{IMAGE_HASH}.webp?animated=1", 400),
        (f"/cdn/avatars/5/{IMAGE_HASH}.gif", 415),
        ("/cdn/emojis/7.gif", 415),
        ("/cdn/emojis/7.json", 415),
        ("/cdn/emojis/1.png", 404),
        ("/cdn/emojis/9.png", 404),
        ("/cdn/emojis/7.", 404),
        ("/cdn/emojis/7png", 404),
        ("/cdn/stickers/1.png", 404),
        ("/cdn/stickers/9.png", 415),
        ("/cdn/stickers/10.gif", 415),
        ("/cdn/soundboard-sounds/2", 404),
    ],
)
async def test_invalid_image_requests_are_rejected(client: Client, path: str, status: int) -> None:
    response = await client.get(path)
    assert response.status == status
    assert (await response.json())["code"] == 0


def proxy_url(attachment_id: int, query: str) -> str:
    """Return the path and query of a signed URL of the media proxy, followed by `query`."""
    return signed_url(attachment_id, "a.png").replace("/cdn/", "/cdn/media/", 1) + query


@pytest.mark.parametrize(
    ("attachment_id", "query", "kind", "size", "frame_count"),
    [
        (5, "", "PNG", (600, 300), 1),
        (5, "&width=100&height=100", "PNG", (100, 50), 1),
        (5, "&width=4096&height=60", "PNG", (120, 60), 1),
        (5, "&width=60", "PNG", (60, 30), 1),
        (5, "&height=4096", "PNG", (600, 300), 1),
        (5, "&format=webp&quality=lossless", "WEBP", (600, 300), 1),
        (5, "&format=jpg&width=300&height=300", "JPEG", (300, 150), 1),
        (6, "&width=32", "GIF", (32, 16), 3),
        (6, "&format=webp&animated=true", "WEBP", (64, 32), 3),
        (6, "&format=webp", "WEBP", (64, 32), 1),
    ],
)
async def test_the_media_proxy_resizes_attached_images(
    client: Client, attachment_id: int, query: str, kind: str, size: tuple[int, int], frame_count: int
) -> None:
    response = await client.get(proxy_url(attachment_id, query))
    assert response.status == 200, await response.text()
    image = media.open_image(await response.read())
    assert (image.format, image.size, getattr(image, "n_frames", 1)) == (kind, size, frame_count)
    assert response.headers["Content-Type"] == f"image/{kind.lower()}"
    assert response.headers["Cache-Control"] == "private, max-age=86400"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    cached = await client.get(proxy_url(attachment_id, query), headers={"If-None-Match": response.headers["ETag"]})
    assert cached.status == 304


@pytest.mark.parametrize(
    ("attachment_id", "query", "status"),
    [
        (5, "&width=0", 400),
        (5, "&width=4097", 400),
        (5, "&height=-1", 400),
        (5, "&width=", 400),
        (5, "&width=1e3", 400),
        (5, "&format=svg", 400),
        (5, "&format=webp&animated=1", 400),
        (3, "&width=10", 415),
        (4, "&format=png", 415),
        (7, "&width=10", 415),
        (8, "&width=10", 415),
        (99, "&width=10", 404),
    ],
)
async def test_invalid_media_proxy_requests_are_rejected(
    client: Client, attachment_id: int, query: str, status: int
) -> None:
    response = await client.get(proxy_url(attachment_id, query))
    assert response.status == status
    assert (await response.json())["code"] == 0


async def test_the_media_proxy_needs_the_signature_and_the_cdn_never_resizes(client: Client) -> None:
    assert (await client.get("/cdn/media/attachments/1/5/a.png?width=10")).status == 404
    assert (await client.get(proxy_url(5, "&width=10").replace("/5/", "/6/"))).status == 404
    cdn_response = await client.get(signed_url(5, "a.png") + "&width=10")
    assert media.open_image(await cdn_response.read()).size == (600, 300)
    page = await client.get(proxy_url(3, ""))
    assert page.headers["Content-Type"] == "application/octet-stream"


async def test_the_media_proxy_responds_with_503_if_its_queue_is_full(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media_proxy, "WAITING_REQUESTS_MAX", 0)
    assert (await client.get(proxy_url(5, "&width=10"))).status == 503
    assert (await client.get(proxy_url(5, ""))).status == 200


async def test_lottie_stickers_and_sounds_have_their_content_type(client: Client) -> None:
    sticker = await client.get("/cdn/stickers/9.json")
    assert (sticker.headers["Content-Type"], await sticker.read()) == ("application/json", b'{"v": "5.5.2"}')
    assert (await client.get("/cdn/soundboard-sounds/7")).headers["Content-Type"] == "audio/mpeg"
    default = await client.get("/cdn/soundboard-sounds/1")
    assert (default.headers["Content-Type"], await default.read()) == ("audio/ogg", media.ogg())


async def test_default_avatars_are_png_images(client: Client) -> None:
    bodies = set()
    for index in range(6):
        response = await client.get(f"/cdn/embed/avatars/{index}.png")
        assert response.headers["Content-Type"] == "image/png"
        bodies.add(await response.read())
    assert len(bodies) == 6
    assert (await client.get("/cdn/embed/avatars/6.png")).status == 404


async def test_byte_ranges_are_served(client: Client) -> None:
    url = signed_url(2, "a.png")
    avatar_bytes = len(AVATAR)
    range_response = await client.get(url, headers={"Range": "bytes=1-4"})
    assert (range_response.status, await range_response.read()) == (206, AVATAR[1:5])
    assert range_response.headers["Content-Range"] == f"bytes 1-4/{avatar_bytes}"
    suffix = await client.get(url, headers={"Range": "bytes=-3"})
    assert await suffix.read() == AVATAR[-3:]
    beyond = await client.get(url, headers={"Range": f"bytes={avatar_bytes}-"})
    assert (beyond.status, beyond.headers["Content-Range"]) == (416, f"bytes */{avatar_bytes}")
    other_response = await client.get(url, headers={"Range": "bytes=1-4", "If-Range": '"other"'})
    assert (other_response.status, await other_response.read()) == (200, AVATAR)
    head = await client.head(url)
    assert (head.headers["Content-Length"], await head.read()) == (str(avatar_bytes), b"")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-", (0, 10)),
        ("bytes=2-3", (2, 4)),
        ("bytes=2-99", (2, 10)),
        ("bytes=-4", (6, 10)),
        ("bytes=-99", (0, 10)),
        ("bytes=-0", (10, 10)),
        ("bytes=10-", (10, 10)),
        ("bytes=3-2", None),
        ("bytes=-", None),
        ("bytes=1-2,3-4", None),
        ("lines=1-2", None),
    ],
)
def test_range_headers_are_parsed(header: str, expected: tuple[int, int] | None) -> None:
    assert byte_range(header, 10) == expected


def test_a_signed_url_is_parsed() -> None:
    base = "https://example.org/cdn"
    url = base + cdn_urls.sign(SIGNING_KEY, cdn_urls.attachment_path(1, 2, "a b?.png"), NOW_MS)
    parsed_url = cdn_urls.parse(base, url)
    assert parsed_url is not None
    assert (parsed_url.channel_id, parsed_url.attachment_id, parsed_url.filename) == (1, 2, "a b?.png")
    assert parsed_url.was_signed(SIGNING_KEY)
    assert not parsed_url.was_signed(b"other")
    assert cdn_urls.parse(base, url.replace("/cdn/", "/cdn/media/")) == parsed_url
    assert cdn_urls.parse(base, "https://example.com/cdn/attachments/1/2/a.png") is None
    assert cdn_urls.parse(base, "http://[") is None
