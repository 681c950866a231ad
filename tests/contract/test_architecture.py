"""Architecture rules, checked on the source code: events, SQL, imports of slices, clocks, file lengths and async code."""

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

from hubbub.server import composition
from tests.contract.tables import SOURCE, TIERS, calls, display_path, parse_file, python_files, slice_files, slice_of

PUBLIC_NAMES_MAX = 15
"""Maximum number of names that a slice exports in `__all__`, and that each of its public modules offers."""

EMITTING_FILES = {
    # The audit log publishes its own entries.
    "hubbub/server/places/audit_log/audit.py",
    # This slice is a single module.
    "hubbub/server/talk/typing.py",
}
"""Slice files other than actions.py that publish events or write the audit log."""

SQL_FILES: set[str] = set()
"""Slice files other than store.py that contain SQL."""

STORE_NAMES = {"Call", "Database", "Tx", "access", "ports", "store"}
"""Names that give access to stored data; `talk/messages/content` imports none of them."""

_SLICE_MODULE = re.compile(rf"hubbub\.server\.((?:{'|'.join(TIERS)})\.\w+)(?:\.(.+))?")

LINES_MAX = 600
LONG_FILES = {
    # These files are tables of constants.
    "hubbub/protocol/enums.py",
    "hubbub/protocol/errors.py",
    "hubbub/server/transports/http/example_values.py",
}
"""Files exempt from the line limit."""

_SQL = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|WITH \w+ AS)\b")


def test_only_actions_emit_and_write_the_audit_log() -> None:
    emitting = {
        display_path(path)
        for path in slice_files()
        if path.name != "actions.py" and any(called.endswith(("tx.emit", "audit.record")) for _, called in calls(path))
    }

    assert emitting == EMITTING_FILES


def test_only_stores_contain_sql() -> None:
    with_sql = {display_path(path) for path in slice_files() if path.name != "store.py" and _contains_sql(path)}

    assert with_sql == SQL_FILES


def test_message_content_does_not_access_the_store() -> None:
    content = SOURCE / "server" / "talk" / "messages" / "content"
    violations = [
        f"{display_path(path)} imports {name}"
        for path in python_files(content)
        for node in ast.walk(parse_file(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (getattr(node, "module", None) or "", *(imported.name for imported in node.names))
        if STORE_NAMES & set(name.split("."))
    ]

    assert violations == []


def test_transports_contain_no_sql() -> None:
    assert [display_path(path) for path in python_files(SOURCE / "server" / "transports") if _contains_sql(path)] == []


def _contains_sql(path: Path) -> bool:
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.match(node.value) is not None
        for node in ast.walk(parse_file(path))
    )


def test_slices_import_only_the_public_interface_of_other_slices() -> None:
    violations: list[str] = []
    for path in slice_files():
        packages: dict[str, str] = {}
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.ImportFrom) and node.module in {f"hubbub.server.{tier}" for tier in TIERS}:
                tier = node.module.rpartition(".")[2]
                packages |= {name.asname or name.name: f"{tier}.{name.name}" for name in node.names}
            elif isinstance(node, ast.ImportFrom) and (match := _SLICE_MODULE.fullmatch(node.module or "")):
                other, inside = match.groups()
                if other != slice_of(path) and not {name.name for name in node.names} <= _public_names(other, inside):
                    violations.append(f"{display_path(path)} imports from {node.module}")
            elif isinstance(node, ast.Import):
                violations += [
                    f"{display_path(path)} imports {name.name}" for name in node.names if _SLICE_MODULE.match(name.name)
                ]
        # `messages.store.find(...)` and `messages.find(...)` are accesses as well.
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.Attribute) and (found := _accessed_name(node)) is not None:
                other = packages.get(found[0], slice_of(path))
                if other != slice_of(path) and not _is_public(other, found[1:]):
                    violations.append(f"{display_path(path)} uses {'.'.join(found)}")

    assert violations == []


def test_a_slice_and_its_public_modules_export_few_names() -> None:
    slice_packages = {
        slice_name: importlib.import_module(f"hubbub.server.{slice_name}")
        for slice_name in {slice_of(path) for path in slice_files() if path.name == "__init__.py"}
        if not slice_name.endswith("__init__")
    }
    sizes = {slice_name: len(package.__all__) for slice_name, package in slice_packages.items()}
    sizes |= {
        f"{slice_name}.{name}": len(_public_names(slice_name, name))
        for slice_name, package in slice_packages.items()
        for name in package.__all__
        if isinstance(getattr(package, name), ModuleType)
    }

    assert {name: size for name, size in sizes.items() if size > PUBLIC_NAMES_MAX} == {}


def _accessed_name(node: ast.Attribute) -> tuple[str, ...] | None:
    """Return the two or three parts of a dotted name, or None for an attribute of any other expression."""
    if isinstance(node.value, ast.Name):
        return (node.value.id, node.attr)
    if isinstance(node.value, ast.Attribute) and isinstance(node.value.value, ast.Name):
        return (node.value.value.id, node.value.attr, node.attr)
    return None


def _is_public(slice_name: str, names: tuple[str, ...]) -> bool:
    """Return whether a slice exports a name, or exports a module with it."""
    package = importlib.import_module(f"hubbub.server.{slice_name}")
    if not hasattr(package, "__all__"):
        # The slice is a single module.
        return not names[0].startswith("_")
    if names[0] not in package.__all__:
        return False
    exported = getattr(package, names[0])
    return len(names) == 1 or not isinstance(exported, ModuleType) or names[1] in _public_names(slice_name, names[0])


def _public_names(slice_name: str, module_name: str | None) -> set[str]:
    """Return the names that other slices may import: those of the slice, or of one of its public modules."""
    package = importlib.import_module(f"hubbub.server.{slice_name}")
    if module_name is None:
        return set(getattr(package, "__all__", vars(package)))
    if module_name not in package.__all__:
        return set()
    module = getattr(package, module_name)
    if hasattr(module, "__all__"):
        return set(module.__all__)
    assert module.__file__ is not None
    return {name for name in _defined_names(Path(module.__file__)) if not name.startswith("_")}


def _defined_names(path: Path) -> set[str]:
    """Return the names that a module defines at its top level; imported names are absent."""
    names: set[str] = set()
    for node in parse_file(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_every_slice_is_mounted() -> None:
    folders = {slice_of(path).partition(".")[2] for path in slice_files()} - {"__init__"}

    assert {slice_module.name for slice_module in composition.SLICES} <= folders


def test_only_clocks_read_the_system_time() -> None:
    readers = {
        display_path(path)
        for path in python_files(SOURCE)
        for _, called in calls(path)
        if called in {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.datetime.now"}
    }

    # All other code receives a clock; these modules implement it for the server and the SDK.
    assert readers == {"hubbub/server/core/clock.py", "hubbub/sdk/clock.py"}


def test_files_are_below_the_line_limit() -> None:
    lengths = {display_path(path): len(path.read_text().splitlines()) for path in python_files(SOURCE)}

    assert {name: length for name, length in lengths.items() if length > LINES_MAX and name not in LONG_FILES} == {}


def test_only_listed_files_contain_async_code() -> None:
    async_files = {
        display_path(path)
        for path in slice_files()
        if any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(parse_file(path)))
    }

    # Handlers run in the store's threads; async code is needed outside of a transaction (core/async_operation.py).
    # Passwords are hashed between two transactions, login codes are counted before they are checked, ID tokens are
    # signed. A search writes only when its index is behind. The files of deleted messages are removed. The others call
    # webhooks, identity providers, payment providers, push services and the SMTP server.
    assert async_files == {
        "hubbub/server/identity/account_emails/jobs.py",
        "hubbub/server/identity/account_emails/routes.py",
        "hubbub/server/identity/accounts/routes.py",
        "hubbub/server/identity/applications/endpoints.py",
        "hubbub/server/identity/applications/routes.py",
        "hubbub/server/identity/developers/routes.py",
        "hubbub/server/identity/identities/routes.py",
        "hubbub/server/identity/identity_providers/jwts.py",
        "hubbub/server/identity/identity_providers/oidc.py",
        "hubbub/server/identity/identity_providers/providers.py",
        "hubbub/server/identity/identity_providers/routes.py",
        "hubbub/server/identity/identity_providers/verification.py",
        "hubbub/server/identity/moderation_decisions/routes.py",
        "hubbub/server/identity/passkeys/routes.py",
        "hubbub/server/play/interactions/jobs.py",
        "hubbub/server/play/lobbies/routes.py",
        "hubbub/server/talk/messages/jobs.py",
        "hubbub/server/talk/push_subscriptions/jobs.py",
        "hubbub/server/identity/oauth2/routes.py",
        "hubbub/server/identity/oauth2/id_token_signatures.py",
        "hubbub/server/talk/search/routes.py",
        "hubbub/server/play/subscriptions/jobs.py",
        "hubbub/server/play/subscriptions/ledger.py",
        "hubbub/server/play/subscriptions/purchases.py",
        "hubbub/server/play/subscriptions/routes.py",
        "hubbub/server/play/webhook_events/jobs.py",
    }
