"""Links in the text of a message that the server shows previews of, and the embeds of the previews (decisions/0142)."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from hubbub.protocol.resources.embeds import EMBED_URL_MAX, Embed

PREVIEWED_LINKS_MAX: Final = 5
"""Maximum number of links of a message that have previews."""
PREVIEW_TYPES: Final = frozenset({"article", "gifv", "image", "link", "video"})
"""Types of the embeds that the server creates for links; embeds of senders have the type rich."""

_CODE_BLOCK: Final = "```"
_INLINE_CODE: Final = "`"
_SPOILER: Final = "||"
_URL_PATTERN: Final = re.compile(r"(<)?(https?://[^\s<>]+)(>)?", re.IGNORECASE)
_TRAILING_PUNCTUATION: Final = ".,:;!?'\"*_~"
_BRACKETS: Final = {")": "(", "]": "["}


def find_links(text: str) -> list[str]:
    """Return the first `PREVIEWED_LINKS_MAX` distinct links of a text, without links in code or between `<` and `>`."""
    links: dict[str, None] = {}
    for match in _URL_PATTERN.finditer(_without_code(text)):
        if match[1] and match[3]:
            continue
        link = _trim(match[2].partition(_SPOILER)[0])
        if is_fetchable(link):
            links[link] = None
        if len(links) == PREVIEWED_LINKS_MAX:
            break
    return list(links)


def is_fetchable(link: str) -> bool:
    """Return whether a link is an http or https URL with a host, without credentials, and not too long for an embed."""
    if len(link) > EMBED_URL_MAX:
        return False
    try:
        url_parts = urlsplit(link)
    except ValueError:
        return False
    return url_parts.scheme in ("http", "https") and bool(url_parts.hostname) and "@" not in url_parts.netloc


def is_link_preview(embed: Embed) -> bool:
    """Return whether the server created an embed for a link."""
    return embed.type in PREVIEW_TYPES


def split_previews(embeds: Iterable[Embed]) -> tuple[list[Embed], dict[str, Embed]]:
    """Return the embeds of the sender, and the previews by their link."""
    sender_embeds: list[Embed] = []
    previews: dict[str, Embed] = {}
    for embed in embeds:
        if is_link_preview(embed):
            previews[embed.url or ""] = embed
        else:
            sender_embeds.append(embed)
    return sender_embeds, previews


def filter_embeds(embeds: list[Embed], text: str) -> list[Embed]:
    """Return the embeds of the sender, and the previews whose links are in a text, in the order of the links."""
    sender_embeds, previews = split_previews(embeds)
    return (
        [*sender_embeds, *(previews[link] for link in find_links(text) if link in previews)]
        if previews
        else sender_embeds
    )


def _without_code(text: str) -> str:
    """Return a text with spaces in place of code blocks and inline code."""
    if _INLINE_CODE not in text:
        return text
    blocks = text.split(_CODE_BLOCK)
    return " ".join(
        " " if _is_enclosed(blocks, index) else _without_inline_code(text_part)
        for index, text_part in enumerate(blocks)
    )


def _without_inline_code(text: str) -> str:
    text_parts = text.split(_INLINE_CODE)
    return "".join(" " if _is_enclosed(text_parts, index) else text_part for index, text_part in enumerate(text_parts))


def _is_enclosed(text_parts: list[str], index: int) -> bool:
    """Return whether a part of a split text is between an opening and a closing delimiter."""
    return index % 2 == 1 and index < len(text_parts) - 1


def _trim(link: str) -> str:
    """Remove punctuation and closing brackets after a link that belong to the sentence."""
    while link:
        last_character = link[-1]
        opening_bracket = _BRACKETS.get(last_character)
        is_unbalanced = opening_bracket is not None and link.count(last_character) > link.count(opening_bracket)
        if last_character not in _TRAILING_PUNCTUATION and not is_unbalanced:
            break
        link = link[:-1]
    return link
