"""Fuzzing of web pages and files: pages with and without a login, their forms, the CDN and the API reference."""

import random
import re
from typing import Any, Self
from urllib.parse import quote, urlencode

from hubbub.server.transports.web.page_requests import find_pages
from hubbub.server.transports.web.server import PAGE_MODULES
from tests.fuzz.mutations import mutate_bytes, mutate_wire
from tests.fuzz.platform import Platform
from tests.fuzz.report import Report
from tests.fuzz.target import FuzzTarget, InvalidResponse
from tests.fuzz.values import IDS, TEXTS, ObjectPool
from tests.fuzz.wire import WireClient, WireRequest
from tests.oauth import create_application
from tests.pages import Browser, Page
from tests.server.identity.operators import create_operator
from tests.world import Actor

_PARAMETER_PATTERN = re.compile(r"\{(\w+)(?::(?:[^{}]|\{[^{}]*\})*)?\}")

FILE_PATHS = (
    "/",
    "/docs",
    "/docs/search?q={text}",
    "/docs/operations/{text}",
    "/docs/{text}",
    "/api/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
    "/.well-known/openid-configuration",
    "/.well-known/{text}",
    "/static/{text}",
    "/static/app/{text}",
    "/manifest.webmanifest",
    "/cdn/attachments/{channel_id}/{message_id}/{text}",
    "/cdn/avatars/{user_id}/{text}.png?size={text}",
    "/cdn/icons/{guild_id}/{text}.webp",
    "/cdn/emojis/{emoji_id}.png?size=16",
    "/cdn/emojis/{emoji_id}.gif",
    "/cdn/stickers/{sticker_id}.json",
    "/cdn/soundboard-sounds/{sound_id}",
    "/cdn/embed/avatars/{text}.png",
    "/cdn/{text}",
    "/control/{text}",
    "/{text}",
)
"""Paths of files and of pages that have no declaration."""

FILE_PATHS_WITH_PARAMETERS = [path for path in FILE_PATHS if "{" in path]

EXCLUDED_PATHS = frozenset({"/logout", "/settings/account/delete", "/settings/account/second-factor"})
"""Paths that are not requested, because their forms would end the login of the target or change its second factor."""

BODY_BYTES_MAX = 64 * 1024

ACCOUNT_PAGES = {"user": "/settings/account", "operator": "/admin/users", "anonymous": "/login"}
"""A page that a login can open, by login. A login without a session is redirected."""

_LOGIN_PATTERN = re.compile(rb"\r\nlocation: /login\?", re.IGNORECASE)


class PagesTarget(FuzzTarget):
    """Requests pages and submits their forms."""

    name = "pages"

    def __init__(self, platform: Platform, rng: random.Random, report: Report) -> None:
        super().__init__(platform, rng, report)
        self._client = WireClient(*platform.address)
        self._pool = ObjectPool(rng)
        self._pages = [page for module in PAGE_MODULES for page, _ in find_pages(module)]
        self._browsers: dict[str, Browser] = {}
        self._forms: dict[tuple[str, str], list[str]] = {}
        """Names of the fields of the forms that were found, by the path of the form and login."""
        self._tokens: dict[str, str] = {}
        self._ending_logins: set[str] = set()
        """Logins that are being replaced."""

    async def start(self) -> None:
        """Create a user and an operator only for this target, and find the forms of the pages."""
        for name, value in self.platform.prepared_guild.object_ids.items():
            # Forms must not delete or suspend the objects of the other targets.
            if name not in ("guild_id", "user_id", "application_id"):
                self._pool.add(name, value)
        for login in ACCOUNT_PAGES:
            await self._sign_in(login)

    async def _sign_in(self, login: str) -> None:
        """Create the account of a login, and for a user the objects of its forms; find the forms of its pages."""
        world = self.platform.world
        browser = Browser(world)
        if login == "user":
            user = await world.user()
            browser.sign_in_as(user)
            await self._create_objects(user)
        elif login == "operator":
            name = self.platform.builder.unused_name("pageoperator")
            browser.sign_in_as(await create_operator(world, name))
        forms: dict[tuple[str, str], list[str]] = {}
        paths = [self._fill(page.path) for page in self._pages if page.method == "GET"]
        for path in (ACCOUNT_PAGES[login], *paths):
            if "second-factor" not in path:
                self._remember_forms(await browser.request("GET", path), login, forms)
        for key in [key for key in self._forms if key[1] == login]:
            del self._forms[key]
        self._forms |= forms
        self._browsers[login] = browser

    async def _create_objects(self, user: Actor) -> None:
        """Create a guild, an application and another user, and add them to the pool."""
        world = self.platform.world
        guild = await world.guild(user)
        application = await create_application(world, user)
        victim = await world.user()
        await application.request_tokens(user)
        for name, value in {
            "guild_id": guild.id,
            "guild_segment": guild.id,
            "channel_id": guild.general,
            "application_id": application.id,
            "integration_id": application.id,
            "user_id": victim.id,
        }.items():
            self._pool.add(name, str(value))

    async def _sign_in_again(self, login: str) -> None:
        """Create a new account for a login whose session was ended or whose account was suspended by a form."""
        if login == "anonymous" or login in self._ending_logins:
            return
        self._ending_logins.add(login)
        try:
            if (await self._browsers[login].request("GET", ACCOUNT_PAGES[login])).status == 303:
                self.report.outcome_counts[f"pages new {login}"] += 1
                await self._sign_in(login)
        finally:
            self._ending_logins.remove(login)

    def clone(self, rng: random.Random) -> Self:
        """Return a target with its own connection, which shares the pool, the logins and the forms."""
        target = super().clone(rng)
        target._pool, target._browsers = self._pool, self._browsers
        target._forms, target._tokens, target._ending_logins = self._forms, self._tokens, self._ending_logins
        return target

    def _remember_forms(self, page: Page, login: str, forms: dict[tuple[str, str], list[str]]) -> None:
        """Add the forms of a page to `forms`, except those for objects of other targets, and store the token that they need."""
        shared_ids = [str(caller.id) for caller in self.platform.callers.values() if caller is not None]
        shared_ids += [
            self.platform.prepared_guild.object_ids[name] for name in ("guild_id", "user_id", "application_id")
        ]
        for form in page.forms:
            # The console lists the sessions of all users by the IDs of their tokens.
            if any(value in form.action for value in shared_ids) or form.action.startswith("/admin/sessions/"):
                continue
            forms.setdefault((form.action, login), form.names)
            for name, value in form.values:
                if name == "form_token":
                    self._tokens[login] = value

    async def step(self) -> None:
        """Request a page or a file, or submit a form."""
        choice = self.random.random()
        login = self.random.choice(("user", "user", "operator", "anonymous"))
        if choice < 0.2:
            # The metrics and the OpenAPI description have no parameters and take longest.
            paths = FILE_PATHS if choice < 0.01 else FILE_PATHS_WITH_PARAMETERS
            wire = WireRequest("GET", self._fill(self.random.choice(paths)))
        elif choice < 0.5 and self._forms:
            (action, login), names = self.random.choice(list(self._forms.items()))
            wire = self._build_form(action or "/settings/account", names, login)
        else:
            page = self.random.choice(self._pages)
            wire = WireRequest(page.method, self._fill(page.path) + self._build_query())
            if page.method == "POST":
                names = next((names for (path, _), names in self._forms.items() if path == page.path), [])
                wire = self._build_form(wire.target, names, login)
        path = wire.target.partition("?")[0]
        if path in EXCLUDED_PATHS or (wire.method == "POST" and path.startswith("/admin/features/")):
            return
        cookies = "; ".join(f"{name}={value}" for name, value in self._browsers[login].cookies.items())
        if cookies:
            wire.headers.append(("Cookie", cookies))
        if self.random.random() < 0.1:
            wire = mutate_wire(wire, self.random)
        await self._send(wire, login)

    def _build_form(self, path: str, names: list[str], login: str) -> WireRequest:
        fields = [("form_token", self._tokens.get(login, ""))]
        for name in names or ("name", "reason", "code", "token", "redirect", "username"):
            if name != "form_token" and self.random.random() < 0.9:
                fields.append((name, self._build_value(name)))
        if self.random.random() < 0.1:
            fields.append((self.random.choice(TEXTS), self.random.choice(TEXTS)))
        body = _encode(fields).encode()
        headers = [("Content-Type", "application/x-www-form-urlencoded")]
        if self.random.random() < 0.15:
            boundary = b"b"
            body = b"".join(
                b'--b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
                % (name.encode("utf-8", "surrogatepass"), value.encode("utf-8", "surrogatepass"))
                for name, value in fields
            )
            file = b'--b\r\nContent-Disposition: form-data; name="icon"; filename="a.png"\r\n\r\n\x89PNG\r\n'
            body += file + b"--" + boundary + b"--\r\n"
            headers = [("Content-Type", "multipart/form-data; boundary=b")]
        if self.random.random() < 0.05:
            body = mutate_bytes(body, self.random)
        return WireRequest("POST", path, headers, body[:BODY_BYTES_MAX])

    def _build_value(self, name: str) -> str:
        known_value = self._pool.find(name)
        if known_value is not None and self.random.random() < 0.5:
            return known_value
        return self.random.choice(
            (self.random.choice(TEXTS), self.random.choice(IDS), "on", "hello", "2027-01-01T00:00")
        )

    def _build_query(self) -> str:
        if self.random.random() < 0.4:
            return ""
        names = ("next", "before", "after", "query", "client_id", "scope", "redirect_uri", "response_type", "state")
        names += ("user_code", "token", "page", "type", "kind", "state", "limit", "guild_id", "permissions", "prompt")
        chosen_names = self.random.sample(names, self.random.choice((1, 2, 5)))
        return "?" + _encode([(name, self._build_value(name)) for name in chosen_names])

    def _fill(self, pattern: str) -> str:
        def replace(match: re.Match[str]) -> str:
            if match[1] == "text" or self.random.random() < 0.03:
                return quote(self.random.choice(TEXTS).encode("utf-8", "surrogatepass"), safe="/.")
            value = self._pool.find(match[1]) or self.random.choice(
                ("1", "@me", "name", "9223372036854775807", "9" * 19)
            )
            return quote(value, safe="@")

        return _PARAMETER_PATTERN.sub(replace, pattern)

    async def _send(self, wire: WireRequest, login: str) -> None:
        self.last_input = {
            "login": login,
            "method": wire.method,
            "target": wire.target,
            "headers": [[name, value] for name, value in wire.headers if name != "Cookie"],
            "body": wire.body.decode("latin-1"),
            "is_truncated": wire.is_truncated,
        }
        response = await self._client.send(wire)
        self.report.count(self.name, str(response.status or "closed"))
        if response.status == 503 and (wire.target.startswith("/readyz") or self.platform.consume_overload()):
            return
        if response.status == 303 and _LOGIN_PATTERN.search(response.head):
            await self._sign_in_again(login)
        if response.status >= 500:
            raise InvalidResponse(f"{wire.method} {_generalize(wire.target)} returned {response.status}")

    async def replay(self, stored_input: Any) -> None:
        """Send a stored request."""
        await self.start()
        headers = [(name, value) for name, value in stored_input["headers"]]
        cookies = self._browsers[stored_input["login"]].cookies
        if cookies:
            headers.append(("Cookie", "; ".join(f"{name}={value}" for name, value in cookies.items())))
        body = stored_input["body"].encode("latin-1")
        await self._send(
            WireRequest(stored_input["method"], stored_input["target"], headers, body, stored_input["is_truncated"]),
            stored_input["login"],
        )

    async def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _generalize(target: str) -> str:
    return re.sub(r"\d+", "0", target.partition("?")[0])


def _encode(fields: list[tuple[str, str]]) -> str:
    return urlencode(
        [(name.encode("utf-8", "surrogatepass"), value.encode("utf-8", "surrogatepass")) for name, value in fields]
    )
