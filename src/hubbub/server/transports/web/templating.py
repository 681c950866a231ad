"""Jinja templates: environment with autoescaping, filters for times, prices and names, and the check of links."""

import functools
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from hubbub.server.core import translation
from hubbub.server.core.translation import gettext, ngettext
from hubbub.server.transports.web import prices
from hubbub.server.transports.web.forms import field_label
from hubbub.server.transports.web.static_files import Assets, CatalogFiles, ClientFiles

LINK_SCHEMES: Final = ("", "http", "https", "mailto")
"""Schemes of links in documents; links with other schemes are shown as text."""
PACKAGE_DIR: Final = Path(__file__).parent
_SIZE_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")


# The order matters: most user agents also contain the tokens of browsers that are listed after their own.
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


@functools.cache
def template_environment(assets: Assets, client_files: ClientFiles, catalogs: CatalogFiles) -> Environment:
    """Create the Jinja environment with its globals and filters, once for the same static files."""
    environment = Environment(
        loader=FileSystemLoader(PACKAGE_DIR / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(**translation.template_functions())  # type: ignore[attr-defined]
    environment.globals["asset"] = assets
    environment.globals["modules"] = client_files
    environment.globals["catalogs"] = catalogs
    environment.globals["language"] = translation.current_language
    environment.globals["field_label"] = field_label
    environment.globals["is_safe_link"] = is_safe_link
    environment.filters["time"] = format_time
    environment.filters["day"] = format_date
    environment.filters["number"] = translation.format_number
    environment.filters["file_size"] = format_file_size
    environment.filters["initials"] = initials
    environment.filters["avatar_color_index"] = avatar_color_index
    environment.filters["user_agent_name"] = user_agent_name
    environment.filters["price"] = prices.format_price
    environment.filters["amount"] = prices.format_amount
    return environment


def format_time(iso_time: str) -> Markup:
    """Format an ISO 8601 time in UTC; a page without script does not know the user's time zone."""
    formatted_time = translation.format_time(datetime.fromisoformat(iso_time))
    return Markup('<time datetime="{}">{}</time>').format(escape(iso_time), formatted_time)


def format_date(iso_time: str) -> Markup:
    """Format the date of an ISO 8601 time in UTC."""
    formatted_date = translation.format_date(datetime.fromisoformat(iso_time))
    return Markup('<time datetime="{}">{}</time>').format(escape(iso_time), formatted_date)


def format_file_size(size: int) -> str:
    """Format a number of bytes in binary units, such as `1.5 MiB`."""
    if size < 1024:
        return ngettext("{count} byte", "{count} bytes", size)
    exponent = min((size.bit_length() - 1) // 10, len(_SIZE_UNITS))
    return f"{translation.format_decimal(round(size * 10 / 1024**exponent), 1)} {_SIZE_UNITS[exponent - 1]}"


def is_safe_link(url: str) -> bool:
    """Return whether a link of a document can be opened without running a script."""
    try:
        return urlsplit(url).scheme.lower() in LINK_SCHEMES
    except ValueError:
        return False


def initials(name: str) -> str:
    """Return the one or two letters shown in place of a missing avatar or icon."""
    words = [word for word in name.split() if word[:1].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or name[:1].upper() or "?"


def avatar_color_index(object_id: Any) -> int:
    """Return the index (0 to 5) of the avatar color for an ID. The chat client has the same function in avatars.js."""
    return ((int(object_id) >> 22) + int(object_id)) % 6


def user_agent_name(agent: str | None) -> str:
    """Return a readable name for a user agent: browser and system, or the agent string itself."""
    if not agent:
        return gettext("Unknown client")
    browser = next((name for token, name in _BROWSERS if token in agent), None)
    system = next((name for token, name in _SYSTEMS if token in agent), None)
    if browser is None or not agent.startswith("Mozilla/"):
        return agent[:80]
    return gettext("{browser} on {system}", browser=browser, system=system) if system else browser
