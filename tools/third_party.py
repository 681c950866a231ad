"""Fetch the third-party files of the chat client from npm packages into a folder that git ignores.

Run `python tools/third_party.py`. Files that are present are not fetched again. The repository contains no third-party
code; versions and hashes are pinned below. Only the standard library is used, because the build backend runs this too.
"""

import argparse
import base64
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = Path("src/hubbub/server/transports/web/static/third_party")
"""Folder of the fetched files, relative to the root of the source tree."""
DOWNLOAD_TIMEOUT_SECONDS: Final = 30.0


class HashMismatchError(Exception):
    """A package or a fetched file does not have its pinned hash."""


class RegistryUnknownError(Exception):
    """No npm registry is known on this machine."""


@dataclass(frozen=True)
class Package:
    """An npm package and the files that are taken from it."""

    name: str
    version: str
    sha512: str
    """Base64 SHA-512 of the tarball: the `integrity` of the registry without its prefix."""
    files: dict[str, tuple[str, str]]
    """Name in the folder and hexadecimal SHA-256 of each file, by its path in the tarball."""

    @property
    def tarball_path(self) -> str:
        """The path of the tarball at a registry."""
        return f"{self.name}/-/{self.name.rpartition('/')[2]}-{self.version}.tgz"


PACKAGES: Final = (
    # End-to-end encryption of calls (MIT). The packages of emnapi connect the WebAssembly module to JavaScript.
    Package(
        "@snazzah/davey-wasm32-wasi",
        "0.1.12",
        "MPKFuqYVkDFXheR7qmtEY4FWxQ/ADfgsCojQWHi13sibUqCTR9q2F1LqNn2i9IVh3sh1sxeg87fdFMCH63pl7g==",
        {
            "package/davey.wasm32-wasi.wasm": (
                "davey.wasm",
                "d2404bac6742247050576594c87c50e59e0417b28f3ab295e4b3ea97b561da7e",
            )
        },
    ),
    Package(
        "@emnapi/core",
        "1.11.3",
        "zLpS5asjEb7lq8jYLq37N6XKaE41DIexlY1rF/z4/tIl3wo13Sqm28fRyfIsKZD+NZ8mM5RoKkpW/rBcuoSZSg==",
        {
            "package/dist/emnapi-core.min.js": (
                "emnapi_core.js",
                "5108086d5ab30bfb82a2e331a3782b83ab7c5c60df7ee8e1e6b35edce86e083e",
            ),
            "package/LICENSE": ("emnapi.LICENSE", "2088f55c6731498410b20c95ebd345ed4a4a800bf74c0fba4d282fd2a021daaa"),
        },
    ),
    Package(
        "@emnapi/runtime",
        "1.11.3",
        "Xz4Tpyki7XyrpbUK1jR1AhdAdaXyhhY4lZ3neLodmhpuWfy2PAQN5B46sAiU4liOXGLkHypn/qU+jvfWSCYYLA==",
        {
            "package/dist/emnapi.min.js": (
                "emnapi_runtime.js",
                "e8f87e4d419df34db2c53aca8853586c0af63146e6fdbaa2d22c7a42d02266fd",
            )
        },
    ),
    # Colors in code blocks (BSD-3-Clause).
    Package(
        "@highlightjs/cdn-assets",
        "11.12.0",
        "KvOKXODaiFmId9xaq3xc5xCL66wVLUuOngDbO9B/kewbFTqdGbn2nJxNhN3H5R1cgDTVj6R8vH0zgiNDEGjpDw==",
        {
            "package/es/highlight.min.js": (
                "highlight.js",
                "1ed8fc5256b738b8875b74e4d3f0754f60d6411fb034d618dfbc4e6e6c9999d7",
            ),
            "package/LICENSE": (
                "highlight.LICENSE",
                "6c081431591d9df696c82dc598fe1423765b8a299b200ed00b281afd0f64c490",
            ),
        },
    ),
)

Download = Callable[[str], bytes]
"""Function that returns the body of a URL."""


def find_registry() -> str:
    """Return the URL of the npm registry that this machine uses; raise RegistryUnknownError without npm and setting."""
    for name, value in os.environ.items():
        if name.lower() == "npm_config_registry" and value:
            return value.rstrip("/") + "/"
    npm = shutil.which("npm")
    if npm is None:
        raise RegistryUnknownError("npm is not installed, and NPM_CONFIG_REGISTRY is not set")
    # npm reads its configuration files and knows the default.
    result = subprocess.run([npm, "config", "get", "registry"], capture_output=True, text=True, timeout=60, check=False)
    if not result.stdout.startswith("http"):
        raise RegistryUnknownError(f"npm names no registry: {result.stderr.strip()[:200]}")
    return result.stdout.split()[0].rstrip("/") + "/"


def download(url: str) -> bytes:
    """Return the body of a URL."""
    with urllib.request.urlopen(url, timeout=DOWNLOAD_TIMEOUT_SECONDS) as response:
        return bytes(response.read())


def is_present(package: Package, folder: Path) -> bool:
    """Return whether all files of a package are in the folder; raise HashMismatchError if one was changed."""
    for name, sha256 in package.files.values():
        try:
            content = (folder / name).read_bytes()
        except FileNotFoundError:
            return False
        if hashlib.sha256(content).hexdigest() != sha256:
            raise HashMismatchError(f"{folder / name} does not have its pinned hash. Delete the file and try again.")
    return True


def fetch(package: Package, folder: Path, read: Download) -> None:
    """Download a package with `read`, check its hashes, and write its files into the folder."""
    content = read(find_registry() + package.tarball_path)
    if base64.b64encode(hashlib.sha512(content).digest()).decode() != package.sha512:
        raise HashMismatchError(f"The package {package.name} {package.version} does not have its pinned hash.")
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for path, (name, sha256) in package.files.items():
            member = archive.extractfile(path)
            assert member is not None, path
            data = member.read()
            if hashlib.sha256(data).hexdigest() != sha256:
                raise HashMismatchError(f"{path} of {package.name} does not have its pinned hash.")
            # The file is renamed when it is complete, so that no reader finds a part of it.
            partial = folder / f".{name}.{os.getpid()}"
            partial.write_bytes(data)
            partial.replace(folder / name)


def fetch_missing(root: Path = ROOT, read: Download = download) -> list[str]:
    """Fetch the packages whose files are missing; return the names of the fetched packages."""
    folder = root / FOLDER
    missing = [package for package in PACKAGES if not is_present(package, folder)]
    for package in missing:
        fetch(package, folder, read)
    return [package.name for package in missing]


def main() -> int:
    """Fetch missing files and return the exit status: without a network or registry 0, after a hash mismatch 1."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    try:
        fetched = fetch_missing()
    except HashMismatchError as error:
        print(error, file=sys.stderr)
        return 1
    except (RegistryUnknownError, subprocess.SubprocessError, urllib.error.URLError, OSError) as error:
        print(
            f"The third-party files of the chat client could not be fetched ({error}). "
            "Calls in the browser stay off, and code blocks have no colors, until `make third-party` succeeds.",
            file=sys.stderr,
        )
        return 0
    if fetched:
        print(f"Fetched {', '.join(fetched)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
