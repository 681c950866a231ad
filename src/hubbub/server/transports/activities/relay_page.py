"""The relay page between the platform's page and an activity (spec/activities.md#5).

An unmodified SDK accepts messages only from its own origin, but the platform's pages have another origin. The relay
page is on the activity's origin: it embeds the activity in a frame with the same query, and relays messages in both
directions. The activity shares this origin and could modify the page, so the page holds no tokens and no permissions;
the platform's page authorizes every request.
"""

from html import escape
from typing import Final

from aiohttp import web

from hubbub.server.transports.activities.headers import OWN_HOST_ALLOWLIST, WEBRTC_DIRECTIVE

PAGE_PATH: Final = "/.platform/frame.html"
SCRIPT_PATH: Final = "/.platform/frame.js"

FRAME_PERMISSIONS: Final = "autoplay; encrypted-media; fullscreen; clipboard-write; gamepad"
"""Permissions policy of the activity's frame (spec/activities.md#4)."""

_PAGE_TEMPLATE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Activity</title>
<style>html, body, iframe {{ border: 0; height: 100%; margin: 0; width: 100%; }} body {{ overflow: hidden; }}</style>
<script src="{script}" data-host-origin="{host_origin}" data-allow="{allow}" defer></script>
</html>
"""

_SCRIPT_SOURCE: Final = """// Relay messages between the activity and the embedding page; ignore other origins.
const { hostOrigin, allow } = document.currentScript.dataset;
const embedder = window.opener ?? window.parent;
const frame = document.createElement("iframe");
frame.allow = allow;
frame.title = document.title;
frame.src = `/${location.search}`;
window.addEventListener("message", ({ data, origin, source }) => {
  if (source === frame.contentWindow && origin === location.origin) embedder.postMessage(data, hostOrigin);
  else if (source === embedder && origin === hostOrigin) frame.contentWindow.postMessage(data, location.origin);
});
document.body.append(frame);
"""


def page(web_origin: str) -> web.Response:
    """Return the relay page, which only pages at the origin `web_origin` may embed."""
    html = _PAGE_TEMPLATE.format(script=SCRIPT_PATH, host_origin=escape(web_origin), allow=FRAME_PERMISSIONS)
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; "
        f"form-action 'none'; {WEBRTC_DIRECTIVE}; require-trusted-types-for 'script'; trusted-types 'none'; "
        f"frame-ancestors {web_origin}"
    )
    return web.Response(text=html, content_type="text/html", headers=_response_headers(policy))


def script() -> web.Response:
    """Return the script of the relay page."""
    return web.Response(
        text=_SCRIPT_SOURCE,
        content_type="text/javascript",
        headers=_response_headers(f"default-src 'none'; {WEBRTC_DIRECTIVE}"),
    )


def _response_headers(policy: str) -> dict[str, str]:
    return {
        "Cache-Control": "no-cache",
        "Connection-Allowlist": OWN_HOST_ALLOWLIST,
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
    }
