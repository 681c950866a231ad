"""Desktop entries with the launch command of a game, written by the game and read by the chat client (spec/sdk.md#10.2).

The files follow the Desktop Entry Specification, so that the system launcher opens `hubbub-<application id>:` URLs with
the game.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

UNQUOTED: Final = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""Matches an argument that does not need quotes."""
CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPED: Final = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


class LaunchCommand(NamedTuple):
    """Command line and working directory of a game."""

    arguments: list[str]
    """Path of the program and its arguments."""
    working_directory: str | None = None
    """Working directory, or None for the default."""


def register_command(application_id: int, command: str) -> bool:
    """Write the entry for a shell command; an empty command is the current program. Return False on failure."""
    if not command:
        return _write_entry(application_id, _this_program(), "%u")
    try:
        arguments = shlex.split(command)
    except ValueError:
        return False
    if not arguments or CONTROL_CHARACTERS.search(command):
        return False
    # The launcher has another working directory and may have another PATH, so store an absolute path.
    program = os.path.abspath(arguments[0]) if "/" in arguments[0] else shutil.which(arguments[0])
    return program is not None and _write_entry(application_id, LaunchCommand([program, *arguments[1:]]), "%u")


def register_steam(application_id: int, steam_app_id: int) -> bool:
    """Write an entry that launches the game through Steam, which accepts no other URL. Return False on failure."""
    return _write_entry(
        application_id, LaunchCommand([shutil.which("xdg-open") or "xdg-open", f"steam://rungameid/{steam_app_id}"]), ""
    )


def find_launch(application_id: str) -> LaunchCommand | None:
    """Return the launch command of a game, or None if there is no entry or the ID is not a number."""
    if sys.platform != "linux" or not (application_id.isascii() and application_id.isdecimal()):
        return None
    try:
        text = _path(int(application_id)).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    keys = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    arguments = list(_split(_unescaped(keys.get("Exec", ""))))
    return LaunchCommand(arguments, _unescaped(keys.get("Path", "")) or None) if arguments else None


def _this_program() -> LaunchCommand:
    script = sys.argv[0] if sys.argv else ""
    rest = [os.path.abspath(each) if each == script and os.path.isfile(each) else each for each in sys.orig_argv[1:]]
    # `python -m game` finds its module in the current directory.
    return LaunchCommand([os.path.abspath(sys.executable), *rest], os.getcwd())


def _path(application_id: int) -> Path:
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "applications" / f"hubbub-{application_id}.desktop"


def _write_entry(application_id: int, launch: LaunchCommand, field: str) -> bool:
    texts: Sequence[str] = [*launch.arguments, launch.working_directory or ""]
    if sys.platform != "linux" or any(CONTROL_CHARACTERS.search(each) for each in texts):
        return False
    # The Desktop Entry Specification does not allow an equals sign in the program's path.
    if "=" in launch.arguments[0]:
        return False
    run = " ".join([*map(_quoted, launch.arguments), *([field] if field else [])])
    lines = ["[Desktop Entry]", "Type=Application", f"Name=Game {application_id}", f"Exec={_escaped(run)}"]
    if launch.working_directory:
        lines.append(f"Path={_escaped(launch.working_directory)}")
    lines += ["NoDisplay=true", f"MimeType=x-scheme-handler/hubbub-{application_id};", ""]
    path = _path(application_id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines), encoding="utf-8")
    except (OSError, UnicodeError):
        return False
    return True


def _quoted(argument: str) -> str:
    """Quote an argument of Exec, and double percent signs, which would start a field code."""
    argument = argument.replace("%", "%%")
    if UNQUOTED.fullmatch(argument):
        return argument
    return '"' + re.sub(r'(["`$\\])', r"\\\1", argument) + '"'


def _escaped(value: str) -> str:
    """Escape the value of a key, which is parsed as a string before it is parsed as a command."""
    escaped = value.replace("\\", "\\\\")
    return "\\s" + escaped[1:] if escaped.startswith(" ") else escaped


def _unescaped(value: str) -> str:
    return re.sub(r"\\([sntr\\])", lambda found: _ESCAPED[found[1]], value)


def _split(run: str) -> Iterator[str]:
    """Yield the arguments of Exec without its field codes, because there is no URL to pass."""
    for bare, quoted in re.findall(r'([^\s"]+)|"((?:[^"\\]|\\.)*)"', run):
        argument = bare or re.sub(r"\\(.)", r"\1", quoted)
        argument, fields = re.sub(r"%%|%[a-zA-Z]", lambda found: "%" if found[0] == "%%" else "", argument), argument
        if argument or not fields:
            yield argument
