"""Resolve references to uploaded files in embeds and components to URLs, and find the files of URLs."""

from typing import Any, Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources.embeds import Embed, EmbedMedia
from hubbub.server.core.call import Call
from hubbub.server.talk.attachments import AttachmentSigner, StoredAttachment
from hubbub.server.talk.messages import store
from hubbub.server.talk.messages.related_data import RelatedData

_UPLOAD_MS: Final = 120_000
"""Maximum time between the start of an upload and the ID of the message that contains it, in milliseconds."""


class _FileUrls(NamedTuple):
    """The files of a message, and the signer of their URLs."""

    signer: AttachmentSigner
    channel_id: int
    ephemeral: bool
    files_by_url: dict[str, StoredAttachment]
    """Files by the `attachment://` URL that refers to them."""

    def sign(self, file: StoredAttachment) -> tuple[str, str]:
        """Return the signed URL of a file, and its proxy URL."""
        url = self.signer.sign_url(self.channel_id, file, ephemeral=self.ephemeral)
        return url, self.signer.proxy_url(url)


def resolve_in_embeds(
    related: RelatedData,
    channel_id: int,
    embeds: list[Embed],
    files: list[StoredAttachment],
    *,
    ephemeral: bool = False,
) -> list[Embed]:
    """Replace references to uploaded files in the embeds `embeds` with URLs, in place; return the embeds."""
    files_by_url = {f"attachment://{attachment.filename}": attachment for attachment in files if attachment.embedded}
    if not files_by_url:
        return embeds
    urls = _FileUrls(related.get_signer(), channel_id, ephemeral, files_by_url)
    for embed in embeds:
        for media in (embed.image, embed.thumbnail):
            if media and media.url and (file := files_by_url.get(media.url)):
                _fill_media(media, file, urls)
        for element in (embed.author, embed.footer):
            if element and element.icon_url and (file := files_by_url.get(element.icon_url)):
                element.icon_url, element.proxy_icon_url = urls.sign(file)
    return embeds


def _fill_media(media: EmbedMedia, file: StoredAttachment, urls: _FileUrls) -> None:
    media.url, media.proxy_url = urls.sign(file)
    if file.width is not None and file.height is not None:
        media.width, media.height = file.width, file.height
    if file.content_type is not None:
        media.content_type = file.content_type


def resolve_in_components(
    related: RelatedData,
    channel_id: int,
    components: list[dict[str, Any]],
    files: list[StoredAttachment],
    *,
    ephemeral: bool = False,
) -> list[dict[str, Any]]:
    """Replace references to uploaded files in the components `components` with URLs, in place; return the components."""
    if components and files:
        files_by_url = {f"attachment://{attachment.filename}": attachment for attachment in files}
        urls = _FileUrls(related.get_signer(), channel_id, ephemeral, files_by_url)
        for component in components:
            _resolve_in_node(component, urls)
    return components


def _resolve_in_node(node: Any, urls: _FileUrls) -> None:
    """Replace the references in a component or a part of it, and in all nested parts."""
    files_by_url = urls.files_by_url
    if isinstance(node, list):
        for child in node:
            _resolve_in_node(child, urls)
    elif isinstance(node, dict):
        url = node.get("url")
        if isinstance(url, str) and (file := files_by_url.get(url)):
            node["url"], node["proxy_url"] = urls.sign(file)
            node["id"] = node["attachment_id"] = str(int(file.id))
            if file.content_type is not None:
                node["content_type"] = file.content_type
            if file.width is not None and file.height is not None:
                node["width"], node["height"] = file.width, file.height
        elif isinstance(media := node.get("file"), dict) and (file := files_by_url.get(str(media.get("url")))):
            node["name"], node["size"] = file.filename, file.size
        for child in list(node.values()):
            if isinstance(child, dict | list):
                _resolve_in_node(child, urls)


def has_attachment(call: Call, channel_id: int, attachment_id: int, filename: str) -> bool:
    """Return whether a message that was sent right after the upload of an attachment in a channel contains it.

    Other messages with the attachment (forwards, edited messages) are not searched, which bounds the cost."""
    created_ms = Snowflake(attachment_id).created_ms
    first_id, last_id = Snowflake.at(created_ms - 1000), Snowflake.at(created_ms + _UPLOAD_MS)
    return any(
        (attachment.id, attachment.filename) == (attachment_id, filename)
        for encoded in store.list_attachments_between(call.tx, channel_id, first_id, last_id)
        for attachment in codec.decode(encoded, list[StoredAttachment])
    )
