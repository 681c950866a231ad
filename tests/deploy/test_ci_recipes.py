"""The recipes that start a platform in CI: their steps run in a shell, with this source tree in place of the package.

The install steps run with the wheel of this checkout in a folder in place of the package index. The dependencies of the wheel are
those of the environment of the tests.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
import yaml

from tests.deploy.test_installation import build

ROOT: Final = Path(__file__).parents[2]
TIMEOUT_SECONDS: Final = 120


def read_yaml(path: str) -> Any:
    """Return the content of a YAML file."""
    return yaml.safe_load((ROOT / path).read_text())


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the program hubbub of this source tree."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "hubbub"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT / "src"} exec {sys.executable} -m hubbub.server.cli "$@"\n')
    program.chmod(0o755)
    return folder


def run_shell(script: str, folder: Path, programs: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a script of a CI job, and end the platform that it leaves running."""
    inherited_variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("HUBBUB_", "PYTHON"))
    }
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=inherited_variables | variables | {"PATH": path},
        stdout=(folder / "stdout").open("w"),
        stderr=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    for server in psutil.process_iter(["pid", "cmdline"]):
        if str(folder) in " ".join(server.info["cmdline"] or ()) and "dev" in server.info["cmdline"]:
            server.terminate()
            server.wait(TIMEOUT_SECONDS)
    return process


def run_action(
    tmp_path: Path, programs: Path, step_id: str = "start", **inputs: str
) -> "subprocess.CompletedProcess[str]":
    """Run a step of the action with inputs, which default to those of the action."""
    action = read_yaml("action.yml")
    values = {f"inputs.{name}": str(settings["default"]) for name, settings in action["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in inputs.items()} | {"github.action_path": str(ROOT)}
    [step] = [step for step in action["runs"]["steps"] if step["id"] == step_id]
    variables = {name: values[text[len("${{ ") : -len(" }}")]] for name, text in step["env"].items()}
    for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH"):
        variables[name] = str(tmp_path / name)
    return run_shell(step["run"], tmp_path, programs, RUNNER_TEMP=str(tmp_path), **variables)


@pytest.fixture(scope="module")
def wheel_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of this checkout, which pip can use in place of a package index."""
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel")).parent


@pytest.fixture
def local_index(wheel_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip find only the wheel of this checkout, and install it without its dependencies."""
    for name, value in {"NO_INDEX": "1", "NO_DEPS": "1", "FIND_LINKS": str(wheel_folder)}.items():
        monkeypatch.setenv(f"PIP_{name}", value)


def add_dependencies(environment: Path) -> None:
    """Make the packages of the tests importable in a virtual environment."""
    [site] = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))


def test_the_action_starts_a_platform_and_sets_its_outputs(tmp_path: Path, programs: Path) -> None:
    (tmp_path / "small.toml").write_text("[users.ann]\n")

    process = run_action(tmp_path, programs, world="small.toml", args="--rate-limits real --log-level warning")

    assert process.returncode == 0, process.stderr
    ready_file = tmp_path / "hubbub-ready.json"
    document = json.loads(ready_file.read_text())
    assert list(document["users"]) == ["ann"]
    assert (tmp_path / "GITHUB_ENV").read_text() == f"REHEARSAL_READY_FILE={ready_file}\n"
    outputs = dict(line.split("=", 1) for line in (tmp_path / "GITHUB_OUTPUT").read_text().splitlines())
    assert outputs == {"ready-file": str(ready_file)} | {key: document[key] for key in ("api", "gateway", "control")}
    assert set(outputs) == set(read_yaml("action.yml")["outputs"])


@pytest.mark.usefixtures("local_index")
def test_the_action_installs_a_package_and_starts_it(tmp_path: Path) -> None:
    installation = run_action(tmp_path, Path(sys.executable).parent, "install", package="hubbub[server]")
    assert installation.returncode == 0, installation.stderr
    programs = Path((tmp_path / "GITHUB_PATH").read_text().strip())
    assert programs == tmp_path / "hubbub" / "bin"
    add_dependencies(programs.parent)

    process = run_action(tmp_path, programs)

    assert process.returncode == 0, process.stderr
    assert "alice" in json.loads((tmp_path / "hubbub-ready.json").read_text())["users"]


def test_the_workflow_of_this_repository_uses_the_action() -> None:
    action, workflow = read_yaml("action.yml"), (ROOT / ".github" / "workflows" / "test.yml").read_text()
    steps = [step for job in yaml.safe_load(workflow)["jobs"].values() for step in job["steps"]]
    [step] = [step for step in steps if step.get("uses") == "./"]
    assert set(step["with"]) <= set(action["inputs"])
    assert (ROOT / step["with"]["world"]).is_file()
    outputs = re.findall(rf"steps\.{step['id']}\.outputs\.([\w-]+)", workflow)
    assert outputs
    assert set(outputs) <= set(action["outputs"])


def test_the_action_fails_with_the_log_of_a_platform_that_does_not_start(tmp_path: Path, programs: Path) -> None:
    process = run_action(tmp_path, programs, world="missing.toml")

    assert process.returncode == 1
    assert "cannot read missing.toml" in process.stderr
    assert "::error::" in (tmp_path / "stdout").read_text()


def test_the_action_uses_every_input(tmp_path: Path) -> None:
    action = read_yaml("action.yml")
    text = (ROOT / "action.yml").read_text()
    for name, settings in action["inputs"].items():
        assert settings["description"], name
        assert f"inputs.{name}" in text
    assert all(step["shell"] == "bash" for step in action["runs"]["steps"])


@pytest.mark.usefixtures("local_index")
def test_the_gitlab_job_installs_and_starts_a_platform(tmp_path: Path) -> None:
    job = read_yaml("deploy/ci/gitlab-rehearsal.yml")[".hubbub-rehearsal"]
    # The job runs in a container of its own; this test does not.
    install, *commands = [command.replace("/tmp/hubbub", str(tmp_path / "hubbub")) for command in job["before_script"]]
    variables = {"CI_PROJECT_DIR": str(tmp_path), **job["variables"]}
    installation = run_shell(install, tmp_path, Path(sys.executable).parent, **variables)
    assert installation.returncode == 0, installation.stderr
    add_dependencies(tmp_path / "hubbub")

    process = run_shell("\n".join(commands), tmp_path, tmp_path / "hubbub" / "bin", **variables)

    assert process.returncode == 0, process.stderr
    assert "alice" in json.loads((tmp_path / "hubbub-ready.json").read_text())["users"]
