"""Architecture rules, checked on the source code: events, SQL, imports of slices, clocks, file lengths and async code."""

import ast
import importlib
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

from hubbub.server import composition
from tests.contract.tables import SOURCE, TIERS, calls, display_path, parse_file, python_files, slice_files, slice_of
from tests.contract.test_language import VERBS

PUBLIC_NAMES_MAX = 15
"""Maximum number of names that a slice exports in `__all__`, and that each of its public modules offers."""

SLICE_FILES = {
    "__init__": "The public interface and the `SLICE`",
    "routes": "Handlers of operations",
    "commands": "Handlers of gateway commands",
    "rules": "Permissions, validity and limits",
    "actions": "Changes: writes, events and audit log entries",
    "store": "SQL, `TABLES` and `READS`",
    "views": "Wire models of rows",
    "ports": "Functions that a higher tier implements",
    "signals": "Facts for listeners of other slices",
    "listeners": "Reactions to signals",
    "jobs": "Work for later",
    "archive": "Tables in the archive of a guild",
}
"""Modules that every slice may have. CONTRIBUTING.md has the same table."""

SLICE_FILES_MAX = 9
"""Maximum number of modules in the folder of a slice, and in each folder below it."""

EMITTING_FILES = {
    # The audit log publishes its own entries.
    "hubbub/server/places/audit_log/audit.py",
}
"""Slice files other than actions.py that publish events or write the audit log."""

MESSAGE_STORE = "hubbub.server.talk.messages.store"
"""The module with the SQL of messages."""

SQL_FILES: set[str] = set()
"""Slice files other than store.py that contain SQL."""

STORE_NAMES = {"Call", "Database", "Tx", "access", "ports", "store"}
"""Names that give access to stored data; `talk/messages/content` imports none of them."""

FACE_USERS = ("app.py", "doctor.py", "backups", "commands", "control", "transfer", "worlds")
"""Files and folders of the server outside of the slices that use slices only through their public interface."""

_SLICE_MODULE_PATTERN = re.compile(rf"hubbub\.server\.((?:{'|'.join(TIERS)})\.\w+)(?:\.(.+))?")

LINES_MAX = 600
LONG_FILES = {
    # These files are tables of constants.
    "hubbub/protocol/enums.py",
    "hubbub/protocol/errors.py",
}
"""Files exempt from the line limit."""

_SQL_PATTERN = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|WITH \w+ AS)\b")


def test_only_actions_emit_and_write_the_audit_log() -> None:
    emitting_modules = {
        display_path(path)
        for path in slice_files()
        if path.name != "actions.py"
        and any(called_name.endswith(("tx.emit", "audit.record")) for _, called_name in calls(path))
    }

    assert emitting_modules == EMITTING_FILES


def test_only_stores_contain_sql() -> None:
    files_with_sql = {display_path(path) for path in slice_files() if path.name != "store.py" and _contains_sql(path)}

    assert files_with_sql == SQL_FILES


def test_message_content_does_not_access_the_store() -> None:
    content = SOURCE / "server" / "talk" / "messages" / "content"
    violations = [
        f"{display_path(path)} imports {name}"
        for path in python_files(content)
        for node in ast.walk(parse_file(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (getattr(node, "module", None) or "", *(imported_name.name for imported_name in node.names))
        if STORE_NAMES & set(name.split("."))
    ]

    assert violations == []


def test_only_the_creation_of_a_message_inserts_it() -> None:
    folder = SOURCE / "server" / "talk" / "messages"
    inserting_functions = {
        f"{path.relative_to(folder).as_posix()}: {function.name}"
        for path in python_files(folder)
        if _imports_message_store(path)
        for function in ast.walk(parse_file(path))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("store.insert")
    }
    exported_names = {
        f"{path.relative_to(folder).as_posix()}: {name.name}"
        for path in python_files(folder)
        for node in ast.walk(parse_file(path))
        if isinstance(node, ast.ImportFrom) and node.module == MESSAGE_STORE
        for name in node.names
        if name.name.startswith("insert")
    }

    assert inserting_functions == {"actions.py: create"}
    assert exported_names == set()
    # Imports write the rows of an archive.
    statements = {
        display_path(path)
        for path in slice_files()
        for node in ast.walk(parse_file(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.search(r"INSERT INTO (?:ephemeral_)?messages\b", node.value)
    }
    assert statements == {"hubbub/server/talk/messages/store.py"}


def _imports_message_store(path: Path) -> bool:
    """Return whether a module imports the store of messages, instead of the store of a sub-package."""
    package, _, name = MESSAGE_STORE.rpartition(".")
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == package
        and name in {imported_name.asname or imported_name.name for imported_name in node.names}
        for node in ast.walk(parse_file(path))
    )


def test_transports_contain_no_sql() -> None:
    assert [display_path(path) for path in python_files(SOURCE / "server" / "transports") if _contains_sql(path)] == []


def _contains_sql(path: Path) -> bool:
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL_PATTERN.match(node.value) is not None
        for node in ast.walk(parse_file(path))
    )


def test_only_the_public_interface_of_other_slices_is_imported() -> None:
    slices = set(slice_files())
    other_paths = [
        path
        for name in FACE_USERS
        for path in (python_files(SOURCE / "server" / name) if "." not in name else [SOURCE / "server" / name])
    ]
    violations: list[str] = []
    for path in (*slices, *other_paths):
        own_slice = slice_of(path) if path in slices else ""
        packages: dict[str, str] = {}
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.ImportFrom) and node.module in {f"hubbub.server.{tier}" for tier in TIERS}:
                tier = node.module.rpartition(".")[2]
                packages |= {name.asname or name.name: f"{tier}.{name.name}" for name in node.names}
            elif isinstance(node, ast.ImportFrom) and (match := _SLICE_MODULE_PATTERN.fullmatch(node.module or "")):
                other_slice, module = match.groups()
                if other_slice != own_slice and not {name.name for name in node.names} <= _public_names(
                    other_slice, module
                ):
                    violations.append(f"{display_path(path)} imports from {node.module}")
            elif isinstance(node, ast.Import):
                violations += [
                    f"{display_path(path)} imports {name.name}"
                    for name in node.names
                    if _SLICE_MODULE_PATTERN.match(name.name)
                ]
        # `messages.store.find(...)` and `messages.find(...)` are accesses as well.
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.Attribute) and (accessed_name := _accessed_name(node)) is not None:
                other_slice = packages.get(accessed_name[0], own_slice)
                if other_slice != own_slice and not _is_public(other_slice, accessed_name[1:]):
                    violations.append(f"{display_path(path)} uses {'.'.join(accessed_name)}")

    assert violations == []


def test_requests_and_responses_of_interactions_are_used_through_their_interfaces() -> None:
    folder = SOURCE / "server" / "play" / "interactions"
    violations = []
    for path in python_files(folder):
        for node in ast.walk(parse_file(path)):
            if not isinstance(node, ast.ImportFrom):
                continue
            match = re.fullmatch(r"hubbub\.server\.play\.interactions\.(requests|responses)(\.\w+)?", node.module or "")
            if match is None or path.is_relative_to(folder / match[1]):
                continue
            public = importlib.import_module(f"hubbub.server.play.interactions.{match[1]}").__all__
            if match[2] or not {name.name for name in node.names} <= set(public):
                violations.append(f"{display_path(path)} imports from {node.module}")

    assert violations == []


def test_a_slice_and_its_public_modules_export_few_names() -> None:
    slice_packages = {
        slice_name: importlib.import_module(f"hubbub.server.{slice_name}")
        for slice_name in {slice_of(path) for path in slice_files() if path.name == "__init__.py"}
        if not slice_name.endswith("__init__")
    }
    name_counts = {slice_name: len(package.__all__) for slice_name, package in slice_packages.items()}
    name_counts |= {
        f"{slice_name}.{name}": len(_public_names(slice_name, name))
        for slice_name, package in slice_packages.items()
        for name in package.__all__
        if isinstance(getattr(package, name), ModuleType)
    }

    assert {name: name_count for name, name_count in name_counts.items() if name_count > PUBLIC_NAMES_MAX} == {}


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
    if names[0] not in package.__all__:
        return False
    exported_object = getattr(package, names[0])
    return (
        len(names) == 1
        or not isinstance(exported_object, ModuleType)
        or names[1] in _public_names(slice_name, names[0])
    )


def _public_names(slice_name: str, module_name: str | None) -> set[str]:
    """Return the names that other slices may import: those of the slice, or of one of its public modules."""
    package = importlib.import_module(f"hubbub.server.{slice_name}")
    if module_name is None:
        return set(package.__all__)
    # A public module may be in a sub-package, such as `interface`.
    public_name = module_name.rpartition(".")[2]
    if public_name not in package.__all__:
        return set()
    module = getattr(package, public_name)
    if "." in module_name and module.__name__ != f"{package.__name__}.{module_name}":
        return set()
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
    folders = {slice_of(path) for path in slice_files() if path.name == "__init__.py"} - {
        f"{tier}.__init__" for tier in TIERS
    }
    declared_slices = {
        name: package.SLICE
        for name in folders
        if hasattr(package := importlib.import_module(f"hubbub.server.{name}"), "SLICE")
    }

    assert folders - declared_slices.keys() == set()
    assert {name: slice_.name for name, slice_ in declared_slices.items()} == {
        name: name.partition(".")[2] for name in declared_slices
    }
    mounted_ids = Counter(id(slice_) for slice_ in composition.SLICES)
    assert {name for name, slice_ in declared_slices.items() if mounted_ids[id(slice_)] != 1} == set()
    assert len(composition.SLICES) == len(declared_slices)


def test_tiers_contain_only_slices() -> None:
    loose = [path.name for tier in TIERS for path in (SOURCE / "server" / tier).glob("*.py")]

    assert loose == ["__init__.py"] * len(TIERS)


def test_slices_and_their_folders_contain_few_modules() -> None:
    counts = Counter(path.parent for path in slice_files())

    assert {display_path(folder): count for folder, count in counts.items() if count > SLICE_FILES_MAX} == {}


def test_further_modules_of_slices_are_nouns() -> None:
    # These verbs are nouns as well.
    verbs = {verb.lower() for verb in VERBS} - {"export", "launch", "merge"}
    names = {path.stem for path in slice_files()} - SLICE_FILES.keys()
    # The folder of a slice has the name of its resource.
    names |= {path.parent.name for path in slice_files() if len(path.relative_to(SOURCE / "server").parts) > 3}

    assert {name for name in names if name.rpartition("_")[2] in verbs or name.endswith("ing")} == set()


def test_the_guide_lists_the_modules_of_a_slice() -> None:
    guide = (SOURCE.parent.parent / "CONTRIBUTING.md").read_text()

    assert dict(re.findall(r"\| `(\w+)\.py` \| ([^|]+) \|", guide)) == SLICE_FILES
    assert f"at most {SLICE_FILES_MAX} modules" in guide


def test_only_clocks_read_the_system_time() -> None:
    readers = {
        display_path(path)
        for path in python_files(SOURCE)
        for _, called_name in calls(path)
        if called_name in {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.datetime.now"}
    }

    # All other code receives a clock; these modules implement it for the server and the SDK. The pytest plugin reads the
    # time itself, because the import of the SDK's clock would import the whole SDK.
    assert readers == {"hubbub/server/core/clock.py", "hubbub/sdk/clock.py", "hubbub/testing/process.py"}


def test_files_are_below_the_line_limit() -> None:
    lengths = {display_path(path): len(path.read_text().splitlines()) for path in python_files(SOURCE)}

    assert {name: length for name, length in lengths.items() if length > LINES_MAX and name not in LONG_FILES} == {}
    assert [name for name in LONG_FILES if lengths.get(name, 0) <= LINES_MAX] == []


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
        "hubbub/server/identity/applications/addresses/endpoints.py",
        "hubbub/server/identity/applications/routes.py",
        "hubbub/server/identity/developers/routes.py",
        "hubbub/server/identity/teams/routes.py",
        "hubbub/server/identity/identities/routes.py",
        "hubbub/server/identity/identity_providers/tokens/jwts.py",
        "hubbub/server/identity/identity_providers/tokens/oidc.py",
        "hubbub/server/identity/identity_providers/providers.py",
        "hubbub/server/identity/identity_providers/routes.py",
        "hubbub/server/identity/identity_providers/verification.py",
        "hubbub/server/identity/login_providers/authorization_code.py",
        "hubbub/server/identity/login_providers/routes.py",
        "hubbub/server/identity/moderation_decisions/routes.py",
        "hubbub/server/identity/passkeys/routes.py",
        "hubbub/server/play/interactions/jobs.py",
        "hubbub/server/play/lobbies/routes.py",
        "hubbub/server/talk/link_previews/jobs.py",
        "hubbub/server/talk/link_previews/preview_requests.py",
        "hubbub/server/talk/messages/files/jobs.py",
        "hubbub/server/talk/push_subscriptions/jobs.py",
        "hubbub/server/identity/oauth2/routes.py",
        "hubbub/server/identity/oauth2/signatures/id_token_signatures.py",
        "hubbub/server/talk/search/routes.py",
        "hubbub/server/play/subscriptions/jobs.py",
        "hubbub/server/play/subscriptions/payments/ledger.py",
        "hubbub/server/play/subscriptions/purchases.py",
        "hubbub/server/play/subscriptions/routes.py",
        "hubbub/server/play/webhook_events/jobs.py",
    }
