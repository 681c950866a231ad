"""Static files: assets of the pages, modules and style sheets of the chat client, and its messages in each language.

URLs contain a hash of the content. Files are compressed, and the modules that the chat client needs to start are a package.
"""

import asyncio
import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from aiohttp import web

from hubbub.protocol import codec
from hubbub.server.core import translation
from hubbub.server.transports.web import content_encoding, start_package

STATIC_FOLDER: Final = Path(__file__).parent / "static"
STATIC_PATH: Final = "/static"
MAIN_MODULE: Final = "main.js"
"""Entry point of the chat client's modules."""
THIRD_PARTY: Final = "third_party"
"""Folder of files that `tools/third_party.py` fetches; empty or missing without a network (decisions/0084)."""
HIGHLIGHTER: Final = f"{THIRD_PARTY}/highlight.js"
"""Third-party module that colors code blocks."""
EMOJI_FILES: Final = frozenset(f"{THIRD_PARTY}/{name}" for name in ("emoji.json", "emoji_names.json"))
"""Third-party files with all Unicode emoji."""
EMOJI_FONT: Final = f"{THIRD_PARTY}/emoji_font_0.woff2"
"""First part of the third-party color font for emoji."""
START_SHEET: Final = "start.css"
"""All style sheets of the chat client as one file, without `EMOJI_FONT_SHEET` if the font is not installed."""
EMOJI_FONT_SHEET: Final = "emoji_font.css"
"""Style sheet that uses the color font for emoji."""
CALL_FILES: Final = frozenset(f"{THIRD_PARTY}/{name}" for name in ("davey.wasm", "emnapi_core.js", "emnapi_runtime.js"))
"""Third-party files that calls need."""
FRAME_WORKER: Final = "voice/frame_worker.js"
"""The worker that encrypts and decrypts the frames of calls. Pages load it as a classic script."""

_CONTENT_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".js": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
    ".json": "application/json",
    ".woff2": "font/woff2",
}
_COMPRESSED_SUFFIXES: Final = frozenset({".woff2"})
"""Types of files whose content is compressed already."""
_WORKER_POLICY: Final = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"
_IMAGE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_CACHE_FOREVER: Final = "public, max-age=31536000, immutable"


def list_missing_features(folder: Path = STATIC_FOLDER) -> list[str]:
    """Return the features of the chat client whose third-party files the installation does not have."""
    features = {
        "calls in the browser": CALL_FILES,
        "colors in code blocks": {HIGHLIGHTER},
        "the complete emoji picker": EMOJI_FILES,
        "the emoji font": {EMOJI_FONT},
    }
    return [name for name, files in features.items() if not all((folder / file).is_file() for file in files)]


class StaticFile:
    """A file in memory, with its compressed forms once a client has requested them."""

    def __init__(self, data: bytes, suffix: str) -> None:
        self.data = data
        self.digest = hashlib.sha256(data).hexdigest()[:16]
        self._content_type = _CONTENT_TYPES[suffix]
        self._is_compressed = suffix in _COMPRESSED_SUFFIXES
        self._bodies: dict[str | None, bytes] = {None: data}

    def compress(self, encoding: str) -> None:
        """Prepare the compressed form, so that no request waits for it."""
        if encoding not in self._bodies:
            self._bodies[encoding] = content_encoding.compress(self.data, encoding)

    async def respond(self, request: web.Request, policy: str | None = None) -> web.Response:
        """Return the file, or 304 if the client has it. Browsers cache it forever, because its URL names its content."""
        accept_encoding = "" if self._is_compressed else request.headers.get("Accept-Encoding", "")
        encoding = content_encoding.choose(accept_encoding)
        etag = f'"{self.digest}-{encoding}"' if encoding else f'"{self.digest}"'
        headers = {
            "Cache-Control": _CACHE_FOREVER,
            "ETag": etag,
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
        }
        if policy is not None:
            headers["Content-Security-Policy"] = policy
        if etag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        if encoding is not None and encoding not in self._bodies:
            # Compressing a large file takes more than 100 ms, during which the event loop serves other requests.
            await asyncio.to_thread(self.compress, encoding)
        headers["Content-Type"] = self._content_type
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        return web.Response(body=self._bodies[encoding], headers=headers)


class Assets:
    """Style sheets, images and scripts of the pages, each at a URL that contains its content hash."""

    def __init__(self, folder: Path = STATIC_FOLDER) -> None:
        self._urls_by_name: dict[str, str] = {}
        self._files: dict[str, StaticFile] = {}
        # Images first: style sheets refer to them by their hashed names.
        for path in sorted(folder.iterdir(), key=lambda path: (path.suffix == ".css", path.name)):
            if path.suffix not in _CONTENT_TYPES:
                continue
            content = path.read_bytes()
            if path.suffix == ".css":
                for name, url in self._urls_by_name.items():
                    content = content.replace(f'url("{name}")'.encode(), f'url("{url}")'.encode())
            file = StaticFile(content, path.suffix)
            hashed_name = f"{path.stem}.{file.digest}{path.suffix}"
            self._urls_by_name[path.name] = f"{STATIC_PATH}/{hashed_name}"
            self._files[hashed_name] = file

    def __call__(self, name: str) -> str:
        """Return the URL of a file."""
        return self._urls_by_name[name]

    async def serve(self, request: web.Request) -> web.Response:
        """Serve a file."""
        name = request.match_info["name"]
        file = self._files.get(name)
        if file is None:
            raise web.HTTPNotFound
        return await file.respond(request, _IMAGE_POLICY if name.endswith(".svg") else None)


class ClientFiles:
    """The chat client's JavaScript modules and style sheets, in folders whose URLs contain the hash of all files.

    Modules import each other by relative names, so files of one version are always loaded together (decisions/0057). One
    folder has the files as they are written, the other one has what the chat client loads: the modules that it needs to
    start are one file there, and so are its style sheets (decisions/0151).
    """

    def __init__(self, folder: Path = STATIC_FOLDER) -> None:
        self._folder = folder

    @functools.cached_property
    def _sources(self) -> dict[str, StaticFile]:
        """The files as they are written, by name, read on first use: few rehearsals show a page."""
        folder = self._folder
        paths = [(path, path.relative_to(folder / "app")) for path in (folder / "app").rglob("*")]
        paths += [(path, path.relative_to(folder)) for path in (folder / THIRD_PARTY).rglob("*")]
        return {
            relative_path.as_posix(): StaticFile(path.read_bytes(), path.suffix)
            for path, relative_path in sorted(
                path_and_relative for path_and_relative in paths if path_and_relative[0].suffix in _CONTENT_TYPES
            )
        }

    @functools.cached_property
    def _files(self) -> dict[str, StaticFile]:
        """The files that the chat client loads, by name."""
        return self._sources | self._build_start_files()

    @functools.cached_property
    def _source_hash(self) -> str:
        return _hash_files(self._sources)

    @functools.cached_property
    def _version_hash(self) -> str:
        return _hash_files(self._files)

    @property
    def sheet(self) -> str:
        """URL of the style sheet."""
        return self(START_SHEET)

    @property
    def script(self) -> str:
        """URL of the module that starts the client."""
        return self(start_package.PACKAGE)

    @property
    def has_call_files(self) -> bool:
        """Whether the files that calls need are installed."""
        return self._sources.keys() >= CALL_FILES

    @property
    def has_highlighter(self) -> bool:
        """Whether the library that colors code blocks is installed."""
        return HIGHLIGHTER in self._sources

    @property
    def has_emoji_files(self) -> bool:
        """Whether the files with all Unicode emoji are installed."""
        return self._sources.keys() >= EMOJI_FILES

    def load(self) -> None:
        """Read and join the files now, so that no request waits for it."""
        _ = self._source_hash, self._version_hash

    def _build_start_files(self) -> dict[str, StaticFile]:
        """Return the package of the modules that the client needs to start, with its stubs, and the style sheet."""
        package = start_package.build_package(self._module_texts(), MAIN_MODULE)
        omitted_sheets = set() if EMOJI_FONT in self._sources else {EMOJI_FONT_SHEET}
        sheets = [name for name in self._sources if name.endswith(".css") and name not in omitted_sheets]
        sheet = StaticFile(b"\n".join(self._sources[name].data for name in sheets), ".css")
        return {name: StaticFile(code.encode(), ".js") for name, code in package.items()} | {START_SHEET: sheet}

    def _module_texts(self) -> dict[str, str]:
        modules = (name for name in self._sources if name.endswith(".js") and not name.startswith(THIRD_PARTY))
        return {name: self._sources[name].data.decode() for name in modules}

    def compress_start_files(self) -> None:
        """Compress the files that the client needs to start, which takes about a second."""
        for name in (start_package.PACKAGE, START_SHEET):
            for encoding in content_encoding.ENCODINGS:
                self._files[name].compress(encoding)

    def list_start_modules(self, entry_module: str = MAIN_MODULE) -> list[str]:
        """Return the names of a module and of the modules that it imports statically, directly or through other modules."""
        return start_package.list_imported(self._module_texts(), entry_module)

    def __call__(self, name: str) -> str:
        """Return the URL of a file of the chat client."""
        assert name in self._files, name
        return f"{STATIC_PATH}/app/{self._version_hash}/{name}"

    def source_url(self, name: str) -> str:
        """Return the URL of a file as it is written, for pages other than the chat client."""
        assert name in self._sources, name
        return f"{STATIC_PATH}/app/{self._source_hash}/{name}"

    async def serve(self, request: web.Request) -> web.Response:
        """Serve a file of the current version. Other versions are not found, so that versions never mix on one page."""
        name, version_hash = request.match_info["name"], request.match_info["version_hash"]
        folders = {self._version_hash: self._files, self._source_hash: self._sources}
        file = folders.get(version_hash, {}).get(name)
        if file is None:
            raise web.HTTPNotFound
        # A web worker has the policy of its own response, not that of the page.
        return await file.respond(request, _WORKER_POLICY if name == FRAME_WORKER else None)


def _hash_files(files: dict[str, StaticFile]) -> str:
    """Return the hash of the names and contents of files."""
    lines: Iterable[str] = (f"{name} {file.digest}\n" for name, file in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


class CatalogFiles:
    """The messages of the chat client in each language, as JSON files that are made on first use."""

    def __init__(self) -> None:
        self._files: dict[str, StaticFile] = {}
        self.languages = (translation.SOURCE_LANGUAGE, *translation.list_translations())
        """Tags of all languages of the interface."""

    def url(self, name: str) -> str:
        """Return the URL of a catalogue."""
        return f"{STATIC_PATH}/messages/{name}.{self._load(name).digest}.json"

    def _load(self, name: str) -> StaticFile:
        if name not in self._files:
            messages = translation.load_translations(name).client_messages()
            self._files[name] = StaticFile(codec.encode(messages), ".json")
        return self._files[name]

    async def serve(self, request: web.Request) -> web.Response:
        """Serve the catalogue of the current version."""
        name, digest = request.match_info["name"], request.match_info["digest"]
        if not translation.has_translations(name):
            raise web.HTTPNotFound
        if name not in self._files:
            await asyncio.to_thread(self._load, name)
        file = self._files[name]
        if file.digest != digest:
            raise web.HTTPNotFound
        return await file.respond(request)


@functools.cache
def load_static_files() -> tuple[Assets, ClientFiles, CatalogFiles]:
    """Return the static files of the package, read once for all servers of the process."""
    return Assets(), ClientFiles(), CatalogFiles()
