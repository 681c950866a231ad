"""Validation of metadata records and values, and evaluation of linked role requirements."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import LOCALES, RoleConnectionMetadataType
from hubbub.protocol.resources import role_connections as wire
from hubbub.protocol.resources.role_connections import RoleConnectionMetadata, RoleConnectionRequirement
from hubbub.server.core.call import Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.identity import applications
from hubbub.server.places.role_connections.store import LinkedRoleRow, RoleConnectionRow

_INTEGER_TYPES: Final = frozenset(
    {
        RoleConnectionMetadataType.INTEGER_LESS_THAN_EQUAL,
        RoleConnectionMetadataType.INTEGER_GREATER_THAN_EQUAL,
        RoleConnectionMetadataType.INTEGER_EQUAL,
        RoleConnectionMetadataType.INTEGER_NOT_EQUAL,
    }
)
_DATETIME_TYPES: Final = frozenset(
    {
        RoleConnectionMetadataType.DATETIME_LESS_THAN_EQUAL,
        RoleConnectionMetadataType.DATETIME_GREATER_THAN_EQUAL,
    }
)
_INTEGER_PATTERN: Final = re.compile(r"-?[0-9]{1,18}")
_BOOLEAN_VALUES: Final = {"0": 0, "1": 1, "false": 0, "true": 1}


def require_own_application(call: Call, application_id: int) -> None:
    """Raise NOT_AUTHORIZED_ON_APPLICATION or UNKNOWN_APPLICATION unless the caller's token belongs to this application."""
    if applications.find(call.tx, application_id) is None:
        raise errors.UNKNOWN_APPLICATION()
    if call.actor.application_id != application_id:
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()


def build_records(requested_records: Sequence[wire.SetRoleConnectionMetadata]) -> list[RoleConnectionMetadata]:
    """Return the metadata records of a request as they are stored; raise form errors for invalid records."""
    form = errors.FormErrors()
    seen_keys: set[str] = set()
    records = []
    for index, record in enumerate(requested_records):
        if record.key in seen_keys:
            form.add((index, "key"), *errors.duplicate())
        seen_keys.add(record.key)
        records.append(
            RoleConnectionMetadata(
                type=record.type,
                key=record.key,
                name=record.name,
                description=record.description,
                name_localizations=_validated_localizations(
                    form, (index, "name_localizations"), record.name_localizations
                ),
                description_localizations=_validated_localizations(
                    form, (index, "description_localizations"), record.description_localizations
                ),
            )
        )
    form.raise_if_any()
    return records


def _validated_localizations(
    form: errors.FormErrors, path: tuple[int, str], texts_by_locale: Mapping[str, str | None] | None | UnsetType
) -> dict[str, str] | None | UnsetType:
    """Return the texts by locale without nulls; add a form error for each unknown locale."""
    if texts_by_locale is UNSET or texts_by_locale is None:
        return texts_by_locale
    for locale in texts_by_locale:
        if locale not in LOCALES:
            form.add((*path, locale), *errors.choices(sorted(LOCALES)))
    return {locale: text for locale, text in texts_by_locale.items() if text is not None}


def encode_values(values: Mapping[str, str | float | bool]) -> dict[str, str]:
    """Return metadata values as they are stored: a boolean as 0 or 1, a whole number without a fraction."""
    return {
        key: value if isinstance(value, str) else str(int(value) if float(value).is_integer() else value)
        for key, value in values.items()
    }


def require_valid_values(records: Iterable[RoleConnectionMetadata], values: Mapping[str, str]) -> None:
    """Raise form errors for values whose key has no metadata record, or that do not match the record's type.

    `records` are the application's records; `values` are the metadata values of a user, by key."""
    types_by_key = {record.key: record.type for record in records}
    form = errors.FormErrors()
    for key, value in values.items():
        if key not in types_by_key:
            form.add(("metadata", key), *errors.choices(sorted(types_by_key)))
        else:
            value_error = _value_error(types_by_key[key], value)
            if value_error is not None:
                form.add(("metadata", key), *value_error)
    form.raise_if_any()


def _value_error(metadata_type: int, value: str) -> tuple[str, str] | None:
    """Return the form error (code and message) of a value that does not match the metadata type, or None."""
    if metadata_type in _INTEGER_TYPES:
        return None if _INTEGER_PATTERN.fullmatch(value) else errors.not_number(value)
    if metadata_type in _DATETIME_TYPES:
        return None if _parse_time_ms(value) is not None else errors.bad_timestamp(value)
    return None if value.lower() in _BOOLEAN_VALUES else errors.not_boolean()


def _parse_time_ms(time_text: str) -> int | None:
    """Return an ISO 8601 time as Unix milliseconds, or None if it is invalid. A time without a zone is UTC."""
    try:
        parsed_time = datetime.fromisoformat(time_text)
    except ValueError:
        return None
    return int((parsed_time if parsed_time.tzinfo else parsed_time.replace(tzinfo=UTC)).timestamp() * 1000)


def require_valid_configuration(
    alternatives: Sequence[Sequence[RoleConnectionRequirement]],
    records_by_application: Mapping[int, Sequence[RoleConnectionMetadata]],
) -> None:
    """Raise form errors for requirements whose field has no metadata record, or whose value is missing or invalid.

    `records_by_application` are the metadata records by application ID. A requirement without a field requires only a
    connection."""
    form = errors.FormErrors()
    for alternative_index, requirements in enumerate(alternatives):
        for requirement_index, requirement in enumerate(requirements):
            if requirement.connection_metadata_field is None:
                continue
            types_by_key = {
                record.key: record.type for record in records_by_application.get(requirement.application_id, ())
            }
            metadata_type = types_by_key.get(requirement.connection_metadata_field)
            path = (alternative_index, requirement_index)
            if metadata_type is None:
                form.add((*path, "connection_metadata_field"), *errors.choices(sorted(types_by_key)))
            elif requirement.value is None:
                form.add((*path, "value"), *errors.required())
            else:
                value_error = (
                    # The value of a requirement on a time is a number of days.
                    _value_error(
                        RoleConnectionMetadataType.INTEGER_EQUAL if metadata_type in _DATETIME_TYPES else metadata_type,
                        requirement.value,
                    )
                )
                if value_error is not None:
                    form.add((*path, "value"), *value_error)
    form.raise_if_any()


def qualifies(
    linked_role: LinkedRoleRow,
    connections_by_application: Mapping[int, RoleConnectionRow],
    records_by_application: Mapping[int, Sequence[RoleConnectionMetadata]],
    now_ms: int,
) -> bool:
    """Return whether a user's connections meet any alternative of a linked role.

    `connections_by_application` and `records_by_application` map application IDs to the user's connection and to the
    application's metadata records. `now_ms` is in Unix milliseconds."""
    return any(
        all(
            _meets_requirement(requirement, connections_by_application, records_by_application, now_ms)
            for requirement in requirements
        )
        for requirements in linked_role.alternatives
    )


def _meets_requirement(
    requirement: RoleConnectionRequirement,
    connections_by_application: Mapping[int, RoleConnectionRow],
    records_by_application: Mapping[int, Sequence[RoleConnectionMetadata]],
    now_ms: int,
) -> bool:
    row = connections_by_application.get(requirement.application_id)
    if row is None:
        return False
    key = requirement.connection_metadata_field
    if key is None:
        return True
    metadata_type = next(
        (record.type for record in records_by_application.get(requirement.application_id, ()) if record.key == key),
        None,
    )
    value = row.values.get(key)
    if (
        metadata_type is None
        or value is None
        or requirement.value is None
        or _value_error(metadata_type, value) is not None
    ):
        return False
    return is_satisfied(metadata_type, value, requirement.value, now_ms)


def is_satisfied(metadata_type: int, value: str, required_value: str, now_ms: int) -> bool:
    """Return whether a user's value meets the guild's `required_value`, compared as the metadata type defines.

    Times are compared by their age in whole days at `now_ms` (Unix milliseconds)."""
    types = RoleConnectionMetadataType
    if metadata_type in _DATETIME_TYPES:
        age_days = (now_ms - (_parse_time_ms(value) or 0)) // DAY_MS
        return (
            age_days <= int(required_value)
            if metadata_type == types.DATETIME_LESS_THAN_EQUAL
            else age_days >= int(required_value)
        )
    if metadata_type in _INTEGER_TYPES:
        user_number, required_number = int(value), int(required_value)
    else:
        user_number, required_number = _BOOLEAN_VALUES[value.lower()], _BOOLEAN_VALUES[required_value.lower()]
    if metadata_type == types.INTEGER_LESS_THAN_EQUAL:
        return user_number <= required_number
    if metadata_type == types.INTEGER_GREATER_THAN_EQUAL:
        return user_number >= required_number
    return (user_number == required_number) is (metadata_type in (types.INTEGER_EQUAL, types.BOOLEAN_EQUAL))
