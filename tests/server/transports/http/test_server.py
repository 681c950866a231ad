"""The HTTP server over real sockets: routing, callers, bodies, responses, queries, rate limits, files and fuzzing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hubbub.protocol import errors
from hubbub.protocol.ids import AttachmentId
from hubbub.server.core.config_sections import LogConfig
from hubbub.server.core.rate_limits import RateLimitMode
from hubbub.server.transports.http import request_limits
from hubbub.server.transports.http.request_bodies import UPLOAD_BUDGET_FACTOR
from tests.server.transports.http.conftest import NOW_MS, HttpHarness, HttpResponse

TOYS_PATH = "/channels/1/toys"


def first_form_error(response: HttpResponse, *path: str) -> dict[str, str]:
    """Return the first form error at a path. Fail if the response has no form errors."""
    assert response.status == 400
    assert response.json["code"] == 50035
    node = response.json["errors"]
    for key in path:
        node = node[key]
    return node["_errors"][0]


# Routing


@pytest.mark.parametrize("prefix", ["/api", "/api/v6", "/api/v7", "/api/v8", "/api/v9", "/api/v10"])
async def test_every_supported_version_is_served(server: HttpHarness, prefix: str) -> None:
    response = await server.request("GET", f"{prefix}/users/@me")
    assert response.status == 200
    assert response.json["received"] == "me"
    assert response.json["version"] == int(prefix.partition("v")[2] or 10)


@pytest.mark.parametrize("version", ["v5", "v11", "v0", "v999999"])
async def test_an_unsupported_version_is_rejected(server: HttpHarness, version: str) -> None:
    response = await server.request("GET", f"/api/{version}/users/@me")
    assert (response.status, response.json["code"]) == (400, 50041)


@pytest.mark.parametrize(
    "path", ["/nowhere", "/", "", "/users", "/users/", "/users//", "/api/v10", "/api", "/api/vx/users/@me"]
)
async def test_an_unknown_route_responds_with_the_generic_404(server: HttpHarness, path: str) -> None:
    response = await server.request("GET", path)
    assert response.status == 404
    assert response.json == {"message": "404: Not Found", "code": 0}
    assert response.headers["Content-Type"] == "application/json"


async def test_a_path_outside_the_api_responds_with_the_generic_404(server: HttpHarness) -> None:
    async with server.session.get(f"{server.base}/elsewhere") as response:
        assert response.status == 404
        assert await response.json() == {"message": "404: Not Found", "code": 0}


async def test_additional_routes_are_mounted(server: HttpHarness) -> None:
    async with server.session.get(f"{server.base}/healthz") as response:
        assert await response.text() == "ok"


async def test_a_wrong_method_responds_with_the_allowed_methods(server: HttpHarness) -> None:
    response = await server.request("PATCH", "/users/5")
    assert response.status == 405
    assert response.json == {"message": "405: Method Not Allowed", "code": 0}
    assert response.headers["Allow"] == "DELETE, GET"


async def test_at_me_is_never_parsed_as_an_id(server: HttpHarness) -> None:
    response = await server.request("DELETE", "/users/@me")
    assert response.status == 405
    assert response.headers["Allow"] == "GET"
    assert (await server.request("GET", "/users/%40me")).json["received"] == "me"


@pytest.mark.parametrize("user_id", ["x", "-1", "1.5", "99999999999999999999", "%F0%9F%94%A5", "%D9%A1", "1%202"])
async def test_an_invalid_snowflake_in_the_path_is_reported(server: HttpHarness, user_id: str) -> None:
    error = first_form_error(await server.request("GET", f"/users/{user_id}"), "user_id")
    assert error["code"] == "NUMBER_TYPE_COERCE"
    assert error["message"].endswith("is not snowflake.")


async def test_text_in_the_path_is_decoded_once(server: HttpHarness) -> None:
    assert (await server.request("PUT", "/messages/1/reactions/%F0%9F%94%A5")).json["received"] == "🔥"
    assert (await server.request("PUT", "/messages/1/reactions/a%2Fb%253A1")).json["received"] == "a/b%3A1"
    assert (await server.request("PUT", "/messages/1/reactions/%FF%00x")).json["received"] == "\ufffdx"


async def test_head_responds_like_get_without_a_body(server: HttpHarness) -> None:
    response = await server.request("HEAD", "/users/@me")
    assert (response.status, response.content) == (200, b"")
    assert int(response.headers["Content-Length"]) > 0


# Callers


@pytest.mark.parametrize(
    ("path", "caller", "status", "code"),
    [
        ("/users/@me", None, 401, 0),
        ("/empty", None, 200, None),
        ("/empty", "wrong_scope", 200, None),
        ("/bots-only", "bot", 200, None),
        ("/bots-only", "user", 403, 20002),
        ("/bots-only", "bearer", 401, 0),
        ("/users-only", "user", 200, None),
        ("/users-only", "bot", 403, 20001),
        ("/scoped", "bot", 200, None),
        ("/scoped", "bearer", 200, None),
        ("/scoped", "wrong_scope", 403, 50026),
        ("/scoped", "user", 403, 20002),
    ],
)
async def test_operations_admit_only_their_kinds_of_callers(
    server: HttpHarness, path: str, caller: str | None, status: int, code: int | None
) -> None:
    response = await server.request("GET", path, caller=caller)
    assert response.status == status
    assert response.json.get("code") == code


@pytest.mark.parametrize("header", ["Bot x", "x", "Bearer", "Bot ", "Basic YTpi", "Bot " + "a" * 5000, "Bot \xff\xfe"])
async def test_an_invalid_token_is_unauthorized(server: HttpHarness, header: str) -> None:
    for path in ("/users/@me", "/empty"):
        response = await server.request("GET", path, caller=None, headers={"Authorization": header})
        assert response.status == 401
        assert response.json == {"message": "401: Unauthorized", "code": 0}


@pytest.mark.parametrize("header", ["", "  "])
@pytest.mark.parametrize("path", ["/users/@me", "/empty"])
async def test_a_blank_token_is_unauthorized(server: HttpHarness, header: str, path: str) -> None:
    response = await server.request("GET", path, caller=None, headers={"Authorization": header})
    assert response.status == 401


async def test_a_token_in_the_path_makes_the_header_irrelevant(server: HttpHarness) -> None:
    response = await server.request(
        "POST", "/webhooks/1/secret", caller=None, headers={"Authorization": "Bot nonsense"}
    )
    assert response.json["received"] == "secret"


async def test_declared_permissions_are_checked_before_the_handler(server: HttpHarness) -> None:
    response = await server.request("PATCH", "/guilds/5/guarded")
    assert (response.status, response.json["code"]) == (404, 10004)


# Bodies


async def test_a_body_is_decoded_completely(server: HttpHarness) -> None:
    body = b'{"content": "hi", "roles": ["5", 6], "allow": "8", "unknown": {"a": [1]}, "anything": {"deep": [null]}}'
    response = await server.post_json(TOYS_PATH, body)
    assert response.status == 200
    received_values = response.json["received"]
    assert (received_values["content"], received_values["roles"], received_values["allow"]) == ("hi", ["5", "6"], "8")
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Via"]
    assert response.headers["X-Request-Id"]


MALFORMED_BODIES = [
    b"",
    b"{",
    b"[1",
    b'{"content": }',
    b"nope",
    b'{"content": "\xff"}',
    b'{"content": "\\ud800"}',
    b"\xef\xbb\xbf{}",
    b'{"content": "a"} trailing',
    b"[" * 100_000,
    b'{"anything": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"a":' * 70 + b"1" + b"}" * 70,
]


@pytest.mark.parametrize("body", MALFORMED_BODIES, ids=lambda body: repr(body[:24]))
async def test_malformed_json_is_rejected_with_50109(server: HttpHarness, body: bytes) -> None:
    response = await server.post_json(TOYS_PATH, body)
    assert (response.status, response.json["code"]) == (400, 50109)


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null", b"true", b"1.5"])
async def test_a_body_that_is_not_an_object_is_rejected_at_the_root(server: HttpHarness, body: bytes) -> None:
    assert first_form_error(await server.post_json(TOYS_PATH, body))["code"] == "MODEL_TYPE_CONVERT"


async def test_a_body_that_is_not_an_array_is_rejected_at_the_root(server: HttpHarness) -> None:
    response = await server.request("PUT", "/toys", data=b"{}", headers={"Content-Type": "application/json"})
    assert first_form_error(response)["code"] == "LIST_TYPE_CONVERT"
    response = await server.request("PUT", "/toys", json=[{"content": "a"}, {"content": 5}])
    assert first_form_error(response, "1", "content")["code"] == "STRING_TYPE_CONVERT"


async def test_a_missing_body_is_an_empty_object(server: HttpHarness) -> None:
    assert first_form_error(await server.request("POST", TOYS_PATH), "content")["code"] == "BASE_TYPE_REQUIRED"
    assert (await server.request("POST", "/optional")).json["received"] == 50
    assert (await server.post_json("/optional", b"")).json["received"] == 50


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "nonsense", "application/jsonx"])
async def test_an_unsupported_content_type_is_rejected_with_50035(server: HttpHarness, content_type: str) -> None:
    response = await server.request("POST", TOYS_PATH, data=b"{}", headers={"Content-Type": content_type})
    assert (response.status, response.json["code"]) == (400, 50035)
    assert "Content-Type" in response.json["message"]


async def test_a_charset_parameter_is_accepted(server: HttpHarness) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert (await server.request("POST", TOYS_PATH, data=b'{"content": "a"}', headers=headers)).status == 200


async def test_a_form_operation_accepts_only_forms(server: HttpHarness) -> None:
    response = await server.request("POST", "/token", data={"grant_type": "code", "code": "x"}, caller=None)
    assert response.json["received"] == {"grant_type": "code", "code": "x"}
    assert not any(name.startswith("X-RateLimit") for name in response.headers)
    response = await server.request("POST", "/token", json={"grant_type": "code"}, caller=None)
    assert (response.status, response.json["code"]) == (400, 50035)
    assert first_form_error(await server.request("POST", "/token", data={"code": "x"}, caller=None), "grant_type")


async def test_form_fields_are_converted_by_type(server: HttpHarness) -> None:
    response = await server.request(
        "POST", TOYS_PATH, data={"content": "hi", "tts": "true", "position": "7", "color": "2"}
    )
    received_values = response.json["received"]
    assert (
        received_values["content"],
        received_values["tts"],
        received_values["position"],
        received_values["color"],
    ) == ("hi", True, 7, 2)
    assert first_form_error(
        await server.request("POST", TOYS_PATH, data={"content": "hi", "embeds": "x"}), "embeds", "0"
    )


async def test_an_oversized_body_is_rejected_with_40005(make_server: Callable[..., Awaitable[HttpHarness]]) -> None:
    server = await make_server(body_bytes_max=2048)
    response = await server.post_json(TOYS_PATH, b'{"content": "' + b"a" * 4096 + b'"}')
    assert (response.status, response.json["code"]) == (413, 40005)

    async def large_body() -> Any:
        for _ in range(64):
            yield b"a" * 1024

    response = await server.request("POST", TOYS_PATH, data=large_body(), headers={"Content-Type": "application/json"})
    assert (response.status, response.json["code"]) == (413, 40005)


async def test_a_body_with_a_false_content_encoding_is_rejected(server: HttpHarness) -> None:
    response = await server.post_json(TOYS_PATH, b"not gzip at all", headers={"Content-Encoding": "gzip"})
    assert response.status == 400
    assert set(response.json) >= {"code", "message"}


async def test_an_unread_body_with_a_false_content_encoding_causes_no_server_error(
    server: HttpHarness, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"GET /api/v10/users/@me HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\n"
    with caplog.at_level(logging.ERROR):
        response = await server.send_raw(head + b"garbage")

    assert response.startswith(b"HTTP/1.1 401")
    assert [record.getMessage() for record in caplog.records] == []


async def test_an_incomplete_body_times_out(make_server: Callable[..., Awaitable[HttpHarness]]) -> None:
    server = await make_server(read_timeout_ms=50)
    token = server.tokens["bot"]
    response = await server.send_raw(
        f"POST /api/v10{TOYS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\nContent-Type: application/json\r\n"
        "Content-Length: 100\r\nConnection: close\r\n\r\n{".encode(),
        until=b"}",
    )
    assert response.startswith(b"HTTP/1.1 400")
    assert b'"code":0' in response


@pytest.mark.parametrize(
    "data",
    [
        b"GET /api/v10/" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"complete nonsense\r\n\r\n",
        b"GET /api/v10/users/@me HTTP/1.1\r\nHost: x\r\nContent-Length: minus\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
    ids=["long line", "not http", "bad length", "tls"],
)
async def test_an_invalid_http_request_has_the_generic_body(server: HttpHarness, data: bytes) -> None:
    response = await server.send_raw(data)
    assert response.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))
    assert b"Content-Type: application/json\r\n" in response
    assert b'"code":0' in response


# Responses


async def test_a_handler_can_set_the_status_and_headers(server: HttpHarness) -> None:
    response = await server.request("POST", "/created")
    assert (response.status, response.headers["X-Toy"]) == (201, "yes")


async def test_a_handler_without_a_result_responds_with_204(server: HttpHarness) -> None:
    response = await server.request("POST", "/no-result")
    assert (response.status, response.content) == (204, b"")
    assert "Content-Type" not in response.headers


async def test_another_media_type_is_sent_as_bytes(server: HttpHarness) -> None:
    response = await server.request("GET", "/picture.png")
    assert (response.content, response.headers["Content-Type"]) == (b"\x89PNG", "image/png")


async def test_an_async_handler_can_use_a_thread_and_a_transaction(server: HttpHarness) -> None:
    assert (await server.request("POST", "/async")).json["received"] == 6


async def test_a_get_handler_may_write_if_declared(server: HttpHarness) -> None:
    assert (await server.request("GET", "/writing")).json["received"] == 1


@pytest.mark.parametrize("path", ["/reject", "/reject-async"])
async def test_a_rejection_commits_its_side_effect_and_rolls_back_the_rest(server: HttpHarness, path: str) -> None:
    response = await server.request("POST", path)

    assert (response.status, response.json) == (400, {"message": "No.", "code": 200000})
    rows = await server.db.read(lambda tx: dict(tx.all("SELECT name, value FROM meta")))
    assert rows["side effect"] == str(server.clock.now_ms())
    assert "rolled back" not in rows


async def test_an_internal_error_is_logged_and_responds_with_a_generic_500(
    server: HttpHarness, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        response = await server.request("GET", "/internal-error")
    assert response.status == 500
    assert response.json == {"message": "500: Internal Server Error", "code": 0}
    [record] = [record for record in caplog.records if record.name.endswith("http.server")]
    assert record.request_id == response.headers["X-Request-Id"]  # type: ignore[attr-defined]


async def test_a_disconnect_during_upload_is_not_logged_as_an_error(
    server: HttpHarness, caplog: pytest.LogCaptureFixture
) -> None:
    head = f"POST /api/v10/channels/1/toys HTTP/1.1\r\nHost: x\r\nAuthorization: {server.tokens['bot']}\r\n"
    for first_bytes in (b"", b"{"):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n".encode() + first_bytes)
        await writer.drain()
        writer.transport.abort()
    with caplog.at_level(logging.ERROR):
        await server.request("GET", "/users/@me")
        await server.runner.shutdown()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_an_unavailable_store_responds_with_503(server: HttpHarness) -> None:
    await server.request("GET", "/users/@me")
    await server.db.close()
    response = await server.request("GET", "/users/@me")
    assert response.status == 503
    assert response.json == {"message": "503: Service Unavailable", "code": 0}
    assert response.headers["Retry-After"] == "1"


async def test_a_body_whose_connection_is_closed_before_the_read_is_a_client_error() -> None:
    protocol = BaseProtocol(asyncio.get_running_loop())
    body = StreamReader(protocol, 65_536, loop=asyncio.get_running_loop())
    request = make_mocked_request("POST", "/", headers={"Content-Length": "5"}, payload=body)
    assert not protocol.connected

    with pytest.raises(errors.ApiError) as rejection:
        await request_limits.read_body(request, 100, 5.0)

    assert rejection.value.status == 400


async def test_the_audit_reason_is_decoded_and_truncated(server: HttpHarness) -> None:
    async def reason_for(text: str) -> Any:
        return (await server.request("GET", "/users/@me", headers={"X-Audit-Log-Reason": text})).json["reason"]

    assert await reason_for("na%C3%AFve%20reason") == "naïve reason"
    assert await reason_for("a" * 600) == "a" * 512
    assert await reason_for("%00%FF") == "\ufffd"
    assert await reason_for("%20") is None


async def test_cross_origin_requests_are_allowed(server: HttpHarness) -> None:
    headers = {"Origin": "https://game.example", "Access-Control-Request-Headers": "authorization,x-audit-log-reason"}
    response = await server.request("OPTIONS", TOYS_PATH, caller=None, headers=headers)
    assert response.status == 204
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Access-Control-Allow-Headers"] == "authorization,x-audit-log-reason"
    assert "PATCH" in response.headers["Access-Control-Allow-Methods"]
    response = await server.request("GET", "/users/@me", headers={"Origin": "https://game.example"})
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "X-RateLimit-Remaining" in response.headers["Access-Control-Expose-Headers"]


async def test_requests_are_counted_by_route_and_not_by_path(server: HttpHarness) -> None:
    await server.request("POST", "/webhooks/1/secret", caller=None)
    await server.request("GET", "/no/such/thing")
    rendered_metrics = server.metrics.render().decode()
    assert 'route="/webhooks/{webhook_id}/{webhook_token}"' in rendered_metrics
    assert "secret" not in rendered_metrics
    assert "such" not in rendered_metrics


async def test_unknown_methods_are_counted_as_other(server: HttpHarness) -> None:
    for method in ("PROPFIND", "MKCOL"):
        assert (await server.request(method, "/users/@me")).status == 405
    rendered_metrics = server.metrics.render().decode()
    assert 'method="other"' in rendered_metrics
    assert "PROPFIND" not in rendered_metrics


async def test_requests_are_logged_by_route_if_enabled(
    make_server: Callable[..., Awaitable[HttpHarness]], caplog: pytest.LogCaptureFixture
) -> None:
    server = await make_server(log=LogConfig(requests=True))
    with caplog.at_level(logging.INFO, logger="hubbub.http"):
        response = await server.request("POST", "/webhooks/1/secret", caller=None)
    [record] = [record for record in caplog.records if record.name == "hubbub.http"]
    assert record.getMessage() == "POST /webhooks/{webhook_id}/{webhook_token} 200"
    assert record.request_id == response.headers["X-Request-Id"]  # type: ignore[attr-defined]
    assert record.client_address == "127.0.0.1"  # type: ignore[attr-defined]


async def test_finished_requests_are_no_longer_counted_as_active(server: HttpHarness) -> None:
    for path in ("/users/@me", "/users/x", "/internal-error"):
        await server.request("GET", path)
    assert "hubbub_http_requests_active 0.0" in server.metrics.render().decode()


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/refresh", True), ("/revoke", True), ("/async", True), ("/publish", False), ("/no-result", False)],
)
async def test_a_response_waits_for_other_nodes_after_permission_changes(
    server: HttpHarness, path: str, expected: bool
) -> None:
    assert (await server.request("POST", path)).status == (200 if path == "/async" else 204)
    assert server.settle_count == int(expected)


async def test_reads_do_not_wait_for_other_nodes(server: HttpHarness) -> None:
    assert (await server.request("GET", "/users/@me")).status == 200
    assert server.settle_count == 0


# Query


async def test_query_parameters_are_converted_by_type(server: HttpHarness) -> None:
    query = "?limit=7&before=0&exact=True&color=2&author=1&author=2&roles=3,4&since=2026-01-02T03:04:05Z&text=a%20b&x=y"
    received_values = (await server.request("GET", TOYS_PATH + query)).json["received"]
    assert (
        received_values["limit"],
        received_values["before"],
        received_values["exact"],
        received_values["color"],
    ) == (7, "0", True, 2)
    assert (received_values["author"], received_values["roles"], received_values["text"]) == (
        ["1", "2"],
        ["3", "4"],
        "a b",
    )
    assert received_values["since"].startswith("2026-01-02T03:04:05")


@pytest.mark.parametrize(
    ("query", "path", "code"),
    [
        ("limit=0", ("limit",), "NUMBER_TYPE_MIN"),
        ("limit=101", ("limit",), "NUMBER_TYPE_MAX"),
        ("limit=x", ("limit",), "NUMBER_TYPE_COERCE"),
        ("limit=", ("limit",), "NUMBER_TYPE_COERCE"),
        ("limit=5.5", ("limit",), "NUMBER_TYPE_COERCE"),
        ("limit=99999999999999999999999999", ("limit",), "NUMBER_TYPE_COERCE"),
        ("before=x", ("before",), "NUMBER_TYPE_COERCE"),
        ("before=-1", ("before",), "NUMBER_TYPE_COERCE"),
        ("exact=yes", ("exact",), "BOOLEAN_TYPE_CONVERT"),
        ("color=3", ("color",), "BASE_TYPE_CHOICES"),
        ("color=red", ("color",), "ENUM_TYPE_COERCE"),
        ("author=1&author=x", ("author", "1"), "NUMBER_TYPE_COERCE"),
        ("roles=1,x", ("roles", "1"), "NUMBER_TYPE_COERCE"),
        ("since=yesterday", ("since",), "DATE_TIME_TYPE_PARSE"),
        ("since=0001-01-01T00:00:00%2B23:00", ("since",), "DATE_TIME_TYPE_PARSE"),
    ],
)
async def test_invalid_query_parameters_are_reported(
    server: HttpHarness, query: str, path: tuple[str, ...], code: str
) -> None:
    assert first_form_error(await server.request("GET", f"{TOYS_PATH}?{query}"), *path)["code"] == code


async def test_too_many_parameters_are_rejected(server: HttpHarness) -> None:
    response = await server.request("GET", f"{TOYS_PATH}?{'a=&' * 1500}")
    assert (response.status, response.json["code"]) == (400, 50035)


# Rate limits


async def test_a_bucket_rejects_requests_until_it_resets(server: HttpHarness) -> None:
    first_response = await server.request("GET", "/guilds/1/limited")
    assert first_response.headers["X-RateLimit-Limit"] == "2"
    assert first_response.headers["X-RateLimit-Remaining"] == "1"
    assert first_response.headers["X-RateLimit-Reset"] == f"{NOW_MS // 1000 + 5}.000"
    assert first_response.headers["X-RateLimit-Reset-After"] == "5.000"
    bucket = first_response.headers["X-RateLimit-Bucket"]
    await server.request("GET", "/guilds/1/limited")
    server.clock.advance(1500)
    limited_response = await server.request("GET", "/guilds/1/limited")
    assert limited_response.status == 429
    assert limited_response.json == {"message": "You are being rate limited.", "retry_after": 3.5, "global": False}
    assert limited_response.headers["Retry-After"] == "4"
    assert limited_response.headers["X-RateLimit-Scope"] == "user"
    assert limited_response.headers["X-RateLimit-Remaining"] == "0"
    assert "X-RateLimit-Global" not in limited_response.headers
    assert limited_response.headers["Via"]
    other_guild_response = await server.request("GET", "/guilds/2/limited")
    assert (other_guild_response.status, other_guild_response.headers["X-RateLimit-Bucket"]) == (200, bucket)
    assert (await server.request("GET", "/guilds/1/limited", caller="user")).status == 200
    server.clock.advance(3500)
    assert (await server.request("GET", "/guilds/1/limited")).status == 200


async def test_a_limit_with_a_code_responds_with_it(server: HttpHarness) -> None:
    response = await server.request("GET", "/guilds/1/coded")
    assert (response.status, response.json["code"]) == (429, 20028)
    assert response.json["message"] == errors.CHANNEL_WRITE_RATE_LIMIT.message


async def test_a_rate_limit_of_a_handler_sets_retry_after(server: HttpHarness) -> None:
    response = await server.request("GET", "/slow")
    assert (response.status, response.json["code"], response.json["retry_after"]) == (429, 20016, 1.2)
    assert response.headers["Retry-After"] == "2"
    assert response.headers["X-RateLimit-Scope"] == "user"


async def test_the_global_limit_is_marked_as_global(server: HttpHarness) -> None:
    server.rate_limits.global_calls = 2
    for _ in range(2):
        assert (await server.request("GET", "/users/@me")).status == 200
    limited_response = await server.request("GET", "/users/@me")
    assert limited_response.status == 429
    assert limited_response.json["global"] is True
    assert limited_response.headers["X-RateLimit-Global"] == "true"
    assert limited_response.headers["X-RateLimit-Scope"] == "global"
    assert (await server.request("GET", "/users/@me", caller="user")).status == 200
    assert (await server.request("POST", "/webhooks/1/secret", caller=None)).status == 200


async def test_limits_can_be_disabled_or_only_reported(server: HttpHarness) -> None:
    server.rate_limits.mode = RateLimitMode.REPORT
    responses = [await server.request("GET", "/guilds/1/limited") for _ in range(4)]
    assert [response.status for response in responses] == [200] * 4
    assert responses[-1].headers["X-RateLimit-Remaining"] == "0"
    [hit] = server.rate_limits.report()
    assert (hit.name, hit.times, hit.refused, hit.major) == ("limited", 2, False, ["1"])
    server.rate_limits.mode = RateLimitMode.OFF
    assert "X-RateLimit-Limit" not in (await server.request("GET", "/guilds/1/limited")).headers


async def test_an_address_with_too_many_invalid_requests_is_blocked(
    make_server: Callable[..., Awaitable[HttpHarness]],
) -> None:
    server = await make_server(invalid_requests_max=3)
    for _ in range(3):
        assert (await server.request("GET", "/users/@me", caller=None)).status == 401
    blocked_response = await server.request("GET", "/users/@me")
    assert blocked_response.status == 429
    assert "Via" not in blocked_response.headers
    assert blocked_response.headers["Retry-After"] == "600"
    server.clock.advance(600_000)
    assert (await server.request("GET", "/users/@me")).status == 200


async def test_only_trusted_proxies_set_the_client_address(make_server: Callable[..., Awaitable[HttpHarness]]) -> None:
    server = await make_server(invalid_requests_max=1, trusted_proxies=1)
    forwarded_headers = {"X-Forwarded-For": "9.9.9.9, 1.1.1.1"}
    await server.request("GET", "/users/@me", caller=None, headers=forwarded_headers)
    assert (await server.request("GET", "/users/@me", headers=forwarded_headers)).status == 429
    assert (await server.request("GET", "/users/@me", headers={"X-Forwarded-For": "1.1.1.1, 2.2.2.2"})).status == 200


# Files


def upload_form(
    *files: tuple[str, str, bytes], payload: bytes | None = b'{"content": "hi"}', quotes_fields: bool = True
) -> Any:
    """Return a multipart form with files, as (field name, file name, content), and the field `payload_json`, if any."""
    form = aiohttp.FormData(quote_fields=quotes_fields, default_to_multipart=True)
    if payload is not None:
        form.add_field("payload_json", payload.decode(), content_type="application/json")
    for name, filename, data in files:
        form.add_field(name, data, filename=filename, content_type="image/png")
    return form


@pytest.mark.parametrize("quotes_fields", [True, False])
async def test_uploaded_files_are_stored_with_their_index(server: HttpHarness, quotes_fields: bool) -> None:
    body = upload_form(
        ("files[0]", "a b.png", b"one"), ("files[7]", "ü.png", b"two\r\n--x"), quotes_fields=quotes_fields
    )
    response = await server.request("POST", TOYS_PATH, data=body)
    assert response.status == 200, response.content
    first_file, second_file = response.json["files"]
    assert (first_file["field"], first_file["index"], first_file["filename"], first_file["size"]) == (
        "files",
        0,
        "a b.png",
        3,
    )
    assert (second_file["index"], second_file["filename"], second_file["type"]) == (7, "ü.png", "image/png")
    assert await server.files.get(second_file["key"]) == b"two\r\n--x"


async def test_form_fields_are_accepted_beside_files(server: HttpHarness) -> None:
    form = upload_form(("file", "a.png", b"x"), payload=None)
    form.add_field("content", "hello")
    response = await server.request("POST", TOYS_PATH, data=form)
    assert response.json["received"]["content"] == "hello"
    assert (response.json["files"][0]["field"], response.json["files"][0]["index"]) == ("file", None)


async def test_a_urlencoded_body_accepts_the_same_json_as_a_multipart_body(server: HttpHarness) -> None:
    payload = '{"content": "a&b=c+\u00fc", "embeds": [{"title": "t"}]}'
    response = await server.request("POST", TOYS_PATH, data={"payload_json": payload, "content": "ignored"})
    assert response.status == 200, response.content
    assert response.json["received"]["content"] == "a&b=c+\u00fc"
    assert response.json["received"]["embeds"][0]["title"] == "t"
    # A body that is not an object cannot be sent as flat fields, only as JSON.
    response = await server.request("PUT", "/toys", data={"payload_json": '[{"content": "x"}]'})
    assert (response.status, response.json["received"]) == (200, 1)


async def test_urlencoded_fields_are_accepted_without_json(server: HttpHarness) -> None:
    response = await server.request("POST", TOYS_PATH, data={"content": "hello", "tts": "true", "size": "3"})
    assert response.status == 200, response.content
    received_values = response.json["received"]
    assert (received_values["content"], received_values["tts"], received_values["size"]) == ("hello", True, 3)


async def test_errors_of_a_urlencoded_body_have_their_paths(server: HttpHarness) -> None:
    async def error_of(path: str, fields: dict[str, str], method: str = "POST") -> Any:
        response = await server.request(method, path, data=fields)
        assert response.status == 400, response.content
        return response.json

    assert (await error_of(TOYS_PATH, {"payload_json": "{"}))["code"] == 50109
    bad_title = await error_of(TOYS_PATH, {"payload_json": '{"content": "x", "embeds": [{"title": 1}]}'})
    assert bad_title["errors"]["embeds"]["0"]["title"]["_errors"][0]["code"] == "STRING_TYPE_CONVERT"
    missing_error = await error_of(TOYS_PATH, {"tts": "true"})
    assert missing_error["errors"]["content"]["_errors"][0]["code"] == "BASE_TYPE_REQUIRED"
    assert (await error_of("/toys", {"content": "x"}, "PUT"))["code"] == 50035


async def test_files_of_a_failed_operation_are_deleted(server: HttpHarness) -> None:
    id_before = server.ids.new(AttachmentId)
    response = await server.request("POST", "/upload-and-fail", data=upload_form(("files[0]", "a.png", b"x")))
    id_after = server.ids.new(AttachmentId)
    assert (response.status, response.json["code"]) == (400, 50046)
    for number in range(id_before, id_after + 1):
        assert not await server.files.exists(f"attachments/{number}")


async def test_a_file_that_is_only_read_is_not_stored(server: HttpHarness) -> None:
    form = upload_form(("table", "users.csv", b"1\n2"), payload=None)
    response = await server.request("POST", "/read-upload", data=form)
    assert response.json["received"] == ["1\n2"]
    assert response.json["files"][0]["key"] == ""


async def test_oversized_excess_and_duplicate_files_are_rejected(
    make_server: Callable[..., Awaitable[HttpHarness]],
) -> None:
    server = await make_server(file_bytes_max=1024, upload_bytes_max=4096)

    async def upload_outcome(*files: tuple[str, str, bytes], **options: Any) -> tuple[int, int]:
        response = await server.request("POST", TOYS_PATH, data=upload_form(*files, **options))
        return response.status, response.json["code"]

    assert await upload_outcome(("files[0]", "a", b"x" * 1025)) == (413, 50045)
    assert await upload_outcome(("files[0]", "a", b"x" * 5000)) == (413, 40005)
    assert await upload_outcome(*[(f"files[{n}]", "a", b"x") for n in range(3)]) == (400, 30015)
    assert await upload_outcome(("files[1]", "a", b"x"), ("files[1]", "b", b"y")) == (400, 50035)
    assert await upload_outcome(payload=b"{") == (400, 50109)
    assert (await server.request("PUT", "/toys", data=upload_form(("files[0]", "a", b"x")))).json["code"] == 50035


async def test_too_many_concurrent_uploads_respond_with_503(server: HttpHarness) -> None:
    limits = server.config.http
    server.http_server._bodies._budget.reserve(UPLOAD_BUDGET_FACTOR * limits.upload_bytes_max)
    body = upload_form(("files[0]", "a.png", b"x"))
    response = await server.request("POST", TOYS_PATH, data=body)
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert server.metrics.http_overload("uploads").value == 1
    server.http_server._bodies._budget.release(UPLOAD_BUDGET_FACTOR * limits.upload_bytes_max)
    for _ in range(3):
        assert (await server.request("POST", TOYS_PATH, data=upload_form(("files[0]", "a.png", b"x")))).status == 200
        assert (await server.request("POST", TOYS_PATH, data=upload_form(payload=b"{"))).status == 400
    # All uploads have released their bytes; otherwise this raises UNAVAILABLE.
    server.http_server._bodies._budget.reserve(UPLOAD_BUDGET_FACTOR * limits.upload_bytes_max)


# Fuzzing

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
TOY_FIELDS = [
    "content", "tts", "color", "ratio", "position", "size", "channel_id", "allow", "roles", "embeds", "components",
    "labels", "code", "anything", "until", "_errors",
]  # fmt: skip


def is_well_formed(response: HttpResponse) -> bool:
    """Return whether a response is not a server error and, if it is an error with a body, has the documented body."""
    if response.status >= 500:
        return False
    if response.status >= 400 and response.content:
        body = response.json
        return isinstance(body["message"], str) and (response.status == 429 or isinstance(body["code"], int))
    return True


@pytest.mark.parametrize("input_kind", ["json", "bytes", "path", "multipart"])
async def test_no_input_causes_a_server_error(server: HttpHarness, input_kind: str) -> None:
    server.rate_limits.mode = RateLimitMode.OFF
    loop = asyncio.get_running_loop()

    def send(*arguments: Any, **options: Any) -> None:
        response = asyncio.run_coroutine_threadsafe(server.request(*arguments, **options), loop).result(30)
        assert is_well_formed(response), (response.status, response.content)

    json_headers = {"Content-Type": "application/json"}

    @settings(max_examples=120, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(st.sampled_from(TOY_FIELDS), JSON_VALUES, max_size=6))
    def check_json(body: dict[str, Any]) -> None:
        send("POST", TOYS_PATH, json=body)

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(st.binary(max_size=200))
    def check_bytes(body: bytes) -> None:
        send("POST", TOYS_PATH, data=body, headers=json_headers)

    @settings(max_examples=80, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]),
        st.lists(
            st.sampled_from(["users", "channels", "toys", "@me", "1", "webhooks", "messages", "reactions", "..", "."])
            | st.binary(max_size=6).map(lambda data: "".join(f"%{byte:02X}" for byte in data)),
            max_size=5,
        ),
        st.binary(max_size=20).map(lambda data: "".join(f"%{byte:02X}" for byte in data)),
    )
    def check_path(method: str, segments: list[str], query: str) -> None:
        send(method, f"/api/v10/{'/'.join(segments)}?limit={query}&text={query}&{query}={query}")

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(
            st.sampled_from([
                b"--b", b"--", b"\r\n", b"--b\r\n", b"\r\n--b\r\n", b"\r\n--b--", b"\r\n\r\n", b"--b--\r\n",
                b'Content-Disposition: form-data; name="files[0]"; filename="a"\r\n',
                b'Content-Disposition: form-data; name="payload_json"\r\n', b'{"content": "a"}', b"Content-Type: x/y\r\n",
            ]) | st.binary(max_size=8),
            max_size=12,
        ).map(b"".join)
    )  # fmt: skip
    def check_multipart(body: bytes) -> None:
        send("POST", TOYS_PATH, data=body, headers={"Content-Type": "multipart/form-data; boundary=b"})

    checks = {"json": check_json, "bytes": check_bytes, "path": check_path, "multipart": check_multipart}
    await asyncio.to_thread(checks[input_kind])
