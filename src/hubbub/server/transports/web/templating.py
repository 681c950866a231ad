"""Jinja templates and static files: autoescaping, no inline script or style, content hashes in file URLs."""

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

PACKAGE_DIR: Final = Path(__file__).parent
STATIC_PATH: Final = "/static"
BOOTSTRAP: Final = "bootstrap.js"
"""Script of the chat client that hides the page before it is drawn."""
MAIN: Final = "main.js"
"""Entry point of the chat client's modules, which replaces the page."""

_CONTENT_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".js": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
}
THIRD_PARTY: Final = "third_party"
"""Folder of files that `tools/third_party.py` fetches; empty or missing without a network (decisions/0084)."""
CALL_FILES: Final = frozenset(f"{THIRD_PARTY}/{name}" for name in ("davey.wasm", "emnapi_core.js", "emnapi_runtime.js"))
"""Third-party files that calls need."""
FRAME_WORKER: Final = "voice/frame_worker.js"
"""The worker that encrypts and decrypts the frames of calls. Pages load it as a classic script."""
_WORKER_POLICY: Final = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"

_CACHE_FOREVER: Final = "public, max-age=31536000, immutable"
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

# ISO 4217: currencies whose smallest unit is not a hundredth.
_ZERO_DECIMAL_CURRENCIES: Final = (
    "bif", "clp", "djf", "gnf", "isk", "jpy", "kmf", "krw", "pyg", "rwf", "ugx", "uyi", "vnd", "vuv", "xaf", "xof",
    "xpf",
)  # fmt: skip
_THREE_DECIMAL_CURRENCIES: Final = ("bhd", "iqd", "jod", "kwd", "lyd", "omr", "tnd")

# The order matters: most user agents also contain the tokens of the browsers further down.
_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("Mac OS", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


class Assets:
    """Style sheets, images and scripts of the pages, each at a URL that contains its content hash."""

    def __init__(self, folder: Path = PACKAGE_DIR / "static") -> None:
        self._paths: dict[str, str] = {}
        self._files: dict[str, tuple[bytes, str]] = {}
        # Images first: style sheets refer to them by their hashed names.
        for path in sorted(folder.iterdir(), key=lambda path: (path.suffix == ".css", path.name)):
            if path.suffix not in _CONTENT_TYPES:
                continue
            data = path.read_bytes()
            if path.suffix == ".css":
                for name, url in self._paths.items():
                    data = data.replace(f'url("{name}")'.encode(), f'url("{url}")'.encode())
            hashed = f"{path.stem}.{hashlib.sha256(data).hexdigest()[:12]}{path.suffix}"
            self._paths[path.name] = f"{STATIC_PATH}/{hashed}"
            self._files[hashed] = (data, _CONTENT_TYPES[path.suffix])

    def __call__(self, name: str) -> str:
        """Return the URL of a file."""
        return self._paths[name]

    async def serve(self, request: web.Request) -> web.Response:
        """Serve a file. Browsers cache it forever, because changed content has another URL."""
        file = self._files.get(request.match_info["name"])
        if file is None:
            raise web.HTTPNotFound
        data, content_type = file
        headers = {"Content-Type": content_type, "Cache-Control": _CACHE_FOREVER, "X-Content-Type-Options": "nosniff"}
        if content_type == _CONTENT_TYPES[".svg"]:
            headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        return web.Response(body=data, headers=headers)


class ClientFiles:
    """The chat client's JavaScript modules and style sheets, in a folder whose URL contains the hash of all files.

    Modules import each other by relative names, so files of one version are always loaded together (decisions/0057).
    """

    def __init__(self, folder: Path = PACKAGE_DIR / "static") -> None:
        self._files: dict[str, tuple[bytes, str, str]] = {}
        version_digest = hashlib.sha256()
        paths = [(path, path.relative_to(folder / "app")) for path in (folder / "app").rglob("*")]
        paths += [(path, path.relative_to(folder)) for path in (folder / THIRD_PARTY).rglob("*")]
        for path, relative in sorted(pair for pair in paths if pair[0].suffix in _CONTENT_TYPES):
            name, data = relative.as_posix(), path.read_bytes()
            digest = hashlib.sha256(data).hexdigest()[:16]
            version_digest.update(f"{name} {digest}\n".encode())
            self._files[name] = (data, _CONTENT_TYPES[path.suffix], f'"{digest}"')
        self._version_hash = version_digest.hexdigest()[:12]
        self.sheets = [self(name) for name in self._files if name.endswith(".css")]
        """URLs of the style sheets."""
        self.scripts = [
            self(name)
            for name in self._files
            if name.endswith(".js")
            and name not in (BOOTSTRAP, MAIN, FRAME_WORKER)
            and not name.startswith(f"{THIRD_PARTY}/")
        ]
        """URLs of the modules, so that browsers can preload them in parallel."""
        self.has_call_files = self._files.keys() >= CALL_FILES
        """Whether the files that calls need are installed."""

    def __call__(self, name: str) -> str:
        """Return the URL of a file."""
        assert name in self._files, name
        return f"{STATIC_PATH}/app/{self._version_hash}/{name}"

    async def serve(self, request: web.Request) -> web.Response:
        """Serve a file of the current version. Other versions are not found, so that versions never mix on one page."""
        file = self._files.get(request.match_info["name"])
        if file is None or request.match_info["version_hash"] != self._version_hash:
            raise web.HTTPNotFound
        data, content_type, etag = file
        headers = {"Cache-Control": _CACHE_FOREVER, "ETag": etag, "X-Content-Type-Options": "nosniff"}
        if request.match_info["name"] == FRAME_WORKER:
            # A worker has the policy of its own response, not that of the page.
            headers["Content-Security-Policy"] = _WORKER_POLICY
        if etag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        return web.Response(body=data, headers={**headers, "Content-Type": content_type})


def new_template_environment(assets: Assets, client_files: ClientFiles) -> Environment:
    """Create the Jinja environment with its globals and filters."""
    templates = Environment(
        loader=FileSystemLoader(PACKAGE_DIR / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.globals["asset"] = assets
    templates.globals["modules"] = client_files
    templates.filters["moment"] = format_time
    templates.filters["initials"] = initials
    templates.filters["avatar_color_index"] = avatar_color_index
    templates.filters["program"] = user_agent_name
    templates.filters["price"] = format_price
    return templates


def format_time(text: str) -> Markup:
    """Format an ISO 8601 time in UTC; a page without script does not know the user's time zone."""
    time = datetime.fromisoformat(text)
    formatted = f"{time.day} {_MONTHS[time.month - 1]} {time.year}, {time:%H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(escape(text), formatted)


def initials(name: str) -> str:
    """Return the one or two letters shown in place of a missing avatar or icon."""
    words = [word for word in name.split() if word[:1].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or name[:1].upper() or "?"


def avatar_color_index(value: Any) -> int:
    """Return the index (0 to 5) of the avatar color for an ID."""
    return ((int(value) >> 22) + int(value)) % 6


def user_agent_name(agent: str | None) -> str:
    """Return a readable name for a user agent: browser and system, or the agent string itself."""
    if not agent:
        return "Unknown client"
    browser = next((name for token, name in _BROWSERS if token in agent), None)
    system = next((name for token, name in _SYSTEMS if token in agent), None)
    if browser is None or not agent.startswith("Mozilla/"):
        return agent[:80]
    return f"{browser} on {system}" if system else browser


def format_price(amount: int, currency: str) -> str:
    """Format an amount given in the smallest unit of a currency."""
    if not amount:
        return "Free"
    digits = 0 if currency in _ZERO_DECIMAL_CURRENCIES else 3 if currency in _THREE_DECIMAL_CURRENCIES else 2
    whole, rest = divmod(amount, 10**digits)
    return f"{whole:,}{f'.{rest:0{digits}}' if digits else ''} {currency.upper()}"
