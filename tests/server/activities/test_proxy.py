"""The activity proxy: requests on an application's host are forwarded to its target."""

import asyncio
import gzip
import json

import aiohttp
import pytest

from hubbub.protocol import changes
from hubbub.protocol.flags import ApplicationFlags
from hubbub.server.core.config import ActivitiesConfig
from tests.server.activities.conftest import run_server, with_activities
from tests.server.activities.upstream import PROXY_HOST, ProxiedActivity, Upstream, create_proxied_activity
from tests.world import WAIT_TIMEOUT_SECONDS, World, small_config


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
async def test_every_method_is_forwarded_with_its_body(activity: ProxiedActivity, method: str) -> None:
    echoed_request = await activity.echo("/a/b%20c?x=1&y=%2F", method, data=b"\x00hello" if method != "GET" else None)

    assert (echoed_request.method, echoed_request.path) == (method, "/a/b%20c?x=1&y=%2F")
    assert echoed_request.body == ("" if method == "GET" else "\x00hello")
    assert echoed_request.headers["Host"] == activity.upstream.target


async def test_a_head_response_has_no_body(activity: ProxiedActivity) -> None:
    response = await activity.request("/large?bytes=500", "HEAD")

    assert (response.status, response.headers["Content-Length"], response.body) == (200, "500", b"")


async def test_mappings_apply_in_order_and_placeholders_are_filled_in(store_activity: ProxiedActivity) -> None:
    activity, target = store_activity, store_activity.upstream.target
    await activity.set_url_map(
        ("/api/{version}/users", f"{target}/people/{{version}}"),
        ("/api", f"{target}/server"),
        ("/api/late", f"{target}/never"),
        ("/", f"{target}/www"),
    )

    for path, forwarded_path in {
        "/": "/www/",
        "/index.html?a=b": "/www/index.html?a=b",
        "/api": "/server",
        "/api/late/x": "/server/late/x",
        "/api/v2/users/7": "/people/v2/7",
        "/apiary": "/www/apiary",
        "/.proxy/api/x": "/server/x",
        "/.proxy": "/www/",
    }.items():
        assert (await activity.echo(path)).path == forwarded_path, path
    await activity.set_url_map(("/api", target))
    assert (await activity.request("/")).status == 404
    assert (await activity.echo("/api/x")).path == "/x"


async def test_hosts_without_an_activity_respond_with_404(store_activity: ProxiedActivity) -> None:
    activity = store_activity
    other_bot = await activity.world.bot()
    (await other_bot.post(f"/applications/{other_bot.application_id}/proxy-config", json={"url_map": []})).ok()

    for host in (
        f"1.{PROXY_HOST}",
        f"{other_bot.application_id}.{PROXY_HOST}",
        f"name.{PROXY_HOST}",
        f"a.{activity.host}",
        f"9{'9' * 30}.{PROXY_HOST}",
    ):
        response = await activity.request("/", headers={"Host": host})
        assert (response.status, response.headers["Content-Type"]) == (404, "text/html; charset=utf-8"), host
        assert "There is no activity at this address" in response.body.decode()
        # The API is not available on these hosts either.
        assert (await activity.request("/api/v10/gateway", headers={"Host": host})).status == 404
    assert (
        await activity.echo("/api/v10/gateway", headers={"Host": f"{activity.host.upper()}.:8080"})
    ).path == "/api/v10/gateway"
    assert (await activity.request("/api/v10/gateway", headers={"Host": PROXY_HOST})).json["url"].startswith("ws")


async def test_a_disabled_activity_is_not_served(store_activity: ProxiedActivity) -> None:
    world, upstream = store_activity.world, store_activity.upstream
    alice = await world.user()
    application = (await alice.post("/applications", json={"name": "Game"})).ok()
    path = f"/applications/{application['id']}"
    host = {"Host": f"{application['id']}.{PROXY_HOST}"}
    body = {"url_map": [{"prefix": "/", "target": upstream.target}]}
    (await alice.post(f"{path}/proxy-config", json=body)).ok()

    assert (await store_activity.request("/", headers=host)).status == 404
    (await alice.patch(path, json={"activities": True})).ok()
    assert (await store_activity.request("/", headers=host)).status == 200
    (await alice.patch(path, json={"activities": False})).ok()
    assert (await store_activity.request("/", headers=host)).status == 404


@pytest.mark.parametrize(
    "path", ["/../x", "/a/../x", "/a/%2e%2E/x", "/.%2e", "/a/.", "/.platform/x", "/.proxy/.platform/x"]
)
async def test_path_traversal_and_unknown_platform_paths_are_rejected(activity: ProxiedActivity, path: str) -> None:
    await activity.set_url_map(("/", f"{activity.upstream.target}/www"))
    reader, writer = await asyncio.open_connection("127.0.0.1", int(activity.world.url.rpartition(":")[2]))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {activity.host}\r\nConnection: close\r\n\r\n".encode())
    status_line = await asyncio.wait_for(reader.readline(), WAIT_TIMEOUT_SECONDS)
    writer.close()

    assert status_line.split()[1] == (b"404" if "platform" in path else b"400")
    assert not activity.upstream.requests


async def test_forwarded_request_headers_do_not_identify_the_client(activity: ProxiedActivity) -> None:
    echoed_request = await activity.echo(
        "/",
        headers={
            "X-Forwarded-For": "203.0.113.9",
            "X-Forwarded-Proto": "https",
            "X-Real-IP": "203.0.113.9",
            "Forwarded": "for=203.0.113.9",
            "CF-Connecting-IP": "203.0.113.9",
            "Via": "1.1 somewhere",
            "Referer": "https://chat.example.org/channels/1/2",
            "Connection": "keep-alive, X-Hop",
            "X-Hop": "1",
            "TE": "trailers",
            "X-Signature-Ed25519": "00",
            "X-Signature-Timestamp": "1",
            "X-Discord-Proxy-Payload": "e30=",
            "Cookie": "hubbub_session=secret; theme=dark; __Host-hubbub_session=secret; hubbub_proxy_ticket=x; a=b=c",
            "Authorization": "Bearer of-the-app",
            "User-Agent": "a browser",
            "Accept-Language": "de",
            "Origin": f"http://{activity.host}",
        },
    )

    names = {name.lower() for name in echoed_request.headers}
    assert (
        names & {"x-forwarded-for", "x-forwarded-proto", "x-real-ip", "forwarded", "cf-connecting-ip", "via"} == set()
    )
    assert names & {"referer", "x-hop", "te", "x-signature-ed25519", "x-discord-proxy-payload"} == set()
    assert "x-signature-timestamp" not in names
    assert echoed_request.headers["Cookie"] == "theme=dark; a=b=c"
    assert (echoed_request.headers["Authorization"], echoed_request.headers["User-Agent"]) == (
        "Bearer of-the-app",
        "a browser",
    )
    assert (echoed_request.headers["Accept-Language"], echoed_request.headers["Origin"]) == (
        "de",
        f"http://{activity.host}",
    )


async def test_response_headers_allow_embedding_in_a_frame_and_pages_are_not_cached(activity: ProxiedActivity) -> None:
    page = aiohttp.web.Response(
        status=201,
        text="<p>hello</p>",
        content_type="text/html",
        headers={
            "X-Frame-Options": "DENY",
            "Content-Security-Policy": "default-src 'none'",
            "Strict-Transport-Security": "max-age=1",
            "Clear-Site-Data": '"cookies", "storage"',
            "Cache-Control": "max-age=600",
            "ETag": '"1"',
            "Last-Modified": "Tue, 01 Jan 2030 00:00:00 GMT",
            "Expires": "Tue, 01 Jan 2030 00:00:00 GMT",
            "X-Game": "yes",
        },
    )
    activity.upstream.response = page
    response = await activity.request("/response")

    assert (response.status, response.body, response.headers["X-Game"]) == (201, b"<p>hello</p>", "yes")
    removed_headers = {
        "X-Frame-Options",
        "Strict-Transport-Security",
        "Clear-Site-Data",
        "Cache-Control",
        "ETag",
        "Last-Modified",
        "Expires",
    }
    assert removed_headers & set(response.headers) == set()
    policy = dict(part.split(" ", 1) for part in response.headers["Content-Security-Policy"].split("; "))
    web_url, port = activity.world.url, activity.world.url.rpartition(":")[2]
    assert policy["frame-ancestors"] == f"'self' {web_url}"
    assert policy["connect-src"].startswith(f"'self' ws://{activity.host}:{port} data: blob: {web_url}/api/")
    assert f"{web_url}/cdn/avatars/" in policy["img-src"]
    assert "'unsafe-eval'" in policy["script-src"]
    assert policy["webrtc"] == "'block'"

    activity.upstream.response = aiohttp.web.Response(
        body=b"x", content_type="image/png", headers={"Cache-Control": "max-age=600", "ETag": '"1"'}
    )
    response = await activity.request("/response")
    assert (response.headers["Cache-Control"], response.headers["ETag"]) == ("max-age=600", '"1"')


async def test_cookies_of_the_target_are_set_on_the_activity_host(activity: ProxiedActivity) -> None:
    upstream_response = aiohttp.web.Response()
    for cookie in (
        "id=1; Domain=game.example.org; Path=/deep; SameSite=Strict; HttpOnly; Max-Age=60",
        "theme=dark",
        "hubbub_session=mine",
        "__Host-hubbub_proxy_ticket=mine; Secure",
    ):
        upstream_response.headers.add("Set-Cookie", cookie)
    activity.upstream.response = upstream_response

    cookies = (await activity.request("/response")).headers.getall("Set-Cookie")

    assert cookies == [
        "id=1; HttpOnly; Max-Age=60; Path=/; Secure; SameSite=None; Partitioned",
        "theme=dark; Path=/; Secure; SameSite=None; Partitioned",
    ]


@pytest.mark.parametrize(
    ("path", "location", "expected"),
    [
        ("/api/response", "{origin}/dir/next?x=1", "/api/next?x=1"),
        ("/.proxy/api/response", "{origin}/dir/next", "/.proxy/api/next"),
        ("/api/response", "/dir", "/api"),
        ("/api/response", "/dir/", "/api/"),
        ("/api/response", "/directory", "{origin}/directory"),
        ("/api/response", "{origin}/other", "{origin}/other"),
        ("/api/response", "next", "next"),
        ("/api/response", "https://elsewhere.example.org/dir/x", "https://elsewhere.example.org/dir/x"),
        ("/api/response", "//elsewhere.example.org/dir", "//elsewhere.example.org/dir"),
        ("/response", "{origin}", "/"),
        ("/response", "{origin}//evil.example.org", "{origin}//evil.example.org"),
        ("/.proxy/response", "/login?next=/x", "/.proxy/login?next=/x"),
    ],
)
async def test_redirects_are_rewritten_to_the_activity_host_where_possible(
    activity: ProxiedActivity, path: str, location: str, expected: str
) -> None:
    origin = f"http://{activity.upstream.target}"
    await activity.set_url_map(("/api", f"{activity.upstream.target}/dir"), ("/", activity.upstream.target))
    activity.upstream.response = aiohttp.web.Response(status=307, headers={"Location": location.format(origin=origin)})

    response = await activity.request(path)

    assert (response.status, response.headers["Location"]) == (307, expected.format(origin=origin))
    assert len(activity.upstream.requests) == 1


async def test_compressed_responses_are_forwarded_and_compressed_requests_decompressed(
    activity: ProxiedActivity,
) -> None:
    compressed_body = gzip.compress(b"hello" * 100)
    activity.upstream.response = aiohttp.web.Response(
        body=compressed_body, content_type="text/plain", headers={"Content-Encoding": "gzip"}
    )

    response = await activity.request("/response", headers={"Accept-Encoding": "gzip"})
    assert (response.headers["Content-Encoding"], response.body) == ("gzip", compressed_body)
    assert activity.upstream.requests[-1].headers["Accept-Encoding"] == "gzip"
    # A compressed request body is decompressed, and its Content-Encoding removed.
    echoed_request = await activity.echo("/", "POST", data=compressed_body, headers={"Content-Encoding": "gzip"})
    assert echoed_request.body == "hello" * 100
    assert "Content-Encoding" not in echoed_request.headers


async def test_a_response_is_streamed(activity: ProxiedActivity) -> None:
    async with activity.world.client.get(activity.world.url + "/stream", **activity.request_options({})) as response:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            assert await response.content.readany() == b"data: one\n\n"
            activity.upstream.release.set()
            assert await response.content.read() == b"data: two\n\n"
        assert response.headers["Content-Type"] == "text/event-stream"


async def test_a_request_body_is_streamed(activity: ProxiedActivity) -> None:
    async def body():  # type: ignore[no-untyped-def]
        yield b"first"
        # The upstream receives the headers before the rest of the body is sent.
        await activity.upstream.wait_until(lambda: bool(activity.upstream.requests))
        yield b" second"

    echoed_request = await activity.echo("/", "POST", data=body(), headers={"Expect": "100-continue"})
    assert echoed_request.body == "first second"
    assert "Expect" not in echoed_request.headers


async def test_an_aborted_response_is_not_completed(activity: ProxiedActivity) -> None:
    async with activity.world.client.get(activity.world.url + "/broken", **activity.request_options({})) as response:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            await response.content.readany()
            activity.upstream.release.set()
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.content.read()


async def test_a_client_disconnect_aborts_the_upstream_request(activity: ProxiedActivity) -> None:
    task = asyncio.create_task(activity.request("/slow"))
    await activity.upstream.wait_until(lambda: bool(activity.upstream.requests))
    task.cancel()

    await activity.upstream.wait_until(lambda: activity.upstream.aborted_request_count == 1)
    assert (await activity.echo("/")).path == "/"


async def test_an_unreachable_target_responds_with_an_error_page(activity: ProxiedActivity) -> None:
    await activity.upstream.close()

    response = await activity.request("/")
    assert (response.status, response.headers["Content-Type"]) == (502, "text/html; charset=utf-8")
    assert "cannot be reached" in response.body.decode()
    assert response.headers["Content-Security-Policy"].startswith(
        "default-src 'none'; sandbox; frame-ancestors 'self' http"
    )
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await activity.connect("/socket")
    assert caught.value.status == 502


async def test_an_unresolvable_target_responds_with_502(activity: ProxiedActivity) -> None:
    await activity.set_url_map(("/", "nothing.invalid"))

    assert (await activity.request("/")).status == 502


@pytest.fixture
async def limited_activity(response_monitor: object, upstream: Upstream) -> object:
    """An activity behind a proxy with small limits."""
    limits = {"request_bytes_max": 2048, "response_bytes_max": 4096, "connections_max": 1}
    async with run_server(with_activities(small_config(), **limits)) as world:
        yield await create_proxied_activity(world, upstream)


async def test_a_slow_target_times_out(response_monitor: object, upstream: Upstream) -> None:
    async with run_server(with_activities(small_config(), timeout_ms=500)) as world:
        activity = await create_proxied_activity(world, upstream)
        error_page = await activity.request("/slow")

        assert error_page.status == 504
        assert "did not respond in time" in error_page.body.decode()
        await upstream.wait_until(lambda: upstream.aborted_request_count == len(upstream.requests))
        reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
        writer.write(f"POST / HTTP/1.1\r\nHost: {activity.host}\r\nContent-Length: 9\r\n\r\nhalf".encode())
        assert (await asyncio.wait_for(reader.readline(), WAIT_TIMEOUT_SECONDS)).split()[1] == b"408"
        writer.close()
        async with world.client.get(world.url + "/stream", **activity.request_options({})) as response:
            # On a busy machine even the response headers may exceed the timeout.
            if response.status != 504:
                with pytest.raises(aiohttp.ClientPayloadError):
                    await asyncio.wait_for(response.read(), WAIT_TIMEOUT_SECONDS)
        await upstream.wait_until(lambda: upstream.aborted_request_count == len(upstream.requests))


async def test_oversized_and_invalid_bodies_are_not_forwarded(limited_activity: ProxiedActivity) -> None:
    assert (await limited_activity.request("/", "POST", data=b"x" * 2049)).status == 413
    assert not limited_activity.upstream.requests
    assert len((await limited_activity.echo("/", "POST", data=b"x" * 2048)).body) == 2048

    async def body():  # type: ignore[no-untyped-def]
        for _ in range(3):
            yield b"x" * 1000

    assert (await limited_activity.request("/", "POST", data=body())).status == 413
    compressed_body = gzip.compress(b"x" * 100_000)
    assert (
        await limited_activity.request("/", "POST", data=compressed_body, headers={"Content-Encoding": "gzip"})
    ).status == 413
    assert (
        await limited_activity.request("/", "POST", data=b"plain", headers={"Content-Encoding": "gzip"})
    ).status == 400
    assert (await limited_activity.request("/large?bytes=4096")).status == 200
    assert (await limited_activity.request("/large?bytes=4097")).status == 502


async def test_concurrent_requests_of_an_application_are_limited(limited_activity: ProxiedActivity) -> None:
    async with limited_activity.connect("/socket") as socket:
        await socket.send_str("hello")
        assert (await socket.receive(WAIT_TIMEOUT_SECONDS)).data == "hello"
        response = await limited_activity.request("/")
        assert (response.status, response.headers["Retry-After"]) == (503, "1")
    await limited_activity.upstream.wait_until(lambda: len(limited_activity.upstream.close_frames) == 1)

    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while (await limited_activity.request("/")).status == 503:
            await asyncio.sleep(0)


async def test_private_targets_are_rejected_by_default(response_monitor: object, upstream: Upstream) -> None:
    config = small_config(activities=ActivitiesConfig(proxy_host=PROXY_HOST))
    async with run_server(config) as world:
        activity = ProxiedActivity(world, await world.bot(flags=ApplicationFlags.EMBEDDED), upstream)
        path = f"/applications/{activity.bot.application_id}/proxy-config"
        body = {"url_map": [{"prefix": "/", "target": upstream.target}]}
        response = await activity.bot.post(path, json=body)
        assert response.errors("url_map.0.target") == ["URL_MAPPING_TARGET_PRIVATE"]

        # The address is checked on connect as well, because the DNS name of a stored target may have changed.
        for target in (upstream.target, f"localhost:{upstream.port}", "[::1]:1", "2130706433:1", "169.254.169.254"):
            insert = (
                "INSERT INTO activity_url_mappings (application_id, position, prefix, target) VALUES (?, 0, '/', ?)"
            )

            def store_mapping(call, target=target, insert=insert):  # type: ignore[no-untyped-def]
                call.tx.run("DELETE FROM activity_url_mappings")
                call.tx.run(insert, activity.bot.application_id, target)

            await world.write(store_mapping)
            response = await activity.request("/")
            assert response.status == 502, target
            # 2130706433 is 127.0.0.1 as one number, which not every resolver accepts.
            assert "does not connect to" in response.body.decode() or target.startswith("2130706433"), target
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await activity.connect("/socket")
            assert caught.value.status == 502
        assert not upstream.requests


async def test_without_a_proxy_host_no_request_is_proxied(private_targets_world: World, upstream: Upstream) -> None:
    activity = await create_proxied_activity(private_targets_world, upstream)

    assert (await activity.request("/api/v10/gateway")).json["url"].startswith("ws")
    assert (await activity.request("/game.js")).status == 404
    assert not upstream.requests


@pytest.mark.dated(changes.ACTIVITY_PROXY_PREFIX_REQUIRED, changes.ACTIVITY_PROXY_PREFIX_OPTIONAL)
async def test_the_proxy_prefix_was_required_between_two_dates(store_activity: ProxiedActivity) -> None:
    activity, target = store_activity, store_activity.upstream.target
    await activity.set_url_map(("/api", f"{target}/server"), ("/", target))
    required_since, optional_since = changes.ACTIVITY_PROXY_PREFIX_REQUIRED, changes.ACTIVITY_PROXY_PREFIX_OPTIONAL

    async def statuses() -> list[int]:
        responses = [
            await activity.request("/"),
            await activity.request("/game.js"),
            await activity.request("/api/token"),
            await activity.request("/login", "POST", data=b"x"),
            await activity.request("/.proxy/api/token"),
            await activity.request("/.proxy/login", "POST", data=b"x"),
        ]
        return [response.status for response in responses]

    async def connect_source() -> str:
        return (await activity.request("/")).headers["Content-Security-Policy"].split("connect-src ")[1].split()[0]

    for now_ms, is_prefix_optional in (
        (required_since.at_ms - 1, True),
        (required_since.at_ms, False),
        (optional_since.at_ms - 1, False),
        (optional_since.at_ms, True),
    ):
        activity.world.clock.set(now_ms)
        assert await statuses() == ([200] * 6 if is_prefix_optional else [200, 200, 404, 404, 200, 200])
        assert await connect_source() == (
            "'self'"
            if is_prefix_optional
            else f"http://{activity.host}:{activity.world.url.rpartition(':')[2]}/.proxy/"
        )
        if is_prefix_optional:
            async with activity.connect("/socket"):
                pass
        else:
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await activity.connect("/socket")
        async with activity.connect("/.proxy/socket"):
            pass
    assert json.loads((await activity.request("/.proxy/api/token")).body)["path"] == "/server/token"


async def test_proxied_requests_have_their_own_metric_labels(activity: ProxiedActivity) -> None:
    await activity.request("/")
    await activity.request("/", "PROPFIND")
    activity.upstream.response = aiohttp.web.Response(status=799)
    assert (await activity.request("/response")).status == 799

    rendered_metrics = (await activity.world.request("GET", f"{activity.world.url}/metrics")).body.decode()
    assert 'route="activity"' in rendered_metrics
    assert "PROPFIND" not in rendered_metrics
    assert 'status="799"' not in rendered_metrics


async def test_the_frame_relay_is_embeddable_only_by_the_web_client(activity: ProxiedActivity) -> None:
    page, script = (
        await activity.request("/.platform/frame.html?frame_id=1"),
        await activity.request("/.platform/frame.js"),
    )

    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Content-Security-Policy"].endswith(f"; frame-ancestors {activity.world.url}")
    assert f'data-host-origin="{activity.world.url}"' in page.body.decode()
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in page.headers["Content-Security-Policy"]
    # An activity can use the documents of its own host, so they have the same limit.
    assert all("; webrtc 'block'" in response.headers["Content-Security-Policy"] for response in (page, script))
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert (await activity.request("/.platform/frame.html", "POST")).status == 405
    assert (await activity.request("/.platform/frame.html", headers={"Host": f"1.{PROXY_HOST}"})).status == 404
    assert not activity.upstream.requests


async def test_responses_of_the_platform_on_the_host_of_an_activity_have_a_policy(activity: ProxiedActivity) -> None:
    """An activity can open them in a frame of its own origin, where their policy replaces the policy of the activity."""
    responses = [
        await activity.request(path)
        for path in ("/%2e%2e/", "/.platform/missing", "/.platform/frame.js", f"/?{'a' * 9000}")
    ]
    responses.append(await activity.request("/response", headers={"Host": f"1.{PROXY_HOST}"}))

    assert [response.status for response in responses] == [400, 404, 200, 400, 404]
    for response in responses:
        assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert not activity.upstream.requests


async def test_a_service_worker_is_not_forwarded(activity: ProxiedActivity) -> None:
    response = await activity.request("/worker.js", headers={"Service-Worker": "script"})

    assert (response.status, b"service workers" in response.body) == (403, True)
    assert not activity.upstream.requests
