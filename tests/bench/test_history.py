"""The history of figures per machine type."""

import json
from pathlib import Path

import pytest

from bench import history


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the history of a test."""
    monkeypatch.setattr(history, "HISTORY_DIRECTORY", tmp_path / "history")
    return tmp_path / "history"


def test_a_run_is_compared_with_the_last_run_that_measured_the_figure(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert history.append_run([{"name": "post", "value": 2.0}, {"name": "get", "value": 5.0}], 0.0) == {}
    history.append_run([{"name": "post", "value": 3.0}], 0.0)

    figures = [{"name": "post", "value": 3.1}, {"name": "get", "value": 6.0}, {"name": "new", "value": 1.0}]
    earlier_values = history.append_run(figures, 0.0)
    history.print_changes(figures, earlier_values)

    assert {name: value for name, (value, _) in earlier_values.items()} == {"post": 3.0, "get": 5.0}
    assert [line.split(":")[0].strip() for line in capsys.readouterr().out.splitlines()] == ["get"]
    [file] = folder.iterdir()
    runs = [json.loads(line) for line in file.read_text().splitlines()]
    assert [run["figures"] for run in runs][1:] == [{"post": 3.0}, {"post": 3.1, "get": 6.0, "new": 1.0}]


def test_machine_types_have_separate_files() -> None:
    machine_type = {"cpu": "aarch64 Neoverse-N1", "cores": 2, "python": "3.11"}

    assert history.history_file(machine_type).name == "aarch64-neoverse-n1-2-cores-python-3.11.jsonl"
    assert history.history_file(machine_type | {"cores": 4}) != history.history_file(machine_type)
