"""Traces: spans of requests, transactions, events, jobs and outbound requests, and their export to a collector."""

import asyncio
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest

from hubbub.server.app import App
from hubbub.server.core.config import Config
from hubbub.server.core.config_sections import TelemetryConfig
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.observation import Observer
from hubbub.server.core.postgres import PostgresDatabase
from hubbub.server.core.spans import QUEUED_SPANS_MAX, OpenTelemetryTracer, build_traces_url, parse_headers
from hubbub.server.core.store import Tx
from tests.chaos.cluster import Node, open_session, running_cluster
from tests.collector import Collector
from tests.journeys.processes import create_guild, register_user
from tests.receiver import Receiver, subscribe_to_events
from tests.server.play.purchases import create_test_entitlement, publish_sku
from tests.world import WAIT_TIMEOUT_SECONDS, World

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
CALLER_SPAN_ID = "b7ad6b7169203331"
SEND_MESSAGE = "POST /channels/{channel_id}/messages"


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with Collector() as collector:
        yield collector


@pytest.fixture
def world_config(store_config: Config, collector: Collector) -> Config:
    telemetry = TelemetryConfig(
        endpoint=collector.url, headers="authorization=Basic%20c2VjcmV0, x-tenant=town", service_name="town-square"
    )
    return msgspec.structs.replace(store_config, telemetry=telemetry, allow_private_targets=True)


def read_counter(metrics: Metrics, name: str) -> float:
    """Return the sum of a counter over its labels."""
    return sum(
        sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == f"hubbub_{name}_total"
    )


async def test_a_message_is_one_trace_from_the_request_to_the_sessions(world: World, collector: Collector) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    collector.spans.clear()
    caller = {"traceparent": f"00-{TRACE_ID}-{CALLER_SPAN_ID}-01"}
    url = f"{world.url}/api/v10/channels/{guild.general}/messages"
    async with world.client.post(
        url, json={"content": "a secret text"}, headers={"Authorization": guild.owner.token, **caller}
    ) as response:
        assert response.status == 200
    await session.next("MESSAGE_CREATE")

    dispatch = await collector.wait_for(
        lambda span: span.name == "dispatch MESSAGE_CREATE" and span.trace_id == TRACE_ID
    )
    request = await collector.wait_for_name(SEND_MESSAGE)
    assert collector.chain(dispatch) == [
        SEND_MESSAGE,
        "write",
        "publish MESSAGE_CREATE",
        "receive MESSAGE_CREATE",
        "dispatch MESSAGE_CREATE",
    ]
    assert (request.kind, request.trace_id, request.parent_id) == ("server", TRACE_ID, CALLER_SPAN_ID)
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": "/channels/{channel_id}/messages",
        "http.response.status_code": 200,
    }
    assert request.resource["service.name"] == "town-square"
    write = next(span for span in collector.spans if span.name == "write" and span.trace_id == TRACE_ID)
    assert write.attributes["hubbub.store.attempts"] == 1
    assert write.attributes["hubbub.store.statements"] > 0
    assert collector.headers[0]["authorization"] == "Basic c2VjcmV0"
    assert collector.headers[0]["x-tenant"] == "town"
    recorded_text = repr([(span.name, span.attributes, span.resource) for span in collector.spans])
    for private_text in ("a secret text", str(guild.general), str(guild.owner.id), guild.owner.token):
        assert private_text not in recorded_text


async def test_a_caller_can_prevent_the_trace_of_its_request(world: World, collector: Collector) -> None:
    user = await world.user()
    headers = {"Authorization": user.token}
    for flags in ("00", "01"):
        traceparent = f"00-{TRACE_ID}-{CALLER_SPAN_ID}-{flags}"
        async with world.client.get(
            f"{world.url}/api/v10/users/@me", headers={**headers, "traceparent": traceparent}
        ) as response:
            assert response.status == 200
    await collector.wait_for_name("GET /users/@me")
    assert [span.trace_id for span in collector.spans if span.name == "GET /users/@me"] == [TRACE_ID]


async def test_an_invalid_traceparent_starts_a_new_trace(world: World, collector: Collector) -> None:
    async with world.client.get(f"{world.url}/api/v10/gateway", headers={"traceparent": "nonsense"}) as response:
        assert response.status == 200
    span = await collector.wait_for_name("GET /gateway")
    assert span.parent_id == ""


async def test_pages_unknown_routes_and_failures_have_spans(world: World, collector: Collector) -> None:
    for path in ("/login", "/api/v10/no/such/1234567890/route"):
        async with world.client.get(f"{world.url}{path}"):
            pass
    assert (await collector.wait_for_name("GET /login")).attributes["http.response.status_code"] == 200
    unknown_span = await collector.wait_for_name("GET unknown")
    assert unknown_span.attributes["http.response.status_code"] == 404
    assert not unknown_span.is_error
    assert "1234567890" not in repr(collector.spans)


async def test_a_webhook_event_continues_the_trace_of_the_request_but_sends_no_traceparent(
    world: World, collector: Collector, receiver: Receiver
) -> None:
    bot, user = await world.bot(), await world.user()
    sku_id = await publish_sku(bot)
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    receiver.request_headers.clear()

    await create_test_entitlement(bot, sku_id, user.id)
    await receiver.wait_for_events(1)

    request = await collector.wait_for(
        lambda span: span.kind == "client" and collector.chain(span)[0].startswith("POST /applications")
    )
    assert collector.chain(request) == [
        "POST /applications/{application_id}/entitlements",
        "write",
        "webhook_events.deliver",
        "POST",
    ]
    assert request.attributes == {
        "http.request.method": "POST",
        "server.address": "127.0.0.1",
        "http.response.status_code": 204,
    }
    assert "traceparent" not in receiver.request_headers[-1]


async def test_a_retried_unit_of_work_has_an_event(
    postgres_database: str, collector: Collector, tracer: OpenTelemetryTracer
) -> None:
    observer = Observer(Metrics(), tracer=tracer)
    database = PostgresDatabase(postgres_database)
    await database.start()
    await database.write(lambda tx: tx.run("CREATE TABLE numbers (value BIGINT NOT NULL)"))
    await database.write(lambda tx: tx.run("INSERT INTO numbers VALUES (0)"))
    barrier = threading.Barrier(2)
    runs: list[int] = []

    def increment(tx: Tx) -> None:
        value = tx.value("SELECT value FROM numbers")
        runs.append(value)
        if len(runs) <= 2:
            barrier.wait(WAIT_TIMEOUT_SECONDS)
        tx.run("UPDATE numbers SET value = ?", value + 1)

    observation = observer.start("http", "PATCH /numbers")
    await asyncio.gather(database.write(increment), database.write(increment))
    observer.end(observation)
    await database.close()

    span = await collector.wait_for(lambda span: bool(span.events))
    assert span.name == "write"
    assert set(span.events) == {"retry"}
    assert span.attributes["hubbub.store.attempts"] == 1 + len(span.events)
    assert collector.chain(span) == ["PATCH /numbers", "write"]


async def test_a_trace_spans_two_processes(
    tmp_path: Path, postgres_database: str, nats_url: str, collector: Collector
) -> None:
    flags = ("--telemetry-endpoint", collector.url)
    nodes = [Node(flags=flags), Node(roles="gateway", flags=flags)]
    async with running_cluster(tmp_path, postgres_database, nats_url, nodes) as (client, (api, gateway)):
        user = await register_user(client, api, "user")
        _, channel_id, _ = await create_guild(user)
        session = await open_session(user, gateway)
        await user.create_message(channel_id, "across processes")
        await session.wait_message("across processes")
        dispatch = await collector.wait_for_name("dispatch MESSAGE_CREATE")
        publish = await collector.wait_for_name("publish MESSAGE_CREATE")
        await collector.wait_for_name("receive MESSAGE_CREATE")
        await collector.wait_for_name(SEND_MESSAGE)
    assert dispatch.trace_id == publish.trace_id
    assert collector.chain(dispatch) == [
        SEND_MESSAGE,
        "write",
        "publish MESSAGE_CREATE",
        "receive MESSAGE_CREATE",
        "dispatch MESSAGE_CREATE",
    ]
    assert publish.resource["service.instance.id"] == "0"
    assert dispatch.resource["service.instance.id"] == "1"


@pytest.fixture
async def tracer(collector: Collector) -> AsyncIterator[OpenTelemetryTracer]:
    tracer = OpenTelemetryTracer(TelemetryConfig(endpoint=collector.url), Metrics(), instance_id="0")
    yield tracer
    await tracer.close()


async def test_the_share_of_traced_operations_is_configured(collector: Collector) -> None:
    zero_ratio_tracer = OpenTelemetryTracer(
        TelemetryConfig(endpoint=collector.url, sample_ratio=0), Metrics(), instance_id="0"
    )
    assert zero_ratio_tracer.start("GET /gateway", "server", traceparent=f"00-{TRACE_ID}-{CALLER_SPAN_ID}-01") is None
    # The process that started a trace decides whether it is recorded, so the ratio of this process does not apply.
    assert zero_ratio_tracer.start(
        "receive", "consumer", traceparent=f"00-{TRACE_ID}-{CALLER_SPAN_ID}-01", is_trusted=True
    )
    await zero_ratio_tracer.close()


async def test_a_dead_collector_neither_slows_nor_stops_the_server(store_config: Config) -> None:
    with socket.socket() as listener:
        # Connections are accepted by the system and never answered.
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        telemetry = TelemetryConfig(endpoint=f"http://127.0.0.1:{listener.getsockname()[1]}")
        app = App(msgspec.structs.replace(store_config, telemetry=telemetry))
        await app.start()
        async with aiohttp.ClientSession() as client:
            for _ in range(50):
                async with client.get(f"{app.config.web_url}/api/v10/gateway") as response:
                    assert response.status == 200
            # More spans than the queue can hold: the rest is dropped, and no call waits.
            assert app.observer.tracer is not None
            for _ in range(QUEUED_SPANS_MAX + 1000):
                span = app.observer.tracer.start("flood", "internal")
                assert span is not None
                span.end()
            assert read_counter(app.metrics, "spans_dropped") > 0
            async with client.get(f"{app.config.web_url}/api/v10/gateway") as response:
                assert response.status == 200
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            await app.stop()
        assert read_counter(app.metrics, "spans_exported") == 0
        assert read_counter(app.metrics, "spans_dropped") >= QUEUED_SPANS_MAX


async def test_a_refused_connection_to_the_collector_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as unused_socket:
        unused_socket.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused_socket.getsockname()[1]}"
    metrics = Metrics()
    tracer = OpenTelemetryTracer(TelemetryConfig(endpoint=endpoint), metrics, instance_id="0")
    span = tracer.start("GET /gateway", "server")
    assert span is not None
    span.end()
    await tracer.close()
    assert read_counter(metrics, "spans_dropped") == 1


async def test_the_server_does_not_import_opentelemetry_without_a_collector() -> None:
    program = (
        "import asyncio, sys\n"
        "from hubbub.server.app import App\n"
        "from hubbub.server.core.config import Config\n"
        "async def run():\n"
        "    app = App(Config(port=0))\n"
        "    await app.start()\n"
        "    await app.stop()\n"
        "asyncio.run(run())\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    )
    assert await process.wait() == 0


async def test_a_collector_without_the_packages_is_explained_at_the_start(tmp_path: Path) -> None:
    program = "import sys; sys.modules['opentelemetry'] = None; from hubbub.server.cli import main; sys.exit(main())"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, "serve", "--port", "0", "--data", str(tmp_path / "data")),
        *("--telemetry-endpoint", "http://127.0.0.1:4318"),
        stderr=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    _, stderr = await process.communicate()
    assert process.returncode == 2
    assert stderr.decode() == (
        "hubbub: telemetry.endpoint (traces): needs packages that are not installed; "
        "run: pip install 'hubbub[server,telemetry]'\n"
    )


def test_urls_and_headers_of_the_collector_are_parsed() -> None:
    assert build_traces_url("http://127.0.0.1:4318") == "http://127.0.0.1:4318/v1/traces"
    assert build_traces_url("https://otel.example/v1/traces/") == "https://otel.example/v1/traces"
    assert parse_headers("Authorization=Basic%20YTpi, x=1,broken") == {"authorization": "Basic YTpi", "x": "1"}
