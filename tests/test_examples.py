"""The examples run as their README says, each as a program of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PLAIN = {**os.environ, "PYTHONUNBUFFERED": "1"}


@contextmanager
def running(*arguments: str, until: str) -> Iterator[None]:
    """A program in the background, from the line that says it is ready."""
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=PLAIN
    )
    assert process.stdout is not None
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if until in line:
                break
        else:
            raise AssertionError("".join(said))
        yield
    finally:
        process.terminate()
        process.communicate(timeout=30)


def say(ready_file: str, *words: str) -> str:
    """What a person sees after they spoke."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "say.py"), ready_file, *words], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.clients
def test_the_bot_answers_a_person_who_speaks_over_http(tmp_path: Path) -> None:
    ready_file = str(tmp_path / "ready.json")
    with running("-m", "hubbub.server.cli", "dev", "--port", "0", "--ready-file", ready_file, until="is ready at"):
        with running(str(EXAMPLES / "bot.py"), ready_file, until="is in Town Square"):
            assert "alice: !ping" in say(ready_file, "alice", "general", "!ping")
            # The answer comes when it comes; whoever speaks again sees it.
            assert any("demo-bot: pong" in say(ready_file, "bob", "general", "well?") for _ in range(20))


def test_the_bot_of_the_readme_is_the_example() -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    _, code = (EXAMPLES / "bot.py").read_text().split("\n\n", 1)

    assert shown == code
    assert len([line for line in code.splitlines() if line]) <= 20
