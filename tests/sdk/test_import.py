"""The SDK is light: a game that imports it carries no server."""

import json
import subprocess
import sys
from importlib.metadata import requires

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
