"""A browser without JavaScript for tests of pages: it stores cookies, follows redirects, submits forms, parses HTML."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, ClassVar
from urllib.parse import urlencode, urljoin, urlsplit

import aiohttp
from yarl import URL

from hubbub.server.core import pseudo_locales
from tests.accented_pages import AccentedPages
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


class _PageParser(HTMLParser):
    """Parser that collects the forms, links, text and refresh target of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.links: list[tuple[str, str]] = []
        self.text = ""
        self.refresh: str | None = None
        self._form: PageForm | None = None
        self._select_name: str | None = None
        """Name of the open select; None outside of one."""
        self._select_has_option = False
        """Whether the open select has had an option."""
        self._inner_text: list[str] | None = None
        """Text of the open link, button or text area so far; None outside of one."""
        self._attributes: dict[str, str] = {}
        """Attributes of the open link, button or text area."""

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        values = {name: value if value is not None else "" for name, value in attributes}
        if tag == "form":
            self._form = PageForm(values.get("action", ""), values.get("method", "get").upper())
            self.forms.append(self._form)
        elif tag == "input" and self._form is not None and "name" in values:
            self._form.names.append(values["name"])
            if values.get("type") not in ("checkbox", "radio") or "checked" in values:
                self._form.values.append((values["name"], values.get("value", "")))
        elif tag == "select" and self._form is not None:
            self._form.names.append(values["name"])
            self._select_name, self._select_has_option = values["name"], False
        elif tag == "option" and self._select_name is not None and self._form is not None:
            if not self._select_has_option or "selected" in values:
                self._form.values = [(name, value) for name, value in self._form.values if name != self._select_name]
                self._form.values.append((self._select_name, values["value"]))
            self._select_has_option = True
        elif tag == "meta" and values.get("http-equiv") == "refresh":
            self.refresh = values["content"].partition("url=")[2]
        if tag in ("a", "button", "textarea"):
            self._inner_text, self._attributes = [], values

    def handle_endtag(self, tag: str) -> None:
        label = " ".join("".join(self._inner_text or []).split())
        if tag == "a":
            self.links.append((label, self._attributes.get("href", "")))
        elif tag == "button" and self._form is not None:
            self._form.buttons.append((label, self._attributes.get("name", ""), self._attributes.get("value", "")))
        elif tag == "textarea" and self._form is not None:
            self._form.names.append(self._attributes["name"])
            self._form.values.append((self._attributes["name"], "".join(self._inner_text or []).removeprefix("\n")))
        elif tag == "form":
            self._form = None
        elif tag == "select":
            self._select_name = None
        if tag in ("a", "button", "textarea"):
            self._inner_text = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._inner_text is not None:
            self._inner_text.append(data)


@dataclass
class Page:
    """A page that the browser received, with its forms, links, text and refresh target."""

    status: int
    headers: Any
    body: str
    url: str
    """The URL of the request, normally relative to the platform's origin."""

    def __post_init__(self) -> None:
        parser = _PageParser()
        parser.feed(self.body)
        self.forms, self.links, self.refresh = parser.forms, parser.links, parser.refresh
        self.text = " ".join(parser.text.split())

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

    accented_pages: ClassVar[AccentedPages | None] = None
    """The pages of the test if it runs in the pseudo-locale (fixture `accented_pages`); None in English."""

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
        accented_pages = self.accented_pages
        if accented_pages is not None:
            headers = {"Accept-Language": pseudo_locales.ACCENTED} | (headers or {})
            for fields in (data, urlsplit(path).query):
                if isinstance(fields, str):
                    accented_pages.add_form(fields)
        async with aiohttp.ClientSession(cookie_jar=self.jar) as client:
            target = URL(urljoin(self.world.url, path), encoded=True)
            async with client.request(method, target, headers=headers, data=data, allow_redirects=False) as response:
                body = await response.text()
                if accented_pages is not None and response.headers.get("Content-Language") == pseudo_locales.ACCENTED:
                    body = accented_pages.read_page(f"{method} {path}", body)
                page = Page(response.status, response.headers, body, path)
        self.history.append(page)
        return page

    async def open(self, path: str) -> Page:
        """Open a page, following redirects within the platform."""
        return await self._follow_redirects(await self.request("GET", path))

    async def _follow_redirects(self, page: Page) -> Page:
        while page.status in (302, 303) and urlsplit(page.location).netloc in ("", urlsplit(self.world.url).netloc):
            if urlsplit(page.location).scheme not in ("", "http"):
                break
            page = await self.request("GET", page.location)
        return page

    async def submit(self, page: Page, label: str, *, follows_redirects: bool = True, **values: Any) -> Page:
        """Fill in the form that has a button with this label, and submit it with that button."""
        form = page.form(label)
        pairs = [(name, value) for name, value in form.values if name not in values]
        for name, value in values.items():
            assert name in form.names, f"no field {name} in {form.names}"
            pairs += [(name, str(item)) for item in (value if isinstance(value, list) else [value])]
        pairs += [(name, value) for text, name, value in form.buttons if text == label and name]
        action = urljoin(page.url, form.action) if form.action else page.url
        if form.method == "GET":
            result = await self.request("GET", f"{action}?{urlencode(pairs)}")
        else:
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.world.url}
            result = await self.request("POST", action, headers=headers, data=urlencode(pairs))
        return await self._follow_redirects(result) if follows_redirects else result

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
