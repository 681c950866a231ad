"""Marks that skip tests if third-party files of the chat client are missing.

The files are missing on a machine without npm and without a network."""

import pytest

from hubbub.server.transports.web.static_files import CALL_FILES, THIRD_PARTY
from tools.third_party import FOLDER, PACKAGES, ROOT

FILES = {name for package in PACKAGES for name, _ in package.files.values() if (ROOT / FOLDER / name).exists()}
"""Names of the files that were fetched."""

HAS_CALL_FILES = {f"{THIRD_PARTY}/{name}" for name in FILES} >= CALL_FILES
"""Whether the files that calls in the browser need were fetched."""

MISSING_REASON = "the third-party files of calls are missing: make third-party"

needs_call_files = pytest.mark.skipif(not HAS_CALL_FILES, reason=MISSING_REASON)
"""Skips a test on a machine without the files that calls in the browser need."""

needs_highlighter = pytest.mark.skipif(
    "highlight.js" not in FILES, reason="the library for code blocks is missing: make third-party"
)
"""Skips a test on a machine without the library that colors code blocks."""

needs_emoji_files = pytest.mark.skipif(
    not {"emoji.json", "emoji_names.json", "emoji_font_0.woff2"} <= FILES,
    reason="the files of emoji are missing: make third-party",
)
"""Skips a test on a machine without the list of all emoji and the font for them."""

needs_all_files = pytest.mark.skipif(
    len(FILES) < sum(len(package.files) for package in PACKAGES),
    reason="some third-party files are missing: make third-party",
)
"""Skips a test on a machine without one of the third-party files."""
