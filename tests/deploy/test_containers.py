"""The image and the services of the compose file without Docker: their steps and commands run on this machine.

The build steps run in an empty folder, the server in a read-only file system, and the services of the compose file as processes
with their commands and environments. What needs Docker itself is left out: Debian packages, base images and networks.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement

from hubbub.server.commands import certificates
from tests.contract.language import ROOT
from tests.contract.shell import PG_BIN, choose_free_port
from tests.deploy.test_files import dockerfile, image_environment, load_compose
from tests.deploy.test_installation import closure
from tests.deploy.test_proxies import caddy_command, run_proxy
from tests.fixtures.nats import NatsServer
from tests.third_party_files import HAS_CALL_FILES

TIMEOUT_SECONDS: Final = 120.0
DEBIAN_COMMANDS: Final = ("apt-get", "rm -rf /var/lib/apt")
"""Beginnings of the commands that install packages of Debian, which are not run."""

pytestmark = [pytest.mark.xdist_group("installation"), pytest.mark.timeout(600)]


def instructions_of_stage(number: int) -> list[tuple[str, str]]:
    """Return the instructions of one stage of the Dockerfile."""
    stages: list[list[tuple[str, str]]] = []
    for name, argument in dockerfile():
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, argument))
    return stages[number]


def copy_context(instructions: list[tuple[str, str]], source: Path) -> None:
    """Copy what the COPY instructions of a stage name, as .dockerignore allows."""
    ignored_names = shutil.ignore_patterns("__pycache__")
    for _, argument in (each for each in instructions if each[0] == "COPY"):
        *names, destination = argument.split()
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / destination, ignore=ignored_names)
            else:
                shutil.copy(ROOT / name, source / destination)


def run_step(command: str, source: Path, environment_folder: Path) -> None:
    """Run one command of the build stage, with other folders and without a package index."""
    if command.startswith(DEBIAN_COMMANDS) or ("third_party.py" in command and not HAS_CALL_FILES):
        return
    if "compileall" in command:
        # The packages are links to those of this environment, so only those of Hubbub are compiled.
        [site] = environment_folder.glob("lib/python*/site-packages")
        command = command.replace("/opt/hubbub/lib", f"{site}/hubbub/protocol")
    command = command.replace("/opt/hubbub", str(environment_folder))
    command = command.replace("pip install", "pip install --no-build-isolation")
    completed = subprocess.run(
        ["sh", "-c", command],
        cwd=source,
        env=clean_environment()
        | {
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert completed.returncode == 0, f"{command}\n{completed.stdout}{completed.stderr}"


def clean_environment() -> dict[str, str]:
    """Return the environment of this process without the variables of Hubbub, Python and pytest."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("HUBBUB_", "PYTHON", "PYTEST_"))}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `/opt/hubbub` that the build stage of the Dockerfile creates. Dependencies are those of this environment."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("image") / "hubbub"
    instructions = instructions_of_stage(0)
    copy_context(instructions, source)
    for argument in (argument for name, argument in instructions if name == "RUN"):
        for command in argument.split("&&"):
            run_step(command.strip(), source, folder)
            if " -m venv " in command:
                [site] = folder.glob("lib/python*/site-packages")
                link_packages(site)
    assert not (folder / "bin" / "pip").exists()
    return folder


def link_packages(site: Path) -> None:
    """Link the packages of the server extra and of the build backend into an environment."""
    distributions = closure([Requirement("hubbub[server]"), Requirement("hatchling")], set())
    for name in set(distributions) - {"hubbub"}:
        parts = {path.parts[0] for path in distributions[name].files or ()} - {"..", "__pycache__"}
        for part in parts:
            if not (site / part).exists():
                (site / part).symlink_to(Path(str(distributions[name].locate_file(part))))


def image_variables(image: Path) -> dict[str, str]:
    """Return the environment of a container, before the variables of the service."""
    return clean_environment() | image_environment() | {"PATH": f"{image}/bin:{os.environ['PATH']}"}


def is_healthy(environ: Mapping[str, str]) -> bool:
    """Return whether the health check of the image succeeds."""
    [argument] = [argument for name, argument in dockerfile() if name == "HEALTHCHECK"]
    command = json.loads(argument.partition("CMD ")[2])
    return subprocess.run(command, env=dict(environ), capture_output=True, timeout=TIMEOUT_SECONDS).returncode == 0


def entrypoint() -> list[str]:
    """Return the entry point of the image."""
    [argument] = [argument for name, argument in dockerfile() if name == "ENTRYPOINT"]
    program: list[str] = json.loads(argument)
    return program


@contextlib.contextmanager
def run_container(image: Path, environ: Mapping[str, str], *prefix: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the command of the image until the end of the block; it must stop with 0 after the stop signal of the image."""
    [command] = [json.loads(argument) for name, argument in dockerfile() if name == "CMD"]
    [stop_signal] = [argument for name, argument in dockerfile() if name == "STOPSIGNAL"]
    log = Path(environ["HUBBUB_DATA"]).parent / f"{environ['HUBBUB_PORT']}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*prefix, str(image / "bin" / entrypoint()[0]), *command], env=dict(environ), stdout=output, stderr=output
        )
    try:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while b'"Ready"' not in log.read_bytes():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield process
        process.send_signal(signal.Signals[stop_signal])
        assert process.wait(TIMEOUT_SECONDS) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def test_the_build_steps_of_the_image_install_a_program_without_pip(image: Path) -> None:
    completed = subprocess.run(
        [image / "bin" / "hubbub", "--version"], env=image_variables(image), capture_output=True, text=True
    )
    assert completed.stdout == f"hubbub {importlib.metadata.version('hubbub')}\n", completed.stderr


@pytest.mark.program("unshare")
def test_the_image_runs_with_a_read_only_root_and_writes_to_its_volume_only(image: Path, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("requires Linux with mount namespaces: unshare -rm true fails")
    data, temporary = tmp_path / "data", tmp_path / "tmp"
    data.mkdir()
    temporary.mkdir()
    environ = image_variables(image) | {
        "HUBBUB_DATA": str(data),
        "HUBBUB_PORT": str(choose_free_port()),
        "HUBBUB_GATEWAY_DRAIN_MS": "0",
        "TMPDIR": str(temporary),
    }
    mounts = " && ".join(f"mount --bind {folder} {folder}" for folder in (data, temporary))
    prefix = ("unshare", "-rm", "sh", "-c", f'{mounts} && mount -o bind,remount,ro / && exec "$@"', "sh")
    assert not is_healthy(environ)
    with run_container(image, environ, *prefix):
        assert is_healthy(environ)
        with urllib.request.urlopen(
            f"http://127.0.0.1:{environ['HUBBUB_PORT']}/login", timeout=TIMEOUT_SECONDS
        ) as page:
            assert page.status == 200
    assert (data / "hubbub.sqlite3").exists()


class Composition:
    """The services of the compose file as processes. Ports are free ones, and the host names of services are 127.0.0.1."""

    def __init__(self, folder: Path, image: Path, database_url: str) -> None:
        self.folder, self.image = folder, image
        self.port, self.voice_port, self.packet_port = (choose_free_port() for _ in range(3))
        self.http_ports = {name: choose_free_port() for name in ("api", "gateway")}
        self.url = f"https://localhost:{self.port}"
        self.certificate_files = certificates.issue(folder / "tls", ["localhost"])
        variables = {
            "CHAT_HOST": f"localhost:{self.port}",
            "VOICE_HOST": f"127.0.0.1:{self.port}",
            "VOICE_ADDRESS": "127.0.0.1",
            "POSTGRES_PASSWORD": "database-secret",
            "NATS_PASSWORD": "bus-secret",
            "FILES_SECRET": "files-secret",
        }
        self.services: dict[str, Any] = load_compose(variables)["services"]
        self._database_url = database_url
        self.nats = NatsServer(folder, *self.services["nats"]["command"])

    def environment(self, service: str) -> dict[str, str]:
        """Return the environment of a Hubbub service. Only addresses and the file store differ from the compose file."""
        environ: dict[str, str] = image_variables(self.image) | self.services[service]["environment"]
        assert environ["HUBBUB_DATABASE_URL"].endswith("@postgres/hubbub")
        data = self.folder / service
        data.mkdir(exist_ok=True)
        replacements = {
            "HUBBUB_PORT": str(self.http_ports[service]),
            "HUBBUB_DATA": str(data),
            "HUBBUB_DATABASE_URL": self._database_url,
            "HUBBUB_NATS_URL": environ["HUBBUB_NATS_URL"].replace("nats:4222", f"127.0.0.1:{self.nats.port}"),
            "HUBBUB_FILES_URL": str(self.folder / "files"),
            "HUBBUB_GATEWAY_DRAIN_MS": "0",
        }
        if "HUBBUB_VOICE_PORT" in environ:
            replacements |= {
                "HUBBUB_VOICE_PORT": str(self.voice_port),
                "HUBBUB_VOICE_UDP_PORT": str(self.packet_port),
            }
        return environ | replacements

    def run_command(self, service: str, *arguments: str, text: str | None = None, **environ: str) -> str:
        """Run `docker compose run --rm SERVICE ARGUMENTS` and return its output."""
        completed = subprocess.run(
            [self.image / "bin" / entrypoint()[0], *arguments],
            env=self.environment(service) | environ,
            input=text,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        assert completed.returncode == 0, completed.stdout + completed.stderr
        return completed.stdout

    @contextlib.asynccontextmanager
    async def run_caddy(self) -> AsyncIterator[None]:
        """Run Caddy with the environment of its service."""
        command, environ = caddy_command(self.folder, self.certificate_files)
        ports = {
            "api:8080": self.http_ports["api"],
            "gateway:8080": self.http_ports["gateway"],
            "gateway:8081": self.voice_port,
        }
        for name, value in self.services["caddy"]["environment"].items():
            environ[name] = f"127.0.0.1:{ports[value]}" if value in ports else f"https://{value}"
        async with run_proxy(command, self.port, self.folder, **environ):
            yield


@pytest.mark.program("caddy")
async def test_the_services_of_the_compose_file_form_a_deployment_that_passes_all_checks(
    image: Path, tmp_path: Path, postgres_database: str
) -> None:
    composition = Composition(tmp_path, image, postgres_database)
    composition.nats.start()
    try:
        with (
            run_container(image, composition.environment("api")),
            run_container(image, composition.environment("gateway")),
        ):
            for service in ("api", "gateway"):
                assert is_healthy(composition.environment(service)), service
            async with composition.run_caddy():
                output = await asyncio.to_thread(
                    composition.run_command,
                    "api",
                    "admin",
                    "create-user",
                    "mary",
                    "--password-stdin",
                    text="correct horse\n",
                )
                [token] = [line.removeprefix("token: ") for line in output.splitlines() if line.startswith("token: ")]
                report = await asyncio.to_thread(
                    composition.run_command,
                    *("api", "doctor", "--url", composition.url, "--token-file", "-"),
                    text=token,
                    SSL_CERT_FILE=str(composition.certificate_files.authority_path),
                )
            backup = str(tmp_path / "monday")
            for arguments in (("backup", backup), ("backup", "drill", backup)):
                output = await asyncio.to_thread(
                    composition.run_command, "api", *arguments, PATH=f"{PG_BIN}:{os.environ['PATH']}"
                )
    finally:
        composition.nats.stop()
    assert output.endswith("No problems found.\n"), output
    *findings, summary = report.splitlines()
    assert summary == "No problems found."
    assert [line for line in findings if not line.startswith("ok ")] == []
    assert {line[9:19].strip() for line in findings} >= {"gateway", "upload", "cdn range", "voice", "metrics"}
