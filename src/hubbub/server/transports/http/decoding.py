"""Decoding of requests into models, with all validation errors in one response (spec/http.md#1.7).

The fast path is msgspec alone. If msgspec rejects the input, or if the input may contain values that a store cannot
hold, a slow walk over type and value collects every error with the platform's constants and the exact path. Decoding of
JSON is strict: a number is not accepted as a string nor a numeric string as a number, except for wide integers (IDs,
permissions), which have both forms, and for booleans, which may be 0 or 1 (decisions/0186). Query parameters and form
fields are converted from text. Unknown keys are ignored.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import inspect

from hubbub.protocol import codec, errors
from hubbub.protocol.errors import ApiError, FormErrors
from hubbub.protocol.ids import WIDE_MAX, Snowflake, WideInt
from hubbub.protocol.images import ImageData, TooLargeError, format_bytes
from hubbub.server.core.config import HttpConfig

DEPTH_MAX: Final = HttpConfig().depth_max
"""Maximum nesting of arrays and objects in a JSON body."""
PARAMETERS_MAX: Final = 1000
"""Maximum number of query parameters or form fields."""
CACHED_QUERY_LENGTH_MAX: Final = 128
"""Maximum number of characters of a query string that is cached, which limits the memory of the cache."""
DATA_URI_SCAN_MIN: Final = 1 << 16
"""Minimum size in bytes of a body whose data URIs are removed before it is searched for unstorable values."""
ERRORS_MAX: Final = 100
"""Maximum number of errors reported for one request."""

TRUE_TEXTS: Final = frozenset(("True", "true", "1"))
FALSE_TEXTS: Final = frozenset(("False", "false", "0"))

_INTEGER_PATTERN: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_DECIMAL_PATTERN: Final = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,19})?", re.ASCII)
_MESSAGE_AND_PATH_PATTERN: Final = re.compile(r"^(.*?)(?: - at `\$(.*)`)?$", re.DOTALL)
_PATH_STEP_PATTERN: Final = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]")
_NUL: Final = "\x00"

# Values that msgspec accepts but a store may not: NUL in text, integers over 64 bits, times outside the years 1 to
# 9999.
_UNSTORABLE_PATTERN: Final = re.compile(rb'\\u0000|[^"0-9.][0-9]{19}|"(?:0000|0001|9999)-')

ErrorPath = tuple[str | int, ...]


def decode(data: bytes, type_: Any, *, depth_max: int = DEPTH_MAX) -> Any:
    """Decode a JSON body into a value of the type `type_`; raise INVALID_JSON or INVALID_FORM_BODY if that fails."""
    if codec.exceeds_depth(data, depth_max):
        raise errors.INVALID_JSON()
    try:
        if _UNSTORABLE_PATTERN.search(data if len(data) < DATA_URI_SCAN_MIN else _without_data_uris(data)) is None:
            return codec.decoder(type_).decode(data)
        return _decode_carefully(data, type_)
    except msgspec.ValidationError as error:
        return _decode_numeric_booleans(data, type_, error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise errors.INVALID_JSON() from None


def _decode_numeric_booleans(data: bytes, type_: Any, error: msgspec.ValidationError) -> Any:
    """Decode a body that msgspec rejected with `error`, with the numbers 0 and 1 as booleans; raise its errors if it has any."""
    try:
        value = codec.decoder(Any).decode(data)
    except msgspec.ValidationError:
        # An integer beyond 64 bits; only the first error has its path.
        raise _msgspec_error(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # The input is also not valid JSON; msgspec reported the validation error only because it came first.
        raise errors.INVALID_JSON() from None
    if not _convert_booleans(_type_info(type_), value):
        raise _form_error(value, type_, error) from None
    return convert(_without_nul(value), type_, checks_storable=True)


def _convert_booleans(node: inspect.Type, value: Any) -> bool:
    """Replace 0 and 1 by booleans where a type has only booleans, and return whether there were any.

    Objects of unions are unchanged, because only their tags tell which type they have."""
    node, _ = _unwrap(node)
    has_changed = False
    if isinstance(node, inspect.StructType) and isinstance(value, dict):
        for field in node.fields:
            item = value.get(field.encode_name)
            field_type, _ = _unwrap(field.type)
            if isinstance(field_type, inspect.BoolType) and type(item) is int and item in (0, 1):
                value[field.encode_name] = bool(item)
                has_changed = True
            elif isinstance(item, dict | list):
                has_changed |= _convert_booleans(field_type, item)
    elif isinstance(node, _ARRAY_TYPES) and isinstance(value, list):
        for item in value:
            has_changed |= _convert_booleans(node.item_type, item)
    return has_changed


def _without_data_uris(data: bytes) -> bytes:
    """Return the text without data URIs, which a regular expression would take most of a second to search."""
    kept_parts: list[bytes] = []
    position = 0
    while (start := data.find(b'"data:', position)) >= 0:
        end = data.find(b'"', start + 1)
        if end < 0 or data.find(b"\\", start, end) >= 0:
            break
        kept_parts.append(data[position:start])
        position = end + 1
    return b"".join(kept_parts) + data[position:]


def _decode_carefully(data: bytes, type_: Any) -> Any:
    """Decode a body that may contain values which msgspec accepts but a store may not."""
    try:
        value = codec.decoder(Any).decode(data)
    except msgspec.ValidationError:
        # An integer beyond 64 bits. Decoding with the type raises an error with its path, unless the key is unknown.
        codec.decoder(type_).decode(data)
        raise errors.INVALID_JSON() from None
    _convert_booleans(_type_info(type_), value)
    return convert(_without_nul(value), type_, checks_storable=True)


def convert(value: Any, type_: Any, *, checks_storable: bool = False) -> Any:
    """Convert a builtin value (from JSON or form fields) to a value of the type `type_`.

    `checks_storable` also rejects values that msgspec accepts but a store may not.
    """
    if checks_storable:
        form = FormErrors()
        _Validator(form).visit(_type_info(type_), value, ())
        form.raise_if_any()
    try:
        return codec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise _form_error(value, type_, error) from None


def convert_query(text: str, type_: Any) -> Any:
    """Convert the query string of a URL to its model (spec/http.md#1.6)."""
    if len(text) <= CACHED_QUERY_LENGTH_MAX:
        values, checks_storable = _read_cached_query(text, type_)
    else:
        values, checks_storable = _read_fields(split_fields(text), type_)
    return convert(values, type_, checks_storable=checks_storable)


@lru_cache(maxsize=1024)
def _read_cached_query(text: str, type_: Any) -> tuple[dict[str, Any], bool]:
    """Return the result of `_read_fields`, from the cache: clients repeat queries such as `limit=50`."""
    return _read_fields(split_fields(text), type_)


def convert_fields(fields: Mapping[str, Sequence[str]], type_: Any) -> Any:
    """Convert query parameters or flat form fields to their model (spec/http.md#1.6)."""
    values, checks_storable = _read_fields(fields, type_)
    return convert(values, type_, checks_storable=checks_storable)


def _read_fields(fields: Mapping[str, Sequence[str]], type_: Any) -> tuple[dict[str, Any], bool]:
    """Return the values that JSON would contain, and whether some of them must be checked for the store."""
    values: dict[str, Any] = {}
    checks_storable = False
    if fields:
        for name, node, is_repeated, is_comma_separated in _parameter_plan(type_):
            texts = fields.get(name)
            if not texts:
                continue
            checks_storable = checks_storable or isinstance(node, inspect.DateTimeType)
            if not is_repeated:
                values[name] = _from_text(node, texts[-1])
            elif is_comma_separated:
                values[name] = [_from_text(node, part) for text in texts for part in text.split(",") if part]
            else:
                values[name] = [_from_text(node, text) for text in texts]
    return values, checks_storable


def split_fields(text: str) -> dict[str, list[str]]:
    """Parse a query string or a form body into lists of values by name; raise INVALID_FORM_BODY if there are too many."""
    fields: dict[str, list[str]] = {}
    if text:
        if not text.isascii():
            text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        try:
            for name, value in parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=PARAMETERS_MAX):
                fields.setdefault(name, []).append(value)
        except ValueError:
            raise errors.invalid((), *errors.max_length(PARAMETERS_MAX)) from None
    return fields


def is_flat(type_: Any) -> bool:
    """Return whether a type can be read from query parameters or form fields, which have no nesting."""
    return isinstance(_type_info(type_), inspect.StructType)


def _form_error(value: Any, type_: Any, error: msgspec.ValidationError) -> ApiError:
    form = FormErrors()
    _Validator(form).visit(_type_info(type_), value, ())
    return form.error() if form else _msgspec_error(error)


def _msgspec_error(error: msgspec.ValidationError) -> ApiError:
    """Convert a msgspec error, which a model's __post_init__ may also raise, using its own message and path."""
    match = _MESSAGE_AND_PATH_PATTERN.match(str(error))
    message, path_text = match.groups() if match else (str(error), None)
    steps = tuple(name or int(index) for name, index in _PATH_STEP_PATTERN.findall(path_text or ""))
    if message.endswith("out of range"):
        return errors.invalid(steps, "NUMBER_TYPE_COERCE", f"{message}.")
    return errors.invalid(steps, "BASE_TYPE_BAD_VALUE", message)


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(_NUL, "")
    if isinstance(value, list):
        return [_without_nul(item) for item in value]
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(item) for key, item in value.items()}
    return value


@lru_cache(maxsize=4096)
def _type_info(type_: Any) -> inspect.Type:
    return inspect.type_info(type_)


def _unwrap(node: inspect.Type) -> tuple[inspect.Type, Mapping[str, Any]]:
    """Return the type without annotations and an optional None, and the extra metadata of the annotations."""
    extra_metadata: dict[str, Any] = {}
    while True:
        if isinstance(node, inspect.Metadata):
            extra_metadata |= node.extra or {}
            node = node.type
        elif isinstance(node, inspect.UnionType):
            member_types = [part for part in node.types if not isinstance(part, inspect.NoneType)]
            if len(member_types) != 1:
                return node, extra_metadata
            node = member_types[0]
        else:
            return node, extra_metadata


@lru_cache(maxsize=1024)
def _parameter_plan(type_: Any) -> tuple[tuple[str, inspect.Type, bool, bool], ...]:
    """Return a tuple for each parameter: name, type of one value, whether it repeats, whether commas separate values."""
    struct_info = _type_info(type_)
    if not isinstance(struct_info, inspect.StructType):
        raise TypeError(f"{type_!r} cannot be read from flat fields")
    parameters = []
    for field in struct_info.fields:
        node, extra_metadata = _unwrap(field.type)
        if isinstance(node, _ARRAY_TYPES):
            item_node, _ = _unwrap(node.item_type)
            parameters.append((field.encode_name, item_node, True, bool(extra_metadata.get("comma"))))
        else:
            parameters.append((field.encode_name, node, False, False))
    return tuple(parameters)


def _from_text(node: inspect.Type, text: str) -> Any:
    """Convert the text of a parameter to the value that JSON would contain.

    Text that cannot be converted is returned unchanged and rejected later.
    """
    if _NUL in text:
        text = text.replace(_NUL, "")
    if isinstance(node, inspect.BoolType):
        return True if text in TRUE_TEXTS else False if text in FALSE_TEXTS else text
    if isinstance(node, inspect.IntType):
        return int(text) if _INTEGER_PATTERN.fullmatch(text) else text
    if isinstance(node, inspect.FloatType):
        return float(text) if _DECIMAL_PATTERN.fullmatch(text) else text
    if isinstance(node, inspect.EnumType | inspect.LiteralType):
        has_numbers = any(isinstance(value, int) for value in _choices(node))
        return int(text) if has_numbers and _INTEGER_PATTERN.fullmatch(text) else text
    if isinstance(node, inspect.UnionType):
        return next((value for part in node.types if (value := _from_text(part, text)) != text), text)
    return text


def _choices(node: inspect.EnumType | inspect.LiteralType) -> list[Any]:
    return list(node.values) if isinstance(node, inspect.LiteralType) else [item.value for item in node.cls]


_ARRAY_TYPES: Final = (inspect.ListType, inspect.SetType, inspect.FrozenSetType, inspect.VarTupleType)
_OBJECT_TYPES: Final = (inspect.StructType, inspect.DictType, inspect.TypedDictType)


class _Validator:
    """Visits a type and a value together and records the mismatches, at most `ERRORS_MAX`."""

    def __init__(self, form: FormErrors) -> None:
        self._form = form
        self._errors_left = ERRORS_MAX

    def add(self, path: ErrorPath, error: errors.FormError) -> None:
        """Record an error, unless ERRORS_MAX errors are recorded already."""
        if self._errors_left:
            self._errors_left -= 1
            self._form.add(path, *error)

    def visit(self, node: inspect.Type, value: Any, path: ErrorPath) -> None:
        """Record the errors of a value of the type `node` at `path`."""
        if isinstance(node, inspect.Metadata):
            self.visit(node.type, value, path)
        elif isinstance(node, inspect.AnyType | inspect.RawType):
            return
        elif isinstance(node, inspect.UnionType):
            self._visit_union(node, value, path)
        elif isinstance(node, inspect.NoneType):
            if value is not None:
                self.add(path, errors.choices([None]))
        elif value is None:
            self.add(path, errors.not_model() if not path else errors.required())
        elif isinstance(node, inspect.StructType | inspect.TypedDictType):
            self._visit_struct(node, value, path)
        elif isinstance(node, inspect.DictType):
            self._visit_dict(node, value, path)
        elif isinstance(node, (*_ARRAY_TYPES, inspect.TupleType)):
            self._visit_array(node, value, path)
        else:
            self._visit_scalar(node, value, path)

    def _visit_struct(self, node: inspect.StructType | inspect.TypedDictType, value: Any, path: ErrorPath) -> None:
        if not isinstance(value, dict):
            self.add(path, errors.not_model())
            return
        if isinstance(node, inspect.StructType) and node.tag_field is not None:
            tag = value.get(node.tag_field, node.tag)
            if tag != node.tag or isinstance(tag, bool):
                self.add((*path, node.tag_field), errors.choices([node.tag]))
        for field in node.fields:
            if field.encode_name in value:
                self.visit(field.type, value[field.encode_name], (*path, field.encode_name))
            elif field.required:
                self.add((*path, field.encode_name), errors.required())

    def _visit_dict(self, node: inspect.DictType, value: Any, path: ErrorPath) -> None:
        if not isinstance(value, dict):
            self.add(path, errors.not_dict())
            return
        self._visit_length(node.min_length, node.max_length, len(value), path, is_array=True)
        for key, item in value.items():
            # The key `_errors` is reserved in the error tree.
            item_path = (*path, "_errors_" if key == "_errors" else key[:64])
            if not _is_valid(key, node.key_type):
                self._visit_key(node.key_type, key, item_path)
            self.visit(node.value_type, item, item_path)

    def _visit_key(self, node: inspect.Type, key: str, path: ErrorPath) -> None:
        """Validate the key of a map, which is always text in JSON."""
        key_node, _ = _unwrap(node)
        self.visit(key_node, _from_text(key_node, key), path)

    def _visit_array(self, node: Any, value: Any, path: ErrorPath) -> None:
        if not isinstance(value, list):
            self.add(path, errors.not_list())
            return
        if isinstance(node, inspect.TupleType):
            if len(value) != len(node.item_types):
                self.add(path, errors.bad_length(len(node.item_types), len(node.item_types)))
                return
            typed_items: Iterable[tuple[inspect.Type, Any]] = zip(node.item_types, value, strict=True)
        else:
            self._visit_length(node.min_length, node.max_length, len(value), path, is_array=True)
            typed_items = ((node.item_type, item) for item in value)
        for index, (item_node, item) in enumerate(typed_items):
            if not self._errors_left:
                return
            self.visit(item_node, item, (*path, index))

    def _visit_union(self, node: inspect.UnionType, value: Any, path: ErrorPath) -> None:
        member_nodes = [member_node for member_node in node.types if not isinstance(member_node, inspect.NoneType)]
        if value is None:
            if len(member_nodes) == len(node.types):
                self.add(path, errors.required())
            return
        tagged_nodes = [
            member_node
            for member_node in member_nodes
            if isinstance(member_node, inspect.StructType) and member_node.tag_field is not None
        ]
        if len(tagged_nodes) > 1 and isinstance(value, dict):
            tag_field = str(tagged_nodes[0].tag_field)
            if tag_field not in value:
                self.add((*path, tag_field), errors.required())
                return
            for member_node in tagged_nodes:
                if value[tag_field] == member_node.tag and isinstance(value[tag_field], bool) is isinstance(
                    member_node.tag, bool
                ):
                    self._visit_struct(member_node, value, path)
                    return
            self.add(
                (*path, tag_field), errors.union_choices([member_node.tag for member_node in tagged_nodes], tag_field)
            )
            return
        # Report the error of the member whose JSON type matches the value, or of the first member.
        candidates = [member_node for member_node in member_nodes if _resembles(member_node, value)] or member_nodes[:1]
        if any(_is_valid(value, member_node) for member_node in candidates):
            return
        self.visit(candidates[0], value, path)

    def _visit_length(
        self, length_min: int | None, length_max: int | None, length: int, path: ErrorPath, *, is_array: bool = False
    ) -> None:
        if (length_min is None or length >= length_min) and (length_max is None or length <= length_max):
            return
        if length_max is not None and (length_min is not None or is_array):
            # spec/http.md#1.7: too many embed fields is "between 0 and 25", so the error of an array with a maximum names
            # both limits.
            self.add(path, errors.bad_length(length_min or 0, length_max))
        elif length_max is not None:
            self.add(path, errors.max_length(length_max))
        elif length_min is not None:
            self.add(path, errors.min_length(length_min))

    def _visit_scalar(self, node: inspect.Type, value: Any, path: ErrorPath) -> None:
        if isinstance(node, inspect.StrType):
            if not isinstance(value, str):
                self.add(path, errors.not_string(value))
                return
            self._visit_length(node.min_length, node.max_length, len(value), path)
            if node.pattern is not None and re.search(node.pattern, value) is None:
                self.add(path, errors.regex())
        elif isinstance(node, inspect.BoolType):
            if not isinstance(value, bool):
                self.add(path, errors.not_boolean())
        elif isinstance(node, inspect.IntType | inspect.FloatType):
            self._visit_number(node, value, path)
        elif isinstance(node, inspect.LiteralType):
            if not any(value == choice and type(value) is type(choice) for choice in node.values):
                self.add(path, errors.choices(node.values))
        elif isinstance(node, inspect.EnumType):
            choices = _choices(node)
            if not isinstance(value, str | int) or isinstance(value, bool) or type(value) is not type(choices[0]):
                self.add(path, errors.bad_enum(value))
            elif value not in choices:
                self.add(path, errors.choices(choices))
        elif isinstance(node, inspect.DateTimeType):
            if not _is_valid(value, node):
                self.add(path, errors.bad_timestamp(value))
        elif isinstance(node, inspect.CustomType):
            self._visit_custom(node.cls, value, path)
        elif isinstance(node, inspect.BytesType):
            if not isinstance(value, str):
                self.add(path, errors.not_string(value))

    def _visit_number(self, node: inspect.IntType | inspect.FloatType, value: Any, path: ErrorPath) -> None:
        number_kind = "int" if isinstance(node, inspect.IntType) else "float"
        is_number = isinstance(value, int if number_kind == "int" else int | float) and not isinstance(value, bool)
        if not is_number or not (isinstance(value, float) or -WIDE_MAX <= value <= WIDE_MAX):
            self.add(path, errors.not_number(value, number_kind))
        elif node.le is not None and value > node.le:
            self.add(path, errors.number_max(node.le, number_kind))
        elif node.lt is not None and value >= node.lt:
            self.add(path, errors.number_max(node.lt - 1 if number_kind == "int" else node.lt, number_kind))
        elif node.ge is not None and value < node.ge:
            self.add(path, errors.number_min(node.ge, number_kind))
        elif node.gt is not None and value <= node.gt:
            self.add(path, errors.number_min(node.gt + 1 if number_kind == "int" else node.gt, number_kind))

    def _visit_custom(self, class_: type, value: Any, path: ErrorPath) -> None:
        try:
            codec.decode_hook(class_, value)
        except ValueError as error:
            if issubclass(class_, Snowflake):
                self.add(path, errors.not_snowflake(value))
            elif issubclass(class_, WideInt):
                self.add(path, errors.not_number(value))
            elif isinstance(error, TooLargeError):
                self.add(path, errors.max_size(format_bytes(error.bytes_max)))
            elif issubclass(class_, ImageData):
                self.add(path, errors.bad_image())
            else:
                self.add(path, ("BASE_TYPE_BAD_VALUE", str(error)))


def _resembles(node: inspect.Type, value: Any) -> bool:
    """Return whether the JSON type of a value is one that this type can accept."""
    node, _ = _unwrap(node)
    if isinstance(value, bool):
        return isinstance(node, inspect.BoolType)
    if isinstance(value, str):
        return isinstance(
            node, inspect.StrType | inspect.DateTimeType | inspect.CustomType | inspect.EnumType | inspect.LiteralType
        )
    if isinstance(value, int | float):
        return isinstance(
            node, inspect.IntType | inspect.FloatType | inspect.CustomType | inspect.EnumType | inspect.LiteralType
        )
    if isinstance(value, list):
        return isinstance(node, (*_ARRAY_TYPES, inspect.TupleType))
    return isinstance(node, _OBJECT_TYPES)


def _is_valid(value: Any, node: inspect.Type) -> bool:
    """Return whether a value is valid for a type, without collecting errors."""
    if isinstance(node, inspect.DateTimeType):
        try:
            moment = msgspec.convert(value, datetime)
            return isinstance(value, str) and (moment.tzinfo is None or bool(moment.astimezone(UTC)))
        except (msgspec.ValidationError, OverflowError):
            return False
    form = FormErrors()
    _Validator(form).visit(node, value, ())
    return not form
