"""Who is in front of a browser: the cookies, and what is bound to them.

`session` holds a person's own token, as a chat client would. `visitor` is a random word for somebody who has not signed in, so that
their forms are protected too. Nothing is kept on our side: form tokens and notices are made with the cookie's value as the key,
which only the browser and we know.
"""

import base64
import hashlib
import hmac
import secrets
from typing import Final

from aiohttp import web

from hubbub.protocol import wire
from hubbub.server.core.config import Config

SESSION_SECONDS: Final = 30 * 86_400
"""How long a browser keeps a session that nobody ends."""
NOTICE_SECONDS: Final = 60
NOTICE_MAX: Final = 1024

_VISITOR_BYTES: Final = 24


class Cookies:
    """The names and flags of our cookies: `__Host-` and Secure where we are reached over TLS (RFC 6265bis)."""

    def __init__(self, config: Config) -> None:
        self.secure = config.web_url.startswith("https://")
        prefix = "__Host-" if self.secure else ""
        self.session = f"{prefix}hubbub_session"
        self.visitor = f"{prefix}hubbub_visitor"
        self.notice = f"{prefix}hubbub_notice"

    def put(self, response: web.StreamResponse, name: str, value: str, max_age: int | None = None) -> None:
        """Send a cookie that no script and no other site's form can use."""
        response.set_cookie(name, value, max_age=max_age, path="/", secure=self.secure, httponly=True, samesite="Lax")

    def drop(self, response: web.StreamResponse, name: str) -> None:
        """Take a cookie back."""
        response.del_cookie(name, path="/", secure=self.secure, httponly=True, samesite="Lax")


class Session:
    """What the cookies of one request say, and what the answer's will."""

    def __init__(self, cookies: Cookies, request: web.Request) -> None:
        self._cookies = cookies
        sent = request.cookies
        self.token = _plain(sent.get(cookies.session, ""))
        """A person's token, or nothing; whether it is good is not known here."""
        self._visitor = _plain(sent.get(cookies.visitor, ""))
        self._notice = sent.get(cookies.notice, "")
        self._had_session = cookies.session in sent
        self._had_visitor = cookies.visitor in sent
        self._had_notice = cookies.notice in sent
        self._says: str | None = None

    @property
    def _key(self) -> bytes:
        if self.token:
            return self.token.encode()
        if len(self._visitor) < _VISITOR_BYTES:
            self._visitor = secrets.token_urlsafe(_VISITOR_BYTES)
            self._had_visitor = False
        return self._visitor.encode()

    @property
    def form_token(self) -> str:
        """What every form of this browser carries, and nobody else's can."""
        return _mac(self._key, "form")

    def owns(self, form_token: str) -> bool:
        """Whether a form came from a page that this browser was shown."""
        return hmac.compare_digest(self.form_token.encode(), form_token.encode("utf-8", "replace"))

    def sign_in(self, token: str) -> None:
        """Be this person from now on. The token is new, and so is all that is bound to it (no session is ever adopted)."""
        self.token = token
        self._visitor = ""

    def sign_out(self) -> None:
        """Be nobody from now on, and not the visitor that one was before either."""
        self.token = ""
        self._visitor = ""

    def say(self, text: str) -> None:
        """Show this on the next page."""
        self._says = text[:NOTICE_MAX]

    def take_notice(self) -> str | None:
        """What the page before wanted to be shown on this one."""
        mac, _, encoded = self._notice.partition(".")
        if not encoded or not hmac.compare_digest(self._seal(encoded).encode(), mac.encode("utf-8", "replace")):
            return None
        try:
            return wire.decode(base64.urlsafe_b64decode(encoded), str)
        except ValueError:
            return None

    def put(self, response: web.StreamResponse) -> None:
        """Send what has changed."""
        cookies = self._cookies
        if self._says is not None:
            encoded = base64.urlsafe_b64encode(wire.encode(self._says)).decode()
            cookies.put(response, cookies.notice, f"{self._seal(encoded)}.{encoded}", NOTICE_SECONDS)
        elif self._had_notice:
            cookies.drop(response, cookies.notice)
        if self.token:
            # Sent each time, so that a browser in use stays signed in.
            cookies.put(response, cookies.session, self.token, SESSION_SECONDS)
        elif self._had_session:
            cookies.drop(response, cookies.session)
        if self._visitor and not self._had_visitor:
            cookies.put(response, cookies.visitor, self._visitor)
        elif not self._visitor and self._had_visitor:
            cookies.drop(response, cookies.visitor)

    def _seal(self, notice: str) -> str:
        return _mac(self._key, f"notice:{notice}")


def _mac(key: bytes, text: str) -> str:
    digest = hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _plain(value: str) -> str:
    """A cookie as it can be one of ours; anything else is none."""
    return value if value.isascii() and len(value) <= 512 else ""
