"""Negotiation and compression of response bodies."""

import gzip
from typing import Final

from hubbub.server.transports.zstd import zstd

ZSTD_LEVEL: Final = 19
"""Level for files that are compressed once. Higher levels need more memory in the browser."""
LARGE_FILE_BYTES: Final = 700 * 1024
"""Minimum size in bytes of a file that is compressed with `LARGE_FILE_ZSTD_LEVEL`, because its first request waits for it."""
LARGE_FILE_ZSTD_LEVEL: Final = 9


ENCODINGS: Final = ("zstd", "gzip") if zstd is not None else ("gzip",)
"""Encodings of responses, best first."""


def accepts(accept_encoding: str, encoding: str) -> bool:
    """Return whether the value of an Accept-Encoding header allows an encoding."""
    for encoding_range in accept_encoding.lower().split(","):
        name, _, weight = encoding_range.replace(" ", "").partition(";")
        if name == encoding:
            return weight not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def choose(accept_encoding: str) -> str | None:
    """Return the best encoding that the client accepts, or None for no compression."""
    return next((encoding for encoding in ENCODINGS if accepts(accept_encoding, encoding)), None)


def compress(body: bytes, encoding: str) -> bytes:
    """Compress a body with an encoding of `choose`. The result is always the same for the same body."""
    if encoding != "zstd":
        return gzip.compress(body, mtime=0)
    compressed_body: bytes = zstd.compress(body, ZSTD_LEVEL if len(body) < LARGE_FILE_BYTES else LARGE_FILE_ZSTD_LEVEL)
    return compressed_body
