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
    """Raised when a package or a fetched file does not have its pinned hash."""


class RegistryUnknownError(Exception):
    """Raised when no npm registry is known on this machine."""


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
    # Names, groups, keywords and skin tones of all Unicode emoji (MIT).
    Package(
        "emojibase-data",
        "17.0.0",
        "Yvgb5AWoHViHV/gq1qr5ZAarcBip+B27/ZLRsUJkbgAEaLlZ/fof9g882LTpmEpyhBNEC0m2SEmItljHsTygjA==",
        {
            "package/en/data.json": (
                "emoji.json",
                "ed014f1049bd370c5794f815850156196ac382850f51c3e9f6a9e83553fb3f01",
            ),
            "package/en/shortcodes/joypixels.json": (
                "emoji_names.json",
                "71c0608ffb9715b0bcd7dcc5001218fee07ddbd95635e328a392b9cc07a70ab8",
            ),
            "package/LICENSE": (
                "emoji.LICENSE",
                "5c4e1582dcae9429a5d00ec0a64185c3a711f9757b2308fdf275d90b120f6149",
            ),
        },
    ),
    # Noto Color Emoji, a color font for emoji, in parts that browsers load on demand (OFL-1.1).
    Package(
        "@infolektuell/noto-color-emoji",
        "0.2.0",
        "B6kpvqeD0ukTR7sydGKpktvO3VhZkOwQxAdLLGPdSHxQxREa2+sH6B9ODop6quPGjhmsZkJ/hL01rQ8At5xDew==",
        {
            "package/files/0.woff2": (
                "emoji_font_0.woff2",
                "009de8c7416996cfbf382a88c74a9613e01c375f97d133b866b149a88e2a20d9",
            ),
            "package/files/1.woff2": (
                "emoji_font_1.woff2",
                "8d797482fc589a659e37cf99de61a46cfac94e7c262bf23b9c4e78bafc347481",
            ),
            "package/files/2.woff2": (
                "emoji_font_2.woff2",
                "791f39a9c1694e3926004e8ea586b7413a7adb3c0635241c01371175bfff346f",
            ),
            "package/files/3.woff2": (
                "emoji_font_3.woff2",
                "bed4d037354cd3ad5f0f1dc5ce3c48712379960560b035c939d0e6903ac402f8",
            ),
            "package/files/4.woff2": (
                "emoji_font_4.woff2",
                "beae2667aea8b8546bbeab93ddce81fe92e91cce6940e1a556889c79461cb4c9",
            ),
            "package/files/5.woff2": (
                "emoji_font_5.woff2",
                "c9db2f19266be43844573c5ae028c2feb0e855e2a394ddb0346ed10e947937bf",
            ),
            "package/files/6.woff2": (
                "emoji_font_6.woff2",
                "a1cecffc47a10e164395223b2af1305c6888895f6c80dc7803f03f73d1b2eb01",
            ),
            "package/files/7.woff2": (
                "emoji_font_7.woff2",
                "bc2cb264ec461e467a5e5534213e930067cc58ef7dfdb6478a9ec70043e591e6",
            ),
            "package/files/8.woff2": (
                "emoji_font_8.woff2",
                "4b3d0b2501e2c9913d9beed592d4a389d6b1a6f634a15d1e0833a3c1f414ad80",
            ),
            "package/files/9.woff2": (
                "emoji_font_9.woff2",
                "c4fa9aebc43611b4735c77f3fa3053d31043c9ecdd98a390d29f49ef5346442a",
            ),
            "package/files/10.woff2": (
                "emoji_font_10.woff2",
                "0179f296fd2baa2b7b99caea57350063769f2b3f20fba8b778d5945d30195f42",
            ),
            "package/LICENSE": (
                "emoji_font.LICENSE",
                "2f94a0638c79b1b4b3aa6e9091ca10cb2ba9813efde09772d942dbd457bad868",
            ),
        },
    ),
)

Download = Callable[[str], bytes]
"""Function that returns the body of a URL."""


def resolve_registry() -> str:
    """Return the URL of the npm registry that this machine uses; raise RegistryUnknownError if it names none."""
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


def fetch(package: Package, folder: Path, download_bytes: Download) -> None:
    """Download a package with `download_bytes`, check its hashes, and write its files into the folder."""
    content = download_bytes(resolve_registry() + package.tarball_path)
    if base64.b64encode(hashlib.sha512(content).digest()).decode() != package.sha512:
        raise HashMismatchError(f"The package {package.name} {package.version} does not have its pinned hash.")
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for path, (name, sha256) in package.files.items():
            member = archive.extractfile(path)
            assert member is not None, path
            file_content = member.read()
            if hashlib.sha256(file_content).hexdigest() != sha256:
                raise HashMismatchError(f"{path} of {package.name} does not have its pinned hash.")
            # The file is renamed when it is complete, so that no reader finds a part of it.
            partial_file = folder / f".{name}.{os.getpid()}"
            partial_file.write_bytes(file_content)
            partial_file.replace(folder / name)


def fetch_missing(root: Path = ROOT, download_bytes: Download = download) -> list[str]:
    """Fetch the packages whose files are missing; return the names of the fetched packages."""
    folder = root / FOLDER
    missing_packages = [package for package in PACKAGES if not is_present(package, folder)]
    for package in missing_packages:
        fetch(package, folder, download_bytes)
    return [package.name for package in missing_packages]


def main() -> int:
    """Fetch missing files and return the exit status: 1 after a hash mismatch; without a network or registry 0 unless the
    files are required."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--required", action="store_true", help="fail if the files cannot be fetched")
    arguments = parser.parse_args()
    try:
        fetched_names = fetch_missing()
    except HashMismatchError as error:
        print(error, file=sys.stderr)
        return 1
    except (RegistryUnknownError, subprocess.SubprocessError, urllib.error.URLError, OSError) as error:
        print(
            f"The third-party files of the chat client could not be fetched ({error}). "
            "Calls in the browser stay off, code blocks have no colors, and the emoji picker has common emoji only, "
            "until `make third-party` succeeds.",
            file=sys.stderr,
        )
        return int(arguments.required)
    if fetched_names:
        print(f"Fetched {', '.join(fetched_names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
