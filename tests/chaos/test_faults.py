"""Faults of processes, networks and services while clients use a cluster: the history of the clients contradicts no promise.

Each test applies several faults one after the other to one cluster, because its start takes longer than a fault. The faults
are those of a real operation: killed and paused processes, broken and silent connections, restarts of PostgreSQL and NATS.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import psutil
import psycopg
import pytest

from hubbub.server.core.id_marks import LEAD_MS
from tests.chaos.cluster import FaultProxy, Node, running_cluster, running_proxy
from tests.chaos.test_outages import proxied_url, socket_path_of
from tests.chaos.test_partitions import wait_status
from tests.chaos.workload import Workload, running_workload
from tests.fixtures.nats import NatsServer
from tests.fixtures.postgres import start_postgres
from tests.journeys.processes import Server

REQUESTS_PER_FAULT = 20
"""Number of requests that finish during each fault after its detection, with any outcome."""
REQUESTS_AFTER_FAULT = 5
"""Number of requests that every API process must acknowledge after each fault."""


@dataclass
class Cluster:
    """Two API processes, a gateway and a worker; the first API process and the gateway reach the services through proxies."""

    client: aiohttp.ClientSession
    api: Server
    other_api: Server
    gateway: Server
    worker: Server
    api_nats: FaultProxy
    api_postgres: FaultProxy
    gateway_nats: FaultProxy
    gateway_postgres: FaultProxy
    nats: NatsServer
    postgres_folder: Path

    @property
    def servers(self) -> list[Server]:
        return [self.api, self.other_api, self.gateway, self.worker]


@contextlib.asynccontextmanager
async def running_proxied_cluster(directory: Path, database_url: str, nats: NatsServer) -> AsyncIterator[Cluster]:
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
        assert row is not None
    async with contextlib.AsyncExitStack() as stack:
        socket_path = socket_path_of(database_url)
        targets = (nats.url, socket_path, nats.url, socket_path)
        proxies = [await stack.enter_async_context(running_proxy(target)) for target in targets]
        api_nats, api_postgres, gateway_nats, gateway_postgres = proxies
        nodes = [
            Node(nats_url=api_nats.url, database_url=proxied_url(database_url, api_postgres)),
            Node(),
            Node(
                roles="gateway",
                nats_url=gateway_nats.url,
                database_url=proxied_url(database_url, gateway_postgres),
            ),
            Node(roles="worker"),
        ]
        cluster = await stack.enter_async_context(running_cluster(directory, database_url, nats.url, nodes))
        client, servers = cluster
        yield Cluster(client, *servers, *proxies, nats, Path(row[0]))


@dataclass(frozen=True)
class Fault:
    """A fault, and the processes that detect it before it ends."""

    apply: Callable[[Cluster], Awaitable[Callable[[], Awaitable[None]]]]
    """The function that applies the fault and returns the function that ends it."""
    find_detecting: Callable[[Cluster], list[Server]] = lambda cluster: []
    """Function that returns the processes whose readiness fails during the fault."""


def kill(name: str) -> Fault:
    """Kill a process; it starts again at the end of the fault."""

    async def apply(cluster: Cluster) -> Callable[[], Awaitable[None]]:
        server: Server = getattr(cluster, name)
        server.kill()

        async def end() -> None:
            await server.start()

        return end

    return Fault(apply)


def pause(
    find_pids: Callable[[Cluster], list[int]], find_detecting: Callable[[Cluster], list[Server]] = lambda cluster: []
) -> Fault:
    """Stop processes with SIGSTOP; they continue at the end of the fault."""

    async def apply(cluster: Cluster) -> Callable[[], Awaitable[None]]:
        pids = find_pids(cluster)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

        async def end() -> None:
            for pid in pids:
                # A child of PostgreSQL may have ended.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

        return end

    return Fault(apply, find_detecting)


def cut(name: str, mode: str) -> Fault:
    """Let a proxy refuse or swallow everything; it heals at the end of the fault."""

    async def apply(cluster: Cluster) -> Callable[[], Awaitable[None]]:
        proxy: FaultProxy = getattr(cluster, name)
        getattr(proxy, mode)()

        async def end() -> None:
            proxy.heal()

        return end

    return Fault(apply, lambda cluster: [getattr(cluster, name.partition("_")[0])])


def stop_postgres(signal_number: int) -> Fault:
    """Stop PostgreSQL, with SIGINT in order and with SIGQUIT without a checkpoint; it starts again at the end."""

    async def apply(cluster: Cluster) -> Callable[[], Awaitable[None]]:
        pid_file = cluster.postgres_folder / "postmaster.pid"
        os.kill(postgres_pid(cluster), signal_number)
        while pid_file.exists():
            await asyncio.sleep(0.01)

        async def end() -> None:
            await asyncio.to_thread(start_postgres, cluster.postgres_folder.parent, is_durable=True)

        return end

    return Fault(apply, lambda cluster: cluster.servers)


async def stop_nats(cluster: Cluster) -> Callable[[], Awaitable[None]]:
    """Kill NATS; it starts again at the end of the fault."""
    cluster.nats.stop()

    async def end() -> None:
        cluster.nats.start()

    return end


def postgres_pid(cluster: Cluster) -> int:
    return int((cluster.postgres_folder / "postmaster.pid").read_text().split()[0])


def postgres_pids(cluster: Cluster) -> list[int]:
    """Return the IDs of all processes of PostgreSQL."""
    postmaster = psutil.Process(postgres_pid(cluster))
    return [postmaster.pid, *(child.pid for child in postmaster.children())]


FAULTS: dict[str, dict[str, Fault]] = {
    "processes": {
        "kill API": kill("api"),
        "kill gateway": kill("gateway"),
        "kill worker": kill("worker"),
        "pause API": pause(lambda cluster: [cluster.api.pid]),
        "pause gateway": pause(lambda cluster: [cluster.gateway.pid]),
        "pause worker": pause(lambda cluster: [cluster.worker.pid]),
    },
    "networks": {
        "API without NATS": cut("api_nats", "refuse"),
        "black hole between API and NATS": cut("api_nats", "swallow"),
        "API without PostgreSQL": cut("api_postgres", "refuse"),
        "black hole between API and PostgreSQL": cut("api_postgres", "swallow"),
        "gateway without NATS": cut("gateway_nats", "refuse"),
        "black hole between gateway and NATS": cut("gateway_nats", "swallow"),
        "gateway without PostgreSQL": cut("gateway_postgres", "refuse"),
        "black hole between gateway and PostgreSQL": cut("gateway_postgres", "swallow"),
    },
    "services": {
        "restart PostgreSQL": stop_postgres(signal.SIGINT),
        "crash PostgreSQL": stop_postgres(signal.SIGQUIT),
        "pause PostgreSQL": pause(postgres_pids, lambda cluster: cluster.servers),
        "restart NATS": Fault(stop_nats, lambda cluster: cluster.servers),
        "pause NATS": pause(lambda cluster: [cluster.nats.pid], lambda cluster: cluster.servers),
    },
}


async def apply_faults(cluster: Cluster, workload: Workload, faults: dict[str, Fault]) -> None:
    """Apply faults one after the other, each until it is detected and some requests have finished; wait for the recovery."""
    for name, fault in faults.items():
        started_at = time.monotonic()
        end = await fault.apply(cluster)
        try:
            for server in fault.find_detecting(cluster):
                await wait_status(cluster.client, server, 503)
            await workload.wait_finished(REQUESTS_PER_FAULT)
        finally:
            await end()
        for server in cluster.servers:
            await wait_status(cluster.client, server, 200)
        await workload.wait_acknowledged(REQUESTS_AFTER_FAULT)
        print(f"{name}: {time.monotonic() - started_at:.1f} s")


@pytest.mark.parametrize("kind", FAULTS)
async def test_the_history_of_clients_has_no_violation(
    tmp_path: Path, durable_postgres_url: str, start_nats_server: Callable[[], NatsServer], kind: str
) -> None:
    async with (
        running_proxied_cluster(tmp_path, durable_postgres_url, start_nats_server()) as cluster,
        running_workload(cluster.client, [cluster.api, cluster.other_api], cluster.gateway) as workload,
    ):
        await workload.wait_acknowledged(REQUESTS_AFTER_FAULT)
        await apply_faults(cluster, workload, FAULTS[kind])
        await workload.finish()
        # After a kill, new IDs begin above the high-water mark of the process, which is ahead of the clock (decisions/0132).
        violations = await workload.find_violations(
            cluster.gateway, id_lead_seconds=LEAD_MS / 1000 if kind == "processes" else 0.0
        )
        print(f"{kind}: {workload.summary()}")
        assert not violations, "\n".join(violations)
