"""Signed URLs of attachments and of images of other servers, and keys of files in the file store.

The signature in the URL of an attachment grants access to the file (spec/http.md#1.12). The API signs URLs whenever it
returns a message, and the CDN verifies them. The signing key is in the store, so all nodes share it and it survives a
restart.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import msgspec

from hubbub.protocol.resources.attachments import ATTACHMENT_URL_SECONDS
from hubbub.server.core import meta
from hubbub.server.core.store import Tx

ATTACHMENTS_PATH: Final = "attachments"
"""The first path segment of attachments below the CDN's base URL."""
EPHEMERAL_ATTACHMENTS_PATH: Final = "ephemeral-attachments"
"""The first path segment of attachments of ephemeral messages, which only some users may see."""

MEDIA_PROXY_PATH: Final = "/media"
"""The path of the media proxy below the CDN's base URL; it serves images in other sizes (spec/http.md#1.12)."""

EXTERNAL_MEDIA_PATH: Final = f"{MEDIA_PROXY_PATH}/external"
"""The path of images of other servers below the CDN's base URL (decisions/0142)."""

_SIGNING_KEY_NAME: Final = "cdn_key"


def find_signing_key(tx: Tx) -> bytes | None:
    """Return the signing key, or None if it was not created yet."""
    return meta.find_key(tx, _SIGNING_KEY_NAME)


def find_or_create_signing_key(tx: Tx) -> bytes:
    """Return the signing key; the first use creates it and must be in a write transaction."""
    return meta.find_or_create_key(tx, _SIGNING_KEY_NAME)


def attachment_key(attachment_id: int) -> str:
    """Return the key of an attachment in the file store."""
    return f"attachments/{int(attachment_id)}"


def image_key(name: str) -> str:
    """Return the key of an image in the file store."""
    return f"images/{name}"


def sound_key(name: str) -> str:
    """Return the key of a sound in the file store."""
    return f"sounds/{name}"


def attachment_path(channel_id: int, attachment_id: int, filename: str, *, is_ephemeral: bool = False) -> str:
    """Return the path of an attachment below the CDN's base URL."""
    folder = EPHEMERAL_ATTACHMENTS_PATH if is_ephemeral else ATTACHMENTS_PATH
    return f"/{folder}/{int(channel_id)}/{int(attachment_id)}/{quote(filename, safe='')}"


def sign(key: bytes, path: str, now_ms: int) -> str:
    """Append a signature to a path; the signature is valid for `ATTACHMENT_URL_SECONDS`."""
    issued_seconds = now_ms // 1000
    query = f"ex={issued_seconds + ATTACHMENT_URL_SECONDS:x}&is={issued_seconds:x}"
    return f"{path}?{query}&hm={_mac(key, path, query)}"


def verify(key: bytes, path: str, ex: str, issued: str, hm: str, now_ms: int | None) -> bool:
    """Return whether a signature is valid for a path now; with `now_ms` None, whether it ever was.

    `ex` (expiry) and `issued` are Unix seconds in hexadecimal and `hm` is the signature, as in the URL's query."""
    expected_mac = _mac(key, path, f"ex={ex}&is={issued}")
    if not hmac.compare_digest(expected_mac.encode(), hm.encode("utf-8", "replace")):
        return False
    return now_ms is None or now_ms // 1000 < int(ex, 16)


def _mac(key: bytes, path: str, query: str) -> str:
    return hmac.digest(key, f"{path}?{query}".encode("utf-8", "surrogatepass"), hashlib.sha256).hex()


def external_media_path(key: bytes, url: str) -> str:
    """Return the signed path of an image of another server below the CDN's base URL; it does not expire."""
    encoded_url = base64.urlsafe_b64encode(url.encode()).rstrip(b"=").decode()
    return f"{EXTERNAL_MEDIA_PATH}/{_external_mac(key, encoded_url)}/{encoded_url}"


def find_external_url(key: bytes, signature: str, encoded_url: str) -> str | None:
    """Return the URL in the path of an image of another server, or None if its signature is invalid."""
    if not hmac.compare_digest(_external_mac(key, encoded_url).encode(), signature.encode("utf-8", "replace")):
        return None
    try:
        return base64.urlsafe_b64decode(encoded_url + "=" * (-len(encoded_url) % 4)).decode()
    except (binascii.Error, ValueError):
        return None


def _external_mac(key: bytes, encoded_url: str) -> str:
    signed_path = f"{EXTERNAL_MEDIA_PATH}/{encoded_url}".encode("utf-8", "surrogatepass")
    return hmac.digest(key, signed_path, hashlib.sha256).hex()


class AttachmentUrl(msgspec.Struct, frozen=True):
    """The parts of the URL of an attachment of a message that is not ephemeral."""

    channel_id: int
    attachment_id: int
    filename: str
    query: dict[str, str]

    @property
    def path(self) -> str:
        """The path below the CDN's base URL, as it is signed."""
        return attachment_path(self.channel_id, self.attachment_id, self.filename)

    def was_signed(self, key: bytes) -> bool:
        """Return whether the URL has a valid signature, expired or not."""
        query = self.query
        if not ("ex" in query and "is" in query and "hm" in query):
            return False
        return verify(key, self.path, query["ex"], query["is"], query["hm"], None)


def parse(base_url: str, url: str) -> AttachmentUrl | None:
    """Parse the URL of an attachment below `base_url`, the base URL of the CDN; return None for any other URL.

    The URL of an attachment of an ephemeral message counts as another URL."""
    try:
        parts = urlsplit(url)
        base_parts = urlsplit(base_url)
    except ValueError:
        return None
    path = parts.path.removeprefix(base_parts.path).removeprefix(MEDIA_PROXY_PATH)
    if (
        parts.netloc != base_parts.netloc
        or not parts.path.startswith(base_parts.path)
        or not path.startswith(f"/{ATTACHMENTS_PATH}/")
    ):
        return None
    segments = path.split("/")
    if len(segments) != 5 or not segments[4] or not all(_is_id(segment) for segment in segments[2:4]):
        return None
    query = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    return AttachmentUrl(int(segments[2]), int(segments[3]), unquote(segments[4]), query)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20
