"""The build hook of hatchling: packs the third-party files of the chat client into the wheel and the sdist."""

import importlib.util
import subprocess
import urllib.error
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def _load_script(root: Path) -> Any:
    """Import `third_party.py`; the build backend does not import from the source tree."""
    spec = importlib.util.spec_from_file_location("third_party", root / "tools" / "third_party.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ThirdPartyFiles(BuildHookInterface[Any]):
    """Fetches missing files before a build. A build without a network or npm succeeds without them; a wrong hash stops it."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fetch the files and add them to the archive although git ignores them."""
        script = _load_script(Path(self.root))
        try:
            script.fetch_missing(Path(self.root))
        except (
            script.RegistryUnknownError,
            subprocess.SubprocessError,
            urllib.error.URLError,
            TimeoutError,
            ConnectionError,
        ) as error:
            self.app.display_warning(f"Third-party files could not be fetched, calls in the browser stay off: {error}")
        build_data["artifacts"].append(f"/{script.FOLDER}/*")
