"""Architecture rules, checked on the source code."""

import ast
import importlib
import re
import tomllib
from pathlib import Path

from hubbub.server import app
from tests.contract.tables import SLICES, SOURCE, calls, files, name_of, slice_of, tree

PRIVATE_MODULES = {"actions", "commands", "jobs", "routes", "rules", "store", "views"}
"""Modules of a slice that other slices must not import."""

EMITTING_FILES = {
    # A slice of a single module.
    "hubbub/server/resources/typing.py",
}
"""Slice files other than actions.py that publish events or write the audit log."""

SQL_FILES: set[str] = set()
"""Slice files other than store.py that contain SQL."""

RESOURCES = "hubbub.server.resources"

LINES_MAX = 700
LONG_FILES = {
    # Tables of constants.
    "hubbub/protocol/enums.py",
    "hubbub/protocol/errors.py",
}
"""Files exempt from the line limit."""

_SQL = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|WITH \w+ AS)\b")


def test_only_actions_emit_and_write_the_audit_log() -> None:
    emitting = {
        name_of(path)
        for path in files(SLICES)
        if path.name != "actions.py" and any(called.endswith(("tx.emit", "audit.record")) for _, called in calls(path))
    }

    assert emitting == EMITTING_FILES


def test_only_stores_contain_sql() -> None:
    with_sql = {name_of(path) for path in files(SLICES) if path.name != "store.py" and _contains_sql(path)}

    assert with_sql == SQL_FILES


def test_transports_contain_no_sql() -> None:
    assert [name_of(path) for path in files(SOURCE / "server" / "transports") if _contains_sql(path)] == []


def _contains_sql(path: Path) -> bool:
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.match(node.value) is not None
        for node in ast.walk(tree(path))
    )


def test_slices_import_only_the_public_interface_of_other_slices() -> None:
    violations: list[str] = []
    for path in files(SLICES):
        packages = set()
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module == RESOURCES:
                packages |= {name.asname or name.name for name in node.names} - {slice_of(path)}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{RESOURCES}."):
                other, _, inside = (node.module or "").removeprefix(f"{RESOURCES}.").partition(".")
                if other != slice_of(path) and (inside or PRIVATE_MODULES & {name.name for name in node.names}):
                    violations.append(f"{name_of(path)} imports {node.module}")
            elif isinstance(node, ast.Import):
                violations += [
                    f"{name_of(path)} imports {name.name}" for name in node.names if name.name.startswith(RESOURCES)
                ]
        # `messages.store.find(...)` is an access as well, unless the package exports the module in `__all__`.
        violations += [
            f"{name_of(path)} uses {node.value.id}.{node.attr}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in packages
            and node.attr in PRIVATE_MODULES
            and node.attr not in importlib.import_module(f"{RESOURCES}.{node.value.id}").__all__
        ]

    assert violations == []


def test_every_slice_belongs_to_a_tier() -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())
    (tiers,) = [
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract.get("containers") == [RESOURCES]
    ]
    named = [name for tier in tiers["layers"] for name in tier.split(" : ")]

    assert len(named) == len(set(named))
    assert set(named) == {slice_of(path) for path in files(SLICES)} - {"__init__"}
    assert {each.name for each in app.SLICES} <= set(named)


def test_only_clocks_read_the_system_time() -> None:
    readers = {
        name_of(path)
        for path in files(SOURCE)
        for _, called in calls(path)
        if called in {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.datetime.now"}
    }

    # All other code receives a clock; these modules implement it for the server and the SDK.
    assert readers == {"hubbub/server/core/clock.py", "hubbub/sdk/clock.py"}


def test_files_are_below_the_line_limit() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in files(SOURCE)}

    assert {name: length for name, length in lengths.items() if length > LINES_MAX and name not in LONG_FILES} == {}


def test_only_listed_files_contain_async_code() -> None:
    async_files = {
        name_of(path)
        for path in files(SLICES)
        if any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(tree(path)))
    }

    # Handlers run in the store's threads; async code is needed outside of a transaction (core/async_operation.py).
    # Passwords are
    # hashed between two transactions, login codes are counted before they are checked, ID tokens are signed. A
    # search
    # writes only when its index is behind. The files of deleted messages are removed. The others call webhooks,
    # identity providers and
    # payment providers.
    assert async_files == {
        "hubbub/server/resources/accounts/routes.py",
        "hubbub/server/resources/applications/endpoints.py",
        "hubbub/server/resources/applications/routes.py",
        "hubbub/server/resources/developers/routes.py",
        "hubbub/server/resources/identities/routes.py",
        "hubbub/server/resources/identity_providers/jwts.py",
        "hubbub/server/resources/identity_providers/oidc.py",
        "hubbub/server/resources/identity_providers/providers.py",
        "hubbub/server/resources/identity_providers/routes.py",
        "hubbub/server/resources/identity_providers/verification.py",
        "hubbub/server/resources/interactions/jobs.py",
        "hubbub/server/resources/lobbies/routes.py",
        "hubbub/server/resources/messages/jobs.py",
        "hubbub/server/resources/oauth2/routes.py",
        "hubbub/server/resources/oauth2/id_token_signatures.py",
        "hubbub/server/resources/search/routes.py",
        "hubbub/server/resources/subscriptions/jobs.py",
        "hubbub/server/resources/subscriptions/ledger.py",
        "hubbub/server/resources/subscriptions/purchases.py",
        "hubbub/server/resources/subscriptions/routes.py",
        "hubbub/server/resources/webhook_events/jobs.py",
    }
