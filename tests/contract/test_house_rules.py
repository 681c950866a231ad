"""STYLE.md's rules about who may do what, as small checks of the source."""

import ast
import importlib
import re
import tomllib
from pathlib import Path

from hubbub.server import app
from tests.contract.tables import SLICES, SOURCE, calls, files, name_of, slice_of, tree

INNER = {"actions", "commands", "jobs", "routes", "rules", "store", "views"}
"""Files of a slice that others do not reach into."""

SPEAKING = {
    # Small enough to be one module.
    "hubbub/server/resources/typing.py",
}
"""Files of slices besides actions.py that emit."""

SPEAKS_SQL: set[str] = set()
"""Files of slices besides store.py that hold SQL."""

ROOM = "hubbub.server.resources"

LINES_MOST = 700
LONG = {
    # Tables of constants: they are looked up, not read.
    "hubbub/protocol/enums.py",
    "hubbub/protocol/errors.py",
}
"""Files that may be longer."""

_SQL = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|WITH \w+ AS)\b")


def test_only_actions_emit_and_write_the_audit_log() -> None:
    speaking = {
        name_of(path)
        for path in files(SLICES)
        if path.name != "actions.py" and any(called.endswith(("tx.emit", "audit.record")) for _, called in calls(path))
    }

    assert speaking == SPEAKING


def test_only_stores_speak_sql() -> None:
    speaking = {name_of(path) for path in files(SLICES) if path.name != "store.py" and _holds_sql(path)}

    assert speaking == SPEAKS_SQL


def test_doors_hold_no_sql() -> None:
    assert [name_of(path) for path in files(SOURCE / "server" / "transports") if _holds_sql(path)] == []


def _holds_sql(path: Path) -> bool:
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.match(node.value) is not None
        for node in ast.walk(tree(path))
    )


def test_slices_know_each_other_through_their_doors_only() -> None:
    reached: list[str] = []
    for path in files(SLICES):
        doors = set()
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module == ROOM:
                doors |= {name.asname or name.name for name in node.names} - {slice_of(path)}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{ROOM}."):
                other, _, inside = (node.module or "").removeprefix(f"{ROOM}.").partition(".")
                if other != slice_of(path) and (inside or INNER & {name.name for name in node.names}):
                    reached.append(f"{name_of(path)} imports {node.module}")
            elif isinstance(node, ast.Import):
                reached += [f"{name_of(path)} imports {name.name}" for name in node.names if name.name.startswith(ROOM)]
        # `messages.store.find(...)` reaches in as well, unless the door offers the module by name.
        reached += [
            f"{name_of(path)} uses {node.value.id}.{node.attr}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in doors
            and node.attr in INNER
            and node.attr not in importlib.import_module(f"{ROOM}.{node.value.id}").__all__
        ]

    assert reached == []


def test_every_slice_stands_on_a_floor() -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())
    (floors,) = [
        contract for contract in project["tool"]["importlinter"]["contracts"] if contract.get("containers") == [ROOM]
    ]
    named = [name for floor in floors["layers"] for name in floor.split(" : ")]

    assert len(named) == len(set(named))
    assert set(named) == {slice_of(path) for path in files(SLICES)} - {"__init__"}
    assert {each.name for each in app.SLICES} <= set(named)


def test_nothing_asks_the_machine_for_the_time() -> None:
    asking = {
        name_of(path)
        for path in files(SOURCE)
        for _, called in calls(path)
        if called in {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.datetime.now"}
    }

    # The clock is passed in; these are the ones that know what time it is, on either side.
    assert asking == {"hubbub/server/core/clock.py", "hubbub/sdk/clock.py"}


def test_files_can_be_read_in_one_sitting() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in files(SOURCE)}

    assert {name: length for name, length in lengths.items() if length > LINES_MOST and name not in LONG} == {}


def test_operations_do_not_wait() -> None:
    waiting = {
        name_of(path)
        for path in files(SLICES)
        if any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(tree(path)))
    }

    # Passwords are hashed between two transactions, codes counted before they are checked, and ID tokens signed, away from the
    # store's threads (core/work.py); a search reads, and writes only when its index is behind; files of deleted
    # messages leave their store; the rest speaks with receivers, identity and payment providers.
    assert waiting == {
        "hubbub/server/resources/accounts/routes.py",
        "hubbub/server/resources/applications/endpoints.py",
        "hubbub/server/resources/applications/routes.py",
        "hubbub/server/resources/developers/routes.py",
        "hubbub/server/resources/identities/routes.py",
        "hubbub/server/resources/identity_providers/jwts.py",
        "hubbub/server/resources/identity_providers/oidc.py",
        "hubbub/server/resources/identity_providers/providers.py",
        "hubbub/server/resources/identity_providers/routes.py",
        "hubbub/server/resources/identity_providers/verify.py",
        "hubbub/server/resources/interactions/jobs.py",
        "hubbub/server/resources/lobbies/routes.py",
        "hubbub/server/resources/messages/jobs.py",
        "hubbub/server/resources/oauth2/routes.py",
        "hubbub/server/resources/oauth2/signing.py",
        "hubbub/server/resources/search/routes.py",
        "hubbub/server/resources/subscriptions/jobs.py",
        "hubbub/server/resources/subscriptions/ledger.py",
        "hubbub/server/resources/subscriptions/purchases.py",
        "hubbub/server/resources/subscriptions/routes.py",
        "hubbub/server/resources/webhook_events/jobs.py",
    }
