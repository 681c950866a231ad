"""Where embeds and components name uploaded files: the addresses of these are put there."""

from typing import Any, NamedTuple

from hubbub.protocol.resources.embeds import Embed, EmbedMedia
from hubbub.server.resources.attachments import Signer, StoredAttachment
from hubbub.server.resources.messages.around import Around


class _Addresses(NamedTuple):
    """Where the files of a message are, by the names that it says them with."""

    signer: Signer
    channel_id: int
    ephemeral: bool
    by_name: dict[str, StoredAttachment]

    def of(self, file: StoredAttachment) -> tuple[str, str]:
        """The address of a file, and the one behind our proxy."""
        url = self.signer.url(self.channel_id, file, ephemeral=self.ephemeral)
        return url, self.signer.proxied(url)


def in_embeds(
    around: Around, channel_id: int, found: list[Embed], files: list[StoredAttachment], *, ephemeral: bool = False
) -> list[Embed]:
    """Put the addresses of uploaded files where embeds name them."""
    by_name = {f"attachment://{each.filename}": each for each in files if each.embedded}
    if not by_name:
        return found
    addresses = _Addresses(around.sign(), channel_id, ephemeral, by_name)
    for embed in found:
        for media in (embed.image, embed.thumbnail):
            if media and media.url and (file := by_name.get(media.url)):
                _fill(media, file, addresses)
        for line in (embed.author, embed.footer):
            if line and line.icon_url and (file := by_name.get(line.icon_url)):
                line.icon_url, line.proxy_icon_url = addresses.of(file)
    return found


def _fill(media: EmbedMedia, file: StoredAttachment, addresses: _Addresses) -> None:
    media.url, media.proxy_url = addresses.of(file)
    if file.width is not None and file.height is not None:
        media.width, media.height = file.width, file.height
    if file.content_type is not None:
        media.content_type = file.content_type


def in_components(
    around: Around,
    channel_id: int,
    found: list[dict[str, Any]],
    files: list[StoredAttachment],
    *,
    ephemeral: bool = False,
) -> list[dict[str, Any]]:
    """Put the addresses of uploaded files where components name them."""
    if found and files:
        by_name = {f"attachment://{each.filename}": each for each in files}
        addresses = _Addresses(around.sign(), channel_id, ephemeral, by_name)
        for component in found:
            _resolve(component, addresses)
    return found


def _resolve(node: Any, addresses: _Addresses) -> None:
    by_name = addresses.by_name
    if isinstance(node, list):
        for each in node:
            _resolve(each, addresses)
    elif isinstance(node, dict):
        url = node.get("url")
        if isinstance(url, str) and (file := by_name.get(url)):
            node["url"], node["proxy_url"] = addresses.of(file)
            node["id"] = node["attachment_id"] = str(int(file.id))
            if file.content_type is not None:
                node["content_type"] = file.content_type
            if file.width is not None and file.height is not None:
                node["width"], node["height"] = file.width, file.height
        elif isinstance(inner := node.get("file"), dict) and (file := by_name.get(str(inner.get("url")))):
            node["name"], node["size"] = file.filename, file.size
        for each in list(node.values()):
            if isinstance(each, dict | list):
                _resolve(each, addresses)
