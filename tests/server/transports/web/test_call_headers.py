"""Headers that allow calls: microphone, camera and screen on the pages of the chat client only, and WebAssembly in one worker."""

import re
from collections.abc import Mapping

import pytest

from hubbub.server.transports.web import static_files
from tests.third_party_files import needs_call_files
from tests.world import World

CLIENT_FILES = static_files.ClientFiles()
CALL_PERMISSIONS = ("camera", "display-capture", "microphone")


def parse_permissions(header: str) -> dict[str, str]:
    """Return the allowlists of a Permissions-Policy by feature."""
    return dict(part.split("=", 1) for part in header.split(", "))


def parse_policy(header: str) -> dict[str, list[str]]:
    """Return the sources of a Content-Security-Policy by directive."""
    return {name: sources for name, *sources in (directive.split() for directive in header.split(";"))}


async def fetch_headers(world: World, path: str, token: str = "") -> Mapping[str, str]:
    """Return the headers of a successful response; `token` is that of a session."""
    cookie = {"Cookie": f"hubbub_session={token}"} if token else {}
    async with world.client.get(world.url + path, headers=cookie, allow_redirects=False) as response:
        assert response.status == 200
        return response.headers


async def test_the_chat_client_may_capture_for_itself_but_not_for_frames(world: World) -> None:
    nora = await world.user("nora")
    headers = await fetch_headers(world, "/app", nora.token)
    permissions = parse_permissions(headers["Permissions-Policy"])
    assert {feature: permissions[feature] for feature in CALL_PERMISSIONS} == dict.fromkeys(CALL_PERMISSIONS, "(self)")
    others = permissions.keys() - set(CALL_PERMISSIONS)
    assert others == {"geolocation", "payment", "usb"}
    assert {permissions[feature] for feature in others} == {"()"}
    policy = parse_policy(headers["Content-Security-Policy"])
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == policy["worker-src"] == ["'self'"]
    assert policy["require-trusted-types-for"] == ["'script'"]
    assert policy["trusted-types"] == ["voice-worker", "service-worker"]
    assert "'unsafe-inline'" not in headers["Content-Security-Policy"]
    assert "wasm" not in headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/login", "/developers", "/docs"])
async def test_other_pages_may_not_capture(world: World, path: str) -> None:
    nora = await world.user("nora")
    headers = await fetch_headers(world, path, "" if path == "/login" else nora.token)
    permissions = parse_permissions(headers["Permissions-Policy"])
    assert permissions["camera"] == permissions["microphone"] == "()"
    assert permissions.get("display-capture", "()") == "()"


async def test_the_worker_of_calls_may_run_webassembly_and_load_scripts_of_this_server_only(world: World) -> None:
    path = CLIENT_FILES.source_url(static_files.FRAME_WORKER)
    headers = await fetch_headers(world, path)
    assert parse_policy(headers["Content-Security-Policy"]) == {
        "default-src": ["'none'"],
        "script-src": ["'self'", "'wasm-unsafe-eval'"],
        "connect-src": ["'self'"],
    }
    assert headers["Content-Type"].startswith("text/javascript")
    # A response from the cache of the browser keeps the policy.
    request_headers = {"If-None-Match": headers["ETag"]}
    async with world.client.get(world.url + path, headers=request_headers) as response:
        assert response.status == 304
        assert response.headers["Content-Security-Policy"] == headers["Content-Security-Policy"]


async def test_other_scripts_have_no_policy_that_allows_webassembly(world: World) -> None:
    for name in (static_files.MAIN_MODULE, "voice/call.js", "voice/encryption.js"):
        headers = await fetch_headers(world, CLIENT_FILES.source_url(name))
        assert "wasm" not in headers.get("Content-Security-Policy", "")


@needs_call_files
async def test_the_page_tells_the_client_whether_the_files_of_calls_are_installed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    nora = await world.user("nora")

    async def reads_as_installed() -> bool:
        cookie = {"Cookie": f"hubbub_session={nora.token}"}
        async with world.client.get(f"{world.url}/app", headers=cookie) as response:
            tag = re.search(r"<meta name=\"hubbub-client\"[^>]*>", await response.text())
        assert tag is not None
        return " data-calls" in tag[0]

    assert await reads_as_installed()
    monkeypatch.setattr(static_files, "CALL_FILES", static_files.CALL_FILES | {"third_party/missing.wasm"})
    assert not await reads_as_installed()
    assert "calls in the browser" in static_files.list_missing_features()
