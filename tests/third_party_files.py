"""Third-party files of the chat client, which are missing on a machine without npm and without a network."""

import pytest

from tools.third_party import FOLDER, PACKAGES, ROOT

HAS_CALL_FILES = all((ROOT / FOLDER / name).exists() for package in PACKAGES for name, _ in package.files.values())
"""Whether the files that calls in the browser need were fetched."""

MISSING_REASON = "the third-party files of calls are missing (make third-party fetches them)"

needs_call_files = pytest.mark.skipif(not HAS_CALL_FILES, reason=MISSING_REASON)
"""Skips a test on a machine without the files."""
