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

_NAMES_PATTERN: Final = r"\{[^}]*\}"
_IMPORT_PATTERN: Final = re.compile(rf'^import\s+(?:({_NAMES_PATTERN})\s+from\s+)?"(\.[^"]+)";\n?', re.MULTILINE)
_REEXPORT_PATTERN: Final = re.compile(rf'^export\s+({_NAMES_PATTERN})\s+from\s+"(\.[^"]+)";\n?', re.MULTILINE)
_EXPORT_PATTERN: Final = re.compile(
    rf"^export\s+(?=(?:async\s+)?(?:function\*?|class|const)\s+(\w+|{_NAMES_PATTERN}))", re.MULTILINE
)
_DYNAMIC_IMPORT_PATTERN: Final = re.compile(r'\bimport\("(\.[^"]+)"\)')
_UNSUPPORTED_PATTERN: Final = re.compile(r"^(?:import|export)\b.*|\bimport\.meta\b.*", re.MULTILINE)
_DOCUMENTATION_PATTERN: Final = re.compile(r"^[ \t]*/\*\*(?:[^*]|\*(?!/))*\*/\n", re.MULTILINE)
_TOP_LEVEL_AWAIT_PATTERN: Final = re.compile(r"^(?:const\s.*=\s)?await\s", re.MULTILINE)


class _Module(NamedTuple):
    """A module as part of the package."""

    code: str
    exports: dict[str, str]
    """JavaScript expressions by the names that the module exports."""
    own_names: list[str]
    """Names that the module exports and does not re-export from another module."""


def list_imported(sources: Mapping[str, str], entry_module: str) -> list[str]:
    """Return the names of a module and of all modules that it imports statically; imported modules come first.

    Raise ValueError if modules import each other in a circle.
    """
    ordered_names: list[str] = []
    import_chain: list[str] = []

    def visit(name: str) -> None:
        if name in ordered_names:
            return
        if name in import_chain:
            raise ValueError(f"modules import each other: {' -> '.join([*import_chain, name])}")
        import_chain.append(name)
        statements = [*_IMPORT_PATTERN.finditer(sources[name]), *_REEXPORT_PATTERN.finditer(sources[name])]
        for statement in sorted(statements, key=re.Match.start):
            visit(_resolve(name, statement[2]))
        import_chain.pop()
        ordered_names.append(name)

    visit(entry_module)
    return ordered_names


def build_package(sources: Mapping[str, str], entry_module: str) -> dict[str, str]:
    """Return the texts of the files, by name, with `entry_module` and all modules that it imports statically as a package.

    The files are the package (`PACKAGE`), a stub for each packaged module, and all other modules. Raise ValueError if
    modules import each other in a circle, export the same name, or have a form of import or export that packages do not
    support.
    """
    names = list_imported(sources, entry_module)
    variables = {name: f"${index}" for index, name in enumerate(names)}
    package_parts, expressions_by_export = [], dict[str, str]()
    files = {}
    for name in names:
        module = _convert_module(name, sources[name], variables)
        function = "await (async () => {" if _TOP_LEVEL_AWAIT_PATTERN.search(module.code) else "(() => {"
        returned_properties = ", ".join(
            key if key == expression else f"{key}: {expression}" for key, expression in module.exports.items()
        )
        package_parts.append(
            f"// {name}\nconst {variables[name]} = {function}\n{module.code}\nreturn {{ {returned_properties} }};\n}})();\n"
        )
        for own_name in module.own_names:
            if own_name in expressions_by_export:
                raise ValueError(f"{name} exports {own_name}, which another module exports too")
            expressions_by_export[own_name] = f"{variables[name]}.{own_name}"
        for export_name, expression in module.exports.items():
            expressions_by_export.setdefault(export_name, expression)
        files[name] = f'export {{ {", ".join(module.exports)} }} from "{_package_path(name)}";\n'
    # The variables have a prefix, because a name of the package must not hide a global name from the modules.
    package_parts += [f"const $_{name} = {expression};\n" for name, expression in expressions_by_export.items()]
    package_parts.append(f"export {{ {', '.join(f'$_{name} as {name}' for name in expressions_by_export)} }};\n")
    other_modules = {name: _use_package(name, text, variables) for name, text in sources.items() if name not in files}
    return files | other_modules | {PACKAGE: "".join(package_parts)}


def _use_package(name: str, code: str, packaged_modules: Mapping[str, str]) -> str:
    """Replace the imports of packaged modules by imports from the package, so that browsers request no stubs."""

    def replace_import(match: re.Match[str]) -> str:
        names, target = match.groups()
        if names is None or _resolve(name, target) not in packaged_modules:
            return match[0]
        return f'import {names} from "{_package_path(name)}";\n'

    return _IMPORT_PATTERN.sub(replace_import, code)


def _package_path(name: str) -> str:
    """Return the path of the package in an import of a module."""
    path = posixpath.relpath(PACKAGE, posixpath.dirname(name) or ".")
    return path if path.startswith(".") else f"./{path}"


def _convert_module(name: str, code: str, variables: Mapping[str, str]) -> _Module:
    """Replace imports by variables, and remove the keyword of exports and the documentation comments."""
    exports: dict[str, str] = {}

    def replace_import(match: re.Match[str]) -> str:
        names, target = match.groups()
        return f"const {names.replace(' as ', ': ')} = {variables[_resolve(name, target)]};\n" if names else ""

    def replace_reexport(match: re.Match[str]) -> str:
        names, target = match.groups()
        for name_and_alias in names.strip("{}").split(","):
            original, _, alias = name_and_alias.strip().partition(" as ")
            if original:
                exports[alias or original] = f"{variables[_resolve(name, target)]}.{original}"
        return ""

    code = _IMPORT_PATTERN.sub(replace_import, _DOCUMENTATION_PATTERN.sub("", code))
    code = _REEXPORT_PATTERN.sub(replace_reexport, code)
    declarations = _EXPORT_PATTERN.findall(code)
    own_names = [own_name for names in declarations for own_name in _declared_names(names)]
    code = _EXPORT_PATTERN.sub("", code)
    if unsupported_match := _UNSUPPORTED_PATTERN.search(code):
        raise ValueError(f"{name} cannot be packaged: {unsupported_match[0]}")
    code = _DYNAMIC_IMPORT_PATTERN.sub(lambda match: f'import("./{_resolve(name, match[1])}")', code)
    return _Module(code, {own_name: own_name for own_name in own_names} | exports, own_names)


def _declared_names(pattern: str) -> list[str]:
    """Return the names of a declaration: a name, or a pattern such as `{ USER: USER_COMMAND }`."""
    if not pattern.startswith("{"):
        return [pattern]
    properties = (property_text.strip() for property_text in pattern.strip("{}").split(","))
    return [property_text.partition(":")[2].strip() or property_text for property_text in properties if property_text]


def _resolve(name: str, target: str) -> str:
    """Return the name of the module that the module `name` imports by the relative path `target`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
