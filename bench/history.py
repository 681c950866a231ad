"""The history of figures, one file per machine type, and the change since the last run on the same type.

A line of a file is one run: date, version, commit, load of the machine, and the value of each figure. Costs of different
machine types are not comparable, so a run is only compared with runs of its own type.
"""

import json
import os
import platform
import re
import subprocess
import time
from pathlib import Path
from typing import Any, Final

import hubbub
from bench.load import CHECKOUT

HISTORY_DIRECTORY: Final = Path(__file__).parent / "results" / "history"


def read_machine_type() -> dict[str, Any]:
    """Return what makes costs comparable: CPU model, cores that this process may use, and minor version of Python."""
    return {
        "cpu": _read_cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def history_file(machine_type: dict[str, Any]) -> Path:
    """Return the file with the runs of a machine type."""
    name = f"{machine_type['cpu']}-{machine_type['cores']}-cores-python-{machine_type['python']}"
    return HISTORY_DIRECTORY / (re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-") + ".jsonl")


def append_run(figures: list[dict[str, Any]], load_before: float) -> dict[str, tuple[float, str]]:
    """Add a run to the history of this machine type.

    Return the last earlier value of each figure, with the date of its run."""
    file = history_file(read_machine_type())
    earlier_values: dict[str, tuple[float, str]] = {}
    if file.exists():
        for line in file.read_text().splitlines():
            run = json.loads(line)
            earlier_values |= {name: (value, run["date"]) for name, value in run["figures"].items()}
    document = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "version": hubbub.__version__,
        "commit": _read_commit(),
        "machine": read_machine_type(),
        "load_average": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "figures": {figure["name"]: figure["value"] for figure in figures},
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write(json.dumps(document) + "\n")
    return earlier_values


def print_changes(figures: list[dict[str, Any]], earlier_values: dict[str, tuple[float, str]]) -> None:
    """Print each figure that differs by a tenth or more from its last run on this machine type."""
    for figure in figures:
        earlier_value, date = earlier_values.get(figure["name"], (0.0, ""))
        if earlier_value and abs(figure["value"] / earlier_value - 1) >= 0.1:
            print(f"     {figure['name']}: {figure['value']:.2f}, {earlier_value:.2f} on {date}")


def find_previous_release() -> str | None:
    """Return the newest release tag that this checkout contains; None without one, or without git."""
    # A release is compared with the one before it, so its own tag does not count.
    for commit in ("HEAD", "HEAD^"):
        tag = _run_git("describe", "--tags", "--abbrev=0", "--match", "v*", commit)
        if tag and _run_git("rev-list", "-n", "1", tag) != _run_git("rev-parse", "HEAD"):
            return tag
    return None


def _read_commit() -> str:
    return _run_git("describe", "--always", "--dirty", "--exclude", "*") or ""


def _run_git(*arguments: str) -> str | None:
    try:
        result = subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def _read_cpu_model() -> str:
    """Return the model of the processor, or its architecture if the system does not name it."""
    try:
        output = subprocess.run(["lscpu"], capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}).stdout
    except FileNotFoundError:
        output = ""
    match = re.search(r"^Model name:\s*(\S.*)$", output, re.MULTILINE)
    return platform.machine() + (f" {match[1].strip()}" if match and match[1].strip() != "-" else "")
