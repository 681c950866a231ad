"""The WebAuthn relying party: the identity of the server for passkeys, derived from its public URL."""

import ipaddress
from typing import NamedTuple
from urllib.parse import urlsplit


class RelyingParty(NamedTuple):
    """The identity of the server for passkeys."""

    id: str
    """Host name of the public URL. Browsers offer only passkeys of this host."""
    origin: str
    """Scheme, host and port of the public URL."""


def find_relying_party(web_url: str) -> RelyingParty | None:
    """Return the relying party of a public URL, or None if browsers allow no passkeys there.

    Browsers require HTTPS, except for `localhost`, and a host name instead of an IP address."""
    parts = urlsplit(web_url)
    host = parts.hostname or ""
    try:
        ipaddress.ip_address(host)
        return None
    except ValueError:
        pass
    if not host or (parts.scheme != "https" and host != "localhost" and not host.endswith(".localhost")):
        return None
    return RelyingParty(host, f"{parts.scheme}://{parts.netloc}")
