"""Every error code is raised by the server, or spec/http.md#1.9.1 says why it is never raised."""

import re
from pathlib import Path

import hubbub
from hubbub.protocol import errors

SOURCES = Path(hubbub.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "spec" / "http.md"


def used_codes() -> set[int]:
    """Return the codes that the server or a declared limit refers to."""
    server_source = "\n".join(path.read_text("utf-8") for path in sorted((SOURCES / "server").rglob("*.py")))
    protocol_source = "\n".join(path.read_text("utf-8") for path in sorted((SOURCES / "protocol").rglob("*.py")))
    used_names = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", server_source)) | set(
        re.findall(r"\bcode=errors\.([A-Z0-9_]+)", protocol_source)
    )
    return {
        kind.code
        for name, kind in vars(errors).items()
        if isinstance(kind, errors.ErrorCode) and kind.code and name in used_names
    }


def test_every_code_is_used_or_has_a_reason() -> None:
    declared_codes = {kind.code for kind in vars(errors).values() if isinstance(kind, errors.ErrorCode) and kind.code}
    reasons_section = PAGE.read_text("utf-8").partition('<a id="1.9.1"></a>')[2].partition("<a id=")[0]
    reasons = {
        int(code): reason for code, reason in re.findall(r"^\| (\d+) \| (.+) \|$", reasons_section, re.MULTILINE)
    }

    assert sorted(declared_codes - used_codes() - reasons.keys()) == [], (
        "neither raised nor listed in spec/http.md#1.9.1"
    )
    assert sorted(reasons.keys() & used_codes()) == [], "raised, but listed as never raised"
    assert sorted(reasons.keys() - declared_codes) == [], "listed, but not declared"


def test_every_missing_permission_is_raised_with_its_cause() -> None:
    paths_without_cause = [
        path.relative_to(SOURCES).as_posix()
        for path in sorted((SOURCES / "server").rglob("*.py"))
        if re.search(r"\bMISSING_PERMISSIONS\(", path.read_text("utf-8"))
    ]
    assert paths_without_cause == [], (
        "raise PermissionDenied (server/core/denials.py), so that a rehearsal can name the cause"
    )
