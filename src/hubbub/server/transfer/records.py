"""Records of an archive: their JSON form, and their conversion from and to rows of tables."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake, WideInt
from hubbub.server.composition import SLICES
from hubbub.server.core.archives import (
    FLAG,
    ID,
    OPTIONAL_IMAGE,
    ArchiveColumn,
    ArchiveTable,
    ColumnKind,
    number,
    optional_number,
    optional_text,
    text,
)
from hubbub.server.talk.attachments import StoredAttachment

FORMAT: Final = "hubbub-guild"
"""Value of `format` in the manifest."""
VERSION: Final = 1
"""Version of the archives that this program writes, and the highest version that it reads."""

SAFE_INTEGER_MAX: Final = (1 << 53) - 1
"""Highest number that is a JSON number in an archive; columns with higher values contain decimal strings."""

USERS: Final = ArchiveTable(
    name="users",
    key=("id",),
    columns={
        "id": ID,
        "username": text(100),
        "discriminator": text(4, default="0"),
        "global_name": optional_text(100),
        "avatar": OPTIONAL_IMAGE,
        "banner": OPTIONAL_IMAGE,
        "accent_color": optional_number(0xFFFFFF),
        "bot": FLAG,
        "public_flags": number(),
    },
)
"""The users that the other tables name."""

_ID_KINDS: Final = frozenset({ColumnKind.ID, ColumnKind.REFERENCE, ColumnKind.USER})

TABLE_ORDER: Final = (
    "guilds",
    "roles",
    "members",
    "member_roles",
    "departed_members",
    "bans",
    "emojis",
    "stickers",
    "sounds",
    "channels",
    "scheduled_events",
    "welcome_screens",
    "guild_homes",
    "onboardings",
    "onboarding_answers",
    "member_verification_forms",
    "guild_tags",
    "auto_moderation_rules",
    "webhooks",
    "invites",
    "messages",
)
"""Names of the tables with a file, in the order in which they are read; users come first."""


class InvalidArchive(Exception):
    """An import file is invalid; the message is shown to the operator."""

    def __init__(self, problem: str, *, file: str = "", line: int = 0, field: str = "") -> None:
        location = file + (f", line {line}" if line else "") + (f", field {field}" if field else "")
        super().__init__(f"{location}: {problem}" if location else problem)


class Record(NamedTuple):
    """A record of an archive, with values in the order of the columns of its table.

    IDs are those of the archive, and JSON is text."""

    table: ArchiveTable
    values: tuple[Any, ...]
    children: Mapping[str, list[tuple[Any, ...]]] = {}
    """Rows of the child tables, by name of the table."""
    attachment_ids: tuple[int, ...] = ()
    """IDs of the attached files."""


class TableCodec:
    """Encodes and decodes the records of a table, with those of its child tables."""

    def __init__(self, table: ArchiveTable, children: Sequence[ArchiveTable] = ()) -> None:
        self.table = table
        self.children = [TableCodec(child) for child in children]
        self.columns = [
            (name, column)
            for name, column in table.columns.items()
            if column.kind is not ColumnKind.GUILD and name != table.parent_column
        ]
        """Names and columns that a record contains, in the order of the table."""
        fields: list[Any] = [_struct_field(name, column) for name, column in self.columns]
        fields += [
            (child.table.name, list[child.struct], msgspec.field(default_factory=list))  # type: ignore[name-defined]
            for child in self.children
        ]
        self.struct: type[msgspec.Struct] = msgspec.defstruct(f"Archived_{table.name}", fields, kw_only=True)
        self._decoder = msgspec.json.Decoder(self.struct, dec_hook=codec.decode_hook)
        names = [name for name, _ in self.columns]
        # The methods loop over positions, because an import decodes millions of records.
        self._layout = [names.index(name) if name in names else -1 for name in table.columns]
        """Position in the struct for each column of the table, or -1 for the parent and the guild."""
        self._json_positions = [
            position for position, (_, column) in enumerate(self.columns) if column.kind is ColumnKind.JSON
        ]
        self._wide_positions = [
            position
            for position, (_, column) in enumerate(self.columns)
            if column.kind in _ID_KINDS or (column.kind is ColumnKind.NUMBER and column.max > SAFE_INTEGER_MAX)
        ]
        self._encoding_plan = [
            (
                name,
                column.default,
                column.kind is ColumnKind.JSON,
                column.kind in _ID_KINDS or (column.kind is ColumnKind.NUMBER and column.max > SAFE_INTEGER_MAX),
                name in names,
            )
            for name, column in table.columns.items()
        ]

    def encode(self, row: Sequence[Any], children: Mapping[str, list[dict[str, Any]]] | None = None) -> dict[str, Any]:
        """Return the JSON form of a row, whose values are in the order of the columns of the table."""
        record: dict[str, Any] = {}
        for (name, default, is_json, is_wide, is_contained), value in zip(self._encoding_plan, row, strict=True):
            if value is None or not is_contained or value == default:
                continue
            if is_json:
                value = msgspec.Raw(value.encode())
            elif is_wide:
                value = str(value)
            record[name] = value
        return {**record, **(children or {})}

    def decode(self, line: bytes, *, file: str, line_number: int) -> Record:
        """Decode and validate a line of an archive, or raise InvalidArchive."""
        try:
            decoded_record = self._decoder.decode(line)
        except msgspec.DecodeError as error:
            problem, _, path = str(error).partition(" - at `")
            field = path.rstrip("`").removeprefix("$").removeprefix(".")
            raise InvalidArchive(problem, file=file, line=line_number, field=field) from None
        except (RecursionError, UnicodeError, ValueError) as error:
            raise InvalidArchive(f"not a valid record ({error})", file=file, line=line_number) from None
        return self.convert(decoded_record)

    def from_values(self, values: Mapping[str, Any], *, file: str, line_number: int = 0) -> Record:
        """Return the record of built-in values, or raise InvalidArchive."""
        try:
            decoded_record = codec.convert(values, self.struct)
        except msgspec.ValidationError as error:
            problem, _, path = str(error).partition(" - at `")
            field = path.rstrip("`").removeprefix("$").removeprefix(".")
            raise InvalidArchive(problem, file=file, line=line_number, field=field) from None
        return self.convert(decoded_record)

    def convert(self, decoded_record: Any) -> Record:
        """Return the record of a decoded struct."""
        attachment_ids: list[int] = []
        values = self._values(decoded_record, attachment_ids)
        children: dict[str, list[tuple[Any, ...]]] = {}
        for child in self.children:
            if child_structs := getattr(decoded_record, child.table.name):
                children[child.table.name] = [
                    child._values(child_struct, attachment_ids, decoded_record.id) for child_struct in child_structs
                ]
        return Record(self.table, values, children, tuple(attachment_ids))

    def _values(self, decoded_record: Any, attachment_ids: list[int], parent_id: int | None = None) -> tuple[Any, ...]:
        values = list(msgspec.structs.astuple(decoded_record))
        for position in self._wide_positions:
            if values[position] is not None:
                values[position] = int(values[position])
        for position in self._json_positions:
            value = values[position]
            if value is not None:
                _collect_attachment_ids(value, attachment_ids)
                values[position] = codec.encode(value).decode()
        if parent_id is not None:
            parent_id = int(parent_id)
        return tuple([values[position] if position >= 0 else parent_id for position in self._layout])


def _collect_attachment_ids(value: Any, attachment_ids: list[int]) -> None:
    if isinstance(value, list):
        for item in value:
            if isinstance(item, StoredAttachment):
                attachment_ids.append(int(item.id))
            else:
                # The item is a snapshot of a forwarded message.
                attachment_ids.extend(int(file.id) for file in getattr(item, "attachments", ()))


def _struct_field(name: str, column: ArchiveColumn) -> tuple[Any, ...]:
    field_type: Any
    match column.kind:
        case ColumnKind.ID | ColumnKind.REFERENCE | ColumnKind.USER:
            field_type = Snowflake
        case ColumnKind.NUMBER if column.max > SAFE_INTEGER_MAX:
            field_type = WideInt
        case ColumnKind.NUMBER:
            field_type = Annotated[int, msgspec.Meta(ge=0, le=column.max)]
        case ColumnKind.REAL:
            field_type = Annotated[float, msgspec.Meta(ge=0, le=1)]
        case ColumnKind.IMAGE | ColumnKind.SOUND:
            field_type = Annotated[str, msgspec.Meta(pattern=r"^(a_)?[0-9a-f]{32}$")]
        case ColumnKind.JSON:
            field_type = column.type
        case _:
            field_type = Annotated[str, msgspec.Meta(max_length=column.max)]
    if column.is_nullable:
        return name, field_type | None if isinstance(field_type, type) else _optional(field_type), None
    if column.default is not None:
        return name, field_type, column.default
    return name, field_type


def _optional(field_type: Any) -> Any:
    return field_type | None


def _build_codecs() -> dict[str, TableCodec]:
    tables_by_name = {table.name: table for slice_ in SLICES for table in slice_.archive}
    codecs_by_table = {USERS.name: TableCodec(USERS)}
    for name in TABLE_ORDER:
        children = [table for table in tables_by_name.values() if table.parent == name]
        codecs_by_table[name] = TableCodec(tables_by_name[name], children)
    return codecs_by_table


CODECS: Final = _build_codecs()
"""Codecs of the tables with a file, in the order in which they are read."""
