"""Output of the `hubbub` commands that they share."""

import sys


def print_error(problem: object, code: int = 1) -> int:
    """Print why the command failed to standard error and return the exit code."""
    print(f"hubbub: {problem}", file=sys.stderr)
    return code
