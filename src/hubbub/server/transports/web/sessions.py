"""Cookies of the web server, and the form tokens and notices bound to them.

The `session` cookie holds the user's token. The `visitor` cookie holds a random value for users who are not logged in,
so that their forms are protected too. The `login` cookie holds the ticket of a login at an external provider, and the
`provider` cookie the ID of the provider of the last login. The `notice` cookie holds a text that the next page shows.
The server stores nothing: form tokens and notices are authenticated with the value of the session or visitor cookie as
the key, which only the browser and the server know.
"""

import base64
import hashlib
import hmac
import secrets
from typing import Final, NamedTuple

from aiohttp import web

from hubbub.protocol import codec
from hubbub.protocol.resources.login_providers import LOGIN_ATTEMPT_SECONDS
from hubbub.server.core.config import Config

SESSION_SECONDS: Final = 30 * 86_400
"""Lifetime in seconds of the session cookie after the last request."""
NOTICE_SECONDS: Final = 60
"""Lifetime in seconds of the notice cookie."""
NOTICE_LENGTH_MAX: Final = 1024
"""Maximum length of a notice in characters."""

LOGIN_SECONDS: Final = LOGIN_ATTEMPT_SECONDS
"""Lifetime in seconds of the cookie of a login at an external provider."""
LOGIN_COOKIE_MAX: Final = 3000
"""Maximum length of the cookie of a login at an external provider, in characters."""

_VISITOR_BYTES: Final = 24
"""Number of random bytes in the visitor cookie."""


class Cookies:
    """Names and flags of the cookies: `__Host-` and Secure when the server is reached over TLS (RFC 6265bis)."""

    def __init__(self, config: Config) -> None:
        self.is_secure = config.web_url.startswith("https://")
        prefix = "__Host-" if self.is_secure else ""
        self.session = f"{prefix}hubbub_session"
        self.visitor = f"{prefix}hubbub_visitor"
        self.notice = f"{prefix}hubbub_notice"
        self.login = f"{prefix}hubbub_login"
        self.provider = f"{prefix}hubbub_provider"

    def set(self, response: web.StreamResponse, name: str, value: str, max_age: int | None = None) -> None:
        """Set a cookie that scripts cannot read and that cross-site forms do not send."""
        response.set_cookie(
            name, value, max_age=max_age, path="/", secure=self.is_secure, httponly=True, samesite="Lax"
        )

    def delete(self, response: web.StreamResponse, name: str) -> None:
        """Delete a cookie."""
        response.del_cookie(name, path="/", secure=self.is_secure, httponly=True, samesite="Lax")


class ProviderLogin(NamedTuple):
    """A login at an external provider that was started in this browser."""

    ticket: str
    """Ticket that binds the login to this browser, so that the response of another login cannot be completed in it."""
    next_path: str = ""
    """Path to open after the login; empty for the default page."""
    invite: str = ""
    """Code of the registration invite with which the visitor came; empty for none."""


def _encode_login(login: ProviderLogin) -> str:
    return base64.urlsafe_b64encode(codec.encode(login)).decode()


class WebSession:
    """The cookies of one request and the changes that its response makes to them."""

    def __init__(self, cookies: Cookies, request: web.Request) -> None:
        self._cookies = cookies
        request_cookies = request.cookies
        self.token = _valid_or_empty(request_cookies.get(cookies.session, ""))
        """The user's token, or an empty string. It has not been verified."""
        self._visitor_cookie = _valid_or_empty(request_cookies.get(cookies.visitor, ""))
        self._notice_cookie = request_cookies.get(cookies.notice, "")
        self._had_session = cookies.session in request_cookies
        self._had_visitor = cookies.visitor in request_cookies
        self._had_notice = cookies.notice in request_cookies
        self._new_notice: str | None = None
        self._login_cookie = request_cookies.get(cookies.login, "")
        self._new_login_cookie: str | None = None
        """New value of the cookie of an external login; None to leave it unchanged."""
        self.provider_id = _valid_or_empty(request_cookies.get(cookies.provider, ""))
        """ID of the provider of the last login, or an empty string. It has not been verified."""
        self._had_provider = cookies.provider in request_cookies

    @property
    def _mac_key(self) -> bytes:
        """The key of form tokens and notices: the user's token, or the visitor cookie, which is created if needed."""
        if self.token:
            return self.token.encode()
        if len(self._visitor_cookie) < _VISITOR_BYTES:
            self._visitor_cookie = secrets.token_urlsafe(_VISITOR_BYTES)
            self._had_visitor = False
        return self._visitor_cookie.encode()

    @property
    def form_token(self) -> str:
        """The token that every form of this browser contains."""
        return _compute_mac(self._mac_key, "form")

    def verify_form_token(self, form_token: str) -> bool:
        """Return whether a form was rendered for this browser."""
        return hmac.compare_digest(self.form_token.encode(), form_token.encode("utf-8", "replace"))

    def sign_in(self, token: str, provider_id: str = "") -> None:
        """Log in with a new token. Form tokens and notices of the previous session become invalid.

        `provider_id` is the external provider at which the user logged in, or an empty string.
        """
        self.token = token
        self.provider_id = provider_id
        self._visitor_cookie = ""

    def sign_out(self) -> None:
        """Log out and discard the visitor cookie."""
        self.token = ""
        self.provider_id = ""
        self._visitor_cookie = ""

    def start_provider_login(self, login: ProviderLogin) -> None:
        """Store a login at an external provider until the provider redirects back.

        A `next_path` that is too long for the cookie is dropped.
        """
        cookie_value = _encode_login(login)
        if len(cookie_value) > LOGIN_COOKIE_MAX:
            cookie_value = _encode_login(login._replace(next_path=""))
        self._new_login_cookie = cookie_value

    def take_provider_login(self) -> ProviderLogin:
        """Return the started login and delete it; its ticket is empty if no login was started."""
        self._new_login_cookie = "" if self._login_cookie else None
        try:
            return codec.decode(base64.urlsafe_b64decode(self._login_cookie), ProviderLogin)
        except ValueError:
            return ProviderLogin("")

    def set_notice(self, text: str) -> None:
        """Show a notice on the next page."""
        self._new_notice = text[:NOTICE_LENGTH_MAX]

    def take_notice(self) -> str | None:
        """Return the notice set by the previous page, or None."""
        mac, _, encoded_notice = self._notice_cookie.partition(".")
        if not encoded_notice or not hmac.compare_digest(
            self._notice_mac(encoded_notice).encode(), mac.encode("utf-8", "replace")
        ):
            return None
        try:
            return codec.decode(base64.urlsafe_b64decode(encoded_notice), str)
        except ValueError:
            return None

    def write_cookies(self, response: web.StreamResponse) -> None:
        """Write the changed cookies to a response."""
        cookies = self._cookies
        if self._new_notice is not None:
            encoded_notice = base64.urlsafe_b64encode(codec.encode(self._new_notice)).decode()
            cookies.set(
                response, cookies.notice, f"{self._notice_mac(encoded_notice)}.{encoded_notice}", NOTICE_SECONDS
            )
        elif self._had_notice:
            cookies.delete(response, cookies.notice)
        if self._new_login_cookie:
            cookies.set(response, cookies.login, self._new_login_cookie, LOGIN_SECONDS)
        elif self._new_login_cookie is not None:
            cookies.delete(response, cookies.login)
        if self.token and self.provider_id:
            cookies.set(response, cookies.provider, self.provider_id, SESSION_SECONDS)
        elif self._had_provider:
            cookies.delete(response, cookies.provider)
        if self.token:
            # The cookie is sent with every response, so that a browser in use stays logged in.
            cookies.set(response, cookies.session, self.token, SESSION_SECONDS)
        elif self._had_session:
            cookies.delete(response, cookies.session)
        if self._visitor_cookie and not self._had_visitor:
            cookies.set(response, cookies.visitor, self._visitor_cookie)
        elif not self._visitor_cookie and self._had_visitor:
            cookies.delete(response, cookies.visitor)

    def _notice_mac(self, notice: str) -> str:
        return _compute_mac(self._mac_key, f"notice:{notice}")


def _compute_mac(key: bytes, text: str) -> str:
    digest = hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _valid_or_empty(value: str) -> str:
    """Return a cookie value, or an empty string if this server cannot have set it."""
    return value if value.isascii() and len(value) <= 512 else ""
