"""The low-level API client against the real server and against a failing one."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any, assert_type

import aiohttp
import pytest
from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds, messages, reactions, users
from hubbub.protocol.resources.audit_log import LIST_GUILD_AUDIT_LOG_ENTRIES
from hubbub.protocol.resources.channels import CREATE_GUILD_CHANNEL, CreateGuildChannel
from hubbub.protocol.resources.gateway import GET_GATEWAY
from hubbub.protocol.resources.messages import CREATE_MESSAGE, LIST_MESSAGES, CreateMessage, ListMessages
from hubbub.sdk import Api, ApiError, File, http
from tests.world import Actor, World


def api_client(actor: Actor) -> Api:
    """Return an API client with the actor's token."""
    return Api(actor.world.url, actor.token, "bot" if actor.is_bot else "user", session=actor.world.client)


async def test_an_operation_returns_its_declared_type(world: World) -> None:
    alice = await world.user("alice")
    client = api_client(alice)

    me = await client.call(users.GET_MY_USER)

    assert_type(me, users.MyUser)
    assert me.id == alice.id


async def test_a_created_message_is_returned_as_a_typed_model(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    client = api_client(bot)

    sent_message = await client.call(CREATE_MESSAGE, channel_id=guild.general, body=CreateMessage(content="hello"))
    listed_messages = await client.call(LIST_MESSAGES, channel_id=guild.general, query=ListMessages(limit=1))

    assert_type(sent_message, messages.Message)
    assert_type(listed_messages, list[messages.Message])
    assert isinstance(sent_message.channel_id, ChannelId)
    assert [message.id for message in listed_messages] == [sent_message.id]
    assert listed_messages[0].content == "hello"


async def test_files_are_uploaded_with_a_message(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)

    sent_message = await api_client(alice).call(
        CREATE_MESSAGE,
        channel_id=guild.general,
        body=CreateMessage(content="look"),
        files=[File("a.txt", b"one", "text/plain"), File("b.txt", b"two", "text/plain")],
    )

    assert [(attachment.filename, attachment.size) for attachment in sent_message.attachments] == [
        ("a.txt", 3),
        ("b.txt", 3),
    ]


async def test_an_operation_without_files_rejects_files(world: World) -> None:
    with pytest.raises(TypeError, match="does not accept files"):
        await api_client(await world.user()).call(users.GET_MY_USER, files=[File("a.txt", b"")])


async def test_path_parameters_are_percent_encoded(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    message_id = int((await guild.send_message(alice))["id"])
    client = api_client(alice)
    general_channel_id = guild.general

    await client.call(
        reactions.ADD_MY_MESSAGE_REACTION, channel_id=general_channel_id, message_id=message_id, emoji_name="👍"
    )

    reacting_users = await client.call(
        reactions.LIST_MESSAGE_REACTIONS_BY_EMOJI, channel_id=general_channel_id, message_id=message_id, emoji_name="👍"
    )
    assert [user.id for user in reacting_users] == [alice.id]


async def test_a_missing_path_parameter_raises_before_sending(world: World) -> None:
    with pytest.raises(TypeError, match="channel_id"):
        await api_client(await world.user()).call(LIST_MESSAGES)


async def test_a_rejected_request_raises_the_matching_exception(world: World) -> None:
    client = api_client(await world.user())

    with pytest.raises(ApiError) as caught:
        await client.call(LIST_MESSAGES, channel_id=1)

    assert caught.value.kind is errors.UNKNOWN_CHANNEL
    assert caught.value.status == 404


async def test_form_errors_have_paths(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)

    with pytest.raises(ApiError) as caught:
        await api_client(alice).call(CREATE_MESSAGE, channel_id=guild.general, body=CreateMessage(content="x" * 5000))

    assert caught.value.kind is errors.INVALID_FORM_BODY
    assert caught.value.errors is not None
    assert caught.value.errors["content"]["_errors"][0]["code"] == "BASE_TYPE_MAX_LENGTH"


async def test_a_wrong_token_is_unauthorized_and_a_public_operation_needs_none(world: World) -> None:
    wrong = Api(world.url, "not-a-token", session=world.client)
    anonymous = Api(world.api, session=world.client)

    with pytest.raises(ApiError) as caught:
        await wrong.call(users.GET_MY_USER)

    assert caught.value.kind is errors.UNAUTHORIZED
    assert (await anonymous.call(GET_GATEWAY)).url.startswith("ws://")


async def test_the_reason_is_recorded_in_the_audit_log(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild, permissions=Permissions.MANAGE_CHANNELS | Permissions.VIEW_AUDIT_LOG)
    client = api_client(bot)

    await client.call(
        CREATE_GUILD_CHANNEL, guild_id=guild.id, body=CreateGuildChannel(name="new"), reason="schöner Grund"
    )

    log = await client.call(LIST_GUILD_AUDIT_LOG_ENTRIES, guild_id=guild.id)
    assert log.audit_log_entries[0].reason == "schöner Grund"


async def test_booleans_are_encoded_in_queries(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)

    fetched_guild = await api_client(alice).call(
        guilds.GET_GUILD, guild_id=guild.id, query=guilds.GetGuild(with_counts=True)
    )

    assert fetched_guild.id == GuildId(guild.id)
    assert fetched_guild.approximate_member_count == 1


# A failing platform: a small server that returns the responses that a test defines, in order.


@pytest.fixture
async def scripted_server() -> AsyncIterator["ScriptedServer"]:
    """A server that returns scripted responses."""
    server = ScriptedServer()
    runner = web.AppRunner(server.application())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession() as session:
        server.session = session
        yield server
    await runner.cleanup()


class ScriptedServer:
    """A server that returns the scripted responses, then 204, and records how long the client would have waited."""

    url = ""
    session: aiohttp.ClientSession

    def __init__(self) -> None:
        self.responses: list[web.Response | None] = []
        self.requested_paths: list[str] = []
        self.recorded_waits: list[float] = []

    def application(self) -> web.Application:
        """Return the aiohttp application of this server."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._respond)
        return app

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        self.requested_paths.append(request.path)
        response = self.responses.pop(0) if self.responses else web.Response(status=204)
        if response is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return response

    def respond(self, status: int, body: Any = None, **headers: str) -> None:
        """Script the next response."""
        response_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.responses.append(web.json_response(body, status=status, headers=response_headers))

    def drop_connection(self) -> None:
        """Script a dropped connection instead of the next response."""
        self.responses.append(None)

    def new_client(self, **options: Any) -> Api:
        """Create a client of this server that records waits instead of sleeping."""

        async def wait(seconds: float) -> None:
            self.recorded_waits.append(seconds)
            await asyncio.sleep(0)

        return Api(self.url, "secret-token", session=self.session, **{"sleep": wait} | options)


RATE_LIMIT_BODY = {"message": "You are being rate limited.", "retry_after": 0.75, "global": False}


async def test_a_rate_limited_request_waits_for_retry_after(scripted_server: ScriptedServer) -> None:
    scripted_server.respond(429, RATE_LIMIT_BODY)

    await scripted_server.new_client().call(messages.DELETE_MESSAGE, channel_id=1, message_id=2)

    assert scripted_server.recorded_waits == [0.75]
    assert len(scripted_server.requested_paths) == 2


async def test_a_rate_limit_beyond_the_timeout_is_raised(scripted_server: ScriptedServer) -> None:
    scripted_server.respond(429, RATE_LIMIT_BODY | {"retry_after": 3600.0, "code": 20028})

    with pytest.raises(ApiError) as caught:
        await scripted_server.new_client().call(messages.DELETE_MESSAGE, channel_id=1, message_id=2)

    assert caught.value.kind is errors.CHANNEL_WRITE_RATE_LIMIT
    assert caught.value.extra["retry_after"] == 3600.0
    assert scripted_server.recorded_waits == []


async def test_an_empty_bucket_delays_requests_until_it_refills(
    scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = {"X_RateLimit_Bucket": "b", "X_RateLimit_Limit": "1", "X_RateLimit_Remaining": "0"}
    scripted_server.respond(204, None, **empty, X_RateLimit_Reset_After="50.000")
    waits: list[float] = []

    loop = asyncio.get_running_loop()
    original_time = loop.time
    monkeypatch.setattr(loop, "time", lambda: original_time() + sum(waits))

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    client = scripted_server.new_client(sleep=wait)
    await client.call(messages.DELETE_MESSAGE, channel_id=1, message_id=2)
    await client.call(messages.DELETE_MESSAGE, channel_id=7, message_id=2)
    assert waits == []

    await client.call(messages.DELETE_MESSAGE, channel_id=1, message_id=3)

    assert 0 < sum(waits) <= 50
    assert len(scripted_server.requested_paths) == 3


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_an_idempotent_request_is_retried(scripted_server: ScriptedServer, status: int) -> None:
    scripted_server.respond(status, {"message": "failure", "code": 0})

    await scripted_server.new_client().call(messages.DELETE_MESSAGE, channel_id=1, message_id=2)

    assert len(scripted_server.requested_paths) == 2
    assert len(scripted_server.recorded_waits) == 1


async def test_a_non_idempotent_request_is_not_retried(scripted_server: ScriptedServer) -> None:
    scripted_server.respond(502, {"message": "failure", "code": 0})

    with pytest.raises(ApiError) as caught:
        await scripted_server.new_client().call(CREATE_MESSAGE, channel_id=1, body=CreateMessage(content="once"))

    assert caught.value.status == 502
    assert len(scripted_server.requested_paths) == 1


async def test_a_lost_connection_is_retried_for_idempotent_requests(scripted_server: ScriptedServer) -> None:
    scripted_server.drop_connection()
    await scripted_server.new_client().call(messages.DELETE_MESSAGE, channel_id=1, message_id=2)
    assert len(scripted_server.requested_paths) == 2

    scripted_server.drop_connection()
    with pytest.raises(aiohttp.ClientError):
        await scripted_server.new_client().call(CREATE_MESSAGE, channel_id=1, body=CreateMessage(content="once"))
    assert len(scripted_server.requested_paths) == 3


async def test_the_timeout_covers_all_attempts(
    scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        scripted_server.drop_connection()
    with pytest.raises(aiohttp.ClientError):
        await scripted_server.new_client(timeout_ms=30_000, tries=20).call(users.GET_MY_USER)
    # Eight backoffs exceed the whole timeout, however short the jitter makes each.
    assert 1 <= len(scripted_server.recorded_waits) <= 7
    assert sum(scripted_server.recorded_waits) < 30

    scripted_server.responses.clear()
    scripted_server.recorded_waits.clear()
    for _ in range(4):
        scripted_server.respond(503, {"message": "failure", "code": 0})
    monkeypatch.setattr(http, "BACKOFF_MS", 60_000)
    with pytest.raises(ApiError) as caught:
        await scripted_server.new_client(timeout_ms=30_000).call(users.GET_MY_USER)
    assert (caught.value.status, scripted_server.recorded_waits) == (503, [])


async def test_a_rate_limit_wait_does_not_count_towards_the_timeout(scripted_server: ScriptedServer) -> None:
    scripted_server.respond(429, RATE_LIMIT_BODY | {"retry_after": 45.0})

    await scripted_server.new_client(timeout_ms=30_000).call(messages.DELETE_MESSAGE, channel_id=1, message_id=2)

    assert scripted_server.recorded_waits == [45.0]


async def test_a_request_to_an_unresponsive_server_is_sent_once() -> None:
    connections = 0

    async def never_respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.read()
        writer.close()

    server = await asyncio.start_server(never_respond, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    started_at = asyncio.get_running_loop().time()
    async with Api(f"http://127.0.0.1:{port}", timeout_ms=1000) as api:
        with pytest.raises(TimeoutError):
            await api.call(users.GET_MY_USER)

    assert asyncio.get_running_loop().time() - started_at >= 1.0
    assert connections == 1
    server.close()


async def test_an_unknown_error_code_keeps_its_number_and_message(scripted_server: ScriptedServer) -> None:
    scripted_server.respond(418, {"message": "I am a teapot", "code": 987654})

    with pytest.raises(ApiError, match=r"I am a teapot \(987654\)") as caught:
        await scripted_server.new_client().call(users.GET_MY_USER)

    assert (caught.value.kind.code, caught.value.status) == (987654, 418)


async def test_a_response_that_is_not_json_is_an_error(scripted_server: ScriptedServer) -> None:
    scripted_server.responses.append(web.Response(status=413, text="<html>too much</html>"))

    with pytest.raises(ApiError) as caught:
        await scripted_server.new_client().call(users.GET_MY_USER)

    assert caught.value.status == 413


async def test_logs_and_reprs_do_not_contain_the_token(
    scripted_server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    scripted_server.respond(429, RATE_LIMIT_BODY)
    scripted_server.respond(500, {"message": "failure", "code": 0})
    scripted_server.respond(401, {"message": "401: Unauthorized", "code": 0})
    client = scripted_server.new_client()

    with pytest.raises(ApiError) as caught:
        await client.call(users.GET_MY_USER)

    assert "GET /users/@me" in caplog.text
    for text in (caplog.text, repr(client), repr(caught.value), str(caught.value)):
        assert "secret-token" not in text
