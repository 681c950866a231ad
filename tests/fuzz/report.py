"""Counters and problems of a run, and the files in which problems are stored as seeds."""

import hashlib
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.monitor import Problem, resident_bytes

SEEDS = Path(__file__).parent / "seeds"
"""Folder of the inputs that caused a problem once; `test_fuzzing.py` sends all of them."""

UNREACHABLE = {
    "create_guild_integration": "subscription integrations are not supported; always UNKNOWN_INTEGRATION",
    "update_guild_integration": "an integration is an application, which has no subscribers",
    "sync_guild_integration": "an integration is an application, which has no subscribers",
    "batch_set_guild_application_command_permissions": "disabled for every caller (spec/http.md#5)",
}
"""Operations that cannot succeed, with the reason."""


@dataclass
class Report:
    """The results of a run."""

    inputs: Counter[str] = field(default_factory=Counter)
    """Number of inputs by part."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Number of inputs by part and outcome, such as a status; also of failed recipes, and of early ends of epochs."""
    operations: set[str] = field(default_factory=set)
    """Names of all operations; empty without the HTTP part."""
    succeeded: set[str] = field(default_factory=set)
    """Names of the operations that succeeded."""
    attempted: Counter[str] = field(default_factory=Counter)
    """Number of requests by operation."""
    problems: dict[tuple[str, str, str], Problem] = field(default_factory=dict)
    """First problem of each cause, by part, kind and summary."""
    occurrences: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Number of occurrences of each cause."""
    memory: list[int] = field(default_factory=list)
    """Resident bytes at the end of each epoch."""
    longest_pause_seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)

    @property
    def total(self) -> int:
        """Number of inputs."""
        return sum(self.inputs.values())

    def count(self, part: str, outcome: str) -> None:
        """Count an input and its outcome."""
        self.inputs[part] += 1
        self.outcomes[f"{part} {outcome}"] += 1

    def add(self, problem: Problem) -> bool:
        """Add a problem; return whether its cause is new."""
        key = (problem.part, problem.kind, problem.summary)
        self.occurrences[key] += 1
        is_new = key not in self.problems
        if is_new:
            self.problems[key] = problem
            print(f"\nNew problem in {problem.part} ({problem.kind}): {problem.summary}", file=sys.stderr, flush=True)
        return is_new

    def print_progress(self) -> None:
        """Write one line about the state of the run to the standard error output."""
        seconds = time.monotonic() - self.started
        parts = ", ".join(f"{part} {count}" for part, count in sorted(self.inputs.items()))
        print(
            f"{seconds:6.0f} s  {self.total} inputs ({self.total / max(seconds, 1):.0f}/s: {parts}), "
            f"{len(self.succeeded)} of {len(self.operations)} operations succeeded, {len(self.problems)} problems, "
            f"longest pause {self.longest_pause_seconds:.2f} s, {resident_bytes() >> 20} MiB",
            file=sys.stderr,
            flush=True,
        )

    def print_summary(self) -> None:
        """Write the whole report."""
        self.print_progress()
        missed = sorted(self.operations - self.succeeded)
        for name in missed:
            print(f"not reached: {name}: {UNREACHABLE.get(name, 'no recipe')} ({self.attempted[name]} requests)")
        for outcome, count in sorted(self.outcomes.items()):
            print(f"{outcome}: {count}")
        print("memory per epoch (MiB): " + " ".join(str(size >> 20) for size in self.memory))
        for key, problem in self.problems.items():
            print(f"\n{problem.part} {problem.kind} ({self.occurrences[key]} times): {problem.summary}")
            print(problem.details[-3000:])
            print(f"input: {json.dumps(problem.input)[:2000]}")

    def store_seeds(self, folder: Path) -> list[Path]:
        """Write the input of each problem to a file and return the files."""
        files = []
        for problem in self.problems.values():
            if problem.input is not None:
                files.append(store_seed(folder, problem.part, problem.summary, problem.input))
        return files


def store_seed(folder: Path, part: str, summary: str, data: Any) -> Path:
    """Write an input to a file that is named after its content."""
    text = json.dumps({"part": part, "problem": summary, "input": data}, indent=1, sort_keys=True) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]
    file = folder / f"{part}-{digest}.json"
    file.write_text(text)
    return file
