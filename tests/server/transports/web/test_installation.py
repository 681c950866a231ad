"""Installation of the chat client by browsers: manifest, icons, service worker and theme colors."""

import io

import pytest
from PIL import Image

from hubbub.protocol import codec
from hubbub.server.transports.web.installation import DARK_COLOR, LIGHT_COLOR
from hubbub.server.transports.web.static_files import STATIC_FOLDER
from tests.world import World

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)


async def test_the_service_worker_is_checked_at_each_navigation_and_caches_nothing(world: World) -> None:
    response = await world.request("GET", f"{world.url}/service_worker.js")

    assert response.status == 200
    assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-cache"
    assert response.headers["Service-Worker-Allowed"] == "/app"
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; img-src 'self'"
    code = response.body.decode()
    assert '"fetch"' not in code
    assert "caches" not in code


async def test_the_manifest_has_what_browsers_need_to_install_the_client(world: World) -> None:
    response = await world.request("GET", f"{world.url}/manifest.webmanifest")

    manifest = response.json
    assert response.headers["Content-Type"] == "application/manifest+json"
    assert response.headers["Cache-Control"] == "no-cache"
    assert (manifest["start_url"], manifest["scope"], manifest["display"]) == ("/app", "/", "standalone")
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    for icon in manifest["icons"]:
        image = await fetch_image(world, icon["src"])
        assert f"{image.width}x{image.height}" == icon["sizes"]
    assert codec.encode(manifest) == response.body


async def fetch_image(world: World, path: str) -> Image.Image:
    """Download an icon, and return it as an RGBA image."""
    response = await world.request("GET", world.url + path)
    assert response.headers["Content-Type"] == "image/png"
    return Image.open(io.BytesIO(response.body)).convert("RGBA")


async def test_a_maskable_icon_is_opaque_and_keeps_the_logo_in_the_safe_zone(world: World) -> None:
    image = await fetch_image(world, "/static/icons/app-maskable-512.png")

    assert image.getchannel("A").getextrema() == (255, 255)
    background = image.getpixel((0, 0))
    center, safe_radius = 256, 512 * 0.4
    outside = [
        image.getpixel((x, y))
        for x in range(0, 512, 4)
        for y in range(0, 512, 4)
        if (x - center) ** 2 + (y - center) ** 2 > safe_radius**2
    ]
    assert set(outside) == {background}


async def test_the_badge_has_one_color_and_a_transparent_background(world: World) -> None:
    image = await fetch_image(world, "/static/icons/badge-96.png")

    assert [image.getchannel(name).getextrema() for name in "RGBA"] == [(255, 255)] * 3 + [(0, 255)]


async def test_unknown_icons_are_not_found(world: World) -> None:
    assert (await world.request("GET", f"{world.url}/static/icons/other.png")).status == 404


async def test_pages_have_the_color_of_the_chosen_theme(world: World) -> None:
    nora = await world.user("nora")
    headers = {"Cookie": f"hubbub_session={nora.token}"}
    for theme, colors in {
        "system": [LIGHT_COLOR, DARK_COLOR],
        "dark": [DARK_COLOR, DARK_COLOR],
        "light": [LIGHT_COLOR, LIGHT_COLOR],
    }.items():
        (await nora.patch("/users/@me/settings", json={"theme": theme})).ok()
        response = await world.request("GET", f"{world.url}/app", headers=headers)
        page, policy = response.body.decode(), response.headers["Content-Security-Policy"].split("; ")
        assert {"worker-src 'self'", "manifest-src 'self'", "trusted-types voice-worker service-worker"} <= {*policy}
        for scheme, color in zip(("light", "dark"), colors, strict=True):
            assert f'<meta name="theme-color" content="{color}" media="(prefers-color-scheme: {scheme})">' in page
        assert '<link rel="manifest" href="/manifest.webmanifest">' in page


def test_the_theme_colors_are_those_of_the_style_sheet(store_config: object) -> None:
    style = (STATIC_FOLDER / "style.css").read_text()
    assert f"--paper: light-dark({LIGHT_COLOR}, {DARK_COLOR});" in style
