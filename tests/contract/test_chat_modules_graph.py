"""Imports between the modules of the chat client: no cycles, folders import only folders below them, unique exports."""

import posixpath
import re
from collections import defaultdict
from graphlib import TopologicalSorter

from hubbub.server.transports.web.templating import PACKAGE_DIR

APP = PACKAGE_DIR / "static" / "app"

FOLDERS = (
    "generated",
    "network",
    "state",
    "ui",
    "rehearsal",
    "content",
    "content/emoji",
    "voice",
    "components",
    "commands",
    "activities/rpc",
    "activities",
    "games/activity",
    "games",
    "reports",
    "users",
    "notifications",
    "calls",
    "settings/forms",
    "settings/permissions",
    "settings/channels",
    "settings/roles",
    "settings/members",
    "settings/invites",
    "settings/joining",
    "settings/expressions",
    "settings/events",
    "settings/moderation",
    "settings/audit",
    "settings/integrations",
    "settings",
    "account",
    "guilds",
    "channels",
    "messages",
    "composer",
    "finding",
    "finding/search",
    "",
)
"""The folders from bottom to top; the last one is the root. A module imports its own folder and the folders before it."""

PREFIX_GROUP_MAX = 2
"""Maximum number of modules in a folder whose names begin with the same word; more modules form a folder of that name."""

CLASSIC_SCRIPTS = {"bootstrap.js", "voice/frame_worker.js", "voice/av1_frames.js", "generated/worker_values.js"}
"""Scripts that are not modules: the page loads `bootstrap.js` before the modules, and a call starts `frame_worker.js`,
which loads `av1_frames.js` and `worker_values.js`."""

THIRD_PARTY_MODULES = {"third_party/highlight.js"}
"""Modules of other projects, which `tools/third_party.py` fetches."""

TRANSLATION = "ui/translation.js"
"""The module with the translations, which imports nothing. Modules of every folder may import it."""

_COMMENT_PATTERN = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)
_STATIC_IMPORT_PATTERN = re.compile(r'^(?:import|(?:import|export) [^;"]+ from) "([^"]+)";$', re.MULTILINE)
_DYNAMIC_IMPORT_PATTERN = re.compile(r"\bimport\(([^)]*)\)")
_NAMED_IMPORT_PATTERN = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";$', re.MULTILINE)
_EXPORT_GROUP_PATTERN = re.compile(r"^export (?:const )?\{([^}]*)\}", re.MULTILINE)
_EXPORT_PATTERN = re.compile(r"^export (?:async )?(?:function|const|class|let) (\w+)", re.MULTILINE)


def _sources() -> dict[str, str]:
    """Return the code of every module without comments, by its path in the app folder."""
    return {
        path.relative_to(APP).as_posix(): _COMMENT_PATTERN.sub("", path.read_text())
        for path in sorted(APP.rglob("*.js"))
    }


def _imports() -> dict[str, set[str]]:
    """Return the modules that each module imports, at load time or later."""
    imports = {}
    for module, code in _sources().items():
        targets = _STATIC_IMPORT_PATTERN.findall(code)
        for argument in _DYNAMIC_IMPORT_PATTERN.findall(code):
            assert re.fullmatch(r'"[^"]+"', argument), f"{module} imports a computed path: {argument}"
            targets.append(argument.strip('"'))
        paths = {posixpath.normpath(posixpath.join(posixpath.dirname(module), target)) for target in targets}
        imports[module] = paths - THIRD_PARTY_MODULES
    return imports


def test_every_import_is_a_relative_path_of_an_existing_module() -> None:
    imports = _imports()
    unknown_imports = [
        f"{module} imports {target}" for module in imports for target in imports[module] - imports.keys()
    ]
    assert unknown_imports == []
    assert imports["main.js"], "the parser found no imports"


def test_imported_names_are_exported() -> None:
    sources = _sources()
    unknown_imports = []
    for module, code in sources.items():
        for names, path in _NAMED_IMPORT_PATTERN.findall(code):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(module), path))
            if target not in sources:
                continue
            exported_names = {*_EXPORT_PATTERN.findall(sources[target])}
            for group in _EXPORT_GROUP_PATTERN.findall(sources[target]):
                exported_names |= {re.split(r" as |: ", name.strip())[-1] for name in group.split(",")}
            imported_names = {name.strip().split(" as ")[0] for name in names.split(",") if name.strip()}
            unknown_imports += [f"{module} imports {name} from {path}" for name in imported_names - exported_names]
    assert unknown_imports == []


def test_modules_have_no_import_cycles() -> None:
    TopologicalSorter(_imports()).prepare()


def test_folders_import_only_folders_below_them() -> None:
    imports = _imports()
    order = {folder: index for index, folder in enumerate(FOLDERS)}
    assert {posixpath.dirname(module) for module in imports} == set(FOLDERS)
    upward = [
        f"{module} imports {target}"
        for module in imports
        for target in sorted(imports[module])
        if order[posixpath.dirname(target)] > order[posixpath.dirname(module)] and target != TRANSLATION
    ]
    assert upward == []
    assert imports[TRANSLATION] == set()


def test_modules_with_a_common_prefix_are_in_a_folder() -> None:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for module in _sources():
        prefix, separator, _ = posixpath.basename(module).partition("_")
        if separator:
            groups[posixpath.join(posixpath.dirname(module), prefix)].append(module)
    assert {prefix: modules for prefix, modules in groups.items() if len(modules) > PREFIX_GROUP_MAX} == {}


def test_network_and_ui_import_only_their_own_modules() -> None:
    imports = _imports()
    folders = {
        folder: {
            posixpath.dirname(target)
            for module in imports
            if posixpath.dirname(module) == folder
            for target in imports[module] - {TRANSLATION}
        }
        for folder in ("network", "ui")
    }
    assert folders == {"network": {"generated", "network"}, "ui": {"ui"}}


def test_every_module_is_imported() -> None:
    imports = _imports()
    imported_names = set().union(*imports.values())
    assert set(imports) - imported_names - CLASSIC_SCRIPTS == {"main.js", "rehearsal/main.js"}


def test_exported_names_are_unique() -> None:
    modules: defaultdict[str, list[str]] = defaultdict(list)
    for module, code in _sources().items():
        for name in _EXPORT_PATTERN.findall(code):
            modules[name].append(module)
    assert {name: exporters for name, exporters in modules.items() if len(exporters) > 1} == {}
