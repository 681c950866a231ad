"""Every place that names the version of Hubbub names the same one, and the changelog has a section for it."""

import datetime
import json
import re
import tomllib

import pytest
import yaml

import hubbub
from hubbub.sdk.api import USER_AGENT
from hubbub.server.core import migrations
from tests.contract.language import ROOT

VERSION = hubbub.__version__
PACKAGE = ROOT / "packages" / "rehearsal-js"
FRAGMENT_KINDS = ("added", "changed", "fixed", "removed", "security")

_PROSE_VERSION_PATTERN = re.compile(r"\b[Hh]ubbub(?: |==|@v|:)(\d+\.\d+\.\d+)\b|(?<!:)\bv(\d+\.\d+\.\d+)\b")
"""A version of Hubbub. A version after a colon is the tag of another image."""


def list_changelog_versions() -> list[tuple[str, str]]:
    """Return the versions of the changelog with their dates, the newest first."""
    return re.findall(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_npm_package_has_the_version_of_hubbub() -> None:
    package = json.loads((PACKAGE / "package.json").read_text())
    lock = json.loads((PACKAGE / "package-lock.json").read_text())

    assert {package["version"], lock["version"], lock["packages"][""]["version"]} == {VERSION}


def test_the_manifests_of_kubernetes_name_the_image_of_this_version() -> None:
    document = yaml.safe_load((ROOT / "deploy" / "kustomize" / "base" / "kustomization.yaml").read_text())

    assert [image["newTag"] for image in document["images"]] == [VERSION]


def test_programs_take_their_version_from_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/hubbub/__init__.py"
    assert f", {VERSION})" in USER_AGENT
    assert migrations.connection_name().startswith(f"hubbub {VERSION} ")


@pytest.mark.parametrize("folder", ["docs", "deploy", "packages/rehearsal-js", "examples", ".github", "."])
def test_pages_name_the_version_of_hubbub(folder: str) -> None:
    paths = (ROOT / folder).rglob("*") if folder == "docs" else (ROOT / folder).glob("*")
    outdated_versions = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in paths
        if path.suffix in {".md", ".yml", ".yaml"} and "spec" not in path.parts and path.name != "CHANGELOG.md"
        for match in _PROSE_VERSION_PATTERN.finditer(path.read_text())
        if (match[1] or match[2]) != VERSION
    }

    assert outdated_versions == set()


def test_the_changelog_begins_with_this_version_and_its_date() -> None:
    versions = [version for version, _ in list_changelog_versions()]

    assert versions[0] == VERSION
    assert versions == sorted(versions, key=lambda version: [int(part) for part in version.split(".")], reverse=True)
    for _, date in list_changelog_versions():
        assert datetime.date.fromisoformat(date)


def test_change_fragments_have_a_known_kind() -> None:
    names = [path.name for path in (ROOT / "changes").iterdir() if path.name != "README.md"]

    assert [name for name in names if not re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(FRAGMENT_KINDS)})\.md", name)] == []
