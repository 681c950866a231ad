"""The recipes that start a platform in CI: their steps run in a shell, with this source tree in place of the package."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
import yaml

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
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HUBBUB_")}
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=inherited | variables | {"PATH": path},
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


def start_step() -> dict[str, Any]:
    """Return the step of the action that starts the platform."""
    [step] = [step for step in read_yaml("action.yml")["runs"]["steps"] if step["id"] == "start"]
    return dict(step)


def run_action(tmp_path: Path, programs: Path, **inputs: str) -> "subprocess.CompletedProcess[str]":
    """Run the step that starts the platform with inputs, which default to those of the action."""
    defaults = {name: str(settings["default"]) for name, settings in read_yaml("action.yml")["inputs"].items()}
    values = defaults | inputs
    variables = {name: values[text[len("${{ inputs.") : -len(" }}")]] for name, text in start_step()["env"].items()}
    for name in ("GITHUB_ENV", "GITHUB_OUTPUT"):
        variables[name] = str(tmp_path / name)
    return run_shell(start_step()["run"], tmp_path, programs, RUNNER_TEMP=str(tmp_path), **variables)


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


def test_the_gitlab_job_starts_a_platform(tmp_path: Path, programs: Path) -> None:
    job = read_yaml("deploy/ci/gitlab-rehearsal.yml")[".hubbub-rehearsal"]
    install, *commands = job["before_script"]
    assert "pip install" in install
    script = "\n".join(commands).replace("/tmp/hubbub/bin/hubbub", "hubbub")

    process = run_shell(script, tmp_path, programs, CI_PROJECT_DIR=str(tmp_path), **job["variables"])

    assert process.returncode == 0, process.stderr
    assert "alice" in json.loads((tmp_path / "hubbub-ready.json").read_text())["users"]
