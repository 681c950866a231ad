"""Addresses of files: who may read an attachment is said by a signature in its address (http.md 1.12).

The API signs whenever it shows a message, the CDN door checks. The key is kept in the store, so all nodes of a platform
share it and it outlives a restart.
"""

import hashlib
import hmac
import secrets
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import msgspec

from hubbub.server.core.store import Tx

VALID_SECONDS: Final = 86_400
"""How long a signed address works. Open in the spec; a day (http.md 1.12)."""

LASTING: Final = "attachments"
EPHEMERAL: Final = "ephemeral-attachments"
"""Where the files are that only some know of."""

PROXY: Final = "/media"
"""Below the CDN's base: the same paths, where pictures come in other sizes (http.md 1.12)."""

_KEY: Final = "cdn_key"


def find_key(tx: Tx) -> bytes | None:
    """The signing key, or None while nothing was ever signed."""
    kept: str | None = tx.value("SELECT value FROM meta WHERE name = ?", _KEY)
    return None if kept is None else bytes.fromhex(kept)


def get_key(tx: Tx) -> bytes:
    """The signing key, made on first use: the first attachment arrives in a writing transaction."""
    key = find_key(tx)
    if key is None:
        key = secrets.token_bytes(32)
        tx.run("INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", _KEY, key.hex())
        key = find_key(tx) or key
    return key


def attachment_key(attachment_id: int) -> str:
    """Under which key the file store has an attachment."""
    return f"attachments/{int(attachment_id)}"


def image_key(name: str) -> str:
    """Under which key the file store has a picture that is known by its hash."""
    return f"images/{name}"


def sound_key(name: str) -> str:
    """Under which key the file store has a sound that is known by its hash."""
    return f"sounds/{name}"


def attachment_path(channel_id: int, attachment_id: int, filename: str, *, ephemeral: bool = False) -> str:
    """The path of an attachment below the CDN's base."""
    return f"/{EPHEMERAL if ephemeral else LASTING}/{int(channel_id)}/{int(attachment_id)}/{quote(filename, safe='')}"


def sign(key: bytes, path: str, now_ms: int) -> str:
    """A path with the signature that opens it for a day."""
    issued = now_ms // 1000
    query = f"ex={issued + VALID_SECONDS:x}&is={issued:x}"
    return f"{path}?{query}&hm={_mac(key, path, query)}"


def verify(key: bytes, path: str, ex: str, issued: str, hm: str, now_ms: int | None) -> bool:
    """Whether a signature opens a path now; with None, whether it ever did."""
    expected = _mac(key, path, f"ex={ex}&is={issued}")
    if not hmac.compare_digest(expected.encode(), hm.encode("utf-8", "replace")):
        return False
    return now_ms is None or now_ms // 1000 < int(ex, 16)


def _mac(key: bytes, path: str, query: str) -> str:
    return hmac.digest(key, f"{path}?{query}".encode("utf-8", "surrogatepass"), hashlib.sha256).hex()


class AttachmentUrl(msgspec.Struct, frozen=True):
    """An attachment's address, taken apart."""

    channel_id: int
    attachment_id: int
    filename: str
    query: dict[str, str]

    @property
    def path(self) -> str:
        """The path below the CDN's base, as it is signed."""
        return attachment_path(self.channel_id, self.attachment_id, self.filename)

    def was_signed(self, key: bytes) -> bool:
        """Whether it carries a signature of ours, expired or not."""
        query = self.query
        if not ("ex" in query and "is" in query and "hm" in query):
            return False
        return verify(key, self.path, query["ex"], query["is"], query["hm"], None)


def parse(base: str, url: str) -> AttachmentUrl | None:
    """Read an address of one of our attachments; None for any other."""
    try:
        parts = urlsplit(url)
        home = urlsplit(base)
    except ValueError:
        return None
    path = parts.path.removeprefix(home.path).removeprefix(PROXY)
    if parts.netloc != home.netloc or not parts.path.startswith(home.path) or not path.startswith(f"/{LASTING}/"):
        return None
    steps = path.split("/")
    if len(steps) != 5 or not steps[4] or not all(_is_id(step) for step in steps[2:4]):
        return None
    query = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    return AttachmentUrl(int(steps[2]), int(steps[3]), unquote(steps[4]), query)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20
