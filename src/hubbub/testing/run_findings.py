"""The findings of all platforms of a test run."""

from collections.abc import Iterable, Iterator
from typing import Any


class RunFindings:
    """Findings of several tests. An intent is unused if no test of the run used it."""

    def __init__(self) -> None:
        self.counts_by_text: dict[str, int] = {}
        """Numbers of occurrences by the text of the finding."""
        self.unused_intents: dict[str, list[str]] = {}
        """Names of intents that an application did not use in a test, by the name of the application."""
        self.used_intents: dict[str, list[str]] = {}
        """Names of intents that an application used in a test, by the name of the application."""

    def add_line(self, text: str, times: int) -> None:
        """Add a finding that occurred a number of times."""
        self.counts_by_text[text] = self.counts_by_text.get(text, 0) + times

    @staticmethod
    def add_intents(intents: dict[str, list[str]], application: str, names: Iterable[str]) -> None:
        """Add names of intents to those of an application."""
        known_intents = intents.setdefault(application, [])
        known_intents += [name for name in names if name not in known_intents]

    def encode(self) -> dict[str, Any]:
        """Return the findings in the form that an xdist worker sends."""
        return {"lines": self.counts_by_text, "unused_intents": self.unused_intents, "used_intents": self.used_intents}

    def merge(self, encoded: dict[str, Any]) -> None:
        """Add the encoded findings of another process."""
        for text, times in encoded["lines"].items():
            self.add_line(text, times)
        for application, names in encoded["unused_intents"].items():
            self.add_intents(self.unused_intents, application, names)
        for application, names in encoded["used_intents"].items():
            self.add_intents(self.used_intents, application, names)

    def format_lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        counts_by_text = dict(self.counts_by_text)
        for application, names in self.unused_intents.items():
            unused_intents = [name for name in names if name not in self.used_intents.get(application, [])]
            if unused_intents:
                text = f"No event was delivered for these requested intents in any test: {', '.join(unused_intents)}."
                counts_by_text[f"unused_intent: {application}: {text}"] = 1
        for text, times in sorted(counts_by_text.items()):
            yield text if times == 1 else f"{text} ({times} times)"
