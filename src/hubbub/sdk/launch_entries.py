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

UNQUOTED_PATTERN: Final = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""Matches an argument that does not need quotes."""
CONTROL_CHARACTER_PATTERN: Final = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE_SEQUENCES: Final = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
"""Characters by the letter that represents them after a backslash."""


class LaunchCommand(NamedTuple):
    """Command line and working directory of a game."""

    arguments: list[str]
    """Path of the program and its arguments."""
    working_directory: str | None = None
    """Working directory, or None for the default."""


def register_command(application_id: int, command: str) -> bool:
    """Write the entry for a shell command; an empty command is the current program. Return False on failure."""
    if not command:
        return _write_entry(application_id, _current_program(), "%u")
    try:
        arguments = shlex.split(command)
    except ValueError:
        return False
    if not arguments or CONTROL_CHARACTER_PATTERN.search(command):
        return False
    # The launcher has another working directory and may have another PATH, so store an absolute path.
    program = os.path.abspath(arguments[0]) if "/" in arguments[0] else shutil.which(arguments[0])
    return program is not None and _write_entry(application_id, LaunchCommand([program, *arguments[1:]]), "%u")


def register_steam(application_id: int, steam_app_id: int) -> bool:
    """Write an entry that launches the game through Steam, without the URL to open. Return False on failure."""
    return _write_entry(
        application_id, LaunchCommand([shutil.which("xdg-open") or "xdg-open", f"steam://rungameid/{steam_app_id}"]), ""
    )


def find_launch(application_id: str) -> LaunchCommand | None:
    """Return the launch command of a game; None if there is no entry, the ID is not a number, or the system is not Linux."""
    if sys.platform != "linux" or not (application_id.isascii() and application_id.isdecimal()):
        return None
    try:
        text = _entry_path(int(application_id)).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    keys = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    arguments = list(_split_arguments(_unescape(keys.get("Exec", ""))))
    return LaunchCommand(arguments, _unescape(keys.get("Path", "")) or None) if arguments else None


def _current_program() -> LaunchCommand:
    """Return the command that started the current process, with absolute paths of the interpreter and the script."""
    script = sys.argv[0] if sys.argv else ""
    arguments = [
        os.path.abspath(argument) if argument == script and os.path.isfile(argument) else argument
        for argument in sys.orig_argv[1:]
    ]
    # `python -m game` finds its module in the current directory.
    return LaunchCommand([os.path.abspath(sys.executable), *arguments], os.getcwd())


def _entry_path(application_id: int) -> Path:
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "applications" / f"hubbub-{application_id}.desktop"


def _write_entry(application_id: int, launch: LaunchCommand, field_code: str) -> bool:
    """Write the desktop entry of a game; return False if the command cannot be represented or written.

    `field_code` is "%u" to append the URL to the command, or empty."""
    texts: Sequence[str] = [*launch.arguments, launch.working_directory or ""]
    if sys.platform != "linux" or any(CONTROL_CHARACTER_PATTERN.search(text) for text in texts):
        return False
    # The Desktop Entry Specification does not allow an equals sign in the program's path.
    if "=" in launch.arguments[0]:
        return False
    exec_value = " ".join([*map(_quote, launch.arguments), *([field_code] if field_code else [])])
    lines = ["[Desktop Entry]", "Type=Application", f"Name=Game {application_id}", f"Exec={_escape(exec_value)}"]
    if launch.working_directory:
        lines.append(f"Path={_escape(launch.working_directory)}")
    lines += ["NoDisplay=true", f"MimeType=x-scheme-handler/hubbub-{application_id};", ""]
    path = _entry_path(application_id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines), encoding="utf-8")
    except (OSError, UnicodeError):
        return False
    return True


def _quote(argument: str) -> str:
    """Quote an argument of Exec, and double percent signs, which would start a field code."""
    argument = argument.replace("%", "%%")
    if UNQUOTED_PATTERN.fullmatch(argument):
        return argument
    return '"' + re.sub(r'(["`$\\])', r"\\\1", argument) + '"'


def _escape(value: str) -> str:
    """Escape the value of a key, which is parsed as a string before it is parsed as a command."""
    escaped_text = value.replace("\\", "\\\\")
    return "\\s" + escaped_text[1:] if escaped_text.startswith(" ") else escaped_text


def _unescape(value: str) -> str:
    """Replace the escape sequences in the value of a key."""
    return re.sub(r"\\([sntr\\])", lambda match: _ESCAPE_SEQUENCES[match[1]], value)


def _split_arguments(exec_value: str) -> Iterator[str]:
    """Yield the arguments of Exec without its field codes, because there is no URL to pass."""
    for unquoted_text, quoted_text in re.findall(r'([^\s"]+)|"((?:[^"\\]|\\.)*)"', exec_value):
        argument = unquoted_text or re.sub(r"\\(.)", r"\1", quoted_text)
        argument, raw_argument = (
            re.sub(r"%%|%[a-zA-Z]", lambda match: "%" if match[0] == "%%" else "", argument),
            argument,
        )
        if argument or not raw_argument:
            yield argument
