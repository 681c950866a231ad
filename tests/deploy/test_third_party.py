"""The script and build hook that fetch the third-party files: pinned hashes, registry, no network or npm."""

import io
import shutil
import tarfile
import urllib.error
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.contract.language import ROOT
from tests.third_party_files import needs_all_files
from tools import third_party
from tools.build_hook import ThirdPartyFiles
from tools.third_party import FOLDER, PACKAGES, HashMismatchError, RegistryUnknownError


@pytest.fixture(autouse=True)
def replace_npm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replace npm by a script that prints the URL of a registry from a file, and remove npm's settings."""
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/registry\n")
    npm.chmod(0o755)
    (tmp_path / "registry").write_text("https://npm.example/mirror/\n")
    monkeypatch.setenv("PATH", str(npm.parent))


def fail_without_network(url: str) -> bytes:
    """Fail as a machine without a network does."""
    raise urllib.error.URLError(f"no network for {url}")


def read_other_package(url: str) -> bytes:
    """Return a tarball that is not the pinned one."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("package/davey.wasm32-wasi.wasm"))
    return content.getvalue()


@needs_all_files
def test_present_files_are_not_fetched_again() -> None:
    assert third_party.fetch_missing(ROOT, fail_without_network) == []


def test_a_package_with_another_hash_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(HashMismatchError, match="davey-wasm32-wasi"):
        third_party.fetch_missing(tmp_path, read_other_package)
    assert not (tmp_path / FOLDER).exists()


def test_a_changed_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "davey.wasm").write_bytes(b"changed")
    with pytest.raises(HashMismatchError, match="Delete the file"):
        third_party.fetch_missing(tmp_path, fail_without_network)


def test_a_machine_without_a_network_continues(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["third_party.py"])
    monkeypatch.setattr(third_party, "fetch_missing", lambda: fail_without_network("the registry"))
    assert third_party.main() == 0
    assert "Calls in the browser stay off" in capsys.readouterr().err


def test_required_files_that_cannot_be_fetched_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["third_party.py", "--required"])
    monkeypatch.setattr(third_party, "fetch_missing", lambda: fail_without_network("the registry"))
    assert third_party.main() == 1


def test_a_build_without_npm_succeeds_without_the_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "tools").mkdir()
    shutil.copy(third_party.__file__, tmp_path / "tools")
    warnings: list[str] = []
    app: Any = SimpleNamespace(display_warning=warnings.append)
    unused_argument: Any = None
    hook = ThirdPartyFiles(str(tmp_path), {}, unused_argument, unused_argument, str(tmp_path), "wheel", app)
    build_data: dict[str, Any] = {"artifacts": []}
    hook.initialize("standard", build_data)
    assert build_data["artifacts"] == [f"/{FOLDER}/*"]
    assert len(warnings) == 1
    assert "NPM_CONFIG_REGISTRY" in warnings[0]


def test_a_wrong_hash_stops_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject() -> None:
        raise HashMismatchError("wrong")

    monkeypatch.setattr("sys.argv", ["third_party.py"])
    monkeypatch.setattr(third_party, "fetch_missing", reject)
    assert third_party.main() == 1


def test_the_registry_is_the_one_that_npm_uses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    urls: list[str] = []

    def record(url: str) -> bytes:
        urls.append(url)
        raise urllib.error.URLError("no network")

    def requested_url() -> str:
        with pytest.raises(urllib.error.URLError):
            third_party.fetch(PACKAGES[0], tmp_path, record)
        return urls[-1]

    tarball = "@snazzah/davey-wasm32-wasi/-/davey-wasm32-wasi-0.1.12.tgz"
    assert requested_url() == f"https://npm.example/mirror/{tarball}"
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://other.example/")
    assert requested_url() == f"https://other.example/{tarball}"


def test_a_machine_without_npm_and_setting_continues(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RegistryUnknownError, match="NPM_CONFIG_REGISTRY"):
        third_party.resolve_registry()
    monkeypatch.setattr("sys.argv", ["third_party.py"])
    monkeypatch.setattr(third_party, "fetch_missing", third_party.resolve_registry)
    assert third_party.main() == 0
    assert "Calls in the browser stay off" in capsys.readouterr().err
