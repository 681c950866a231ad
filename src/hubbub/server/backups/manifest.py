"""The manifest of a backup: versions, sizes, checksums and row counts, from which a restoration and a drill check it."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from hubbub.server.core.backends import FILES_FOLDER

FORMAT: Final = 1
"""Number of the format that this version writes and reads."""
MANIFEST_FILE: Final = "manifest.json"
FILE_LIST_FILE: Final = "checksums.sha256"
"""File with the list of the database and the files with their checksums, in the format of `sha256sum`."""
DUMP_FILE: Final = "database.dump"
"""Dump of a PostgreSQL database, in the custom format of `pg_dump`."""
CHUNK_BYTES: Final = 1 << 20

Progress = Callable[[str, int, int], None]
"""Function that shows a subject, the number of processed objects, and the total number or 0."""


class BackupError(Exception):
    """A backup cannot be created, read or restored; the message is shown to the operator."""


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a backup with its size in bytes and its SHA-256."""

    name: str
    size: int
    sha256: str


class FileSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The files of the file store in a backup."""

    count: int
    size: int
    """Sum of the sizes in bytes."""
    list_file: StoredFile = msgspec.field(name="list")
    """The file `FILE_LIST_FILE`, with the checksums of the files."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a backup. Stored as JSON, so the encoded names must not change."""

    format: int = FORMAT
    hubbub_version: str = msgspec.field(name="hubbub")
    """Version of Hubbub that created the backup."""
    created_at: str
    """Time of the snapshot in ISO 8601, in UTC."""
    store: Literal["sqlite", "postgresql"]
    postgresql_version: int | None = msgspec.field(name="postgresql", default=None)
    """Major version of the PostgreSQL server; None for an embedded database."""
    schema_number: int = msgspec.field(name="schema")
    """Number of the newest migration of the database."""
    database: StoredFile
    row_counts: dict[str, int] = msgspec.field(name="tables")
    """Number of rows by table."""
    files: FileSummary | None = None
    """The files of the file store; None if the backup does not contain them."""
    missing_files: list[str] = []
    """Keys of files that the database refers to and that were not in the file store."""


def write_manifest(folder: Path, manifest: Manifest) -> None:
    manifest_json = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    write_private_file(folder / MANIFEST_FILE, manifest_json + b"\n")


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a backup. Raise BackupError if there is none that this version can read."""
    path = folder / MANIFEST_FILE
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise BackupError(f"{path} does not exist; name a folder that `hubbub backup` created") from None
    except OSError as error:
        raise BackupError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise BackupError(f"{path} is damaged: {error}") from error
    if manifest.format != FORMAT:
        raise BackupError(
            f"{path} has format {manifest.format}, this version reads format {FORMAT}; "
            f"restore it with Hubbub {manifest.hubbub_version}"
        )
    return manifest


def write_private_file(path: Path, content: bytes) -> None:
    """Create a file that only its owner can read, and sync it to the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def sync_and_describe_file(folder: Path, name: str) -> StoredFile:
    """Sync a file of a backup to the disk, and return its size and checksum."""
    digest = hashlib.sha256()
    with (folder / name).open("rb+") as stream:
        os.fsync(stream.fileno())
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
        file_size = stream.tell()
    return StoredFile(name=name, size=file_size, sha256=digest.hexdigest())


def list_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield key and checksum of each file of the file store in a backup."""
    with (folder / FILE_LIST_FILE).open(encoding="utf-8") as stream:
        for line in stream:
            digest, _, name = line.rstrip("\n").partition("  ")
            if name.startswith(f"{FILES_FOLDER}/"):
                yield name.removeprefix(f"{FILES_FOLDER}/"), digest


def find_damage(folder: Path, manifest: Manifest, progress: Progress) -> list[str]:
    """Compare a backup with its manifest and return the differences; files are compared if their list is intact."""
    database_problem = _find_difference(folder, manifest.database)
    problems = [] if database_problem is None else [database_problem]
    if manifest.files is None:
        return problems
    file_list_problem = _find_difference(folder, manifest.files.list_file)
    if file_list_problem is not None:
        return [*problems, file_list_problem]
    for file_number, (key, digest) in enumerate(list_files(folder), start=1):
        progress("Checking", file_number, manifest.files.count)
        path = folder / FILES_FOLDER / key
        if not path.is_file():
            problems.append(f"{FILES_FOLDER}/{key} does not exist")
        elif _hash_file(path) != digest:
            problems.append(f"{FILES_FOLDER}/{key} has another checksum than in {FILE_LIST_FILE}")
    return problems


def _find_difference(folder: Path, stored_file: StoredFile) -> str | None:
    """Return how a file of a backup differs from the manifest, or None if it is intact."""
    path = folder / stored_file.name
    if not path.is_file():
        return f"{stored_file.name} does not exist"
    if path.stat().st_size != stored_file.size:
        return f"{stored_file.name} has {path.stat().st_size} bytes instead of {stored_file.size}"
    if _hash_file(path) != stored_file.sha256:
        return f"{stored_file.name} has another checksum than in {MANIFEST_FILE}"
    return None


def _hash_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
