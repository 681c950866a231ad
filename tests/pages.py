"""A browser without JavaScript for tests of pages: it stores cookies, follows redirects, submits forms, parses HTML."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import aiohttp
from yarl import URL

from tests.world import Actor, World

PASSWORD = "correct horse battery"


@dataclass
class PageForm:
    """A form of a page, with the values that it submits by default."""

    action: str
    method: str
    values: list[tuple[str, str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Names of all fields, including unchecked ones."""
    buttons: list[tuple[str, str, str]] = field(default_factory=list)
    """Label, name and value of each button."""


class _Reader(HTMLParser):
    """Parser that collects the forms, links and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.links: list[tuple[str, str]] = []
        self.text = ""
        self.refresh: str | None = None
        self._form: PageForm | None = None
        self._select: list[str] = []
        self._catch: list[str] | None = None
        self._attributes: dict[str, str] = {}

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        found = {name: value if value is not None else "" for name, value in attributes}
        if tag == "form":
            self._form = PageForm(found.get("action", ""), found.get("method", "get").upper())
            self.forms.append(self._form)
        elif tag == "input" and self._form is not None and "name" in found:
            self._form.names.append(found["name"])
            if found.get("type") not in ("checkbox", "radio") or "checked" in found:
                self._form.values.append((found["name"], found.get("value", "")))
        elif tag == "select" and self._form is not None:
            self._form.names.append(found["name"])
            self._select = [found["name"]]
        elif tag == "option" and self._select and self._form is not None:
            first = len(self._select) == 1
            self._select.append(found["value"])
            if first or "selected" in found:
                self._form.values = [pair for pair in self._form.values if pair[0] != self._select[0]]
                self._form.values.append((self._select[0], found["value"]))
        elif tag == "meta" and found.get("http-equiv") == "refresh":
            self.refresh = found["content"].partition("url=")[2]
        if tag in ("a", "button", "textarea"):
            self._catch, self._attributes = [], found

    def handle_endtag(self, tag: str) -> None:
        caught = " ".join("".join(self._catch or []).split())
        if tag == "a":
            self.links.append((caught, self._attributes.get("href", "")))
        elif tag == "button" and self._form is not None:
            self._form.buttons.append((caught, self._attributes.get("name", ""), self._attributes.get("value", "")))
        elif tag == "textarea" and self._form is not None:
            self._form.names.append(self._attributes["name"])
            self._form.values.append((self._attributes["name"], "".join(self._catch or []).removeprefix("\n")))
        elif tag == "form":
            self._form = None
        elif tag == "select":
            self._select = []
        if tag in ("a", "button", "textarea"):
            self._catch = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._catch is not None:
            self._catch.append(data)


@dataclass
class Page:
    """A page that the browser received, with its forms, links and text."""

    status: int
    headers: Any
    body: str
    url: str
    """The path it was requested with, without the platform's URL."""

    def __post_init__(self) -> None:
        reader = _Reader()
        reader.feed(self.body)
        self.forms, self.links, self.refresh = reader.forms, reader.links, reader.refresh
        self.text = " ".join(reader.text.split())

    @property
    def location(self) -> str:
        """The target of a redirect."""
        location: str = self.headers["Location"]
        return location

    def form(self, label: str) -> PageForm:
        """Return the form that has a button with this label."""
        for form in self.forms:
            if any(label == text for text, _, _ in form.buttons):
                return form
        raise AssertionError(f"no button {label!r} on: {self.text}")


class Browser:
    """A browser with its own cookies."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.jar = aiohttp.CookieJar(unsafe=True)
        self.history: list[Page] = []

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies stored for the platform, by name."""
        return {name: morsel.value for name, morsel in self.jar.filter_cookies(URL(self.world.url)).items()}

    async def request(self, method: str, path: str, *, headers: dict[str, str] | None = None, data: Any = None) -> Page:
        """Send one request without following redirects."""
        async with aiohttp.ClientSession(cookie_jar=self.jar) as client:
            target = URL(urljoin(self.world.url, path), encoded=True)
            async with client.request(method, target, headers=headers, data=data, allow_redirects=False) as response:
                shown = Page(response.status, response.headers, await response.text(), path)
        self.history.append(shown)
        return shown

    async def open(self, path: str) -> Page:
        """Open a page, following redirects within the platform."""
        return await self._follow(await self.request("GET", path))

    async def _follow(self, shown: Page) -> Page:
        while shown.status in (302, 303) and urlsplit(shown.location).netloc in ("", urlsplit(self.world.url).netloc):
            if urlsplit(shown.location).scheme not in ("", "http"):
                break
            shown = await self.request("GET", shown.location)
        return shown

    async def submit(self, shown: Page, label: str, *, follow: bool = True, **values: Any) -> Page:
        """Fill in the form that has a button with this label, and submit it with that button."""
        form = shown.form(label)
        pairs = [(name, value) for name, value in form.values if name not in values]
        for name, value in values.items():
            assert name in form.names, f"no field {name} in {form.names}"
            pairs += [(name, str(each)) for each in (value if isinstance(value, list) else [value])]
        pairs += [(name, value) for text, name, value in form.buttons if text == label and name]
        action = urljoin(shown.url, form.action) if form.action else shown.url
        if form.method == "GET":
            page = await self.request("GET", f"{action}?{urlencode(pairs)}")
        else:
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.world.url}
            page = await self.request("POST", action, headers=headers, data=urlencode(pairs))
        return await self._follow(page) if follow else page

    def sign_in_as(self, actor: Actor) -> None:
        """Sign in as a user by setting the session cookie."""
        self.jar.update_cookies({"hubbub_session": actor.token}, URL(self.world.url))

    async def register(self, username: str, path: str = "/register") -> Page:
        """Create an account on the registration page, which also signs in."""
        page = await self.open(path)
        return await self.submit(page, "Create account", username=username, password=PASSWORD)

    async def log_in(self, username: str, password: str = PASSWORD, path: str = "/login") -> Page:
        """Sign in on the login page."""
        return await self.submit(await self.open(path), "Log in", login=username, password=password)
