"""The Chromium programs of the browser tests."""

import shutil

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HEADLESS_CHROMIUM = shutil.which("chromium-headless-shell") or CHROMIUM
"""A build of Chromium without a user interface if it is installed: opening a page costs it a fourth of the CPU time."""
