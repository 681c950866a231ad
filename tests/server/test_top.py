"""`hubbub top`: the metrics of a running server in a terminal."""

import asyncio
import os
import pty
import signal
import sys
from pathlib import Path

import pytest

from hubbub.server.app import App
from hubbub.server.cli import main
from hubbub.server.commands.top import Rates, parse, render
from hubbub.server.core.config import Config
from hubbub.server.core.store import Tx
from tests.rehearsal import Rehearsal
from tests.world import WAIT_TIMEOUT_SECONDS

ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TERM": "xterm"}
TOP_COMMAND = (sys.executable, "-m", "hubbub.server.cli", "top")

FIRST_SAMPLE = """# TYPE hubbub_http_requests counter
hubbub_http_requests_total{method="GET",route="/users/@me",status="200"} 100
hubbub_http_requests_total{method="GET",route="/users/@me",status="500"} 0
# TYPE hubbub_http_request_seconds histogram
hubbub_http_request_seconds_bucket{method="GET",route="/users/@me",le="0.01"} 100
hubbub_http_request_seconds_bucket{method="GET",route="/users/@me",le="0.1"} 100
hubbub_http_request_seconds_bucket{method="GET",route="/users/@me",le="+Inf"} 100
hubbub_http_request_seconds_count{method="GET",route="/users/@me"} 100
"""
LAST_SAMPLE = """# TYPE hubbub_http_requests counter
hubbub_http_requests_total{method="GET",route="/users/@me",status="200"} 115
hubbub_http_requests_total{method="GET",route="/users/@me",status="500"} 5
# TYPE hubbub_http_request_seconds histogram
hubbub_http_request_seconds_bucket{method="GET",route="/users/@me",le="0.01"} 100
hubbub_http_request_seconds_bucket{method="GET",route="/users/@me",le="0.1"} 120
hubbub_http_request_seconds_bucket{method="GET",route="/users/@me",le="+Inf"} 120
hubbub_http_request_seconds_count{method="GET",route="/users/@me"} 120
"""


async def run_once(*arguments: str) -> tuple[int | None, str, str]:
    """Run `hubbub top --once` as a process; return its exit code and output."""
    process = await asyncio.create_subprocess_exec(
        *TOP_COMMAND,
        *("--once", "--interval", "0.2", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=ENVIRONMENT,
    )
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        stdout, stderr = await process.communicate()
    return process.returncode, stdout.decode(), stderr.decode()


async def test_a_snapshot_of_a_running_server_is_printed(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    await alice.connect()
    for _ in range(3):
        (await alice.get("/users/@me")).ok()

    code, output, errors = await run_once("--url", rehearsal.url)

    assert (code, errors) == (0, "")
    assert "\x1b" not in output
    lines = {line.split("  ")[0].strip(): line for line in output.splitlines()}
    assert "1 sessions, 1 connections" in lines["Sessions"]
    assert "in progress" in lines["Requests"]
    assert "p50 " in lines["Store"]
    assert "lag p50 " in output
    assert " memory, " in lines["Process"]
    assert " ms" in lines["GET /users/@me"]


async def test_the_server_of_a_ready_file_is_found(rehearsal: Rehearsal, tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    ready_file.write_text(f'{{"web": "{rehearsal.url}"}}')
    code, output, _ = await run_once("--ready-file", str(ready_file))
    assert code == 0
    assert rehearsal.url in output


async def test_the_server_of_the_settings_is_found(rehearsal: Rehearsal) -> None:
    code, output, _ = await run_once("--host", "0.0.0.0", "--port", rehearsal.url.rpartition(":")[2])
    assert code == 0
    assert rehearsal.url in output


async def test_a_terminal_is_refreshed_in_place_until_interrupted(rehearsal: Rehearsal) -> None:
    controller, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *TOP_COMMAND, "--url", rehearsal.url, "--interval", "0.2", stdout=terminal, stderr=terminal, env=ENVIRONMENT
    )
    os.close(terminal)
    output = b""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while output.count(b"\x1b[H\x1b[2J") < 2:
            output += await asyncio.to_thread(os.read, controller, 65_536)
        process.send_signal(signal.SIGINT)
        while b"\x1b[?25h" not in output:
            output += await asyncio.to_thread(os.read, controller, 65_536)
        await process.wait()
    os.close(controller)
    assert b"in the last" in output
    assert b"Press Ctrl-C to stop." in output


def test_rates_and_latencies_are_computed_between_two_samples() -> None:
    first_sample, last_sample = parse(FIRST_SAMPLE, 10.0), parse(LAST_SAMPLE, 15.0)
    rates = Rates(first_sample, last_sample)
    assert rates.rate("hubbub_http_requests_total") == 4.0
    # All 20 requests since the first sample are in the second bucket.
    assert rates.quantile(0.5, "hubbub_http_request_seconds") == pytest.approx(0.055)
    assert Rates(None, last_sample).quantile(0.5, "hubbub_http_request_seconds") == pytest.approx(0.006)
    assert rates.quantile(0.5, "hubbub_db_seconds") is None
    line = render("http://x", first_sample, last_sample, is_since_start=False, operations_max=5).splitlines()[-1]
    assert line.split() == ["GET", "/users/@me", "4.0", "25.0", "%", "55.0", "ms", "99.1", "ms"]


async def test_stored_and_failed_jobs_are_shown(store_config: Config) -> None:
    app = App(store_config)
    await app.start()
    try:

        def create_jobs(tx: Tx) -> None:
            later_ms = app.clock.now_ms() + 3_600_000
            for kind, state in (
                ("a.deliver", "failed"),
                ("a.deliver", "failed"),
                ("b.send", "failed"),
                ("c", "waiting"),
            ):
                job_id = tx.enqueue(kind, None, due_ms=later_ms)
                tx.run("UPDATE jobs SET state = ? WHERE id = ?", state, job_id)

        await app.job_queue_monitor.update()
        [waiting_count] = [
            sample.value
            for sample in app.metrics.stored_jobs.collect()[0].samples
            if sample.labels["state"] == "waiting"
        ]
        await app.database.write(create_jobs)
        await app.job_queue_monitor.update()

        code, output, errors = await run_once("--url", app.config.web_url)
    finally:
        await app.stop()

    assert (code, errors) == (0, "")
    lines = {line.split("  ")[0].strip(): line for line in output.splitlines()}
    assert lines["Jobs"].endswith(f", {waiting_count + 1:.0f} waiting, 0 retrying, 3 failed")
    assert lines["Failed"].split(maxsplit=1)[1] == "2 a.deliver, 1 b.send"


async def test_a_process_without_a_worker_does_not_count_stored_jobs(rehearsal: Rehearsal) -> None:
    _, output, _ = await run_once("--url", rehearsal.url)

    assert "unknown in this process; look at one with the role worker" in output


def test_a_restarted_server_has_no_negative_rates() -> None:
    assert Rates(parse(LAST_SAMPLE, 0.0), parse(FIRST_SAMPLE, 5.0)).rate("hubbub_http_requests_total") == 0.0


def test_an_unreachable_server_and_an_unreadable_ready_file_are_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", "--once", "--url", "http://127.0.0.1:9"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("hubbub: cannot reach http://127.0.0.1:9: Connection refused; ")
    assert "start the server, or name its address with --url, --ready-file or --port" in error
    assert main(["top", "--once", "--ready-file", str(tmp_path / "missing")]) == 1
    assert "cannot read the ready file" in capsys.readouterr().err
    assert main(["top", "--once", "--url", "chat.example.org"]) == 1
    assert "--url chat.example.org is not a URL; write it with http:// or https://" in capsys.readouterr().err


async def test_a_server_without_metrics_is_explained(rehearsal: Rehearsal) -> None:
    code, _, errors = await run_once("--url", f"{rehearsal.url}/docs")
    assert code == 1
    assert "/docs/metrics responded with status 404; a proxy may block it" in errors
