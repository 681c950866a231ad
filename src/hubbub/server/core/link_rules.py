"""Rules of the server for links in messages: denied and allowed hosts (decisions/0138)."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote, urlsplit

from hubbub.protocol import errors
from hubbub.server.core import new_accounts
from hubbub.server.core.call import Call

_LISTED_HOSTS_MAX: Final = 5
"""Maximum number of allowed hosts that an error names."""

# The authority of a URL ends at a slash, a backslash (which browsers treat as a slash), `?` or `#`.
_AUTHORITY_PATTERN: Final = re.compile(
    r"https?:[/\\]{2,}([^\s/\\?#<>]+)|(?<![\w@/.-])(www\.[^\s/\\?#<>]+)", re.IGNORECASE
)
_HOST_PATTERN: Final = re.compile(r"[\w-]+(?:\.[\w-]+)*")


def require_allowed(call: Call, texts: Iterable[str]) -> None:
    """Reject a message with a link to a host that the settings do not allow. Links to this server are always allowed."""
    protection = call.config.protection
    if not protection.denied_link_hosts and not protection.allowed_link_hosts:
        return
    is_for_everyone = protection.link_rules_for == "everyone"
    if not is_for_everyone and not new_accounts.is_limited(call):
        return
    own_host = urlsplit(call.config.web_url).hostname
    for text in texts:
        for host in find_hosts(text):
            if host != own_host and not protection.is_link_host_allowed(host):
                raise errors.AUTO_MODERATION_BLOCKED_MESSAGE(message=_describe_rejection(call, host))


def find_hosts(text: str) -> Iterator[str]:
    """Iterate over the hosts of the links in a text, as a browser reads them: in lower case and in ASCII.

    A link without a host that can be in a DNS name, such as one to an IPv6 address, has an empty host."""
    if ":" not in text and "www." not in text.lower():
        return
    for match in _AUTHORITY_PATTERN.finditer(text):
        authority = unicodedata.normalize("NFKC", unquote(match[1] or match[2])).rpartition("@")[2].replace("。", ".")
        host_match = _HOST_PATTERN.match(authority)
        yield "" if host_match is None else _encode(host_match[0].lower())


def _encode(host: str) -> str:
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host


def _describe_rejection(call: Call, host: str) -> str:
    protection = call.config.protection
    link_text = f"Links to {host}" if host else "Links of this kind"
    if protection.link_rules_for != "everyone":
        return f"A new account cannot send {link_text[0].lower()}{link_text[1:]}. {new_accounts.describe_wait(call)}"
    allowed_hosts = protection.allowed_link_hosts
    if not allowed_hosts or len(allowed_hosts) > _LISTED_HOSTS_MAX:
        return f"{link_text} are not allowed on this server. Remove the link and send the message again."
    return f"{link_text} are not allowed on this server. Remove the link, or link to {', '.join(allowed_hosts)}."
