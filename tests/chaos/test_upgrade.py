"""An upgrade from the previous release while clients use the cluster: the history of the clients contradicts no promise."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hubbub.server.core.id_marks import LEAD_MS
from tests.chaos.cluster import Node, running_cluster
from tests.chaos.test_partitions import wait_status
from tests.chaos.workload import running_workload
from tests.fixtures.nats import NatsServer
from tests.journeys.previous_version import extract_source, find_previous_version

REQUESTS_PER_VERSION = 10
"""Number of requests that every API process must acknowledge before the next process is upgraded."""


@pytest.mark.chaos
async def test_the_history_of_clients_has_no_violation_during_an_upgrade(
    tmp_path: Path, durable_postgres_url: str, start_nats_server: Callable[[], NatsServer]
) -> None:
    source = extract_source(tmp_path / "previous")
    nodes = [
        Node(source=source),
        Node(source=source),
        Node(roles="gateway", source=source),
        Node(roles="worker", source=source),
    ]
    async with running_cluster(tmp_path, durable_postgres_url, start_nats_server().url, nodes) as (client, servers):
        api, other_api, gateway, _ = servers
        print(f"previous version: {find_previous_version()}")
        async with running_workload(client, [api, other_api], gateway) as workload:
            await workload.wait_acknowledged(REQUESTS_PER_VERSION)
            for server in servers:
                server.terminate()
                assert await server.wait_ended() == 0, server.log_text()
                server.source = None
                await server.start()
                await wait_status(client, server, 200)
                await workload.wait_acknowledged(REQUESTS_PER_VERSION)
            await workload.finish()
            violations = await workload.find_violations(gateway, id_lead_seconds=LEAD_MS / 1000)
            print(f"upgrade: {workload.summary()}")
        assert not violations, "\n".join(violations)
        assert all("Traceback" not in server.log_text() for server in servers)
