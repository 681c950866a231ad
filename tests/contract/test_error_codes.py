"""Every code is raised somewhere, or there is a reason why not."""

import re
from pathlib import Path

import hubbub
from hubbub.protocol import errors

SOURCES = Path(hubbub.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "decisions" / "0054-codes-that-nothing-raises.md"


def used() -> set[int]:
    """The codes that the server names, and those that a limit answers with."""
    server = "\n".join(path.read_text("utf-8") for path in sorted((SOURCES / "server").rglob("*.py")))
    limits = "\n".join(path.read_text("utf-8") for path in sorted((SOURCES / "protocol").rglob("*.py")))
    named = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", server)) | set(re.findall(r"\bcode=errors\.([A-Z0-9_]+)", limits))
    return {
        kind.code
        for name, kind in vars(errors).items()
        if isinstance(kind, errors.ErrorCode) and kind.code and name in named
    }


def test_every_code_is_used_or_has_a_reason() -> None:
    declared = {kind.code for kind in vars(errors).values() if isinstance(kind, errors.ErrorCode) and kind.code}
    listed = PAGE.read_text("utf-8").partition("**Choice: never.**")[2]
    reasons = {int(code): reason for code, reason in re.findall(r"^\| (\d+) \| (.+) \|$", listed, re.MULTILINE)}

    assert sorted(declared - used() - reasons.keys()) == [], "neither raised nor explained"
    assert sorted(reasons.keys() & used()) == [], "raised, and yet explained away"
    assert sorted(reasons.keys() - declared) == [], "explained, and not in the table"
