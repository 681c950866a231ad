"""Resolve references to uploaded files in embeds and components, and images of link previews, to signed URLs."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hubbub.protocol.resources.embeds import Embed, EmbedMedia
from hubbub.server.talk.attachments import AttachmentSigner, StoredAttachment
from hubbub.server.talk.messages.content.links import is_link_preview


class _FileUrls(NamedTuple):
    """The files of a message, and the signer of their URLs."""

    signer: AttachmentSigner
    channel_id: int
    is_ephemeral: bool
    files_by_url: dict[str, StoredAttachment]
    """Files by the `attachment://` URL that refers to them."""

    def sign(self, file: StoredAttachment) -> tuple[str, str]:
        """Return the signed URL of a file, and its proxy URL."""
        url = self.signer.sign_url(self.channel_id, file, is_ephemeral=self.is_ephemeral)
        return url, self.signer.proxy_url(url)


def resolve_in_embeds(
    get_signer: Callable[[], AttachmentSigner],
    channel_id: int,
    embeds: list[Embed],
    files: list[StoredAttachment],
    *,
    is_ephemeral: bool = False,
) -> list[Embed]:
    """Replace references to uploaded files in the embeds `embeds` with URLs, in place; return the embeds.

    Images of link previews get a URL at the media proxy. `get_signer` is called only if an embed shows such an
    image, or a file of the message."""
    for embed in embeds:
        if is_link_preview(embed):
            for media in (embed.image, embed.thumbnail):
                if media and media.url:
                    media.proxy_url = get_signer().external_media_url(media.url)
    files_by_url = {f"attachment://{attachment.filename}": attachment for attachment in files if attachment.embedded}
    if not files_by_url:
        return embeds
    file_urls = _FileUrls(get_signer(), channel_id, is_ephemeral, files_by_url)
    for embed in embeds:
        for media in (embed.image, embed.thumbnail):
            if media and media.url and (file := files_by_url.get(media.url)):
                _fill_media(media, file, file_urls)
        for element in (embed.author, embed.footer):
            if element and element.icon_url and (file := files_by_url.get(element.icon_url)):
                element.icon_url, element.proxy_icon_url = file_urls.sign(file)
    return embeds


def _fill_media(media: EmbedMedia, file: StoredAttachment, file_urls: _FileUrls) -> None:
    media.url, media.proxy_url = file_urls.sign(file)
    if file.width is not None and file.height is not None:
        media.width, media.height = file.width, file.height
    if file.content_type is not None:
        media.content_type = file.content_type


def resolve_in_components(
    get_signer: Callable[[], AttachmentSigner],
    channel_id: int,
    components: list[dict[str, Any]],
    files: list[StoredAttachment],
    *,
    is_ephemeral: bool = False,
) -> list[dict[str, Any]]:
    """Replace references to uploaded files in the components `components` with URLs, in place; return the components.

    `get_signer` is called only if the message has components and files."""
    if components and files:
        files_by_url = {f"attachment://{attachment.filename}": attachment for attachment in files}
        file_urls = _FileUrls(get_signer(), channel_id, is_ephemeral, files_by_url)
        for component in components:
            _resolve_in_node(component, file_urls)
    return components


def _resolve_in_node(node: Any, file_urls: _FileUrls) -> None:
    """Replace the file references in a component, a list or another nested object, recursively."""
    files_by_url = file_urls.files_by_url
    if isinstance(node, list):
        for child in node:
            _resolve_in_node(child, file_urls)
    elif isinstance(node, dict):
        url = node.get("url")
        if isinstance(url, str) and (file := files_by_url.get(url)):
            node["url"], node["proxy_url"] = file_urls.sign(file)
            node["id"] = node["attachment_id"] = str(int(file.id))
            if file.content_type is not None:
                node["content_type"] = file.content_type
            if file.width is not None and file.height is not None:
                node["width"], node["height"] = file.width, file.height
        elif isinstance(media := node.get("file"), dict) and (file := files_by_url.get(str(media.get("url")))):
            node["name"], node["size"] = file.filename, file.size
        for child in list(node.values()):
            if isinstance(child, dict | list):
                _resolve_in_node(child, file_urls)
