"""The relay page between a host of activities and an activity (activities.md 5).

An unmodified SDK listens only to its own origin, and our pages are on another one. This page is on the activity's origin: it shows
the activity in a frame, with the same query, and passes messages on. The activity shares its origin and could change it, so it
holds no token and no right; who asks for what is the host's business, which knows this frame.
"""

from html import escape
from typing import Final

from aiohttp import web

PAGE: Final = "/.platform/frame.html"
SCRIPT: Final = "/.platform/frame.js"

ALLOW: Final = "autoplay; encrypted-media; fullscreen; clipboard-write; gamepad"
"""activities.md 4."""

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Activity</title>
<style>html, body, iframe {{ border: 0; height: 100%; margin: 0; width: 100%; }} body {{ overflow: hidden; }}</style>
<script src="{script}" data-host="{host}" data-allow="{allow}" defer></script>
</html>
"""

_SCRIPT: Final = """// Messages of the activity go to its host, and the host's to the activity; nobody else's go anywhere.
const { host, allow } = document.currentScript.dataset;
const outside = window.opener ?? window.parent;
const frame = document.createElement("iframe");
frame.allow = allow;
frame.title = document.title;
frame.src = `/${location.search}`;
window.addEventListener("message", ({ data, origin, source }) => {
  if (source === frame.contentWindow && origin === location.origin) outside.postMessage(data, host);
  else if (source === outside && origin === host) frame.contentWindow.postMessage(data, location.origin);
});
document.body.append(frame);
"""


def page(host: str) -> web.Response:
    """The relay, for a host at this origin and no other."""
    text = _PAGE.format(script=SCRIPT, host=escape(host), allow=ALLOW)
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; frame-src 'self'; frame-ancestors {host}"
    )
    return web.Response(text=text, content_type="text/html", headers=_headers(policy))


def script() -> web.Response:
    """What it does."""
    return web.Response(text=_SCRIPT, content_type="text/javascript", headers=_headers("default-src 'none'"))


def _headers(policy: str) -> dict[str, str]:
    return {"Cache-Control": "no-cache", "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"}
