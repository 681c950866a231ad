"""Export of a guild: writes its rows, in one snapshot of the store, and its files to an archive."""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import msgspec

import hubbub
from hubbub.protocol import codec
from hubbub.server.core import cdn_urls
from hubbub.server.core.archives import ArchiveTable, ColumnKind, iter_archived_pages, list_archived_children
from hubbub.server.core.batches import batches
from hubbub.server.core.files import Files
from hubbub.server.core.store import Tx
from hubbub.server.identity import imports, users
from hubbub.server.places import channels, guilds
from hubbub.server.transfer.records import CODECS, FORMAT, USERS, VERSION, TableCodec

CHUNK_BYTES: Final = 256 * 1024

Progress = Callable[[str, int], None]
"""Function that is called with the name of a file and the number of records or files written to it."""


class ExportError(Exception):
    """A guild cannot be exported; the message is shown to the operator."""


class ExportSummary(NamedTuple):
    """The guild of an export, and the numbers of its records and missing files."""

    guild_name: str
    counts: dict[str, int]
    """Number of records by file."""
    missing_file_count: int
    """Number of files that the rows name, but that the file store does not contain."""


async def export_guild(
    run_read: Callable[[Callable[[Tx], Any]], Awaitable[Any]],
    files: Files,
    guild_id: int,
    output: Path,
    *,
    now_ms: int,
    with_invites: bool = False,
    progress: Progress = lambda name, count: None,
) -> ExportSummary:
    """Write a guild to an archive, with its invites if `with_invites` is set.

    `run_read` runs a function over one snapshot of the store. The archive gets its name when it is complete, so an interrupted
    export leaves no file of that name. Raise ExportError if the guild does not exist."""
    partial_path = output.with_name(f"{output.name}.partial")
    partial_path.unlink(missing_ok=True)
    # Only the owner may read the messages.
    os.close(os.open(partial_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with (
            tempfile.TemporaryFile("w+") as key_file,
            zipfile.ZipFile(partial_path, "w", zipfile.ZIP_DEFLATED, True) as archive,
        ):
            writer = _Writer(archive, key_file, progress, with_invites)
            guild_name = await run_read(lambda tx: writer.write_tables(tx, guild_id))
            missing_file_count = await _write_files(writer, files)
            manifest = {
                "format": FORMAT,
                "version": VERSION,
                "created_at": codec.timestamp(now_ms),
                "program": f"hubbub {hubbub.__version__}",
                "guild": {"id": str(guild_id), "name": guild_name},
                "records": writer.counts,
            }
            archive.writestr("manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2))
        with partial_path.open("rb+") as stream:
            os.fsync(stream.fileno())
        partial_path.replace(output)
    finally:
        partial_path.unlink(missing_ok=True)
    return ExportSummary(guild_name, writer.counts, missing_file_count)


class _Writer:
    """Writes tables to an open archive and collects the keys of the files that their rows name."""

    def __init__(self, archive: zipfile.ZipFile, key_file: IO[str], progress: Progress, with_invites: bool) -> None:
        self.archive = archive
        self.key_file = key_file
        self.progress = progress
        self.counts: dict[str, int] = {}
        self._with_invites = with_invites
        self._user_ids: set[int] = set()

    def write_tables(self, tx: Tx, guild_id: int) -> str:
        """Write the tables of a guild, with invites if requested, and return its name.

        Raise ExportError if the guild does not exist."""
        guild = guilds.find(tx, guild_id)
        if guild is None:
            raise ExportError(f"there is no guild with the ID {guild_id}")
        for table_codec in CODECS.values():
            table = table_codec.table
            if table is USERS or (table.is_optional and not self._with_invites):
                continue
            pages = (
                self._message_pages(tx, table_codec, guild_id)
                if table.name == "messages"
                else iter_archived_pages(tx, table, table.guild_column, guild_id)
            )
            self._write_table(tx, table_codec, pages)
        self._write_table(tx, CODECS[USERS.name], self._user_pages(tx))
        return guild.name

    def _write_table(self, tx: Tx, table_codec: TableCodec, pages: Iterator[Sequence[Sequence[Any]]]) -> None:
        """Write the records of a table to its file; a table without rows has no file."""
        name, count = table_codec.table.name, 0
        stream: IO[bytes] | None = None
        try:
            for page in pages:
                if stream is None:
                    stream = self.archive.open(f"{name}.jsonl", "w", force_zip64=True)
                children = self._find_children(tx, table_codec, page)
                lines: list[bytes] = []
                for row in page:
                    self._collect(table_codec, row)
                    record = table_codec.encode(row, children.get(_row_id(table_codec, row)) if children else None)
                    lines.append(codec.encode(record))
                stream.write(b"\n".join(lines) + b"\n")
                count += len(page)
                self.progress(name, count)
        finally:
            if stream is not None:
                stream.close()
        if count:
            self.counts[name] = count

    def _find_children(
        self, tx: Tx, table_codec: TableCodec, page: Sequence[Sequence[Any]]
    ) -> dict[int, dict[str, list[dict[str, Any]]]]:
        """Return the records of the child tables by ID of the parent and name of the table."""
        children_by_parent: dict[int, dict[str, list[dict[str, Any]]]] = {}
        for child in table_codec.children:
            table = child.table
            parent_index = list(table.columns).index(table.parent_column)
            for batch in batches([_row_id(table_codec, row) for row in page]):
                for row in list_archived_children(tx, table, batch):
                    self._collect(child, row)
                    children_by_parent.setdefault(row[parent_index], {}).setdefault(table.name, []).append(
                        child.encode(row)
                    )
        return children_by_parent

    def _message_pages(self, tx: Tx, table_codec: TableCodec, guild_id: int) -> Iterator[Sequence[Sequence[Any]]]:
        """Yield pages of the messages of all channels of a guild in the order of channels and messages."""
        for channel_id in channels.thread_channels.list_guild_channel_ids(tx, guild_id):
            yield from iter_archived_pages(tx, table_codec.table, "channel_id", channel_id, order=("id",))

    def _user_pages(self, tx: Tx) -> Iterator[Sequence[Sequence[Any]]]:
        """Yield pages of the users that the other tables name.

        A placeholder account has its user's name on the server of origin."""
        for batch in batches(sorted(self._user_ids)):
            names = imports.find_source_names(tx, batch)
            rows = users.find_many(tx, batch)
            for user_id, (username, global_name) in names.items():
                if user_id in rows:
                    rows[user_id] = rows[user_id]._replace(username=username, global_name=global_name)
            page = [[getattr(row, name) for name in USERS.columns] for _, row in sorted(rows.items())]
            if page:
                yield page

    def _collect(self, table_codec: TableCodec, row: Sequence[Any]) -> None:
        """Record the users and files that a row names."""
        for index, name, kind in _COLLECTED_COLUMNS[table_codec.table.name]:
            value = row[index]
            if value is None:
                continue
            if kind is ColumnKind.IMAGE:
                self.key_file.write(cdn_urls.image_key(value) + "\n")
            elif kind is ColumnKind.SOUND:
                self.key_file.write(cdn_urls.sound_key(value) + "\n")
            elif name == "mentions":
                self._user_ids.update(map(int, codec.decode(value, list[str])))
            elif name in ("attachments", "snapshots"):
                for item in codec.decode_any(value):
                    for file in item.get("attachments", ()) if name == "snapshots" else (item,):
                        self.key_file.write(cdn_urls.attachment_key(int(file["id"])) + "\n")
            elif name == "extra":
                avatar = (codec.decode_any(value).get("author") or {}).get("avatar") if '"author":' in value else None
                if avatar:
                    self.key_file.write(cdn_urls.image_key(avatar) + "\n")
            else:
                self._user_ids.add(value)


def _collected_columns(table: ArchiveTable) -> list[tuple[int, str, ColumnKind]]:
    """Return position, name and kind of the columns that name users or files."""
    return [
        (index, name, column.kind)
        for index, (name, column) in enumerate(table.columns.items())
        if column.kind in (ColumnKind.USER, ColumnKind.IMAGE, ColumnKind.SOUND)
        or name in ("author_id", "mentions", "attachments", "snapshots", "extra")
    ]


_COLLECTED_COLUMNS: Final = {
    collected_codec.table.name: _collected_columns(collected_codec.table)
    for table_codec in CODECS.values()
    for collected_codec in (table_codec, *table_codec.children)
}


def _row_id(table_codec: TableCodec, row: Sequence[Any]) -> int:
    """Return the ID of a row of a table with child tables."""
    value: int = row[list(table_codec.table.columns).index("id")]
    return value


async def _write_files(writer: _Writer, files: Files) -> int:
    """Write the files that the rows name, with their hashes, and return the number of missing files."""
    writer.key_file.seek(0)
    written_keys: set[str] = set()
    missing_file_count = 0
    with tempfile.TemporaryFile() as index_file:
        for line in writer.key_file:
            key = line.rstrip("\n")
            if key in written_keys:
                continue
            written_keys.add(key)
            try:
                stream = await files.stream(key)
            except FileNotFoundError:
                missing_file_count += 1
                index_file.write(codec.encode({"path": key, "missing": True}) + b"\n")
                continue
            byte_count, digest = await _write_file(writer.archive, key, stream)
            index_file.write(codec.encode({"path": key, "size": byte_count, "sha256": digest}) + b"\n")
            writer.progress("files", len(written_keys) - missing_file_count)
        if written_keys:
            writer.counts["files"] = len(written_keys)
            index_file.seek(0)
            with writer.archive.open("files.jsonl", "w", force_zip64=True) as target:
                while chunk := index_file.read(CHUNK_BYTES):
                    target.write(chunk)
    return missing_file_count


async def _write_file(archive: zipfile.ZipFile, key: str, stream: AsyncIterator[bytes]) -> tuple[int, str]:
    """Write a file to an archive, without compression, and return its size and SHA-256."""
    byte_count, digest = 0, hashlib.sha256()
    zip_info = zipfile.ZipInfo(f"files/{key}")
    with archive.open(zip_info, "w", force_zip64=True) as target:
        async for chunk in stream:
            byte_count += len(chunk)
            digest.update(chunk)
            target.write(chunk)
    return byte_count, digest.hexdigest()
