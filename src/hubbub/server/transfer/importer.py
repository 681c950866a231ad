"""Import of a guild in steps that continue after an interruption (decisions/0128).

Each step processes records or files of the source in batches. A batch of records and its progress are stored in one
transaction, and a file that is stored again has the same key, so a killed import continues without duplicates or gaps.
The guild has no members with a login until the last step, so no client sees it before it is complete."""

import asyncio
import functools
import hashlib
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, Final, NamedTuple, TypeVar

from hubbub.protocol import codec
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import EPOCH_MS, GuildId, Snowflake, UserId
from hubbub.protocol.images import detect_image_type
from hubbub.protocol.resources.stickers import LOTTIE_CONTENT_TYPE
from hubbub.server.app import App
from hubbub.server.core import cdn_urls, media
from hubbub.server.core.archives import ArchiveTable, ColumnKind, insert_archived
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import imports, users
from hubbub.server.places import expressions, guilds
from hubbub.server.talk import messages
from hubbub.server.transfer.records import CODECS, USERS, InvalidArchive, Record
from hubbub.server.transfer.sources import FILE_BYTES_MAX, Source, SourceFile

ResultT = TypeVar("ResultT")

ID_BATCH_SIZE: Final = 2000
"""Number of records whose IDs are assigned in one transaction."""
ROW_BATCH_SIZE: Final = 500
"""Number of records that are stored in one transaction, small enough not to block other writers for long."""
FILE_BATCH_SIZE: Final = 50
"""Number of files after which the progress is stored."""
CACHED_IDS_MAX: Final = 100_000
"""Maximum number of IDs in memory."""
FUTURE_TOLERANCE_MS: Final = 24 * 60 * 60 * 1000
"""Maximum time in milliseconds by which an imported object may be in the future, because clocks differ."""

STAGES: Final = ("ids", "files", "records", "completion")

_GUILD_CHANNEL_TYPES: Final = frozenset(ChannelType) - {ChannelType.DM, ChannelType.GROUP_DM}
_ID_IN_TEXT_PATTERN: Final = re.compile(r"(?<![0-9A-Za-z_])[0-9]{15,20}(?![0-9A-Za-z_])")
_ID_KINDS: Final = frozenset({ColumnKind.ID, ColumnKind.REFERENCE, ColumnKind.USER})
_TEXT_KINDS: Final = frozenset({ColumnKind.MARKDOWN, ColumnKind.JSON})

Progress = Callable[[str, int, int], None]
"""Function that is called with the name of a step, the number of processed objects, and their total or 0."""


class ImportInUse(Exception):
    """Another process runs the same import; the message is shown to the operator."""


class ImportSummary(NamedTuple):
    """The guild of an import, and the numbers of imported, skipped and missing objects."""

    guild_id: int
    is_new: bool
    """False if the file was imported before."""
    counts: dict[str, int]
    """Number of records by table that this run processed; empty if the file was imported before."""
    skipped_count: int
    """Number of records and rows that refer to objects that the source does not contain."""
    missing_file_count: int
    """Number of files that could not be imported."""
    notes: list[str]


class DryRun(NamedTuple):
    """The numbers of objects that an import would store, and notes for the operator."""

    counts: dict[str, int]
    file_count: int
    file_bytes: int
    rejected_file_count: int
    notes: list[str]


def check(source: Source, now_ms: int, *, with_files: bool = True) -> DryRun:
    """Read and validate a whole source without storing anything; raise InvalidArchive at the first invalid record.

    Without `with_files` the list of files is not read."""
    counts: dict[str, int] = {}
    for record in source.records():
        _check_record(record, now_ms)
        counts[record.table.name] = counts.get(record.table.name, 0) + 1
        for name, rows in record.children.items():
            counts[name] = counts.get(name, 0) + len(rows)
    file_count = file_bytes = rejected_file_count = 0
    for file in source.files() if with_files else ():
        if file.size > FILE_BYTES_MAX:
            rejected_file_count += 1
        else:
            file_count, file_bytes = file_count + 1, file_bytes + file.size
    return DryRun(counts, file_count, file_bytes, rejected_file_count, source.notes)


class Importer:
    """Imports a source into a new guild of an owner."""

    def __init__(
        self, app: App, source: Source, owner_id: int, progress: Progress = lambda name, count, total: None
    ) -> None:
        self._app = app
        self._source = source
        self._owner_id = owner_id
        self._progress = progress
        self._counts: dict[str, int] = {}
        self._skipped_count = 0
        self._missing_file_count = 0
        self._import_id = 0
        self._guild_id = 0
        self._new_id_cache: dict[int, int] = {}
        self._stored_progress = (0, 0)
        self._total = sum(source.totals.values())

    async def run(self) -> ImportSummary:
        """Import the source, or continue an interrupted import of it.

        Raise InvalidArchive if the source is invalid, and ImportInUse if another process runs the same import."""
        now_ms = self._app.clock.now_ms()
        # Validate the whole source before anything is stored.
        await asyncio.to_thread(check, self._source, now_ms, with_files=False)
        digest = await asyncio.to_thread(self._source.digest)
        row = await self._app.database.write(lambda tx: self._start(self._app.make_call(tx), digest))
        self._import_id, self._guild_id = row.id, row.guild_id
        self._stored_progress = (row.stage, row.position)
        self._total = sum(self._source.totals.values())
        if row.state == "done":
            return ImportSummary(row.guild_id, False, {}, 0, 0, [])
        steps = (self._assign_ids, self._store_files, self._store_records, self._complete)
        for stage in range(row.stage, len(steps)):
            await steps[stage](row.position if stage == row.stage else 0)
        return ImportSummary(
            self._guild_id, True, self._counts, self._skipped_count, self._missing_file_count, self._source.notes
        )

    def _start(self, call: Call, digest: str) -> imports.progress.ImportRow:
        row = imports.progress.find_import(call.tx, digest, self._owner_id)
        if row is None:
            row = imports.progress.ImportRow(
                id=call.new_id(Snowflake),
                digest=digest,
                format=self._source.format,
                owner_id=self._owner_id,
                guild_id=0,
                state="running",
                stage=0,
                position=0,
                created_ms=call.now_ms,
            )
            imports.progress.insert_import(call.tx, row)
        return row

    async def _write(self, stage: int, position: int, unit: Callable[[Call], ResultT]) -> ResultT:
        """Run a unit of work and store the progress in the same transaction.

        Raise ImportInUse if another process has changed the progress."""

        expected_progress = self._stored_progress

        def run_unit(tx: Tx) -> ResultT:
            if not imports.progress.set_progress(tx, self._import_id, expected_progress, (stage, position)):
                raise ImportInUse("another process runs the same import; wait until it ends")
            return unit(self._app.make_call(tx))

        result = await self._app.database.write(run_unit)
        self._stored_progress = (stage, position)
        return result

    # IDs

    def _records_for_ids(self) -> Iterator[Record]:
        """Yield all records, messages first.

        A thread has the ID of its first message, so assigning IDs to threads first would change the order of messages of
        the same millisecond."""
        yield from (record for record in self._source.records() if record.table.name == "messages")
        yield from takewhile(lambda record: record.table.name != "messages", self._source.records())

    async def _assign_ids(self, position: int) -> None:
        records = islice(self._records_for_ids(), position, None)
        while batch := await asyncio.to_thread(lambda: list(islice(records, ID_BATCH_SIZE))):
            old_ids = {old_id for record in batch for old_id in _iter_created_ids(record)} - {self._source.owner_id}
            guild = next((record for record in batch if record.table.name == "guilds"), None)
            position += len(batch)

            assign = functools.partial(self._assign_batch, old_ids=old_ids, guild=guild)
            self._guild_id = await self._write(0, position, assign)
            self._progress("ids", position, self._total)
        await self._write(1, 0, lambda call: None)

    def _assign_batch(self, call: Call, *, old_ids: set[int], guild: Record | None) -> int:
        """Assign new IDs and return that of the guild, or 0 if it has none yet."""
        imports.assignment.assign(call.tx, self._import_id, old_ids)
        if guild is None:
            return self._guild_id
        old_id = _column_value(guild, "id")
        guild_id = imports.progress.find_new_ids(call.tx, self._import_id, [old_id])[old_id]
        imports.progress.set_guild(call.tx, self._import_id, guild_id)
        return guild_id

    # Files

    async def _store_files(self, position: int) -> None:
        stored_count = position
        for file in islice(self._source.files(), position, None):
            if not await self._store_file(file):
                self._missing_file_count += 1
            stored_count += 1
            if stored_count % FILE_BATCH_SIZE == 0:
                await self._write(1, stored_count, lambda call: None)
            self._progress("files", stored_count, 0)
        await self._write(2, 0, lambda call: None)

    async def _store_file(self, file: SourceFile) -> bool:
        """Store a file under its new key; return False if it is too large, damaged or not of the expected type."""
        folder, _, name = file.key.partition("/")
        content = await asyncio.to_thread(self._read_file, file)
        if content is None:
            return False
        if folder == "attachments":
            new_ids = await self._app.database.read(lambda tx: self._find_ids(tx, [int(name)]))
            if int(name) not in new_ids:
                return False
            content_type = media.inspect_file(content).content_type
            key = cdn_urls.attachment_key(new_ids[int(name)])
        else:
            # Images and sounds are stored under their hash, so a file cannot replace another one.
            if hashlib.sha256(content).hexdigest()[:32] != name.removeprefix("a_"):
                return False
            if folder == "images":
                content_type, key = detect_image_type(content), cdn_urls.image_key(name)
                if content_type is None and expressions.stickers.is_animation(content):
                    content_type = LOTTIE_CONTENT_TYPE
            else:
                content_type, key = media.inspect_file(content).content_type, cdn_urls.sound_key(name)
            # The type is None for other files than images, Lottie stickers and sounds.
            if content_type is None:
                return False
        await self._app.files.put(key, content, content_type or "application/octet-stream")
        return True

    def _read_file(self, file: SourceFile) -> bytes | None:
        if file.size > FILE_BYTES_MAX:
            return None
        try:
            with self._source.open_file(file) as stream:
                content = stream.read(FILE_BYTES_MAX + 1)
        except (InvalidArchive, zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError):
            return None
        if len(content) > FILE_BYTES_MAX or (file.sha256 and hashlib.sha256(content).hexdigest() != file.sha256):
            return None
        return content

    # Records

    async def _store_records(self, position: int) -> None:
        records = islice(self._source.records(), position, None)
        while batch := await asyncio.to_thread(lambda: list(islice(records, ROW_BATCH_SIZE))):
            position += len(batch)
            self._skipped_count += await self._write(2, position, functools.partial(self._store_batch, batch=batch))
            for record in batch:
                self._counts[record.table.name] = self._counts.get(record.table.name, 0) + 1
            self._progress("records", position, self._total)
        await self._write(3, 0, lambda call: None)

    def _store_batch(self, call: Call, batch: list[Record], *, with_owner: bool = False) -> int:
        """Store a batch of records and return the number of rows that were skipped."""
        new_ids = self._find_ids(call.tx, _collect_ids(batch))
        rows_by_table: dict[str, tuple[ArchiveTable, list[list[Any]]]] = {}
        placeholder_rows: list[users.UserRow] = []
        skipped_count = 0
        for record in batch:
            if record.table is USERS:
                if _column_value(record, "id") != self._source.owner_id:
                    placeholder_rows.append(_user_row(record, new_ids))
                continue
            if record.table.name == "members" and not with_owner and self._is_owner(record):
                continue  # The guild appears to its owner when it is complete.
            row = self._convert(record.table, record.values, new_ids)
            if row is None:
                skipped_count += 1
                continue
            rows_by_table.setdefault(record.table.name, (record.table, []))[1].append(row)
            for name, child_rows in record.children.items():
                table = _CHILDREN[name]
                converted_rows = [self._convert(table, values, new_ids) for values in child_rows]
                skipped_count += converted_rows.count(None)
                rows_by_table.setdefault(name, (table, []))[1].extend(row for row in converted_rows if row is not None)
        if placeholder_rows:
            imports.placeholder_accounts.create(call.tx, self._guild_id, placeholder_rows)
        for table, table_rows in rows_by_table.values():
            if table_rows:
                insert_archived(call.tx, table, table_rows)
        self._record_user_references(call, rows_by_table)
        self._notify_messages(call, rows_by_table)
        return skipped_count

    def _record_user_references(
        self, call: Call, rows_by_table: dict[str, tuple[ArchiveTable, list[list[Any]]]]
    ) -> None:
        """Record the users in mentions, reactions and poll votes of messages, so that a claim finds these messages."""
        table, table_rows = rows_by_table.get("messages", (None, []))
        if table is None:
            return
        channels_by_message = {row[_MESSAGE_ID_INDEX]: row[_MESSAGE_CHANNEL_INDEX] for row in table_rows}
        references = {
            (int(user_id), row[_MESSAGE_ID_INDEX])
            for row in table_rows
            if row[_MENTIONS_INDEX] is not None
            for user_id in codec.decode(row[_MENTIONS_INDEX], list[str])
        }
        for name in ("reactions", "poll_votes"):
            child_table, child_rows = rows_by_table.get(name, (None, []))
            if child_table is not None:
                column_names = list(child_table.columns)
                user_index, message_index = column_names.index("user_id"), column_names.index("message_id")
                references |= {(row[user_index], row[message_index]) for row in child_rows}
        imports.progress.insert_message_references(
            call.tx,
            [
                (user_id, message_id, channels_by_message[message_id])
                for user_id, message_id in sorted(references)
                if user_id != self._owner_id
            ],
        )

    def _notify_messages(self, call: Call, rows_by_table: dict[str, tuple[ArchiveTable, list[list[Any]]]]) -> None:
        """Notify the slices that store rows for messages with mentions, reactions, polls or files."""
        if "messages" not in rows_by_table:
            return
        table, table_rows = rows_by_table["messages"]
        message_rows = [
            messages.MessageRow(**dict(zip(table.columns, row, strict=True)))
            for row in table_rows
            if row[_MENTIONS_INDEX] is not None
            or row[_ATTACHMENTS_INDEX] is not None
            or row[_REACTED_INDEX]
            or (row[_EXTRA_INDEX] is not None and '"poll":' in row[_EXTRA_INDEX])
        ]
        if message_rows:
            call.notify(messages.signals.MessagesImported(guild_id=GuildId(self._guild_id), rows=tuple(message_rows)))

    def _is_owner(self, record: Record) -> bool:
        return bool(_column_value(record, "user_id") == self._source.owner_id)

    def _find_ids(self, tx: Tx, old_ids: Iterable[int]) -> dict[int, int]:
        """Return the new IDs of objects by their old ID."""
        cache, uncached_ids = self._new_id_cache, []
        new_ids: dict[int, int] = {self._source.owner_id: self._owner_id}
        for old_id in old_ids:
            if old_id in cache:
                new_ids[old_id] = cache[old_id]
            elif old_id not in new_ids:
                uncached_ids.append(old_id)
        read_ids = imports.progress.find_new_ids(tx, self._import_id, uncached_ids)
        if len(cache) + len(read_ids) > CACHED_IDS_MAX:
            cache.clear()
        cache.update(read_ids)
        return new_ids | read_ids

    def _convert(self, table: ArchiveTable, values: Iterable[Any], new_ids: dict[int, int]) -> list[Any] | None:
        """Return a row with new IDs, or None if it refers to an object that does not exist."""
        column_indexes = _INDEXES_BY_TABLE[table.name]
        row = list(values)
        for index in column_indexes.guild_indexes:
            row[index] = self._guild_id
        for index, is_nullable in column_indexes.id_indexes:
            if row[index] is not None:
                row[index] = new_ids.get(row[index])
                if row[index] is None and not is_nullable:
                    return None
        for index in column_indexes.text_indexes:
            if row[index]:
                row[index] = _replace_ids(row[index], new_ids)
        return row

    # Completion

    async def _complete(self, position: int) -> None:
        owner_records = await asyncio.to_thread(self._owner_records)

        def complete(call: Call) -> None:
            # The URLs of imported attachments need the key, which the first upload creates otherwise.
            cdn_urls.find_or_create_signing_key(call.tx)
            self._store_batch(call, owner_records, with_owner=True)
            guilds.creation.complete_import(call, GuildId(self._guild_id), UserId(self._owner_id))
            imports.progress.complete(call.tx, self._import_id, call.now_ms)

        await self._write(len(STAGES), 0, complete)
        self._progress("records", self._total, self._total)

    def _owner_records(self) -> list[Record]:
        """Return the membership of the owner, or a new one if the source has none."""
        for record in self._source.records():
            if record.table.name == "members" and self._is_owner(record):
                return [record]
            if record.table.name == "messages":
                break
        values = {"user_id": str(self._source.owner_id), "joined_ms": self._app.clock.now_ms()}
        return [CODECS["members"].from_values(values, file="members.jsonl")]


_CHILDREN: Final = {child.table.name: child.table for table_codec in CODECS.values() for child in table_codec.children}


class _ColumnIndexes(NamedTuple):
    """Indexes of the columns of a table that an import changes; loops over them are faster than over all columns."""

    created_id_indexes: tuple[int, ...]
    """Columns with IDs of objects that a record creates."""
    id_indexes: tuple[tuple[int, bool], ...]
    """Columns with IDs, and whether they may be null."""
    text_indexes: tuple[int, ...]
    """Columns with texts and JSON that contain IDs."""
    guild_indexes: tuple[int, ...]
    """Columns with the ID of the guild."""


def _compute_column_indexes(table: ArchiveTable) -> _ColumnIndexes:
    columns = list(enumerate(table.columns.values()))
    return _ColumnIndexes(
        tuple(index for index, column in columns if column.kind is ColumnKind.ID),
        tuple((index, column.is_nullable) for index, column in columns if column.kind in _ID_KINDS),
        tuple(index for index, column in columns if column.kind in _TEXT_KINDS),
        tuple(index for index, column in columns if column.kind is ColumnKind.GUILD),
    )


_INDEXES_BY_TABLE: Final = {
    table.name: _compute_column_indexes(table)
    for table in (*(table_codec.table for table_codec in CODECS.values()), *_CHILDREN.values())
}
_MESSAGE_ID_INDEX: Final = list(CODECS["messages"].table.columns).index("id")
_MESSAGE_CHANNEL_INDEX: Final = list(CODECS["messages"].table.columns).index("channel_id")
_MENTIONS_INDEX: Final = list(CODECS["messages"].table.columns).index("mentions")
_ATTACHMENTS_INDEX: Final = list(CODECS["messages"].table.columns).index("attachments")
_EXTRA_INDEX: Final = list(CODECS["messages"].table.columns).index("extra")
_REACTED_INDEX: Final = list(CODECS["messages"].table.columns).index("reacted")


def _column_value(record: Record, column: str) -> Any:
    return record.values[list(record.table.columns).index(column)]


def _user_row(record: Record, new_ids: dict[int, int]) -> users.UserRow:
    values = dict(zip(record.table.columns, record.values, strict=True))
    return users.UserRow(**{**values, "id": UserId(new_ids[values["id"]])})


def _check_record(record: Record, now_ms: int) -> None:
    """Raise InvalidArchive if a record is well formed, but must not be stored."""
    file = f"{record.table.name}.jsonl"
    for old_id in _iter_created_ids(record):
        if not old_id > 0 or (old_id >> 22) + EPOCH_MS > now_ms + FUTURE_TOLERANCE_MS:
            raise InvalidArchive(f"the time of the ID {old_id} is in the future", file=file)
    if record.table.name == "channels" and _column_value(record, "type") not in _GUILD_CHANNEL_TYPES:
        raise InvalidArchive(
            f"{_column_value(record, 'type')} is not the type of a guild channel", file=file, field="type"
        )


def _iter_created_ids(record: Record) -> Iterator[int]:
    """Yield the IDs, in the archive, of the objects that a record creates."""
    yield from record.attachment_ids
    values = record.values
    for index in _INDEXES_BY_TABLE[record.table.name].created_id_indexes:
        if values[index] is not None:
            yield values[index]
    for name, rows in record.children.items():
        for index in _INDEXES_BY_TABLE[name].created_id_indexes:
            yield from (row[index] for row in rows if row[index] is not None)


def _collect_ids(batch: Iterable[Record]) -> set[int]:
    """Return all IDs that records contain, in columns, texts and JSON."""
    contained_ids: set[int] = set()
    for record in batch:
        _add_ids(contained_ids, _INDEXES_BY_TABLE[record.table.name], record.values)
        for name, rows in record.children.items():
            for values in rows:
                _add_ids(contained_ids, _INDEXES_BY_TABLE[name], values)
    return contained_ids


def _add_ids(contained_ids: set[int], column_indexes: _ColumnIndexes, values: Sequence[Any]) -> None:
    for index, _ in column_indexes.id_indexes:
        if values[index] is not None:
            contained_ids.add(values[index])
    for index in column_indexes.text_indexes:
        if values[index]:
            # IDs have 63 bits.
            contained_ids.update(
                contained_id
                for text in _ID_IN_TEXT_PATTERN.findall(values[index])
                if (contained_id := int(text)) < 1 << 63
            )


def _replace_ids(text: str, new_ids: dict[int, int]) -> str:
    return _ID_IN_TEXT_PATTERN.sub(lambda match: str(new_ids.get(int(match[0]), match[0])), text)
