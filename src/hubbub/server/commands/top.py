"""`hubbub top`: a live view of a running server in a terminal, from its metrics."""

import argparse
import asyncio
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from hubbub.protocol import codec
from hubbub.server.core.config import Config
from hubbub.server.terminal import describe_connection_error, print_error

WINDOW_SECONDS: Final = 30.0
"""Period in seconds over which a live view computes rates and latencies."""
TIMEOUT_SECONDS: Final = 10.0
"""Time in seconds for one request of the metrics."""
INTERVAL_SECONDS_MIN: Final = 0.1
OPERATIONS_MAX: Final = 20
"""Maximum number of operations that are listed."""
FIXED_LINES: Final = 15
"""Number of lines above the list of operations and below it."""
STORED_JOBS: Final = "hubbub_stored_jobs"
FAILED_JOBS: Final = "hubbub_failed_jobs"
FAILED_KINDS_MAX: Final = 3
"""Maximum number of kinds of failed jobs that are listed."""
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Address at which a server that listens on all addresses is reached on the same machine."""
_CLEAR: Final = "\x1b[H\x1b[2J"
_HIDE_CURSOR: Final = "\x1b[?25l"
_SHOW_CURSOR: Final = "\x1b[?25h"


class TopError(Exception):
    """The metrics cannot be read."""


Labels = frozenset[tuple[str, str]]


class Sample(NamedTuple):
    """The metrics of a server at one time."""

    sampled_at: float
    """Monotonic time in seconds."""
    values: Mapping[str, Mapping[Labels, float]]
    """Values by metric name and labels."""

    def total(self, name: str, matches: Callable[[dict[str, str]], bool] | None = None) -> float:
        """Return the sum of a metric over all labels, or over those that match."""
        values = self.values.get(name, {})
        return sum(value for labels, value in values.items() if matches is None or matches(dict(labels)))


def parse(text: str, sampled_at: float) -> Sample:
    """Parse metrics in the Prometheus text format."""
    values: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            values.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return Sample(sampled_at, values)


class Rates:
    """Rates and latencies between two samples."""

    def __init__(self, first_sample: Sample | None, last_sample: Sample) -> None:
        """Create the rates since `first_sample`; None stands for the start of the server."""
        self._first_sample = first_sample
        self._last_sample = last_sample
        self._seconds = last_sample.sampled_at - first_sample.sampled_at if first_sample is not None else 0.0

    def rate(self, name: str, matches: Callable[[dict[str, str]], bool] | None = None) -> float:
        """Return the increase of a counter per second; 0 without a first sample."""
        if self._first_sample is None or self._seconds <= 0:
            return 0.0
        # A server that restarted counts from zero.
        return (
            max(0.0, self._last_sample.total(name, matches) - self._first_sample.total(name, matches)) / self._seconds
        )

    def quantile(
        self, fraction: float, name: str, matches: Callable[[dict[str, str]], bool] | None = None
    ) -> float | None:
        """Return a quantile of a histogram in seconds, interpolated in its bucket; None without an observation."""
        counts: dict[float, float] = {}
        for sample, sign in ((self._last_sample, 1), (self._first_sample, -1)):
            if sample is not None:
                for labels, value in sample.values.get(f"{name}_bucket", {}).items():
                    label_values = dict(labels)
                    if matches is None or matches(label_values):
                        bound = float(label_values["le"])
                        counts[bound] = counts.get(bound, 0.0) + sign * value
        bounds = sorted(counts)
        if not bounds or counts[bounds[-1]] <= 0:
            return None
        rank = fraction * counts[bounds[-1]]
        lower_bound, lower_count = 0.0, 0.0
        for bound in bounds:
            if counts[bound] >= rank:
                if bound == float("inf"):
                    return lower_bound
                bucket_count = counts[bound] - lower_count
                return lower_bound + (bound - lower_bound) * (
                    (rank - lower_count) / bucket_count if bucket_count else 1.0
                )
            lower_bound, lower_count = bound, counts[bound]
        return lower_bound


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Show the metrics until interrupted, or once."""
    try:
        url = _resolve_url(config, arguments)
        is_live = sys.stdout.isatty() and not arguments.once
        asyncio.run(_show(url, max(INTERVAL_SECONDS_MIN, arguments.interval), is_live=is_live))
    except TopError as error:
        return print_error(error)
    except BrokenPipeError:
        pass  # The program that reads the output has ended.
    return 0


def _resolve_url(config: Config, arguments: argparse.Namespace) -> str:
    """Return the URL of the server from the arguments, the ready file or the configuration, or raise TopError."""
    if arguments.url is not None:
        url = str(arguments.url).rstrip("/")
        if not url.startswith(("http://", "https://")):
            raise TopError(f"--url {url} is not a URL; write it with http:// or https://")
        return url
    if arguments.ready_file is not None:
        try:
            document = codec.decode(Path(arguments.ready_file).read_bytes(), dict[str, Any])
            return str(document["web"]).rstrip("/")
        except (OSError, ValueError, KeyError) as error:
            raise TopError(f"cannot read the ready file {arguments.ready_file}: {error}") from error
    host = _ANY_ADDRESS.get(config.host, config.host)
    return f"http://[{host}]:{config.port}" if ":" in host else f"http://{host}:{config.port}"


async def _show(url: str, interval_seconds: float, *, is_live: bool) -> None:
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as client:
        samples = deque([await _read_sample(client, url)])
        if not is_live:
            await asyncio.sleep(interval_seconds)
            samples.append(await _read_sample(client, url))
            print(render(url, samples[0], samples[1], is_since_start=True, operations_max=OPERATIONS_MAX))
            return
        print(_HIDE_CURSOR, end="")
        try:
            while True:
                await asyncio.sleep(interval_seconds)
                problem = ""
                try:
                    samples.append(await _read_sample(client, url))
                except TopError as error:
                    problem = f"\n{error}"
                while len(samples) > 2 and samples[-1].sampled_at - samples[1].sampled_at >= WINDOW_SECONDS:
                    samples.popleft()
                operation_rows = max(1, shutil.get_terminal_size().lines - FIXED_LINES)
                text = render(
                    url,
                    samples[0],
                    samples[-1],
                    is_since_start=False,
                    operations_max=min(operation_rows, OPERATIONS_MAX),
                )
                print(f"{_CLEAR}{text}{problem}\n\nPress Ctrl-C to stop.", end="", flush=True)
        finally:
            print(_SHOW_CURSOR, flush=True)


async def _read_sample(client: aiohttp.ClientSession, url: str) -> Sample:
    """Read the metrics of a server. Raise TopError if that fails."""
    try:
        async with client.get(f"{url}/metrics") as response:
            text = await response.text()
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        hint = "start the server, or name its address with --url, --ready-file or --port"
        raise TopError(f"cannot reach {url}: {describe_connection_error(error)}; {hint}") from error
    if response.status != 200:
        hint = "a proxy may block it; use the address that the server listens on"
        raise TopError(f"{url}/metrics responded with status {response.status}; {hint}")
    try:
        sample = parse(text, time.monotonic())
    except ValueError as error:
        raise TopError(f"{url}/metrics is not in the Prometheus format: {error}") from error
    if "hubbub_http_requests_active" not in sample.values:
        raise TopError(f"{url}/metrics does not contain the metrics of a Hubbub server")
    return sample


def render(url: str, first_sample: Sample, last_sample: Sample, *, is_since_start: bool, operations_max: int) -> str:
    """Return the view as text: rates between both samples, and latencies between them or since the start."""
    rates = Rates(first_sample, last_sample)
    latencies = Rates(None, last_sample) if is_since_start else rates
    period = (
        "since the start"
        if is_since_start
        else f"in the last {max(1, round(last_sample.sampled_at - first_sample.sampled_at))} s"
    )
    request_rate = rates.rate("hubbub_http_requests_total")
    error_rate = rates.rate("hubbub_http_requests_total", _is_server_error)
    version = next((dict(labels).get("version", "") for labels in last_sample.values.get("hubbub_build_info", {})), "")
    lines = [
        f"hubbub {version} at {url}, latencies {period}",
        "",
        _line(
            "Sessions",
            f"{last_sample.total('hubbub_gateway_sessions'):.0f} sessions",
            f"{last_sample.total('hubbub_gateway_connections'):.0f} connections",
            f"{last_sample.total('hubbub_voice_connections'):.0f} voice connections",
        ),
        _line(
            "Requests",
            f"{request_rate:.1f}/s",
            f"{last_sample.total('hubbub_http_requests_active'):.0f} in progress",
            f"{_percent(error_rate, request_rate)} server errors",
            f"{rates.rate('hubbub_rate_limited_total'):.1f}/s rate limited",
        ),
        _line(
            "Events",
            f"{rates.rate('hubbub_dispatches_total'):.1f}/s published",
            f"{rates.rate('hubbub_deliveries_total'):.1f}/s delivered",
            f"{_bytes(rates.rate('hubbub_delivered_bytes_total'))}/s",
        ),
        _line(
            "Store",
            f"{rates.rate('hubbub_db_seconds_count'):.1f} commits/s",
            _latency(latencies, "hubbub_db_seconds"),
            f"{last_sample.total('hubbub_db_queued_units'):.0f} queued",
            f"{rates.rate('hubbub_db_retries_total'):.1f} retries/s",
            *_connections(last_sample),
        ),
        _line(
            "Jobs",
            f"{rates.rate('hubbub_jobs_total'):.1f}/s",
            f"{last_sample.total('hubbub_jobs_running'):.0f} running",
            f"{rates.rate('hubbub_jobs_total', lambda labels: labels['result'] != 'done'):.1f}/s not done",
            *_queue_lengths(last_sample),
        ),
        _line("Failed", _failed_kinds(last_sample)),
        _line(
            "Outbound",
            f"{rates.rate('hubbub_outbound_requests_total'):.1f} requests/s",
            _latency(latencies, "hubbub_outbound_request_seconds"),
            f"{_bytes(last_sample.total('hubbub_bus_pending_bytes'))} wait for the bus",
            f"{last_sample.total('hubbub_spans_queued'):.0f} spans queued",
        ),
        _line("Event loop", f"lag {_latency(latencies, 'hubbub_event_loop_lag_seconds')}"),
        _line(
            "Process",
            f"{_bytes(last_sample.total('process_resident_memory_bytes'))} memory",
            f"{rates.rate('process_cpu_seconds_total') * 100:.0f} % CPU",
            f"{last_sample.total('process_open_fds'):.0f} of {last_sample.total('process_max_fds'):.0f} file descriptors",
        ),
        "",
        f"{'Operation':<60} {'rate/s':>8} {'errors':>7} {'p50':>9} {'p99':>9}",
    ]
    return "\n".join(lines + _operation_lines(last_sample, rates, latencies, operations_max))


def _operation_lines(last_sample: Sample, rates: Rates, latencies: Rates, operations_max: int) -> list[str]:
    """Return a line for each of the most frequent operations."""
    counts: dict[tuple[str, str], float] = {}
    for labels, count in last_sample.values.get("hubbub_http_request_seconds_count", {}).items():
        label_values = dict(labels)
        counts[label_values["method"], label_values["route"]] = count

    def matcher(method: str, route: str) -> Callable[[dict[str, str]], bool]:
        return lambda labels: labels["method"] == method and labels["route"] == route

    def failure_matcher(method: str, route: str) -> Callable[[dict[str, str]], bool]:
        matches = matcher(method, route)
        return lambda labels: matches(labels) and _is_server_error(labels)

    ranked_operations = []
    for (method, route), count in counts.items():
        matches = matcher(method, route)
        ranked_operations.append((rates.rate("hubbub_http_requests_total", matches), count, method, route, matches))
    ranked_operations.sort(key=lambda entry: entry[:4], reverse=True)
    lines = []
    for rate, _, method, route, matches in ranked_operations[:operations_max]:
        error_rate = rates.rate("hubbub_http_requests_total", failure_matcher(method, route))
        p50, p99 = (latencies.quantile(fraction, "hubbub_http_request_seconds", matches) for fraction in (0.5, 0.99))
        name = f"{method} {route}"
        name = name if len(name) <= 60 else f"{name[:59]}…"
        lines.append(f"{name:<60} {rate:>8.1f} {_percent(error_rate, rate):>7} {_duration(p50):>9} {_duration(p99):>9}")
    return lines or ["no requests yet"]


def _line(subject: str, *values: str) -> str:
    return f"{subject:<11} {', '.join(values)}"


def _is_server_error(labels: dict[str, str]) -> bool:
    return labels["status"].startswith("5")


def _connections(last_sample: Sample) -> list[str]:
    """Return the use of connections to PostgreSQL; empty with the embedded database."""
    count = last_sample.total("hubbub_db_connections")
    return [f"{last_sample.total('hubbub_db_connections_busy'):.0f} of {count:.0f} connections busy"] if count else []


def _queue_lengths(last_sample: Sample) -> list[str]:
    """Return the numbers of stored jobs by state; empty for a process that does not read them."""
    counts = {dict(labels)["state"]: count for labels, count in last_sample.values.get(STORED_JOBS, {}).items()}
    return [f"{counts[state]:.0f} {state}" for state in ("waiting", "retrying", "failed") if state in counts]


def _failed_kinds(last_sample: Sample) -> str:
    """Return the kinds of jobs, such as deliveries, that failed permanently, with their numbers."""
    if STORED_JOBS not in last_sample.values:
        return "unknown in this process; look at one with the role worker"
    counts = [(-count, dict(labels)["kind"]) for labels, count in last_sample.values.get(FAILED_JOBS, {}).items()]
    counts.sort()
    texts = [f"{-count:.0f} {kind}" for count, kind in counts[:FAILED_KINDS_MAX]]
    if len(counts) > FAILED_KINDS_MAX:
        texts.append(f"{len(counts) - FAILED_KINDS_MAX} other kinds")
    return ", ".join(texts) or "no jobs or deliveries"


def _latency(rates: Rates, name: str) -> str:
    p50, p99 = (rates.quantile(fraction, name) for fraction in (0.5, 0.99))
    return f"p50 {_duration(p50)}, p99 {_duration(p99)}"


def _percent(part: float, whole: float) -> str:
    return f"{part / whole * 100:.1f} %" if whole else "0.0 %"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
