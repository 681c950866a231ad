"""Detection of the format of an import file."""

from pathlib import Path
from typing import Final

from hubbub.server.transfer.chat_exports import ChatExportSource
from hubbub.server.transfer.records import InvalidArchive
from hubbub.server.transfer.sources import ArchiveSource, Source, is_archive
from hubbub.server.transfer.template_source import TemplateSource

TEMPLATE_BYTES_MAX: Final = 16 << 20
_DETECTION_BYTES: Final = 1 << 16


def open_source(path: Path) -> Source:
    """Open an archive, a template, or an exported channel or folder; raise InvalidArchive if it is none of them."""
    if path.is_dir():
        return ChatExportSource(path)
    if is_archive(path):
        return ArchiveSource(path)
    with path.open("rb") as stream:
        first_bytes = stream.read(_DETECTION_BYTES)
    if not first_bytes.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        raise InvalidArchive("neither an archive of Hubbub, a guild template nor a JSON export", file=path.name)
    if b'"serialized_source_guild"' in first_bytes or (
        b'"messages"' not in first_bytes and b'"verification_level"' in first_bytes
    ):
        if path.stat().st_size > TEMPLATE_BYTES_MAX:
            raise InvalidArchive(f"a template has at most {TEMPLATE_BYTES_MAX} bytes", file=path.name)
        # Use the modification time of the file, because a template need not contain a time.
        return TemplateSource(path.read_bytes(), file=path.name, created_ms=path.stat().st_mtime_ns // 1_000_000)
    return ChatExportSource(path)
