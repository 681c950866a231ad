"""Sources of an import, and archives as a source. Archives are untrusted."""

import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol

import msgspec

from hubbub.server.transfer.records import CODECS, FORMAT, VERSION, InvalidArchive, Record

LINE_BYTES_MAX: Final = 4 << 20
"""Maximum length of a line of an archive in bytes."""
MANIFEST_BYTES_MAX: Final = 1 << 20
FILE_BYTES_MAX: Final = 256 << 20
"""Maximum size of an imported file in bytes; larger files are skipped."""
EXPANSION_MAX: Final = 200
"""Maximum ratio of the contents of an archive to its size."""
EXPANSION_BASE_BYTES: Final = 64 << 20
"""Size in bytes that the contents of an archive may have in addition to the ratio `EXPANSION_MAX`."""
ENTRIES_MAX: Final = 5_000_000
"""Maximum number of files in an archive."""

_FILE_NAME_PATTERN: Final = re.compile(r"files/(attachments/[0-9]{1,20}|(?:images|sounds)/(?:a_)?[0-9a-f]{32})")


class SourceFile(NamedTuple):
    """An attachment, an image or a sound to import."""

    key: str
    """Key in a file store; the key of an attachment contains the ID that the attachment has in the records."""
    size: int
    sha256: str | None
    """Expected hash, or None if the source does not have it."""
    path: str = ""
    """Path of the file on this machine; empty for a file in an archive."""


class Source(Protocol):
    """A guild to import. Records and files have the same order whenever they are read."""

    format: str
    """Name of the format, for messages to the operator."""
    guild_name: str
    owner_id: int
    """ID that the owner of the guild has in the records."""
    totals: dict[str, int]
    """Expected number of records by table, for the progress bar."""
    notes: list[str]
    """Notes for the operator about content that an import cannot represent."""

    def digest(self) -> str:
        """Return a hash of the contents, which identifies the import."""
        ...

    def records(self) -> Iterator[Record]:
        """Yield all records, users first; raise InvalidArchive at an invalid one."""
        ...

    def files(self) -> Iterator[SourceFile]:
        """Yield all files; raise InvalidArchive at an invalid entry."""
        ...

    def open_file(self, file: SourceFile) -> IO[bytes]:
        """Open a file. Raise OSError or InvalidArchive if it cannot be read."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class ArchiveSource:
    """An archive of `hubbub export`."""

    format = "archive"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.notes: list[str] = []
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise InvalidArchive(f"not a readable archive ({error})", file=path.name) from None
        try:
            self._names = self._check_entries()
            manifest = self._read_manifest()
            guild = next(iter(self._table_records("guilds")), None)
            if guild is None:
                raise InvalidArchive("the archive contains no guild", file="guilds.jsonl")
        except BaseException:
            self._archive.close()
            raise
        columns = list(guild.table.columns)
        self.owner_id: int = guild.values[columns.index("owner_id")]
        self.guild_name: str = guild.values[columns.index("name")]
        self.totals = {name: count for name, count in manifest.items() if name in CODECS}

    def _check_entries(self) -> set[str]:
        """Return the names of all files; raise InvalidArchive if the archive cannot come from an export."""
        zip_entries = self._archive.infolist()
        if len(zip_entries) > ENTRIES_MAX:
            raise InvalidArchive(f"the archive has more than {ENTRIES_MAX} files", file=self._path.name)
        known_names = {"manifest.json", "files.jsonl", *(f"{name}.jsonl" for name in CODECS)}
        names: set[str] = set()
        for zip_entry in zip_entries:
            if zip_entry.filename not in known_names and not _FILE_NAME_PATTERN.fullmatch(zip_entry.filename):
                raise InvalidArchive("an archive of Hubbub has no such file", file=zip_entry.filename[:200])
            if zip_entry.filename in names:
                raise InvalidArchive("the archive contains the file twice", file=zip_entry.filename)
            if zip_entry.flag_bits & 1:
                raise InvalidArchive("the file is encrypted", file=zip_entry.filename)
            if zip_entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InvalidArchive("the file has an unknown compression", file=zip_entry.filename)
            names.add(zip_entry.filename)
        total_bytes = sum(zip_entry.file_size for zip_entry in zip_entries)
        if total_bytes > self._path.stat().st_size * EXPANSION_MAX + EXPANSION_BASE_BYTES:
            raise InvalidArchive(
                "the contents are suspiciously large for the size of the archive", file=self._path.name
            )
        return names

    def _read_manifest(self) -> dict[str, int]:
        """Check the format and return the number of records by table, or raise InvalidArchive."""
        if "manifest.json" not in self._names:
            raise InvalidArchive("manifest.json is missing, so this is not an archive of Hubbub", file=self._path.name)
        with self._open("manifest.json") as stream:
            manifest_json = stream.read(MANIFEST_BYTES_MAX)
        try:
            manifest = msgspec.json.decode(manifest_json, type=_Manifest)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise InvalidArchive(str(error), file="manifest.json") from None
        if manifest.format != FORMAT:
            raise InvalidArchive(f"expected {FORMAT}", file="manifest.json", field="format")
        if manifest.version > VERSION:
            raise InvalidArchive(
                f"the archive has version {manifest.version}, but this program reads up to {VERSION}; update Hubbub",
                file="manifest.json",
                field="version",
            )
        return manifest.records

    def digest(self) -> str:
        """Return the SHA-256 of the archive."""
        with self._path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def records(self) -> Iterator[Record]:
        """Yield all records, users first; raise InvalidArchive at an invalid one."""
        for name in CODECS:
            yield from self._table_records(name)

    def _table_records(self, name: str) -> Iterator[Record]:
        file, table_codec = f"{name}.jsonl", CODECS[name]
        for line_number, line in self._lines(file):
            yield table_codec.decode(line, file=file, line_number=line_number)

    def _lines(self, file: str) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a file that are not empty, with their numbers."""
        if file not in self._names:
            return
        with closing(self._open(file)) as stream:
            line_number = 0
            try:
                while line := stream.readline(LINE_BYTES_MAX + 1):
                    line_number += 1
                    if len(line) > LINE_BYTES_MAX:
                        raise InvalidArchive(f"longer than {LINE_BYTES_MAX} bytes", file=file, line=line_number)
                    if not line.isspace():
                        yield line_number, line
            except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError) as error:
                if isinstance(error, InvalidArchive):
                    raise
                raise InvalidArchive(f"damaged ({error})", file=file, line=line_number + 1) from None

    def _open(self, name: str) -> IO[bytes]:
        try:
            return self._archive.open(name)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
            raise InvalidArchive(f"damaged ({error})", file=name) from None

    def files(self) -> Iterator[SourceFile]:
        """Yield all files that the archive contains; raise InvalidArchive at an invalid entry of the list."""
        for line_number, line in self._lines("files.jsonl"):
            try:
                file_entry = msgspec.json.decode(line, type=_FileEntry)
            except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
                raise InvalidArchive(str(error), file="files.jsonl", line=line_number) from None
            if file_entry.missing:
                continue
            if not _FILE_NAME_PATTERN.fullmatch(f"files/{file_entry.path}"):
                raise InvalidArchive("not the path of a file", file="files.jsonl", line=line_number, field="path")
            if f"files/{file_entry.path}" not in self._names:
                raise InvalidArchive(
                    f"the archive does not contain {file_entry.path}",
                    file="files.jsonl",
                    line=line_number,
                    field="path",
                )
            yield SourceFile(
                file_entry.path, self._archive.getinfo(f"files/{file_entry.path}").file_size, file_entry.sha256
            )

    def open_file(self, file: SourceFile) -> IO[bytes]:
        """Open a file. Raise InvalidArchive if it cannot be read."""
        return self._open(f"files/{file.key}")

    def close(self) -> None:
        self._archive.close()


class _Manifest(msgspec.Struct):
    format: str
    version: int
    records: dict[str, int] = {}


class _FileEntry(msgspec.Struct):
    path: str
    size: int = 0
    sha256: str | None = None
    missing: bool = False


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip archive."""
    return path.is_file() and zipfile.is_zipfile(path)
