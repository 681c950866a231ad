"""The proxy of activities: what is asked on an application's host reaches its target, and what that says comes back."""

import asyncio
import gzip
import json

import aiohttp
import pytest

from hubbub.protocol import changes
from hubbub.protocol.flags import ApplicationFlags
from hubbub.server.core.config import ActivitiesConfig
from tests.server.activities.conftest import running, with_activities
from tests.server.activities.upstream import HOST, Stage, Upstream
from tests.server.activities.upstream import stage as make_stage
from tests.world import PATIENCE, World, small_config


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
async def test_every_method_goes_through_with_its_body(stage: Stage, method: str) -> None:
    got = await stage.echo("/a/b%20c?x=1&y=%2F", method, data=b"\x00hello" if method != "GET" else None)

    assert (got.method, got.path) == (method, "/a/b%20c?x=1&y=%2F")
    assert got.body == ("" if method == "GET" else "\x00hello")
    assert got.headers["Host"] == stage.upstream.target


async def test_head_is_answered_without_a_body(stage: Stage) -> None:
    answer = await stage.ask("/large?bytes=500", "HEAD")

    assert (answer.status, answer.headers["Content-Length"], answer.body) == (200, "500", b"")


async def test_the_map_is_gone_by_in_its_order_and_placeholders_are_filled_in(kept_stage: Stage) -> None:
    stage, target = kept_stage, kept_stage.upstream.target
    await stage.map(
        ("/api/{version}/users", f"{target}/people/{{version}}"),
        ("/api", f"{target}/server"),
        ("/api/late", f"{target}/never"),
        ("/", f"{target}/www"),
    )

    for path, reached in {
        "/": "/www/",
        "/index.html?a=b": "/www/index.html?a=b",
        "/api": "/server",
        "/api/late/x": "/server/late/x",
        "/api/v2/users/7": "/people/v2/7",
        "/apiary": "/www/apiary",
        "/.proxy/api/x": "/server/x",
        "/.proxy": "/www/",
    }.items():
        assert (await stage.echo(path)).path == reached, path
    await stage.map(("/api", target))
    assert (await stage.ask("/")).status == 404
    assert (await stage.echo("/api/x")).path == "/x"


async def test_there_is_nothing_at_other_hosts_and_without_an_activity(kept_stage: Stage) -> None:
    stage = kept_stage
    other = await stage.world.bot()
    (await other.post(f"/applications/{other.application_id}/proxy-config", json={"url_map": []})).ok()

    for host in (
        f"1.{HOST}",
        f"{other.application_id}.{HOST}",
        f"name.{HOST}",
        f"a.{stage.host}",
        f"9{'9' * 30}.{HOST}",
    ):
        answer = await stage.ask("/", headers={"Host": host})
        assert (answer.status, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8"), host
        assert "There is no activity at this address" in answer.body.decode()
        # Nothing of the platform's own is there either.
        assert (await stage.ask("/api/v10/gateway", headers={"Host": host})).status == 404
    assert (
        await stage.echo("/api/v10/gateway", headers={"Host": f"{stage.host.upper()}.:8080"})
    ).path == "/api/v10/gateway"
    assert (await stage.ask("/api/v10/gateway", headers={"Host": HOST})).json["url"].startswith("ws")


async def test_an_activity_that_is_switched_off_is_not_served(kept_stage: Stage) -> None:
    world, upstream = kept_stage.world, kept_stage.upstream
    alice = await world.user()
    application = (await alice.post("/applications", json={"name": "Game"})).ok()
    path = f"/applications/{application['id']}"
    host = {"Host": f"{application['id']}.{HOST}"}
    body = {"url_map": [{"prefix": "/", "target": upstream.target}]}
    (await alice.post(f"{path}/proxy-config", json=body)).ok()

    assert (await kept_stage.ask("/", headers=host)).status == 404
    (await alice.patch(path, json={"activities": True})).ok()
    assert (await kept_stage.ask("/", headers=host)).status == 200
    (await alice.patch(path, json={"activities": False})).ok()
    assert (await kept_stage.ask("/", headers=host)).status == 404


@pytest.mark.parametrize(
    "path", ["/../x", "/a/../x", "/a/%2e%2E/x", "/.%2e", "/a/.", "/.platform/x", "/.proxy/.platform/x"]
)
async def test_no_path_climbs_out_of_its_target(stage: Stage, path: str) -> None:
    await stage.map(("/", f"{stage.upstream.target}/www"))
    reader, writer = await asyncio.open_connection("127.0.0.1", int(stage.world.url.rpartition(":")[2]))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {stage.host}\r\nConnection: close\r\n\r\n".encode())
    head = await asyncio.wait_for(reader.readline(), PATIENCE)
    writer.close()

    assert head.split()[1] == (b"404" if "platform" in path else b"400")
    assert not stage.upstream.seen


async def test_the_head_of_a_request_tells_nothing_about_the_client(stage: Stage) -> None:
    got = await stage.echo(
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
            "Origin": f"http://{stage.host}",
        },
    )

    names = {name.lower() for name in got.headers}
    assert (
        names & {"x-forwarded-for", "x-forwarded-proto", "x-real-ip", "forwarded", "cf-connecting-ip", "via"} == set()
    )
    assert names & {"referer", "x-hop", "te", "x-signature-ed25519", "x-discord-proxy-payload"} == set()
    assert "x-signature-timestamp" not in names
    assert got.headers["Cookie"] == "theme=dark; a=b=c"
    assert (got.headers["Authorization"], got.headers["User-Agent"]) == ("Bearer of-the-app", "a browser")
    assert (got.headers["Accept-Language"], got.headers["Origin"]) == ("de", f"http://{stage.host}")


async def test_the_head_of_an_answer_is_made_fit_for_a_frame(stage: Stage) -> None:
    page = aiohttp.web.Response(
        status=201,
        text="<p>hello</p>",
        content_type="text/html",
        headers={
            "X-Frame-Options": "DENY",
            "Content-Security-Policy": "default-src 'none'",
            "Strict-Transport-Security": "max-age=1",
            "Cache-Control": "max-age=600",
            "ETag": '"1"',
            "Last-Modified": "Tue, 01 Jan 2030 00:00:00 GMT",
            "Expires": "Tue, 01 Jan 2030 00:00:00 GMT",
            "X-Game": "yes",
        },
    )
    stage.upstream.answer = page
    answer = await stage.ask("/answer")

    assert (answer.status, answer.body, answer.headers["X-Game"]) == (201, b"<p>hello</p>", "yes")
    gone = {"X-Frame-Options", "Strict-Transport-Security", "Cache-Control", "ETag", "Last-Modified", "Expires"}
    assert gone & set(answer.headers) == set()
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    web_url, port = stage.world.url, stage.world.url.rpartition(":")[2]
    assert policy["frame-ancestors"] == f"'self' {web_url}"
    assert policy["connect-src"].startswith(f"'self' ws://{stage.host}:{port} data: blob: {web_url}/api/")
    assert f"{web_url}/cdn/avatars/" in policy["img-src"]
    assert "'unsafe-eval'" in policy["script-src"]

    stage.upstream.answer = aiohttp.web.Response(
        body=b"x", content_type="image/png", headers={"Cache-Control": "max-age=600", "ETag": '"1"'}
    )
    answer = await stage.ask("/answer")
    assert (answer.headers["Cache-Control"], answer.headers["ETag"]) == ("max-age=600", '"1"')


async def test_cookies_of_the_target_live_on_the_activitys_host(stage: Stage) -> None:
    answer = aiohttp.web.Response()
    for cookie in (
        "id=1; Domain=game.example.org; Path=/deep; SameSite=Strict; HttpOnly; Max-Age=60",
        "theme=dark",
        "hubbub_session=mine",
        "__Host-hubbub_proxy_ticket=mine; Secure",
    ):
        answer.headers.add("Set-Cookie", cookie)
    stage.upstream.answer = answer

    got = (await stage.ask("/answer")).headers.getall("Set-Cookie")

    assert got == [
        "id=1; HttpOnly; Max-Age=60; Path=/; Secure; SameSite=None; Partitioned",
        "theme=dark; Path=/; Secure; SameSite=None; Partitioned",
    ]


@pytest.mark.parametrize(
    ("path", "location", "expected"),
    [
        ("/api/answer", "{origin}/dir/next?x=1", "/api/next?x=1"),
        ("/.proxy/api/answer", "{origin}/dir/next", "/.proxy/api/next"),
        ("/api/answer", "/dir", "/api"),
        ("/api/answer", "/dir/", "/api/"),
        ("/api/answer", "/directory", "{origin}/directory"),
        ("/api/answer", "{origin}/other", "{origin}/other"),
        ("/api/answer", "next", "next"),
        ("/api/answer", "https://elsewhere.example.org/dir/x", "https://elsewhere.example.org/dir/x"),
        ("/api/answer", "//elsewhere.example.org/dir", "//elsewhere.example.org/dir"),
        ("/answer", "{origin}", "/"),
        ("/answer", "{origin}//evil.example.org", "{origin}//evil.example.org"),
        ("/.proxy/answer", "/login?next=/x", "/.proxy/login?next=/x"),
    ],
)
async def test_redirects_are_passed_on_and_stay_with_us_where_they_can(
    stage: Stage, path: str, location: str, expected: str
) -> None:
    origin = f"http://{stage.upstream.target}"
    await stage.map(("/api", f"{stage.upstream.target}/dir"), ("/", stage.upstream.target))
    stage.upstream.answer = aiohttp.web.Response(status=307, headers={"Location": location.format(origin=origin)})

    answer = await stage.ask(path)

    assert (answer.status, answer.headers["Location"]) == (307, expected.format(origin=origin))
    assert len(stage.upstream.seen) == 1


async def test_what_is_packed_stays_packed(stage: Stage) -> None:
    packed = gzip.compress(b"hello" * 100)
    stage.upstream.answer = aiohttp.web.Response(
        body=packed, content_type="text/plain", headers={"Content-Encoding": "gzip"}
    )

    answer = await stage.ask("/answer", headers={"Accept-Encoding": "gzip"})
    assert (answer.headers["Content-Encoding"], answer.body) == ("gzip", packed)
    assert stage.upstream.seen[-1].headers["Accept-Encoding"] == "gzip"
    # A request's is taken off on the way, and says so.
    got = await stage.echo("/", "POST", data=packed, headers={"Content-Encoding": "gzip"})
    assert got.body == "hello" * 100
    assert "Content-Encoding" not in got.headers


async def test_an_answer_flows_while_it_is_made(stage: Stage) -> None:
    async with stage.world.client.get(stage.world.url + "/stream", **stage.options({})) as response:
        async with asyncio.timeout(PATIENCE):
            assert await response.content.readany() == b"data: one\n\n"
            stage.upstream.go.set()
            assert await response.content.read() == b"data: two\n\n"
        assert response.headers["Content-Type"] == "text/event-stream"


async def test_a_body_flows_while_it_is_sent(stage: Stage) -> None:
    async def body():  # type: ignore[no-untyped-def]
        yield b"first"
        # The upstream has the head before the rest is sent.
        await stage.upstream.until(lambda: bool(stage.upstream.seen))
        yield b" second"

    got = await stage.echo("/", "POST", data=body(), headers={"Expect": "100-continue"})
    assert got.body == "first second"
    assert "Expect" not in got.headers


async def test_an_answer_that_breaks_off_is_not_taken_for_whole(stage: Stage) -> None:
    async with stage.world.client.get(stage.world.url + "/broken", **stage.options({})) as response:
        async with asyncio.timeout(PATIENCE):
            await response.content.readany()
            stage.upstream.go.set()
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.content.read()


async def test_a_client_that_goes_takes_its_request_along(stage: Stage) -> None:
    task = asyncio.create_task(stage.ask("/slow"))
    await stage.upstream.until(lambda: bool(stage.upstream.seen))
    task.cancel()

    await stage.upstream.until(lambda: stage.upstream.cut == 1)
    assert (await stage.echo("/")).path == "/"


async def test_a_target_that_is_down_is_a_plain_page(stage: Stage) -> None:
    await stage.upstream.close()

    answer = await stage.ask("/")
    assert (answer.status, answer.headers["Content-Type"]) == (502, "text/html; charset=utf-8")
    assert "cannot be reached" in answer.body.decode()
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; frame-ancestors 'self' http")
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await stage.connect("/socket")
    assert caught.value.status == 502


async def test_a_name_that_nobody_knows_is_a_plain_page(stage: Stage) -> None:
    await stage.map(("/", "nothing.invalid"))

    assert (await stage.ask("/")).status == 502


@pytest.fixture
async def strict(watch: object, upstream: Upstream) -> object:
    """A platform that passes little on."""
    tight = {"max_request_bytes": 2048, "max_response_bytes": 4096, "connections": 1}
    async with running(with_activities(small_config(), **tight)) as world:
        yield await make_stage(world, upstream)


async def test_a_target_that_takes_too_long_is_given_up(watch: object, upstream: Upstream) -> None:
    async with running(with_activities(small_config(), timeout_ms=500)) as world:
        stage = await make_stage(world, upstream)
        answer = await stage.ask("/slow")

        assert answer.status == 504
        assert "did not respond in time" in answer.body.decode()
        await upstream.until(lambda: upstream.cut == len(upstream.seen))
        reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
        writer.write(f"POST / HTTP/1.1\r\nHost: {stage.host}\r\nContent-Length: 9\r\n\r\nhalf".encode())
        assert (await asyncio.wait_for(reader.readline(), PATIENCE)).split()[1] == b"408"
        writer.close()
        async with world.client.get(world.url + "/stream", **stage.options({})) as response:
            # On a machine that is busy even its head may come too late.
            if response.status != 504:
                with pytest.raises(aiohttp.ClientPayloadError):
                    await asyncio.wait_for(response.read(), PATIENCE)
        await upstream.until(lambda: upstream.cut == len(upstream.seen))


async def test_what_is_too_large_is_not_passed_on(strict: Stage) -> None:
    assert (await strict.ask("/", "POST", data=b"x" * 2049)).status == 413
    assert not strict.upstream.seen
    assert len((await strict.echo("/", "POST", data=b"x" * 2048)).body) == 2048

    async def body():  # type: ignore[no-untyped-def]
        for _ in range(3):
            yield b"x" * 1000

    assert (await strict.ask("/", "POST", data=body())).status == 413
    packed = gzip.compress(b"x" * 100_000)
    assert (await strict.ask("/", "POST", data=packed, headers={"Content-Encoding": "gzip"})).status == 413
    assert (await strict.ask("/", "POST", data=b"plain", headers={"Content-Encoding": "gzip"})).status == 400
    assert (await strict.ask("/large?bytes=4096")).status == 200
    assert (await strict.ask("/large?bytes=4097")).status == 502


async def test_an_application_has_so_many_requests_under_way(strict: Stage) -> None:
    async with strict.connect("/socket") as socket:
        await socket.send_str("hello")
        assert (await socket.receive(PATIENCE)).data == "hello"
        answer = await strict.ask("/")
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    await strict.upstream.until(lambda: len(strict.upstream.closed_with) == 1)

    async with asyncio.timeout(PATIENCE):
        while (await strict.ask("/")).status == 503:
            await asyncio.sleep(0)


async def test_private_targets_are_refused_outside_a_rehearsal(watch: object, upstream: Upstream) -> None:
    config = small_config(activities=ActivitiesConfig(proxy_host=HOST))
    async with running(config) as world:
        stage = Stage(world, await world.bot(flags=ApplicationFlags.EMBEDDED), upstream)
        path = f"/applications/{stage.bot.application_id}/proxy-config"
        body = {"url_map": [{"prefix": "/", "target": upstream.target}]}
        answer = await stage.bot.post(path, json=body)
        assert answer.errors("url_map.0.target") == ["URL_MAPPING_TARGET_PRIVATE"]

        # Kept from before, or a name that leads here by now: what counts is where a connection would go.
        for target in (upstream.target, f"localhost:{upstream.port}", "[::1]:1", "2130706433:1", "169.254.169.254"):
            insert = (
                "INSERT INTO activity_url_mappings (application_id, position, prefix, target) VALUES (?, 0, '/', ?)"
            )

            def keep(call, target=target, insert=insert):  # type: ignore[no-untyped-def]
                call.tx.run("DELETE FROM activity_url_mappings")
                call.tx.run(insert, stage.bot.application_id, target)

            await world.write(keep)
            answer = await stage.ask("/")
            assert answer.status == 502, target
            assert "does not connect to" in answer.body.decode() or target.startswith("2130706433"), target
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await stage.connect("/socket")
            assert caught.value.status == 502
        assert not upstream.seen


async def test_without_a_host_nothing_is_proxied(near_world: World, upstream: Upstream) -> None:
    stage = await make_stage(near_world, upstream)

    assert (await stage.ask("/api/v10/gateway")).json["url"].startswith("ws")
    assert (await stage.ask("/game.js")).status == 404
    assert not upstream.seen


@pytest.mark.dated(changes.ACTIVITY_PROXY_PREFIX_REQUIRED, changes.ACTIVITY_PROXY_PREFIX_OPTIONAL)
async def test_the_prefix_was_needed_for_what_a_page_calls_for_a_year(kept_stage: Stage) -> None:
    stage, target = kept_stage, kept_stage.upstream.target
    await stage.map(("/api", f"{target}/server"), ("/", target))
    required, optional = changes.ACTIVITY_PROXY_PREFIX_REQUIRED, changes.ACTIVITY_PROXY_PREFIX_OPTIONAL

    async def statuses() -> list[int]:
        asked = [
            await stage.ask("/"),
            await stage.ask("/game.js"),
            await stage.ask("/api/token"),
            await stage.ask("/login", "POST", data=b"x"),
            await stage.ask("/.proxy/api/token"),
            await stage.ask("/.proxy/login", "POST", data=b"x"),
        ]
        return [answer.status for answer in asked]

    async def calls() -> str:
        return (await stage.ask("/")).headers["Content-Security-Policy"].split("connect-src ")[1].split()[0]

    for moment, everything in (
        (required.at_ms - 1, True),
        (required.at_ms, False),
        (optional.at_ms - 1, False),
        (optional.at_ms, True),
    ):
        stage.world.clock.set(moment)
        assert await statuses() == ([200] * 6 if everything else [200, 200, 404, 404, 200, 200])
        assert await calls() == (
            "'self'" if everything else f"http://{stage.host}:{stage.world.url.rpartition(':')[2]}/.proxy/"
        )
        if everything:
            async with stage.connect("/socket"):
                pass
        else:
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await stage.connect("/socket")
        async with stage.connect("/.proxy/socket"):
            pass
    assert json.loads((await stage.ask("/.proxy/api/token")).body)["path"] == "/server/token"


async def test_requests_are_counted_by_themselves(stage: Stage) -> None:
    await stage.ask("/")
    await stage.ask("/", "PROPFIND")
    stage.upstream.answer = aiohttp.web.Response(status=799)
    assert (await stage.ask("/answer")).status == 799

    text = (await stage.world.request("GET", f"{stage.world.url}/metrics")).body.decode()
    assert 'route="activity"' in text
    assert "PROPFIND" not in text
    assert 'status="799"' not in text


async def test_the_relay_is_ours_and_shows_itself_to_the_platform_only(stage: Stage) -> None:
    page, script = await stage.ask("/.platform/frame.html?frame_id=1"), await stage.ask("/.platform/frame.js")

    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Content-Security-Policy"].endswith(f"; frame-ancestors {stage.world.url}")
    assert f'data-host="{stage.world.url}"' in page.body.decode()
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert (await stage.ask("/.platform/frame.html", "POST")).status == 405
    assert (await stage.ask("/.platform/frame.html", headers={"Host": f"1.{HOST}"})).status == 404
    assert not stage.upstream.seen
