"""The SDK is light: a game that imports it carries no server."""

import ast
import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

# Where the module is not named like the distribution.
MODULES = {
    "argon2-cffi": "argon2",
    "backports.zstd": "backports",
    "nats-py": "nats",
    "prometheus-client": "prometheus_client",
}


def modules_loaded_by(statement: str) -> set[str]:
    """The names of all modules in a fresh interpreter after one statement."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(json.loads(answer.stdout))


def server_only_modules() -> set[str]:
    """What the extra `server` adds to the base install, as module names."""
    requirements = [Requirement(text) for text in requires("hubbub") or ()]
    extra = {
        requirement.name
        for requirement in requirements
        if requirement.marker
        and requirement.marker.evaluate({"extra": "server"})
        and not requirement.marker.evaluate({"extra": ""})
    }
    return {MODULES.get(name, name) for name in extra} | {"sqlite3"}


def test_a_fresh_interpreter_that_imports_the_sdk_loads_nothing_of_the_server() -> None:
    loaded = modules_loaded_by("import hubbub.sdk")

    assert "hubbub.sdk" in loaded
    assert {name for name in loaded if name.startswith("hubbub.server")} == set()


def test_a_fresh_interpreter_that_imports_the_sdk_loads_no_library_of_the_server() -> None:
    server_only = server_only_modules()

    assert {"psycopg", "uvloop", "nats"} <= server_only
    assert modules_loaded_by("import hubbub.sdk") & server_only == set()


def imported(path: Path) -> set[str]:
    """The top-level modules that a file imports when it runs."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def test_the_base_install_is_aiohttp_and_msgspec_and_nothing_else_is_imported() -> None:
    root = Path(__file__).parents[2]
    declared = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {Requirement(each).name for each in declared} == {"aiohttp", "msgspec"}

    files = [path for part in ("protocol", "sdk", "agent") for path in (root / "src/hubbub" / part).rglob("*.py")]
    calls = [path for path in files if path.parent.name == "media"]
    foreign = set().union(*(imported(path) for path in files if path not in calls))
    foreign -= sys.stdlib_module_names | {"hubbub"}
    # aiohttp's own addresses.
    assert foreign == {"aiohttp", "msgspec", "yarl"}
    # The extra `voice`, and PyNaCl where it is installed: not before a call starts.
    foreign = set().union(*map(imported, calls)) - sys.stdlib_module_names - {"hubbub"}
    assert foreign == {"aiohttp", "msgspec", "av", "cryptography", "davey", "nacl"}


def test_what_calls_need_is_loaded_when_one_starts() -> None:
    loaded = modules_loaded_by("import hubbub.sdk, hubbub.sdk.compat; hubbub.sdk.Client().close()")

    assert {name for name in loaded if name.startswith("hubbub.sdk.media")} == set()
    assert loaded & {"av", "cryptography", "davey", "nacl"} == set()


COST_MOST = 1.2
TRIES_LEAST, TRIES_MOST = 5, 25


def test_the_sdk_costs_little_more_than_the_libraries_it_stands_on(tmp_path: Path) -> None:
    """Best of several in fresh interpreters, in CPU time and with compiled files, as an installed package has them.

    A busy machine only ever makes either longer, so it is asked again until both were seen undisturbed."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def seconds(statement: str) -> float:
        program = f"import time\nbefore = time.process_time()\n{statement}\nprint(time.process_time() - before)"
        answer = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment
        )
        return float(answer.stdout)

    base, ours = "import aiohttp, msgspec", "import aiohttp, msgspec, hubbub.sdk"
    seconds(ours)
    libraries, whole = [], []
    for number in range(1, TRIES_MOST + 1):
        libraries.append(seconds(base))
        whole.append(seconds(ours))
        if number >= TRIES_LEAST and min(whole) <= min(libraries) * COST_MOST:
            return

    pytest.fail(f"{min(whole):.3f} s against {min(libraries):.3f} s")
