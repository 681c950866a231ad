"""Generate docs/settings.md, the reference of all settings, from the classes of the configuration.

Run `python -m tools.settings_reference` to write the page; a test compares it with the classes.
"""

import re
from pathlib import Path
from typing import Any, Final

import msgspec

from hubbub.server import cli
from hubbub.server.core import config as settings
from hubbub.server.core.config import Config
from hubbub.server.core.login_config import LoginProviderConfig
from hubbub.server.transports import docstrings

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
PAGE: Final = DOCS / "settings.md"

INTRODUCTION: Final = """\
# Settings

All settings of `hubbub serve` and `hubbub dev`. `make generate` writes this page from the code.
[Operating Hubbub](operating.md#change-settings) explains the settings by subject, and in which order flag, environment and file
apply.

Replace `_` and `.` of a setting by `-` to get its flag: `gateway.replay_ms` is `--gateway-replay-ms`. In the TOML file it is
`replay_ms` under `[gateway]`. In flags and in the environment, values of a list are separated by commas.
"""
TABLE_HEAD: Final = "| Setting | Values | Default | Environment variable |\n|---|---|---|---|\n"
SERVE_DEFAULT_PATTERN: Final = re.compile(r" `hubbub serve`: [^.]+\.")
"""Default of `hubbub serve` in a docstring, which is in the column of defaults."""


def generate_page() -> str:
    """Return the text of the page."""
    sections = [INTRODUCTION, _section("General", Config, "", [key for key in settings.KEYS if "." not in key])]
    for group in msgspec.structs.fields(Config):
        kind = group.type
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            keys = [key for key in settings.KEYS if key.startswith(f"{group.name}.")]
            sections.append(_section(group.name, kind, f"{_describe_class(kind)}\n\n", keys))
    sections.append(_provider_section())
    return "\n".join(sections)


def _section(title: str, kind: type, introduction: str, keys: list[str]) -> str:
    texts = docstrings.attribute_docstrings(kind)
    rows = []
    for key in keys:
        description = _describe(texts.get(key.rpartition(".")[2]))
        if not description:
            raise SystemExit(f"{kind.__name__}.{key.rpartition('.')[2]} has no docstring")
        if key in cli.REHEARSAL_SETTINGS:
            description += " `hubbub dev` only."
        variable = settings.ENVIRONMENT_PREFIX + key.upper().replace(".", "_")
        cells = [f"`{key}`<br>{description}", settings.describe_allowed(key), _describe_default(key), f"`{variable}`"]
        rows.append(_row(cells))
    heading = title if title == "General" else f"`{title}`"
    return f"## {heading}\n\n{introduction}{TABLE_HEAD}{''.join(rows)}"


def _provider_section() -> str:
    texts = docstrings.attribute_docstrings(LoginProviderConfig)
    rows = "".join(
        _row([f"`{field.name}`", _describe(texts.get(field.name)), _describe_field_default(field)])
        for field in msgspec.structs.fields(LoginProviderConfig)
    )
    introduction = (
        f"{_describe_class(LoginProviderConfig)} [Login providers](operating.md#login-providers) has an example.\n\n"
    )
    return f"## `[[login.providers]]`\n\n{introduction}| Field | Meaning | Default |\n|---|---|---|\n{rows}"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _describe_class(kind: type) -> str:
    return _describe(docstrings.summary(kind))


def _describe(spans: Any) -> str:
    """Return a docstring as one line of Markdown, in the terms of the configuration file."""
    text = " ".join(docstrings.markdown(spans or ()).split())
    return SERVE_DEFAULT_PATTERN.sub("", re.sub(r"\bNone\b", "no value", text))


def _describe_default(key: str) -> str:
    serve = _default_of(key, cli.SERVE_DEFAULTS)
    dev = _default_of(key, cli.DEV_DEFAULTS)
    if key in cli.REHEARSAL_SETTINGS:
        return dev
    return serve if serve == dev else f"{serve}; {dev} in `hubbub dev`"


def _default_of(key: str, defaults: dict[str, Any]) -> str:
    return _format_value(defaults[key]) if key in defaults else _format_value(settings.default_text(key))


def _describe_field_default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT:
        return "required"
    return _format_value(field.default if field.default is not msgspec.NODEFAULT else None)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple | list | frozenset):
        value = ",".join(sorted(value) if isinstance(value, frozenset) else value)
    return "none" if value in (None, "") else f"`{value}`"


def main() -> None:
    """Write the page."""
    PAGE.write_text(generate_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
