"""A short run of the fuzzer with a fixed seed, all stored inputs, and the encoding of texts."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.values import TEXTS
from tests.fuzz.wire import WireRequest

ROOT = Path(__file__).parents[2]


def run_fuzzer(*arguments: str) -> str:
    """Run the fuzzer in a process of its own, without the checks of the test suite; return its output if it finds nothing."""
    completed = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stdout[-12_000:] + completed.stderr[-4000:]
    return completed.stdout


@pytest.mark.timeout(900)
def test_no_input_causes_an_error_and_every_operation_succeeds_once() -> None:
    run_fuzzer("--processes", "1", "--requests", "15000", "--seconds", "60", "--seed", "1")


def test_stored_inputs_cause_no_error() -> None:
    assert "0 with problems" in run_fuzzer("--replay")


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_can_be_sent(text: str) -> None:
    body = text.encode("utf-8", "surrogatepass")
    assert WireRequest("POST", "/", [], body).encode().endswith(b"\r\n\r\n" + body)
