"""Load generation: processes under test and their cost, plain HTTP connections and plain gateway connections."""

import asyncio
import base64
import ctypes
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from hubbub.protocol.enums import GatewayOpcode

CHECKOUT = Path(__file__).parent.parent
"""The checkout of this module."""

START_CODE = """
import gc, runpy
gc.set_threshold(10_000, 20, 50)
runpy.run_module("bench.server", run_name="__main__", alter_sys=True)
"""
"""Code that starts `bench.server` with the garbage collection thresholds of `hubbub serve`, also in an older checkout."""

INSTRUCTIONS_START_CODE = (
    """
import time
started_at, started_at_ns, read_time = time.time(), time.time_ns(), time.time
time.time = lambda: started_at + (read_time() - started_at) / 40
time.time_ns = lambda: started_at_ns + int((read_time() - started_at) * 1e9 / 40)
try:
    from hubbub.server.transports.http import admission
    admission.LAG_SECONDS_MAX = float("inf")
except ImportError:
    # Older commits do not reject requests when they are slow.
    pass
"""
    + START_CODE
)
"""The same for a process that runs 40 times slower: so does its clock, and it rejects no requests because it is late."""

_INSTRUCTIONS_PATTERN = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
_SEQUENCE_PATTERN = re.compile(rb'"s":(\d+)')


def checkout_environment(checkout: Path) -> dict[str, str]:
    """Return the environment variables of a process that runs the code of a checkout."""
    # Equal seeds of hashes make the number of instructions comparable.
    return {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join((str(checkout / "src"), str(checkout)))}


def find_cpu_clock(process_id: int) -> int | None:
    """Return the clock with the CPU time of all threads of a process, for `time.clock_gettime`; None if there is none.

    It counts nanoseconds, while the times that psutil reads are multiples of 10 ms."""
    library = ctypes.CDLL(None)
    clock = ctypes.c_int()
    if not hasattr(library, "clock_getcpuclockid") or library.clock_getcpuclockid(process_id, ctypes.byref(clock)):
        return None
    return clock.value


class Subject:
    """A process under test whose CPU time and memory can be measured."""

    work_divisor = 1
    """Number by which a comparison divides the amount of its work, because the process is slow."""

    def __init__(self, *arguments: str, checkout: Path = CHECKOUT) -> None:
        # -P keeps the working directory out of the module path, so that the code of `checkout` is used.
        self.process = subprocess.Popen(
            [*self._build_command(), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=checkout_environment(checkout),
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"bench.server {arguments} did not start")
        self.connection_info: dict[str, Any] = json.loads(line)
        """URL of the process, and the tokens and IDs of its world."""
        self._process_metrics = psutil.Process(self.process.pid)
        self._cpu_clock = find_cpu_clock(self.process.pid)

    def _build_command(self) -> list[str]:
        """Return the command that runs `bench.server`, without the arguments of the latter."""
        return [sys.executable, "-P", "-c", START_CODE]

    def cpu_seconds(self) -> float:
        """Return the CPU time so far, in seconds."""
        if self._cpu_clock is not None:
            return time.clock_gettime(self._cpu_clock)
        times = self._process_metrics.cpu_times()
        return float(times.user + times.system)

    def memory_bytes(self) -> int:
        """Return the resident memory after a garbage collection, in bytes."""
        self._collect_garbage()
        return int(self._process_metrics.memory_info().rss)

    def own_memory_bytes(self) -> tuple[int, int]:
        """Return the resident memory without mapped files (programs and the database), and the bytes of it in use.

        Mapped files are excluded because the system can reclaim them. Without allocator statistics both values are
        equal."""
        used_bytes = self._collect_garbage()
        memory = self._process_metrics.memory_info()
        private_bytes = int(memory.rss - getattr(memory, "shared", 0))
        return private_bytes, private_bytes if used_bytes is None else used_bytes

    def round_trip_count(self) -> int:
        """Return the number of round trips to the database server so far."""
        return int(self._send_command("round_trips") or 0)

    def _collect_garbage(self) -> int | None:
        return self._send_command("gc", "in_use")

    def _send_command(self, command: str, field: str = "") -> int | None:
        """Send a command and return a field of its result, which has the name of the command by default."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        field_value: int | None = json.loads(self.process.stdout.readline())[field or command]
        return field_value

    def stop(self) -> None:
        """Stop the process by closing its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> "Subject":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class InstructionSubject(Subject):
    """A process under test that valgrind runs, and whose cost is the number of instructions that it executes.

    Other programs on the machine hardly change this number."""

    work_divisor = 10

    def __init__(self, *arguments: str, output_folder: str, checkout: Path = CHECKOUT) -> None:
        """Start the process; `output_folder` is an empty folder for the output of valgrind."""
        self._output_folder = Path(output_folder)
        self._instruction_count: int | None = None
        """The instructions that were counted so far; None before the first measurement."""
        super().__init__(*arguments, checkout=checkout)

    def _build_command(self) -> list[str]:
        return [
            *("valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no"),
            f"--callgrind-out-file={self._output_folder}/counts.%p",
            *(sys.executable, "-P", "-c", INSTRUCTIONS_START_CODE),
        ]

    def cpu_seconds(self) -> float:
        """Return the number of instructions since the first call, in millions; a cost "in microseconds" is a number of them."""
        if self._instruction_count is None:
            self._instruction_count = 0
            self._control("--instr=on")
        else:
            self._control("--dump")
            for file in self._output_folder.glob(f"counts.{self.process.pid}.*"):
                self._instruction_count += int(_INSTRUCTIONS_PATTERN.findall(file.read_text())[-1])
                file.unlink()
        return self._instruction_count / 1e6

    def _control(self, option: str) -> None:
        subprocess.run(["callgrind_control", option, str(self.process.pid)], check=True, capture_output=True)


class HttpConnection(asyncio.Protocol):
    """A connection that sends prepared requests one after another, with little overhead."""

    def __init__(self, requests: list[bytes], pause_seconds: float = 0.0, *, expect_errors: bool = False) -> None:
        self.requests = requests
        self.pause_seconds = pause_seconds
        self.expect_errors = expect_errors
        self.completion = asyncio.get_running_loop().create_future()
        self.failed_count = 0
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._send_next()

    def _send_next(self) -> None:
        if not self.requests:
            self.transport.close()
            if not self.completion.done():
                self.completion.set_result(None)
            return
        self.transport.write(self.requests.pop())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        lower_head = head.lower()
        start = lower_head.find(b"content-length: ")
        length = int(lower_head[start + 16 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
        if len(body) < length:
            return
        if not head.startswith(b"HTTP/1.1 4" if self.expect_errors else b"HTTP/1.1 2"):
            self.failed_count += 1
            if self.failed_count == 1:
                print("unexpected:", head.split(b"\r\n")[0], body[:200], file=sys.stderr)
        self._buffer = body[length:]
        if self.pause_seconds:
            asyncio.get_running_loop().call_later(self.pause_seconds, self._send_next)
        else:
            self._send_next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.completion.done():
            self.completion.set_exception(error or ConnectionError("closed"))


def encode_request(method: str, path: str, token: str = "", body: dict[str, Any] | None = None) -> bytes:
    """Return the bytes of an HTTP request."""
    payload = b"" if body is None else json.dumps(body).encode()
    header = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n"
    if token:
        header += f"Authorization: {token}\r\n"
    if body is not None:
        header += f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n"
    return header.encode() + b"\r\n" + payload


async def send_requests(
    url: str, requests: list[bytes], connection_count: int, pause_seconds: float = 0.0, *, expect_errors: bool = False
) -> None:
    """Send all requests over a number of connections, pausing after each response.

    Raise RuntimeError unless every response has a status 2xx, or 4xx with `expect_errors`.
    """
    host, _, port = url.removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    requests_by_connection = [requests[number::connection_count] for number in range(connection_count)]
    protocols = []
    for connection_requests in requests_by_connection:
        _, protocol = await loop.create_connection(
            lambda connection_requests=connection_requests: HttpConnection(
                connection_requests, pause_seconds, expect_errors=expect_errors
            ),
            host,
            int(port),
        )
        protocols.append(protocol)
    for protocol in protocols:
        await protocol.completion
        if protocol.failed_count:
            raise RuntimeError(f"{protocol.failed_count} requests got an unexpected status")


def masked_frame(payload: bytes) -> bytes:
    """Return a client text frame; a mask of zeros leaves the payload unchanged."""
    payload_bytes = len(payload)
    header = (
        bytes([0x81, 0x80 | payload_bytes]) if payload_bytes < 126 else b"\x81\xfe" + payload_bytes.to_bytes(2, "big")
    )
    return header + b"\0\0\0\0" + payload


class GatewayConnection(asyncio.Protocol):
    """A gateway connection that identifies and then only counts bytes, so that reading costs less than writing."""

    def __init__(self, token: str, query: str, intents: int) -> None:
        self.token, self.query, self.intents = token, query, intents
        self.received_bytes = 0
        self.is_upgraded = False
        self.is_lost = False
        self._latest_data = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        key = base64.b64encode(os.urandom(16)).decode()
        transport.write(
            f"GET /gateway?v=10&encoding=json{self.query} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        self.received_bytes += len(data)
        self._latest_data = data
        if not self.is_upgraded:
            self.is_upgraded = True
            identify = {
                "op": GatewayOpcode.IDENTIFY,
                "d": {"token": self.token, "intents": self.intents, "properties": {"os": "bench"}},
            }
            self.transport.write(masked_frame(json.dumps(identify).encode()))

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True

    def send_close(self) -> None:
        """Send a close frame with 1000, so that the session ends."""
        self.transport.write(b"\x88\x82\0\0\0\0\x03\xe8")

    def send_heartbeat(self) -> None:
        """Send a heartbeat with the latest sequence number, as a client does every 41 seconds."""
        numbers = _SEQUENCE_PATTERN.findall(self._latest_data)
        self.transport.write(
            masked_frame(
                json.dumps({"op": GatewayOpcode.HEARTBEAT, "d": int(numbers[-1]) if numbers else None}).encode()
            )
        )


class PlainConnection(asyncio.Protocol):
    """A connection to the reference server that counts bytes."""

    def __init__(self) -> None:
        self.received_bytes = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(b"join\n")

    def data_received(self, data: bytes) -> None:
        self.received_bytes += len(data)


async def wait_until_idle(connections: list[Any], *, bytes_min: int = 0, timeout_seconds: float = 60.0) -> int:
    """Wait until at least `bytes_min` bytes were received and no more arrive; return the number of bytes received.

    Raise TimeoutError after `timeout_seconds`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_seconds
    previous_total = -1
    while loop.time() < deadline:
        total = sum(connection.received_bytes for connection in connections)
        if total == previous_total and total >= bytes_min:
            return total
        previous_total = total
        await asyncio.sleep(0.25)
    raise TimeoutError(f"data still arrives, or only {previous_total} of {bytes_min} bytes arrived")
