"""The capacity model: what each role needs for a number of sessions, computed from unit costs and a workload."""

import math
from dataclasses import dataclass
from typing import Final

Costs = dict[str, float]
"""Unit costs by name, as in bench/results/unit_costs.json."""

MEGABYTE: Final = 1e6
GIGABYTE: Final = 1e9


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Behavior of the users, which is assumed. Rates are per session and second, at the busiest time of the day."""

    message_rate: float = 1 / 1000
    typing_per_message: float = 1.0
    """Requests that show that a user types, which cause an event like a message."""
    reads_per_message: float = 3.0
    """Requests for 50 messages per message that is sent."""
    recipients: int = 100
    """Mean number of sessions that receive an event of a channel."""
    presence_rate: float = 1 / 900
    presence_recipients: int = 100
    connect_rate: float = 1 / 3600
    heartbeat_rate: float = 1 / 41.25
    guilds_per_session: int = 20
    sessions_per_guild: int = 10
    """Number of sessions per existing guild."""
    voice_share: float = 0.02
    """Share of the sessions that take part in a call."""
    call_size: int = 5
    packet_rate: float = 50.0
    """Packets per second of the one speaker of a call."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes of machines and processes, and the share of their time that may be used on average."""

    process_utilization_max: float = 0.5
    database_utilization_max: float = 0.6
    gateway_memory_max_bytes: float = 8 * GIGABYTE
    database_cores_max: int = 64
    """Cores of the largest single database server."""
    nats_bytes_max: float = 1.25 * GIGABYTE / 2
    """Bytes per second that one NATS server sends: half of 10 Gbit/s."""
    numbered_processes_max: int = 31
    """Processes with a number of their own (0 to 30; `hubbub admin` uses 31)."""
    is_presence_partitioned: bool = False
    """Whether only gateway processes with recipients receive a presence. False describes the present code."""


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What an installation needs. Counts of processes are rounded up; a process uses at most one core."""

    sessions: int
    messages_per_second: float
    deliveries_per_second: float
    api_processes: int
    gateway_processes: int | None
    """None if no number of processes suffices, because each of them must handle every presence of the platform."""
    voice_processes: int
    worker_processes: int
    gateway_memory_bytes: float
    """Memory of all gateway processes."""
    database_cores: float
    """Cores for the load, with the permitted utilization."""
    log_bytes_per_second: float
    """Write-ahead log of PostgreSQL."""
    nats_messages_per_second: float
    """Messages that NATS sends."""
    nats_bytes_per_second: float
    nats_cores: float
    client_bytes_per_second: float
    """Bytes that gateway and API processes send to clients."""
    voice_bytes_per_second: float
    recipient_nodes: float
    """Mean number of gateway processes that an event of a channel reaches."""
    presence_nodes: float
    """Mean number of gateway processes that a presence reaches."""

    @property
    def numbered_processes(self) -> int:
        """Number of processes of all roles."""
        return self.api_processes + (self.gateway_processes or 0) + self.voice_processes + self.worker_processes


def count_distinct(places: float, draws: float) -> float:
    """Return the expected number of different places among random draws."""
    return places * -math.expm1(draws * math.log1p(-1 / places)) if places > 1 else min(places, draws)


def compute_needs(costs: Costs, sessions: int, workload: Workload, limits: Limits) -> Needs:
    """Compute the needs of one installation over PostgreSQL and NATS."""
    messages = sessions * workload.message_rate
    typing = messages * workload.typing_per_message
    reads = messages * workload.reads_per_message
    connects = sessions * workload.connect_rate
    presences = sessions * workload.presence_rate
    channel_events = messages + typing
    deliveries = channel_events * workload.recipients
    presence_deliveries = presences * workload.presence_recipients
    api_us = channel_events * costs["node_post_api_us"] + reads * costs["postgres_get_us"]
    # A request that shows typing reads permissions but writes nothing: it is counted like a read.
    database_us = messages * costs["node_post_database_us"] + (reads + typing) * costs["postgres_get_database_us"]
    database_us += connects * costs["postgres_connect_database_us"]
    session_us = (
        deliveries * costs["delivery_us"]
        + presence_deliveries * costs["presence_delivery_us"]
        + connects * costs["postgres_connect_us"]
        + sessions * workload.heartbeat_rate * costs["heartbeat_us"]
    )
    gateways = count_gateways(costs, sessions, workload, limits, session_us, channel_events, presences)
    nodes = gateways or 1
    recipient_nodes = count_distinct(nodes, workload.recipients)
    presence_nodes = count_distinct(nodes, workload.presence_recipients) if limits.is_presence_partitioned else nodes
    nats_messages = channel_events * recipient_nodes + presences * presence_nodes
    talking_packets = sessions * workload.voice_share / workload.call_size * workload.packet_rate
    forwarded_packets = talking_packets * (workload.call_size - 1)
    client_bytes = (
        deliveries * costs["delivery_bytes"]
        + presence_deliveries * costs["presence_delivery_bytes"]
        + connects * costs["connect_bytes"] * workload.guilds_per_session
        + messages * costs["post_response_bytes"]
        + reads * costs["get_response_bytes"]
    )
    usable_us = 1e6 * limits.process_utilization_max
    return Needs(
        sessions=sessions,
        messages_per_second=messages,
        deliveries_per_second=deliveries + presence_deliveries,
        api_processes=max(math.ceil(api_us / usable_us), 1),
        gateway_processes=gateways,
        voice_processes=max(math.ceil(forwarded_packets * costs["voice_packet_browser_us"] / usable_us), 1),
        worker_processes=max(math.ceil(messages * costs["node_post_worker_us"] / usable_us), 1),
        gateway_memory_bytes=nodes * compute_gateway_memory(costs, sessions, workload, nodes),
        database_cores=database_us / 1e6 / limits.database_utilization_max,
        log_bytes_per_second=messages * costs["database_wal_bytes_per_post"],
        nats_messages_per_second=nats_messages,
        nats_bytes_per_second=nats_messages * costs["nats_out_bytes_per_post"],
        nats_cores=(channel_events + presences + nats_messages) / 2 * costs["node_post_nats_us"] / usable_us,
        client_bytes_per_second=client_bytes,
        voice_bytes_per_second=forwarded_packets * costs["voice_packet_bytes"],
        recipient_nodes=recipient_nodes,
        presence_nodes=presence_nodes,
    )


def count_gateways(
    costs: Costs,
    sessions: int,
    workload: Workload,
    limits: Limits,
    session_us: float,
    channel_events: float,
    presences: float,
) -> int | None:
    """Return the smallest sufficient number of gateway processes; None if the events that reach all of them fill each one."""
    # Doubling finds a sufficient number, then bisection the smallest.
    low, high = 0, 1
    while not is_sufficient(high, costs, sessions, workload, limits, session_us, channel_events, presences):
        low, high = high, high * 2
        if high > sessions:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if is_sufficient(middle, costs, sessions, workload, limits, session_us, channel_events, presences):
            high = middle
        else:
            low = middle
    return high


def is_sufficient(
    gateways: int,
    costs: Costs,
    sessions: int,
    workload: Workload,
    limits: Limits,
    session_us: float,
    channel_events: float,
    presences: float,
) -> bool:
    """Return whether this number of gateway processes has enough time and memory."""
    event_us = costs["node_event_gateway_us"]
    reached_share = count_distinct(gateways, workload.recipients) / gateways
    presence_share = 1.0
    if limits.is_presence_partitioned:
        presence_share = count_distinct(gateways, workload.presence_recipients) / gateways
    used_us = session_us / gateways + (channel_events * reached_share + presences * presence_share) * event_us
    memory_bytes = compute_gateway_memory(costs, sessions, workload, gateways)
    return used_us <= 1e6 * limits.process_utilization_max and memory_bytes <= limits.gateway_memory_max_bytes


def compute_gateway_memory(costs: Costs, sessions: int, workload: Workload, gateways: int) -> float:
    """Return the memory of a gateway process in bytes, without the presences of other processes."""
    own_sessions = sessions / gateways
    memberships = own_sessions * workload.guilds_per_session
    guilds = count_distinct(max(sessions / workload.sessions_per_guild, 1.0), memberships)
    return (
        own_sessions * costs["session_bytes"] + memberships * costs["membership_bytes"] + guilds * costs["guild_bytes"]
    )


def find_exceeded_limits(needs: Needs, limits: Limits) -> list[str]:
    """Return what prevents this number of sessions on one installation."""
    exceeded_limits = []
    if needs.gateway_processes is None:
        exceeded_limits.append("presences of the whole platform on every gateway process")
    if needs.gateway_processes is None or needs.numbered_processes > limits.numbered_processes_max:
        exceeded_limits.append("process numbers")
    if needs.database_cores > limits.database_cores_max:
        exceeded_limits.append("one PostgreSQL server")
    if needs.nats_bytes_per_second > limits.nats_bytes_max:
        exceeded_limits.append("network of one NATS server")
    return exceeded_limits


def compute_largest_installation(costs: Costs, workload: Workload, limits: Limits) -> int:
    """Return the largest number of sessions, to two digits, that one installation serves without exceeding a limit."""
    largest = 0
    for exponent in range(2, 9):
        for digits in range(10, 100):
            sessions = digits * 10**exponent // 10
            if find_exceeded_limits(compute_needs(costs, sessions, workload, limits), limits):
                return largest
            largest = sessions
    return largest
