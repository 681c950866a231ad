"""A progress bar of one line on a terminal."""

import sys
import time
from types import TracebackType
from typing import Final, Self

INTERVAL_SECONDS: Final = 0.1
"""Minimum time in seconds between two updates of the line, except for the update that reaches the total."""
WIDTH: Final = 30
"""Number of characters of the bar."""


class ProgressBar:
    """Shows the progress of a command on standard error, if standard error is a terminal."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._shown_at = 0.0
        self._length = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._show("")

    def update(self, subject: str, count: int, total: int = 0) -> None:
        """Show a subject and the number of processed objects, with a bar if the total is known."""
        now = time.monotonic()
        if not self._is_terminal or (now - self._shown_at < INTERVAL_SECONDS and count != total):
            return
        self._shown_at = now
        if total:
            filled_width = WIDTH * min(count, total) // total
            self._show(f"{subject:<12} [{'#' * filled_width}{'.' * (WIDTH - filled_width)}] {count}/{total}")
        else:
            self._show(f"{subject:<12} {count}")

    def _show(self, text: str) -> None:
        if self._is_terminal:
            print(f"\r{text:<{self._length}}", end="\r" if not text else "", file=sys.stderr, flush=True)
            self._length = len(text)
