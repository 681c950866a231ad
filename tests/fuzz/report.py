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

    input_counts: Counter[str] = field(default_factory=Counter)
    """Number of inputs by target."""
    message_counts: Counter[str] = field(default_factory=Counter)
    """Number of requests, frames and datagrams by target; an input of gateway or voice consists of several."""
    outcome_counts: Counter[str] = field(default_factory=Counter)
    """Number of inputs by target and outcome, such as a status; also of failed recipes, and of early ends of epochs."""
    operations: set[str] = field(default_factory=set)
    """Names of all operations; empty without the HTTP target."""
    succeeded_operations: set[str] = field(default_factory=set)
    """Names of the operations that succeeded."""
    attempt_counts: Counter[str] = field(default_factory=Counter)
    """Number of requests by operation."""
    problems: dict[tuple[str, str, str], Problem] = field(default_factory=dict)
    """First problem of each cause, by target, kind and summary."""
    occurrences: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Number of occurrences of each cause."""
    memory_bytes: list[int] = field(default_factory=list)
    """Resident bytes at the end of each epoch."""
    longest_pause_seconds: float = 0.0
    started_at: float = field(default_factory=time.monotonic)

    @property
    def input_count(self) -> int:
        """Number of inputs."""
        return sum(self.input_counts.values())

    @property
    def message_count(self) -> int:
        """Number of requests, frames and datagrams."""
        return sum(self.message_counts.values())

    def count(self, target: str, outcome: str, message_count: int = 1) -> None:
        """Count an input and its outcome; `message_count` is the number of its requests, frames or datagrams."""
        self.input_counts[target] += 1
        self.message_counts[target] += message_count
        self.outcome_counts[f"{target} {outcome}"] += 1

    def add(self, problem: Problem) -> bool:
        """Add a problem; return whether its cause is new."""
        key = (problem.target, problem.kind, problem.summary)
        self.occurrences[key] += 1
        is_new = key not in self.problems
        if is_new:
            self.problems[key] = problem
            print(f"\nNew problem in {problem.target} ({problem.kind}): {problem.summary}", file=sys.stderr, flush=True)
        return is_new

    def merge(self, other: "Report") -> None:
        """Add the results of another process."""
        self.input_counts += other.input_counts
        self.message_counts += other.message_counts
        self.outcome_counts += other.outcome_counts
        self.attempt_counts += other.attempt_counts
        self.operations |= other.operations
        self.succeeded_operations |= other.succeeded_operations
        self.problems = other.problems | self.problems
        self.occurrences += other.occurrences
        self.memory_bytes += other.memory_bytes
        self.longest_pause_seconds = max(self.longest_pause_seconds, other.longest_pause_seconds)

    def print_progress(self) -> None:
        """Write one line about the state of the run to the standard error output."""
        seconds = time.monotonic() - self.started_at
        targets = ", ".join(f"{target} {count}" for target, count in sorted(self.input_counts.items()))
        print(
            f"{seconds:6.0f} s  {self.message_count} requests, frames and datagrams in {self.input_count} inputs "
            f"({self.input_count / max(seconds, 1):.0f}/s: {targets}), "
            f"{len(self.succeeded_operations)} of {len(self.operations)} operations succeeded, {len(self.problems)} problems, "
            f"longest pause {self.longest_pause_seconds:.2f} s, {resident_bytes() >> 20} MiB",
            file=sys.stderr,
            flush=True,
        )

    def print_summary(self) -> None:
        """Write the whole report."""
        self.print_progress()
        missed_operations = sorted(self.operations - self.succeeded_operations)
        for name in missed_operations:
            print(f"not reached: {name}: {UNREACHABLE.get(name, 'no recipe')} ({self.attempt_counts[name]} requests)")
        for outcome, count in sorted(self.outcome_counts.items()):
            print(f"{outcome}: {count}")
        for target, count in sorted(self.message_counts.items()):
            print(f"{target}: {self.input_counts[target]} inputs with {count} requests, frames or datagrams")
        print("memory per epoch (MiB): " + " ".join(str(size >> 20) for size in self.memory_bytes))
        for key, problem in self.problems.items():
            print(f"\n{problem.target} {problem.kind} ({self.occurrences[key]} times): {problem.summary}")
            print(problem.details[:25_000])
            print(f"input: {json.dumps(problem.input)[:2000]}")

    def store_seeds(self, folder: Path) -> list[Path]:
        """Write the input of each problem to a file and return the files."""
        files = []
        for problem in self.problems.values():
            if problem.input is not None:
                files.append(store_seed(folder, problem.target, problem.summary, problem.input))
        return files


def store_seed(folder: Path, target: str, summary: str, seed_input: Any) -> Path:
    """Write an input to a file that is named after its content."""
    text = json.dumps({"target": target, "problem": summary, "input": seed_input}, indent=1, sort_keys=True) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(json.dumps(seed_input, sort_keys=True).encode()).hexdigest()[:12]
    file = folder / f"{target}-{digest}.json"
    file.write_text(text)
    return file
