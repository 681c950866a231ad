"""A package index with wheels of installed distributions, from which uv and pipx install without a network."""

import contextlib
import functools
import http.server
import importlib.metadata
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

INSTALLER_FILES: Final = {"INSTALLER", "REQUESTED", "direct_url.json", "RECORD"}
"""Files that the installer of a distribution adds to its metadata or writes itself."""


def pack(distribution: importlib.metadata.Distribution, folder: Path) -> None:
    """Pack an installed distribution into a wheel. Scripts are left out: installers create them from the entry points."""
    packed_names: list[str] = []
    [metadata] = {path.parts[0] for path in distribution.files or () if path.parts[0].endswith(".dist-info")}
    with zipfile.ZipFile(folder / f"{metadata.removesuffix('.dist-info')}-{_read_tag(distribution)}.whl", "w") as wheel:
        for path in distribution.files or ():
            if path.parts[0] == ".." or path.suffix == ".pyc":
                continue
            if path.parts[0] == metadata and path.name in INSTALLER_FILES:
                continue
            wheel.write(distribution.locate_file(path), str(path))
            packed_names.append(str(path))
        lines = [f"{name},," for name in (*packed_names, f"{metadata}/RECORD")]
        wheel.writestr(f"{metadata}/RECORD", "\n".join(lines) + "\n")


def _read_tag(distribution: importlib.metadata.Distribution) -> str:
    """Return the compressed tag set in the name of a distribution's wheel."""
    tags = [
        line.partition(": ")[2].split("-")
        for line in (distribution.read_text("WHEEL") or "").splitlines()
        if line.startswith("Tag: ")
    ]
    return "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags, strict=True))


class _Handler(http.server.SimpleHTTPRequestHandler):
    """A handler that serves files and lists folders, without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder, which has a folder of wheels for each distribution, and yield the URL of the index."""
    handler = functools.partial(_Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
