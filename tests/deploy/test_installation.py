"""The sdist and the wheel, installed into environments that have only the packages they declare, work as documented.

Dependencies are linked from the environment of the tests instead of being downloaded. Only distributions in the closure
of the wheel's own requirements are linked, so a requirement that is missing in `pyproject.toml` fails here.
"""

import contextlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from email.parser import BytesParser
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hubbub.server.terminal import SERVER_MODULES
from tests.contract.language import ROOT
from tests.contract.shell import choose_free_port
from tests.deploy import wheelhouse
from tests.third_party_files import needs_call_files

TIMEOUT_SECONDS: Final = 60.0
PACKAGE: Final = ROOT / "src" / "hubbub"
SDK_PROGRAM: Final = """
import asyncio, sys
from hubbub.protocol.resources import identities
from hubbub.sdk import Api, AuthorizationTokenType, Client, ClientCreateOptions

async def main():
    url, bot_token = sys.argv[1:]
    async with Api(url, bot_token) as api:
        body = identities.CreateProvisionalToken(external_user_id="hero-1", preferred_global_name="Hero")
        token = await api.call(identities.BOT_PARTNER_SDK_TOKEN, body=body)
    async with Client(ClientCreateOptions(web_base=url)) as client:
        await client.update_token(AuthorizationTokenType.BEARER, token.access_token)
        await client.connect()
        print(client.get_current_user().display_name)

asyncio.run(main())
"""
"""A program that connects a player of a game, given the address of a platform and the token of the game's bot."""

pytestmark = pytest.mark.xdist_group("installation")


def build(source: Path, target: str, folder: Path) -> Path:
    """Build the sdist or the wheel of a source folder with the build backend, and return the archive."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)],
        cwd=source,
        check=True,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
    )
    [archive] = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of this checkout."""
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the unpacked sdist."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return build(next(folder.iterdir()), "wheel", folder)


def requirements(wheel: Path) -> list[Requirement]:
    """Return the requirements in the wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = BytesParser().parsebytes(archive.read(name))
    return [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]


def closure(required_name: list[Requirement], extras: set[str]) -> dict[str, importlib.metadata.Distribution]:
    """Return the installed distributions that satisfy requirements and their own requirements, by name."""
    found_distributions: dict[str, importlib.metadata.Distribution] = {}
    visited_requirements: set[tuple[str, frozenset[str]]] = set()
    pending_requirements = [(requirement, frozenset(extras)) for requirement in required_name]
    while pending_requirements:
        requirement, active_extras = pending_requirements.pop()
        if requirement.marker is not None and not any(
            requirement.marker.evaluate({"extra": extra}) for extra in (*active_extras, "")
        ):
            continue
        name, requested_extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, requested_extras) in visited_requirements:
            continue
        visited_requirements.add((name, requested_extras))
        distribution = found_distributions[name] = importlib.metadata.distribution(name)
        assert requirement.specifier.contains(distribution.version, prereleases=True), requirement
        pending_requirements += [(Requirement(line), requested_extras) for line in distribution.requires or ()]
    return found_distributions


@contextlib.contextmanager
def run_server(command: list[str], folder: Path, environ: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Run a server in a folder and yield the content of its ready file; it must stop with 0 after the block."""
    ready, log = folder / "ready.json", folder / "log"
    ready.unlink(missing_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environ | {"HUBBUB_READY_FILE": str(ready)}, stdout=output, stderr=output
        )
    try:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not ready.exists():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        yield json.loads(ready.read_text())
        process.terminate()
        assert process.wait(TIMEOUT_SECONDS) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


class Environment:
    """A virtual environment with the wheel, the packages of some extras, and other packages."""

    def __init__(self, folder: Path, wheel: Path, extras: set[str], other_packages: tuple[str, ...] = ()) -> None:
        self.folder = folder
        venv.EnvBuilder(symlinks=True).create(folder)
        [site] = folder.glob("lib/python*/site-packages")
        linked_packages = closure([*requirements(wheel), *map(Requirement, other_packages)], extras)
        for distribution in linked_packages.values():
            for part in {path.parts[0] for path in distribution.files or ()} - {"..", "__pycache__"}:
                if not (site / part).exists():
                    (site / part).symlink_to(Path(str(distribution.locate_file(part))))
        kept_variables = {
            name: value for name, value in os.environ.items() if not name.startswith(("HUBBUB_", "PYTHON", "PYTEST_"))
        }
        self.variables = kept_variables | {"HUBBUB_GATEWAY_DRAIN_MS": "0"}
        install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", str(self.program("python")), *install],
            check=True,
            env=kept_variables,
            timeout=TIMEOUT_SECONDS,
        )

    def program(self, name: str) -> Path:
        """Return the path of an installed program."""
        return self.folder / "bin" / name

    def run(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a program until it ends, outside of the checkout."""
        return subprocess.run(
            [str(self.program(program)), *arguments],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )

    def server(self, *arguments: str) -> contextlib.AbstractContextManager[dict[str, Any]]:
        """Run a server on a free port until the end of the block, and return the content of its ready file."""
        command = [str(self.program("hubbub")), *arguments, "--port", "0"]
        return run_server(command, self.folder, self.variables)


@pytest.fixture(scope="module")
def base_install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment that `pip install hubbub` creates."""
    return Environment(tmp_path_factory.mktemp("base"), wheel, set())


@pytest.fixture(scope="module")
def server_install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment that `pip install 'hubbub[server]' pytest` creates."""
    return Environment(tmp_path_factory.mktemp("server"), wheel, {"server"}, other_packages=("pytest",))


@pytest.fixture(scope="module")
def package_index(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a package index with the wheel and its requirements, on this machine."""
    folder = tmp_path_factory.mktemp("index")
    for name, distribution in closure(requirements(wheel), {"server"}).items():
        (folder / name).mkdir()
        wheelhouse.pack(distribution, folder / name)
    (folder / "hubbub").mkdir()
    shutil.copy(wheel, folder / "hubbub")
    with wheelhouse.serve(folder) as url:
        yield url


def fetch(url: str) -> tuple[int, str]:
    """Return the status and the text of a response."""
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
        return response.status, response.read().decode()


def package_files() -> set[str]:
    """Return the paths that the files of the package have in a wheel."""
    return {
        str(path.relative_to(PACKAGE.parent))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_contains_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed_names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed_names == package_files()
    for required_name in ("py.typed", "server/core/migrations/0001_initial.sql"):
        assert f"hubbub/{required_name}" in packed_names


@needs_call_files
def test_the_wheel_contains_the_files_of_calls(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert "hubbub/server/transports/web/static/third_party/davey.wasm" in archive.namelist()


def test_the_sdist_contains_everything_that_the_makefile_and_the_image_use(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    required_names = ("Makefile", "tools/third_party.py", "constraints.txt", "README.md", "LICENSE")
    for required_name in (*required_names, "docs/operating.md", "examples/bot.py"):
        assert required_name in names


def test_the_server_modules_are_those_of_the_server_extra(wheel: Path) -> None:
    extra = {
        canonicalize_name(each.name)
        for each in requirements(wheel)
        if each.marker is not None
        and each.marker.evaluate({"extra": "server"})
        and not each.marker.evaluate({"extra": ""})
    }
    names_by_module = importlib.metadata.packages_distributions()
    named_packages = {canonicalize_name(name) for module in SERVER_MODULES for name in names_by_module.get(module, ())}
    # psycopg installs its pool and its binary as separate distributions.
    assert {name for name in named_packages if not name.startswith("psycopg-")} == extra


def test_a_server_install_runs_the_demo_platform(server_install: Environment) -> None:
    with server_install.server("dev") as document:
        assert fetch(f"{document['web']}/readyz")[0] == 200
        assert '"url"' in fetch(f"{document['api']}/gateway")[1]
        page = fetch(f"{document['web']}/login")[1]
        assert "<form" in page
        [style] = re.findall(r'<link rel="stylesheet" href="(\S+)"', page)
        assert fetch(f"{document['web']}{style}")[0] == 200
        assert set(document["users"]) == {"alice", "bob", "carol"}


def test_a_server_install_serves_a_data_folder(server_install: Environment) -> None:
    data = server_install.folder / "data"
    with server_install.server("serve", "--data", str(data)) as document:
        body = json.dumps({"username": "mary", "password": "correct horse"}).encode()
        request = urllib.request.Request(f"{document['api']}/auth/register", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            assert json.load(response)["token"]
    assert (data / "hubbub.sqlite3").exists()
    doctor_result = server_install.run("hubbub", "doctor", "--data", str(data))
    assert (doctor_result.returncode, "up to date" in doctor_result.stdout) == (0, True), (
        doctor_result.stdout + doctor_result.stderr
    )


def test_a_server_install_gives_pytest_the_plugin(server_install: Environment) -> None:
    folder = server_install.folder / "project"
    folder.mkdir()
    (folder / "test_greeting.py").write_text(
        "def test_bob_receives_a_message(hubbub):\n"
        "    alice, bob = hubbub.users['alice'], hubbub.users['bob']\n"
        "    bob.connect()\n"
        "    alice.send_message('general', 'hello')\n"
        "    bob.expect('MESSAGE_CREATE', content='hello')\n"
    )
    completed = server_install.run("python", "-m", "pytest", "-q", "-o", "hubbub_within=30", str(folder))
    assert "1 passed" in completed.stdout, completed.stdout + completed.stderr


def test_a_base_install_has_the_sdk_and_the_agent(base_install: Environment) -> None:
    completed = base_install.run(
        "python", "-c", "import hubbub.sdk, hubbub.sdk.compat; print(hubbub.sdk.Client.__name__)"
    )
    assert (completed.returncode, completed.stdout) == (0, "Client\n"), completed.stderr
    assert base_install.run("hubbub", "--version").stdout == f"hubbub {importlib.metadata.version('hubbub')}\n"
    assert base_install.run("hubbub", "agent", "--help").returncode == 0


def test_a_base_install_can_check_a_deployment(base_install: Environment) -> None:
    completed = base_install.run("hubbub", "doctor", "--url", f"http://127.0.0.1:{choose_free_port()}")
    assert (completed.returncode, completed.stderr) == (1, "")
    assert "cannot connect to" in completed.stdout


def test_a_client_of_a_base_install_connects_to_an_installed_server(
    base_install: Environment, server_install: Environment
) -> None:
    with server_install.server("dev") as document:
        bot_token = document["applications"]["demo-game"]["bot"]["token"]
        completed = base_install.run("python", "-c", SDK_PROGRAM, document["web"], bot_token)
    assert (completed.returncode, completed.stdout) == (0, "Hero\n"), completed.stderr


@pytest.mark.parametrize(
    "command",
    [
        "dev",
        "serve",
        "admin list-approvals",
        "backup copy",
        "restore copy",
        "export 1 --output guild.zip",
        "import guild",
        "top",
        "replay recording.json",
        "world from-template template.json",
        "parity openapi.json",
        "doctor",
    ],
)
def test_a_base_install_names_the_extra_of_a_server_command(base_install: Environment, command: str) -> None:
    completed = base_install.run("hubbub", *command.split())
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr.startswith("hubbub: this command needs the server packages (")
    assert completed.stderr.endswith("run: pip install 'hubbub[server]'\n")
    assert completed.stderr.count("\n") == 1
    assert not (base_install.folder / "hubbub-data").exists()


@pytest.mark.parametrize(
    "commands",
    [
        ("uvx --from 'hubbub[server]' hubbub dev",),
        ("pipx install 'hubbub[server]'", "hubbub dev"),
    ],
    ids=["uvx", "pipx"],
)
def test_the_commands_of_the_readme_install_and_start_the_demo_platform(
    package_index: str, tmp_path: Path, commands: tuple[str, ...]
) -> None:
    readme = (ROOT / "README.md").read_text()
    assert all(f"$ {command}\n" in readme for command in commands)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("uv", "uvx", "pipx"):
        (programs / name).symlink_to(Path(sys.executable).with_name(name))
    environ = {
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path}/.local/bin:{programs}:/usr/bin:/bin",
        "UV_PYTHON": sys.executable,
        "UV_DEFAULT_INDEX": package_index,
        "HUBBUB_PORT": "0",
        "HUBBUB_GATEWAY_DRAIN_MS": "0",
    }
    *installations, start = commands
    for command in installations:
        completed = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
        )
        assert completed.returncode == 0, completed.stdout + completed.stderr
    with run_server(["sh", "-c", f"exec {start}"], tmp_path, environ) as document:
        assert fetch(f"{document['web']}/app")[0] == 200


def dry_run(folder: Path, target: str) -> str:
    """Return the commands that make would run for a target."""
    completed = subprocess.run(
        ["make", "--dry-run", target], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True
    )
    return completed.stdout


def test_make_run_installs_the_server_packages_only(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    commands = dry_run(tmp_path, "run")
    assert commands.count("pip install") == 1
    assert "--editable '.[server]'" in commands
    assert "--editable '.[dev]'" in dry_run(tmp_path, "venv")

    # An existing environment for development already has the server packages.
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".installed").touch()
    assert "pip install" not in dry_run(tmp_path, "run")
