"""Importing the SDK loads no server modules, protocol models, server libraries or voice libraries."""

import ast
import json
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

# Distributions whose module has another name.
MODULES_BY_DISTRIBUTION = {
    "argon2-cffi": "argon2",
    "backports.zstd": "backports",
    "nats-py": "nats",
    "prometheus-client": "prometheus_client",
}


def list_loaded_modules(statement: str) -> set[str]:
    """Return the names of all modules loaded in a fresh interpreter after one statement."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(json.loads(process.stdout))


def server_only_modules() -> set[str]:
    """Return the modules that the extra `server` adds to the base install."""
    requirements = [Requirement(text) for text in requires("hubbub") or ()]
    unexpected_modules = {
        requirement.name
        for requirement in requirements
        if requirement.marker
        and requirement.marker.evaluate({"extra": "server"})
        and not requirement.marker.evaluate({"extra": ""})
    }
    return {MODULES_BY_DISTRIBUTION.get(name, name) for name in unexpected_modules} | {"sqlite3"}


def test_importing_the_sdk_loads_no_server_module() -> None:
    loaded_modules = list_loaded_modules("import hubbub.sdk")

    assert "hubbub.sdk" in loaded_modules
    assert {name for name in loaded_modules if name.startswith("hubbub.server")} == set()


def test_importing_the_sdk_loads_no_models_of_the_protocol() -> None:
    loaded_modules = list_loaded_modules("import hubbub.sdk, hubbub.sdk.compat")

    assert "hubbub.protocol.shared_enums" in loaded_modules
    assert {name for name in loaded_modules if name.startswith("hubbub.protocol.resources")} == set()
    assert not loaded_modules & {"hubbub.protocol.operation", "hubbub.protocol.enums"}


def test_importing_the_sdk_loads_no_server_dependency() -> None:
    server_only = server_only_modules()

    assert {"psycopg", "uvloop", "nats"} <= server_only
    assert list_loaded_modules("import hubbub.sdk") & server_only == set()


def imported_modules(path: Path) -> set[str]:
    """Return the top-level modules that a file imports when it runs."""
    modules: set[str] = set()
    pending_nodes: list[ast.AST] = [ast.parse(path.read_text())]
    while pending_nodes:
        node = pending_nodes.pop()
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            pending_nodes += node.orelse
        else:
            pending_nodes += ast.iter_child_nodes(node)
    return modules


def test_the_sdk_imports_only_aiohttp_and_msgspec() -> None:
    root = Path(__file__).parents[2]
    dependencies = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {Requirement(requirement).name for requirement in dependencies} == {"aiohttp", "msgspec"}

    files = [
        path for part in ("protocol", "media", "sdk", "agent") for path in (root / "src/hubbub" / part).rglob("*.py")
    ]
    voice_files = [path for path in files if path.parent.name == "media"]
    third_party = set().union(*(imported_modules(path) for path in files if path not in voice_files))
    third_party -= sys.stdlib_module_names | {"hubbub"}
    # yarl is the URL type of aiohttp.
    assert third_party == {"aiohttp", "msgspec", "yarl"}
    # The extras of calls, and PyNaCl where it is installed, are not imported before a call starts.
    third_party = set().union(*map(imported_modules, voice_files)) - sys.stdlib_module_names - {"hubbub"}
    assert third_party == {"aiohttp", "msgspec", "av", "cryptography", "davey", "livekit", "miniaudio", "nacl"}


def test_voice_dependencies_are_not_loaded_without_a_call() -> None:
    loaded_modules = list_loaded_modules("import hubbub.sdk, hubbub.sdk.compat; hubbub.sdk.Client().close()")

    assert {name for name in loaded_modules if name.startswith("hubbub.sdk.media")} == set()
    assert loaded_modules & {"av", "cryptography", "davey", "livekit", "miniaudio", "nacl"} == set()
