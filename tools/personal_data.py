"""Generate docs/personal-data.md, the list of the stored columns that refer to users, from the declarations of the slices.

Run `python -m tools.personal_data` to write the page; a test compares it with the declarations.
"""

import importlib
import pkgutil
from pathlib import Path
from typing import Final

from hubbub import server
from hubbub.server.core import personal_data
from hubbub.server.core.personal_data import Erasure, PersonalColumn

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "personal-data.md"

INTRODUCTION: Final = """\
# Personal data by table

Every stored column that contains IDs of users, what the deletion of an account does to its rows, and the section of the data
export that has them. `make generate` writes this page from the code. [Privacy](privacy.md) explains the data by subject.
"""

TITLES: Final = {
    Erasure.DELETED: (
        "Deleted with the account",
        "The rows are deleted with the account, by the user or by an operator.",
    ),
    Erasure.WRITTEN: (
        "Deleted with everything that the user wrote",
        'An operator\'s deletion deletes these rows. If users delete their accounts, the rows stay as those of "Deleted User".',
    ),
    Erasure.CLEARED: ("Kept without the user", "The rows stay, without the ID of the user."),
    Erasure.EXPIRES: ("Deleted soon", "The rows end by themselves."),
    Erasure.KEPT: ("Kept", "The rows stay. They contain the ID of the user, but no name."),
    Erasure.REJECTED: ("Rejected", "The account cannot be deleted while it has such rows."),
}
"""Heading and introduction of each table of the page."""


def collect() -> list[PersonalColumn]:
    """Return the declarations of `core` and of all slices, ordered by column."""
    columns = list(personal_data.PERSONAL_DATA)
    for module_info in pkgutil.walk_packages(server.__path__, f"{server.__name__}."):
        if module_info.name.endswith(".store"):
            columns += getattr(importlib.import_module(module_info.name), "PERSONAL_DATA", ())
    return sorted(columns, key=lambda column: column.column)


def generate_page() -> str:
    """Return the text of the page."""
    columns = collect()
    sections = [INTRODUCTION]
    for erasure, (title, introduction) in TITLES.items():
        rows = [_row(column) for column in columns if column.erasure == erasure]
        table = "| Column | Note | Section of the export |\n|---|---|---|\n" + "".join(rows)
        sections.append(f"## {title}\n\n{introduction}\n\n{table}")
    return "\n".join(sections)


def _row(column: PersonalColumn) -> str:
    section = f"`{column.export}`" if column.export else f"None: {column.omission[0].lower()}{column.omission[1:]}"
    return f"| `{column.column}` | {column.reason} | {section} |\n"


if __name__ == "__main__":
    PAGE.write_text(generate_page(), encoding="utf-8")
