"""Citations of specification sections and decisions resolve, links between documents work, and decision pages are short."""

import re
from collections.abc import Iterator

from tests.contract.language import ROOT

SPEC = ROOT / "docs" / "spec"
_SUFFIXES = frozenset(
    {".py", ".js", ".mjs", ".html", ".css", ".sql", ".toml", ".yaml", ".yml", ".conf", ".service", ".md"}
)
_SECTION_PATTERN = re.compile(r"(?<!\w)spec/([\w-]+)\.md(?:#([\w.-]*\w))?")
_DECISION_PATTERN = re.compile(r"decisions/(\d{4})")
_BARE_CITATION_PATTERN = re.compile(
    r"(?<![\w/\"-])(?:http|gateway|sdk|voice|rpc|activities|webhooks-and-interactions|dated-changes|clients)\.md \d"
)


def sources() -> Iterator[tuple[str, str]]:
    """Yield the path and text of every source file and document."""
    paths = [ROOT / name for name in ("Makefile", "Dockerfile", "pyproject.toml", "compose.yaml")]
    for folder in ("src", "tests", "bench", "examples", "deploy", "docs", ".github"):
        paths += sorted((ROOT / folder).rglob("*"))
    for path in paths:
        if (path.suffix in _SUFFIXES or path.parent == ROOT) and "node_modules" not in path.parts:
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_cited_sections_exist() -> None:
    anchors = {path.stem: set(re.findall(r'<a id="([^"]+)">', path.read_text())) for path in SPEC.glob("*.md")}
    citation_count, missing_sections = 0, []
    for path, text in sources():
        for match in _SECTION_PATTERN.finditer(text):
            citation_count += 1
            # Documents may refer to a whole page.
            is_page = match[2] is None and path.startswith("docs/")
            if match[1] not in anchors or not (is_page or match[2] in anchors[match[1]]):
                missing_sections.append(f"{path}: {match[0]}")

    assert not missing_sections, "\n".join(missing_sections)
    assert citation_count > 500


def test_cited_decisions_exist() -> None:
    numbers = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")}
    missing_decisions = [
        f"{path}: {match[0]}"
        for path, text in sources()
        for match in _DECISION_PATTERN.finditer(text)
        if match[1] not in numbers
    ]

    assert not missing_decisions, "\n".join(missing_decisions)


def test_sections_are_cited_with_their_file_and_anchor() -> None:
    bare_citations = [
        f"{path}: {match[0]}"
        for path, text in sources()
        if not path.startswith("docs/")
        for match in _BARE_CITATION_PATTERN.finditer(text)
    ]

    assert not bare_citations, "\n".join(bare_citations)


def test_anchors_match_the_headings_below_them() -> None:
    wrong_anchors = []
    for path in SPEC.glob("*.md"):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            match = re.fullmatch(r'<a id="([\d.]+)"></a>', line)
            if match and not re.match(rf"#+ {re.escape(match[1])}\.? ", lines[number + 1]):
                wrong_anchors.append(f"{path.name}:{number + 1}: {lines[number + 1]}")

    assert not wrong_anchors, "\n".join(wrong_anchors)


def test_links_between_documents_resolve() -> None:
    broken_links = []
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                broken_links.append(f"{page.relative_to(ROOT)}: {target}")

    assert not broken_links, "\n".join(broken_links)


DECISION_LINES_MAX = 32
DECISION_WORDS_MAX = 450


def test_decision_pages_are_short_and_begin_with_the_decision() -> None:
    problems = []
    for path in sorted((ROOT / "docs" / "decisions").glob("0*.md")):
        lines, words = path.read_text().splitlines(), path.read_text().split()
        if len(words) > DECISION_WORDS_MAX:
            problems.append(f"{path.name}: {len(words)} words, at most {DECISION_WORDS_MAX}: move rules to docs/spec")
        if len(lines) > DECISION_LINES_MAX:
            problems.append(f"{path.name}: {len(lines)} lines, at most {DECISION_LINES_MAX}: move rules to docs/spec")
        if not lines[2].startswith("**Decision"):
            problems.append(f"{path.name}: begin with **Decision.**")

    assert not problems, "\n".join(problems)


def test_the_index_lists_every_decision_once_in_order() -> None:
    folder = ROOT / "docs" / "decisions"
    listed_pages = re.findall(r"^\| \[\d{4}\]\(([\w-]+\.md)\) \|", (folder / "README.md").read_text(), re.MULTILINE)
    assert listed_pages == sorted(path.name for path in folder.glob("0*.md"))
