"""Templates and the files beside them: escaped always, no script and no style inside, file names that change with their content."""

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

HERE: Final = Path(__file__).parent
STATIC: Final = "/static"
BEGIN: Final = "begin.js"
MAIN: Final = "main.js"
"""The chat client's two doors: what hides the page before it is drawn, and what takes its place."""

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".js": "text/javascript; charset=utf-8",
}
_FOREVER: Final = "public, max-age=31536000, immutable"
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

# ISO 4217: currencies whose smallest unit is not a hundredth.
_WHOLE: Final = (
    "bif", "clp", "djf", "gnf", "isk", "jpy", "kmf", "krw", "pyg", "rwf", "ugx", "uyi", "vnd", "vuv", "xaf", "xof", "xpf",
)  # fmt: skip
_THOUSANDTHS: Final = ("bhd", "iqd", "jod", "kwd", "lyd", "omr", "tnd")

# The order matters: most browsers also claim to be the ones behind them.
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
    """Style sheets and pictures, each at an address that holds its hash."""

    def __init__(self, folder: Path = HERE / "static") -> None:
        self._paths: dict[str, str] = {}
        self._files: dict[str, tuple[bytes, str]] = {}
        # Pictures first: the style sheet names them by their hashed names.
        for path in sorted(folder.iterdir(), key=lambda path: (path.suffix == ".css", path.name)):
            if path.suffix not in _TYPES:
                continue
            data = path.read_bytes()
            if path.suffix == ".css":
                for name, address in self._paths.items():
                    data = data.replace(f'url("{name}")'.encode(), f'url("{address}")'.encode())
            hashed = f"{path.stem}.{hashlib.sha256(data).hexdigest()[:12]}{path.suffix}"
            self._paths[path.name] = f"{STATIC}/{hashed}"
            self._files[hashed] = (data, _TYPES[path.suffix])

    def __call__(self, name: str) -> str:
        """The address of a file."""
        return self._paths[name]

    async def serve(self, request: web.Request) -> web.Response:
        """One file; browsers keep it for good, since a new content has a new name."""
        found = self._files.get(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound
        data, kind = found
        headers = {"Content-Type": kind, "Cache-Control": _FOREVER, "X-Content-Type-Options": "nosniff"}
        if kind == _TYPES[".svg"]:
            headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        return web.Response(body=data, headers=headers)


class Modules:
    """The chat client's modules and style sheets, in one folder whose address holds the hash of all of them.

    They import each other by relative names, so what belongs together is always loaded together (decisions/0057)."""

    def __init__(self, folder: Path = HERE / "static" / "app") -> None:
        self._files: dict[str, tuple[bytes, str, str]] = {}
        whole = hashlib.sha256()
        for path in sorted(each for each in folder.rglob("*") if each.suffix in _TYPES):
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            digest = hashlib.sha256(data).hexdigest()[:16]
            whole.update(f"{name} {digest}\n".encode())
            self._files[name] = (data, _TYPES[path.suffix], f'"{digest}"')
        self._edition = whole.hexdigest()[:12]
        self.sheets = [self(name) for name in self._files if name.endswith(".css")]
        """The addresses of its style sheets."""
        self.scripts = [self(name) for name in self._files if name.endswith(".js") and name not in (BEGIN, MAIN)]
        """The addresses of its modules, so that a browser need not find them one behind the other."""

    def __call__(self, name: str) -> str:
        """The address of a file."""
        assert name in self._files, name
        return f"{STATIC}/app/{self._edition}/{name}"

    async def serve(self, request: web.Request) -> web.Response:
        """One file of this edition; another edition's are not here, or old and new modules would meet on one page."""
        found = self._files.get(request.match_info["name"])
        if found is None or request.match_info["edition"] != self._edition:
            raise web.HTTPNotFound
        data, kind, tag = found
        headers = {"Cache-Control": _FOREVER, "ETag": tag, "X-Content-Type-Options": "nosniff"}
        if tag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        return web.Response(body=data, headers={**headers, "Content-Type": kind})


def environment(assets: Assets, modules: Modules) -> Environment:
    """The templates with what they may use."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["asset"] = assets
    made.globals["modules"] = modules
    made.filters["moment"] = moment
    made.filters["initials"] = initials
    made.filters["hue"] = hue
    made.filters["program"] = program
    made.filters["price"] = price
    return made


def moment(text: str) -> Markup:
    """A time of the wire, as people write it; UTC, since a page without script does not know where they are."""
    when = datetime.fromisoformat(text)
    shown = f"{when.day} {_MONTHS[when.month - 1]} {when.year}, {when:%H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(escape(text), shown)


def initials(name: str) -> str:
    """What stands in the place of a picture that somebody does not have."""
    words = [word for word in name.split() if word[:1].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or name[:1].upper() or "?"


def hue(value: Any) -> int:
    """One of six colours, always the same for the same id."""
    return ((int(value) >> 22) + int(value)) % 6


def program(agent: str | None) -> str:
    """A browser by the name that people know it by; another program as it calls itself."""
    if not agent:
        return "An unknown program"
    browser = next((name for mark, name in _BROWSERS if mark in agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in agent), None)
    if browser is None or not agent.startswith("Mozilla/"):
        return agent[:80]
    return f"{browser} on {system}" if system else browser


def price(amount: int, currency: str) -> str:
    """An amount in the smallest unit of a currency, as people write it."""
    if not amount:
        return "Free"
    digits = 0 if currency in _WHOLE else 3 if currency in _THOUSANDTHS else 2
    whole, rest = divmod(amount, 10**digits)
    return f"{whole:,}{f'.{rest:0{digits}}' if digits else ''} {currency.upper()}"
