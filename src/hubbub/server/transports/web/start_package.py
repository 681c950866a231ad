"""Package of the modules that the chat client needs to start: one script instead of more than a hundred (decisions/0151).

The package runs each module in a function of its own, in the order in which a browser would. Modules that are loaded later
import from the package. Stubs with the names of the packaged modules re-export their names. Regular expressions find the
imports and exports, which start at the beginning of a line, the dynamic imports, a top-level await, and documentation
comments, which the package leaves out.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

PACKAGE: Final = "start.js"
"""Name of the package, in the folder of the modules."""

_NAMES: Final = r"\{[^}]*\}"
_IMPORT: Final = re.compile(rf'^import\s+(?:({_NAMES})\s+from\s+)?"(\.[^"]+)";\n?', re.MULTILINE)
_REEXPORT: Final = re.compile(rf'^export\s+({_NAMES})\s+from\s+"(\.[^"]+)";\n?', re.MULTILINE)
_EXPORT: Final = re.compile(rf"^export\s+(?=(?:async\s+)?(?:function\*?|class|const)\s+(\w+|{_NAMES}))", re.MULTILINE)
_DYNAMIC_IMPORT: Final = re.compile(r'\bimport\("(\.[^"]+)"\)')
_UNSUPPORTED: Final = re.compile(r"^(?:import|export)\b.*|\bimport\.meta\b.*", re.MULTILINE)
_DOCUMENTATION: Final = re.compile(r"^[ \t]*/\*\*(?:[^*]|\*(?!/))*\*/\n", re.MULTILINE)
_TOP_LEVEL_AWAIT: Final = re.compile(r"^(?:const\s.*=\s)?await\s", re.MULTILINE)


class _Module(NamedTuple):
    """A module as part of the package."""

    code: str
    exports: dict[str, str]
    """JavaScript expressions by the names that the module exports."""
    own_names: list[str]
    """Names that the module exports and does not re-export from another module."""


def list_imported(sources: Mapping[str, str], entry: str) -> list[str]:
    """Return the names of a module and of all modules that it imports statically; imported modules come first.

    Raise ValueError if modules import each other in a circle.
    """
    ordered: list[str] = []
    open_names: list[str] = []

    def visit(name: str) -> None:
        if name in ordered:
            return
        if name in open_names:
            raise ValueError(f"modules import each other: {' -> '.join([*open_names, name])}")
        open_names.append(name)
        statements = [*_IMPORT.finditer(sources[name]), *_REEXPORT.finditer(sources[name])]
        for statement in sorted(statements, key=re.Match.start):
            visit(_resolve(name, statement[2]))
        open_names.pop()
        ordered.append(name)

    visit(entry)
    return ordered


def build_package(sources: Mapping[str, str], entry: str) -> dict[str, str]:
    """Return the texts of the files, by name, with `entry` and all modules that it imports statically as a package.

    The files are the package (`PACKAGE`), a stub for each packaged module, and all other modules. Raise ValueError if
    modules import each other in a circle, export the same name, or have a form of import or export that packages do not
    support.
    """
    names = list_imported(sources, entry)
    variables = {name: f"${index}" for index, name in enumerate(names)}
    parts, exported = [], dict[str, str]()
    files = {}
    for name in names:
        module = _convert(name, sources[name], variables)
        function = "await (async () => {" if _TOP_LEVEL_AWAIT.search(module.code) else "(() => {"
        returned = ", ".join(key if key == value else f"{key}: {value}" for key, value in module.exports.items())
        parts.append(
            f"// {name}\nconst {variables[name]} = {function}\n{module.code}\nreturn {{ {returned} }};\n}})();\n"
        )
        for own_name in module.own_names:
            if own_name in exported:
                raise ValueError(f"{name} exports {own_name}, which another module exports too")
            exported[own_name] = f"{variables[name]}.{own_name}"
        for alias, value in module.exports.items():
            exported.setdefault(alias, value)
        files[name] = f'export {{ {", ".join(module.exports)} }} from "{_package_path(name)}";\n'
    # The variables have a prefix, because a name of the package must not hide a global name from the modules.
    parts += [f"const $_{name} = {value};\n" for name, value in exported.items()]
    parts.append(f"export {{ {', '.join(f'$_{name} as {name}' for name in exported)} }};\n")
    others = {name: _use_package(name, text, variables) for name, text in sources.items() if name not in files}
    return files | others | {PACKAGE: "".join(parts)}


def _use_package(name: str, text: str, packaged: Mapping[str, str]) -> str:
    """Replace the imports of packaged modules by imports from the package, so that browsers request no stubs."""

    def replace_import(match: re.Match[str]) -> str:
        names, target = match.groups()
        if names is None or _resolve(name, target) not in packaged:
            return match[0]
        return f'import {names} from "{_package_path(name)}";\n'

    return _IMPORT.sub(replace_import, text)


def _package_path(name: str) -> str:
    """Return the path of the package in an import of a module."""
    path = posixpath.relpath(PACKAGE, posixpath.dirname(name) or ".")
    return path if path.startswith(".") else f"./{path}"


def _convert(name: str, text: str, variables: Mapping[str, str]) -> _Module:
    """Replace imports by variables, and remove the keyword of exports and the documentation comments."""
    exports: dict[str, str] = {}

    def replace_import(match: re.Match[str]) -> str:
        names, target = match.groups()
        return f"const {names.replace(' as ', ': ')} = {variables[_resolve(name, target)]};\n" if names else ""

    def replace_reexport(match: re.Match[str]) -> str:
        names, target = match.groups()
        for entry in names.strip("{}").split(","):
            original, _, alias = entry.strip().partition(" as ")
            if original:
                exports[alias or original] = f"{variables[_resolve(name, target)]}.{original}"
        return ""

    text = _IMPORT.sub(replace_import, _DOCUMENTATION.sub("", text))
    text = _REEXPORT.sub(replace_reexport, text)
    declared = _EXPORT.findall(text)
    own_names = [own_name for names in declared for own_name in _declared_names(names)]
    text = _EXPORT.sub("", text)
    if unsupported := _UNSUPPORTED.search(text):
        raise ValueError(f"{name} cannot be packaged: {unsupported[0]}")
    text = _DYNAMIC_IMPORT.sub(lambda match: f'import("./{_resolve(name, match[1])}")', text)
    return _Module(text, {own_name: own_name for own_name in own_names} | exports, own_names)


def _declared_names(pattern: str) -> list[str]:
    """Return the names of a declaration: a name, or a pattern such as `{ USER: USER_COMMAND }`."""
    if not pattern.startswith("{"):
        return [pattern]
    entries = (entry.strip() for entry in pattern.strip("{}").split(","))
    return [entry.partition(":")[2].strip() or entry for entry in entries if entry]


def _resolve(name: str, target: str) -> str:
    """Return the name of the module that the module `name` imports by the relative path `target`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
